/*
 * row_merge.c
 *		See row_merge.h.
 *
 * The order of things is that of ExecInsert, ExecOnConflictUpdate, ExecUpdate and ExecDelete
 * (nodeModifyTable.c, PostgreSQL 18).
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/tupconvert.h"
#include "access/xact.h"
#include "check/duplicates.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/wal_written.h"
#include "utils/snapmgr.h"
#include "write/arbiter.h"
#include "write/leaf.h"
#include "write/row_merge.h"

typedef struct MergeColumn
{
	AttrNumber	attnum;			/* of the target */
	ExprState  *value;
} MergeColumn;

struct RowMerge
{
	const MergeClause *clause;
	const Target *target;
	ExprState  *where;			/* NULL: all rows are merged */
	ExprState  *remove;			/* NULL: all rows that may */
	int			ncolumns;
	MergeColumn *columns;
	const Bitmapset *given;		/* the file's columns, offset as in the server; NULL: those now */
	EPQState	epq;			/* nothing: rows are locked before triggers look at them */

	/* of a leaf whose columns are not those of the target; else NULL */
	TupleConversionMap *to_root;
	TupleTableSlot *old_row;	/* both rows, as expressions see them */
	TupleTableSlot *new_row;
	TupleTableSlot *root_row;	/* what they make of these */

	TupleTableSlot *proposed;	/* the new row, as the table has rows */
	TupleTableSlot *merged;		/* the new version */
};

/* ---- open and close ---- */

static TupleTableSlot *
make_root_slot(const LeafContext *context)
{
	return MakeSingleTupleTableSlot(RelationGetDescr(context->target->rel), &TTSOpsVirtual);
}

RowMerge *
row_merge_open(const LeafContext *context, Leaf *leaf)
{
	const MergeClause *clause = context->target->merge;
	EState	   *estate = context->writer->estate;
	Relation	rel = leaf->rri->ri_RelationDesc;
	ResourceOwner owner;
	MemoryContext old;
	RowMerge   *merge;
	ListCell   *lc;

	if (clause == NULL)
		return NULL;
	/* as UPDATE and DELETE do for rows that subscribers could not identify */
	if (clause->all || clause->set != NIL)
		CheckCmdReplicaIdentity(rel, CMD_UPDATE);
	if (clause->removes)
		CheckCmdReplicaIdentity(rel, CMD_DELETE);
	/* slots pin descriptors */
	owner = guard_owner_enter(context->guard);
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	if (leaf->arbiter == NULL)
		elog(ERROR, "index %u of \"%s\" does not tell which rows are the same", clause->key,
			 RelationGetRelationName(rel));
	merge = palloc0(sizeof(RowMerge));
	merge->clause = clause;
	merge->target = context->target;
	if (clause->where != NIL)
		merge->where = ExecInitQual(clause->where, NULL);
	if (clause->removes)
		merge->remove = ExecInitQual(clause->remove, NULL);
	merge->columns = palloc(sizeof(MergeColumn) * Max(list_length(clause->set), 1));
	foreach(lc, clause->set)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		merge->columns[merge->ncolumns++] = (MergeColumn) {
			.attnum = entry->resno,.value = ExecInitExpr(entry->expr, NULL)
		};
	}
	if (leaf->map != NULL)
	{
		merge->to_root = convert_tuples_by_name(RelationGetDescr(rel),
												RelationGetDescr(context->target->rel));
		merge->old_row = make_root_slot(context);
		merge->new_row = make_root_slot(context);
	}
	merge->root_row = make_root_slot(context);
	merge->proposed = table_slot_create(rel, NULL);
	merge->merged = table_slot_create(rel, NULL);
	if (leaf->rri->ri_TrigDesc != NULL)
	{
		(void) ExecGetTriggerOldSlot(estate, leaf->rri);
		(void) ExecGetTriggerNewSlot(estate, leaf->rri);
	}
	MemoryContextSwitchTo(old);
	CurrentResourceOwner = owner;
	return merge;
}

void
row_merge_close(RowMerge *merge)
{
	if (merge->old_row != NULL)
	{
		ExecDropSingleTupleTableSlot(merge->old_row);
		ExecDropSingleTupleTableSlot(merge->new_row);
	}
	ExecDropSingleTupleTableSlot(merge->root_row);
	ExecDropSingleTupleTableSlot(merge->proposed);
	ExecDropSingleTupleTableSlot(merge->merged);
}

/* ---- expressions ---- */

/* A row of the leaf in the form of the target. */
static TupleTableSlot *
as_root(const RowMerge *merge, TupleTableSlot *slot, TupleTableSlot *root)
{
	return merge->to_root == NULL ? slot :
		execute_attr_map_slot(merge->to_root->attrMap, slot, root);
}

/* Shows both rows to expressions; old: NULL where they do not refer to it. */
static ExprContext *
show_rows(const LeafContext *context, const RowMerge *merge, TupleTableSlot *old_row,
		  TupleTableSlot *new_row)
{
	ExprContext *econtext = GetPerTupleExprContext(context->writer->estate);

	econtext->ecxt_scantuple = old_row == NULL ? NULL :
		as_root(merge, old_row, merge->old_row);
	econtext->ecxt_innertuple = as_root(merge, new_row, merge->new_row);
	return econtext;
}

static const Bitmapset *
given_columns(const RowMerge *merge)
{
	return merge->given != NULL ? merge->given : COMPAT_UPDATED_COLS(merge->target->nsitem);
}

/* The new version of the row, in the form of the target: the old one but for what is set. */
static void
evaluate_columns(const RowMerge *merge, ExprContext *econtext)
{
	TupleTableSlot *result = merge->root_row;
	TupleTableSlot *old_row = econtext->ecxt_scantuple;
	TupleTableSlot *new_row = econtext->ecxt_innertuple;
	int			natts = result->tts_tupleDescriptor->natts;

	slot_getallattrs(old_row);
	slot_getallattrs(new_row);
	ExecClearTuple(result);
	memcpy(result->tts_values, old_row->tts_values, sizeof(Datum) * natts);
	memcpy(result->tts_isnull, old_row->tts_isnull, sizeof(bool) * natts);
	if (merge->clause->all)
		for (int i = -1; (i = bms_next_member(given_columns(merge), i)) >= 0;)
		{
			int			column = i + FirstLowInvalidHeapAttributeNumber - 1;

			result->tts_values[column] = new_row->tts_values[column];
			result->tts_isnull[column] = new_row->tts_isnull[column];
		}
	for (int i = 0; i < merge->ncolumns; i++)
	{
		int			column = merge->columns[i].attnum - 1;

		result->tts_values[column] = ExecEvalExprSwitchContext(merge->columns[i].value, econtext,
															   &result->tts_isnull[column]);
	}
	ExecStoreVirtualTuple(result);
}

/* Whether a row is to be merged, or deleted. */
static bool
passes_where(LeafContext *context, const RowMerge *merge, ExprContext *econtext)
{
	bool		passes;

	if (merge->where == NULL)
		return true;
	guard_enter(context->guard);
	passes = ExecQual(merge->where, econtext);
	guard_leave(context->guard, merge->clause->is_volatile);
	return passes;
}

/* What two rows become, in the leaf's form; NULL: they are not merged. */
static TupleTableSlot *
make_version(LeafContext *context, Leaf *leaf, TupleTableSlot *standing, TupleTableSlot *slot)
{
	RowMerge   *merge = leaf->merge;
	ExprContext *econtext = show_rows(context, merge, standing, slot);
	TupleTableSlot *merged = merge->merged;

	if (!passes_where(context, merge, econtext) ||
		(merge->ncolumns == 0 && !merge->clause->all))
		return NULL;
	guard_enter(context->guard);
	evaluate_columns(merge, econtext);
	guard_leave(context->guard, merge->clause->is_volatile);
	if (leaf->map != NULL)
		(void) execute_attr_map_slot(leaf->map->attrMap, merge->root_row, merged);
	else
		ExecCopySlot(merged, merge->root_row);
	ExecMaterializeSlot(merged);
	merged->tts_tableOid = RelationGetRelid(leaf->rri->ri_RelationDesc);
	return merged;
}

/* Computes its generated columns, and checks constraints. */
static bool
complete_version(LeafContext *context, Leaf *leaf, TupleTableSlot *merged, RowError *err)
{
	ResultRelInfo *rri = leaf->rri;

	return constraints_complete(rri, leaf->constraints,
								rri->ri_RelationDesc->rd_rel->relispartition, merged,
								context->writer->estate, context->guard, err);
}

/* ---- the row that is there ---- */

/* The writer's error for a row whose condition does not hold. */
static WriterVerdict
set_aside(LeafContext *context, Leaf *leaf, TupleTableSlot *slot)
{
	arbiter_set_aside(context, leaf->arbiter, 0, slot);
	return WRITER_DUPLICATE;
}

/* BEFORE UPDATE triggers, which may change the new version; false: one suppresses it. */
static bool
fire_before(LeafContext *context, Leaf *leaf, ItemPointer tid, TupleTableSlot *slot)
{
	EState	   *estate = context->writer->estate;
	const TriggerDesc *triggers = leaf->rri->ri_TrigDesc;
	TM_FailureData failure;
	volatile bool wanted = false;

	if (triggers == NULL || !triggers->trig_update_before_row)
		return true;
	/* a page is unpinned by whom it was pinned for: the load, or the guard's subtransaction */
	ExecClearTuple(ExecGetTriggerOldSlot(estate, leaf->rri));
	guard_enter(context->guard);
	PG_TRY();
	{
		wanted = compat_before_update_triggers(estate, &leaf->merge->epq, leaf->rri, tid, slot,
											   &failure);
	}
	PG_FINALLY();
	{
		ExecClearTuple(leaf->rri->ri_TrigOldSlot);
	}
	PG_END_TRY();
	guard_leave(context->guard, true);
	return wanted;
}

static void
raise_self_modified(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
			 errmsg("tuple to be updated was already modified by an operation triggered by the current command"),
			 errhint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")));
}

/* Stores the new version, with its index entries; fires AFTER triggers. */
static void
update_row(LeafContext *context, Leaf *leaf, ItemPointer tid, TupleTableSlot *slot)
{
	EState	   *estate = context->writer->estate;
	CompatEntries entries;
	TM_FailureData failure;
	TM_Result	result;
	List	   *recheck = NIL;
	MemoryContext old;
	JournalPlace place;

	result = compat_table_update(leaf->rri->ri_RelationDesc, tid, slot, context->cid,
								 GetActiveSnapshot(), &failure, &entries);
	if (result == TM_SelfModified)
		raise_self_modified();
	if (result != TM_Ok)
		elog(ERROR, "unexpected result of updating a row: %u", result);
	if (leaf->rri->ri_NumIndices > 0 && entries != COMPAT_ENTRIES_NONE)
		recheck = compat_update_index_tuples(leaf->rri, slot, estate,
											 entries == COMPAT_ENTRIES_SUMMARIZING);
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	ExecARUpdateTriggers(estate, leaf->rri, NULL, NULL, tid, NULL, slot, recheck,
						 context->update_capture, false);
	MemoryContextSwitchTo(old);
	list_free(recheck);
	writer_locate(context->writer, context->journal, &place);
	context->writer->late.count(context->writer->late.arg, place.file, REJECT_REPLACED, 1);
}

/* Merges the row with the one at tid, which is locked. */
static WriterVerdict
merge_rows(LeafContext *context, Leaf *leaf, ItemPointer tid, TupleTableSlot *slot, RowError *err)
{
	TupleTableSlot *merged = make_version(context, leaf, arbiter_standing(leaf->arbiter), slot);
	bool		good;

	/* the page of the row that is there is pinned for the load */
	guard_close(context->guard);
	if (merged == NULL)
		return set_aside(context, leaf, slot);
	if (!fire_before(context, leaf, tid, merged))
		return WRITER_FILTERED;
	good = complete_version(context, leaf, merged, err);
	guard_close(context->guard);
	if (!good)
		return WRITER_BAD;
	update_row(context, leaf, tid, merged);
	return WRITER_TAKEN;
}

/* ---- without the table ---- */

void
row_merge_give_columns(RowMerge *merge, const Bitmapset *columns)
{
	merge->given = columns;
}

const Bitmapset *
row_merge_columns(const RowMerge *merge)
{
	return merge->clause->all ? COMPAT_UPDATED_COLS(merge->target->nsitem) : NULL;
}

bool
row_merge_passes(LeafContext *context, Leaf *leaf, TupleTableSlot *standing,
				 TupleTableSlot *slot)
{
	return passes_where(context, leaf->merge, show_rows(context, leaf->merge, standing, slot));
}

WriterVerdict
row_merge_fold(LeafContext *context, Leaf *leaf, TupleTableSlot *standing,
			   TupleTableSlot *slot, TupleTableSlot **merged, RowError *err)
{
	*merged = make_version(context, leaf, standing, slot);
	if (*merged == NULL)
		return WRITER_DUPLICATE;
	return complete_version(context, leaf, *merged, err) ? WRITER_TAKEN : WRITER_BAD;
}

/* ---- rows ---- */

WriterVerdict
row_merge_put(LeafContext *context, Leaf *leaf, TupleTableSlot *slot, RowError *err)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(context->writer->estate));
	TupleTableSlot *proposed = leaf->merge->proposed;
	WriterVerdict verdict = WRITER_TAKEN;
	bool		done = false;

	ExecCopySlot(proposed, slot);
	proposed->tts_tableOid = RelationGetRelid(leaf->rri->ri_RelationDesc);
	leaf_prepare(context, leaf);
	while (!done)
	{
		ItemPointerData tid;
		List	   *recheck = NIL;

		CHECK_FOR_INTERRUPTS();
		if (!arbiter_find(context, leaf, proposed, &tid))
		{
			done = arbiter_try(context, leaf, proposed, &recheck);
			if (done)
				leaf_fire(context, leaf, proposed, recheck);
		}
		else if (arbiter_lock(context, leaf, &tid,
							  ExecUpdateLockMode(context->writer->estate, leaf->rri)))
		{
			verdict = merge_rows(context, leaf, &tid, proposed, err);
			ExecClearTuple(arbiter_standing(leaf->arbiter));
			done = true;
		}
	}
	ExecClearTuple(proposed);
	ExecClearTuple(leaf->merge->merged);
	MemoryContextSwitchTo(old);
	wal_written();
	return verdict;
}

bool
row_merge_deletes(LeafContext *context, Leaf *leaf, TupleTableSlot *slot)
{
	RowMerge   *merge = leaf->merge;
	ExprContext *econtext;
	bool		deletes;

	if (merge == NULL || !merge->clause->removes)
		return false;
	econtext = show_rows(context, merge, NULL, slot);
	guard_enter(context->guard);
	deletes = ExecQual(merge->remove, econtext);
	guard_leave(context->guard, merge->clause->is_volatile);
	return deletes;
}

WriterVerdict
row_merge_delete(LeafContext *context, Leaf *leaf, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(context->writer->estate));
	TupleTableSlot *proposed = leaf->merge->proposed;
	WriterVerdict verdict = WRITER_FILTERED;
	ItemPointerData tid;

	ExecCopySlot(proposed, slot);
	leaf_prepare(context, leaf);
	while (arbiter_find(context, leaf, proposed, &tid))
	{
		TupleTableSlot *standing = arbiter_standing(leaf->arbiter);
		bool		passes;

		CHECK_FOR_INTERRUPTS();
		if (!arbiter_lock(context, leaf, &tid, LockTupleExclusive))
			continue;
		passes = row_merge_passes(context, leaf, standing, proposed);
		guard_close(context->guard);
		if (!passes)
			verdict = set_aside(context, leaf, proposed);
		else if (arbiter_delete(context, leaf, &tid))
			verdict = WRITER_DELETED;
		ExecClearTuple(standing);
		break;
	}
	ExecClearTuple(proposed);
	MemoryContextSwitchTo(old);
	wal_written();
	return verdict;
}
