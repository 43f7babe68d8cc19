/*
 * settle.c
 *		See settle.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/timeline.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "cluster/settle.h"
#include "cluster/two_phase.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/subtransaction.h"
#include "table/citus_catalog.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
#include "utils/xid8.h"

/* What has become of a load's transaction here. */
typedef enum Outcome
{
	OUTCOME_RUNNING,
	OUTCOME_COMMITTED,
	OUTCOME_ABORTED,
	OUTCOME_UNKNOWN				/* it is too old, or not of this server's past */
} Outcome;

static const char *const outcome_states[] = {
	[OUTCOME_RUNNING] = "running",
	[OUTCOME_COMMITTED] = "to be committed",
	[OUTCOME_ABORTED] = "to be rolled back",
	[OUTCOME_UNKNOWN] = "unknown"
};

/*
 * Whether the transaction's number was in the WAL that this server is made of.  After a
 * failover, or a recovery to an earlier time, another transaction may have it.
 */
static bool
is_of_our_past(const TwoPhaseOrigin *origin)
{
	TimeLineID	timeline = GetWALInsertionTimeLine();
	List	   *history;

	/* behind the end of the WAL: it has been put back, and goes on with the same timeline */
	if (origin->timeline == timeline)
		return origin->lsn <= GetXLogInsertRecPtr();
	history = readTimeLineHistory(timeline);
	return tliInHistory(origin->timeline, history) &&
		origin->lsn <= tliSwitchPoint(origin->timeline, history, NULL);
}

/* By pg_xact_status, which takes a transaction of the future for an error. */
static Outcome
outcome_of(const TwoPhaseOrigin *origin)
{
	LOCAL_FCINFO(fcinfo, 1);
	char	   *status;
	Datum		result;

	/* a standby does not know how it will end */
	if (RecoveryInProgress() || !is_of_our_past(origin) ||
		!FullTransactionIdPrecedes(origin->xid, ReadNextFullTransactionId()))
		return OUTCOME_UNKNOWN;
	InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = FullTransactionIdGetDatum(origin->xid);
	fcinfo->args[0].isnull = false;
	result = pg_xact_status(fcinfo);
	if (fcinfo->isnull)
		return OUTCOME_UNKNOWN;
	status = TextDatumGetCString(result);
	return strcmp(status, "committed") == 0 ? OUTCOME_COMMITTED :
		strcmp(status, "aborted") == 0 ? OUTCOME_ABORTED : OUTCOME_RUNNING;
}

/* A transaction that is prepared on a node. */
typedef struct Prepared
{
	char	   *gid;
	char	   *since;
	TwoPhaseOrigin origin;
	Outcome		outcome;
} Prepared;

static const char list_sql[] =
	"SELECT gid, prepared FROM pg_catalog.pg_prepared_xacts"
	" WHERE pg_catalog.left(gid, %d) OPERATOR(pg_catalog.=) %s"
	" AND database OPERATOR(pg_catalog.=) pg_catalog.current_database()"
	" AND (owner OPERATOR(pg_catalog.=) current_user OR"
	" (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) current_user))"
	" ORDER BY prepared, gid";

/* Those of this database that the session's user may end. */
static List *
list_prepared(RemoteNode *node)
{
	char	   *prefix = two_phase_prefix();
	List	   *list = NIL;
	PGresult   *result;
	ListCell   *lc;

	PQclear(node_query(node, "SET datestyle = 'ISO, MDY'"));
	result = node_query_rows(node, psprintf(list_sql, (int) strlen(prefix),
											quote_literal_cstr(prefix)), 2);
	for (int i = 0; i < PQntuples(result); i++)
	{
		TwoPhaseOrigin origin;
		Prepared   *prepared;

		if (!two_phase_parse(PQgetvalue(result, i, 0), &origin))
			continue;
		prepared = palloc(sizeof(Prepared));
		prepared->gid = pstrdup(PQgetvalue(result, i, 0));
		prepared->since = pstrdup(PQgetvalue(result, i, 1));
		prepared->origin = origin;
		list = lappend(list, prepared);
	}
	PQclear(result);
	foreach(lc, list)
	{
		Prepared   *prepared = lfirst(lc);

		prepared->outcome = outcome_of(&prepared->origin);
	}
	return list;
}

/*
 * Ends one as its load has ended, and returns what has become of it.  Others may
 * settle it at the same time, or its load itself.
 */
static const char *
settle(RemoteNode *node, const Prepared *prepared)
{
	bool		commits = prepared->outcome == OUTCOME_COMMITTED;
	PGresult   *result;
	const char *state;

	if (prepared->outcome != OUTCOME_COMMITTED && prepared->outcome != OUTCOME_ABORTED)
		return outcome_states[prepared->outcome];
	if (!PQsendQuery(node->conn, psprintf("%s PREPARED %s", commits ? "COMMIT" : "ROLLBACK",
										  quote_literal_cstr(prepared->gid))))
		node_raise(node, NULL);
	result = node_result(node, DT_NOEND);
	if (PQresultStatus(result) == PGRES_COMMAND_OK)
		state = commits ? "committed" : "rolled back";
	else if (node_has_no_prepared(result))
		state = "settled by another session";
	else
		state = psprintf("%s: %s", outcome_states[prepared->outcome], node_failure(node, result));
	PQclear(result);
	return state;
}

void
settle_node(RemoteNode *node)
{
	ListCell   *lc;

	foreach(lc, list_prepared(node))
	{
		const Prepared *prepared = lfirst(lc);
		const char *state = settle(node, prepared);

		if (prepared->outcome == OUTCOME_RUNNING)
			continue;
		ereport(WARNING,
				(errmsg("server \"%s\" had a load's transaction \"%s\" prepared since %s: %s",
						node->name, prepared->gid, prepared->since, state)));
	}
}

/* ---- all servers ---- */

static void
put_row(Tuplestorestate *rows, TupleDesc desc, const char *server, const Prepared *prepared,
		const char *state)
{
	Datum		values[4] = {CStringGetTextDatum(server)};
	bool		nulls[4] = {false, prepared == NULL, prepared == NULL, false};

	if (prepared != NULL)
	{
		values[1] = CStringGetTextDatum(prepared->gid);
		values[2] = DirectFunctionCall3(timestamptz_in, CStringGetDatum(prepared->since),
										ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	}
	values[3] = CStringGetTextDatum(state);
	tuplestore_putvalues(rows, desc, values, nulls);
}

/* Whether the current user can connect to it: by a mapping, and the privilege to use it. */
static bool
may_use(Oid serverid)
{
	Oid			userid = GetUserId();

	if (!compat_may_use_server(serverid, userid) || !connection_serves(serverid))
		return false;
	return SearchSysCacheExists2(USERMAPPINGUSERSERVER, ObjectIdGetDatum(userid),
								 ObjectIdGetDatum(serverid)) ||
		SearchSysCacheExists2(USERMAPPINGUSERSERVER, ObjectIdGetDatum(InvalidOid),
							  ObjectIdGetDatum(serverid));
}

/* Who may be asked for transactions: a server or a node of Citus, and its name. */
typedef struct Asked
{
	NodeId		id;
	char	   *name;
} Asked;

static List *
add_asked(List *list, NodeId id, char *name)
{
	Asked	   *asked = palloc(sizeof(Asked));

	*asked = (Asked) {.id = id,.name = name};
	return lappend(list, asked);
}

static List *
list_servers(void)
{
	Relation	catalog = table_open(ForeignServerRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;
	List	   *list = NIL;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid			serverid = ((Form_pg_foreign_server) GETSTRUCT(tuple))->oid;

		if (may_use(serverid))
			list = add_asked(list, (NodeId) {.serverid = serverid},
							 GetForeignServer(serverid)->servername);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return list;
}

static List *
add_citus_nodes(List *list)
{
	ListCell   *lc;

	foreach(lc, citus_list_nodes())
	{
		const CitusNode *node = lfirst(lc);

		list = add_asked(list, (NodeId) {.group = node->group},
						 psprintf("%s:%d", node->host, node->port));
	}
	return list;
}

/*
 * Whether a superuser would be led elsewhere: who owns a server says where it is, and
 * may map all users to one without a password.
 */
static bool
is_somebody_elses(const NodeId *id)
{
	return OidIsValid(id->serverid) && superuser_arg(GetUserId()) &&
		!superuser_arg(GetForeignServer(id->serverid)->owner);
}

/* One of them, to be settled or looked at. */
typedef struct Settling
{
	const Asked *asked;
	bool		ends;
	Tuplestorestate *rows;
	TupleDesc	desc;
} Settling;

static void
put_state(const Settling *settling, const char *state)
{
	put_row(settling->rows, settling->desc, settling->asked->name, NULL, state);
}

static bool
settle_one(void *arg)
{
	const Settling *settling = arg;
	char	   *failure = NULL;
	RemoteNode *node = node_connect(&settling->asked->id, GetUserId(), &failure);
	ListCell   *lc;

	if (node == NULL)
	{
		put_state(settling, psprintf("not reached: %s", failure));
		return true;
	}
	foreach(lc, list_prepared(node))
	{
		const Prepared *prepared = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		put_row(settling->rows, settling->desc, node->name, prepared,
				settling->ends ? settle(node, prepared) : outcome_states[prepared->outcome]);
	}
	node_close(node);
	return true;
}

/* An error of one server does not keep others from being settled. */
static void
try_server(Settling *settling)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		(void) subtransaction_run(settle_one, settling);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
			PG_RE_THROW();
		FlushErrorState();
		put_state(settling, psprintf("not settled: %s", error->message));
	}
	PG_END_TRY();
}

void
settle_all(bool ends, Tuplestorestate *rows, TupleDesc desc)
{
	ListCell   *lc;

	/* a standby may not know yet what the primary has committed */
	if (ends)
		PreventCommandDuringRecovery("bulk_load_recover()");
	foreach(lc, add_citus_nodes(list_servers()))
	{
		Settling	settling = {lfirst(lc), ends, rows, desc};

		if (is_somebody_elses(&settling.asked->id))
			put_state(&settling, "not looked at: its owner is no superuser");
		else
			try_server(&settling);
	}
}
