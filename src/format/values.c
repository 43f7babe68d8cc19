/*
 * values.c
 *		The rows of a query: values of their columns' types, or their texts.
 *
 * Rows are laid out as those of COPY's binary format (stream/query.h).  A value
 * of its column's own type becomes a Datum without an input function; any other
 * field is text, without escapes, and is converted like the fields of a file.
 */
#include "postgres.h"

#include "format/convert.h"
#include "format/lines.h"
#include "stream/query.h"
#include "utils/lsyscache.h"

/* ---- reading ---- */

/* Rows are delimited by sizes. */
static ScanEol
first_eol(const BulkOptions *options, bool stored)
{
	return SCAN_EOL_NL;
}

static uint32
begin_file(Reader *reader)
{
	return 0;
}

/*
 * For a converter NULL is an unquoted field that is a null marker, here the
 * empty one; no other field may be taken for it.
 */
static void
find_rows(Reader *reader, const char *bytes, uint32 length, uint32 max_rows)
{
	ScanResult *result = &reader->result;

	scan_binary(bytes, length, reader->source->window.at_eof, reader->rows,
				max_rows, reader->fields, reader->max_fields, result);
	for (uint32 i = 0; i < result->nfields; i++)
		reader->fields[i].quoted = !SCAN_FIELD_IS_NULL(&reader->fields[i]);
}

/* ---- values ---- */

/* Passed by value. */
static ValueResult
take_word(Converter *conv, const Column *column, const char *s, uint32 len,
		  Datum *out)
{
	*out = (Datum) 0;
	switch (len)
	{
		case 1:
			*out = CharGetDatum(*s);
			break;
		case 2:
			{
				int16		value;

				memcpy(&value, s, sizeof(value));
				*out = Int16GetDatum(value);
				break;
			}
		case 4:
			{
				int32		value;

				memcpy(&value, s, sizeof(value));
				*out = Int32GetDatum(value);
				break;
			}
		default:
			Assert(len == sizeof(Datum));
			memcpy(out, s, sizeof(Datum));
			break;
	}
	return VALUE_OK;
}

/* Of fixed length, passed by reference. */
static ValueResult
take_fixed(Converter *conv, const Column *column, const char *s, uint32 len,
		   Datum *out)
{
	*out = PointerGetDatum(memcpy(arena_alloc(&conv->arena, len), s, len));
	return VALUE_OK;
}

/* The input function is called for NULLs, if it takes them. */
static void
open_column(Converter *conv, Column *column)
{
	int16		length;
	bool		by_value;

	lines_open_column(conv, column);
	column->is_value = !query_field_is_text(conv->target->query, column - conv->columns);
	if (!column->is_value)
		return;
	get_typlenbyval(column->type, &length, &by_value);
	column->convert = by_value ? take_word : length > 0 ? take_fixed : convert_bytes;
}

static void
open_marker(Converter *conv)
{
	conv->nnulls = 1;
	conv->nulls[0] = (NullMarker) {.text = "", .length = 0};
}

/* Texts come from this database: they are valid. */
static void
begin_batch(Converter *conv, Reader *reader)
{
	conv->window_length = conv->valid = reader->result.consumed;
}

static Size
show_row(const Target *target, const char *bytes, Size length, StringInfo text)
{
	query_show_row(target->query, bytes, length, text);
	appendStringInfoChar(text, '\n');
	return text->len - 1;
}

static bool
may_form(const Converter *conv, Size *shared)
{
	*shared = 0;
	return true;
}

const FormatRoutine format_values = {
	.first_eol = first_eol,
	.begin_file = begin_file,
	.find_rows = find_rows,
	.open_column = open_column,
	.open = open_marker,
	.begin_batch = begin_batch,
	.convert_row = convert_row,
	.describe_fault = lines_describe_fault,
	.show_row = show_row,
	.may_form = may_form
};
