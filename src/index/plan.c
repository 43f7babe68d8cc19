/*
 * plan.c
 *		See plan.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "catalog/pg_am_d.h"
#include "index/plan.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "workers.h"

/* Why the entries of an index cannot be read in order; the name follows. */
static const char *
find_merge_fault(Relation index)
{
	bool		heapkeyspace;
	bool		allequalimage;

	if (index->rd_rel->relam != BTREE_AM_OID)
		return "has an index that is not a btree";
	/* rows of equal keys are not in order */
	_bt_metaversion(index, &heapkeyspace, &allequalimage);
	return heapkeyspace ? NULL : "has an index of an old format";
}

static const char *
find_fault(Relation index, const BulkOptions *options)
{
	const char *name = RelationGetRelationName(index);
	Form_pg_index form = index->rd_index;

	if (!form->indisvalid || !form->indisready)
		return psprintf("has an index that is not valid, \"%s\"", name);
	if (form->indisunique && index->rd_rel->relam != BTREE_AM_OID &&
		!form->indisexclusion)
		return psprintf("has a unique index that is not a btree, \"%s\"", name);
	/* open once, by the caller: scans of this session would lose their file */
	if (index->rd_refcnt > 1)
		return psprintf("has an index that this session is using, \"%s\"", name);
	if (options->indexes == BULK_INDEXES_MERGE && find_merge_fault(index) != NULL)
		return psprintf("%s, \"%s\"", find_merge_fault(index), name);
	return NULL;
}

const char *
plan_fault(Relation rel, const BulkOptions *options)
{
	const char *fault = NULL;
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);

		fault = find_fault(index, options);
		index_close(index, NoLock);
		if (fault != NULL)
			break;
	}
	return fault;
}

void
plan_choose(IndexPlan *plan)
{
	if (plan->wanted != BULK_INDEXES_AUTO)
	{
		plan->method = plan->wanted == BULK_INDEXES_INSERT ? INDEX_INSERT :
			plan->wanted == BULK_INDEXES_MERGE ? INDEX_MERGE : INDEX_REBUILD;
		plan->reason = "option \"indexes\"";
		return;
	}
	plan->method = INDEX_REBUILD;
	plan->reason = plan->heap_blocks == 0 ? "the table was empty" :
		"the writer is direct";
}

/* Bytes of a key; what is compared by a collation costs more than its bytes. */
static double
guess_weight(Relation index)
{
	double		weight = 0;

	for (int i = 0; i < RelationGetDescr(index)->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), i);

		weight += get_typavgwidth(att->atttypid, att->atttypmod);
	}
	return weight;
}

/*
 * Expressions must be safe in a worker; exclusion constraints are checked with a
 * snapshot that cannot be had there.
 */
static bool
is_shareable(Relation rel, Relation index)
{
	return !RelationUsesLocalBuffers(rel) && !index->rd_index->indisexclusion &&
		workers_can_evaluate(list_concat_copy(RelationGetIndexExpressions(index),
											  RelationGetIndexPredicate(index)));
}

List *
plan_indexes(Relation rel, const BulkOptions *options, bool direct)
{
	List	   *plans = NIL;
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		IndexPlan  *plan = palloc0(sizeof(IndexPlan));
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);

		plan->relid = lfirst_oid(lc);
		plan->name = pstrdup(RelationGetRelationName(index));
		plan->heap_blocks = RelationGetNumberOfBlocks(rel);
		plan->wanted = options->indexes;
		plan->after = direct;
		plan->noted = direct && index->rd_index->indisunique &&
			options->on_duplicate != BULK_ON_DUPLICATE_ERROR;
		plan->method = INDEX_INSERT;
		plan->reason = "the writer is buffered";
		if (direct)
			plan_choose(plan);
		plan->shareable = is_shareable(rel, index);
		plan->weight = guess_weight(index);
		index_close(index, NoLock);
		plans = lappend(plans, plan);
	}
	return plans;
}

const char *
plan_method_name(IndexMethod method)
{
	switch (method)
	{
		case INDEX_INSERT:
			return "insert";
		case INDEX_MERGE:
			return "merge";
		case INDEX_REBUILD:
			return "rebuild";
	}
	pg_unreachable();
}
