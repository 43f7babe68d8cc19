/*
 * convert.c
 *		Fields to values: defaults, input functions; rows of fields.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "format/convert.h"
#include "format/prepare.h"
#include "format/transform.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* ---- one field ---- */

static inline bool
equals(const char *s, uint32 len, const char *text)
{
	return strlen(text) == len && memcmp(text, s, len) == 0;
}

/* The text as a C string: in scratch, unless it is there already. */
static char *
terminate(Converter *conv, const char *s, uint32 len)
{
	bool		in_scratch = s == conv->scratch;

	convert_reserve_scratch(conv, (Size) len + 1);
	if (!in_scratch)
		memcpy(conv->scratch, s, len);
	conv->scratch[len] = '\0';
	return conv->scratch;
}

/*
 * Calls the type's input function; text is NULL for a null.  shown is the field
 * for messages, as the file has it.
 */
static bool
ask_server(Converter *conv, int index, char *text, const char *shown,
		   Datum *value, RowError *err)
{
	Column	   *column = &conv->columns[index];

	convert_begin_input(conv, index, shown);
#ifdef COMPAT_SOFT_ERRORS
	if (conv->escontext != NULL)
	{
		if (!InputFunctionCallSafe(&column->input, text, column->ioparam,
								   column->typmod, conv->escontext, value))
			return !convert_soft_error(conv, column, err);
	}
	else
#endif
		*value = InputFunctionCall(&column->input, text, column->ioparam,
								   column->typmod);
	convert_end_input(conv);
	return true;
}

bool
convert_text(Converter *conv, int index, char *text, Datum *value, RowError *err)
{
	return ask_server(conv, index, text, text, value, err);
}

/* A value that is certainly invalid: the server's message, without calling it. */
static bool
surely_bad(Converter *conv, const Column *column, ValueResult result,
		   const char *text, RowError *err)
{
	bool		is_time = column->type == DATEOID || column->type == TIMEOID ||
		column->type == TIMESTAMPOID || column->type == TIMESTAMPTZOID;

	text = pstrdup(text);
	if (result == VALUE_BAD_SYNTAX)
		return convert_fail(err, REJECT_VALUE,
							is_time ? ERRCODE_INVALID_DATETIME_FORMAT :
							ERRCODE_INVALID_TEXT_REPRESENTATION,
							column, text,
							"invalid input syntax for type %s: \"%s\"",
							column->type_name, text);
	if (is_time)
		return convert_fail(err, REJECT_VALUE,
							ERRCODE_DATETIME_FIELD_OVERFLOW, column, text,
							"date/time field value out of range: \"%s\"", text);
	return convert_fail(err, REJECT_VALUE, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
						column, text, "value \"%s\" is out of range for type %s",
						text, column->type_name);
}

/* set_null: the field becomes NULL in this row.  Binary fields have no text. */
void
convert_mark_nulled(Converter *conv, int index, const char *text)
{
	if (conv->nulled[index])
		return;
	conv->nulled[index] = true;
	conv->nulled_text[index] = NULL;
	conv->nnulled++;

	/* the arena lives as long as the row, however often that is converted again */
	if (text != NULL)
	{
		Size		size = strlen(text) + 1;

		conv->nulled_text[index] = memcpy(arena_alloc(&conv->arena, size), text, size);
	}
}

/* The NULL in place of a bad value. */
static bool
null_instead(Converter *conv, int index, Datum *value, bool *isnull,
			 RowError *err)
{
	*isnull = true;
	*value = (Datum) 0;
	if (conv->columns[index].null_input)
		return ask_server(conv, index, NULL, NULL, value, err);
	return true;
}

/* A field that the column's fast converter (if any) has declined. */
static bool
convert_slowly(Converter *conv, int index, ValueResult result, const char *s,
			   uint32 len, const char *shown, Datum *value, bool *isnull,
			   RowError *err)
{
	Column	   *column = &conv->columns[index];
	char	   *text = terminate(conv, s, len);

	if (shown == NULL)
		shown = text;
	if (result != VALUE_ASK && err != NULL)
	{
		surely_bad(conv, column, result, shown, err);
		err->swallowed = convert_is_swallowed(column, shown);
	}
	else if (ask_server(conv, index, text, shown, value, err))
		return true;

	if (conv->options->on_error != BULK_ON_ERROR_SET_NULL)
		return false;
	convert_mark_nulled(conv, index, shown);
	return null_instead(conv, index, value, isnull, err);
}

/* The DEFAULT of a column that the file has, for this row. */
static bool
use_default(Converter *conv, Column *column, const char *missing_message,
			Datum *value, bool *isnull, RowError *err)
{
	if (column->default_expr == NULL && missing_message != NULL)
	{
		if (conv->options->plain)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("unexpected default marker in COPY data"),
					 errdetail("Column \"%s\" has no default value.", column->name)));
		conv->input_column = column - conv->columns;	/* for the context */
		conv->input_text = conv->options->default_marker;
		convert_fail(err, REJECT_SYNTAX, ERRCODE_BAD_COPY_FILE_FORMAT,
					 column, conv->options->default_marker,
					 "%s", missing_message);
		conv->input_column = -1;
		return false;
	}
	if (column->default_expr == NULL || conv->skipped)
		return true;			/* without a default it is null */

	if (column->sequence.range != NULL)
	{
		*value = sequence_default(&column->sequence, conv->guard);
		*isnull = false;
		return true;
	}
	guard_open(conv->guard);
	*value = ExecEvalExpr(column->default_expr, conv->econtext, isnull);
	if (column->default_volatile)
		guard_close(conv->guard);
	return true;
}

/* Whether a text in the database encoding is a null marker. */
static bool
is_null_text(const Converter *conv, const char *s, uint32 len)
{
	ListCell   *lc;

	foreach(lc, conv->options->nulls)
		if (equals(s, len, lfirst(lc)))
			return true;
	return false;
}

/* special is a constant, so that columns without special options skip all of it. */
static pg_attribute_always_inline bool
convert_field_as(Converter *conv, int index, const char *data,
				 const ScanField *field, Datum *value, bool *isnull,
				 RowError *err, const bool special)
{
	Column	   *column = &conv->columns[index];
	ScanField	trimmed;
	const char *shown = NULL;
	const char *s;
	uint32		len;
	ValueResult result = VALUE_ASK;
	ConvertFunction convert = column->convert;

	*isnull = false;
	if (special && column->trim)
	{
		trimmed = convert_trim(conv, data, *field);
		field = &trimmed;
	}
	s = data + field->start;
	len = field->length;

	if (!(special && column->force_not_null) &&
		convert_is_null(conv, data, field))
		goto null;
	if (conv->default_marker != NULL && !field->quoted &&
		equals(s, len, conv->default_marker))
		return use_default(conv, column, "unexpected default marker in input",
						   value, isnull, err);

	if (special && column->number != NULL)
	{
		if (!column->prepare && convert != NULL &&
			convert(conv, column, s, len, value) == VALUE_OK)
			return true;
		s = conv->routine->number_text(conv, index, s, &len);
		convert = column->convert_text;
	}
	else if (field->escaped || conv->encoding.transcode)
	{
		s = convert_field_text(conv, data, field, &len, err);
		if (s == NULL)
			return false;
	}
	if (special && column->force_null && field->quoted &&
		is_null_text(conv, s, len))
		goto null;

	if (special && column->prepare)
	{
		s = prepare_text(conv, index, s, &len, &shown, err);
		if (s == NULL && conv->options->on_error != BULK_ON_ERROR_SET_NULL)
			return false;
		if (s == NULL)
		{
			convert_mark_nulled(conv, index, shown);
			return null_instead(conv, index, value, isnull, err);
		}
	}

	if (convert != NULL)
	{
		result = convert(conv, column, s, len, value);
		if (likely(result == VALUE_OK))
			return true;
	}
	return convert_slowly(conv, index, result, s, len, shown, value, isnull, err);

null:
	*isnull = true;
	*value = (Datum) 0;
	if (unlikely(column->null_input))
		return ask_server(conv, index, NULL, NULL, value, err);
	return true;
}

static pg_noinline bool
convert_special_field(Converter *conv, int index, const char *data,
					  const ScanField *field, Datum *value, bool *isnull,
					  RowError *err)
{
	return convert_field_as(conv, index, data, field, value, isnull, err, true);
}

static pg_attribute_always_inline bool
field_to_value(Converter *conv, int index, const char *data,
			  const ScanField *field, Datum *value, bool *isnull,
			  RowError *err)
{
	if (unlikely(conv->nulled[index]))
		return null_instead(conv, index, value, isnull, err);
	if (unlikely(conv->columns[index].special))
		return convert_special_field(conv, index, data, field, value, isnull, err);
	return convert_field_as(conv, index, data, field, value, isnull, err, false);
}

bool
convert_field(Converter *conv, int index, const char *data,
			  const ScanField *field, Datum *value, bool *isnull,
			  RowError *err)
{
	return field_to_value(conv, index, data, field, value, isnull, err);
}

/* ---- one row ---- */

void
convert_window(Converter *conv, const char *data, uint32 len)
{
	conv->window_length = len;
	conv->valid = len;
	conv->invalid_end = 0;
	if (!conv->encoding.transcode)
		conv->valid = encoding_valid_prefix(&conv->encoding, data, len);
}

void
convert_forget_nulled(Converter *conv)
{
	if (conv->nnulled > 0)
		memset(conv->nulled, 0, sizeof(bool) * conv->ncolumns);
	conv->nnulled = 0;
}

void
convert_next(Converter *conv)
{
	arena_reset(&conv->arena);
	conv->input_column = -1;
	convert_forget_nulled(conv);
}

const char *
convert_asked_text(const Converter *conv)
{
	return conv->routine->receives ? NULL : conv->input_text;
}

bool
convert_null_asked(Converter *conv)
{
	int			index = conv->input_column;

	if (index < 0 || index >= conv->ncolumns || conv->input_text == NULL || conv->nulled[index])
		return false;
	convert_mark_nulled(conv, index, convert_asked_text(conv));
	conv->input_column = -1;
	return true;
}

/* The error of a fault as COPY raises it, which says how to write line ends in values. */
static void
raise_as_copy(const Converter *conv, const ScanRow *row, const char *message)
{
	bool		csv = conv->options->format == BULK_CSV;
	const char *hint = NULL;

	if (row->fault == SCAN_FAULT_NEWLINE)
		hint = csv ? "Use quoted CSV field to represent newline." :
			"Use \"\\n\" to represent newline.";
	else if (row->fault == SCAN_FAULT_CARRIAGE_RETURN)
		hint = csv ? "Use quoted CSV field to represent carriage return." :
			"Use \"\\r\" to represent carriage return.";
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg_internal("%s", message),
			 hint != NULL ? errhint("%s", hint) : 0));
}

bool
convert_fault(const Converter *conv, const ScanRow *row, RowError *err)
{
	int			sqlstate = ERRCODE_BAD_COPY_FILE_FORMAT;
	const char *message = conv->routine->describe_fault(row, &sqlstate);

	if (message == NULL)
	{
		/* well-formed, but too large for a value */
		sqlstate = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		message = "field is longer than 1 GB";
	}
	else if (conv->options->plain)
		raise_as_copy(conv, row, message);
	return convert_fail(err, REJECT_SYNTAX, sqlstate, NULL, NULL, "%s",
						message);
}

/*
 * A row beyond the bytes that are known to be valid text.  Where invalid bytes
 * are to be replaced there is no error yet.
 */
static bool
check_encoding(Converter *conv, const char *data, const ScanRow *row,
			   RowError *err)
{
	const Encoding *encoding = &conv->encoding;
	uint32		len = row->end - row->start;
	uint32		valid = encoding_valid_prefix(encoding, data + row->start, len);

	if (valid == len)
		return true;

	/* it may be converted again, with NULL for a value */
	conv->invalid_end = row->end;
	/* find how far the rows after this one are valid */
	if (row->next > conv->valid)
		conv->valid = row->next +
			encoding_valid_prefix(encoding, data + row->next,
								  conv->window_length - row->next);
	/* COPY shows the bytes of the character, even where the next line has some of them */
	if (conv->options->plain)
		len = conv->window_length - row->start;
	if (conv->options->invalid_bytes != BULK_INVALID_REPLACE)
		encoding_report(encoding, data + row->start + valid, len - valid, err);
	return false;
}

static bool
too_many_fields(const Converter *conv, uint32 nfields, RowError *err)
{
	if (nfields <= conv->ncolumns || conv->options->ignore_extra)
		return false;
	convert_fail(err, REJECT_SYNTAX, ERRCODE_BAD_COPY_FILE_FORMAT, NULL, NULL,
				 "extra data after last expected column");
	convert_wrong_count(err, true);
	return true;
}

static bool
too_few_fields(const Converter *conv, uint32 nfields, RowError *err)
{
	const Column *column;

	if (nfields >= conv->ncolumns ||
		conv->options->missing != BULK_MISSING_ERROR)
		return false;
	column = &conv->columns[nfields];
	if (column->name == NULL)
		convert_fail(err, REJECT_SYNTAX, ERRCODE_BAD_COPY_FILE_FORMAT, NULL,
					 NULL, "missing data for field %u", nfields + 1);
	else
		convert_fail(err, REJECT_SYNTAX, ERRCODE_BAD_COPY_FILE_FORMAT, column,
					 NULL, "missing data for column \"%s\"", column->name);
	convert_wrong_count(err, false);
	return true;
}

bool
convert_missing(Converter *conv, int first, int end, Datum *values, bool *nulls,
				RowError *err)
{
	for (int i = first; i < end; i++)
	{
		Column	   *column = &conv->columns[i];

		if (column->attnum == InvalidAttrNumber)
			continue;
		/* there may be one just for the default marker */
		if (column->default_expr != NULL &&
			conv->options->missing == BULK_MISSING_DEFAULT)
			use_default(conv, column, NULL, &values[column->attnum - 1],
						&nulls[column->attnum - 1], err);
		else if (column->null_input &&
				 !ask_server(conv, i, NULL, NULL, &values[column->attnum - 1], err))
			return false;
	}
	return true;
}

void
convert_defaults(Converter *conv, Datum *values, bool *nulls)
{
	for (int i = 0; i < conv->ndefaults && !conv->skipped; i++)
	{
		Default    *def = &conv->defaults[i];
		int			m = def->attnum - 1;

		if (def->sequence.range != NULL)
		{
			values[m] = sequence_default(&def->sequence, conv->guard);
			nulls[m] = false;
			continue;
		}
		guard_open(conv->guard);
		values[m] = ExecEvalExpr(def->expr, conv->econtext, &nulls[m]);
		if (def->is_volatile)
			guard_close(conv->guard);
	}
}

/*
 * The values of a well-formed row.  As in COPY, a row that is too short is
 * noticed only after its fields; for a reject the count is the better message
 * than a bad value.
 */
static bool
convert_fields(Converter *conv, const char *data, const ScanRow *row,
			   const ScanField *fields, Datum *values, bool *nulls,
			   RowError *err)
{
	uint32		nfields = row->nfields;
	uint32		n;

	/* a table without columns takes empty lines */
	if (conv->ncolumns == 0 && nfields == 1 && row->start == row->end)
		nfields = 0;
	if (too_many_fields(conv, nfields, err) ||
		(err != NULL && too_few_fields(conv, nfields, err)))
		return false;

	n = Min(nfields, conv->ncolumns);
	for (uint32 i = 0; i < n; i++)
	{
		AttrNumber	attnum = conv->columns[i].attnum;
		uint32		len;

		if (likely(attnum != InvalidAttrNumber))
		{
			if (!field_to_value(conv, i, data, &fields[i], &values[attnum - 1],
							   &nulls[attnum - 1], err))
				return false;
		}
		else if (conv->encoding.transcode &&
				 convert_field_text(conv, data, &fields[i], &len, err) == NULL)
			return false;
	}

	if (n < conv->ncolumns &&
		(too_few_fields(conv, n, err) ||
		 !convert_missing(conv, n, conv->ncolumns, values, nulls, err)))
		return false;
	if (conv->ndefaults > 0)
		convert_defaults(conv, values, nulls);
	return true;
}

/* The values of a row with invalid bytes: from a copy in which they are replaced. */
static bool
convert_mended(Converter *conv, const char *data, const ScanRow *row,
			   const ScanField *fields, Datum *values, bool *nulls,
			   RowError *err, ConvertRow convert)
{
	StringInfo	repaired = &conv->repaired;
	ScanField  *copies = palloc(sizeof(ScanField) * Max(row->nfields, 1));

	/* fields may be read past their ends */
	resetStringInfo(repaired);
	appendStringInfoSpaces(repaired, SCAN_PADDING);
	for (uint32 i = 0; i < row->nfields; i++)
	{
		copies[i] = fields[i];
		copies[i].start = repaired->len;
		if (conv->routine->is_number != NULL && conv->routine->is_number(conv, i))
			appendBinaryStringInfo(repaired, data + fields[i].start, fields[i].length);
		else if (!encoding_replace(&conv->encoding, data + fields[i].start,
								   fields[i].length, repaired, err))
			return false;
		copies[i].length = repaired->len - copies[i].start;
	}
	appendStringInfoSpaces(repaired, SCAN_PADDING);
	return convert(conv, repaired->data, row, copies, values, nulls, err);
}

/* fields_to_values is a constant wherever many rows are converted. */
static pg_attribute_always_inline bool
convert_by(ConvertRow fields_to_values, Converter *conv, const char *data,
		   const ScanRow *row, const ScanField *fields, Datum *values,
		   bool *nulls, RowError *err)
{
	MemoryContext context;
	bool		ok;

	context = MemoryContextSwitchTo(conv->econtext->ecxt_per_tuple_memory);
	memset(nulls, true, sizeof(bool) * conv->natts);

	if (row->fault != SCAN_FAULT_NONE && row->fault != SCAN_FAULT_ENCODING)
		ok = convert_fault(conv, row, err);
	else if (row->fault == SCAN_FAULT_ENCODING ?
			 conv->options->invalid_bytes == BULK_INVALID_REPLACE ||
			 !conv->routine->report_encoding(conv, data, row, fields, err) :
			 (row->end > conv->valid || row->end == conv->invalid_end) &&
			 !conv->encoding.transcode && !check_encoding(conv, data, row, err))
		ok = conv->options->invalid_bytes == BULK_INVALID_REPLACE &&
			convert_mended(conv, data, row, fields + row->first_field,
						   values, nulls, err, fields_to_values);
	else
		ok = fields_to_values(conv, data, row, fields + row->first_field,
							  values, nulls, err);

	MemoryContextSwitchTo(context);
	return ok;
}

bool
convert_row_by(ConvertRow fields_to_values, Converter *conv, const char *data,
			   const ScanRow *row, const ScanField *fields, Datum *values,
			   bool *nulls, RowError *err)
{
	return convert_by(fields_to_values, conv, data, row, fields, values, nulls,
					  err);
}

bool
convert_row(Converter *conv, const char *data, const ScanRow *row,
			const ScanField *fields, Datum *values, bool *nulls, RowError *err)
{
	return convert_by(convert_fields, conv, data, row, fields, values, nulls,
					  err);
}

bool
convert_transformed_row(Converter *conv, const char *data, const ScanRow *row,
						const ScanField *fields, Datum *values, bool *nulls,
						RowError *err)
{
	return convert_by(transform_row, conv, data, row, fields, values, nulls,
					  err);
}

ConvertRow
convert_row_function(const BulkOptions *options)
{
	const FormatRoutine *routine = format_routine(options);

	return options->transform != NULL ? routine->convert_transformed_row :
		routine->convert_row;
}
