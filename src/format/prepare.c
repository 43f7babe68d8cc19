/*
 * prepare.c
 *		See prepare.h.
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "format/prepare.h"
#include "server/compat.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/formatting.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

struct Preparation
{
	StringInfoData original;	/* the field, and what it became */
	StringInfoData prepared;
};

/* ---- opening ---- */

/*
 * Has the server parse a template before the first row: without text only
 * errors in the template itself are thrown.
 */
static void
check_template(const char *name, text *template)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		compat_check_datetime_template(template);
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		if (edata->sqlerrcode == ERRCODE_QUERY_CANCELED)
			PG_RE_THROW();
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"date_format\" has an invalid template for column \"%s\"",
						name),
				 errdetail("%s", edata->message),
				 errhint("Put text that is no pattern into double quotes.")));
	}
	PG_END_TRY();
}

static void
open_date_format(Converter *conv, const BulkDateFormat *format)
{
	Column	   *column = convert_find_loaded(conv, format->column, "date_format");

	switch (getBaseType(column->type))
	{
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"date_format\" names column \"%s\", which is of type %s",
							format->column, format_type_be(column->type)),
					 errdetail("It is for dates, times and timestamps.")));
	}
	column->template = cstring_to_text(format->template);
	column->template_string = format->template;
	check_template(format->column, column->template);
	column->prepare = column->special = true;
}

void
prepare_open(Converter *conv)
{
	ListCell   *lc;

	foreach(lc, conv->options->date_formats)
		open_date_format(conv, lfirst(lc));

	conv->preparation = palloc(sizeof(Preparation));
	initStringInfo(&conv->preparation->original);
	initStringInfo(&conv->preparation->prepared);
	if (conv->options->decimal_mark == '.' && conv->options->thousands_mark == NULL)
		return;
	for (int i = 0; i < conv->ncolumns; i++)
	{
		Column	   *column = &conv->columns[i];

		if (column->attnum == InvalidAttrNumber || column->number != NULL)
			continue;
		switch (getBaseType(column->type))
		{
			case NUMERICOID:
			case FLOAT4OID:
			case FLOAT8OID:
				column->prepare = column->special = true;
				break;
			case INT2OID:
			case INT4OID:
			case INT8OID:
				/* they have no decimals */
				column->prepare = conv->options->thousands_mark != NULL;
				column->special |= column->prepare;
				break;
		}
	}
}

/* ---- one field ---- */

/* A number that is invalid before its type's input function is called. */
static bool
refuse_number(Converter *conv, const Column *column, RowError *err, const char *message)
{
	char	   *text = pstrdup(conv->preparation->original.data);

	conv->input_column = column - conv->columns;	/* for the context */
	conv->input_text = text;
	convert_fail(err, REJECT_VALUE, ERRCODE_INVALID_TEXT_REPRESENTATION,
				 column, text, message, format_type_be(column->type), text);
	conv->input_column = -1;
	err->swallowed = convert_is_swallowed(column, text);
	return false;
}

static size_t
count_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* Whether a mark is there; blanks after a number are not one. */
static bool
has_mark(const char *text, const char *mark)
{
	return strncmp(text, mark, strlen(mark)) == 0 && text[strspn(text, " ")] != '\0';
}

/*
 * Appends the digits of a number up to its decimals, without thousands
 * separators; false: not every group has three digits, or the first one begins
 * with a zero.  Then it is not clear what is meant.
 */
static bool
take_thousands(Converter *conv, char **text)
{
	const char *mark = conv->options->thousands_mark;
	StringInfo	to = &conv->preparation->prepared;
	char	   *s = *text;
	size_t		n;

	while (isspace((unsigned char) *s))
		s++;
	if (*s == '-' || *s == '+')
		appendStringInfoChar(to, *s++);
	n = count_digits(s);
	if (has_mark(s + n, mark) && (n == 0 || n > 3 || *s == '0'))
		return false;
	appendBinaryStringInfo(to, s, n);
	s += n;
	for (; has_mark(s, mark); s += 3)
	{
		s += strlen(mark);
		if (count_digits(s) != 3)
			return false;
		appendBinaryStringInfo(to, s, 3);
	}
	*text = s;
	s = strstr(s, mark);
	return s == NULL || !has_mark(s, mark);
}

/*
 * A point where another decimal mark is expected may well separate thousands:
 * it makes the number invalid, unless option thousands_mark says that it does.
 */
static bool
prepare_number(Converter *conv, const Column *column, RowError *err)
{
	const BulkOptions *options = conv->options;
	char	   *text = conv->preparation->original.data;

	if (options->thousands_mark != NULL && !take_thousands(conv, &text))
		return refuse_number(conv, column, err,
							 "number of type %s is not grouped by thousands: \"%s\"");
	if (options->decimal_mark != '.' && strchr(text, '.') != NULL)
		return refuse_number(conv, column, err, "invalid input syntax for type %s: \"%s\"");
	for (; *text != '\0'; text++)
		appendStringInfoChar(&conv->preparation->prepared,
							 *text == options->decimal_mark ? '.' : *text);
	return true;
}

static bool
prepare_date(Converter *conv, int index, RowError *err)
{
	Column	   *column = &conv->columns[index];
	StringInfo	original = &conv->preparation->original;
	Datum		value;
	Oid			type;
	int32		typmod;
	int			zone = 0;
	char		buf[MAXDATELEN + 1];
	char	   *separator;
	ValueMismatch mismatch;

	convert_begin_input(conv, index, original->data);
	value = compat_parse_datetime(cstring_to_text_with_len(original->data,
														   original->len),
								  column->template, &type, &typmod, &zone,
								  conv->escontext);
	if (convert_soft_error(conv, column, err))
		return false;

	if (value_template_mismatch(column->template_string, original->data, &mismatch))
	{
		convert_fail(err, REJECT_VALUE, ERRCODE_INVALID_DATETIME_FORMAT,
					 column, pstrdup(original->data),
					 "invalid value \"%.*s\" for \"%s\"",
					 (int) mismatch.length, mismatch.number, mismatch.pattern);
		convert_end_input(conv);
		return false;
	}

	/* the fast converters expect a space instead of the T */
	JsonEncodeDateTime(buf, value, type, NULL);
	convert_end_input(conv);
	separator = strchr(buf, 'T');
	if (separator != NULL)
		*separator = ' ';
	appendStringInfoString(&conv->preparation->prepared, buf);
	return true;
}

const char *
prepare_text(Converter *conv, int index, const char *s, uint32 *len,
			 const char **original, RowError *err)
{
	Column	   *column = &conv->columns[index];
	Preparation *preparation = conv->preparation;
	bool		ok;

	resetStringInfo(&preparation->original);
	resetStringInfo(&preparation->prepared);
	appendBinaryStringInfo(&preparation->original, s, *len);
	*original = preparation->original.data;
	ok = column->template != NULL ? prepare_date(conv, index, err) :
		prepare_number(conv, column, err);
	if (!ok)
		return NULL;
	*len = preparation->prepared.len;
	return preparation->prepared.data;
}
