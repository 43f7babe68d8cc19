/*
 * options_check.c
 *		See options_check.h.
 */
#include "postgres.h"

#include "option/options_check.h"

#include "common/string.h"
#include "mb/pg_wchar.h"

/* A string that stands for a whole value must not contain a delimiter or quotes. */
static void
check_marker(const BulkOptions *options, const char *name, const char *marker)
{
	if (strstr(marker, options->delimiter) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must not contain the delimiter", name)));
	if (options->quote != '\0' && strchr(marker, options->quote) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must not contain the quote character",
						name)));
}

/*
 * Rows are found in the bytes of the file, so a non-ASCII character works only
 * if the file is in the database encoding.
 */
static void
check_character(const BulkOptions *options, const char *name, char character)
{
	if (IS_HIGHBIT_SET(character) && options->encoding != GetDatabaseEncoding())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must be ASCII where \"encoding\" is not the database encoding",
						name)));
}

static void
check_characters(const BulkOptions *options, const char *name, const char *text)
{
	for (; *text != '\0'; text++)
		check_character(options, name, *text);
}

static bool
begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Only in UTF-8 can no part of a character be mistaken for another character. */
static void
check_border(const char *delimiter)
{
	if (!pg_is_ascii(delimiter) && pg_database_encoding_max_length() > 1 &&
		GetDatabaseEncoding() != PG_UTF8)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"delimiter\" must be ASCII in a database with encoding \"%s\"",
						GetDatabaseEncodingName())));
}

/* Comments must not hide rows. */
static void
check_comment(const BulkOptions *options)
{
	const char *comment = options->comment;
	ListCell   *cell;
	const char *what = NULL;

	check_characters(options, "comment", comment);
	if (options->quote != '\0' && comment[0] == options->quote)
		what = "the quote character";
	else if (options->quote == '\0' && comment[0] == '\\')
		what = "a backslash";
	else if (begins_with(comment, options->delimiter) ||
			 begins_with(options->delimiter, comment))
		what = "the delimiter";
	foreach(cell, options->nulls)
		if (*(char *) lfirst(cell) != '\0' &&
			(begins_with(comment, lfirst(cell)) ||
			 begins_with(lfirst(cell), comment)))
			what = "a \"null\" string";
	if (options->default_marker != NULL &&
		(begins_with(comment, options->default_marker) ||
		 begins_with(options->default_marker, comment)))
		what = "the \"default\" string";
	if (what != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"comment\" must not begin like %s", what)));
}

/* Formats csv and text: the latter has no quotes. */
static void
check_lines(BulkOptions *options)
{
	ListCell   *cell;

	if (options->quote == '\0' &&
		(strchr(".abcdefghijklmnopqrstuvwxyz0123456789",
				options->delimiter[0]) != NULL ||
		 strchr(options->delimiter, '\\') != NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"delimiter\" cannot be \"%s\" in format \"text\"",
						options->delimiter)));
	if (options->quote != '\0' &&
		strchr(options->delimiter, options->quote) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 options->delimiter[1] == '\0' ?
				 errmsg("options \"delimiter\" and \"quote\" must be different") :
				 errmsg("option \"delimiter\" must not contain the quote character")));
	check_characters(options, "delimiter", options->delimiter);
	check_border(options->delimiter);
	if (options->comment != NULL)
		check_comment(options);
	check_character(options, "quote", options->quote);
	check_character(options, "escape", options->escape);

	foreach(cell, options->nulls)
		check_marker(options, "null", lfirst(cell));
	if (options->default_marker == NULL)
		return;
	check_marker(options, "default", options->default_marker);
	foreach(cell, options->nulls)
		if (strcmp(lfirst(cell), options->default_marker) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("options \"null\" and \"default\" must be different")));
}

/* Each key is a column. */
static void
check_json(BulkOptions *options)
{
	if (list_member_ptr(options->columns, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"columns\" must not have nulls in format \"json\""),
				 errhint("Keys that are not to be loaded are ignored with option \"extra_columns\" set to \"ignore\".")));
}

static void
check_header(const BulkOptions *options)
{
	if (options->header == BULK_HEADER_MAP && list_member_ptr(options->columns, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"columns\" must not have nulls with \"header\" set to \"map\""),
				 errhint("Fields that are not to be loaded are ignored with option \"extra_columns\" set to \"ignore\".")));
}

static void
check_binary(BulkOptions *options)
{
	if (options->header_lines > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"header\" requires \"format\" to be \"csv\", \"text\" or \"fixed\"")));
	if (options->utf16 != BULK_UTF16_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"encoding\" cannot be UTF-16 in format \"binary\"")));
}

/* Options about lines have no meaning for records. */
static void
check_records(const BulkOptions *options)
{
	const char *name = NULL;

	if (options->header_lines > 0)
		name = "header";
	else if (options->newline != BULK_NEWLINE_AUTO)
		name = "newline";
	else if (options->comment != NULL)
		name = "comment";
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" cannot be used with \"record_length\"", name),
				 errdetail("Records have no line ends."),
				 strcmp(name, "header") == 0 ?
				 errhint("To pass over records at the start, use option \"skip\".") : 0));
	if (options->utf16 != BULK_UTF16_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"encoding\" cannot be UTF-16 with \"record_length\"")));
}

/* Parses the fields, when all options they depend on are known. */
static void
check_fixed(BulkOptions *options)
{
	FieldDefaults defaults = {
		.nulls = options->nulls,
		.big_endian = options->big_endian,
		.trim = !options->has_trim ? SCAN_TRIM_PADDING :
			options->trim.all ? SCAN_TRIM_BLANKS : SCAN_TRIM_NOTHING,
		.must_be_ascii = options->encoding != GetDatabaseEncoding(),
		.record_length = options->record_length,
		.cut = options->missing != BULK_MISSING_ERROR,
		.ignore_extra = options->ignore_extra
	};

	if (options->header != BULK_HEADER_SKIP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"header\" cannot be %s in format \"fixed\"",
						options->header == BULK_HEADER_AUTO ? "\"auto\"" : "\"match\" or \"map\""),
				 errdetail("Option \"fields\" names the columns.")));
	if (options->fields_json.type == jbvNull)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"format\" set to \"fixed\" requires option \"fields\"")));
	if (options->trim.names != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"trim\" must be true or false in format \"fixed\""),
				 errhint("Each element of option \"fields\" can have its own \"trim\".")));
	if (options->record_length > 0)
		check_records(options);
	if (options->comment != NULL)
		check_characters(options, "comment", options->comment);
	options->fields = fields_open(&options->fields_json, &defaults);
	if (options->fields->named)
	{
		options->has_columns = true;
		options->columns = options->fields->names;
	}

	/* the scanner returns NULLs as empty fields, and has trimmed all others */
	options->nulls = list_make1(pstrdup(""));
	options->trim.all = false;
}

static bool
keeps_duplicates(const BulkOptions *options)
{
	return options->on_duplicate != BULK_ON_DUPLICATE_ERROR;
}

/* Options that say where rejected rows go require that rows are rejected. */
static void
check_rejects(const BulkOptions *options)
{
	const char *name = NULL;

	if (options->on_error != BULK_ON_ERROR_STOP)
		return;
	if (options->reject_limit >= 0 || options->reject_percent >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" requires \"on_error\" to be \"ignore\" or \"set_null\"",
						"reject_limit")));
	if (keeps_duplicates(options))
		return;
	if (options->reject_table != NULL)
		name = "reject_table";
	else if (options->reject_file != NULL)
		name = "reject_file";
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" requires \"on_error\" to be \"ignore\" or \"set_null\"",
						name),
				 errdetail("With \"on_duplicate\" set to \"keep_old\" or \"keep_new\" it can be used, too.")));
}

static void
check_duplicates(const BulkOptions *options)
{
	if (!keeps_duplicates(options) &&
		(options->duplicate_limit >= 0 || options->duplicate_percent >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"duplicate_limit\" requires \"on_duplicate\" to be \"keep_old\" or \"keep_new\"")));
	if (options->merge != NULL && options->freeze)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rows cannot be merged with \"freeze\""),
				 errdetail("Frozen rows have no earlier versions.")));
	if (keeps_duplicates(options) && options->freeze)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"on_duplicate\" set to \"%s\" cannot be used with \"freeze\"",
						options->on_duplicate == BULK_ON_DUPLICATE_KEEP_OLD ?
						"keep_old" : "keep_new"),
				 errdetail("Frozen rows cannot be taken back.")));
}

/* By default rows with invalid bytes are bad rows. */
static void
check_invalid_bytes(BulkOptions *options)
{
	bool		stops = options->on_error == BULK_ON_ERROR_STOP;

	if (options->invalid_bytes < 0)
		options->invalid_bytes = stops ? BULK_INVALID_ERROR : BULK_INVALID_REJECT;
	if (options->invalid_bytes == BULK_INVALID_REJECT && stops)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"invalid_bytes\" set to \"reject\" requires \"on_error\" to be \"ignore\" or \"set_null\"")));
}

static void
check_numbers(const BulkOptions *options)
{
	if (options->thousands_mark != NULL && options->thousands_mark[0] == options->decimal_mark)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options \"decimal_mark\" and \"thousands_mark\" must be different"),
				 options->decimal_mark == '.' ?
				 errhint("If there are points between thousands, set option \"decimal_mark\" to \",\".") : 0));
}

/* With a transform function, fields of the file are not columns. */
static void
check_transform(const BulkOptions *options)
{
	const char *name = NULL;

	if (options->transform == NULL)
		return;
	if (options->has_columns)
		name = options->fields != NULL ? "fields" : "columns";
	else if (options->header != BULK_HEADER_SKIP)
		name = "header";
	else if (options->default_marker != NULL)
		name = "default";
	else if (options->force_null.all || options->force_null.names != NIL)
		name = "force_null";
	else if (options->force_not_null.all || options->force_not_null.names != NIL)
		name = "force_not_null";
	else if (options->date_formats != NIL)
		name = "date_format";
	else if (options->decimal_mark != '.')
		name = "decimal_mark";
	else if (options->thousands_mark != NULL)
		name = "thousands_mark";
	else if (options->trim.names != NIL)
		name = "trim";
	else if (options->on_error == BULK_ON_ERROR_SET_NULL)
		name = "on_error";
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" cannot be used so with \"transform\"", name),
				 errdetail("The fields of the file are arguments of the function, not columns.")));
}

/*
 * Only the direct writer leaves indexes alone while rows are stored, and keeps
 * others from changing them afterwards.
 */
static void
check_indexes(BulkOptions *options)
{
	if (options->indexes == BULK_INDEXES_AUTO ||
		options->indexes == BULK_INDEXES_INSERT)
		return;
	if (options->writer == BULK_WRITER_BUFFERED)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"indexes\" set to \"%s\" cannot be used with \"writer\" set to \"buffered\"",
						options->indexes == BULK_INDEXES_MERGE ? "merge" : "rebuild")));
	options->writer = BULK_WRITER_DIRECT;
}

/* What is passed over must be there already, and the whole file must be loaded. */
static void
check_once(const BulkOptions *options)
{
	const char *name = NULL;
	const char *kind = options->once == BULK_ONCE_TAIL ? "tail" : "part";

	if (options->once == BULK_ONCE_NONE)
		return;
	if (options->truncate)
		name = "truncate";
	else if (options->limit >= 0)
		name = "limit";
	else if (options->history == 0)
		name = "history";
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" cannot be used so with \"once\"", name),
				 options->truncate ?
				 errdetail("Files that are passed over would not be in the table any more.") :
				 options->limit >= 0 ?
				 errdetail("A file that is loaded in part would be passed over the next time.") :
				 errdetail("It is by the history of loads that a file is known.")));
	if (options->once != BULK_ONCE_TAIL && options->once != BULK_ONCE_PART)
		return;
	if (options->format != BULK_CSV && options->format != BULK_TEXT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"once\" set to \"%s\" requires \"format\" to be \"csv\" or \"text\"", kind)));
	if (options->skip > 0)
		name = "skip";
	else if (options->comment != NULL)
		name = "comment";
	else if (options->compression != BULK_COMPRESSION_AUTO &&
			 options->compression != BULK_COMPRESSION_NONE)
		name = "compression";
	else if (options->utf16 != BULK_UTF16_NONE || !PG_VALID_BE_ENCODING(options->encoding))
		name = "encoding";
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" cannot be used so with \"once\" set to \"%s\"", name, kind),
				 errdetail("Where rows end is found in the bytes of the file.")));
}

static void (*const format_checks[]) (BulkOptions *) = {
	[BULK_CSV] = check_lines, [BULK_TEXT] = check_lines,
	[BULK_BINARY] = check_binary, [BULK_FIXED] = check_fixed,
	[BULK_JSON] = check_json
};

void
options_check(BulkOptions *options)
{
	format_checks[options->format] (options);
	check_header(options);
	check_rejects(options);
	check_invalid_bytes(options);
	check_numbers(options);
	check_transform(options);
	check_duplicates(options);
	check_once(options);
	if (options->limit_loaded && options->limit < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"limit_counts\" set to \"loaded\" requires option \"limit\"")));
	if (options->limits.max_lag == 0 &&
		(options->limits.standbys != THROTTLE_STREAMING || options->limits.names != NIL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"lag_standbys\" requires option \"max_lag\"")));
	check_indexes(options);
}
