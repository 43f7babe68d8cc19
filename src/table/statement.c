/*
 * statement.c
 *		See statement.h.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "server/compat.h"
#include "table/engines.h"
#include "table/statement.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

typedef struct Statement
{
	Relation	rel;
	Bitmapset  *columns;		/* that INSERT names */
	Query	   *query;
	void		(*plan_query) (struct Statement *statement);
	char	   *text;			/* as a log shows it */
	PlannedStmt *plan;
} Statement;

/*
 * Whether an extension may see the statement, or replace its plan.  The server's
 * own plan is known, and need not be made.
 */
static bool
is_watched(void)
{
	return planner_hook != NULL || create_upper_paths_hook != NULL ||
		ExecutorStart_hook != NULL || ExecutorEnd_hook != NULL;
}

/* ---- creating ---- */

/* The query and its only table, with the privileges it requires. */
static Query *
make_query(CmdType operation, Relation rel, AclMode required, Bitmapset *inserted,
		   Bitmapset *selected)
{
	ParseState *pstate = make_parsestate(NULL);
	ParseNamespaceItem *nsitem = addRangeTableEntryForRelation(pstate, rel, RowExclusiveLock,
															   NULL, false, false);
	Query	   *query = makeNode(Query);

	COMPAT_REQUIRED_PERMS(nsitem) = required;
	COMPAT_INSERTED_COLS(nsitem) = inserted;
	COMPAT_SELECTED_COLS(nsitem) = selected;
	query->commandType = operation;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = pstate->p_rtable;
	compat_set_perminfos(query, pstate);
	query->resultRelation = 1;
	return query;
}

/* A parameter for each given column, in table order, as the planner expects. */
static List *
make_values(Relation rel, Bitmapset *columns)
{
	List	   *values = NIL;

	for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel),
											  i + FirstLowInvalidHeapAttributeNumber - 1);
		Param	   *param = makeNode(Param);

		param->paramkind = PARAM_EXTERN;
		param->paramid = list_length(values) + 1;
		param->paramtype = att->atttypid;
		param->paramtypmod = att->atttypmod;
		param->paramcollid = att->attcollation;
		param->location = -1;
		values = lappend(values, makeTargetEntry((Expr *) param, att->attnum,
												 pstrdup(NameStr(att->attname)), false));
	}
	return values;
}

char *
statement_table(Oid relid)
{
	char	   *name = get_rel_name(relid);

	return name == NULL ? NULL :
		quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), name);
}

/* The statement as a user would have written it. */
static char *
insert_text(Relation rel, const List *values)
{
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	appendStringInfo(&text, "INSERT INTO %s", statement_table(RelationGetRelid(rel)));
	foreach(lc, values)
		appendStringInfo(&text, "%s%s", foreach_current_index(lc) == 0 ? " (" : ", ",
						 quote_identifier(lfirst_node(TargetEntry, lc)->resname));
	foreach(lc, values)
		appendStringInfo(&text, "%s$%d", foreach_current_index(lc) == 0 ? ") VALUES (" : ", ",
						 foreach_current_index(lc) + 1);
	appendStringInfoString(&text, values == NIL ? " DEFAULT VALUES" : ")");
	return text.data;
}

static char *
update_text(Relation rel, const List *values)
{
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	appendStringInfo(&text, "UPDATE ONLY %s SET", statement_table(RelationGetRelid(rel)));
	foreach(lc, values)
		appendStringInfo(&text, "%s %s = $%d", foreach_current_index(lc) == 0 ? "" : ",",
						 quote_identifier(lfirst_node(TargetEntry, lc)->resname),
						 foreach_current_index(lc) + 1);
	return text.data;
}

static void
plan_insert(Statement *statement)
{
	Query	   *query = statement->query;

	query->targetList = make_values(statement->rel, statement->columns);
	query->jointree = makeFromExpr(NIL, NULL);
	statement->text = insert_text(statement->rel, query->targetList);
	statement->plan = compat_plan_query(query, statement->text);
}

static Statement
make_insert(Relation rel, Bitmapset *columns, Bitmapset *selected)
{
	return (Statement) {
		.rel = rel,
		.columns = columns,
		.query = make_query(CMD_INSERT, rel,
							ACL_INSERT | (bms_is_empty(selected) ? 0 : ACL_SELECT),
							columns, selected),
		.plan_query = plan_insert
	};
}

/* With a false condition, so no partition, index or row is accessed. */
static void
plan_delete(Statement *statement)
{
	Query	   *query = statement->query;
	RangeTblRef *from = makeNode(RangeTblRef);

	from->rtindex = query->resultRelation;
	query->jointree = makeFromExpr(list_make1(from), makeBoolConst(false, false));
	statement->text = psprintf("DELETE FROM ONLY %s",
							   statement_table(RelationGetRelid(statement->rel)));
	statement->plan = compat_plan_query(query, statement->text);
}

static Statement
make_delete(Relation rel)
{
	Bitmapset  *whole_row = bms_make_singleton(InvalidAttrNumber -
											   FirstLowInvalidHeapAttributeNumber);

	return (Statement) {
		.rel = rel,
		.query = make_query(CMD_DELETE, rel, ACL_DELETE | ACL_SELECT, NULL, whole_row),
		.plan_query = plan_delete
	};
}

/* Likewise with a false condition. */
static void
plan_update(Statement *statement)
{
	Query	   *query = statement->query;
	RangeTblRef *from = makeNode(RangeTblRef);

	from->rtindex = query->resultRelation;
	query->targetList = make_values(statement->rel, statement->columns);
	query->jointree = makeFromExpr(list_make1(from), makeBoolConst(false, false));
	statement->text = update_text(statement->rel, query->targetList);
	statement->plan = compat_plan_query(query, statement->text);
}

static Statement
make_update(Relation rel, Bitmapset *columns, Bitmapset *selected)
{
	Statement	statement = {
		.rel = rel,
		.columns = columns,
		.query = make_query(CMD_UPDATE, rel, ACL_UPDATE | ACL_SELECT, NULL, selected),
		.plan_query = plan_update
	};

	compat_set_updated(statement.query, columns);
	return statement;
}

/* ---- checking the plan ---- */

static Refusal
node_refusal(Plan *node)
{
	if (node != NULL && IsA(node, CustomScan))
		return REFUSAL_NAMING(REFUSAL_CUSTOM_SCAN, ((CustomScan *) node)->methods->CustomName);
	return REFUSAL(REFUSAL_OTHER_PLAN);
}

/* NULL if the plan inserts a single Result into the table itself. */
static Refusal
plan_refusal(const Statement *statement)
{
	Plan	   *top = statement->plan->planTree;
	ModifyTable *modify = (ModifyTable *) top;
	RangeTblEntry *rte;

	if (!IsA(top, ModifyTable))
		return node_refusal(top);
	if (!IsA(outerPlan(top), Result) || outerPlan(outerPlan(top)) != NULL)
		return node_refusal(outerPlan(top));
	if (list_length(modify->resultRelations) != 1)
		return node_refusal(NULL);
	rte = rt_fetch(linitial_int(modify->resultRelations), statement->plan->rtable);
	return rte->relid == RelationGetRelid(statement->rel) ? REFUSAL(REFUSAL_NONE) :
		node_refusal(NULL);
}

static void
refuse(Relation rel, const Refusal *refusal)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot load into table \"%s\"", RelationGetRelationName(rel)),
			 refusal_detail(refusal),
			 errhint("Use COPY, or load into a plain table, then use INSERT ... SELECT: the extension sees both.")));
}

/* Memory used for planning is freed soon. */
static MemoryContext
enter_context(void)
{
	return MemoryContextSwitchTo(AllocSetContextCreate(CurrentMemoryContext, "bulk_load statement",
													   ALLOCSET_DEFAULT_SIZES));
}

static void
leave_context(MemoryContext caller)
{
	MemoryContextDelete(MemoryContextSwitchTo(caller));
}

Refusal
statement_refusal(Relation rel)
{
	Refusal		refusal = engines_refusal(rel);
	MemoryContext caller;
	Statement	statement;

	if (refusal_is_any(&refusal) || !is_watched())
		return refusal;
	caller = enter_context();
	statement = make_insert(rel, NULL, NULL);
	plan_insert(&statement);
	refusal = plan_refusal(&statement);
	leave_context(caller);
	return refusal;
}

void
statement_check(Relation rel)
{
	Refusal		refusal = statement_refusal(rel);

	if (refusal_is_any(&refusal))
		refuse(rel, &refusal);
}

/* ---- showing to other extensions ---- */

/*
 * Starts the statement, which checks privileges, and ends it.  Errors are those
 * of the executor and its hooks.  Where nobody watches, only the check is done,
 * which has a hook, too.
 */
static void
show(Statement *statement)
{
	QueryDesc  *desc;
	Refusal		refusal;

	if (!is_watched())
	{
		compat_check_permissions(statement->query);
		return;
	}
	statement->plan_query(statement);
	refusal = plan_refusal(statement);
	if (refusal_is_any(&refusal))
		refuse(statement->rel, &refusal);
	desc = CreateQueryDesc(statement->plan, statement->text, GetActiveSnapshot(),
						   InvalidSnapshot, None_Receiver, NULL, NULL, 0);
	ExecutorStart(desc, EXEC_FLAG_EXPLAIN_ONLY);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}

void
statement_insert(Relation rel, Bitmapset *columns, Bitmapset *selected)
{
	Refusal		refusal = engines_refusal(rel);
	MemoryContext caller;
	Statement	statement;

	if (refusal_is_any(&refusal))
		refuse(rel, &refusal);
	caller = enter_context();
	statement = make_insert(rel, columns, selected);
	show(&statement);
	leave_context(caller);
}

void
statement_check_insert(Relation rel, Bitmapset *columns, Bitmapset *selected)
{
	MemoryContext caller = enter_context();

	compat_check_permissions(make_insert(rel, columns, selected).query);
	leave_context(caller);
}

void
statement_check_delete(Relation rel)
{
	MemoryContext caller = enter_context();

	compat_check_permissions(make_delete(rel).query);
	leave_context(caller);
}

void
statement_delete(Relation rel)
{
	MemoryContext caller = enter_context();
	Statement	statement = make_delete(rel);

	show(&statement);
	leave_context(caller);
}

void
statement_update(Relation rel, Bitmapset *columns, Bitmapset *selected)
{
	MemoryContext caller = enter_context();
	Statement	statement = make_update(rel, columns, selected);

	show(&statement);
	leave_context(caller);
}

/* ---- commands ---- */

PlannedStmt *
statement_plan(const char *command)
{
	RawStmt    *parsed = linitial_node(RawStmt, pg_parse_query(command));

	return linitial_node(PlannedStmt,
						 pg_plan_queries(pg_analyze_and_rewrite_fixedparams(parsed, command,
																			NULL, 0, NULL),
										 command, 0, NULL));
}

void
statement_run(const char *command)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	ProcessUtility(statement_plan(command), command, false, PROCESS_UTILITY_QUERY, NULL, NULL,
				   None_Receiver, NULL);
	PopActiveSnapshot();
	CommandCounterIncrement();
}

/* ---- calls ---- */

char *
statement_call(const char *schema, const char *function, const char *target, const char *source,
			   const char *options)
{
	return psprintf("SELECT * FROM %s(%s::pg_catalog.regclass, %s::pg_catalog.text, %s::pg_catalog.jsonb)",
					quote_qualified_identifier(schema, function), quote_literal_cstr(target),
					quote_literal_cstr(source), quote_literal_cstr(options));
}
