/*
 * query.c
 *		See query.h.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "server/setting.h"
#include "stream/query.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/portal.h"

/* Rows that are fetched at a time: about so many bytes of them. */
#define FETCH_FIRST 16
#define MAX_FETCH_ROWS 1000
#define FETCH_BYTES (256 * 1024)

/* How a field's bytes come from its value. */
typedef enum FieldKind
{
	FIELD_BY_VALUE,
	FIELD_FIXED,				/* of a fixed length, by reference */
	FIELD_VARLENA,				/* without its header, in no way compressed */
	FIELD_CHARACTERS,			/* the same, which is its text */
	FIELD_PRINTED				/* its text, by the output function */
} FieldKind;

typedef struct QueryField
{
	FieldKind	kind;
	int16		length;			/* of the type; -1: varlena */
	FmgrInfo	output;
} QueryField;

struct QueryFields
{
	int			n;
	bool		any_printed;
	MemoryContext shown;		/* for one row that is shown */
	QueryField	fields[FLEXIBLE_ARRAY_MEMBER];
};

struct QueryRows
{
	Stream		stream;
	Portal		portal;
	bool		is_volatile;
	bool		ended;
	long		next;			/* rows to fetch */
	int64		wanted;			/* not fetched yet; -1: all */
	bool		exactly;		/* no more than these */
	QueryFields *fields;
	Datum	   *values;			/* of one row */
	bool	   *nulls;
	MemoryContext row;
	SPITupleTable *fetched;		/* NULL: its rows have all been sent */
	uint64		nfetched;
	uint64		nsent;
	uint64		fetched_bytes;	/* what they were sent as */
	StringInfoData bytes;		/* of the rows sent last */
	Size		done;			/* of bytes */
};

/* ---- opening ---- */

/* What the query gives; it lives as long as the plan. */
static TupleDesc
result_of(SPIPlanPtr plan)
{
	List	   *sources = SPI_plan_get_plan_sources(plan);
	CachedPlanSource *source;
	Query	   *query;

	if (list_length(sources) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("query must be one statement")));
	source = linitial(sources);
	/* a rule may have made nothing of it */
	query = source->query_list == NIL ? NULL : linitial_node(Query, source->query_list);
	if (query == NULL || query->commandType != CMD_SELECT || query->hasModifyingCTE ||
		!SPI_is_cursor_plan(plan))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_DEFINITION),
				 errmsg("query must be a SELECT, VALUES or TABLE statement")));
	return source->resultDesc;
}

static SPIPlanPtr
prepare(const char *query)
{
	SPIPlanPtr	plan = SPI_prepare_cursor(query, 0, NULL, CURSOR_OPT_NO_SCROLL);

	if (plan == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("query cannot be used: %s",
						SPI_result_code_string(SPI_result))));
	return plan;
}

/*
 * The type that column i of the query must be cast to, as text in the table's
 * type is not what it is cast to; InvalidOid where they agree.  Lengths and
 * domains are for the column's input function.
 */
static Oid
cast_for(TupleDesc result, int i, TupleDesc desc, AttrNumber attnum)
{
	Oid			from = getBaseType(TupleDescAttr(result, i)->atttypid);
	Oid			to;

	if (attnum == InvalidAttrNumber)
		return InvalidOid;
	to = getBaseType(TupleDescAttr(desc, attnum - 1)->atttypid);
	return from == to || from == UNKNOWNOID ? InvalidOid : to;
}

/* Whether a function of the query may do anything but take from a sequence. */
static bool
is_volatile(SPIPlanPtr plan)
{
	ListCell   *source;
	ListCell   *query;

	foreach(source, SPI_plan_get_plan_sources(plan))
		foreach(query, ((CachedPlanSource *) lfirst(source))->query_list)
			if (contain_volatile_functions_not_nextval(lfirst(query)))
				return true;
	return false;
}

/* The text of the one statement, without what ends it. */
static const char *
statement_of(const char *query, SPIPlanPtr plan)
{
	const CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));
	const RawStmt *statement = source->raw_parse_tree;

	query += Max(statement->stmt_location, 0);
	return statement->stmt_len == 0 ? query : pnstrdup(query, statement->stmt_len);
}

/* The query with casts; NULL where it needs none. */
static char *
add_casts(const char *query, TupleDesc result, TupleDesc desc,
		  const AttrNumber *attnums)
{
	StringInfoData text;
	bool		any = false;

	initStringInfo(&text);
	appendStringInfoString(&text, "SELECT ");
	for (int i = 0; i < result->natts; i++)
	{
		Oid			type = cast_for(result, i, desc, attnums[i]);

		appendStringInfo(&text, "%sc%d", i > 0 ? ", " : "", i);
		if (OidIsValid(type))
			/* without a length: "character" would be one of 1 */
			appendStringInfo(&text, "::%s",
							 format_type_extended(type, -1, FORMAT_TYPE_TYPEMOD_GIVEN |
												  FORMAT_TYPE_FORCE_QUALIFY));
		any |= OidIsValid(type);
	}
	appendStringInfo(&text, " FROM (%s\n) AS query (", query);
	for (int i = 0; i < result->natts; i++)
		appendStringInfo(&text, "%sc%d", i > 0 ? ", " : "", i);
	appendStringInfoChar(&text, ')');
	return any ? text.data : NULL;
}

/* Whether values of a type are their text. */
static bool
is_characters(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID;
}

/*
 * What is sent of a field.  Where the query promises what its column is to be,
 * type and length, that is the value, as INSERT would take it; what is to be
 * checked yet, and what domains may refuse, is for the column's input function.
 */
static FieldKind
choose_kind(Form_pg_attribute result, Form_pg_attribute column)
{
	int32		typmod = result->atttypmod;
	Oid			type = getBaseTypeAndTypmod(result->atttypid, &typmod);

	if (is_characters(type))
		return FIELD_CHARACTERS;
	if (result->attlen < -1 ||
		(column != NULL && (type != column->atttypid ||
							(column->atttypmod >= 0 && column->atttypmod != typmod))))
		return FIELD_PRINTED;
	return result->attlen == -1 ? FIELD_VARLENA :
		result->attbyval ? FIELD_BY_VALUE : FIELD_FIXED;
}

static QueryFields *
open_fields(TupleDesc result, TupleDesc desc, const AttrNumber *attnums)
{
	QueryFields *fields = palloc0(offsetof(QueryFields, fields) +
								  sizeof(QueryField) * result->natts);

	fields->n = result->natts;
	fields->shown = AllocSetContextCreate(CurrentMemoryContext, "bulk_load shown row of a query",
										  ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < fields->n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(result, i);
		QueryField *field = &fields->fields[i];
		Oid			function;
		bool		is_varlena;

		field->kind = choose_kind(att, attnums[i] == InvalidAttrNumber ? NULL :
								  TupleDescAttr(desc, attnums[i] - 1));
		field->length = att->attlen;
		fields->any_printed |= field->kind == FIELD_PRINTED;
		getTypeOutputInfo(att->atttypid, &function, &is_varlena);
		fmgr_info(function, &field->output);
	}
	return fields;
}

QueryRows *
query_open(const char *query, TupleDesc desc, const AttrNumber *attnums, int n,
		   int64 wanted, bool exactly)
{
	QueryRows  *rows = palloc0(sizeof(QueryRows));
	MemoryContext context = CurrentMemoryContext;
	SPIPlanPtr	plan;
	TupleDesc	result;
	char	   *casting;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	plan = prepare(query);
	result = result_of(plan);
	if (result->natts != n)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg_plural("query has %d column, but %d are loaded",
							   "query has %d columns, but %d are loaded",
							   result->natts, result->natts, n)));
	rows->is_volatile = is_volatile(plan);
	casting = add_casts(statement_of(query, plan), result, desc, attnums);
	if (casting != NULL)
		plan = prepare(casting);
	rows->portal = SPI_cursor_open(NULL, plan, NULL, NULL, false);
	/* a function that the load calls may say CLOSE ALL */
	PinPortal(rows->portal);
	MemoryContextSwitchTo(context);

	rows->next = FETCH_FIRST;
	rows->wanted = wanted;
	rows->exactly = exactly;
	rows->ended = exactly && wanted == 0;
	rows->fields = open_fields(rows->portal->tupDesc, desc, attnums);
	rows->values = palloc(sizeof(Datum) * Max(n, 1));
	rows->nulls = palloc(sizeof(bool) * Max(n, 1));
	initStringInfo(&rows->bytes);
	rows->row = AllocSetContextCreate(context, "bulk_load row of a query",
									  ALLOCSET_DEFAULT_SIZES);
	return rows;
}

bool
query_is_volatile(const QueryRows *rows)
{
	return rows->is_volatile;
}

QueryFields *
query_fields(const QueryRows *rows)
{
	return rows->fields;
}

void
query_close(QueryRows *rows)
{
	MemoryContext context = CurrentMemoryContext;

	UnpinPortal(rows->portal);
	SPI_cursor_close(rows->portal);
	SPI_finish();
	MemoryContextSwitchTo(context);
	MemoryContextDelete(rows->row);
	pfree(rows->bytes.data);
	pfree(rows->values);
	pfree(rows->nulls);
	pfree(rows);
}

/* ---- values and their bytes ---- */

static inline void
append_bytes(StringInfo to, const char *bytes, Size length)
{
	/* mostly there is room, and no call */
	if (unlikely(length + sizeof(int32) >= to->maxlen - to->len))
		enlargeStringInfo(to, length + sizeof(int32));
	pq_writeint32(to, length);
	memcpy(to->data + to->len, bytes, length);
	to->len += length;
}

/*
 * Appends what a value is sent as.  Whatever it has elsewhere, in a TOAST table
 * or expanded in memory, comes with it.
 */
static inline void
append_value(StringInfo to, QueryField *field, Datum value)
{
	const char *bytes = DatumGetPointer(value);
	char		word[sizeof(Datum)];
	Size		length = field->length;

	switch (field->kind)
	{
		case FIELD_BY_VALUE:
			store_att_byval(word, value, length);
			bytes = word;
			break;
		case FIELD_FIXED:
			break;
		case FIELD_VARLENA:
		case FIELD_CHARACTERS:
			bytes = (const char *) PG_DETOAST_DATUM_PACKED(value);
			length = VARSIZE_ANY_EXHDR(bytes);
			bytes = VARDATA_ANY(bytes);
			break;
		case FIELD_PRINTED:
			bytes = OutputFunctionCall(&field->output, value);
			length = strlen(bytes);
			break;
	}
	append_bytes(to, bytes, length);
}

/* The text of a value that was sent as these bytes. */
static const char *
show_value(QueryField *field, const char *bytes, Size length)
{
	Datum		value = (Datum) 0;
	char	   *copy;

	switch (field->kind)
	{
		case FIELD_BY_VALUE:
			copy = palloc(sizeof(Datum));
			memcpy(copy, bytes, length);
			value = fetch_att(copy, true, length);
			break;
		case FIELD_FIXED:
			copy = palloc(length);
			memcpy(copy, bytes, length);
			value = PointerGetDatum(copy);
			break;
		case FIELD_VARLENA:
			copy = palloc(VARHDRSZ + length);
			SET_VARSIZE(copy, VARHDRSZ + length);
			memcpy(VARDATA(copy), bytes, length);
			value = PointerGetDatum(copy);
			break;
		case FIELD_CHARACTERS:
		case FIELD_PRINTED:
			return pnstrdup(bytes, length);
	}
	return OutputFunctionCall(&field->output, value);
}

bool
query_field_is_text(const QueryFields *fields, int i)
{
	return fields->fields[i].kind == FIELD_CHARACTERS ||
		fields->fields[i].kind == FIELD_PRINTED;
}

/* ---- text ---- */

static void
append_escaped(StringInfo text, const char *value)
{
	for (;;)
	{
		size_t		plain = strcspn(value, "\\\t\n\r");

		appendBinaryStringInfo(text, value, plain);
		value += plain;
		if (*value == '\0')
			return;
		appendStringInfoChar(text, '\\');
		appendStringInfoChar(text, *value == '\t' ? 't' : *value == '\n' ? 'n' :
							 *value == '\r' ? 'r' : '\\');
		value++;
	}
}

/* Values as text that means the same whatever the session's settings are. */
static int
begin_plain_output(void)
{
	int			level = NewGUCNestLevel();

	setting_set("datestyle", "ISO", PGC_USERSET);
	setting_set("intervalstyle", "postgres", PGC_USERSET);
	setting_set("extra_float_digits", "3", PGC_USERSET);
	setting_set("bytea_output", "hex", PGC_USERSET);
	setting_set("search_path", "pg_catalog", PGC_USERSET);
	return level;
}

static void
show_values(QueryFields *fields, StringInfo row, int n, StringInfo text)
{
	for (int i = 0; i < n; i++)
	{
		int32		size = pq_getmsgint(row, sizeof(int32));

		if (i > 0)
			appendStringInfoChar(text, '\t');
		if (size < 0)
			appendStringInfoString(text, "\\N");
		else
			append_escaped(text, show_value(&fields->fields[i],
											pq_getmsgbytes(row, size), size));
	}
}

void
query_show_row(QueryFields *fields, const char *bytes, Size length, StringInfo text)
{
	StringInfoData row = {.data = unconstify(char *, bytes), .len = length};
	MemoryContext context = MemoryContextSwitchTo(fields->shown);
	int			n = pq_getmsgint(&row, sizeof(int16));
	int			level = begin_plain_output();

	Assert(n == fields->n);
	PG_TRY();
	{
		show_values(fields, &row, n, text);
	}
	PG_CATCH();
	{
		/* the transaction goes on where the text was for a message (raw_show) */
		AtEOXact_GUC(false, level);
		PG_RE_THROW();
	}
	PG_END_TRY();
	AtEOXact_GUC(true, level);
	MemoryContextSwitchTo(context);
	MemoryContextReset(fields->shown);
}

/* ---- rows ---- */

static void
append_row(QueryRows *rows, HeapTuple tuple, TupleDesc desc)
{
	QueryFields *fields = rows->fields;
	StringInfo	to = &rows->bytes;
	MemoryContext context = MemoryContextSwitchTo(rows->row);

	heap_deform_tuple(tuple, desc, rows->values, rows->nulls);
	pq_sendint16(to, fields->n);
	for (int i = 0; i < fields->n; i++)
	{
		if (rows->nulls[i])
			pq_sendint32(to, -1);
		else
			append_value(to, &fields->fields[i], rows->values[i]);
	}
	MemoryContextSwitchTo(context);
	MemoryContextReset(rows->row);
}

/* How many rows to fetch now.  If what was wanted is not enough, some more at a time will do. */
static long
rows_to_fetch(const QueryRows *rows)
{
	return rows->wanted < 0 ? rows->next :
		rows->wanted == 0 ? FETCH_FIRST : Min(rows->next, rows->wanted);
}

static void
fetch_rows(QueryRows *rows)
{
	MemoryContext context = CurrentMemoryContext;
	long		asked = rows_to_fetch(rows);

	SPI_cursor_fetch(rows->portal, true, asked);
	MemoryContextSwitchTo(context);
	rows->fetched = SPI_tuptable;
	rows->nfetched = SPI_processed;
	rows->nsent = rows->fetched_bytes = 0;
	if (rows->wanted > 0)
		rows->wanted -= rows->nfetched;
	rows->ended = rows->nfetched < asked || (rows->exactly && rows->wanted == 0);
}

static void
forget_fetched(QueryRows *rows)
{
	uint64		size = rows->nfetched > 0 ? rows->fetched_bytes / rows->nfetched : 0;

	if (rows->nfetched > 0)
		rows->next = Max(1, Min(MAX_FETCH_ROWS, FETCH_BYTES / Max(1, size)));
	SPI_freetuptable(rows->fetched);
	rows->fetched = NULL;
}

/*
 * The next rows to bytes: one, and more while these are less than FETCH_BYTES.
 * False: there are none.
 */
static bool
send_rows(QueryRows *rows)
{
	int			level = -1;

	rows->done = 0;
	resetStringInfo(&rows->bytes);
	if (rows->fetched == NULL)
	{
		if (rows->ended)
			return false;
		fetch_rows(rows);
	}
	if (rows->fields->any_printed)
		level = begin_plain_output();
	while (rows->nsent < rows->nfetched && rows->bytes.len < FETCH_BYTES)
		append_row(rows, rows->fetched->vals[rows->nsent++], rows->fetched->tupdesc);
	if (level >= 0)
		AtEOXact_GUC(true, level);
	rows->fetched_bytes += rows->bytes.len;
	if (rows->nsent == rows->nfetched)
		forget_fetched(rows);
	return rows->bytes.len > 0;
}

static Size
read_query(Stream *stream, char *to, Size size)
{
	QueryRows  *rows = (QueryRows *) stream;

	CHECK_FOR_INTERRUPTS();
	if (rows->done == rows->bytes.len && !send_rows(rows))
		return 0;
	size = Min(size, rows->bytes.len - rows->done);
	memcpy(to, rows->bytes.data + rows->done, size);
	rows->done += size;
	stream->pauses = rows->wanted == 0 && rows->fetched == NULL && rows->done == rows->bytes.len;
	return size;
}

static void
close_query(Stream *stream)
{
	query_close((QueryRows *) stream);
}

static const StreamRoutine query_routine = {
	.read = read_query,
	.close = close_query
};

Stream *
query_stream(QueryRows *rows)
{
	stream_init(&rows->stream, &query_routine, NULL);
	rows->stream.once = true;
	return &rows->stream;
}
