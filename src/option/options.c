/*
 * options.c
 *		Parses the options of a load: one table, from JSON to BulkOptions.
 *
 * A new option is a field of BulkOptions, its default in default_options, a
 * line of option_table and, if it depends on other options, a check in
 * options_check.c.  All errors here are ERRCODE_INVALID_PARAMETER_VALUE (22023)
 * and name the option.
 */
#include "postgres.h"

#include "option/options.h"

#include <limits.h>

#include "mb/pg_wchar.h"
#include "option/extra_options.h"
#include "option/merge_options.h"
#include "option/near.h"
#include "option/option_value.h"
#include "option/options_check.h"
#include "option/throttle_options.h"
#include "postmaster/bgworker_internals.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

/* Seconds for option progress: the meaning of true, and the valid range. */
#define PROGRESS_SECONDS 5
#define PROGRESS_MIN 0.1
#define PROGRESS_MAX 86400

/*
 * The formats an option applies to: a bit for each BulkFormat, and one for the
 * rows of a query.
 */
#define FOR(format) (1 << (format))
#define FOR_CSV		FOR(BULK_CSV)
#define FOR_LINES	(FOR(BULK_CSV) | FOR(BULK_TEXT))
#define FOR_FIXED	FOR(BULK_FIXED)
#define FOR_TEXTS	(FOR_LINES | FOR_FIXED)
#define FOR_JSON	FOR(BULK_JSON)
#define FOR_NAMES	(FOR_LINES | FOR(BULK_BINARY) | FOR_JSON)
#define FOR_HEADERS	(FOR_TEXTS | FOR(BULK_BINARY))
#define FOR_FILES	(FOR_HEADERS | FOR_JSON)
#define FOR_QUERY	FOR(31)
#define FOR_ALL		(FOR_FILES | FOR_QUERY)

/* What files of a format look like unless told otherwise, and to the scanner. */
static const struct
{
	char	   *delimiter;
	char		quote;
	const char *null;
	ScanFormat	scan;
	bool		is_binary;		/* nothing in it is text as it stands */
}			formats[] = {
	[BULK_CSV] = {.delimiter = ",",.quote = '"',.null = "",.scan = SCAN_CSV},
	[BULK_TEXT] = {.delimiter = "\t",.null = "\\N",.scan = SCAN_TEXT},
	[BULK_BINARY] = {.is_binary = true},
	[BULK_FIXED] = {.null = "",.scan = SCAN_FIXED},
	[BULK_JSON] = {.null = ""}
};

/* Words for the enums of bulk_options.h, indexed by value. */
static const char *const format_names[] = {
	[BULK_CSV] = "csv", [BULK_TEXT] = "text", [BULK_BINARY] = "binary",
	[BULK_FIXED] = "fixed", [BULK_JSON] = "json", NULL
};
static const char *const compression_names[] = {
	[BULK_COMPRESSION_NONE] = "none", [BULK_COMPRESSION_GZIP] = "gzip",
	[BULK_COMPRESSION_LZ4] = "lz4", [BULK_COMPRESSION_ZSTD] = "zstd",
	[BULK_COMPRESSION_AUTO] = "auto", NULL
};
static const char *const header_names[] = {"match", "map", "auto", NULL};
/* Encodings that the server does not have; such files are read as UTF8. */
static const struct
{
	const char *name;
	BulkUtf16	utf16;
}			utf16_names[] = {
	{"UTF16", BULK_UTF16_MARKED}, {"UTF-16", BULK_UTF16_MARKED},
	{"UTF16LE", BULK_UTF16_LITTLE}, {"UTF-16LE", BULK_UTF16_LITTLE},
	{"UTF16BE", BULK_UTF16_BIG}, {"UTF-16BE", BULK_UTF16_BIG},
	{NULL, BULK_UTF16_NONE}
};
static const char *const invalid_names[] = {
	[BULK_INVALID_ERROR] = "error", [BULK_INVALID_REJECT] = "reject",
	[BULK_INVALID_REPLACE] = "replace", NULL
};
static const char *const newline_names[] = {
	[BULK_NEWLINE_AUTO] = "auto", [BULK_NEWLINE_ANY] = "any", NULL
};
static const char *const endian_names[] = {
	[false] = "little", [true] = "big", NULL
};
static const char *const limit_names[] = {
	[false] = "read", [true] = "loaded", NULL
};
static const char *const extra_names[] = {
	[false] = "error", [true] = "ignore", NULL
};
static const char *const missing_names[] = {
	[BULK_MISSING_ERROR] = "error", [BULK_MISSING_NULL] = "null",
	[BULK_MISSING_DEFAULT] = "default", NULL
};
static const char *const on_error_names[] = {
	[BULK_ON_ERROR_STOP] = "stop", [BULK_ON_ERROR_IGNORE] = "ignore",
	[BULK_ON_ERROR_SET_NULL] = "set_null", NULL
};
static const char *const verbosity_names[] = {
	[BULK_VERBOSITY_SILENT] = "silent", [BULK_VERBOSITY_DEFAULT] = "default",
	[BULK_VERBOSITY_VERBOSE] = "verbose", NULL
};
static const char *const writer_names[] = {
	[BULK_WRITER_AUTO] = "auto", [BULK_WRITER_BUFFERED] = "buffered",
	[BULK_WRITER_DIRECT] = "direct", NULL
};

static const char *const once_names[] = {"content", "path", "tail", NULL};
static const char *const workers_names[] = {"auto", NULL};
static const char *const indexes_names[] = {
	[BULK_INDEXES_AUTO] = "auto", [BULK_INDEXES_INSERT] = "insert",
	[BULK_INDEXES_MERGE] = "merge", [BULK_INDEXES_REBUILD] = "rebuild", NULL
};

/* Options not listed are zero; set_dialect sets those that depend on the format. */
static const BulkOptions default_options = {
	.format = BULK_CSV,
	.encoding = -1,
	.compression = BULK_COMPRESSION_AUTO,
	.header = BULK_HEADER_SKIP,
	.limit = -1,
	.invalid_bytes = -1,
	.missing = BULK_MISSING_ERROR,
	.decimal_mark = '.',
	.on_error = BULK_ON_ERROR_STOP,
	.reject_limit = -1,
	.reject_percent = -1,
	.log_verbosity = BULK_VERBOSITY_DEFAULT,
	.duplicate_limit = -1,
	.duplicate_percent = -1,
	.writer = BULK_WRITER_AUTO,
	.workers = -1,
	.history = -1
};

/*
 * Setters
 */

/* Defaults that depend on the format. */
static void
set_dialect(BulkOptions *options)
{
	const char *null = formats[options->format].null;

	options->delimiter = formats[options->format].delimiter;
	options->quote = options->escape = formats[options->format].quote;
	options->nulls = null != NULL ? list_make1(pstrdup(null)) : NIL;
}

#define FIELD(type) ((type *) ((char *) options + def->offset))

static void
set_bool(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	if (value->type != jbvBool)
		option_refuse_value(def, value);
	*FIELD(bool) = value->val.boolean;
}

static void
set_history(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	if (value->type != jbvBool)
		option_refuse_value(def, value);
	options->history = value->val.boolean;
}

/* The value of an object's only key; NULL: it is another. */
static JsonbValue *
find_only(JsonbValue *value, const char *key)
{
	if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data) ||
		JsonContainerSize(value->val.binary.data) != 1)
		return NULL;
	return getKeyJsonValueFromContainer(value->val.binary.data, key, strlen(key), NULL);
}

static void
set_once(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	JsonbValue *id = find_only(value, "import_id");
	JsonbValue *part = find_only(value, "part");

	if (value->type == jbvBool)
		options->once = value->val.boolean ? BULK_ONCE_CONTENT : BULK_ONCE_NONE;
	else if (option_find_choice(def, value) >= 0)
		options->once = BULK_ONCE_CONTENT + option_find_choice(def, value);
	else if (part != NULL)
	{
		options->once = BULK_ONCE_PART;
		if (!option_read_amount(part, &options->part_bytes, &options->part_rows))
			option_refuse_value(def, value);
	}
	else
	{
		if (id == NULL || id->type != jbvString || id->val.string.len == 0)
			option_refuse_value(def, value);
		options->once = BULK_ONCE_IMPORT;
		options->import_id = pnstrdup(id->val.string.val, id->val.string.len);
	}
}

static void
set_count(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	if (!option_read_count(value, PG_INT64_MAX, FIELD(int64)))
		option_refuse_value(def, value);
}

static void
set_string(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	*FIELD(char *) = option_get_string(def, value);
}

static void
set_choice(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	*FIELD(int) = option_get_choice(def, value);
}

static void
set_format(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	options->format = option_get_choice(def, value);
	set_dialect(options);
}

static void
set_extra_columns(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	options->ignore_extra = option_get_choice(def, value);
}

static void
set_character(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	char	   *text = option_get_string(def, value);

	option_refuse_written_out(def, value, text);
	if (strlen(text) != 1 || text[0] == '\r' || text[0] == '\n')
		option_refuse_value(def, value);
	*FIELD(char) = text[0];
}

static void
set_quote(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	set_character(def, value, options);
	options->escape = options->quote;	/* an explicit escape is set later */
}

static void
set_marker(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	char	   *text = option_get_string(def, value);

	if (strpbrk(text, "\r\n") != NULL)
		option_refuse_value(def, value);
	*FIELD(char *) = text;
}

static void
set_line_part(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	set_marker(def, value, options);
	if (**FIELD(char *) == '\0')
		option_refuse_value(def, value);
}

static void
set_delimiter(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	char	   *standard = options->delimiter;

	option_refuse_written_out(def, value, option_get_string(def, value));
	set_line_part(def, value, options);
	options->delimiter_auto = pg_strcasecmp(options->delimiter, "auto") == 0;
	if (options->delimiter_auto)
		options->delimiter = standard;
}

static void
set_nulls(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	ListCell   *cell;

	if (value->type == jbvString)
		options->nulls = list_make1(option_get_string(def, value));
	else
		options->nulls = option_get_strings(def, value, false);
	foreach(cell, options->nulls)
		if (strpbrk(lfirst(cell), "\r\n") != NULL)
			option_refuse_value(def, value);
}

static void
set_encoding(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	char	   *name = option_get_string(def, value);

	for (int i = 0; utf16_names[i].name != NULL; i++)
		if (pg_strcasecmp(name, utf16_names[i].name) == 0)
		{
			options->encoding = PG_UTF8;
			options->utf16 = utf16_names[i].utf16;
			return;
		}
	options->encoding = pg_char_to_encoding(name);
	if (options->encoding < 0)
		option_refuse_value(def, value);
}

static void
set_header(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	int			choice = option_find_choice(def, value);
	int64		lines;

	options->header_lines = 1;
	if (choice >= 0)
		options->header = BULK_HEADER_MATCH + choice;
	else if (value->type == jbvBool)
		options->header_lines = value->val.boolean;
	else if (option_read_count(value, INT_MAX, &lines))
		options->header_lines = (int) lines;
	else
		option_refuse_value(def, value);
}

static void
set_workers(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	int64		count;

	if (option_find_choice(def, value) == 0)
		options->workers = -1;
	else if (option_read_count(value, MAX_PARALLEL_WORKER_LIMIT, &count))
		options->workers = (int) count;
	else
		option_refuse_value(def, value);
}

static void
set_columns(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	options->has_columns = true;
	options->columns = option_get_strings(def, value, true);
	if (options->columns == NIL)
		option_refuse_value(def, value);
}

static void
set_fields(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	*FIELD(JsonbValue) = *value;
}

static void
set_record_length(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	if (!option_read_count(value, FIELDS_MAX_LENGTH, FIELD(int64)) || *FIELD(int64) == 0)
		option_refuse_value(def, value);
}

static void
set_column_set(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	BulkColumnSet *set = FIELD(BulkColumnSet);

	if (value->type != jbvString)
		set->names = option_get_strings(def, value, false);
	else if (strcmp(option_get_string(def, value), "*") == 0)
		set->all = true;
	else
		option_refuse_value(def, value);
}

static void
set_trim(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	options->has_trim = true;
	if (value->type == jbvBool)
		options->trim.all = value->val.boolean;
	else
		options->trim.names = option_get_strings(def, value, false);
}

static void
set_date_formats(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	item;
	char	   *column = NULL;

	if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
		option_refuse_value(def, value);
	iterator = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &item, true)) != WJB_DONE)
	{
		BulkDateFormat *format;

		if (token == WJB_KEY)
			column = pnstrdup(item.val.string.val, item.val.string.len);
		if (token != WJB_VALUE)
			continue;
		if (item.type != jbvString || item.val.string.len == 0)
			option_refuse_value(def, value);
		format = palloc(sizeof(BulkDateFormat));
		format->column = column;
		format->template = pnstrdup(item.val.string.val, item.val.string.len);
		options->date_formats = lappend(options->date_formats, format);
	}
}

static void
set_decimal_mark(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	char	   *text = option_get_string(def, value);

	if (strlen(text) != 1 || strchr(".,;:'_/", text[0]) == NULL)
		option_refuse_value(def, value);
	options->decimal_mark = text[0];
}

static void
set_thousands_mark(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	char	   *text = option_get_string(def, value);

	if (text[0] == '\0' || pg_mblen(text) != strlen(text) ||
		(!IS_HIGHBIT_SET(text[0]) && strchr(",. '_", text[0]) == NULL))
		option_refuse_value(def, value);
	options->thousands_mark = text;
}

static void
set_reject_limit(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	if (!option_read_count(value, PG_INT64_MAX, &options->reject_limit) &&
		!option_read_percent(value, &options->reject_percent))
		option_refuse_value(def, value);
}

static void
set_duplicate_limit(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	if (!option_read_count(value, PG_INT64_MAX, &options->duplicate_limit) &&
		!option_read_percent(value, &options->duplicate_percent))
		option_refuse_value(def, value);
}

static void
set_progress(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	if (value->type == jbvBool)
		options->progress = value->val.boolean ? PROGRESS_SECONDS : 0;
	else if (value->type == jbvNumeric)
	{
		options->progress =
			DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											   NumericGetDatum(value->val.numeric)));
		if (!(options->progress >= PROGRESS_MIN && options->progress <= PROGRESS_MAX))
			option_refuse_value(def, value);
	}
	else
		option_refuse_value(def, value);
}

static void
set_path(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	char	   *path = option_get_string(def, value);

	if (!is_absolute_path(path))
		option_refuse_value(def, value);
	*FIELD(char *) = path;
}

#undef FIELD


/*
 * The table.  Options are set in this order, whatever the order in the JSON:
 * format comes first, as it changes defaults, and quote before escape.
 */

#define AT(field) offsetof(BulkOptions, field)
#define BOOLEAN "true or false"
#define CHARACTER "a single one-byte character, not a line end"
#define COLUMN_SET "an array of column names, or \"*\"", .copy_expects = "a list of column names, or *"
#define COUNT "an integer from 0 to 9223372036854775807"
#define LIMIT COUNT ", or a percentage from \"0%\" to \"100%\""
#define LINE_PART "a non-empty string without line ends"
#define STRING "a string"

static const OptionDef option_table[] = {
	{"format", FOR_FILES, set_format, AT(format), NULL, format_names},
	{"delimiter", FOR_LINES, set_delimiter, AT(delimiter), LINE_PART},
	{"quote", FOR_CSV, set_quote, AT(quote), CHARACTER},
	{"escape", FOR_CSV, set_character, AT(escape), CHARACTER},
	{"null", FOR_TEXTS, set_nulls, AT(nulls),
		"a string or an array of strings, without line ends",
	.copy_expects = "a string or a list of strings, without line ends"},
	{"default", FOR_LINES, set_marker, AT(default_marker),
	"a string without line ends"},
	{"encoding", FOR_FILES, set_encoding, AT(encoding),
	"the name of an encoding"},
	{"compression", FOR_FILES, set_choice, AT(compression), NULL,
	compression_names},
	{"force_null", FOR_CSV, set_column_set, AT(force_null), COLUMN_SET,
	.kinds = OPTION_JSON},
	{"force_not_null", FOR_CSV, set_column_set, AT(force_not_null), COLUMN_SET,
	.kinds = OPTION_JSON},
	{"header", FOR_HEADERS, set_header, AT(header),
		"true, false, an integer from 0 to 2147483647, \"match\", \"map\" or \"auto\"",
	header_names, .kinds = OPTION_BOOLEAN | OPTION_NUMBER},
	{"columns", FOR_NAMES | FOR_QUERY, set_columns, AT(columns),
		"a non-empty array of column names and nulls", .kinds = OPTION_JSON,
	.copy_expects = "a list of column names, or a JSON array of such names and nulls"},
	{"extra", FOR_FILES, extra_options_set, AT(extra),
		"an object of column names and texts", .kinds = OPTION_JSON,
	.copy_expects = "a JSON object of column names and texts"},
	{"fields", FOR_FIXED, set_fields, AT(fields_json), .kinds = OPTION_JSON},
	{"record_length", FOR_FIXED, set_record_length, AT(record_length),
	"an integer from 1 to 1000000000", .kinds = OPTION_NUMBER},
	{"endian", FOR_FIXED, set_choice, AT(big_endian), NULL, endian_names},
	{"skip", FOR_ALL, set_count, AT(skip), COUNT, .kinds = OPTION_NUMBER},
	{"limit", FOR_ALL, set_count, AT(limit), COUNT, .kinds = OPTION_NUMBER},
	{"limit_counts", FOR_ALL, set_choice, AT(limit_loaded), NULL, limit_names},
	{"extra_columns", FOR_FILES, set_extra_columns, AT(ignore_extra), NULL,
	extra_names},
	{"missing_columns", FOR_FILES, set_choice, AT(missing), NULL, missing_names},
	{"newline", FOR_TEXTS, set_choice, AT(newline), NULL, newline_names},
	{"comment", FOR_TEXTS, set_line_part, AT(comment), LINE_PART},
	{"invalid_bytes", FOR_TEXTS | FOR_JSON, set_choice, AT(invalid_bytes), NULL,
	invalid_names},
	{"trim", FOR_TEXTS, set_trim, AT(trim),
		"true, false or an array of column names", .kinds = OPTION_BOOLEAN | OPTION_JSON,
	.copy_expects = "true, false or a list of column names"},
	{"date_format", FOR_TEXTS | FOR_JSON, set_date_formats, AT(date_formats),
		"an object of column names and templates", .kinds = OPTION_JSON,
	.copy_expects = "a JSON object of column names and templates"},
	{"decimal_mark", FOR_TEXTS, set_decimal_mark, AT(decimal_mark),
	"one of the characters . , ; : ' _ and /"},
	{"thousands_mark", FOR_TEXTS, set_thousands_mark, AT(thousands_mark),
	"one of the characters , . ' _ and space, or one beyond ASCII"},
	{"where", FOR_ALL, set_string, AT(where), STRING},
	{"transform", FOR_TEXTS, set_string, AT(transform), STRING},
	{"on_error", FOR_ALL, set_choice, AT(on_error), NULL, on_error_names},
	{"reject_limit", FOR_ALL, set_reject_limit, AT(reject_limit),
	LIMIT, .kinds = OPTION_NUMBER},
	{"reject_table", FOR_ALL, set_string, AT(reject_table), STRING},
	{"reject_file", FOR_ALL, set_path, AT(reject_file), "an absolute path"},
	{"log_verbosity", FOR_ALL, set_choice, AT(log_verbosity), NULL,
	verbosity_names},
	{"progress", FOR_ALL, set_progress, AT(progress),
	"true, false or a number of seconds from 0.1 to 86400",
	.kinds = OPTION_BOOLEAN | OPTION_NUMBER},
	{"on_duplicate", FOR_ALL, merge_options_set, AT(on_duplicate),
		"\"error\", \"keep_old\", \"keep_new\" or an object that says how rows are merged",
		merge_options_words, .kinds = OPTION_JSON,
	.copy_expects = "error, keep_old, keep_new or a JSON object that says how rows are merged"},
	{"duplicate_limit", FOR_ALL, set_duplicate_limit, AT(duplicate_limit),
	LIMIT, .kinds = OPTION_NUMBER},
	{"writer", FOR_ALL, set_choice, AT(writer), NULL, writer_names},
	{"workers", FOR_ALL, set_workers, AT(workers),
	"\"auto\" or an integer from 0 to 1024", workers_names, .kinds = OPTION_NUMBER},
	{"indexes", FOR_ALL, set_choice, AT(indexes), NULL, indexes_names},
	{"truncate", FOR_ALL, set_bool, AT(truncate), BOOLEAN, .kinds = OPTION_BOOLEAN},
	{"freeze", FOR_ALL, set_bool, AT(freeze), BOOLEAN, .kinds = OPTION_BOOLEAN},
	{"analyze", FOR_ALL, set_bool, AT(analyze), BOOLEAN, .kinds = OPTION_BOOLEAN},
	{"dry_run", FOR_ALL, set_bool, AT(dry_run), BOOLEAN, .kinds = OPTION_BOOLEAN},
	{"manifest", FOR_FILES, set_bool, AT(manifest), BOOLEAN, .kinds = OPTION_BOOLEAN},
	{"history", FOR_ALL, set_history, AT(history), BOOLEAN, .kinds = OPTION_BOOLEAN},
	{"once", FOR_FILES, set_once, AT(once),
		"true, false, \"content\", \"path\", \"tail\" or an object with \"import_id\" or \"part\"",
		once_names, .kinds = OPTION_BOOLEAN | OPTION_JSON,
	.copy_expects = "true, false, content, path, tail or a JSON object with \"import_id\" or \"part\""},
	{"max_rate", FOR_ALL, throttle_options_set_rate, AT(limits.max_rate),
	"bytes per second, as a number or a string such as \"50MB\", from 32kB to 1e12",
	.kinds = OPTION_NUMBER},
	{"max_lag", FOR_ALL, throttle_options_set_lag, AT(limits.max_lag),
	"seconds, as a number or a string such as \"10s\", from 0.1 to 86400", .kinds = OPTION_NUMBER},
	{"lag_standbys", FOR_ALL, throttle_options_set_standbys, AT(limits.standbys),
		"\"streaming\", \"synchronous\" or an array of application names",
		throttle_standby_names, .kinds = OPTION_JSON,
	.copy_expects = "\"streaming\", \"synchronous\" or a list of application names"}
};


/*
 * Checks across options
 */

/* The names of all options, NULL-terminated. */
static const char *const *
list_names(const char **names)
{
	for (int i = 0; i < lengthof(option_table); i++)
		names[i] = option_table[i].name;
	names[lengthof(option_table)] = NULL;
	return names;
}

static void
check_keys(Jsonb *json)
{
	const char *names[lengthof(option_table) + 1];
	JsonbIterator *iterator = JsonbIteratorInit(&json->root);
	JsonbIteratorToken token;
	JsonbValue	key;

	while ((token = JsonbIteratorNext(&iterator, &key, true)) != WJB_DONE)
	{
		char	   *text;

		if (token != WJB_KEY)
			continue;
		text = pnstrdup(key.val.string.val, key.val.string.len);
		if (options_find(text) == NULL)
			option_refuse_key(list_names(names), text);
	}
}

/* The formats an option applies to: "csv", "text" or "fixed" */
static char *
show_formats(int formats)
{
	StringInfoData text;
	int			left = 0;

	initStringInfo(&text);
	for (int i = 0; format_names[i] != NULL; i++)
		left += (formats & FOR(i)) != 0;
	for (int i = 0; format_names[i] != NULL; i++)
		if ((formats & FOR(i)) != 0)
		{
			left--;
			appendStringInfo(&text, "\"%s\"%s", format_names[i],
							 left > 1 ? ", " : left == 1 ? " or " : "");
		}
	return text.data;
}

static void
check_format(const OptionDef *def, BulkFormat format)
{
	if ((def->formats & FOR(format)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" requires \"format\" to be %s",
						def->name, show_formats(def->formats))));
}

/* Sets the given options, for files or for a query. */
static void
set_options(BulkOptions *options, Jsonb *json)
{
	set_dialect(options);
	if (json != NULL)
	{
		if (!JB_ROOT_IS_OBJECT(json))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("options must be a JSON object"),
					 errhint("Write them as in '{\"header\": true}'.")));
		check_keys(json);
		for (int i = 0; i < lengthof(option_table); i++)
		{
			OptionDef	table_def = option_table[i];
			const OptionDef *def = &table_def;
			JsonbValue *value;

			table_def.by_copy = options->by_copy;
			value = getKeyJsonValueFromContainer(&json->root, def->name,
												 strlen(def->name), NULL);
			if (value == NULL || value->type == jbvNull)
				continue;
			if (options->query != NULL && (def->formats & FOR_QUERY) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("option \"%s\" cannot be used with a query",
								def->name)));
			check_format(def, options->format);
			def->set(def, value, options);
		}
	}
	if (options->encoding < 0)
		options->encoding = pg_get_client_encoding();
	options_check(options);
	options->json = json;
}

BulkOptions *
options_parse(Jsonb *json)
{
	BulkOptions *options = palloc(sizeof(BulkOptions));

	*options = default_options;
	set_options(options, json);
	return options;
}

BulkOptions *
options_parse_copy(Jsonb *json, Node *where, const char *statement)
{
	BulkOptions *options = palloc(sizeof(BulkOptions));

	*options = default_options;
	options->by_copy = true;
	options->where_clause = where;
	options->statement = statement;
	set_options(options, json);
	return options;
}

BulkOptions *
options_parse_query(Jsonb *json, char *query)
{
	BulkOptions *options = palloc(sizeof(BulkOptions));

	*options = default_options;
	options->format = BULK_TEXT;
	options->encoding = GetDatabaseEncoding();
	options->compression = BULK_COMPRESSION_NONE;
	options->query = query;
	set_options(options, json);
	return options;
}

Jsonb *
options_merge(Jsonb *json, const char *more)
{
	Datum		added = DirectFunctionCall1(jsonb_in, CStringGetDatum(more));

	if (json == NULL)
		return DatumGetJsonbP(added);
	if (!JB_ROOT_IS_OBJECT(json))
		return json;
	return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(json), added));
}

const OptionDef *
options_find(const char *name)
{
	for (int i = 0; i < lengthof(option_table); i++)
		if (strcmp(option_table[i].name, name) == 0)
			return &option_table[i];
	return NULL;
}

const char *
options_near(const char *name)
{
	const char *names[lengthof(option_table) + 1];

	return near_find(list_names(names), name);
}

bool
options_is_text(const BulkOptions *options)
{
	return !formats[options->format].is_binary &&
		(options->fields == NULL || !options->fields->binary);
}

bool
options_is_raw(const BulkOptions *options)
{
	return formats[options->format].is_binary || options->record_length > 0;
}

bool
options_takes(const BulkOptions *options, const char *name)
{
	const OptionDef *def = options_find(name);

	if (def == NULL)
		elog(ERROR, "there is no option \"%s\"", name);
	return (def->formats & FOR(options->format)) != 0;
}

char *
options_switch(const BulkOptions *options, BulkFormat format)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"format\": \"%s\"", format_names[format]);
	for (int i = 0; i < lengthof(option_table) && options->json != NULL; i++)
	{
		const char *name = option_table[i].name;
		JsonbValue *value =
			getKeyJsonValueFromContainer(&options->json->root, name, strlen(name), NULL);

		if ((option_table[i].formats & FOR(format)) == 0 && value != NULL &&
			value->type != jbvNull)
			appendStringInfo(&json, ", \"%s\": null", name);
	}
	appendStringInfoChar(&json, '}');
	return json.data;
}

ScanDialect
options_dialect(const BulkOptions *options)
{
	ScanDialect dialect = {
		.format = formats[options->format].scan,
		.quote = options->quote,
		.escape = options->escape,
		.comment = options->comment,
		.comment_length = options->comment ? strlen(options->comment) : 0,
		.fixed = options->fields ? &options->fields->scan : NULL
	};

	if (options->delimiter == NULL)
		return dialect;
	dialect.delimiter = options->delimiter[0];
	dialect.separator_length = strlen(options->delimiter);
	if (dialect.separator_length > 1)
		dialect.separator = options->delimiter;
	dialect.general = dialect.separator != NULL || dialect.comment != NULL ||
		options->newline == BULK_NEWLINE_ANY;
	return dialect;
}
