/*
 * merge_clause.c
 *		See merge_clause.h.
 *
 * Rules and wording follow transformOnConflictClause (analyze.c), infer_arbiter_indexes (plancat.c)
 * and rewriteTargetListIU (rewriteHandler.c), PostgreSQL 18.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/sysattr.h"
#include "catalog/pg_attribute.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteManip.h"
#include "server/compat.h"
#include "storage/lmgr.h"
#include "table/expression.h"
#include "table/merge_clause.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Range table entries of the rows in expressions. */
#define OLD_ROW 1
#define NEW_ROW 2

/* ---- the key ---- */

/* Whether one row at most can be in the way: not so with UNIQUE (... WITHOUT OVERLAPS) of 18. */
static bool
is_key(Relation index)
{
	return index->rd_index->indisunique && !index->rd_index->indisexclusion &&
		index->rd_index->indisvalid;
}

/* The columns of a unique index that holds all rows, or NULL: it is no such index. */
static Bitmapset *
key_columns(Relation index)
{
	Bitmapset  *columns = NULL;

	if (!is_key(index) || RelationGetIndexExpressions(index) != NIL ||
		RelationGetIndexPredicate(index) != NIL)
		return NULL;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		columns = bms_add_member(columns, index->rd_index->indkey.values[i]);
	return columns;
}

static AttrNumber
find_column(Relation rel, const char *name)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(rel), name);

	if (attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", name,
						RelationGetRelationName(rel))));
	if (attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("system column \"%s\" cannot be used in option \"on_duplicate\"", name)));
	return attnum;
}

static bool
is_index_name(List *names, Relation index)
{
	return list_length(names) == 1 &&
		strcmp(linitial(names), RelationGetRelationName(index)) == 0;
}

/* The columns that the names are, or NULL: they are the name of an index. */
static Bitmapset *
named_columns(Relation rel, List *names, List *indexes)
{
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, indexes)
		if (is_index_name(names, lfirst(lc)))
			return NULL;
	foreach(lc, names)
		columns = bms_add_member(columns, find_column(rel, lfirst(lc)));
	return columns;
}

static void
refuse_key(Relation rel, List *names)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
			 names != NIL ?
			 errmsg("no unique index of \"%s\" matches \"key\" in option \"on_duplicate\"",
					RelationGetRelationName(rel)) :
			 errmsg("option \"on_duplicate\" needs \"key\" for table \"%s\"",
					RelationGetRelationName(rel)),
			 names != NIL ? 0 :
			 errdetail("It has no primary key, and not exactly one unique index that is neither partial, on expressions nor WITHOUT OVERLAPS."),
			 errhint("Name the columns of a unique index that is neither partial, on expressions nor WITHOUT OVERLAPS, or the index itself.")));
}

/* The index of that name or on those columns; by default the primary key or the only one. */
static Relation
choose_index(Relation rel, List *names, List *indexes)
{
	Bitmapset  *columns = names != NIL ? named_columns(rel, names, indexes) : NULL;
	Relation	found = NULL;
	int			nfound = 0;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index = lfirst(lc);
		Bitmapset  *own = key_columns(index);

		if (names == NIL ? own != NULL :
			columns == NULL ? is_index_name(names, index) :
			own != NULL && bms_equal(own, columns))
		{
			found = index;
			nfound++;
		}
		if (names == NIL && own != NULL && index->rd_index->indisprimary)
			return index;
	}
	return names == NIL && nfound > 1 ? NULL : found;
}

static Oid
find_key(Relation rel, List *names)
{
	List	   *indexes = NIL;
	Relation	index;
	Oid			result;
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
		indexes = lappend(indexes, index_open(lfirst_oid(lc), RowExclusiveLock));
	index = choose_index(rel, names, indexes);
	if (index == NULL || !is_key(index))
		refuse_key(rel, names);
	if (!index->rd_index->indimmediate)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("option \"on_duplicate\" does not support deferrable constraints"),
				 errdetail("\"%s\" has the deferrable constraint \"%s\".",
						   RelationGetRelationName(rel), RelationGetRelationName(index))));
	result = RelationGetRelid(index);
	foreach(lc, indexes)
		index_close(lfirst(lc), NoLock);
	return result;
}

/* A row that deletes another is stored nowhere, so its generated columns are not computed. */
static void
check_key_given(Relation rel, const Bitmapset *key)
{
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (att->attgenerated &&
			bms_is_member(att->attnum - FirstLowInvalidHeapAttributeNumber, key))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("\"delete\" in option \"on_duplicate\" cannot be used with a key that is generated"),
					 errdetail("Column \"%s\" is a generated column.", NameStr(att->attname))));
	}
}

/* ---- expressions ---- */

/*
 * A row has no system columns while it is merged, and the new one no generated ones, as these are
 * computed later; virtual ones are stored nowhere.
 */
static void
check_columns(Relation rel, Node *expr, int varno)
{
	Bitmapset  *columns = NULL;
	bool		whole_row;

	pull_varattnos(expr, varno, &columns);
	whole_row = bms_is_member(-FirstLowInvalidHeapAttributeNumber, columns);
	for (int i = FirstLowInvalidHeapAttributeNumber + 1; i < 0; i++)
		if (bms_is_member(i - FirstLowInvalidHeapAttributeNumber, columns))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 errmsg("system columns are not supported in option \"on_duplicate\"")));
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (att->attgenerated &&
			(varno == NEW_ROW || att->attgenerated != ATTRIBUTE_GENERATED_STORED) &&
			(whole_row || bms_is_member(att->attnum - FirstLowInvalidHeapAttributeNumber, columns)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 errmsg("generated columns of the %s row are not supported in option \"on_duplicate\"",
							varno == NEW_ROW ? "new" : "old"),
					 errdetail("Column \"%s\" is a generated column.", NameStr(att->attname))));
	}
}

/* Adds a row to what expressions can refer to, as a table of that name. */
static ParseNamespaceItem *
add_row(ParseState *pstate, Relation rel, const char *name)
{
	ParseNamespaceItem *item = addRangeTableEntryForRelation(pstate, rel, RowExclusiveLock,
															 makeAlias(name, NIL), false, false);

	addNSItemToQuery(pstate, item, false, true, true);
	return item;
}

/*
 * An expression from its text.  type: of the column that it is for, or NULL: it is a condition.
 * with_old: it may refer to the old row.
 */
static Node *
transform(MergeClause *clause, Relation rel, char *text, Form_pg_attribute column, bool with_old)
{
	ParseState *pstate = make_parsestate(NULL);
	ExpressionSource source = {.option = "on_duplicate",.text = text};
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = expression_error_callback,
		.arg = &source
	};
	ParseNamespaceItem *old_row;
	Node	   *expr;

	error_context_stack = &callback;
	pstate->p_sourcetext = text;
	old_row = add_row(pstate, rel, "old");
	(void) add_row(pstate, rel, "new");
	expr = transformExpr(pstate, expression_parse(&source), EXPR_KIND_COPY_WHERE);
	if (column == NULL)
		expr = coerce_to_boolean(pstate, expr, "WHERE");
	else
	{
		Oid			type = exprType(expr);

		expr = coerce_to_target_type(pstate, expr, type, column->atttypid, column->atttypmod,
									 COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
		if (expr == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" is of type %s but expression is of type %s",
							NameStr(column->attname), format_type_be(column->atttypid),
							format_type_be(type)),
					 errhint("You will need to rewrite or cast the expression.")));
	}
	assign_expr_collations(pstate, expr);
	check_columns(rel, expr, OLD_ROW);
	check_columns(rel, expr, NEW_ROW);
	if (!with_old && bms_is_member(OLD_ROW, pull_varnos(NULL, expr)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("\"delete\" in option \"on_duplicate\" can refer to the new row only"),
				 errhint("Conditions on the row that is there belong into \"where\".")));
	clause->read = bms_add_members(clause->read, COMPAT_SELECTED_COLS(old_row));
	ChangeVarNodes(expr, NEW_ROW, INNER_VAR, 0);
	expr = eval_const_expressions(NULL, expr);
	error_context_stack = callback.previous;
	return expr;
}

static List *
transform_condition(MergeClause *clause, Relation rel, char *text, bool with_old)
{
	Node	   *expr;

	if (text == NULL)
		return NIL;
	expr = transform(clause, rel, text, NULL, with_old);
	return make_ands_implicit((Expr *) canonicalize_qual((Expr *) expr, false));
}

/* ---- columns that are set ---- */

static void
check_settable(Form_pg_attribute att)
{
	if (!att->attgenerated && att->attidentity != ATTRIBUTE_IDENTITY_ALWAYS)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_GENERATED_ALWAYS),
			 errmsg("column \"%s\" can only be updated to DEFAULT", NameStr(att->attname)),
			 att->attgenerated ?
			 errdetail("Column \"%s\" is a generated column.", NameStr(att->attname)) :
			 errdetail("Column \"%s\" is an identity column defined as GENERATED ALWAYS.",
					   NameStr(att->attname))));
}

static void
transform_set(MergeClause *clause, Relation rel, const BulkMergeSet *set)
{
	AttrNumber	attnum = find_column(rel, set->column);
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	int			member = attnum - FirstLowInvalidHeapAttributeNumber;
	Node	   *expr;

	check_settable(att);
	if (bms_is_member(member, clause->updated))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("multiple assignments to same column \"%s\"", set->column)));
	clause->updated = bms_add_member(clause->updated, member);
	if (set->expression != NULL)
		expr = transform(clause, rel, set->expression, att, true);
	else
		expr = (Node *) makeVar(INNER_VAR, attnum, att->atttypid, att->atttypmod,
								att->attcollation, 0);
	clause->set = lappend(clause->set, makeTargetEntry((Expr *) expr, attnum, set->column, false));
}

/* Whether what is set is the new row's value of the column. */
static bool
sets_new_value(const MergeClause *clause, AttrNumber attnum)
{
	ListCell   *lc;

	foreach(lc, clause->set)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);
		const Var  *var = (const Var *) entry->expr;

		if (entry->resno == attnum)
			return IsA(var, Var) && var->varno == INNER_VAR && var->varattno == attnum;
	}
	return true;
}

/* Whether a merged row may differ in what an index computes its keys from. */
static bool
sets_computed(const MergeClause *clause, Relation rel, Relation index)
{
	Bitmapset  *computed = NULL;
	int			column = -1;

	pull_varattnos((Node *) RelationGetIndexExpressions(index), 1, &computed);
	pull_varattnos((Node *) RelationGetIndexPredicate(index), 1, &computed);
	if (computed == NULL)
		return false;
	while ((column = bms_next_member(computed, column)) >= 0)
	{
		AttrNumber	attnum = column + FirstLowInvalidHeapAttributeNumber;

		/* all columns, or what is generated from others */
		if (attnum <= 0 || TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attgenerated)
			return true;
	}
	return clause->all || bms_overlap(computed, clause->updated);
}

/*
 * Whether a row that is merged keeps the key, as both have the same: its columns are not set, or
 * to the new row's values; and nothing is set of what an index computes its keys from.
 */
static bool
keeps_key(const MergeClause *clause, Relation rel, Relation index)
{
	if (sets_computed(clause, rel, index))
		return false;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		AttrNumber	attnum = index->rd_index->indkey.values[i];

		if (attnum != InvalidAttrNumber &&
			(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attgenerated ||
			 !sets_new_value(clause, attnum)))
			return false;
	}
	return true;
}

MergeClause *
merge_clause_open(Relation rel, const BulkMerge *merge)
{
	MergeClause *clause = palloc0(sizeof(MergeClause));
	Relation	index;
	ListCell   *lc;

	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rows of \"%s\" cannot be merged", RelationGetRelationName(rel)),
				 errdetail("It is not a table.")));
	clause->key = find_key(rel, merge->key);
	index = index_open(clause->key, NoLock);
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		if (index->rd_index->indkey.values[i] != InvalidAttrNumber)
			clause->read = bms_add_member(clause->read, index->rd_index->indkey.values[i] -
										  FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) RelationGetIndexExpressions(index), 1, &clause->read);
	pull_varattnos((Node *) RelationGetIndexPredicate(index), 1, &clause->read);
	if (merge->remove != NULL)
		check_key_given(rel, clause->read);

	clause->all = merge->all;
	foreach(lc, merge->set)
		transform_set(clause, rel, lfirst(lc));
	clause->where = transform_condition(clause, rel, merge->where, true);
	clause->removes = merge->remove != NULL;
	clause->remove = transform_condition(clause, rel, merge->remove, false);
	clause->is_volatile = contain_volatile_functions((Node *) clause->set) ||
		contain_volatile_functions((Node *) clause->where) ||
		contain_volatile_functions((Node *) clause->remove);
	clause->keeps_key = keeps_key(clause, rel, index);
	index_close(index, NoLock);
	return clause;
}
