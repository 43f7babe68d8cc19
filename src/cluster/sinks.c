/*
 * sinks.c
 *		See sinks.h.
 */
#include "postgres.h"

#include "cluster/row_copy.h"
#include "cluster/sinks.h"
#include "cluster/table_there.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

/* Bytes of rows that wait in the buffers of all tables together, and in that of one. */
#define ALL_BYTES (8 * 1024 * 1024)
#define MOST_BYTES (1024 * 1024)
#define LEAST_BYTES (16 * 1024)

int			sinks_max_connections = 1;

/* Who sends to a shard. */
typedef struct Sink
{
	Shard	   *shard;
	Session    *session;
	TableThere	there;
	bool		as_is;			/* rows of the current file are sent so */
	List	   *statements;		/* its COPYs, one string for each */
	const char *statement;		/* that for its columns; NULL: not known yet */
	bool		ready;			/* these are the current file's */
	RowBuffer  *buffer;			/* NULL: no rows wait */
	RowBuffer  *lines;			/* the same where lines can be added as they are, or NULL */
	bool		is_first;		/* of its session's, where each is to have one COPY */
	BufFile    *waiting;		/* its rows until the others have had theirs; NULL: none */
	int64		as_is_rows;
	int64		formed_rows;
	const char *formed_reason;
} Sink;

struct Sinks
{
	MemoryContext context;		/* of the sinks */
	Relation	target;
	Guard	   *guard;
	const Journal *journal;		/* whose reader has the batch */
	Sessions   *sessions;
	bool		whole;			/* a table's rows go by one COPY, which knows them all */
	bool		all_open;		/* no other table may come then: others' COPYs would end */
	List	   *list;
	Size		buffer_bytes;

	/* for one file */
	RowCopy    *copy;
	const char *formed_reason;	/* NULL: rows may be sent as they are */
};

/* ---- sessions ---- */

static bool
is_same_node(Session *a, Session *b)
{
	return connection_is_same(&session_node(a)->id, &session_node(b)->id);
}

/* As many as the setting says, if the node can have them all prepared. */
static int
most_sessions(Session *first)
{
	const RemoteNode *node = session_node(first);
	const char *pool = OidIsValid(node->id.serverid) ? NULL :
		GetConfigOption("citus.max_adaptive_executor_pool_size", true, false);
	int			most = Min(sinks_max_connections, node->max_prepared);

	return pool == NULL ? most : Min(most, atoi(pool));
}

static int
count_tables(const Sinks *sinks, const Session *session)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, sinks->list)
		n += ((const Sink *) lfirst(lc))->session == session;
	return n;
}

/* The session of a table there that is another shard's, too; NULL: there is none. */
static Session *
find_session(const Sinks *sinks, Oid oid, Session *first)
{
	ListCell   *lc;

	foreach(lc, sinks->list)
	{
		const Sink *sink = lfirst(lc);

		if (sink->there.oid == oid && is_same_node(sink->session, first))
			return sink->session;
	}
	return NULL;
}

/*
 * The session for one more table of a node.  A table has one session, so that its rows stay in
 * their order, and two of ours never wait for one another; those that others have a part in share
 * the first one.
 */
static Session *
choose_session(const Sinks *sinks, const TableThere *there, Session *first)
{
	Session    *least = find_session(sinks, there->oid, first);
	int			n = 0;
	ListCell   *lc;

	if (least != NULL)
		return least;
	if (!there->is_apart)
		return first;
	foreach(lc, sessions_list(sinks->sessions))
	{
		Session    *session = lfirst(lc);

		if (!is_same_node(session, first))
			continue;
		n++;
		if (least == NULL || count_tables(sinks, session) < count_tables(sinks, least))
			least = session;
	}
	if (count_tables(sinks, least) > 0 && n < most_sessions(first))
	{
		Session    *another = sessions_add(sinks->sessions, first);

		if (another != NULL)
			return another;
	}
	return least;
}

/* ---- tables ---- */

/* A row would replace one of another COPY as if that had been in the table before. */
static void
refuse_another_copy(const Sink *sink, const char *statement)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("files that are sent in different ways cannot replace rows of other servers"),
			 errdetail("Table \"%s\" of server \"%s\" has got rows by %s, and would get others by %s.",
					   sink->shard->name, session_node(sink->session)->name, sink->statement,
					   statement),
			 errhint("Load one after the other.")));
}

/* Its string for a statement: most files have the columns of the one before. */
static const char *
keep_statement(const Sinks *sinks, Sink *sink, const char *statement)
{
	MemoryContext old;
	ListCell   *lc;

	foreach(lc, sink->statements)
		if (strcmp(lfirst(lc), statement) == 0)
			return lfirst(lc);
	old = MemoryContextSwitchTo(sinks->context);
	sink->statements = lappend(sink->statements, pstrdup(statement));
	MemoryContextSwitchTo(old);
	return llast(sink->statements);
}

/* Its statement for the current file's columns. */
static void
prepare_sink(Sinks *sinks, Sink *sink)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load statement",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const char *reason = sinks->formed_reason != NULL ? sinks->formed_reason :
		sink->there.unlike;
	const char *statement;

	if (reason == NULL && !row_copy_covers(sinks->copy, sink->shard))
		reason = "A column of the file is generated there.";
	sink->as_is = reason == NULL;
	if (reason != NULL)
		sink->formed_reason = reason;
	statement = keep_statement(sinks, sink,
							   row_copy_statement(sinks->copy, sink->shard, sink->as_is));
	if (sinks->whole && sink->statement != NULL && sink->statement != statement)
		refuse_another_copy(sink, statement);
	sink->statement = statement;
	sink->ready = true;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* The shard's first row has come. */
static Sink *
open_sink(Sinks *sinks, Shard *shard)
{
	MemoryContext old = MemoryContextSwitchTo(sinks->context);
	Sink	   *sink = palloc0(sizeof(Sink));
	Session    *first;

	/* routing knows the partitions that there were at its begin */
	if (sinks->all_open && sinks->whole)
		elog(ERROR, "foreign table for \"%s\" was not there when the load began", shard->name);
	sink->shard = shard;
	guard_close(sinks->guard);
	first = sessions_get(sinks->sessions, &shard->node);
	/* it may be in the middle of a COPY into another table */
	session_await_idle(first);
	table_there_learn(session_node(first), shard, RelationGetDescr(sinks->target), &sink->there);
	sink->session = choose_session(sinks, &sink->there, first);
	session_await_idle(sink->session);
	table_there_pass_settings(session_node(sink->session), RelationGetDescr(sinks->target));
	if (sink->there.filters && shard->is_copied)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" of server \"%s\" has triggers that may keep rows out",
						shard->name, session_node(sink->session)->name),
				 errdetail("Its rows are on several servers, which may not agree."),
				 errhint("Use COPY.")));
	sinks->list = lappend(sinks->list, sink);
	sinks->buffer_bytes = Max(LEAST_BYTES,
							  Min(MOST_BYTES, ALL_BYTES / list_length(sinks->list)));
	shard->sink = sink;
	MemoryContextSwitchTo(old);
	return sink;
}

void
sinks_open_all(Sinks *sinks, const List *shards)
{
	ListCell   *lc;

	foreach(lc, shards)
		(void) open_sink(sinks, lfirst(lc));
	sinks->all_open = true;
}

static Sink *
sink_of(Sinks *sinks, Shard *shard)
{
	Sink	   *sink = shard->sink;

	if (unlikely(sink == NULL))
		sink = open_sink(sinks, shard);
	if (unlikely(!sink->ready))
		prepare_sink(sinks, sink);
	return sink;
}

bool
sinks_send_as_is(Sinks *sinks, Shard *shard)
{
	return sink_of(sinks, shard)->as_is;
}

/* ---- what is done with all tables ---- */

/* Those of a session at once, as some may refer to others; a session may have none. */
void
sinks_truncate(const Sinks *sinks)
{
	ListCell   *lc;

	foreach(lc, sessions_list(sinks->sessions))
	{
		Session    *session = lfirst(lc);
		StringInfoData sql;
		ListCell   *cell;

		initStringInfo(&sql);
		foreach(cell, sinks->list)
		{
			const Sink *sink = lfirst(cell);

			if (sink->session == session)
				appendStringInfo(&sql, "%s%s", sql.len == 0 ? "TRUNCATE " : ", ",
								 table_there_name(sink->shard));
		}
		if (sql.len > 0)
			PQclear(node_query(session_node(session), sql.data));
	}
}

void
sinks_analyze(const Sinks *sinks)
{
	ListCell   *lc;

	foreach(lc, sinks->list)
	{
		const Sink *sink = lfirst(lc);

		if (sink->as_is_rows + sink->formed_rows > 0)
			PQclear(node_query(session_node(sink->session),
							   psprintf("ANALYZE %s", table_there_name(sink->shard))));
	}
}

/* ---- rows ---- */

/* Whether it is the one whose COPY goes on until the end of the input. */
static bool
goes_first(const Sinks *sinks, Sink *sink)
{
	ListCell   *lc;

	foreach(lc, sinks->list)
	{
		const Sink *other = lfirst(lc);

		if (other->is_first && other->session == sink->session)
			return other == sink;
	}
	sink->is_first = true;
	return true;
}

static void
keep_waiting(Sinks *sinks, Sink *sink, RowBuffer *buffer)
{
	if (sink->waiting == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

		sink->waiting = BufFileCreateTemp(false);
		MemoryContextSwitchTo(old);
	}
	row_buffer_write(buffer, sink->waiting);
}

static void
send_buffer(Sinks *sinks, Sink *sink)
{
	RowBuffer  *buffer = sink->buffer;

	sink->buffer = sink->lines = NULL;
	if (buffer == NULL)
		return;
	/* what is wrong with others is not the row's fault */
	guard_close(sinks->guard);
	row_buffer_cut(buffer);
	if (sink->as_is)
		sink->as_is_rows += buffer->nrows;
	else
		sink->formed_rows += buffer->nrows;
	if (buffer->nrows == 0)
		row_buffer_free(buffer);
	else if (sinks->whole && !goes_first(sinks, sink))
		keep_waiting(sinks, sink, buffer);
	else
		session_send(sink->session, buffer);
}

/* The first table of a session that has rows waiting; NULL: there is none. */
static Sink *
find_waiting(const Sinks *sinks, const Session *session)
{
	ListCell   *lc;

	foreach(lc, sinks->list)
		if (((Sink *) lfirst(lc))->session == session && ((Sink *) lfirst(lc))->waiting != NULL)
			return lfirst(lc);
	return NULL;
}

/* Sends a buffer of a table; false: that was the last. */
static bool
send_waiting(Sinks *sinks, Sink *sink)
{
	RowBuffer  *buffer = session_read_buffer(sinks->sessions, sink->waiting);

	if (buffer == NULL)
	{
		BufFileClose(sink->waiting);
		sink->waiting = NULL;
		return false;
	}
	session_send(sink->session, buffer);
	return true;
}

/* The rows that wait, table by table, to all servers at a time. */
static void
send_all_waiting(Sinks *sinks)
{
	ListCell   *lc;
	bool		any;

	foreach(lc, sinks->list)
	{
		const Sink *sink = lfirst(lc);

		if (sink->waiting != NULL)
			row_buffer_rewind(sink->waiting);
	}
	do
	{
		any = false;
		foreach(lc, sessions_list(sinks->sessions))
		{
			Sink	   *sink = find_waiting(sinks, lfirst(lc));

			while (sink != NULL && !send_waiting(sinks, sink))
				sink = find_waiting(sinks, lfirst(lc));
			any |= sink != NULL;
		}
	} while (any);
}

/* The space doubles where it does not suffice. */
static inline bool
is_full(const Sinks *sinks, const Sink *sink)
{
	return sink->buffer->data_end >= sinks->buffer_bytes - sinks->buffer_bytes / 16;
}

static void
begin_buffer(Sinks *sinks, Sink *sink)
{
	sink->buffer = session_buffer(sinks->sessions, sink->statement, sinks->buffer_bytes);
	sink->buffer->filtered = sink->there.filters;
	sink->buffer->sender = sink;
}

void
sinks_put(Sinks *sinks, Shard *shard, uint32 number, TupleTableSlot *slot)
{
	Sink	   *sink = sink_of(sinks, shard);
	const Reader *reader = sinks->journal->reader;
	const ScanRow *row = &reader->rows[number];

	/* a large one does not share its buffer with others */
	if (row->end - row->start > sinks->buffer_bytes)
		send_buffer(sinks, sink);
	if (sink->buffer == NULL)
		begin_buffer(sinks, sink);
	row_copy_add(sinks->copy, shard, sink->as_is, sinks->journal, number, slot, sink->buffer);
	if (sink->as_is && row_copy_takes_lines(sinks->copy))
		sink->lines = sink->buffer;
	if (is_full(sinks, sink))
		send_buffer(sinks, sink);
}

bool
sinks_put_line(Sinks *sinks, Shard *shard, uint32 number)
{
	Sink	   *sink = shard->sink;

	if (unlikely(sink == NULL || sink->lines == NULL ||
				 !row_copy_add_line(sinks->journal->reader, number, sink->lines)))
		return false;
	if (unlikely(is_full(sinks, sink)))
		send_buffer(sinks, sink);
	return true;
}

void
sinks_append(Sinks *sinks, int number, const RowBuffer *rows)
{
	Sink	   *sink = list_nth(sinks->list, number - 1);

	Assert(sink->as_is);
	if (sink->buffer != NULL &&
		(row_buffer_file(sink->buffer) != row_buffer_file(rows) ||
		 sink->buffer->data_end + rows->data.len > sinks->buffer_bytes))
		send_buffer(sinks, sink);
	if (sink->buffer == NULL)
		begin_buffer(sinks, sink);
	row_buffer_append(sink->buffer, rows);
	if (is_full(sinks, sink))
		send_buffer(sinks, sink);
}

/* ---- files ---- */

void
sinks_send_all(Sinks *sinks)
{
	ListCell   *lc;

	foreach(lc, sinks->list)
		send_buffer(sinks, lfirst(lc));
}

RowCopy *
sinks_begin_columns(Sinks *sinks, const Converter *conv)
{
	ListCell   *lc;

	sinks_send_all(sinks);
	foreach(lc, sinks->list)
		((Sink *) lfirst(lc))->ready = false;
	sinks->copy = row_copy_open(sinks->target, conv, &sinks->formed_reason);
	return sinks->copy;
}

bool
sinks_all_as_is(const Sinks *sinks)
{
	ListCell   *lc;

	foreach(lc, sinks->list)
		if (((Sink *) lfirst(lc))->ready && !((Sink *) lfirst(lc))->as_is)
			return false;
	return row_copy_is_as_is(sinks->copy);
}

int
sinks_count(const Sinks *sinks)
{
	return list_length(sinks->list);
}

int
sinks_number(Sinks *sinks)
{
	ListCell   *lc;

	foreach(lc, sinks->list)
	{
		Sink	   *sink = lfirst(lc);

		/* the bytes of the file are not what the COPY of another one reads */
		sink->shard->number = sink->ready && sink->as_is ? foreach_current_index(lc) + 1 : 0;
	}
	return list_length(sinks->list);
}

void
sinks_finish(Sinks *sinks)
{
	sinks_send_all(sinks);
	send_all_waiting(sinks);
	sessions_finish(sinks->sessions);
}

Sinks *
sinks_open(Relation target, Guard *guard, const Journal *journal, Sessions *sessions, bool whole)
{
	Sinks	   *sinks = palloc0(sizeof(Sinks));

	sinks->context = CurrentMemoryContext;
	sinks->target = target;
	sinks->guard = guard;
	sinks->journal = journal;
	sinks->sessions = sessions;
	sinks->whole = whole;
	sinks->buffer_bytes = MOST_BYTES;
	return sinks;
}

/* ---- the report ---- */

const Shard *
sinks_shard(const void *sender)
{
	return ((const Sink *) sender)->shard;
}

/* How many there are with the node of one, and why not more. */
static void
push_sessions(CompatJsonb *state, const Sinks *sinks, Session *session)
{
	const char *refusal = NULL;
	int			n = 0;
	ListCell   *lc;

	foreach(lc, sessions_list(sinks->sessions))
	{
		Session    *other = lfirst(lc);

		if (!is_same_node(other, session))
			continue;
		n++;
		if (session_refusal(other) != NULL)
			refusal = session_refusal(other);
	}
	jsonb_push_int64(state, "sessions", n);
	if (refusal != NULL)
		jsonb_push_string(state, "session_refused", refusal);
}

static void
push_table(CompatJsonb *state, const Sinks *sinks, const Sink *sink)
{
	compat_push_jsonb(state, WJB_BEGIN_OBJECT, NULL);
	jsonb_push_string(state, "server", session_node(sink->session)->name);
	push_sessions(state, sinks, sink->session);
	jsonb_push_string(state, "table", psprintf("%s.%s", sink->shard->schema, sink->shard->name));
	jsonb_push_int64(state, "rows", sink->as_is_rows + sink->formed_rows);
	jsonb_push_string(state, "sent", sink->formed_rows == 0 ? "as they are" : "formed anew");
	if (sink->formed_rows > 0)
		jsonb_push_string(state, "reason", sink->formed_reason);
	jsonb_push_string(state, "pgbulk", session_pgbulk(sink->session));
	compat_push_jsonb(state, WJB_END_OBJECT, NULL);
}

JsonbValue *
sinks_report(const Sinks *sinks, CompatJsonb *state)
{
	ListCell   *lc;

	compat_push_jsonb(state, WJB_BEGIN_ARRAY, NULL);
	foreach(lc, sinks->list)
		push_table(state, sinks, lfirst(lc));
	return compat_push_jsonb(state, WJB_END_ARRAY, NULL);
}
