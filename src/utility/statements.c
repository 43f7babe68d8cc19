/*
 * statements.c
 *		See statements.h.
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utility/statements.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

typedef struct StatementCount
{
	StatementKind kind;
	const char *reason;			/* NULL: taken */
	int64		count;
} StatementCount;

/* In the order in which they came first. */
static List *counts = NIL;

static const char *const names[] = {
	[STATEMENT_COPY] = "COPY FROM",
	[STATEMENT_CREATE_INDEX] = "CREATE INDEX",
	[STATEMENT_FOREIGN_KEY] = "ADD FOREIGN KEY"
};

static bool
is_same(const StatementCount *count, StatementKind kind, const char *reason)
{
	if (count->kind != kind || (count->reason == NULL) != (reason == NULL))
		return false;
	return reason == NULL || strcmp(count->reason, reason) == 0;
}

static void
count_one(StatementKind kind, const char *reason)
{
	MemoryContext old;
	StatementCount *count;
	ListCell   *lc;

	foreach(lc, counts)
		if (is_same(lfirst(lc), kind, reason))
		{
			((StatementCount *) lfirst(lc))->count++;
			return;
		}
	old = MemoryContextSwitchTo(TopMemoryContext);
	count = palloc(sizeof(StatementCount));
	*count = (StatementCount) {.kind = kind,.reason = reason,.count = 1};
	counts = lappend(counts, count);
	MemoryContextSwitchTo(old);
}

void
statements_take(StatementKind kind)
{
	count_one(kind, NULL);
	ereport(DEBUG1, (errmsg_internal("%s is run by pgbulk", names[kind])));
}

void
statements_leave(StatementKind kind, const char *reason, const char *name)
{
	count_one(kind, reason);
	ereport(DEBUG1,
			(errmsg_internal("%s of \"%s\" is left to the server: %s", names[kind], name, reason)));
}

void
statements_tell(Tuplestorestate *rows, TupleDesc desc)
{
	ListCell   *lc;

	foreach(lc, counts)
	{
		const StatementCount *count = lfirst(lc);
		Datum		values[4] = {
			CStringGetTextDatum(names[count->kind]),
			BoolGetDatum(count->reason == NULL),
			count->reason == NULL ? (Datum) 0 : CStringGetTextDatum(count->reason),
			Int64GetDatum(count->count)
		};
		bool		nulls[4] = {false, false, count->reason == NULL, false};

		tuplestore_putvalues(rows, desc, values, nulls);
	}
}
