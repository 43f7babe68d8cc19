/*
 * foreign_keys.c
 *		See foreign_keys.h.
 *
 * The text of the query is that of RI_Initial_Check (ri_triggers.c, PostgreSQL 18).
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "check/orphans.h"
#include "executor/executor.h"
#include "server/compat.h"
#include "table/engines.h"
#include "utility/foreign_keys.h"
#include "utility/statements.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

bool		foreign_keys_enabled = false;

static ExecutorRun_hook_type next_hook;

/* Whether an ALTER TABLE runs whose query may be taken. */
static bool is_watching = false;

bool
foreign_keys_watch(bool watch)
{
	bool		before = is_watching;

	is_watching = watch;
	return before;
}

/* ---- the text of the query ---- */

/* Always quoted. */
static void
append_name(StringInfo text, const char *name)
{
	appendStringInfoChar(text, '"');
	for (; *name != '\0'; name++)
	{
		if (*name == '"')
			appendStringInfoChar(text, '"');
		appendStringInfoChar(text, *name);
	}
	appendStringInfoChar(text, '"');
}

static Form_pg_attribute
column(Relation rel, AttrNumber attnum)
{
	return TupleDescAttr(RelationGetDescr(rel), attnum - 1);
}

static void
append_column(StringInfo text, const char *alias, Relation rel, AttrNumber attnum)
{
	appendStringInfo(text, "%s.", alias);
	append_name(text, NameStr(column(rel, attnum)->attname));
}

static void
append_table(StringInfo text, Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		appendStringInfoString(text, "ONLY ");
	append_name(text, get_namespace_name(RelationGetNamespace(rel)));
	appendStringInfoChar(text, '.');
	append_name(text, RelationGetRelationName(rel));
}

/* The collation of a comparison, where that of the columns would be ambiguous. */
static void
append_collation(StringInfo text, Oid collation)
{
	HeapTuple	tuple;
	Form_pg_collation form;

	if (!OidIsValid(collation))
		return;
	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	form = (Form_pg_collation) GETSTRUCT(tuple);
	appendStringInfoString(text, " COLLATE ");
	append_name(text, get_namespace_name(form->collnamespace));
	appendStringInfoChar(text, '.');
	append_name(text, NameStr(form->collname));
	ReleaseSysCache(tuple);
}

static void
append_comparison(StringInfo text, const OrphanKey *key, int i)
{
	StringInfoData left;
	StringInfoData right;
	Form_pg_attribute referenced = column(key->referenced, key->referenced_atts[i]);
	Form_pg_attribute referencing = column(key->rel, key->atts[i]);

	initStringInfo(&left);
	initStringInfo(&right);
	append_column(&left, "pk", key->referenced, key->referenced_atts[i]);
	append_column(&right, "fk", key->rel, key->atts[i]);
	appendStringInfo(text, " %s ", i == 0 ? "(" : "AND");
	generate_operator_clause(text, left.data, referenced->atttypid, key->operators[i],
							 right.data, referencing->atttypid);
	if (referenced->attcollation != referencing->attcollation)
		append_collation(text, referenced->attcollation);
}

static char *
query_text(const OrphanKey *key)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "SELECT ");
	for (int i = 0; i < key->natts; i++)
	{
		appendStringInfoString(&text, i == 0 ? "" : ", ");
		append_column(&text, "fk", key->rel, key->atts[i]);
	}
	appendStringInfoString(&text, " FROM ");
	append_table(&text, key->rel);
	appendStringInfoString(&text, " fk LEFT OUTER JOIN ");
	append_table(&text, key->referenced);
	appendStringInfoString(&text, " pk ON");
	for (int i = 0; i < key->natts; i++)
		append_comparison(&text, key, i);
	appendStringInfoString(&text, ") WHERE ");
	append_column(&text, "pk", key->referenced, key->referenced_atts[0]);
	appendStringInfoString(&text, " IS NULL AND (");
	for (int i = 0; i < key->natts; i++)
	{
		appendStringInfoString(&text, i == 0 ? "" : key->match_full ? " OR " : " AND ");
		append_column(&text, "fk", key->rel, key->atts[i]);
		appendStringInfoString(&text, " IS NOT NULL");
	}
	appendStringInfoChar(&text, ')');
	return text.data;
}

/* ---- which query ---- */

/* A foreign key between the two tables of key; false for one of which the query knows nothing. */
static bool
take_constraint(OrphanKey *key, Oid oid)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(oid));
	Form_pg_constraint form;
	bool		taken;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", oid);
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	taken = form->confrelid == RelationGetRelid(key->referenced) && !COMPAT_HAS_PERIOD(form);
	key->index = form->conindid;
	key->match_full = form->confmatchtype == FKCONSTR_MATCH_FULL;
	if (taken)
		DeconstructFkConstraintRow(tuple, &key->natts, key->atts, key->referenced_atts,
								   key->operators, NULL, NULL, NULL, NULL);
	ReleaseSysCache(tuple);
	return taken;
}

/* Finds the foreign key whose query has this text. */
static bool
find_key(OrphanKey *key, const char *text)
{
	List	   *oids = NIL;
	ListCell   *lc;

	/* catalog lookups may free the relcache's list */
	foreach(lc, RelationGetFKeyList(key->rel))
		oids = lappend_oid(oids, ((ForeignKeyCacheInfo *) lfirst(lc))->conoid);
	foreach(lc, oids)
		if (take_constraint(key, lfirst_oid(lc)) && strcmp(query_text(key), text) == 0)
			return true;
	return false;
}

/* Whether the plan reads the tables themselves, not what another extension has in their place. */
static bool
is_servers_own(const Plan *plan)
{
	return plan == NULL ||
		(!IsA(plan, CustomScan) && !IsA(plan, ForeignScan) &&
		 is_servers_own(outerPlan(plan)) && is_servers_own(innerPlan(plan)));
}

static const char *
find_obstacle(const OrphanKey *key, const QueryDesc *desc)
{
	Refusal		refusal = engines_refusal(key->rel);
	Refusal		referenced_refusal = engines_refusal(key->referenced);

	if (refusal_is_any(&refusal) || refusal_is_any(&referenced_refusal) ||
		!is_servers_own(desc->plannedstmt->planTree))
		return "A table, or the plan, is another extension's.";
	return orphans_obstacle(key);
}

/* Whether a query for the orphans of the two tables finds none; false: it must be run. */
static bool
has_no_orphans(const QueryDesc *desc, Oid relid, Oid referenced)
{
	OrphanKey  *key = palloc0(sizeof(OrphanKey));
	bool		none = false;

	key->rel = table_open(relid, AccessShareLock);
	key->referenced = table_open(referenced, AccessShareLock);
	if (find_key(key, desc->sourceText))
	{
		const char *reason = find_obstacle(key, desc);

		if (reason == NULL)
			reason = orphans_doubt(key, desc->estate->es_snapshot);
		none = reason == NULL;
		if (none)
			statements_take(STATEMENT_FOREIGN_KEY);
		else
			statements_leave(STATEMENT_FOREIGN_KEY, reason, RelationGetRelationName(key->rel));
	}
	table_close(key->referenced, AccessShareLock);
	table_close(key->rel, AccessShareLock);
	return none;
}

/* Whether this is a query for orphans that need not be run. */
static bool
returns_nothing(const QueryDesc *desc)
{
	static const char start[] = "SELECT fk.";
	List	   *tables = desc->plannedstmt->rtable;
	const RangeTblEntry *fk;
	const RangeTblEntry *pk;
	MemoryContext context;
	MemoryContext caller;
	bool		none;

	if (desc->operation != CMD_SELECT || desc->sourceText == NULL ||
		strncmp(desc->sourceText, start, strlen(start)) != 0 || list_length(tables) < 2)
		return false;
	fk = linitial_node(RangeTblEntry, tables);
	pk = lsecond_node(RangeTblEntry, tables);
	if (fk->rtekind != RTE_RELATION || pk->rtekind != RTE_RELATION)
		return false;
	context = AllocSetContextCreate(CurrentMemoryContext, "pgbulk foreign key",
									ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	none = has_no_orphans(desc, fk->relid, pk->relid);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return none;
}

static void
run_query(COMPAT_RUN_PARAMETERS)
{
	/* started and ended as ever, but for its rows */
	if (is_watching && count == 1 && ScanDirectionIsForward(direction) && returns_nothing(desc))
		direction = NoMovementScanDirection;
	if (next_hook != NULL)
		next_hook(COMPAT_RUN_ARGUMENTS);
	else
		standard_ExecutorRun(COMPAT_RUN_ARGUMENTS);
}

void
foreign_keys_install(void)
{
	next_hook = ExecutorRun_hook;
	ExecutorRun_hook = run_query;
}
