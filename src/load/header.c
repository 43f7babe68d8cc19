/*
 * header.c
 *		See header.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "diagnose/trial.h"
#include "load/header.h"
#include "load/header_advice.h"
#include "option/options_show.h"
#include "parser/parse_coerce.h"

/* The field's text as a name, or NULL for a null marker. */
static char *
header_name(Header *header, const ScanField *field)
{
	const Converter *conv = header->batch->conv;
	const char *data = header->reader->data;
	ScanField	name = *field;
	uint32		len;
	const char *text;

	if (header->options->trim.all)
		name = convert_trim(conv, data, name);
	if (convert_is_null(conv, data, &name))
		return NULL;
	text = convert_field_text(header->batch->conv, data, &name, &len, NULL);
	return pnstrdup(text, len);
}

/* What COPY reads where it finds no line: an empty one. */
static char *
name_of_nothing(const Header *header)
{
	return header->options->plain && strcmp(linitial(header->options->nulls), "") != 0 ? "" : NULL;
}

/* The CONTEXT of that line; the rows are not there that have it otherwise. */
static int
tell_nothing(const Header *header, const ScanRow *row)
{
	if (header->options->plain && row == NULL)
		errcontext("COPY %s, line 1: \"\"", target_name(header->target));
	return 0;
}

/* header = match: the names must be those of the columns, in order. */
static void
match_header(Header *header, const ScanRow *row)
{
	Converter  *conv = header->batch->conv;
	bool		plain = header->options->plain;
	int			nfields = row ? row->nfields : 1;
	char	   *hint;

	if (nfields != conv->ncolumns)
	{
		hint = row != NULL && !plain ? header_advise_delimiter(header, row) : NULL;
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("wrong number of fields in header line: got %d, expected %d",
						nfields, conv->ncolumns),
				 tell_nothing(header, row),
				 hint != NULL ? errhint("%s", hint) : 0));
	}

	for (int i = 0; i < nfields; i++)
	{
		const char *expected = conv->columns[i].name;
		char	   *name;

		if (expected == NULL)
			continue;
		name = row ? header_name(header, &header->reader->fields[row->first_field + i]) :
			name_of_nothing(header);
		if (name == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 plain ?
					 errmsg("column name mismatch in header line field %d: got null value (\"%s\"), expected \"%s\"",
							i + 1, (char *) linitial(header->options->nulls), expected) :
					 errmsg("column name mismatch in header line field %d: got null value, expected \"%s\"",
							i + 1, expected),
					 tell_nothing(header, row)));
		if (strcmp(name, expected) == 0)
			continue;
		hint = plain ? NULL : diagnosis_of_header(header->diagnosis, header->reader);
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("column name mismatch in header line field %d: got \"%s\", expected \"%s\"",
						i + 1, name, expected),
				 tell_nothing(header, row),
				 plain ? 0 : hint != NULL ? errhint("%s", hint) :
				 errhint("To find columns by their names in any order, set option \"header\" to \"map\".")));
	}
}

/* Whether a column is one of those that may be loaded. */
static bool
is_wanted(const Header *header, const char *column)
{
	ListCell   *lc;

	if (target_is_extra(header->target, target_find_column(header->target, column)))
		return false;
	if (!header->options->has_columns)
		return true;
	foreach(lc, header->options->columns)
		if (strcmp(lfirst(lc), column) == 0)
			return true;
	return false;
}

/*
 * The column of the table that a name refers to, or NULL: the one with the same name, or the only
 * one whose name differs merely in case, if no other header field matches that.
 */
static const char *
find_in_table(const Header *header, List *names, const AttrNumber *matches, int number)
{
	TupleDesc	desc = RelationGetDescr(header->target->rel);
	const char *column;

	if (matches[number] == InvalidAttrNumber)
		return NULL;
	column = NameStr(TupleDescAttr(desc, matches[number] - 1)->attname);
	if (strcmp(column, list_nth(names, number)) == 0)
		return column;
	for (int i = 0; i < list_length(names); i++)
		if (i != number && matches[i] == matches[number])
			return NULL;
	return column;
}

/* The same of those that may be loaded. */
static const char *
find_column(const Header *header, List *names, const AttrNumber *matches, int number)
{
	const char *column = find_in_table(header, names, matches, number);

	return column != NULL && is_wanted(header, column) ? column : NULL;
}

/* Columns that are to be loaded must be in the header line, as keys must in format json. */
static void
check_all_found(const Header *header, List *found)
{
	ListCell   *lc;
	ListCell   *other;

	if (!header->options->has_columns || header->options->missing == BULK_MISSING_DEFAULT)
		return;
	foreach(lc, header->options->columns)
	{
		bool		is_there = false;

		foreach(other, found)
			is_there |= lfirst(other) != NULL && strcmp(lfirst(other), lfirst(lc)) == 0;
		if (!is_there)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" is not in the header line", (char *) lfirst(lc)),
					 errhint("Columns that the file lacks get their defaults with option \"missing_columns\" set to \"default\", or if they are not among the columns to be loaded.")));
	}
}

/* header = map: the names determine the columns. */
static void
map_header(Header *header, const ScanRow *row)
{
	List	   *names = NIL;
	List	   *columns = NIL;
	AttrNumber *matches;
	bool		any = false;
	char	   *hint;

	if (row == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("file \"%s\" has no header line",
						encoding_path_text(header->source->path))));

	for (int i = 0; i < row->nfields; i++)
		names = lappend(names, header_name(header, &header->reader->fields[row->first_field + i]));
	matches = target_match_columns(header->target, names);
	for (int i = 0; i < row->nfields; i++)
	{
		const char *name = list_nth(names, i);
		const char *column = find_column(header, names, matches, i);
		const char *near;

		/* find the HINT before raising the error, as its trials may raise errors themselves */
		if (column == NULL && !header->options->ignore_extra)
		{
			near = name == NULL ? NULL : target_near_column(header->target, name);
			hint = header_advise(header, row);
			ereport(ERROR,
					(errcode(name == NULL ? ERRCODE_BAD_COPY_FILE_FORMAT :
							 ERRCODE_UNDEFINED_COLUMN),
					 name == NULL ? errmsg("header line field %d has no name", i + 1) :
					 find_in_table(header, names, matches, i) != NULL ?
					 errmsg("column \"%s\" of the header line is not among the columns to be loaded",
							name) :
					 errmsg("column \"%s\" of the header line does not exist in relation \"%s\"",
							name, target_name(header->target)),
					 near != NULL && find_in_table(header, names, matches, i) == NULL ?
					 errdetail("A column with a similar name is \"%s\".", near) : 0,
					 errhint("%s", hint)));
		}
		columns = lappend(columns, unconstify(char *, column));
		any |= column != NULL;
	}
	/* a file with no loaded column would lose all its rows */
	if (!any)
	{
		hint = header_advise(header, row);
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("no name in the header line is that of a column of relation \"%s\"",
						target_name(header->target)),
				 errhint("%s", hint)));
	}
	check_all_found(header, columns);
	target_set_columns(header->target, columns);
}

/*
 * Whether a field that spans lines contains delimiters there, as rows do and
 * names rarely do.
 */
static bool
has_rows_within(const Reader *reader, const ScanRow *row)
{
	const ScanDialect *dialect = &reader->dialect;
	char		delimiter[2] = {dialect->delimiter, '\0'};
	const char *separator = dialect->separator != NULL ? dialect->separator : delimiter;

	for (uint32 i = 0; i < row->nfields; i++)
	{
		const ScanField *field = &reader->fields[row->first_field + i];
		char	   *text = pnstrdup(reader->data + field->start, field->length);
		const char *next = strpbrk(text, "\r\n");

		if (next != NULL && strstr(next, separator) != NULL)
			return true;
	}
	return false;
}

/*
 * An unclosed quote in a header line makes the lines after it part of the
 * header, though they may be rows.  If bad rows do not end the load and names
 * are not needed, the header is cut at its own line end, and those lines are
 * rows.
 */
static void
cut_header_row(Header *header, bool last)
{
	const BulkOptions *options = header->options;
	Reader	   *reader = header->reader;
	const ScanRow *row = &reader->rows[0];
	bool		unclosed = row->fault == SCAN_FAULT_UNTERMINATED_QUOTE;
	bool		swallowing = row->multiline &&
		(row->lax ||
		 (last && row->nfields != header->batch->conv->ncolumns && has_rows_within(reader, row)));

	/* COPY skips the rest of the file with it, or those lines */
	if (options->plain)
		reader->rows[0].fault = unclosed ? SCAN_FAULT_NONE : row->fault;
	if (options->plain || (!unclosed && !swallowing))
		return;
	if (options->header != BULK_HEADER_SKIP && (unclosed || row->lax))
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 unclosed ? errmsg("unterminated CSV quoted field") :
				 errmsg("quoted field in the header line continues on the next line"),
				 errdetail("The names of the columns cannot be told from what follows them."),
				 errhint("Correct the line, or skip it with option \"header\" set to true and name the columns %s; if quotes are part of the values, set option \"quote\" to a character that the file does not have.",
						 options_columns(options))));
	if (options->header != BULK_HEADER_SKIP)
		return;
	if (options->on_error == BULK_ON_ERROR_STOP)
	{
		/* accepted as in COPY, but with a NOTICE */
		if (row->lax && !unclosed)
			ereport(NOTICE,
					(errmsg("header line of file \"%s\" has a quote that is not closed in that line", encoding_path_text(header->source->path)),
					 errdetail("The lines after it are skipped, too, up to and including the one with the next quote."),
					 errhint("To have these lines read as rows, set option \"on_error\" to \"ignore\", or option \"quote\" to a character that the file does not have.")));
		return;
	}
	(void) reader_cut(reader);
	reader->rows[0].fault = SCAN_FAULT_NONE;
	ereport(NOTICE,
			(errmsg("header line of file \"%s\" has a quote that is not closed in that line",
					encoding_path_text(header->source->path)),
			 errdetail("The lines below it are read as rows.")));
}

/* Raises an error for a malformed header line, as for a malformed row. */
static void
check_header_row(Header *header, const ScanRow *row)
{
	Converter  *conv = header->batch->conv;
	const char *data = header->reader->data;

	convert_window(conv, data, header->reader->result.consumed);
	if (row->fault != SCAN_FAULT_NONE)
		convert_fault(conv, row, NULL);
	if (conv->encoding.transcode)
	{
		ScanField	line = {.start = row->start, .length = row->end - row->start};
		uint32		len;

		(void) convert_field_text(conv, data, &line, &len, NULL);
	}
	if (row->end > conv->valid)
		encoding_report(&conv->encoding, data + conv->valid,
						(header->options->plain ? row->next : row->end) - conv->valid, NULL);
}

/*
 * The reject file starts with the header of the input files.  With header = map
 * it can hold rows of several files only if all have the same columns.
 */
static void
keep_header(Header *header, const char *raw, Size len)
{
	StringInfo	first = &header->first;

	rejects_header(header->rejects, raw, len);
	if (header->options->header != BULK_HEADER_MAP ||
		header->options->reject_file == NULL)
		return;
	if (header->source->current == 0)
		appendBinaryStringInfo(first, raw, len);
	else if (len != first->len || memcmp(raw, first->data, len) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"reject_file\" cannot take rows of files with different header lines"),
				 errhint("Load the files one by one, or use option \"reject_table\".")));
}

/* ---- header lines loaded as rows ---- */

static bool
is_name_of(Header *header, const Column *column, const ScanField *field)
{
	const char *text;

	if (column->attnum == InvalidAttrNumber)
		return column->name == NULL;
	if (TypeCategory(column->type) != TYPCATEGORY_STRING)
		return false;
	text = trial_field_name(header->batch->conv, header->reader->data, field);
	return text != NULL && pg_strcasecmp(text, column->name) == 0;
}

void
header_notice_undeclared(Header *header)
{
	const Reader *reader = header->reader;
	const Converter *conv = header->batch->conv;
	const ScanRow *row = &reader->rows[0];

	if (!options_is_text(header->options) || !options_takes(header->options, "header") ||
		header->options->transform != NULL ||
		header->options->log_verbosity == BULK_VERBOSITY_SILENT || reader->result.nrows == 0 ||
		row->fault != SCAN_FAULT_NONE || conv->ncolumns == 0 || row->nfields != conv->ncolumns)
		return;
	for (int i = 0; i < conv->ncolumns; i++)
		if (!is_name_of(header, &conv->columns[i], &reader->fields[row->first_field + i]))
			return;
	ereport(NOTICE,
			(errmsg("first line of file \"%s\" has the names of the columns and is loaded as a row",
					encoding_path_text(header->source->path)),
			 errhint("With %s among the options it is passed over.",
					 options_show(header->options, "{\"header\": true}"))));
}

/* A header line that is passed over may have all rows of a file of JSON. */
static void
notice_objects(Header *header)
{
	char	   *hint = header->options->log_verbosity == BULK_VERBOSITY_SILENT ? NULL :
		diagnosis_of_header(header->diagnosis, header->reader);

	if (hint != NULL)
		ereport(NOTICE,
				(errmsg("header line of file \"%s\" is JSON and is passed over",
						encoding_path_text(header->source->path)),
				 errhint("%s", hint)));
}

void
header_read(Header *header)
{
	const BulkOptions *options = header->options;
	Reader	   *reader = header->reader;
	int			lines = options->header == BULK_HEADER_SKIP ?
		options->header_lines : 1;
	StringInfo	raw = &header->raw;
	bool		complete = true;

	for (int i = 0; i < lines && complete; i++)
	{
		const ScanRow *row = NULL;

		if (reader_rows(reader, 1, options->on_error != BULK_ON_ERROR_STOP))
		{
			row = &reader->rows[0];
			header->batch->next = 0;
			cut_header_row(header, i + 1 == lines);
			check_header_row(header, row);
			appendBinaryStringInfo(raw, reader->data + row->start,
								   row->next - row->start);
		}
		if (options->header == BULK_HEADER_MATCH)
			match_header(header, row);
		else if (options->header == BULK_HEADER_MAP)
			map_header(header, row);
		else if (i == 0 && row != NULL && reader->source->current == 0)
			notice_objects(header);
		header->batch->next = PG_UINT32_MAX;
		complete = row != NULL;
	}
	/* a file that ends within its header has no rows that could be rejected */
	if (complete)
		keep_header(header, raw->data, raw->len);
}
