/*
 * begin.c
 *		See begin.h.
 */
#include "postgres.h"

#include "cluster/begin.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

/* The only value of a query; NULL: there is none. */
static char *
ask(RemoteNode *node, const char *sql)
{
	PGresult   *result = node_query_rows(node, sql, 1);
	char	   *value = PQntuples(result) == 1 && !PQgetisnull(result, 0, 0) ?
		pstrdup(PQgetvalue(result, 0, 0)) : NULL;

	PQclear(result);
	node_check_text(node, value);
	return value;
}

/* The same for a query that must have one. */
static char *
ask_for_value(RemoteNode *node, const char *sql)
{
	char	   *value = ask(node, sql);

	if (value == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("server \"%s\" has not answered a query", node->name),
				 errdetail("The statement was: %s", sql)));
	return value;
}

/* Runs statements of which an error does no harm, and is returned; NULL: there is none. */
static char *
attempt(RemoteNode *node, const char *sql)
{
	PGresult   *result;
	char	   *failure;

	if (!PQsendQuery(node->conn, psprintf("SAVEPOINT pgbulk; %s; RELEASE SAVEPOINT pgbulk", sql)))
		node_raise(node, NULL);
	result = node_result(node, DT_NOEND);
	if (PQstatus(node->conn) == CONNECTION_BAD)
		node_raise(node, result);
	failure = PQresultStatus(result) == PGRES_COMMAND_OK ? NULL : node_failure(node, result);
	PQclear(result);
	if (failure != NULL)
		PQclear(node_query(node, "ROLLBACK TO SAVEPOINT pgbulk; RELEASE SAVEPOINT pgbulk"));
	return failure;
}

static void
check_can_prepare(RemoteNode *node)
{
	int			most = atoi(ask_for_value(node,
									   "SELECT pg_catalog.current_setting('max_prepared_transactions')"));

	if (most < 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("server \"%s\" cannot prepare transactions", node->name),
				 errdetail("Its max_prepared_transactions is %d. Each session of a load needs one there, so that all servers commit or none.",
						   most),
				 errhint("Set it to at least the number of sessions that loads have with it at a time, and restart that server.")));
	node->max_prepared = most;
}

/* The statement that has a setting of a node be as it is here. */
static char *
setting_as_here(const char *name)
{
	return psprintf("SET LOCAL %s = %s;", name,
					quote_literal_cstr(GetConfigOption(name, false, false)));
}

/* Others may have other time zones and locales. */
static void
tell_remedy(void *node)
{
	if (geterrcode() == ERRCODE_INVALID_PARAMETER_VALUE)
		errhint("Set this parameter here to a value that server \"%s\" knows, too.",
				((const RemoteNode *) node)->name);
}

/* Runs statements that have settings be as they are here, and a query for a value. */
static char *
pass_and_ask(RemoteNode *node, const char *sql)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = tell_remedy,
		.arg = node
	};
	char	   *value;

	error_context_stack = &callback;
	value = ask_for_value(node, sql);
	error_context_stack = callback.previous;
	return value;
}

void
begin_pass_setting(RemoteNode *node, const char *name)
{
	(void) pass_and_ask(node, psprintf("%s SELECT 1", setting_as_here(name)));
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
	/* shards are hidden from others than Citus, and not for them to write to */
	if (!OidIsValid(node->id.serverid))
		appendStringInfoString(&sql,
							   "SET LOCAL citus.override_table_visibility = off;"
							   "SET LOCAL citus.show_shards_for_app_name_prefixes = 'pgbulk';"
							   "SET LOCAL citus.enable_manual_changes_to_shards = on;");
	appendStringInfoString(&sql, "SELECT pg_catalog.pg_current_xact_id()");
	node->xid = MemoryContextStrdup(TopTransactionContext, pass_and_ask(node, sql.data));
}

/*
 * Has pgbulk run the node's COPYs, if it is the same version there, and may be used.  Its
 * locks are those of COPY: others go on writing to the tables.
 */
static char *
use_pgbulk(RemoteNode *node)
{
	char	   *version = ask(node, "SELECT extversion FROM pg_catalog.pg_extension"
							  " WHERE extname OPERATOR(pg_catalog.=) 'pgbulk'");
	char	   *schema;
	char	   *failure;

	if (version == NULL)
		return pstrdup("not installed");
	if (strcmp(version, PGBULK_VERSION) != 0)
		return psprintf("another version, %s", version);
	schema = ask_for_value(node, "SELECT n.nspname FROM pg_catalog.pg_extension e"
						   " JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
						   " WHERE e.extname OPERATOR(pg_catalog.=) 'pgbulk'");
	/* the function loads its library */
	failure = attempt(node, psprintf("SELECT %s.bulk_load_last(); SET LOCAL pgbulk.copy = on",
									 node_identifier(schema)));
	return failure != NULL ? failure : version;
}

/* Has pgbulk there tell of rows that it sets aside. */
static void
use_relay(RemoteNode *node, const char *pgbulk, BulkRelay relay)
{
	if (strcmp(pgbulk, PGBULK_VERSION) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("server \"%s\" cannot set rows aside", node->name),
				 errdetail("That takes pgbulk %s in the database there: %s.", PGBULK_VERSION, pgbulk),
				 errhint("Install it there, where the role of the session may use it, or leave out options \"on_error\" and \"on_duplicate\".")));
	PQclear(node_query(node, psprintf("SET LOCAL pgbulk.relay = '%s'",
									  relay == BULK_RELAY_ALL ? "all" : "first")));
}

char *
begin_transaction(RemoteNode *node, BulkRelay relay)
{
	char	   *pgbulk;

	check_can_prepare(node);
	/* what follows is one transaction's, of which a pooler has one session */
	PQclear(node_query(node, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"));
	pass_settings(node);
	pgbulk = use_pgbulk(node);
	if (relay != BULK_RELAY_OFF)
		use_relay(node, pgbulk, relay);
	return pgbulk;
}
