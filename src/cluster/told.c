/*
 * told.c
 *		See told.h.
 */
#include "postgres.h"

#include "cluster/told.h"
#include "reject/relay.h"
#include "utils/memutils.h"

struct Told
{
	const RemoteNode *node;
	uint32		reasons;		/* that were asked for, as TOLD_BIT */
	MemoryContext context;		/* of the rows of one COPY */
	MemoryContext row_context;	/* of one row */
	BadRows    *rows;			/* NULL: none */
	char	   *text;			/* one to be checked; NULL: none */
	bool		sorted;
	ToldCounts	counts;
	int64		aside;
	int64		counted[REJECT_NREASONS];
};

Told *
told_open(const RemoteNode *node, uint32 reasons)
{
	Told	   *told = palloc0(sizeof(Told));

	told->node = node;
	told->reasons = reasons;
	told->context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load told rows",
										  ALLOCSET_SMALL_SIZES);
	told->row_context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load told row",
											  ALLOCSET_SMALL_SIZES);
	return told;
}

void
told_forget(Told *told)
{
	if (told->rows != NULL)
		bad_rows_close(told->rows);
	MemoryContextReset(told->context);
	told->rows = NULL;
	told->text = NULL;
	told->sorted = false;
	told->counts = (ToldCounts) {0};
	told->aside = 0;
	memset(told->counted, 0, sizeof(told->counted));
}

void
told_count(ToldCounts *counts, RejectReason reason)
{
	if (reason == (RejectReason) TOLD_SET_NULL)
		return;
	if (reject_is_duplicate(reason))
		counts->duplicates++;
	else
		counts->bad++;
}

/* ---- messages ---- */

/* The reason of that name, or -1. */
static int
find_reason(const char *name)
{
	if (strcmp(name, RELAY_SET_NULL) == 0)
		return TOLD_SET_NULL;
	for (int i = 0; i < REJECT_NREASONS; i++)
		if (strcmp(reject_reason_names[i], name) == 0)
			return i;
	return -1;
}

static bool
is_asked_for(const Told *told, int reason)
{
	return (told->reasons & TOLD_BIT(reason)) != 0;
}

/* A text of the message, which is stored as one of this database.  libpq expects no error here. */
static char *
take_text(Told *told, const PGresult *message, int field)
{
	char	   *text = PQresultErrorField(message, field);

	if (text == NULL || node_is_valid_text(text))
		return text;
	if (told->text == NULL)
		told->text = MemoryContextStrdup(told->context, text);
	return NULL;
}

static void
take_row(Told *told, const PGresult *message, int reason, int64 offset)
{
	const char *what = PQresultErrorField(message, PG_DIAG_DATATYPE_NAME);
	char	   *detail = take_text(told, message, PG_DIAG_MESSAGE_DETAIL);
	BadRow		row = {
		.place.offset = offset,
		.reason = reason,
		.sqlstate = node_sqlstate(message, 0),
		.message = take_text(told, message, PG_DIAG_MESSAGE_PRIMARY),
		.column = take_text(told, message, PG_DIAG_COLUMN_NAME)
	};
	MemoryContext old;

	if (what != NULL && strcmp(what, RELAY_ROW) == 0)
		row.row = detail;
	else
		row.value = detail;
	old = MemoryContextSwitchTo(told->context);
	if (told->rows == NULL)
		told->rows = bad_rows_open();
	MemoryContextSwitchTo(told->row_context);
	if (told->text == NULL)
		bad_rows_put(told->rows, &row);
	MemoryContextSwitchTo(old);
	MemoryContextReset(told->row_context);
	told_count(&told->counts, reason);
	told->aside += reason != REJECT_REPLACED && reason != TOLD_SET_NULL;
}

static void
count_more(Told *told, RejectReason reason, int64 rows)
{
	told->counted[reason] += rows;
	if (reason == REJECT_DUPLICATE)
		told->aside += rows;
}

/* A number that is not negative, or TOLD_NO_PLACE.  False: it is none. */
static bool
read_number(const char *text, int64 *number)
{
	char	   *end;

	*number = strtoi64(text, &end, 10);
	return *number >= TOLD_NO_PLACE && end != text && *end == '\0';
}

bool
told_take(Told *told, const PGresult *message)
{
	const char *mark = PQresultErrorField(message, PG_DIAG_SCHEMA_NAME);
	const char *what = PQresultErrorField(message, PG_DIAG_TABLE_NAME);
	const char *text = PQresultErrorField(message, PG_DIAG_CONSTRAINT_NAME);
	int64		number;
	int			reason;

	if (mark == NULL || strcmp(mark, RELAY_MARK) != 0 || what == NULL || text == NULL ||
		PQresultErrorField(message, PG_DIAG_MESSAGE_PRIMARY) == NULL)
		return false;
	reason = find_reason(what);
	if (!read_number(text, &number) || (number < 0 && reason != REJECT_REPLACED))
		return false;
	if (reason >= 0 && is_asked_for(told, reason))
		take_row(told, message, reason, number);
	else if (strcmp(what, RELAY_AGAIN) == 0)
		told_forget(told);
	else if (strcmp(what, RELAY_DUPLICATES) == 0 && is_asked_for(told, REJECT_DUPLICATE))
		count_more(told, REJECT_DUPLICATE, number);
	else if (strcmp(what, RELAY_REPLACEMENTS) == 0 && is_asked_for(told, REJECT_REPLACED))
		count_more(told, REJECT_REPLACED, number);
	else
		return false;
	return true;
}

/* ---- rows ---- */

void
told_add(const Told *told, ToldCounts *counts)
{
	node_check_text(told->node, told->text);
	counts->bad += told->counts.bad;
	counts->duplicates += told->counts.duplicates;
}

int64
told_aside(const Told *told)
{
	return told->aside;
}

int64
told_counted(const Told *told, RejectReason reason)
{
	return told->counted[reason];
}

bool
told_next(Told *told, BadRow *row)
{
	MemoryContext old;
	bool		found;

	node_check_text(told->node, told->text);
	if (told->rows == NULL)
		return false;
	if (!told->sorted)
		bad_rows_sort(told->rows);
	told->sorted = true;
	MemoryContextReset(told->row_context);
	old = MemoryContextSwitchTo(told->row_context);
	found = bad_rows_next(told->rows, row);
	MemoryContextSwitchTo(old);
	return found;
}
