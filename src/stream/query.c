/*
 * query.c
 *		See query.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "server/setting.h"
#include "stream/query.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"

/* Rows that are fetched at a time: about so many bytes of them. */
#define FETCH_FIRST 16
#define FETCH_MOST 1000
#define FETCH_BYTES (256 * 1024)

struct QueryRows
{
	Stream		stream;
	Portal		portal;
	bool		is_volatile;
	bool		ended;
	long		next;			/* rows to fetch */
	int64		wanted;			/* not fetched yet; -1: all */
	bool		exactly;		/* no more than these */
	int			natts;
	FmgrInfo   *output;
	MemoryContext row;
	StringInfoData text;
	Size		done;			/* of text */
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
	query = linitial_node(Query, source->query_list);
	if (query->commandType != CMD_SELECT || query->hasModifyingCTE ||
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
	casting = add_casts(query, result, desc, attnums);
	if (casting != NULL)
		plan = prepare(casting);
	rows->portal = SPI_cursor_open(NULL, plan, NULL, NULL, false);
	MemoryContextSwitchTo(context);

	rows->next = FETCH_FIRST;
	rows->wanted = wanted;
	rows->exactly = exactly;
	rows->ended = exactly && wanted == 0;
	rows->natts = n;
	rows->output = palloc(sizeof(FmgrInfo) * Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		Oid			function;
		bool		is_varlena;

		getTypeOutputInfo(TupleDescAttr(rows->portal->tupDesc, i)->atttypid,
						  &function, &is_varlena);
		fmgr_info(function, &rows->output[i]);
	}
	initStringInfo(&rows->text);
	rows->row = AllocSetContextCreate(context, "bulk_load row of a query",
									  ALLOCSET_DEFAULT_SIZES);
	return rows;
}

bool
query_is_volatile(const QueryRows *rows)
{
	return rows->is_volatile;
}

void
query_close(QueryRows *rows)
{
	MemoryContext context = CurrentMemoryContext;

	SPI_cursor_close(rows->portal);
	SPI_finish();
	MemoryContextSwitchTo(context);
	MemoryContextDelete(rows->row);
	pfree(rows->text.data);
	pfree(rows->output);
	pfree(rows);
}

/* ---- rows ---- */

static void
append_value(StringInfo text, const char *value)
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

static void
append_row(QueryRows *rows, HeapTuple tuple, TupleDesc desc)
{
	StringInfo	text = &rows->text;
	MemoryContext context = MemoryContextSwitchTo(rows->row);

	for (int i = 0; i < rows->natts; i++)
	{
		bool		isnull;
		Datum		value = SPI_getbinval(tuple, desc, i + 1, &isnull);

		if (i > 0)
			appendStringInfoChar(text, '\t');
		if (isnull)
			appendStringInfoString(text, "\\N");
		else
			append_value(text, OutputFunctionCall(&rows->output[i], value));
	}
	appendStringInfoChar(text, '\n');
	MemoryContextSwitchTo(context);
	MemoryContextReset(rows->row);
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

/* How many rows to fetch now.  If what was wanted is not enough, some more at a time will do. */
static long
rows_to_fetch(const QueryRows *rows)
{
	return rows->wanted < 0 ? rows->next :
		rows->wanted == 0 ? FETCH_FIRST : Min(rows->next, rows->wanted);
}

static bool
fetch_rows(QueryRows *rows)
{
	MemoryContext context = CurrentMemoryContext;
	SPITupleTable *table;
	long		asked = rows_to_fetch(rows);
	uint64		n;
	int			level;

	rows->done = 0;
	resetStringInfo(&rows->text);
	if (rows->ended)
		return false;
	SPI_cursor_fetch(rows->portal, true, asked);
	MemoryContextSwitchTo(context);
	n = SPI_processed;
	table = SPI_tuptable;
	if (rows->wanted > 0)
		rows->wanted -= n;
	rows->ended = n < asked || (rows->exactly && rows->wanted == 0);

	level = begin_plain_output();
	for (uint64 i = 0; i < n; i++)
		append_row(rows, table->vals[i], table->tupdesc);
	AtEOXact_GUC(true, level);
	SPI_freetuptable(table);

	if (n > 0)
		rows->next = Max(1, Min(FETCH_MOST, FETCH_BYTES / Max(1, rows->text.len / (long) n)));
	return n > 0;
}

static Size
read_query(Stream *stream, char *to, Size size)
{
	QueryRows  *rows = (QueryRows *) stream;

	CHECK_FOR_INTERRUPTS();
	if (rows->done == rows->text.len && !fetch_rows(rows))
		return 0;
	size = Min(size, rows->text.len - rows->done);
	memcpy(to, rows->text.data + rows->done, size);
	rows->done += size;
	stream->pauses = rows->wanted == 0 && rows->done == rows->text.len;
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
