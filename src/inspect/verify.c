/*
 * verify.c
 *		See verify.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "inspect/verify.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "option/options.h"
#include "scan/values.h"
#include "server/compat.h"
#include "server/subtransaction.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

static const Oid type_oids[SHAPE_TYPES] = {
	[SHAPE_BOOL] = BOOLOID, [SHAPE_INT4] = INT4OID, [SHAPE_INT8] = INT8OID,
	[SHAPE_NUMERIC] = NUMERICOID, [SHAPE_FLOAT8] = FLOAT8OID,
	[SHAPE_DATE] = DATEOID, [SHAPE_TIMESTAMP] = TIMESTAMPOID,
	[SHAPE_TIMESTAMPTZ] = TIMESTAMPTZOID, [SHAPE_TIME] = TIMEOID,
	[SHAPE_UUID] = UUIDOID, [SHAPE_INET] = INETOID, [SHAPE_JSONB] = JSONBOID,
	[SHAPE_TEXT] = TEXTOID
};

typedef struct Verifier
{
	Columns    *columns;
	Encoding   *encoding;
	MemoryContext row_context;
	StringInfoData text;
	FmgrInfo	input[SHAPE_TYPES];
	Oid			ioparam[SHAPE_TYPES];
	text	  **templates;		/* of columns that have one */
	bool	   *wanted;			/* columns whose values are still to be verified */
	bool	   *refused;		/* columns that have had a value which their type rejects */
	uint32		column;			/* the next one of the row */
	int64		walked;			/* rows in all, for interrupts */
} Verifier;

char *
verify_text(Encoding *encoding, const char *s, size_t length)
{
	char	   *text;
	RowError	error;

	if (scan_is_ascii(s, length))
		text = pnstrdup(s, length);
	else if (encoding != NULL && encoding->transcode &&
			 length < MaxAllocSize / MAX_CONVERSION_GROWTH - 1)
	{
		text = palloc(length * MAX_CONVERSION_GROWTH + 1);
		if (encoding_convert(encoding, s, length, text, &error) >= 0)
			return text;
		text = pnstrdup(s, length);
		encoding = NULL;
	}
	else
		text = pnstrdup(s, length);
	if (encoding == NULL || !pg_verifymbstr(text, strlen(text), true))
		for (char *c = text; *c != '\0'; c++)
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
	return text;
}

/* The template of a column's dates, or NULL. */
static text *
make_template(const ColumnStats *stats)
{
	char		template[64];

	if (stats->order == 0)
		return NULL;
	shape_template(&stats->date, stats->order, template);
	return cstring_to_text(template);
}

static bool
verify_date(Verifier *verifier, const ColumnStats *stats, text *template)
{
	char	   *value = verifier->text.data;
	char		template_string[64];
	ValueMismatch mismatch;
	Oid			type;
	int32		typmod;
	int			zone = 0;

	shape_template(&stats->date, stats->order, template_string);
	compat_parse_datetime(cstring_to_text(value), template, &type, &typmod,
						  &zone, NULL);
	return !value_template_mismatch(template_string, value, &mismatch);
}

/* False, or an error, where the column's type rejects the value. */
static bool
verify_value(Verifier *verifier, int column, const char *s, size_t length)
{
	const ColumnStats *stats = &verifier->columns->columns[column];
	StringInfo	value = &verifier->text;

	resetStringInfo(value);
	if (stats->type == SHAPE_JSONB)
		appendStringInfoString(value, verify_text(verifier->encoding, s, length));
	else
		appendBinaryStringInfo(value, s, length);
	if ((stats->type == SHAPE_NUMERIC || stats->type == SHAPE_FLOAT8) &&
		verifier->columns->decimal_mark != '.')
		for (char *c = value->data; *c != '\0'; c++)
			if (*c == verifier->columns->decimal_mark)
				*c = '.';
	if (verifier->templates[column] != NULL)
		return verify_date(verifier, stats, verifier->templates[column]);
	InputFunctionCall(&verifier->input[stats->type], value->data,
					  verifier->ioparam[stats->type], -1);
	return true;
}

static void
refuse(Verifier *verifier, uint32 column)
{
	verifier->refused[column] = true;
	verifier->wanted[column] = false;
}

/* Values of a row, from the next column on. */
static void
verify_values(Verifier *verifier, uint32 count, const char *data, const ScanField *fields)
{
	const Columns *columns = verifier->columns;

	for (; verifier->column < count; verifier->column++)
	{
		uint32		i = verifier->column;
		const char *s = NULL;
		size_t		length;

		if (verifier->wanted[i])
			s = columns->routine->text(columns, i, data, &fields[i], &length);
		if (s != NULL && !verify_value(verifier, i, s, length))
			refuse(verifier, i);
	}
}

/* Whether an error is about a value, and not about the session or its memory. */
static bool
is_about_value(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_DATA_EXCEPTION ||
		error->sqlerrcode == ERRCODE_FEATURE_NOT_SUPPORTED ||
		error->sqlerrcode == ERRCODE_PROGRAM_LIMIT_EXCEEDED ||
		error->sqlerrcode == ERRCODE_STATEMENT_TOO_COMPLEX;
}

/* The same up to an error about a value; what comes then is in a subtransaction of its own. */
static void
verify_softly(Verifier *verifier, uint32 count, const char *data, const ScanField *fields)
{
	PG_TRY();
	{
		verify_values(verifier, count, data, fields);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(verifier->row_context);
		if (!is_about_value(CopyErrorData()))
			PG_RE_THROW();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		BeginInternalSubTransaction(NULL);
		MemoryContextSwitchTo(verifier->row_context);
		refuse(verifier, verifier->column++);
	}
	PG_END_TRY();
}

static bool
verify_row(void *arg, const char *data, const ScanRow *row,
		   const ScanField *fields)
{
	Verifier   *verifier = arg;
	uint32		count = Min(row->nfields, verifier->columns->count);
	MemoryContext caller;

	if ((verifier->walked++ & 255) == 0)
		CHECK_FOR_INTERRUPTS();
	caller = MemoryContextSwitchTo(verifier->row_context);
	verifier->column = 0;
	while (verifier->column < count)
		verify_softly(verifier, count, data, fields);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(verifier->row_context);
	return true;
}

static bool
verify_rows(void *arg)
{
	Verifier   *verifier = arg;

	verifier->columns->routine->walk(verifier->columns, verify_row, verifier);
	return true;
}

/* Chooses the columns of the next walk: those that were refused.  False: there are none. */
static bool
begin_walk(Verifier *verifier)
{
	bool		any = false;

	for (uint32 i = 0; i < verifier->columns->count; i++)
	{
		const ColumnStats *stats = &verifier->columns->columns[i];

		verifier->wanted[i] = verifier->refused[i] && stats->type != SHAPE_TEXT &&
			stats->template == NULL;
		verifier->refused[i] = false;
		verifier->templates[i] = make_template(stats);
		any |= verifier->wanted[i];
	}
	return any;
}

void
verify_types(Columns *columns, Encoding *encoding)
{
	Verifier	verifier = {.columns = columns, .encoding = encoding};

	verifier.row_context = AllocSetContextCreate(CurrentMemoryContext,
												 "bulk_inspect row",
												 ALLOCSET_DEFAULT_SIZES);
	initStringInfo(&verifier.text);
	verifier.templates = palloc0(columns->count * sizeof(text *) + 1);
	verifier.wanted = palloc0(columns->count + 1);
	verifier.refused = palloc0(columns->count + 1);
	memset(verifier.refused, true, columns->count);
	for (int t = 0; t < SHAPE_TYPES; t++)
	{
		Oid			function;

		getTypeInputInfo(type_oids[t], &function, &verifier.ioparam[t]);
		fmgr_info(function, &verifier.input[t]);
	}

	/* each walk removes a type of those columns whose values the next one verifies */
	while (begin_walk(&verifier))
	{
		subtransaction_run(verify_rows, &verifier);
		for (uint32 i = 0; i < columns->count; i++)
			if (verifier.refused[i])
				columns_refuse(columns, i);
	}
	MemoryContextDelete(verifier.row_context);
}

/* ---- what the caller has given ---- */

/*
 * Calls body(arg), which returns false.  Returns an error that is about what is verified; NULL:
 * there is none.
 */
static ErrorData *
run_softly(bool (*body) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		subtransaction_run(body, arg);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (!is_about_value(error))
			PG_RE_THROW();
		FlushErrorState();
	}
	PG_END_TRY();
	return error;
}

typedef struct TemplateTrial
{
	const char *template;
	char	   *value;
	Oid			type;
} TemplateTrial;

static bool
try_template(void *arg)
{
	TemplateTrial *trial = arg;
	int32		typmod;
	int			zone = 0;

	compat_parse_datetime(cstring_to_text(trial->value), cstring_to_text(trial->template),
						  &trial->type, &typmod, &zone, NULL);
	return false;
}

ShapeType
verify_template(const char *template, Encoding *encoding, const ColumnStats *stats)
{
	TemplateTrial trial = {.template = template, .type = InvalidOid};

	trial.value = verify_text(encoding, stats->example, stats->example_length);
	if (run_softly(try_template, &trial) == NULL)
		for (ShapeType t = SHAPE_DATE; t <= SHAPE_TIME; t++)
			if (type_oids[t] == trial.type)
				return t;
	return SHAPE_TIMESTAMP;
}

static bool
try_options(void *arg)
{
	options_parse(DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(arg))));
	return false;
}

char *
verify_options(char *json)
{
	ErrorData  *error = run_softly(try_options, json);

	return error == NULL ? NULL : error->message;
}
