/*
 * node.c
 *		See node.h.
 */
#include "postgres.h"

#include "cluster/node.h"
#include "cluster/shown.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "server/held_interrupts.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* Nodes whose sessions are open, in TopTransactionContext. */
static List *open_nodes = NIL;

/* ---- waiting ---- */

/* Milliseconds until then; -1: there is no end. */
static long
milliseconds_until(TimestampTz end)
{
	return TIMESTAMP_IS_NOEND(end) ? -1 :
		TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);
}

/* Waits for an event of the socket; false: it is time. */
static bool
wait_for_socket(pgsocket socket, int events, TimestampTz end)
{
	long		left = milliseconds_until(end);
	int			found;

	if (left == 0)
		return false;
	found = WaitLatchOrSocket(MyLatch,
							  events | WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
							  (left > 0 ? WL_TIMEOUT : 0),
							  socket, left, PG_WAIT_EXTENSION);
	if (found & WL_LATCH_SET)
		ResetLatch(MyLatch);
	return true;
}

/* At the end of a transaction interrupts are not served, but they end the waiting. */
static bool
is_interrupted(void)
{
	return QueryCancelPending || ProcDiePending;
}

static void
tell_waited_for(void *node)
{
	errcontext("waiting for server \"%s\"", ((const RemoteNode *) node)->name);
}

void
node_check_interrupts(void (*tell) (void *arg), void *arg)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = tell,
		.arg = arg
	};

	error_context_stack = &callback;
	CHECK_FOR_INTERRUPTS();
	error_context_stack = callback.previous;
}

/* Waits until a result can be fetched.  False: there will be none in time. */
static bool
wait_for_result(RemoteNode *node, TimestampTz end, bool served)
{
	for (;;)
	{
		int			unsent;

		if (served)
			node_check_interrupts(tell_waited_for, node);
		else if (is_interrupted())
			return false;
		unsent = PQflush(node->conn);
		if (unsent < 0 || !PQconsumeInput(node->conn))
			return true;		/* the result will tell */
		if (unsent == 0 && !PQisBusy(node->conn))
			return true;
		if (!wait_for_socket(PQsocket(node->conn),
							 WL_SOCKET_READABLE | (unsent > 0 ? WL_SOCKET_WRITEABLE : 0), end))
			return false;
	}
}

/* Gives up the result to the caller. */
static PGresult *
take_result(RemoteNode *node)
{
	PGresult   *result = node->result;

	node->result = NULL;
	return result;
}

/*
 * The last result of what has been sent; results before it are good, or else they are the last.
 * It is the node's meanwhile, as an error may end the waiting.
 */
static PGresult *
last_result(RemoteNode *node, TimestampTz end, bool served)
{
	PQclear(take_result(node));
	for (;;)
	{
		PGresult   *result;

		if (!wait_for_result(node, end, served))
		{
			PQclear(take_result(node));
			return NULL;
		}
		result = PQgetResult(node->conn);
		if (result == NULL)
			return take_result(node);
		PQclear(node->result);
		node->result = result;
		/* no others come after one that begins a COPY, which nobody has asked for */
		switch (PQresultStatus(result))
		{
			case PGRES_COPY_IN:
			case PGRES_COPY_OUT:
			case PGRES_COPY_BOTH:
				return take_result(node);
			default:
				break;
		}
		if (PQstatus(node->conn) == CONNECTION_BAD)
			return take_result(node);
	}
}

static bool
is_good(const PGresult *result)
{
	return PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
}

PGresult *
node_query(RemoteNode *node, const char *sql)
{
	PGresult   *result;

	if (!PQsendQuery(node->conn, sql))
		node_raise(node, NULL);
	result = last_result(node, DT_NOEND, true);
	if (!is_good(result))
		node_raise(node, result);
	return result;
}

PGresult *
node_query_rows(RemoteNode *node, const char *sql, int ncolumns)
{
	PGresult   *result = node_query(node, sql);

	if (PQresultStatus(result) == PGRES_TUPLES_OK && PQnfields(result) == ncolumns)
		return result;
	PQclear(result);
	ereport(ERROR,
			(errcode(ERRCODE_FDW_ERROR),
			 errmsg("server \"%s\" has not answered a query", node->name),
			 errdetail("The statement was: %s", sql)));
}

PGresult *
node_result(RemoteNode *node, TimestampTz end)
{
	return last_result(node, end, true);
}

PGresult *
node_result_until(RemoteNode *node, TimestampTz end)
{
	return last_result(node, end, false);
}

PGresult *
node_query_until(RemoteNode *node, const char *sql, TimestampTz end)
{
	if (PQstatus(node->conn) != CONNECTION_OK || !PQsendQuery(node->conn, sql))
		return NULL;
	return node_result_until(node, end);
}

/* ---- texts ---- */

/* How many of its bytes are valid in this database's encoding. */
static int
valid_length(const char *text)
{
	return pg_encoding_verifymbstr(GetDatabaseEncoding(), text, strlen(text));
}

/* A text that is only shown, as far as it is valid. */
static char *
copy_valid(const char *text)
{
	return pnstrdup(text, valid_length(text));
}

bool
node_is_valid_text(const char *text)
{
	return text[valid_length(text)] == '\0';
}

void
node_check_text(const RemoteNode *node, const char *text)
{
	if (text != NULL && !node_is_valid_text(text))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("server \"%s\" has sent a text that is not valid in encoding %s",
						node->name, GetDatabaseEncodingName()),
				 errdetail("The valid part of it is: %s", copy_valid(text))));
}

/* ---- errors ---- */

/* What libpq says, in one line. */
static char *
connection_message(const RemoteNode *node)
{
	char	   *message = copy_valid(PQerrorMessage(node->conn));
	int			length = strlen(message);

	while (length > 0 && message[length - 1] == '\n')
		message[--length] = '\0';
	return length > 0 ? message : pstrdup("connection lost");
}

bool
node_is_error(const PGresult *result, const char *sqlstate)
{
	const char *found = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	return found != NULL && strcmp(found, sqlstate) == 0;
}

bool
node_has_no_prepared(const PGresult *result)
{
	return node_is_error(result, "42704");
}

char *
node_failure(RemoteNode *node, const PGresult *result)
{
	const char *message = result == NULL ? NULL :
		PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	return message != NULL ? copy_valid(message) : connection_message(node);
}

static char *
copy_field(const PGresult *result, int field)
{
	const char *text = result == NULL ? NULL : PQresultErrorField(result, field);

	return text == NULL ? NULL : copy_valid(text);
}

int
node_sqlstate(const PGresult *result, int otherwise)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	return state == NULL || strlen(state) != 5 ? otherwise :
		MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
}

void
node_raise(RemoteNode *node, PGresult *result)
{
	int			sqlstate = node_sqlstate(result, ERRCODE_CONNECTION_FAILURE);
	char	   *message = copy_field(result, PG_DIAG_MESSAGE_PRIMARY);
	char	   *detail = copy_field(result, PG_DIAG_MESSAGE_DETAIL);
	char	   *hint = copy_field(result, PG_DIAG_MESSAGE_HINT);
	char	   *context = copy_field(result, PG_DIAG_CONTEXT);

	context = context == NULL ? psprintf("server \"%s\"", node->name) :
		psprintf("server \"%s\": %s", node->name, context);
	PQclear(result);
	if (message == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("connection to server \"%s\" was lost", node->name),
				 errdetail_internal("%s", connection_message(node))));
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg_internal("%s", message),
			 detail != NULL ? errdetail_internal("%s", detail) : 0,
			 hint != NULL ? errhint("%s", hint) : 0,
			 errcontext("%s", context)));
}

/* What the client's encoding lacks is an error, which must not jump out of libpq: it is dropped. */
static void
pass_on(const RemoteNode *node, const char *message)
{
	MemoryContext context = CurrentMemoryContext;
	HeldInterrupts held = held_interrupts();

	PG_TRY();
	{
		ereport(WARNING, (errmsg("server \"%s\": %s", node->name, message)));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		held_interrupts_restore(held);
	}
	PG_END_TRY();
}

/* Warnings of a node are passed on; what it merely notices is not about this load's data. */
void
node_receive_notice(void *arg, const PGresult *result)
{
	RemoteNode	   *node = arg;
	const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
	char	   *message;

	if (severity == NULL || strcmp(severity, "WARNING") != 0)
		return;
	message = copy_field(result, PG_DIAG_MESSAGE_PRIMARY);
	if (message != NULL)
		pass_on(node, message);
}

/* ---- open and close ---- */

/* NULL: it is open. */
static char *
open_connection(RemoteNode *node, const ConnectionOptions *options)
{
	TimestampTz end = options->milliseconds <= 0 ? DT_NOEND :
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), options->milliseconds);
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	node->conn = PQconnectStartParams(options->keywords, options->values, false);
	if (node->conn == NULL)
		return pstrdup("out of memory");
	if (PQstatus(node->conn) == CONNECTION_BAD)
		return connection_message(node);
	while (status != PGRES_POLLING_OK)
	{
		node_check_interrupts(tell_waited_for, node);
		if (!wait_for_socket(PQsocket(node->conn), status == PGRES_POLLING_READING ?
							 WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE, end))
			return pstrdup("timeout expired");
		status = PQconnectPoll(node->conn);
		if (status == PGRES_POLLING_FAILED)
			return connection_message(node);
	}
	return NULL;
}

/* NULL where this process may open no more files, if failure can tell of it. */
static RemoteNode *
new_node(const NodeId *id, const char *name, char **failure)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	RemoteNode *node = palloc0(sizeof(RemoteNode));

	node->id = *id;
	node->name = pstrdup(name);
	node->shown = SHOWN_NOT;
	open_nodes = lappend(open_nodes, node);
	MemoryContextSwitchTo(old);
	if (!AcquireExternalFD())
	{
		open_nodes = list_delete_ptr(open_nodes, node);
		if (failure != NULL)
		{
			*failure = pstrdup("there are too many open files");
			return NULL;
		}
		ereport(ERROR,
				(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
				 errmsg("could not connect to server \"%s\"", name),
				 errdetail("There are too many open files in this server process."),
				 errhint("Raise the server's \"max_files_per_process\" and/or \"ulimit -n\" limits.")));
	}
	return node;
}

RemoteNode *
node_connect(const NodeId *id, Oid userid, char **failure)
{
	ConnectionOptions *options = connection_options(id, userid);
	RemoteNode *node = new_node(id, options->name, failure);
	char	   *problem;

	if (node == NULL)
		return NULL;
	problem = open_connection(node, options);
	if (problem != NULL)
	{
		node_close(node);
		if (failure == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
					 errmsg("could not connect to server \"%s\"", options->name),
					 errdetail_internal("%s", problem)));
		*failure = problem;
		return NULL;
	}
	connection_check(options, node->conn);
	PQsetNoticeReceiver(node->conn, node_receive_notice, node);
	if (PQsetnonblocking(node->conn, 1) != 0)
		node_raise(node, NULL);
	return node;
}

#ifdef LIBPQ_HAS_ASYNC_CANCEL

/* Milliseconds between looks at the cancels. */
#define CANCEL_WAIT 2

typedef struct Cancel
{
	PGcancelConn *conn;
	PostgresPollingStatusType status;
} Cancel;

/* Goes on as far as that goes without waiting; false: there is nothing more to do. */
static bool
advance_cancel(Cancel *cancel)
{
	int			wanted = cancel->status == PGRES_POLLING_READING ? WL_SOCKET_READABLE :
		WL_SOCKET_WRITEABLE;

	if (cancel->status != PGRES_POLLING_READING && cancel->status != PGRES_POLLING_WRITING)
		return false;
	if (WaitLatchOrSocket(MyLatch, wanted | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						  PQcancelSocket(cancel->conn), 0, PG_WAIT_EXTENSION) & wanted)
		cancel->status = PQcancelPoll(cancel->conn);
	return true;
}

static void
start_cancel(Cancel *cancel, RemoteNode *node)
{
	cancel->conn = PQcancelCreate(node->conn);
	cancel->status = cancel->conn != NULL && PQcancelStart(cancel->conn) ?
		PGRES_POLLING_WRITING : PGRES_POLLING_FAILED;
}

/* One that does not answer must not keep others from being cancelled: all at the same time. */
void
node_cancel_all(List *nodes, TimestampTz end)
{
	Cancel	   *cancels = palloc(sizeof(Cancel) * Max(list_length(nodes), 1));
	bool		any = true;
	ListCell   *lc;

	foreach(lc, nodes)
		start_cancel(&cancels[foreach_current_index(lc)], lfirst(lc));
	while (any && !is_interrupted() && milliseconds_until(end) > 0)
	{
		any = false;
		for (int i = 0; i < list_length(nodes); i++)
			any |= advance_cancel(&cancels[i]);
		if (any && (WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							  CANCEL_WAIT, PG_WAIT_EXTENSION) & WL_LATCH_SET))
			ResetLatch(MyLatch);
	}
	/* where that fails, the end of the connection has to do */
	for (int i = 0; i < list_length(nodes); i++)
		PQcancelFinish(cancels[i].conn);
	pfree(cancels);
}

#else

/* Before 17 libpq only waits: as long as option tcp_user_timeout says, or the system. */
void
node_cancel_all(List *nodes, TimestampTz end)
{
	ListCell   *lc;

	foreach(lc, nodes)
	{
		PGcancel   *cancel = PQgetCancel(((RemoteNode *) lfirst(lc))->conn);
		char		message[256];

		if (cancel == NULL)
			continue;
		/* where that fails, the end of the connection has to do */
		(void) PQcancel(cancel, message, sizeof(message));
		PQfreeCancel(cancel);
	}
}

#endif

static void
release(RemoteNode *node)
{
	PQclear(take_result(node));
	PQfinish(node->conn);
	node->conn = NULL;
	ReleaseExternalFD();
}

void
node_close(RemoteNode *node)
{
	open_nodes = list_delete_ptr(open_nodes, node);
	release(node);
}

void
node_close_all(void)
{
	ListCell   *lc;

	foreach(lc, open_nodes)
		release(lfirst(lc));
	/* its memory goes with the transaction */
	open_nodes = NIL;
}

char *
node_identifier(const char *name)
{
	StringInfoData quoted;

	/* which words are keywords is for the other server to know */
	initStringInfo(&quoted);
	appendStringInfoChar(&quoted, '"');
	for (; *name != '\0'; name++)
	{
		if (*name == '"')
			appendStringInfoChar(&quoted, '"');
		appendStringInfoChar(&quoted, *name);
	}
	appendStringInfoChar(&quoted, '"');
	return quoted.data;
}
