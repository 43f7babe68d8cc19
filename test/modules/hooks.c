/*
 * hooks.c
 *		What other extensions do: looks at statements, puts a plan of its own in place of
 *		the server's, and has a table access method.
 *
 * hooks.report: each INSERT and DELETE that is started, and each command, sends
 * a NOTICE, which says so where a command lacks the identifier that it should
 * have.  hooks.forbid: the check of privileges refuses writes to the table of
 * that name.  hooks.above, hooks.below: where INSERT into the table of that
 * name gets a custom scan, around the whole plan or around what gives its rows.
 * Both run as before.  hooks.privileges, set before LOAD: the check of
 * privileges is the only hook.  counting_heap_handler: the heap's routines, some
 * of which count.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static bool report;
static bool privileges;
static char *forbid;
static char *above;
static char *below;
static planner_hook_type next_planner;
static ExecutorStart_hook_type next_start;
static ExecutorCheckPerms_hook_type next_check;
static ProcessUtility_hook_type next_utility;

/* ---- a custom scan that returns the rows of another plan ---- */

static void
begin(CustomScanState *state, EState *estate, int eflags)
{
	CustomScan *scan = (CustomScan *) state->ss.ps.plan;

	state->custom_ps = list_make1(ExecInitNode(linitial(scan->custom_plans), estate, eflags));
}

static TupleTableSlot *
next_row(CustomScanState *state)
{
	return ExecProcNode(linitial(state->custom_ps));
}

static void
end(CustomScanState *state)
{
	ExecEndNode(linitial(state->custom_ps));
}

static void
rescan(CustomScanState *state)
{
	ExecReScan(linitial(state->custom_ps));
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Elsewhere",
	.BeginCustomScan = begin,
	.ExecCustomScan = next_row,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan
};

static Node *
create_state(CustomScan *scan)
{
	CustomScanState *state = makeNode(CustomScanState);

	state->methods = &exec_methods;
	return (Node *) state;
}

static const CustomScanMethods scan_methods = {
	.CustomName = "Elsewhere",
	.CreateCustomScanState = create_state
};

static Plan *
wrap(Plan *plan)
{
	CustomScan *scan = makeNode(CustomScan);
	ListCell   *lc;

	scan->methods = &scan_methods;
	scan->custom_plans = list_make1(plan);
	scan->custom_scan_tlist = copyObject(plan->targetlist);
	foreach(lc, plan->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Var		   *var = makeVarFromTargetEntry(INDEX_VAR, entry);

		scan->scan.plan.targetlist = lappend(scan->scan.plan.targetlist,
											 makeTargetEntry((Expr *) var, entry->resno,
															 entry->resname, entry->resjunk));
	}
	return &scan->scan.plan;
}

#if PG_VERSION_NUM >= 190000
#define MORE_ARGUMENTS , ExplainState *es
#define MORE , es
#else
#define MORE_ARGUMENTS
#define MORE
#endif

static PlannedStmt *
plan(Query *query, const char *text, int options, ParamListInfo params MORE_ARGUMENTS)
{
	PlannedStmt *planned = next_planner != NULL ?
		next_planner(query, text, options, params MORE) :
		standard_planner(query, text, options, params MORE);
	const char *name;

	if (planned->commandType != CMD_INSERT || !IsA(planned->planTree, ModifyTable))
		return planned;
	name = get_rel_name(rt_fetch(linitial_int(((ModifyTable *) planned->planTree)->resultRelations),
							 planned->rtable)->relid);
	if (strcmp(name, below) == 0)
		outerPlan(planned->planTree) = wrap(outerPlan(planned->planTree));
	if (strcmp(name, above) == 0)
		planned->planTree = wrap(planned->planTree);
	return planned;
}

/* ---- who looks on ---- */

static void
start(QueryDesc *desc, int eflags)
{
	if (report && (desc->operation == CMD_INSERT || desc->operation == CMD_DELETE))
		ereport(NOTICE, (errmsg("started: %s", desc->sourceText)));
	if (next_start != NULL)
		next_start(desc, eflags);
	else
		standard_ExecutorStart(desc, eflags);
}

#if PG_VERSION_NUM >= 160000
#define CHECKED List *tables, List *checked
#define CHECKED_ARGUMENTS tables, checked
#define INFO RTEPermissionInfo
#else
#define CHECKED List *checked
#define CHECKED_ARGUMENTS checked
#define INFO RangeTblEntry
#endif

static bool
check(CHECKED, bool raise)
{
	ListCell   *lc;

	foreach(lc, checked)
	{
		INFO	   *info = lfirst(lc);
		const char *name = OidIsValid(info->relid) ? get_rel_name(info->relid) : NULL;

		if (name != NULL && strcmp(name, forbid) == 0 && info->requiredPerms & ~ACL_SELECT)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("writing to \"%s\" is forbidden, columns %d, privileges %d", name,
							bms_num_members(info->insertedCols), (int) info->requiredPerms)));
	}
	return next_check == NULL || next_check(CHECKED_ARGUMENTS, raise);
}

static void
utility(PlannedStmt *statement, const char *text, bool read_only, ProcessUtilityContext context,
		ParamListInfo params, QueryEnvironment *environment, DestReceiver *dest,
		QueryCompletion *completion)
{
	bool		nameless = statement->queryId == 0 &&
		strcmp(GetConfigOption("compute_query_id", false, false), "on") == 0;

	if (report && context != PROCESS_UTILITY_TOPLEVEL)
		ereport(NOTICE, (errmsg("command%s: %s", nameless ? " without identifier" : "", text)));
	if (next_utility != NULL)
		next_utility(statement, text, read_only, context, params, environment, dest, completion);
	else
		standard_ProcessUtility(statement, text, read_only, context, params, environment, dest,
								completion);
}

/* ---- an access method ---- */

static TableAmRoutine routine;
static int64 single_rows;
static int64 batch_rows;

static void
insert_one(Relation rel, TupleTableSlot *slot, CommandId cid, int options,
		   struct BulkInsertStateData *bulk)
{
	single_rows++;
	GetHeapamTableAmRoutine()->tuple_insert(rel, slot, cid, options, bulk);
}

static void
insert_on_trial(Relation rel, TupleTableSlot *slot, CommandId cid, int options,
				struct BulkInsertStateData *bulk, uint32 token)
{
	single_rows++;
	GetHeapamTableAmRoutine()->tuple_insert_speculative(rel, slot, cid, options, bulk, token);
}

static void
insert_batch(Relation rel, TupleTableSlot **slots, int nslots, CommandId cid, int options,
			 struct BulkInsertStateData *bulk)
{
	batch_rows += nslots;
	GetHeapamTableAmRoutine()->multi_insert(rel, slots, nslots, cid, options, bulk);
}

/* The heap's scan for an index works only for the heap. */
static double
scan_for_index(Relation table, Relation index, IndexInfo *info, bool allow_sync, bool anyvisible,
			   bool progress, BlockNumber first, BlockNumber n, IndexBuildCallback callback,
			   void *state, TableScanDesc scan)
{
	double		rows;

	table->rd_tableam = GetHeapamTableAmRoutine();
	rows = table->rd_tableam->index_build_range_scan(table, index, info, allow_sync, anyvisible,
													 progress, first, n, callback, state, scan);
	table->rd_tableam = &routine;
	return rows;
}

static Oid
toast_method(Relation rel)
{
	return HEAP_TABLE_AM_OID;
}

PG_FUNCTION_INFO_V1(counting_heap_handler);
Datum
counting_heap_handler(PG_FUNCTION_ARGS)
{
	routine = *GetHeapamTableAmRoutine();
	routine.tuple_insert = insert_one;
	routine.tuple_insert_speculative = insert_on_trial;
	routine.multi_insert = insert_batch;
	routine.index_build_range_scan = scan_for_index;
	routine.relation_toast_am = toast_method;
	PG_RETURN_POINTER(&routine);
}

/* Rows that came since the last call: one by one and in batches. */
PG_FUNCTION_INFO_V1(counted_rows);
Datum
counted_rows(PG_FUNCTION_ARGS)
{
	int64		result = single_rows * 1000000 + batch_rows;

	single_rows = batch_rows = 0;
	PG_RETURN_INT64(result);
}

void
_PG_init(void)
{
	DefineCustomBoolVariable("hooks.report", "Reports statements.", NULL, &report, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("hooks.forbid", "Table that must not be written to.", NULL,
							   &forbid, "", PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("hooks.above", "Table with a custom scan around INSERT.", NULL,
							   &above, "", PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("hooks.below", "Table with a custom scan below INSERT.", NULL,
							   &below, "", PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("hooks.privileges", "Only checks privileges.", NULL, &privileges,
							 false, PGC_USERSET, 0, NULL, NULL, NULL);
	next_check = ExecutorCheckPerms_hook;
	ExecutorCheckPerms_hook = check;
	if (privileges)
		return;
	next_planner = planner_hook;
	planner_hook = plan;
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = start;
	next_utility = ProcessUtility_hook;
	ProcessUtility_hook = utility;
}
