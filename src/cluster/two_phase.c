/*
 * two_phase.c
 *		See two_phase.h.
 */
#include "postgres.h"

#include <inttypes.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_control.h"
#include "cluster/node.h"
#include "cluster/shown.h"
#include "cluster/two_phase.h"
#include "miscadmin.h"
#include "server/held_interrupts.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* Seconds to wait for nodes when the transaction has ended. */
#define COMMIT_SECONDS 30
#define ROLLBACK_SECONDS 10
#define CANCEL_SECONDS 3

char	   *two_phase_stop = "";

/* The transaction on a node. */
typedef struct Part
{
	RemoteNode	   *node;
	char	   *gid;			/* NULL: it was not told to prepare yet */
	bool		sent;			/* a command was sent that has not been answered */
	bool		ended;			/* it has committed */
} Part;

/* Those of the current transaction; in TopTransactionContext. */
static List *parts = NIL;

/*
 * When statement_timeout ends their statement.  The server switches that off before it commits
 * (finish_xact_command in postgres.c), and a node may hang.
 */
static TimestampTz statement_end = DT_NOEND;

/* ---- identifiers ---- */

char *
two_phase_prefix(void)
{
	return psprintf("pgbulk_" UINT64_FORMAT "_%u_", GetSystemIdentifier(), MyDatabaseId);
}

static char *
identifier(int number, XLogRecPtr lsn)
{
	uint64		random;

	if (!pg_strong_random(&random, sizeof(random)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random number")));
	return psprintf("%s" UINT64_FORMAT "_%d_%08X_%016" PRIX64 "_%016" PRIX64, two_phase_prefix(),
					U64FromFullTransactionId(GetCurrentFullTransactionId()), number,
					GetWALInsertionTimeLine(), (uint64) lsn, random);
}

bool
two_phase_parse(const char *gid, TwoPhaseOrigin *origin)
{
	char	   *prefix = two_phase_prefix();
	uint64		xid;
	uint64		lsn;
	uint32		timeline;
	int			end = 0;

	if (strncmp(gid, prefix, strlen(prefix)) != 0 ||
		sscanf(gid + strlen(prefix), "%20" SCNu64 "_%*10d_%8" SCNx32 "_%16" SCNx64 "_%*16[0-9A-F]%n",
			   &xid, &timeline, &lsn, &end) != 3 ||
		end == 0 || gid[strlen(prefix) + end] != '\0')
		return false;
	origin->xid = FullTransactionIdFromU64(xid);
	origin->timeline = timeline;
	origin->lsn = lsn;
	return TransactionIdIsNormal(XidFromFullTransactionId(origin->xid));
}

/* ---- stops for tests ---- */

static bool
stops_at(const char *place)
{
	return strcmp(two_phase_stop, place) == 0;
}

static void
stop_at(const char *place)
{
	if (!stops_at(place))
		return;
	ereport(LOG, (errmsg("two-phase commit stops at \"%s\"", place)));
	/* before the commit a cancel is an error, after it the load goes on */
	while (!QueryCancelPending)
	{
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, 0, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	CHECK_FOR_INTERRUPTS();
	QueryCancelPending = false;
}

/* ---- before the commit ---- */

static void
send_prepare(Part *part, int number, XLogRecPtr lsn)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	part->gid = identifier(number, lsn);
	MemoryContextSwitchTo(old);
	if (!PQsendQuery(part->node->conn,
					 psprintf("PREPARE TRANSACTION %s", quote_literal_cstr(part->gid))))
		node_raise(part->node, NULL);
	part->sent = true;
	shown_state(part->node->shown, SHOWN_PREPARING);
}

/* Whether there was no answer in time. */
static bool
is_late(const Part *part, const PGresult *result)
{
	return result == NULL && PQstatus(part->node->conn) == CONNECTION_OK;
}

static void
raise_timeout(const RemoteNode *node)
{
	ereport(ERROR,
			(errcode(ERRCODE_QUERY_CANCELED),
			 errmsg("canceling statement due to statement timeout"),
			 errdetail("Server \"%s\" has not answered PREPARE TRANSACTION.", node->name)));
}

/* A transaction that has failed answers ROLLBACK, which is no error. */
static void
await_prepare(Part *part)
{
	PGresult   *result = node_result(part->node, statement_end);

	if (is_late(part, result))
		raise_timeout(part->node);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		node_raise(part->node, result);
	if (strcmp(PQcmdStatus(result), "PREPARE TRANSACTION") != 0)
	{
		PQclear(result);
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_ROLLBACK),
				 errmsg("server \"%s\" has rolled back its part of the load", part->node->name)));
	}
	PQclear(result);
	part->sent = false;
	shown_state(part->node->shown, SHOWN_PREPARED);
}

/*
 * Writes the number of the transaction, or of the subtransaction of a dry run, to the WAL.  After
 * a crash the server would else give it to another one, whose end would be taken for ours.
 * Returns the end of the record.
 */
static XLogRecPtr
log_number(void)
{
	XLogRecPtr	lsn;

	(void) GetCurrentFullTransactionId();
	XLogBeginInsert();
	XLogRegisterData((char *) &MyDatabaseId, sizeof(MyDatabaseId));
	lsn = XLogInsert(RM_XLOG_ID, XLOG_NOOP);
	XLogFlush(lsn);
	return lsn;
}

static void
prepare_all(void)
{
	ListCell   *lc;
	int			number = 0;
	XLogRecPtr	lsn = log_number();

	/* the commit record must be on disk before any node is told to commit */
	ForceSyncCommit();
	stop_at("prepare");
	foreach(lc, parts)
	{
		send_prepare(lfirst(lc), ++number, lsn);
		if (!stops_at("prepared-one"))
			continue;
		await_prepare(lfirst(lc));
		stop_at("prepared-one");
	}
	foreach(lc, parts)
		if (((Part *) lfirst(lc))->sent)
			await_prepare(lfirst(lc));
	stop_at("prepared");
}

/* ---- after the end ---- */

/* Somebody else has ended it: whether as this transaction has ended, the node knows. */
static void
check_committed(Part *part, TimestampTz end)
{
	PGresult   *result = node_query_until(part->node,
										  psprintf("SELECT pg_catalog.pg_xact_status('%s')", part->node->xid),
										  end);

	if (PQresultStatus(result) == PGRES_TUPLES_OK &&
		(PQntuples(result) != 1 || PQnfields(result) != 1 ||
		 strcmp(PQgetvalue(result, 0, 0), "committed") != 0))
		ereport(WARNING,
				(errcode(ERRCODE_TRANSACTION_ROLLBACK),
				 errmsg("server \"%s\" has lost its part of the load", part->node->name),
				 errdetail("Somebody has rolled back transaction \"%s\" there after it was prepared; all other parts are committed.",
						   part->gid),
				 errhint("Load the rows of that server once more.")));
	PQclear(result);
}

static void
warn_doubt(const Part *part, bool commits, const char *problem)
{
	ereport(WARNING,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 commits ? errmsg("server \"%s\" has not committed its part of the load yet",
							  part->node->name) :
			 errmsg("server \"%s\" may not have rolled back its part of the load yet",
					part->node->name),
			 errdetail("Transaction \"%s\" may be prepared there: %s", part->gid, problem),
			 errhint("SELECT * FROM bulk_load_recover() ends it when the server can be reached.")));
}

/* Judges the answer of a node to the end of a prepared transaction. */
static void
end_part(Part *part, bool commits, PGresult *result, TimestampTz end)
{
	bool		gone = node_has_no_prepared(result);

	if (is_late(part, result))
		warn_doubt(part, commits, "there was no answer in time.");
	else if (PQresultStatus(result) != PGRES_COMMAND_OK && !gone)
		warn_doubt(part, commits, node_failure(part->node, result));
	else if (commits && !gone)
		shown_state(part->node->shown, SHOWN_COMMITTED);
	PQclear(result);
	if (commits && gone)
		check_committed(part, end);
}

static void
commit_all(void)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), COMMIT_SECONDS * 1000);
	ListCell   *lc;

	stop_at("committed");
	foreach(lc, parts)
	{
		Part	   *part = lfirst(lc);

		part->sent = PQsendQuery(part->node->conn,
								 psprintf("COMMIT PREPARED %s", quote_literal_cstr(part->gid)));
		shown_state(part->node->shown, SHOWN_COMMITTING);
		if (lc != list_head(parts) || !stops_at("committed-one"))
			continue;
		end_part(part, true, node_result_until(part->node, end), end);
		part->ended = true;
		stop_at("committed-one");
	}
	foreach(lc, parts)
	{
		Part	   *part = lfirst(lc);

		if (!part->ended)
			end_part(part, true, part->sent ? node_result_until(part->node, end) : NULL, end);
	}
}

/* A transaction that may be prepared: one that is not goes with its session. */
static void
roll_back(Part *part, TimestampTz end)
{
	char	   *sql = psprintf("ROLLBACK PREPARED %s", quote_literal_cstr(part->gid));
	PGresult   *result;

	if (part->sent)
		PQclear(node_result_until(part->node, end));
	/* it has not prepared it */
	if (PQtransactionStatus(part->node->conn) == PQTRANS_INERROR)
		PQclear(node_query_until(part->node, "ROLLBACK", end));
	result = node_query_until(part->node, sql, end);
	/* the cancel of what was done before may come late */
	if (node_is_error(result, "57014"))
	{
		PQclear(result);
		result = node_query_until(part->node, sql, end);
	}
	end_part(part, false, result, end);
}

static void
roll_back_all(void)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz end = TimestampTzPlusMilliseconds(now, ROLLBACK_SECONDS * 1000);
	List	   *active = NIL;
	ListCell   *lc;

	foreach(lc, parts)
	{
		RemoteNode	   *node = ((Part *) lfirst(lc))->node;

		if (PQtransactionStatus(node->conn) == PQTRANS_ACTIVE)
			active = lappend(active, node);
	}
	node_cancel_all(active, TimestampTzPlusMilliseconds(now, CANCEL_SECONDS * 1000));
	foreach(lc, parts)
		if (((Part *) lfirst(lc))->gid != NULL)
			roll_back(lfirst(lc), end);
}

/* ---- the transaction ---- */

static void
forget_all(void)
{
	/* its memory goes with the transaction */
	parts = NIL;
	node_close_all();
	shown_end();
}

/*
 * Calls a function at a time when the transaction has ended, and an error would end
 * the server, or be the next one in a row.  What is left is settled later.
 */
static void
run_without_error(void (*function) (void))
{
	MemoryContext context = CurrentMemoryContext;
	HeldInterrupts held = held_interrupts();

	PG_TRY();
	{
		function();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		held_interrupts_restore(held);
		ereport(WARNING,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("other servers may not have ended their parts of the load yet"),
				 /* what cannot be sent to the client would be another error */
				 errdetail_log("%s", error->message),
				 errhint("SELECT * FROM bulk_load_recover() ends them.")));
		FreeErrorData(error);
	}
	PG_END_TRY();
}

static void
transaction_ends(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			if (parts != NIL)
				prepare_all();
			break;
		case XACT_EVENT_PRE_PREPARE:
			if (parts != NIL)
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot PREPARE a transaction that has loaded into other servers")));
			break;
		case XACT_EVENT_COMMIT:
			if (parts != NIL)
				run_without_error(commit_all);
			forget_all();
			break;
		case XACT_EVENT_ABORT:
			if (parts != NIL)
				run_without_error(roll_back_all);
			forget_all();
			break;
		case XACT_EVENT_PREPARE:
			forget_all();
			break;
		default:
			break;
	}
}

bool
two_phase_is_begun(void)
{
	return parts != NIL;
}

void
two_phase_join(RemoteNode *node)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Part	   *part = palloc0(sizeof(Part));

	part->node = node;
	parts = lappend(parts, part);
	statement_end = get_timeout_active(STATEMENT_TIMEOUT) ?
		get_timeout_finish_time(STATEMENT_TIMEOUT) : DT_NOEND;
	MemoryContextSwitchTo(old);
}

void
two_phase_try(void)
{
	ListCell   *lc;

	prepare_all();
	foreach(lc, parts)
	{
		const Part *part = lfirst(lc);

		PQclear(node_query(part->node, psprintf("ROLLBACK PREPARED %s",
												quote_literal_cstr(part->gid))));
	}
	/* the sessions stay until the transaction ends */
	parts = NIL;
	shown_undo();
}

void
two_phase_install(void)
{
	RegisterXactCallback(transaction_ends, NULL);
}
