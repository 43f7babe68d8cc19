/*
 * arbiter.c
 *		See arbiter.h.
 *
 * The order of things is that of ExecInsert and ExecOnConflictUpdate
 * (nodeModifyTable.c, PostgreSQL 18).
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "check/duplicates.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "write/arbiter.h"

typedef struct Judge
{
	Relation	index;
	IndexInfo  *info;
	List	   *alone;			/* its OID, for ExecCheckIndexConstraints */
} Judge;

struct Arbiter
{
	List	   *only;			/* the index by which rows are merged; NIL: all judge */
	TupleTableSlot *standing;	/* a row that is in the way */
	EPQState	epq;			/* nothing: rows are locked before triggers look at them */
	CommandId	first_cid;		/* of the load's rows */
	int			judge;			/* which has set the latest row aside */
	int			njudges;
	Judge		judges[FLEXIBLE_ARRAY_MEMBER];
};

/* Whether an index is the one by which rows are merged, or a partition of it. */
static bool
is_merge_key(Oid index, Oid key)
{
	return index == key || list_member_oid(get_partition_ancestors(index), key);
}

Arbiter *
arbiter_open(const LeafContext *context, ResultRelInfo *rri)
{
	const MergeClause *merge = context->target->merge;
	Arbiter    *arbiter;
	int			n = rri->ri_NumIndices;

	if (context->options->on_duplicate == BULK_ON_DUPLICATE_ERROR || n == 0)
		return NULL;
	arbiter = palloc0(offsetof(Arbiter, judges) + n * sizeof(Judge));
	for (int i = 0; i < n; i++)
	{
		Relation	index = rri->ri_IndexRelationDescs[i];
		IndexInfo  *info = rri->ri_IndexRelationInfo[i];

		/*
		 * one that is not ready gets no entries: CREATE INDEX CONCURRENTLY has
		 * not come so far, or failed
		 */
		if (!info->ii_ReadyForInserts ||
			(!info->ii_Unique && info->ii_ExclusionOps == NULL) ||
			(merge != NULL && !is_merge_key(RelationGetRelid(index), merge->key)))
			continue;
		if (info->ii_ExclusionOps == NULL && info->ii_UniqueOps == NULL)
			BuildSpeculativeIndexInfo(index, info);
		arbiter->judges[arbiter->njudges++] = (Judge) {
			.index = index,
			.info = info,
			.alone = list_make1_oid(RelationGetRelid(index))
		};
	}
	if (arbiter->njudges == 0)
	{
		pfree(arbiter);
		return NULL;
	}
	if (merge != NULL)
		arbiter->only = arbiter->judges[0].alone;
	arbiter->standing = table_slot_create(rri->ri_RelationDesc, NULL);
	arbiter->first_cid = context->cid;
	return arbiter;
}

void
arbiter_close(Arbiter *arbiter)
{
	ExecDropSingleTupleTableSlot(arbiter->standing);
}

/* ---- the row that is in the way ---- */

/*
 * The command of this transaction that has inserted a row.  As a system column
 * it may be a combined one.
 */
static CommandId
inserted_by(TupleTableSlot *slot)
{
	bool		isnull;

	if (TTS_IS_BUFFERTUPLE(slot))
	{
		HeapTupleHeader header = ((BufferHeapTupleTableSlot *) slot)->base.tuple->t_data;

		if (header->t_infomask & HEAP_COMBOCID)
			return HeapTupleHeaderGetCmin(header);
	}
	return DatumGetCommandId(slot_getsysattr(slot, MinCommandIdAttributeNumber, &isnull));
}

bool
arbiter_is_from_load(const Arbiter *arbiter, TupleTableSlot *standing)
{
	bool		isnull;
	TransactionId xmin = DatumGetTransactionId(slot_getsysattr(standing,
															   MinTransactionIdAttributeNumber,
															   &isnull));

	return TransactionIdEquals(xmin, GetCurrentTransactionId()) &&
		inserted_by(standing) >= arbiter->first_cid;
}

bool
arbiter_may_see(Relation rel, TupleTableSlot *standing)
{
	Datum		xmin;
	bool		isnull;

	if (!IsolationUsesXactSnapshot() ||
		table_tuple_satisfies_snapshot(rel, standing, GetTransactionSnapshot()))
		return true;
	xmin = slot_getsysattr(standing, MinTransactionIdAttributeNumber, &isnull);
	return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin));
}

void
arbiter_note_read(Relation rel, const ItemPointerData *tid)
{
	ItemPointerData row = *tid;

	/* of the transaction's own rows it is told needlessly */
	if (IsolationIsSerializable())
		PredicateLockTID(rel, &row, GetTransactionSnapshot(), InvalidTransactionId);
}

static void
check_seen(const Arbiter *arbiter, Relation rel)
{
	if (!arbiter_may_see(rel, arbiter->standing))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
	arbiter_note_read(rel, &arbiter->standing->tts_tid);
}

static void
check_seen_tid(Arbiter *arbiter, Relation rel, ItemPointer tid)
{
	if (!IsolationUsesXactSnapshot())
		return;
	if (!table_tuple_fetch_row_version(rel, tid, SnapshotAny, arbiter->standing))
		elog(ERROR, "could not fetch the row that is in the way");
	check_seen(arbiter, rel);
	ExecClearTuple(arbiter->standing);
}

void
arbiter_advance_command(LeafContext *context)
{
	CommandCounterIncrement();
	context->cid = GetCurrentCommandId(true);
	context->writer->estate->es_output_cid = context->cid;
}

bool
arbiter_lock(LeafContext *context, Leaf *leaf, ItemPointer tid, LockTupleMode mode)
{
	Relation	rel = leaf->rri->ri_RelationDesc;
	TM_FailureData failure;
	TM_Result	result;

	result = table_tuple_lock(rel, tid, GetActiveSnapshot(), leaf->arbiter->standing,
							  context->cid, mode, LockWaitBlock, 0,
							  &failure);
	switch (result)
	{
		case TM_Ok:
			check_seen(leaf->arbiter, rel);
			return true;
		case TM_Invisible:
			/* this command has put it there */
			arbiter_advance_command(context);
			break;
		case TM_Updated:
		case TM_Deleted:
			if (IsolationUsesXactSnapshot())
				ereport(ERROR,
						(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						 errmsg("could not serialize access due to concurrent %s",
								result == TM_Updated ? "update" : "delete")));
			break;
		default:
			elog(ERROR, "unexpected result of locking a row: %u", result);
	}
	ExecClearTuple(leaf->arbiter->standing);
	return false;
}

/* ---- keep_new ---- */

Relation
arbiter_root(const ResultRelInfo *rri)
{
	return rri->ri_RootResultRelInfo ? rri->ri_RootResultRelInfo->ri_RelationDesc :
		rri->ri_RelationDesc;
}

/* What goes, for the reject stream. */
static void
note_standing(LeafContext *context, Leaf *leaf, const Judge *judge)
{
	Arbiter    *arbiter = leaf->arbiter;
	TupleTableSlot *slot = arbiter->standing;
	BadRow		row = {
		.reason = REJECT_REPLACED,
		.table = leaf->checked,
		.key = RelationGetRelid(judge->index)
	};

	if (arbiter_is_from_load(arbiter, slot))
	{
		checks_displace(context->checks, leaf->checked, &slot->tts_tid, row.key);
		return;
	}
	writer_locate(context->writer, context->journal, &row.place);
	row.value = duplicates_key(judge->index, judge->info, slot, context->writer->estate);
	if (options_show_replaced(context->options))
		row.row = duplicates_row(arbiter_root(leaf->rri), leaf->rri->ri_RelationDesc, slot);
	checks_replace(context->checks, &row);
}

static void
raise_kept(const Arbiter *arbiter, int judge, Relation rel)
{
	Relation	index = arbiter->judges[judge].index;
	int			sqlstate;
	char	   *message = duplicates_message(RelationGetRelid(index), REJECT_DUPLICATE,
											 BULK_ON_DUPLICATE_KEEP_NEW, NULL, &sqlstate);

	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg_internal("%s", message),
			 errdetail("A trigger keeps the row with this key from being deleted."),
			 errtableconstraint(rel, RelationGetRelationName(index))));
}

bool
arbiter_delete(LeafContext *context, Leaf *leaf, ItemPointer tid)
{
	EState	   *estate = context->writer->estate;
	ResultRelInfo *rri = leaf->rri;
	Relation	rel = rri->ri_RelationDesc;
	TM_FailureData failure;
	TM_Result	result;
	MemoryContext old;

	/* where the way from a partition's columns to the table's is kept */
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	if (rri->ri_TrigDesc != NULL && rri->ri_TrigDesc->trig_delete_before_row)
	{
		bool		wanted = compat_before_delete_triggers(estate, &leaf->arbiter->epq, rri, tid);

		checks_forget_keys(context->checks);
		if (!wanted)
		{
			MemoryContextSwitchTo(old);
			return false;
		}
	}
	result = compat_table_delete(rel, tid, context->cid, GetActiveSnapshot(), &failure);
	if (result == TM_SelfModified)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 errmsg("tuple to be deleted was already modified by an operation triggered by the current command"),
				 errhint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")));
	if (result != TM_Ok)
		elog(ERROR, "unexpected result of deleting a row: %u", result);
	ExecARDeleteTriggers(estate, rri, tid, NULL, context->delete_capture, false);
	MemoryContextSwitchTo(old);
	return true;
}

/* Deletes a row that is in the way, unless it has changed meanwhile. */
static void
remove_standing(LeafContext *context, Leaf *leaf, int judge, ItemPointer tid)
{
	Arbiter    *arbiter = leaf->arbiter;

	if (!arbiter_lock(context, leaf, tid, LockTupleExclusive))
		return;
	note_standing(context, leaf, &arbiter->judges[judge]);
	ExecClearTuple(arbiter->standing);
	if (!arbiter_delete(context, leaf, tid))
		raise_kept(arbiter, judge, leaf->rri->ri_RelationDesc);
}

/* ---- the new row ---- */

static void
set_aside(LeafContext *context, const Judge *judge, TupleTableSlot *slot)
{
	RowError   *error = &context->writer->duplicate;
	char	   *key = duplicates_key(judge->index, judge->info, slot,
									 context->writer->estate);

	*error = (RowError) {.reason = REJECT_DUPLICATE};
	error->message = duplicates_message(RelationGetRelid(judge->index), REJECT_DUPLICATE,
										context->options->on_duplicate, key,
										&error->sqlstate);
}

void
arbiter_set_aside(LeafContext *context, const Arbiter *arbiter, int judge,
				  TupleTableSlot *slot)
{
	set_aside(context, &arbiter->judges[judge], slot);
}

TupleTableSlot *
arbiter_standing(const Arbiter *arbiter)
{
	return arbiter->standing;
}

int
arbiter_count(const Arbiter *arbiter)
{
	return arbiter->njudges;
}

void
arbiter_index(const Arbiter *arbiter, int judge, Relation *index, IndexInfo **info)
{
	*index = arbiter->judges[judge].index;
	*info = arbiter->judges[judge].info;
}

int
arbiter_judge(const Arbiter *arbiter)
{
	return arbiter->judge;
}

/*
 * A row that is not stored, as a later one displaces it, must still be what it
 * was when that was found.
 */
static void
check_cleared(LeafContext *context, const Leaf *leaf, TupleTableSlot *slot)
{
	const BadRow *was = context->writer->clears;
	const Arbiter *arbiter = leaf->arbiter;
	char	   *key = NULL;

	for (int i = 0; i < arbiter->njudges; i++)
		if (RelationGetRelid(arbiter->judges[i].index) == was->key)
			key = duplicates_key(arbiter->judges[i].index, arbiter->judges[i].info,
								 slot, context->writer->estate);
	if (was->value != NULL && (key == NULL || strcmp(key, was->value) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("row gets another key each time it is read"),
				 errdetail("A later row displaced it by %s. The load was undone, to be done without it, and now it has %s.",
						   was->value, key == NULL ? "no such key" : key),
				 errhint("Load keys that no trigger and no volatile function makes.")));
}

/* Whether no row is in the way, or will be when this returns true. */
static bool
make_way(LeafContext *context, Leaf *leaf, TupleTableSlot *slot)
{
	EState	   *estate = context->writer->estate;
	Arbiter    *arbiter = leaf->arbiter;

	for (int i = 0; i < arbiter->njudges; i++)
	{
		const Judge *judge = &arbiter->judges[i];
		ItemPointerData tid;

		while (!compat_check_index_constraints(leaf->rri, slot, estate, &tid, judge->alone))
		{
			CHECK_FOR_INTERRUPTS();
			if (context->options->on_duplicate == BULK_ON_DUPLICATE_KEEP_OLD)
			{
				check_seen_tid(arbiter, leaf->rri->ri_RelationDesc, &tid);
				set_aside(context, judge, slot);
				arbiter->judge = i;
				return false;
			}
			remove_standing(context, leaf, i, &tid);
		}
	}
	return true;
}

bool
arbiter_find(LeafContext *context, Leaf *leaf, TupleTableSlot *slot, ItemPointer tid)
{
	return !compat_check_index_constraints(leaf->rri, slot, context->writer->estate, tid,
										   leaf->arbiter->only);
}

bool
arbiter_try(LeafContext *context, Leaf *leaf, TupleTableSlot *slot, List **recheck)
{
	Relation	rel = leaf->rri->ri_RelationDesc;
	uint32		token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());
	bool		conflict;

	table_tuple_insert_speculative(rel, slot, context->cid,
								   context->insert_options & TABLE_INSERT_SKIP_FSM,
								   NULL, token);
	*recheck = compat_insert_index_tuples_trying(leaf->rri, slot, context->writer->estate,
												 leaf->arbiter->only, &conflict);
	table_tuple_complete_speculative(rel, slot, token, !conflict);
	SpeculativeInsertionLockRelease(GetCurrentTransactionId());
	if (conflict)
		list_free(*recheck);
	return !conflict;
}

bool
arbiter_insert(LeafContext *context, Leaf *leaf, TupleTableSlot *slot, List **recheck)
{
	EState	   *estate = context->writer->estate;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	bool		stored;

	if (context->writer->clears != NULL)
		check_cleared(context, leaf, slot);
	do
	{
		CHECK_FOR_INTERRUPTS();
		stored = false;
		if (!make_way(context, leaf, slot) || context->writer->clears != NULL)
			break;
		stored = arbiter_try(context, leaf, slot, recheck);
	} while (!stored);
	MemoryContextSwitchTo(old);
	return stored;
}
