/*
 * lines.c
 *		Formats csv and text: lines of fields with delimiters.
 */
#include "postgres.h"

#include "format/convert.h"
#include "format/lines.h"
#include "scan/magic.h"
#include "server/compat.h"
#include "utils/lsyscache.h"

/* ---- reading ---- */

ScanEol
lines_first_eol(const BulkOptions *options, bool stored)
{
	if (options->newline == BULK_NEWLINE_ANY)
		return SCAN_EOL_ANY;
	/* a row of a reject table has bare line feeds in quotes alone, and no other line ends */
	return stored ? SCAN_EOL_NL : SCAN_EOL_UNKNOWN;
}

/* A file that is not text is reported as what it is, instead of as bad rows. */
static void
check_text(const Source *source)
{
	const Window *window = &source->window;
	const ScanMagic *magic = scan_magic(window->data, window->length);

	if (magic != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("file \"%s\" is %s", source->path, magic->title),
				 errhint("%s", magic->advice)));
}

uint32
lines_begin_file(Reader *reader)
{
	const Source *source = reader->source;

	if (source->window.offset > 0 || source->bare)
		return 0;
	if (options_is_text(source->options) && !source->options->plain)
		check_text(source);
	return source_mark(source);
}

/* Whether a row is the marker \. that ends COPY; with the wrong line end it is a fault. */
static bool
judge_marker(const Reader *reader, const char *bytes, ScanRow *row)
{
	uint32		length = row->end - row->start;

	if (length < 2 || memcmp(bytes + row->start, "\\.", 2) != 0)
		return false;
	/* the line end of another kind has not ended the row, or has */
	if ((reader->eol == SCAN_EOL_NL && length > 2 && bytes[row->start + 2] == '\r') ||
		(reader->eol == SCAN_EOL_CR && length == 2 && row->fault == SCAN_FAULT_NEWLINE))
		row->fault = SCAN_FAULT_MARKER_NEWLINE;
	return length == 2 && row->fault == SCAN_FAULT_NONE && row->next > row->end;
}

/* Ends the rows where COPY ends. */
static void
stop_at_marker(Reader *reader, const char *bytes)
{
	ScanResult *result = &reader->result;

	for (uint32 i = 0; i < result->nrows; i++)
	{
		ScanRow    *row = &reader->rows[i];

		if (!judge_marker(reader, bytes, row))
			continue;
		result->nrows = i;
		result->nfields = row->first_field;
		result->consumed = row->next;
		result->lines = row->line + 1;
		result->status = SCAN_MARKER;
	}
}

/* Whether a line of text is one to COPY, although a line end within it is escaped. */
static bool
counts_rows(const Reader *reader)
{
	return reader->source->options->plain && reader->source->options->format == BULK_TEXT;
}

/* Numbers rows so. */
static void
number_rows(Reader *reader)
{
	ScanResult *result = &reader->result;
	uint32		n = result->nrows;

	if (n > 0 && reader->rows[n - 1].line != n - 1)
		for (uint32 i = 0; i < n; i++)
			reader->rows[i].line = i;
	result->lines = n + (result->status == SCAN_MARKER);
}

void
lines_find_rows(Reader *reader, const char *bytes, uint32 length,
				uint32 max_rows)
{
	scan_rows(&reader->dialect, &reader->eol, bytes, length,
			  reader->source->window.at_eof, reader->rows, max_rows,
			  reader->fields, reader->max_fields, &reader->result);
	if (COMPAT_COPY_MARKER && reader->source->options->plain &&
		reader->source->options->format == BULK_CSV)
		stop_at_marker(reader, bytes);
	if (counts_rows(reader))
		number_rows(reader);
}

/* Whether the rest of the file, from an offset on, is a row without a line end. */
static bool
has_last_row(const ScanDialect *dialect, const Window *window, uint32 start)
{
	uint32		length = window->length - start;

	return length > 0 &&
		(dialect->comment == NULL || length < dialect->comment_length ||
		 memcmp(window->data + start, dialect->comment, dialect->comment_length) != 0);
}

bool
lines_find_border(const Reader *reader, ScanEol eol, ScanBorder *border)
{
	const Window *window = &reader->source->window;

	scan_border(&reader->dialect, eol, window->data, window->length, border);
	if (counts_rows(reader))
		border->lines = border->rows;
	if (!window->at_eof)
		return false;
	border->rows += has_last_row(&reader->dialect, window, border->end);
	border->end = window->length;
	return true;
}

ScanRecovery
lines_recover(const Reader *reader, const char *bytes, uint32 length,
			  const ScanRow *row, uint32 nfields, uint32 *resume)
{
	return scan_recover(&reader->dialect, reader->eol, bytes, length,
						reader->source->window.at_eof, row->start, row->end,
						nfields, resume);
}

/* ---- values ---- */

void
lines_open_column(Converter *conv, Column *column)
{
	Oid			function;

	getTypeInputInfo(column->type, &function, &column->ioparam);
	fmgr_info(function, &column->input);
	convert_choose(conv, column);
}

static void
begin_batch(Converter *conv, Reader *reader)
{
	convert_window(conv, reader->data, reader->result.consumed);
}

static const char *
describe_csv_fault(const ScanRow *row, int *sqlstate)
{
	switch ((ScanFault) row->fault)
	{
		case SCAN_FAULT_UNTERMINATED_QUOTE:
			return "unterminated CSV quoted field";
		case SCAN_FAULT_CARRIAGE_RETURN:
			return "unquoted carriage return found in data";
		case SCAN_FAULT_NEWLINE:
			return "unquoted newline found in data";
		case SCAN_FAULT_MARKER_NOT_ALONE:
			return "end-of-copy marker is not alone on its line";
		case SCAN_FAULT_MARKER_NEWLINE:
			return "end-of-copy marker does not match previous newline style";
		default:
			return NULL;
	}
}

const char *
lines_describe_fault(const ScanRow *row, int *sqlstate)
{
	switch ((ScanFault) row->fault)
	{
		case SCAN_FAULT_CARRIAGE_RETURN:
			return "literal carriage return found in data";
		case SCAN_FAULT_NEWLINE:
			return "literal newline found in data";
		default:
			return describe_csv_fault(row, sqlstate);
	}
}

static bool
may_form(const Converter *conv, Size *shared)
{
	*shared = 0;
	return true;
}

const FormatRoutine format_csv = {
	.by_shape = true,
	.spans_files = true,
	.client_marker = true,
	.rows_alone = true,
	.first_eol = lines_first_eol,
	.begin_file = lines_begin_file,
	.find_rows = lines_find_rows,
	.find_border = lines_find_border,
	.recover = lines_recover,
	.open_column = lines_open_column,
	.begin_batch = begin_batch,
	.convert_row = convert_row,
	.convert_transformed_row = convert_transformed_row,
	.describe_fault = describe_csv_fault,
	.may_form = may_form
};

const FormatRoutine format_text = {
	.by_shape = true,
	.spans_files = true,
	.rows_alone = true,
	.escapes = FORMAT_BACKSLASHES,
	.first_eol = lines_first_eol,
	.begin_file = lines_begin_file,
	.find_rows = lines_find_rows,
	.find_border = lines_find_border,
	.recover = lines_recover,
	.open_column = lines_open_column,
	.begin_batch = begin_batch,
	.convert_row = convert_row,
	.convert_transformed_row = convert_transformed_row,
	.describe_fault = lines_describe_fault,
	.may_form = may_form
};
