/*
 * fixed.c
 *		Format fixed: fields at fixed positions, in records or lines.
 *
 * The scanner has trimmed texts and made NULLs empty spans (scan.h), so texts
 * are converted as in all formats.  A number is converted directly where its
 * column is a number, else as text.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "format/convert.h"
#include "format/lines.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* The longest text of a number, and what is read beyond its ends. */
#define TEXT_MARGIN 16
#define TEXT_SIZE 64

typedef struct FixedState
{
	const BulkField *fields;	/* NULL: all are texts */
	Oid		   *targets;		/* of a field that is a number: its column's base type, if any */
	char		text[TEXT_SIZE];	/* of a number */
} FixedState;

/* ---- numbers ---- */

#ifdef WORDS_BIGENDIAN
#define IS_SWAPPED(field) (!(field)->big_endian)
#else
#define IS_SWAPPED(field) ((field)->big_endian)
#endif

static inline uint16
read_uint16(const BulkField *field, const char *s)
{
	uint16		bits;

	memcpy(&bits, s, sizeof(bits));
	return IS_SWAPPED(field) ? pg_bswap16(bits) : bits;
}

static inline uint32
read_uint32(const BulkField *field, const char *s)
{
	uint32		bits;

	memcpy(&bits, s, sizeof(bits));
	return IS_SWAPPED(field) ? pg_bswap32(bits) : bits;
}

static inline uint64
read_uint64(const BulkField *field, const char *s)
{
	uint64		bits;

	memcpy(&bits, s, sizeof(bits));
	return IS_SWAPPED(field) ? pg_bswap64(bits) : bits;
}

static inline bool
is_float(const BulkField *field)
{
	return field->type == BULK_FIELD_FLOAT4 || field->type == BULK_FIELD_FLOAT8;
}

static inline int64
read_integer(const BulkField *field, const char *s)
{
	switch (field->type)
	{
		case BULK_FIELD_INT2:
			return (int16) read_uint16(field, s);
		case BULK_FIELD_UINT2:
			return read_uint16(field, s);
		case BULK_FIELD_INT4:
			return (int32) read_uint32(field, s);
		case BULK_FIELD_UINT4:
			return read_uint32(field, s);
		default:
			return (int64) read_uint64(field, s);
	}
}

static inline float
read_float4(const BulkField *field, const char *s)
{
	uint32		bits = read_uint32(field, s);
	float		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline double
read_float8(const BulkField *field, const char *s)
{
	uint64		bits = read_uint64(field, s);
	double		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Any number, as C's conversion. */
static inline double
read_double(const BulkField *field, const char *s)
{
	switch (field->type)
	{
		case BULK_FIELD_FLOAT4:
			return read_float4(field, s);
		case BULK_FIELD_FLOAT8:
			return read_float8(field, s);
		default:
			return (double) read_integer(field, s);
	}
}

static bool
is_number(const Converter *conv, uint32 index)
{
	const FixedState *state = conv->format_state;

	return state->fields != NULL && state->fields[index].type != BULK_FIELD_TEXT;
}

/* Whether the text of a whole number must be its digits, without an exponent. */
static bool
needs_digits(Oid target)
{
	switch (target)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case CASHOID:
			return true;
		default:
			return false;
	}
}

/* Whether it is an integer of 64 bits. */
static bool
is_whole(double value)
{
	return value >= PG_INT64_MIN && value < -(double) PG_INT64_MIN && value == (int64) value;
}

/* As the server's casts: not to infinity, nor to zero. */
static bool
fits_float4(double value)
{
	float		rounded = (float) value;

	return isinf(rounded) == isinf(value) && (rounded == 0) == (value == 0);
}

/* The text from which its column, if it has one, gets the number. */
static int
print_float(Oid target, bool is_float4, double value, char *text)
{
	if (needs_digits(target) && is_whole(value))
		return pg_lltoa((int64) value, text);
	if (target == FLOAT8OID)
		is_float4 = false;
	else if (target == FLOAT4OID)
		is_float4 = fits_float4(value);
	return is_float4 ? float_to_shortest_decimal_buf((float) value, text) :
		double_to_shortest_decimal_buf(value, text);
}

/* The text of a number; good until the next call. */
static const char *
number_text(Converter *conv, uint32 index, const char *s, uint32 *len)
{
	FixedState *state = conv->format_state;
	const BulkField *field = &state->fields[index];
	char	   *text = state->text + TEXT_MARGIN;

	if (is_float(field))
		*len = print_float(state->targets[index], field->type == BULK_FIELD_FLOAT4,
						   read_double(field, s), text);
	else
		*len = pg_lltoa(read_integer(field, s), text);
	return text;
}

/* ---- numbers to values ---- */

static ValueResult
integer_to_int2(Converter *conv, const Column *column, const char *s, uint32 len,
				Datum *out)
{
	int64		value = read_integer(column->number, s);

	*out = Int16GetDatum((int16) value);
	return value == (int16) value ? VALUE_OK : VALUE_ASK;
}

static ValueResult
integer_to_int4(Converter *conv, const Column *column, const char *s, uint32 len,
				Datum *out)
{
	int64		value = read_integer(column->number, s);

	*out = Int32GetDatum((int32) value);
	return value == (int32) value ? VALUE_OK : VALUE_ASK;
}

static ValueResult
integer_to_int8(Converter *conv, const Column *column, const char *s, uint32 len,
				Datum *out)
{
	*out = Int64GetDatum(read_integer(column->number, s));
	return VALUE_OK;
}

static ValueResult
integer_to_float4(Converter *conv, const Column *column, const char *s, uint32 len,
				  Datum *out)
{
	*out = Float4GetDatum((float) read_integer(column->number, s));
	return VALUE_OK;
}

static ValueResult
float_to_float4(Converter *conv, const Column *column, const char *s, uint32 len,
				Datum *out)
{
	double		value = read_double(column->number, s);
	float		rounded = column->number->type == BULK_FIELD_FLOAT4 ?
		read_float4(column->number, s) : (float) value;

	*out = Float4GetDatum(rounded);
	return fits_float4(value) ? VALUE_OK : VALUE_ASK;
}

static ValueResult
number_to_float8(Converter *conv, const Column *column, const char *s, uint32 len,
				 Datum *out)
{
	*out = Float8GetDatum(read_double(column->number, s));
	return VALUE_OK;
}

static ValueResult
number_by_text(Converter *conv, const Column *column, const char *s, uint32 len,
			   Datum *out)
{
	s = number_text(conv, column - conv->columns, s, &len);
	return column->convert_text(conv, column, s, len, out);
}

static ConvertFunction
choose_converter(const Column *column)
{
	bool		integer = !is_float(column->number);

	switch (column->type)
	{
		case INT2OID:
			return integer ? integer_to_int2 : number_by_text;
		case INT4OID:
			return integer ? integer_to_int4 : number_by_text;
		case INT8OID:
			return integer ? integer_to_int8 : number_by_text;
		case FLOAT4OID:
			return integer ? integer_to_float4 : float_to_float4;
		case FLOAT8OID:
			return number_to_float8;
		default:
			return column->convert_text != NULL ? number_by_text : NULL;
	}
}

/* Numbers are mostly aligned to the right, after spaces. */
static void
justify_numbers(Converter *conv)
{
	for (int i = 0; i < conv->ncolumns; i++)
	{
		if (conv->columns[i].attnum == InvalidAttrNumber)
			continue;
		switch (getBaseType(conv->columns[i].type))
		{
			case INT2OID:
			case INT4OID:
			case INT8OID:
			case OIDOID:
			case FLOAT4OID:
			case FLOAT8OID:
			case NUMERICOID:
				fields_justify(conv->options->fields, i);
				break;
		}
	}
}

static void
open_fields(Converter *conv)
{
	const BulkFields *fields = conv->options->fields;
	FixedState *state = palloc0(sizeof(FixedState));

	conv->format_state = state;
	if (conv->transform == NULL && conv->ncolumns != fields->scan.nfields)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"fields\" has %u fields, but %d columns are loaded",
						fields->scan.nfields, conv->ncolumns),
				 errhint("Give each field the \"name\" of its column.")));
	justify_numbers(conv);
	if (!fields->binary)
		return;
	state->fields = fields->fields;
	state->targets = palloc0(sizeof(Oid) * fields->scan.nfields);
	if (conv->transform != NULL)
		return;
	for (int i = 0; i < conv->ncolumns; i++)
	{
		Column	   *column = &conv->columns[i];

		if (column->attnum == InvalidAttrNumber || !is_number(conv, i))
			continue;
		state->targets[i] = getBaseType(column->type);
		column->number = &state->fields[i];
		column->special = true;
		column->convert_text = column->convert;
		column->convert = choose_converter(column);
	}
}

/* ---- the encoding of texts ---- */

#define EACH_BYTE(b) (UINT64CONST(0x0101010101010101) * (b))

/* High bits where a word has bytes that are not ASCII, or zero (and perhaps after those). */
static inline uint64
not_plain(uint64 word)
{
	return word | ((word - EACH_BYTE(1)) & ~word);
}

/* Whether a text is ASCII without zero bytes, and so valid in any encoding. */
static inline bool
is_plain(const char *s, uint32 len)
{
	uint64		found = 0;
	uint64		word;

	if (len < sizeof(word))
	{
		word = EACH_BYTE(1);
		memcpy(&word, s, len);
		return (not_plain(word) & EACH_BYTE(0x80)) == 0;
	}
	for (uint32 i = 0; i < len - sizeof(word); i += sizeof(word))
	{
		memcpy(&word, s + i, sizeof(word));
		found |= not_plain(word);
	}
	memcpy(&word, s + len - sizeof(word), sizeof(word));
	return ((found | not_plain(word)) & EACH_BYTE(0x80)) == 0;
}

/* The first field with an invalid text, which is valid up to byte *valid; -1: none. */
static int
find_invalid(const Converter *conv, const char *data, const ScanRow *row,
			 const ScanField *fields, uint32 *valid)
{
	for (uint32 i = 0; i < row->nfields; i++)
	{
		const ScanField *field = &fields[row->first_field + i];
		const char *s = data + field->start;

		if (is_number(conv, i) || is_plain(s, field->length))
			continue;
		*valid = encoding_valid_prefix(&conv->encoding, s, field->length);
		if (*valid < field->length)
			return i;
	}
	return -1;
}

/* Marks the rows that have an invalid text. */
static void
begin_batch(Converter *conv, Reader *reader)
{
	const FixedState *state = conv->format_state;
	const char *data = reader->data;
	ScanRow    *rows = reader->rows;
	uint32		nrows = reader->result.nrows;
	const ScanField *fields = reader->fields;
	uint32		start = nrows > 0 ? rows[0].start : 0;
	uint32		end = nrows > 0 ? rows[nrows - 1].end : 0;
	uint32		valid;

	/* an invalid row has a fault */
	conv->window_length = conv->valid = reader->result.consumed;
	/* where the encoding is converted, each text is checked then */
	if (conv->encoding.transcode ||
		(state->fields == NULL && is_plain(data + start, end - start)))
		return;
	for (uint32 i = 0; i < nrows; i++)
		if (rows[i].fault == SCAN_FAULT_NONE &&
			(state->fields != NULL ||
			 !is_plain(data + rows[i].start, rows[i].end - rows[i].start)) &&
			find_invalid(conv, data, &rows[i], fields, &valid) >= 0)
			rows[i].fault = SCAN_FAULT_ENCODING;
}

static bool
report_encoding(Converter *conv, const char *data, const ScanRow *row,
				const ScanField *fields, RowError *err)
{
	uint32		valid = 0;
	int			index = find_invalid(conv, data, row, fields, &valid);
	const ScanField *field = &fields[row->first_field + index];

	encoding_report(&conv->encoding, data + field->start + valid,
					field->length - valid, err);
	if (index < conv->ncolumns)
		err->column = conv->columns[index].name;
	return false;
}

/* ---- rows ---- */

/* Records have no line ends: there is nothing to detect. */
static ScanEol
first_eol(const BulkOptions *options, bool stored)
{
	return options->record_length > 0 ? SCAN_EOL_NL :
		lines_first_eol(options, stored);
}

static const char *
describe_fault(const ScanRow *row, int *sqlstate)
{
	if (row->fault != SCAN_FAULT_RECORD_LENGTH)
		return lines_describe_fault(row, sqlstate);
	return psprintf("last record has %u bytes, fewer than \"record_length\"",
					row->end - row->start);
}

static bool
may_form(const Converter *conv, Size *shared)
{
	*shared = conv->options->fields->shared_bytes;
	return true;
}

const FormatRoutine format_fixed = {
	.spans_files = true,
	.rows_alone = true,
	.by_place = true,
	.first_eol = first_eol,
	.begin_file = lines_begin_file,
	.find_rows = lines_find_rows,
	.find_border = lines_find_border,
	.recover = lines_recover,
	.open_column = lines_open_column,
	.open = open_fields,
	.begin_batch = begin_batch,
	.convert_row = convert_row,
	.convert_transformed_row = convert_transformed_row,
	.describe_fault = describe_fault,
	.is_number = is_number,
	.number_text = number_text,
	.report_encoding = report_encoding,
	.may_form = may_form
};
