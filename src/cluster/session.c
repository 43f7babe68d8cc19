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

#include "cluster/begin.h"
#include "cluster/sent_rows.h"
#include "cluster/session.h"
#include "cluster/settle.h"
#include "cluster/shown.h"
#include "cluster/two_phase.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/usage.h"
#include "storage/buffile.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

/* Bytes of a message of the COPY protocol. */
#define MESSAGE_BYTES (64 * 1024)

/* Memory of what may wait to be sent, to all nodes together. */
#define QUEUE_BYTES (8 * 1024 * 1024)

/* Where more than this part (1 / 8) of the time is waited for nodes, these do not keep up. */
#define MOST_WAITING 8

/* Bytes of places of rows that a COPY may still be wrong about; then it is ended. */
#define PLACES_BYTES (512 * 1024)

/* The same where places are exact, and so take more. */
#define EXACT_PLACES_BYTES (2 * 1024 * 1024)

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
	BufFile    *spilled;		/* those before them; NULL: none */
	int64		copy_rows;		/* its rows */
	int64		rows;			/* of all COPYs so far, and their bytes */
	int64		bytes;
	int64		waiting;		/* bytes of the queue */
	int			copy_file;		/* their file, or that of the last one */
	bool		told;			/* the node has sent something while it copies */
	Told	   *aside;			/* rows that the node tells of */
	int64		heard;			/* how many messages of that kind have come */
	bool		has_filters;	/* of the COPY: a trigger there may keep rows out */
	const char *refusal;		/* why the node has let us have no more of them; or NULL */
};

struct Sessions
{
	MemoryContext context;
	List	   *list;
	Size		queued;			/* memory of all queues */
	WaitEventSet *events;		/* of all sockets; NULL: not made yet */
	MemoryContextCallback callback; /* frees them after an error, too */
	SessionListener listener;
	BulkRelay	relay;
	bool		whole;			/* a table's rows go by one COPY */

	/* how fast the nodes are */
	instr_time	begun;			/* the first buffer came */
	int64		bytes;			/* of all buffers */
	double		sending;		/* seconds, with those */
	double		waiting;		/* for nodes */
};

/* ---- places of rows ---- */

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

/*
 * The file that the COPY is for; -1: all files.  The rows of each have a COPY of their own, as
 * those that triggers keep out are counted by file, unless one has to know all of a table.
 */
static int
file_of_copy(const Session *session)
{
	return session->sessions->whole ? -1 : session->copy_file;
}

/* Rows of the COPY, also those that wait, of which it may have the first ones in part. */
static void
begin_sent(SentRows *sent, const Session *session, bool with_waiting)
{
	sent_rows_begin(sent, session->sessions->context, session->spilled, &session->copied,
					with_waiting ? &session->queue : NULL, session->statement,
					file_of_copy(session));
}

/* Tells where in the input the row is that the node complains about. */
static void
locate(Session *session, int64 wanted)
{
	const SessionListener *listener = &session->sessions->listener;
	SentRows	sent;

	begin_sent(&sent, session, true);
	while (wanted > 0 && sent_rows_next(&sent))
		if (wanted <= sent.places.last_line)
		{
			listener->locate(listener->arg, sent.places.place.file, sent.places.place.line);
			return;
		}
	listener->locate(listener->arg, -1, 0);
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
	RowBuffer  *buffer = row_buffer_create(sessions->context, bytes);

	buffer->statement = statement;
	buffer->exact = sessions->relay != BULK_RELAY_OFF;
	return buffer;
}

RowBuffer *
session_read_buffer(Sessions *sessions, BufFile *file)
{
	return row_buffer_read(sessions->context, file);
}

/* Places of rows that the COPY has got go to the file. */
static void
spill_places(Session *session)
{
	MemoryContext old = MemoryContextSwitchTo(session->sessions->context);
	dlist_mutable_iter iter;

	if (session->spilled == NULL)
		session->spilled = BufFileCreateTemp(false);
	MemoryContextSwitchTo(old);
	dlist_foreach_modify(iter, &session->copied)
	{
		RowBuffer  *buffer = dlist_container(RowBuffer, link, iter.cur);

		dlist_delete(iter.cur);
		row_buffer_write(buffer, session->spilled);
	}
	session->places = 0;
}

static bool
has_many_places(const Session *session)
{
	return session->places >= (session->sessions->relay == BULK_RELAY_OFF ? PLACES_BYTES :
							   EXACT_PLACES_BYTES);
}

/* Its data have been sent, and its places are kept until the COPY has ended. */
static void
keep_places(Session *session, RowBuffer *buffer)
{
	dlist_delete(&buffer->link);
	session->sessions->queued -= row_buffer_memory(buffer);
	session->waiting -= buffer->data.len;
	session->bytes += buffer->data.len;
	session->rows += buffer->nrows;
	row_buffer_free_data(buffer);
	dlist_push_tail(&session->copied, &buffer->link);
	session->places += buffer->places.len;
	session->copy_rows += buffer->nrows;
	session->copy_file = row_buffer_file(buffer);
	session->sent = 0;
	if (session->sessions->whole && has_many_places(session))
		spill_places(session);
}

static void
forget_places(Session *session)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &session->copied)
	{
		RowBuffer  *buffer = dlist_container(RowBuffer, link, iter.cur);

		dlist_delete(iter.cur);
		row_buffer_free(buffer);
	}
	if (session->spilled != NULL)
		BufFileClose(session->spilled);
	session->spilled = NULL;
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
	session->copy_file = row_buffer_file(buffer);
	session->has_filters = buffer->filtered;
	session->told = false;
	told_forget(session->aside);
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

	if (buffer != NULL && row_buffer_is_of(buffer, session->statement, file_of_copy(session)) &&
		(begun || session->sessions->whole ||
		 (!session->told && !has_many_places(session))))
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

/* The node has told of a row that it has not got. */
static void
raise_unknown_row(const Session *session, const BadRow *row)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_ERROR),
			 errmsg("server \"%s\" tells of a row that was not sent to it", session->node->name),
			 errdetail("It says, of the byte %lld: %s", (long long) row->place.offset,
					   row->message)));
}

/* Passes on what the node has told of rows of its COPY, which has ended or will not go on. */
static void
tell_of_rows(Session *session)
{
	const SessionListener *listener = &session->sessions->listener;
	SentRows	sent;
	BadRow		row;
	bool		has_row;

	/* of the first buffer that waits the node may have a part */
	begin_sent(&sent, session, session->sent > 0);
	has_row = sent_rows_next(&sent);
	while (told_next(session->aside, &row))
	{
		CHECK_FOR_INTERRUPTS();
		while (has_row && sent.places.offset < row.place.offset)
			has_row = sent_rows_next(&sent);
		if (!has_row || (sent.places.offset != row.place.offset &&
						 row.place.offset != TOLD_NO_PLACE))
			raise_unknown_row(session, &row);
		row.place = row.place.offset == TOLD_NO_PLACE ? (JournalPlace) {0} : sent.places.place;
		listener->set_aside(listener->arg, sent.places.buffer->sender, &row);
	}
	sent_rows_end(&sent);
}

/* The COPY has ended; the node says how many rows are in the table. */
static void
count_rows(Session *session, int64 stored)
{
	const SessionListener *listener = &session->sessions->listener;
	int64		missing = session->copy_rows - stored - told_aside(session->aside);

	if (missing < 0 || (missing > 0 && !session->has_filters))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("server \"%s\" has stored %lld rows of %lld",
						session->node->name, (long long) stored,
						(long long) session->copy_rows),
				 errdetail("The statement was: %s", session->statement)));
	if (missing > 0)
		listener->count_filtered(listener->arg, session->copy_file, missing);
	for (RejectReason reason = REJECT_DUPLICATE; reason <= REJECT_REPLACED; reason++)
		if (told_counted(session->aside, reason) > 0)
			listener->count(listener->arg, session->copy_file, reason,
							told_counted(session->aside, reason));
}

static bool
await_end(Session *session)
{
	PGresult   *result;
	int64		stored;

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
	stored = strtoi64(PQcmdTuples(result), NULL, 10);
	PQclear(result);
	count_rows(session, stored);
	tell_of_rows(session);
	told_forget(session->aside);
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
	static const ShownState states[] = {
		[SESSION_IDLE] = SHOWN_IDLE,
		[SESSION_STARTING] = SHOWN_STARTING,
		[SESSION_COPYING] = SHOWN_COPYING,
		[SESSION_ENDING] = SHOWN_ENDING
	};

	while (steps[session->state] (session))
		;
	shown_state(session->node->shown, states[session->state]);
	shown_rows(session->node->shown, session->rows, session->bytes + session->sent,
			   session->waiting - session->sent);
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

/*
 * What has to happen before the session can go on.  Where it has more to send than libpq holds, the
 * socket was full when it was looked at last, and may be empty by now.
 */
static uint32
events_of(Session *session)
{
	int			unsent = PQflush(session->node->conn);
	bool		sends = session->state == SESSION_COPYING && !dlist_is_empty(&session->queue);

	if (unsent < 0)
		raise_error(session, NULL);
	return WL_SOCKET_READABLE | (unsent > 0 || sends ? WL_SOCKET_WRITEABLE : 0);
}

/* What libpq has read while it was sending: the socket will not say so any more. */
static bool
has_unread_result(const Session *session)
{
	return (session->state == SESSION_STARTING || session->state == SESSION_ENDING) &&
		!PQisBusy(session->node->conn);
}

/* Whether a message may be about a row: others' triggers and functions there may send any. */
static bool
is_about_copy(const Session *session, const PGresult *message)
{
	const char *severity = PQresultErrorField(message, PG_DIAG_SEVERITY_NONLOCALIZED);

	return session->sessions->relay != BULK_RELAY_OFF &&
		(session->state == SESSION_COPYING || session->state == SESSION_ENDING) &&
		severity != NULL && strcmp(severity, "INFO") == 0;
}

/* What a node says while statements run. */
static void
receive_message(void *arg, const PGresult *message)
{
	Session    *session = arg;

	if (is_about_copy(session, message) && told_take(session->aside, message))
		session->heard++;
	else
		node_receive_notice(session->node, message);
}

/*
 * Raises the error of a limit if rows that the nodes have told of, and that are not passed on
 * yet, are too many, with those that are bad here: no COPY goes on then.
 */
static void
check_limits(const Sessions *sessions)
{
	const SessionListener *listener = &sessions->listener;
	ToldCounts	counts = {0};
	ListCell   *lc;

	foreach(lc, sessions->list)
		told_add(((const Session *) lfirst(lc))->aside, &counts);
	if (!listener->is_enough(listener->arg, &counts))
		return;
	foreach(lc, sessions->list)
		tell_of_rows(lfirst(lc));
	elog(ERROR, "rows that are too many were taken");
}

/*
 * What a node has sent while it is copying, or between COPYs.  An error may come behind
 * a notice; to end the COPY does no harm.  Behind rows that are set aside, which may
 * be many, it is noticed when the COPY ends; and so is any where a COPY must not end.
 */
static void
hear(Session *session)
{
	int64		heard = session->heard;

	if (session->state == SESSION_STARTING || session->state == SESSION_ENDING)
		return;
	if (!PQconsumeInput(session->node->conn))
		raise_error(session, NULL);
	(void) PQisBusy(session->node->conn);	/* calls receive_message */
	if (session->heard == heard && !session->sessions->whole)
		session->told = true;
}

static bool
is_waited_for(Session *session)
{
	return session->state == SESSION_STARTING || session->state == SESSION_ENDING ||
		!dlist_is_empty(&session->queue);
}

/* Whether a session before this one with the same node is waited for, too. */
static bool
is_told(const Sessions *sessions, const Session *session)
{
	ListCell   *lc;

	foreach(lc, sessions->list)
	{
		Session    *other = lfirst(lc);

		if (other == session)
			return false;
		if (connection_is_same(&other->node->id, &session->node->id) && is_waited_for(other))
			return true;
	}
	return false;
}

/* In the CONTEXT of a cancel or a timeout: each node once. */
static void
tell_waited_for(void *arg)
{
	const Sessions *sessions = arg;
	ListCell   *lc;

	foreach(lc, sessions->list)
	{
		Session    *session = lfirst(lc);

		if (is_waited_for(session) && !is_told(sessions, session))
			errcontext("waiting for server \"%s\"", session->node->name);
	}
}

/* Lets all sessions go on; waits for one that can, if that is wanted. */
static void
progress(Sessions *sessions, bool waits)
{
	WaitEvent	found[16];
	ListCell   *lc;
	bool		sleeps = waits;
	int			n;

	if (waits)
		node_check_interrupts(tell_waited_for, sessions);
	else
		CHECK_FOR_INTERRUPTS();
	if (sessions->events == NULL)
		make_events(sessions);
	foreach(lc, sessions->list)
	{
		ModifyWaitEvent(sessions->events, FIRST_SOCKET + foreach_current_index(lc),
						events_of(lfirst(lc)), NULL);
		sleeps &= !has_unread_result(lfirst(lc));
	}
	n = WaitEventSetWait(sessions->events, sleeps ? -1 : 0, found, lengthof(found),
						 PG_WAIT_EXTENSION);
	for (int i = 0; i < n; i++)
	{
		if (found[i].events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		else if (found[i].events & WL_SOCKET_READABLE)
			hear(found[i].user_data);
	}
	if (waits)
		node_check_interrupts(tell_waited_for, sessions);
	foreach(lc, sessions->list)
		advance(lfirst(lc));
	check_limits(sessions);
}

static void
await_space(Sessions *sessions)
{
	instr_time	start;

	if (sessions->queued <= QUEUE_BYTES)
		return;
	INSTR_TIME_SET_CURRENT(start);
	while (sessions->queued > QUEUE_BYTES)
		progress(sessions, true);
	sessions->waiting += seconds_since(start);
}

void
session_send(Session *session, RowBuffer *buffer)
{
	Sessions   *sessions = session->sessions;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (sessions->bytes == 0)
		sessions->begun = start;
	sessions->bytes += buffer->data.len;
	dlist_push_tail(&session->queue, &buffer->link);
	row_buffer_trim(buffer);
	sessions->queued += row_buffer_memory(buffer);
	session->waiting += buffer->data.len;
	advance(session);
	progress(sessions, false);
	await_space(sessions);
	sessions->sending += seconds_since(start);
}

double
sessions_seconds(const Sessions *sessions)
{
	return sessions->sending;
}

/* The first bytes only fill the queue, and what the system holds. */
bool
sessions_keep_up(const Sessions *sessions)
{
	return sessions->bytes > 2 * QUEUE_BYTES &&
		sessions->waiting * MOST_WAITING < seconds_since(sessions->begun);
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
sessions_open(const SessionListener *listener, BulkRelay relay, bool whole)
{
	Sessions   *sessions = MemoryContextAllocZero(TopTransactionContext, sizeof(Sessions));

	sessions->context = AllocSetContextCreate(TopTransactionContext, "bulk_load nodes",
											  ALLOCSET_DEFAULT_SIZES);
	sessions->listener = *listener;
	sessions->relay = relay;
	sessions->whole = whole;
	sessions->callback.func = free_events;
	sessions->callback.arg = sessions;
	MemoryContextRegisterResetCallback(sessions->context, &sessions->callback);
	return sessions;
}

static Session *
open_session(Sessions *sessions, RemoteNode *node)
{
	MemoryContext old = MemoryContextSwitchTo(sessions->context);
	Session    *session = palloc0(sizeof(Session));

	session->sessions = sessions;
	session->node = node;
	dlist_init(&session->queue);
	dlist_init(&session->copied);
	session->aside = told_open(session->node, sessions->listener.reasons);
	PQsetNoticeReceiver(session->node->conn, receive_message, session);
	session->pgbulk = begin_transaction(session->node, sessions->relay);
	two_phase_join(session->node);
	session->node->shown = shown_add(session->node->name, PQbackendPID(session->node->conn));
	sessions->list = lappend(sessions->list, session);
	sessions_rest(sessions);
	MemoryContextSwitchTo(old);
	return session;
}

Session *
sessions_get(Sessions *sessions, const NodeId *id)
{
	RemoteNode *node;
	ListCell   *lc;

	foreach(lc, sessions->list)
	{
		Session    *session = lfirst(lc);

		if (connection_is_same(&session->node->id, id))
			return session;
	}
	node = node_connect(id, GetUserId(), NULL);
	settle_node(node);
	return open_session(sessions, node);
}

Session *
sessions_add(Sessions *sessions, Session *first)
{
	RemoteNode *node;
	char	   *failure;

	if (first->refusal != NULL)
		return NULL;
	node = node_connect(&first->node->id, GetUserId(), &failure);
	if (node != NULL)
		return open_session(sessions, node);
	first->refusal = MemoryContextStrdup(sessions->context, failure);
	return NULL;
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

const char *
session_refusal(const Session *session)
{
	return session->refusal;
}

List *
sessions_list(const Sessions *sessions)
{
	return sessions->list;
}
