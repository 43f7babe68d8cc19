/*
 * converter.c
 *		See converter.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "format/converter.h"
#include "mb/pg_wchar.h"
#include "server/compat.h"
#include "utils/memutils.h"

bool
convert_fail(RowError *err, RejectReason reason, int sqlstate,
			 const Column *column, const char *value, const char *format,...)
{
	StringInfoData message;
	va_list		args;
	int			needed;

	initStringInfo(&message);
	for (;;)
	{
		va_start(args, format);
		needed = appendStringInfoVA(&message, format, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&message, needed);
	}

	if (err == NULL)
		ereport(ERROR,
				(errcode(sqlstate), errmsg_internal("%s", message.data)));

	memset(err, 0, sizeof(*err));
	err->reason = reason;
	err->sqlstate = sqlstate;
	err->message = message.data;
	err->column = column ? column->name : NULL;
	err->value = value;
	return false;
}

void
convert_reserve_scratch(Converter *conv, Size size)
{
	if (size <= conv->scratch_size)
		return;
	conv->scratch_size = Max(size, Min(conv->scratch_size * 2, MaxAllocHugeSize));
	conv->scratch = repalloc_huge(conv->scratch, conv->scratch_size);
}

/* Whether a field needs no conversion of its encoding. */
static inline bool
is_plain_ascii(const char *s, uint32 len)
{
	return scan_is_ascii(s, len) && memchr(s, 0, len) == NULL;
}

/* Whether backslashes in it begin escapes of JSON: it is a string with some, or a document. */
static bool
may_have_escapes(const Converter *conv, const char *s, const ScanField *field)
{
	return conv->routine->escapes == FORMAT_OWN_ESCAPES &&
		(field->escaped || !field->quoted || *s == '"');
}

const char *
convert_field_text(Converter *conv, const char *data, const ScanField *field,
				   uint32 *len, RowError *err)
{
	const char *s = data + field->start;

	*len = field->length;
	if (conv->encoding.transcode && !is_plain_ascii(s, *len))
	{
		int			n;

		if (conv->encoding.wide_backslash && may_have_escapes(conv, s, field))
			s = encoding_double_backslashes(&conv->encoding, s, len);
		convert_reserve_scratch(conv, (Size) *len * MAX_CONVERSION_GROWTH + 32);
		if (conv->options->invalid_bytes == BULK_INVALID_REPLACE)
			n = encoding_convert_replacing(&conv->encoding, s, *len,
										   conv->scratch, err);
		else
			n = encoding_convert(&conv->encoding, s, *len, conv->scratch, err);
		if (n < 0)
			return NULL;
		s = conv->scratch;
		*len = n;
	}

	if (field->escaped)
	{
		bool		high = false;

		convert_reserve_scratch(conv, (Size) *len + 32);
		if (s != data + field->start)
			s = conv->scratch;	/* it may have moved */
		switch (conv->routine->escapes)
		{
			case FORMAT_QUOTES:
				*len = scan_unquote(&conv->dialect, s, *len, conv->scratch);
				break;
			case FORMAT_BACKSLASHES:
				*len = scan_unescape(s, *len, conv->scratch, &high);
				break;
			case FORMAT_OWN_ESCAPES:
				if (!conv->routine->unescape(conv, s, len, conv->scratch, &high, err))
					return NULL;
				break;
		}
		s = conv->scratch;

		if (high)
		{
			Encoding	check = {.verify = GetDatabaseEncoding()};
			uint32		valid = encoding_valid_prefix(&check, s, *len);

			if (valid < *len &&
				conv->options->invalid_bytes == BULK_INVALID_REPLACE)
			{
				StringInfoData repaired;

				initStringInfo(&repaired);
				if (!encoding_replace(&check, s, *len, &repaired, err))
					return NULL;
				*len = repaired.len;
				convert_reserve_scratch(conv, (Size) *len + 32);
				s = memcpy(conv->scratch, repaired.data, *len);
			}
			else if (valid < *len)
			{
				encoding_report(&check, s + valid, *len - valid, err);
				return NULL;
			}
		}
	}
	return s;
}

static inline bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

ScanField
convert_trim(const Converter *conv, const char *data, ScanField field)
{
	int			(*mblen) (const unsigned char *) = conv->encoding.shape_mblen;
	uint32		kept = 0;		/* no blank before this is trimmed */

	/* quoted as a whole: the span is what is between the quotes */
	if (field.quoted && !field.escaped)
		return field;

	while (field.length > 0 && is_blank(data[field.start]))
	{
		field.start++;
		field.length--;
	}
	data += field.start;
	for (uint32 i = 0; field.escaped && conv->routine->escapes == FORMAT_BACKSLASHES &&
		 i < field.length;)
	{
		if (data[i] == '\\')
			kept = i += 2;
		else
			i += mblen ? mblen((const unsigned char *) data + i) : 1;
	}
	while (field.length > kept && is_blank(data[field.length - 1]))
		field.length--;
	return field;
}

bool
convert_is_swallowed(const Column *column, const char *text)
{
	switch (column->type)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case JSONOID:
		case JSONBOID:
			return false;
		default:
			/* labels and elements of arrays may have line ends, too */
			return column->convert != NULL && column->detail == NULL && text != NULL &&
				strpbrk(text, "\r\n") != NULL;
	}
}

void
convert_begin_input(Converter *conv, int index, const char *text)
{
	conv->input_column = index;
	conv->input_text = text;
	guard_enter(conv->guard);
}

void
convert_end_input(Converter *conv)
{
	conv->input_column = -1;
	guard_leave(conv->guard, false);
}

bool
convert_soft_error(Converter *conv, const Column *column, RowError *err)
{
#ifdef COMPAT_SOFT_ERRORS
	ErrorSaveContext *escontext = (ErrorSaveContext *) conv->escontext;
	const char *text = conv->input_text;
	const ErrorData *edata;
	RejectReason reason = REJECT_VALUE;

	if (escontext == NULL || !escontext->error_occurred)
		return false;
	escontext->error_occurred = false;
	convert_end_input(conv);
	edata = escontext->error_data;

	/* a domain's */
	if (ERRCODE_TO_CATEGORY(edata->sqlerrcode) == ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION)
		reason = REJECT_CONSTRAINT;
	convert_fail(err, reason, edata->sqlerrcode, column,
				 text ? pstrdup(text) : NULL, "%s", edata->message);
	err->swallowed = convert_is_swallowed(column, text);
	return true;
#else
	return false;
#endif
}

Column *
convert_find_loaded(Converter *conv, const char *name, const char *option)
{
	AttrNumber	attnum = target_find_column(conv->target, name);

	if (attnum == InvalidAttrNumber)
		target_refuse_column(conv->target, name);
	for (int i = 0; i < conv->ncolumns; i++)
		if (conv->columns[i].attnum == attnum)
			return &conv->columns[i];
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
			 errmsg("option \"%s\" names column \"%s\", which is not loaded",
					option, name)));
	return NULL;
}
