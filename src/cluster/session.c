/*
 * session.c
 *		See session.h.
 *
 * A session is a state machine that never waits by itself: each state is left
 * when libpq says so.
 *
 * 		idle -> starting (COPY was sent) -> copying -> ending (its end was sent) -> idle
 *
 * Trap: libpq does not tell of an error before the COPY is ended.  So where a node
 * that is copying sends something that is no notice, the COPY is ended, which harms
 * nothing: it either fails with that error, or another one goes on.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "cluster/session.h"
#include "cluster/settle.h"
#include "cluster/two_phase.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

/* Bytes of a message of the COPY protocol. */
#define MESSAGE_BYTES (64 * 1024)

/* Bytes that may wait to be sent, to all nodes together. */
#define QUEUE_BYTES (8 * 1024 * 1024)

/* Bytes of places of rows that a COPY may still be wrong about; then it is ended. */
#define PLACES_BYTES (512 * 1024)

typedef enum SessionState
{
	SESSION_IDLE,
	SESSION_STARTING,
	SESSION_COPYING,
	SESSION_ENDING
} SessionState;

struct Session
{
	RemoteNode	   *node;
	Sessions   *sessions;
	SessionState state;
	char	   *pgbulk;
	dlist_head	queue;			/* RowBuffers; the first one may be sent in part */
	Size		sent;			/* bytes of that */
	const char *statement;		/* of the COPY */
	dlist_head	copied;			/* RowBuffers that it has got, without their data */
	Size		places;			/* bytes of their places */
	int64		copy_rows;		/* their rows */
	bool		told;			/* the node has sent something while it copies */
	bool		has_filters;	/* of the COPY: a trigger there may keep rows out */
	int64		rows;			/* of all its COPYs that have ended */
};

struct Sessions
{
	MemoryContext context;
	List	   *list;
	Size		queued;			/* bytes in all queues */
	WaitEventSet *events;		/* of all sockets; NULL: not made yet */
	MemoryContextCallback callback; /* frees them after an error, too */
	void		(*locate) (void *arg, int file, int64 line);
	void		(*count_filtered) (void *arg, int file, int64 rows);
	void	   *arg;
};

/* ---- places of rows ---- */

static void
put_number(StringInfo to, uint64 number)
{
	while (number >= 0x80)
	{
		appendStringInfoCharMacro(to, (char) (number | 0x80));
		number >>= 7;
	}
	appendStringInfoCharMacro(to, (char) number);
}

static uint64
get_number(const char **from)
{
	uint64		number = 0;
	int			shift = 0;
	unsigned char byte;

	do
	{
		byte = *(*from)++;
		number |= (uint64) (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return number;
}

void
session_note_row(RowBuffer *buffer, int file, int64 line, int64 inner_lines)
{
	if (buffer->nrows++ == 0)
	{
		buffer->file = file;
		buffer->line = 0;
	}
	Assert(buffer->file == file);
	put_number(&buffer->lines, (uint64) (line - buffer->line) << 1 | (inner_lines > 0));
	if (inner_lines > 0)
		put_number(&buffer->lines, inner_lines);
	buffer->line = line;
}

/* Whether the line of the COPY is one of the buffer, which begins after *passed lines. */
static bool
find_in_buffer(const RowBuffer *buffer, int64 wanted, int64 *passed, int64 *line)
{
	const char *at = buffer->lines.data;

	*line = 0;
	for (int64 i = 0; i < buffer->nrows; i++)
	{
		uint64		number = get_number(&at);

		*line += number >> 1;
		*passed += 1 + ((number & 1) ? get_number(&at) : 0);
		if (wanted <= *passed)
			return true;
	}
	return false;
}

/* The line of the COPY that an error is about, as its CONTEXT has it; 0: none. */
static int64
line_of_error(const PGresult *result)
{
	const char *context = PQresultErrorField(result, PG_DIAG_CONTEXT);

	for (; context != NULL; context = strchr(context, '\n'))
	{
		const char *line;

		context += *context == '\n';
		if (strncmp(context, "COPY ", 5) != 0)
			continue;
		line = strstr(context, ", line ");
		return line == NULL ? 0 : strtoi64(line + strlen(", line "), NULL, 10);
	}
	return 0;
}

/* Tells where in the input the row is that the node complains about. */
static void
locate(Session *session, int64 wanted)
{
	Sessions   *sessions = session->sessions;
	const dlist_head *lists[] = {&session->copied, &session->queue};
	int64		passed = 0;

	for (int i = 0; i < lengthof(lists) && wanted > 0; i++)
	{
		dlist_iter	iter;

		dlist_foreach(iter, unconstify(dlist_head *, lists[i]))
		{
			const RowBuffer *buffer = dlist_container(RowBuffer, link, iter.cur);
			int64		line;

			if (buffer->statement == session->statement &&
				find_in_buffer(buffer, wanted, &passed, &line))
			{
				sessions->locate(sessions->arg, buffer->file, line);
				return;
			}
		}
	}
	sessions->locate(sessions->arg, -1, 0);
}

/* Raises the error of a node, which is about a row of its COPY, or none. */
static void
raise_error(Session *session, PGresult *result)
{
	locate(session, session->state == SESSION_IDLE ? 0 : line_of_error(result));
	node_raise(session->node, result);
}

/* ---- buffers ---- */

RowBuffer *
session_buffer(Sessions *sessions, const char *statement, Size bytes)
{
	MemoryContext old = MemoryContextSwitchTo(sessions->context);
	RowBuffer  *buffer = palloc0(sizeof(RowBuffer));

	buffer->statement = statement;
	initStringInfo(&buffer->data);
	enlargeStringInfo(&buffer->data, bytes - 1);
	initStringInfo(&buffer->lines);
	MemoryContextSwitchTo(old);
	return buffer;
}

/* Its data have been sent, and its places are kept until the COPY has ended. */
static void
keep_places(Session *session, RowBuffer *buffer)
{
	dlist_delete(&buffer->link);
	session->sessions->queued -= buffer->data.len;
	pfree(buffer->data.data);
	buffer->data.data = NULL;
	dlist_push_tail(&session->copied, &buffer->link);
	session->places += buffer->lines.len;
	session->copy_rows += buffer->nrows;
	session->sent = 0;
}

static void
forget_places(Session *session)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &session->copied)
	{
		RowBuffer  *buffer = dlist_container(RowBuffer, link, iter.cur);

		dlist_delete(iter.cur);
		pfree(buffer->lines.data);
		pfree(buffer);
	}
	session->places = 0;
	session->copy_rows = 0;
}

static RowBuffer *
first_buffer(Session *session)
{
	return dlist_is_empty(&session->queue) ? NULL :
		dlist_head_element(RowBuffer, link, &session->queue);
}

/* ---- the states; each function returns whether it has left its own ---- */

static bool
start_copy(Session *session)
{
	RowBuffer  *buffer = first_buffer(session);

	if (buffer == NULL)
		return false;
	session->statement = buffer->statement;
	session->has_filters = buffer->filtered;
	session->told = false;
	if (!PQsendQuery(session->node->conn, session->statement))
		raise_error(session, NULL);
	session->state = SESSION_STARTING;
	return true;
}

/* Whether a result can be fetched without waiting. */
static bool
has_result(Session *session)
{
	PGconn	   *conn = session->node->conn;

	if (PQflush(conn) < 0 || !PQconsumeInput(conn))
		raise_error(session, NULL);
	return !PQisBusy(conn);
}

static bool
await_start(Session *session)
{
	PGresult   *result;

	if (!has_result(session))
		return false;
	result = PQgetResult(session->node->conn);
	if (PQresultStatus(result) != PGRES_COPY_IN)
		raise_error(session, result);
	PQclear(result);
	session->state = SESSION_COPYING;
	return true;
}

/* Sends what the socket takes of the first buffer; false: not all of it. */
static bool
send_buffer(Session *session, RowBuffer *buffer)
{
	PGconn	   *conn = session->node->conn;

	while (session->sent < buffer->data.len)
	{
		int			unsent = PQflush(conn);
		int			length = Min(MESSAGE_BYTES, buffer->data.len - session->sent);

		if (unsent > 0)
			return false;
		if (unsent < 0 || PQputCopyData(conn, buffer->data.data + session->sent, length) != 1)
			raise_error(session, NULL);
		session->sent += length;
	}
	return true;
}

static bool
copy(Session *session)
{
	RowBuffer  *buffer = first_buffer(session);
	bool		begun = session->sent > 0;

	if (buffer != NULL && buffer->statement == session->statement &&
		(begun || (!session->told && session->places < PLACES_BYTES)))
	{
		if (!send_buffer(session, buffer))
			return false;
		keep_places(session, buffer);
		return true;
	}
	/* it goes on when there are more rows */
	if (buffer == NULL && !session->told)
		return false;
	if (PQputCopyEnd(session->node->conn, NULL) != 1)
		raise_error(session, NULL);
	session->state = SESSION_ENDING;
	return true;
}

/* The COPY has ended; the node says how many rows are in the table. */
static void
count_rows(Session *session, const PGresult *result)
{
	int64		stored = strtoi64(PQcmdTuples((PGresult *) result), NULL, 10);
	int64		missing = session->copy_rows - stored;

	if (missing < 0 || (missing > 0 && !session->has_filters))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("server \"%s\" has stored %lld rows of %lld",
						session->node->name, (long long) stored,
						(long long) session->copy_rows),
				 errdetail("The statement was: %s", session->statement)));
	session->rows += session->copy_rows;
	if (missing > 0)
	{
		/* a COPY has rows of one file */
		const RowBuffer *first = dlist_head_element(RowBuffer, link, &session->copied);

		session->sessions->count_filtered(session->sessions->arg, first->file, missing);
	}
}

static bool
await_end(Session *session)
{
	PGresult   *result;

	if (!has_result(session))
		return false;
	result = PQgetResult(session->node->conn);
	if (result == NULL)
	{
		session->state = SESSION_IDLE;
		return true;
	}
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		raise_error(session, result);
	count_rows(session, result);
	PQclear(result);
	forget_places(session);
	return true;
}

static void
advance(Session *session)
{
	static bool (*const steps[]) (Session *) = {
		[SESSION_IDLE] = start_copy,
		[SESSION_STARTING] = await_start,
		[SESSION_COPYING] = copy,
		[SESSION_ENDING] = await_end
	};

	while (steps[session->state] (session))
		;
	if (PQflush(session->node->conn) < 0)
		raise_error(session, NULL);
}

/* ---- all sessions ---- */

/* Where in the set the sockets come after the latch and the postmaster. */
#define FIRST_SOCKET 2

static void
make_events(Sessions *sessions)
{
	ListCell   *lc;

	sessions->events = compat_create_wait_event_set(FIRST_SOCKET + list_length(sessions->list));
	AddWaitEventToSet(sessions->events, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(sessions->events, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	foreach(lc, sessions->list)
		AddWaitEventToSet(sessions->events, WL_SOCKET_READABLE,
						  PQsocket(((Session *) lfirst(lc))->node->conn), NULL, lfirst(lc));
}

static uint32
events_of(Session *session)
{
	int			unsent = PQflush(session->node->conn);

	if (unsent < 0)
		raise_error(session, NULL);
	return WL_SOCKET_READABLE | (unsent > 0 ? WL_SOCKET_WRITEABLE : 0);
}

/*
 * What a node has sent while it is copying, or between COPYs.  An error may come behind
 * a notice; to end the COPY does no harm.
 */
static void
hear(Session *session)
{
	if (session->state == SESSION_STARTING || session->state == SESSION_ENDING)
		return;
	if (!PQconsumeInput(session->node->conn))
		raise_error(session, NULL);
	(void) PQisBusy(session->node->conn);	/* calls receive_notice */
	session->told = true;
}

/* Lets all sessions go on; waits for one that can, if that is wanted. */
static void
progress(Sessions *sessions, bool waits)
{
	WaitEvent	found[16];
	ListCell   *lc;
	int			n;

	CHECK_FOR_INTERRUPTS();
	if (sessions->events == NULL)
		make_events(sessions);
	foreach(lc, sessions->list)
		ModifyWaitEvent(sessions->events, FIRST_SOCKET + foreach_current_index(lc),
						events_of(lfirst(lc)), NULL);
	n = WaitEventSetWait(sessions->events, waits ? -1 : 0, found, lengthof(found),
						 PG_WAIT_EXTENSION);
	for (int i = 0; i < n; i++)
	{
		if (found[i].events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		else if (found[i].events & WL_SOCKET_READABLE)
			hear(found[i].user_data);
	}
	CHECK_FOR_INTERRUPTS();
	foreach(lc, sessions->list)
		advance(lfirst(lc));
}

void
session_send(Session *session, RowBuffer *buffer)
{
	Sessions   *sessions = session->sessions;

	dlist_push_tail(&session->queue, &buffer->link);
	sessions->queued += buffer->data.len;
	advance(session);
	progress(sessions, false);
	while (sessions->queued > QUEUE_BYTES)
		progress(sessions, true);
}

/* Sends what it can, and then ends its COPY.  Whether it has nothing to send, and no COPY. */
static bool
wind_up(Session *session)
{
	advance(session);
	if (session->state == SESSION_COPYING && dlist_is_empty(&session->queue))
	{
		session->told = true;
		advance(session);
	}
	return session->state == SESSION_IDLE && dlist_is_empty(&session->queue);
}

void
session_await_idle(Session *session)
{
	while (!wind_up(session))
		progress(session->sessions, true);
}

void
sessions_finish(Sessions *sessions)
{
	for (;;)
	{
		bool		done = true;
		ListCell   *lc;

		foreach(lc, sessions->list)
			done &= wind_up(lfirst(lc));
		if (done)
			break;
		progress(sessions, true);
	}
}

/* ---- open and close ---- */

static void
free_events(void *arg)
{
	sessions_rest(arg);
}

Sessions *
sessions_open(void (*locate) (void *arg, int file, int64 line),
			  void (*count_filtered) (void *arg, int file, int64 rows), void *arg)
{
	Sessions   *sessions = MemoryContextAllocZero(TopTransactionContext, sizeof(Sessions));

	sessions->context = AllocSetContextCreate(TopTransactionContext, "bulk_load nodes",
											  ALLOCSET_DEFAULT_SIZES);
	sessions->locate = locate;
	sessions->count_filtered = count_filtered;
	sessions->arg = arg;
	sessions->callback.func = free_events;
	sessions->callback.arg = sessions;
	MemoryContextRegisterResetCallback(sessions->context, &sessions->callback);
	return sessions;
}

/* The only value of a query. */
static char *
ask(RemoteNode *node, const char *sql)
{
	PGresult   *result = node_query(node, sql);
	char	   *value = PQntuples(result) == 1 && !PQgetisnull(result, 0, 0) ?
		pstrdup(PQgetvalue(result, 0, 0)) : NULL;

	PQclear(result);
	return value;
}

static void
check_can_prepare(RemoteNode *node)
{
	int			most = atoi(ask(node,
							 "SELECT pg_catalog.current_setting('max_prepared_transactions')"));

	if (most < 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("server \"%s\" cannot prepare transactions", node->name),
				 errdetail("Its max_prepared_transactions is %d. Each load needs one there, so that all servers commit or none.",
						   most),
				 errhint("Set it to at least the number of loads that run at a time, and restart that server.")));
}

/* The statement that has a setting of a node be as it is here. */
static char *
setting_as_here(const char *name)
{
	return psprintf("SET LOCAL %s = %s;", name,
					quote_literal_cstr(GetConfigOption(name, false, false)));
}

void
session_pass_setting(RemoteNode *node, const char *name)
{
	PQclear(node_query(node, setting_as_here(name)));
}

/*
 * Values in the files mean there what they mean here, and locks are waited for no
 * longer: that two loads wait for one another on two servers, none of these notices.
 */
static void
pass_settings(RemoteNode *node)
{
	static const char *const as_here[] = {
		"datestyle", "intervalstyle", "timezone", "timezone_abbreviations", "xmloption"
	};
	StringInfoData sql;

	/* all at once, as each statement of its own would be one way there and back */
	initStringInfo(&sql);
	for (int i = 0; i < lengthof(as_here); i++)
		appendStringInfoString(&sql, setting_as_here(as_here[i]));
	if (LockTimeout > 0)
		appendStringInfoString(&sql, setting_as_here("lock_timeout"));
	/* a COPY lasts as long as the load, and a node may wait for rows meanwhile */
	appendStringInfoString(&sql,
						   "SET LOCAL array_nulls = on;"
						   "SET LOCAL search_path = pg_catalog;"
						   "SET LOCAL statement_timeout = 0;"
						   "SET LOCAL idle_in_transaction_session_timeout = 0;");
	if (PQserverVersion(node->conn) >= 170000)
		appendStringInfoString(&sql, "SET LOCAL transaction_timeout = 0;");
	PQclear(node_query(node, sql.data));
}

/*
 * Has pgbulk run the node's COPYs, if it is the same version there.  Its locks are
 * those of COPY: others go on writing to the tables.
 */
static char *
use_pgbulk(RemoteNode *node)
{
	char	   *version = ask(node, "SELECT extversion FROM pg_catalog.pg_extension"
							  " WHERE extname OPERATOR(pg_catalog.=) 'pgbulk'");
	char	   *schema;

	if (version == NULL)
		return pstrdup("not installed");
	if (strcmp(version, PGBULK_VERSION) != 0)
		return psprintf("another version, %s", version);
	schema = ask(node, "SELECT n.nspname FROM pg_catalog.pg_extension e"
				 " JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
				 " WHERE e.extname OPERATOR(pg_catalog.=) 'pgbulk'");
	/* loads its library */
	PQclear(node_query(node, psprintf("SELECT %s.bulk_load_last()", node_identifier(schema))));
	PQclear(node_query(node, "SET LOCAL pgbulk.copy = on"));
	return version;
}

static Session *
open_session(Sessions *sessions, Oid serverid)
{
	Session    *session = palloc0(sizeof(Session));

	session->sessions = sessions;
	session->node = node_connect(serverid, GetUserId(), NULL);
	dlist_init(&session->queue);
	dlist_init(&session->copied);
	settle_node(session->node);
	check_can_prepare(session->node);
	/* what follows is one transaction's, of which a pooler has one session */
	PQclear(node_query(session->node, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"));
	pass_settings(session->node);
	session->pgbulk = use_pgbulk(session->node);
	two_phase_join(session->node);
	return session;
}

Session *
sessions_get(Sessions *sessions, Oid serverid)
{
	MemoryContext old;
	Session    *session;
	ListCell   *lc;

	foreach(lc, sessions->list)
	{
		session = lfirst(lc);
		if (session->node->serverid == serverid)
			return session;
	}
	old = MemoryContextSwitchTo(sessions->context);
	session = open_session(sessions, serverid);
	sessions->list = lappend(sessions->list, session);
	sessions_rest(sessions);
	MemoryContextSwitchTo(old);
	return session;
}

void
sessions_rest(Sessions *sessions)
{
	if (sessions->events != NULL)
		FreeWaitEventSet(sessions->events);
	sessions->events = NULL;
}

RemoteNode *
session_node(Session *session)
{
	return session->node;
}

const char *
session_pgbulk(const Session *session)
{
	return session->pgbulk;
}

int64
session_rows(const Session *session)
{
	return session->rows;
}

List *
sessions_list(const Sessions *sessions)
{
	return sessions->list;
}
