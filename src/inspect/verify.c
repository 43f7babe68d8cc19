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
#include "scan/values.h"
#include "server/compat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

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
	int64		walked;			/* rows in all, for interrupts */
	int			current_column; /* column of the current value */
	bool		refused;		/* the value is not valid, though no error was raised */
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

static void
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
	if (value_template_mismatch(template_string, value, &mismatch))
		verifier->refused = true;
}

static void
verify_value(Verifier *verifier, int column, const char *s, size_t length)
{
	const ColumnStats *stats = &verifier->columns->columns[column];
	StringInfo	value = &verifier->text;

	verifier->current_column = column;
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
		verify_date(verifier, stats, verifier->templates[column]);
	else
		InputFunctionCall(&verifier->input[stats->type], value->data,
						  verifier->ioparam[stats->type], -1);
	verifier->current_column = -1;
}

static bool
verify_row(void *arg, const char *data, const ScanRow *row,
		   const ScanField *fields)
{
	Verifier   *verifier = arg;
	Columns    *columns = verifier->columns;
	MemoryContext caller;

	if ((verifier->walked++ & 255) == 0)
		CHECK_FOR_INTERRUPTS();
	caller = MemoryContextSwitchTo(verifier->row_context);
	for (uint32 i = 0; i < row->nfields && i < columns->count; i++)
	{
		const char *s;
		size_t		length;

		if (columns->columns[i].type == SHAPE_TEXT)
			continue;
		s = columns->routine->text(columns, i, data, &fields[i], &length);
		if (s == NULL)
			continue;
		verify_value(verifier, i, s, length);
		if (verifier->refused)
		{
			verifier->current_column = i;
			break;
		}
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(verifier->row_context);
	return !verifier->refused;
}

/* All rows; an error about a value is only noted. */
static void
verify_softly(Verifier *verifier)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		verifier->columns->routine->walk(verifier->columns, verify_row, verifier);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		/* also where it is rethrown: who catches it then rolls back a subtransaction of its own */
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (verifier->current_column < 0 ||
			(ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_DATA_EXCEPTION &&
			 error->sqlerrcode != ERRCODE_PROGRAM_LIMIT_EXCEEDED &&
			 error->sqlerrcode != ERRCODE_STATEMENT_TOO_COMPLEX))
			ReThrowError(error);
		FreeErrorData(error);
		verifier->refused = true;
	}
	PG_END_TRY();
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
	for (int t = 0; t < SHAPE_TYPES; t++)
	{
		Oid			function;

		getTypeInputInfo(type_oids[t], &function, &verifier.ioparam[t]);
		fmgr_info(function, &verifier.input[t]);
	}

	/* each iteration removes a type of a column */
	do
	{
		for (uint32 i = 0; i < columns->count; i++)
			verifier.templates[i] = make_template(&columns->columns[i]);
		verifier.refused = false;
		verifier.current_column = -1;
		verify_softly(&verifier);
		if (verifier.refused)
			columns_refuse(columns, verifier.current_column);
	} while (verifier.refused);
	MemoryContextDelete(verifier.row_context);
}
