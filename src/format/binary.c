/*
 * binary.c
 *		Format binary, COPY's own: values by the types' receive functions.
 *
 * Receive functions know no soft errors on any server version, so under
 * on_error = ignore they always run under the guard.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "format/convert.h"
#include "format/reader.h"
#include "mb/pg_wchar.h"
#include "utils/lsyscache.h"

/* The version that jsonb_send begins with. */
#define JSONB_VERSION 1

/* ---- reading ---- */

/* Rows are delimited by sizes: there are no line ends to detect. */
static ScanEol
first_eol(const BulkOptions *options, bool stored)
{
	return SCAN_EOL_NL;
}

/* As COPY says what is wrong with a header (ReceiveCopyBinaryHeader of copyfromparse.c). */
static void
refuse_as_copy(const Window *window)
{
	static const char signature[11] = "PGCOPY\n\377\r\n";
	const char *flags = window->data + sizeof(signature);
	const char *message = "COPY file signature not recognized";

	if (window->length >= sizeof(signature) &&
		memcmp(window->data, signature, sizeof(signature)) == 0)
	{
		if (window->length < sizeof(signature) + 4)
			message = "invalid COPY file header (missing flags)";
		else if (flags[1] & 1)
			message = "invalid COPY file header (WITH OIDS)";
		else if (flags[0] != 0 || flags[1] != 0)
			message = "unrecognized critical flags in COPY file header";
		else if (window->length < sizeof(signature) + 8 || (flags[4] & 0x80) != 0)
			message = "invalid COPY file header (missing length)";
		else
			message = "invalid COPY file header (wrong length)";
	}
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg_internal("%s", message)));
}

static uint32
begin_file(Reader *reader)
{
	const Window *window = &reader->source->window;
	int64		size;

	for (;;)
	{
		size = scan_binary_header(window->data, window->length);
		if (size != 0 || window->at_eof)
			break;
		window_fill(reader->source, 0, 0);
	}
	if (size <= 0 && reader->source->options->plain)
		refuse_as_copy(window);
	if (size <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("file \"%s\" is not in PostgreSQL's binary format",
						reader->source->path),
				 errdetail(size < 0 ? "Its header is not that of COPY's binary format." :
						   "It ends within the header.")));
	return size;
}

/* A last byte alone is the end to COPY: no row has begun. */
static void
pass_over_byte(Reader *reader)
{
	ScanResult *result = &reader->result;
	const ScanRow *row = &reader->rows[result->nrows - 1];

	if (result->nrows == 0 || row->fault != SCAN_FAULT_TRUNCATED || row->end - row->start != 1)
		return;
	result->nrows--;
	result->status = SCAN_END;
}

static void
find_rows(Reader *reader, const char *bytes, uint32 length, uint32 max_rows)
{
	scan_binary(bytes, length, reader->source->window.at_eof, reader->rows,
				max_rows, reader->fields, reader->max_fields, &reader->result);
	if (reader->source->options->plain)
		pass_over_byte(reader);
}

static bool
find_border(const Reader *reader, ScanEol eol, ScanBorder *border)
{
	const Window *window = &reader->source->window;

	return !scan_binary_border(window->data, window->length, border) ||
		window->at_eof;
}

/* ---- values ---- */

/* json and jsonb are texts here, too. */
static void
open_column(Converter *conv, Column *column)
{
	Oid			function;

	getTypeBinaryInputInfo(column->type, &function, &column->ioparam);
	fmgr_info(function, &column->input);
	if (column->type == JSONOID || column->type == JSONBOID)
		convert_choose(conv, column);
}

/* The state is one field, for its receive function. */
static void
open_message(Converter *conv)
{
	conv->format_state = makeStringInfo();
}

/*
 * A document converted without json_recv and jsonb_recv.  These take text in
 * the client's encoding, for jsonb after a version.
 */
static bool
receive_document(Converter *conv, const Column *column, const char *s, uint32 len,
				 Datum *value)
{
	const Encoding encoding = {.verify = GetDatabaseEncoding()};

	if (column->type == JSONBOID)
	{
		if (len == 0 || *s != JSONB_VERSION)
			return false;
		s++;
		len--;
	}
	return pg_get_client_encoding() == GetDatabaseEncoding() &&
		encoding_valid_prefix(&encoding, s, len) == len &&
		column->convert(conv, column, s, len, value) == VALUE_OK;
}

/* A field's value; its type's receive function must read all of it. */
static bool
receive_field(Converter *conv, int index, const char *data,
			  const ScanField *field, Datum *value, bool *isnull,
			  RowError *err)
{
	Column	   *column = &conv->columns[index];
	StringInfo	buf = conv->format_state;

	*isnull = SCAN_FIELD_IS_NULL(field) || conv->nulled[index];
	if (*isnull && !column->null_input)
	{
		*value = (Datum) 0;
		return true;
	}

	if (column->convert != NULL && !*isnull &&
		receive_document(conv, column, data + field->start, field->length, value))
		return true;

	convert_begin_input(conv, index, *isnull ? NULL : "");
	if (*isnull)
	{
		*value = ReceiveFunctionCall(&column->input, NULL, column->ioparam,
									 column->typmod);
		convert_end_input(conv);
		return true;
	}

	/* receive functions may rely on a terminator that is not data */
	resetStringInfo(buf);
	appendBinaryStringInfo(buf, data + field->start, field->length);
	*value = ReceiveFunctionCall(&column->input, buf, column->ioparam,
								 column->typmod);
	if (buf->cursor == buf->len)
	{
		convert_end_input(conv);
		return true;
	}

	if (err != NULL && conv->options->on_error == BULK_ON_ERROR_SET_NULL)
	{
		convert_mark_nulled(conv, index, NULL);
		return receive_field(conv, index, data, field, value, isnull, err);
	}

	/* an error raised here is still about the field */
	convert_fail(err, REJECT_VALUE, ERRCODE_INVALID_BINARY_REPRESENTATION,
				 column, NULL, "incorrect binary data format");
	convert_end_input(conv);
	return false;
}

static bool
receive_fields(Converter *conv, const char *data, const ScanRow *row,
			   const ScanField *fields, Datum *values, bool *nulls,
			   RowError *err)
{
	uint32		n = Min(row->nfields, conv->ncolumns);

	for (uint32 i = 0; i < n; i++)
	{
		AttrNumber	attnum = conv->columns[i].attnum;

		if (attnum != InvalidAttrNumber &&
			!receive_field(conv, i, data, &fields[row->first_field + i],
						   &values[attnum - 1], &nulls[attnum - 1], err))
			return false;
	}
	if (n < conv->ncolumns &&
		!convert_missing(conv, n, conv->ncolumns, values, nulls, err))
		return false;
	if (conv->ndefaults > 0)
		convert_defaults(conv, values, nulls);
	return true;
}

/* A number in network byte order. */
static int32
get_number(const char *p, int size)
{
	const unsigned char *u = (const unsigned char *) p;

	return size == 2 ? (int16) (u[0] << 8 | u[1]) :
		(int32) ((uint32) u[0] << 24 | u[1] << 16 | u[2] << 8 | u[3]);
}

/* The first error that COPY finds in a row that is cut short or has a bad size. */
static void
raise_as_copy(Converter *conv, const char *data, const ScanRow *row)
{
	uint32		p = row->start;
	int			count = get_number(data + p, 2);

	if (count != conv->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("row field count is %d, expected %d", count, conv->ncolumns)));
	p += 2;
	for (int i = 0; i < count; i++)
	{
		bool		whole = row->end - p >= 4;
		int32		size = whole ? get_number(data + p, 4) : -1;
		ScanField	field = {.start = p + 4,.length = Max(size, 0),.quoted = size == -1};
		Datum		value;
		bool		isnull;

		conv->input_column = i;
		if (whole && size < -1)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("invalid field size")));
		resetStringInfo(conv->format_state);
		if (whole && size > 0)
			enlargeStringInfo(conv->format_state, size);
		if (!whole || (int64) row->end - p - 4 < size)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("unexpected EOF in COPY data")));
		(void) receive_field(conv, i, data, &field, &value, &isnull, NULL);
		p = field.start + field.length;
	}
}

static bool
convert_binary_row(Converter *conv, const char *data, const ScanRow *row,
				   const ScanField *fields, Datum *values, bool *nulls,
				   RowError *err)
{
	MemoryContext context;
	bool		ok;

	/* it is not known where the next row begins: an error that ends the load */
	if (row->fault != SCAN_FAULT_NONE)
		guard_close(conv->guard);
	if (row->fault != SCAN_FAULT_NONE && conv->options->plain)
		raise_as_copy(conv, data, row);
	if (row->fault == SCAN_FAULT_TRUNCATED)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("unexpected end of file")));
	if (row->fault != SCAN_FAULT_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("invalid field size")));

	if ((row->nfields > conv->ncolumns && !conv->options->ignore_extra) ||
		(row->nfields < conv->ncolumns &&
		 conv->options->missing == BULK_MISSING_ERROR))
		return convert_fail(err, REJECT_SYNTAX, ERRCODE_BAD_COPY_FILE_FORMAT,
							NULL, NULL, "row field count is %u, expected %d",
							row->nfields, conv->ncolumns);

	context = MemoryContextSwitchTo(conv->econtext->ecxt_per_tuple_memory);
	memset(nulls, true, sizeof(bool) * conv->natts);
	ok = receive_fields(conv, data, row, fields, values, nulls, err);
	MemoryContextSwitchTo(context);
	return ok;
}

const FormatRoutine format_binary = {
	.keeps_header = true,
	.marker_ends = true,
	.receives = true,
	.first_eol = first_eol,
	.begin_file = begin_file,
	.find_rows = find_rows,
	.find_border = find_border,
	.open_column = open_column,
	.open = open_message,
	.convert_row = convert_binary_row
};
