/*
 * history_table.c
 *		See history_table.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "load/history_table.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "server/compat.h"
#include "server/extension.h"
#include "table/statement.h"
#include "tcop/tcopprot.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* A table of the extension, and its owner. */
static Oid
find_table(const Extension *extension, const char *name, Oid *owner)
{
	Oid			relid = OidIsValid(extension->oid) ?
		get_relname_relid(name, extension->schema) : InvalidOid;
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));

	if (!HeapTupleIsValid(tuple) ||
		getExtensionOfObject(RelationRelationId, relid) != extension->oid)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of extension \"pgbulk\" does not exist", name),
				 errhint("Version 1.0 has none: run ALTER EXTENSION pgbulk UPDATE.")));
	*owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return relid;
}

HistoryTable
history_table_find(void)
{
	HistoryTable table = {0};
	Extension	extension = {0};
	Oid			owner;

	(void) extension_find("pgbulk", &extension);
	table.relid = find_table(&extension, HISTORY_TABLE, &table.owner);
	table.unlogged_relid = find_table(&extension, UNLOGGED_TABLE, &owner);
	table.name = statement_table(table.relid);
	table.unlogged_name = statement_table(table.unlogged_relid);
	return table;
}

/* Privileges are checked as the tables' owner, in queries within, too; true: another is meant. */
static bool
check_as_owner(Node *node, void *arg)
{
	const HistoryTable *table = arg;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *entry = castNode(RangeTblEntry, node);

		compat_entry_check_as(entry, table->owner);
		return entry->rtekind == RTE_RELATION && entry->relid != table->relid &&
			entry->relid != table->unlogged_relid;
	}
	if (IsA(node, Query))
	{
		Query	   *query = castNode(Query, node);

		compat_query_check_as(query, table->owner);
		return query_tree_walker(query, check_as_owner, arg, QTW_EXAMINE_RTES_BEFORE);
	}
	return expression_tree_walker(node, check_as_owner, arg);
}

static PlannedStmt *
plan(const HistoryTable *table, const char *sql, const Oid *types, int n)
{
	RawStmt    *parsed = linitial_node(RawStmt, pg_parse_query(sql));
	List	   *queries;
	Oid			user;
	int			security;

	/* who loads may have no USAGE on the extension's schema */
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(table->owner, security | SECURITY_LOCAL_USERID_CHANGE);
	queries = pg_analyze_and_rewrite_fixedparams(parsed, sql, types, n, NULL);
	SetUserIdAndSecContext(user, security);

	/* a rule makes other queries */
	if (list_length(queries) != 1 || check_as_owner(linitial(queries), (void *) table))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of extension \"pgbulk\" has been replaced", HISTORY_TABLE)));
	return compat_plan_query(linitial_node(Query, queries), sql);
}

static ParamListInfo
make_parameters(int n, const Oid *types, const Datum *values, const char *nulls)
{
	ParamListInfo parameters = makeParamList(n);

	for (int i = 0; i < n; i++)
		parameters->params[i] = (ParamExternData) {
			.value = values[i],
			.isnull = nulls != NULL && nulls[i] == 'n',
			.pflags = PARAM_FLAG_CONST,
			.ptype = types[i]
		};
	return parameters;
}

/* The values of the first row. */
static void
take_results(Tuplestorestate *rows, TupleDesc desc, Datum *results, int nresults)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);

	if (tuplestore_gettupleslot(rows, true, false, slot))
		for (int i = 0; i < nresults; i++)
		{
			Form_pg_attribute attribute = TupleDescAttr(desc, i);
			bool		isnull;
			Datum		value = slot_getattr(slot, i + 1, &isnull);

			results[i] = isnull ? (Datum) 0 :
				datumCopy(value, attribute->attbyval, attribute->attlen);
		}
	ExecDropSingleTupleTableSlot(slot);
}

uint64
history_table_run(const HistoryTable *table, const char *sql, int n, Oid *types, Datum *values,
				  const char *nulls, Datum *results, int nresults)
{
	PlannedStmt *planned;
	Tuplestorestate *rows = NULL;
	DestReceiver *receiver = None_Receiver;
	QueryDesc  *query;
	uint64		processed;

	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	planned = plan(table, sql, types, n);
	if (nresults > 0)
	{
		rows = tuplestore_begin_heap(false, false, work_mem);
		receiver = CreateTuplestoreDestReceiver();
		SetTuplestoreDestReceiverParams(receiver, rows, CurrentMemoryContext, false, NULL, NULL);
	}
	/* what was waited for while the table was locked is to be seen */
	PopActiveSnapshot();
	PushActiveSnapshot(GetTransactionSnapshot());
	query = CreateQueryDesc(planned, sql, GetActiveSnapshot(), InvalidSnapshot, receiver,
							make_parameters(n, types, values, nulls), NULL, 0);
	ExecutorStart(query, 0);
	compat_executor_run(query);
	processed = query->estate->es_processed;
	ExecutorFinish(query);
	if (nresults > 0)
	{
		take_results(rows, query->tupDesc, results, nresults);
		tuplestore_end(rows);
	}
	ExecutorEnd(query);
	FreeQueryDesc(query);
	PopActiveSnapshot();
	CommandCounterIncrement();
	return processed;
}
