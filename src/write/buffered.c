/*
 * buffered.c
 *		The writer for every kind of table, with the outcome of COPY.
 *
 * The order in which a row is routed, shown to triggers, completed, checked
 * and stored is that of CopyFrom (copyfrom.c, PostgreSQL 18), and so are the
 * conditions under which rows may wait in batches.
 *
 * Leaves of a partitioned target keep their batches until the window ends,
 * so that scattered rows still go in together.  Only the latest few keep
 * slots and a buffer pin.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "storage/lmgr.h"
#include "table/partition_tree.h"
#include "table/statement.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "write/arbiter_batch.h"
#include "write/arbiter_batch_serves.h"
#include "write/buffered_flush.h"
#include "write/buffered_share.h"
#include "write/leaf.h"
#include "write/row_merge.h"

static void *
add_leaf(void *arg, ResultRelInfo *rri)
{
	BufferedWriter *writer = arg;
	MemoryContext old;
	Leaf	   *leaf;

	if (rri->ri_FdwRoutine != NULL)
		refusal_raise_elsewhere(&writer->context.target->no_nodes,
								RelationGetRelationName(rri->ri_RelationDesc),
								ELSEWHERE_FOREIGN_PARTITION);
	/* of the target it has been asked */
	if (rri != writer->root)
		statement_check(rri->ri_RelationDesc);

	leaf = leaf_open(&writer->context, rri, writer->batches);
	leaf->merge = row_merge_open(&writer->context, leaf);
	if (writer->batches)
		leaf->keys = arbiter_batch_open(&writer->context, leaf);
	if (leaf->keys != NULL)
		leaf->looks = false;
	old = MemoryContextSwitchTo(writer->base.estate->es_query_cxt);
	writer->leaves = lappend(writer->leaves, leaf);
	MemoryContextSwitchTo(old);
	return leaf;
}

/* Triggers for statements; a table whose rows are sent has none of its own. */
static void
begin_statement(BufferedWriter *writer)
{
	EState	   *estate = writer->base.estate;

	ExecBSInsertTriggers(estate, writer->root);
	if (writer->updates)
		ExecBSUpdateTriggers(estate, writer->root);
	if (writer->replaces)
		ExecBSDeleteTriggers(estate, writer->root);
}

static void
end_statement(BufferedWriter *writer)
{
	EState	   *estate = writer->base.estate;

	if (writer->replaces)
		ExecASDeleteTriggers(estate, writer->root, writer->context.delete_capture);
	if (writer->updates)
		ExecASUpdateTriggers(estate, writer->root, writer->context.update_capture);
	ExecASInsertTriggers(estate, writer->root, writer->context.transition_capture);
}

static void
buffered_flush(Writer *base)
{
	BufferedWriter *writer = (BufferedWriter *) base;

	/* beside other processes rows wait that are not those of the window */
	if (!writer->holds)
		buffered_flush_all(writer);
	base->current_row = -1;
}

/* ---- put ---- */

/*
 * Another leaf than before.  Batches must not hold back rows that a trigger
 * of this one may look for, nor may index entries wait from then on.
 */
static void
switch_leaf(BufferedWriter *writer, Leaf *leaf)
{
	if ((!leaf->batches && writer->waiting != NIL) ||
		(leaf->looks && writer->context.entries_budget > 0))
	{
		int64		current_row = writer->base.current_row;

		guard_close(writer->guard);
		buffered_settle_keys(writer);
		buffered_flush_all(writer);
		buffered_flush_entries(writer);
		writer->context.entries_budget = 0;
		writer->base.current_row = current_row;
	}
	writer->leaf = leaf;
}

/*
 * Calls a row's triggers, under a guard of their own, as they may write; false:
 * one of them suppresses it.  The row as they see it goes with the row.
 */
static bool
fire_triggers(BufferedWriter *writer, Leaf *leaf, TupleTableSlot *slot,
			  bool (*fire) (EState *, ResultRelInfo *, TupleTableSlot *))
{
	EState	   *estate = writer->base.estate;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	bool		wanted;

	guard_close(writer->guard);
	guard_enter(writer->guard);
	wanted = fire(estate, leaf->rri, slot);
	guard_leave(writer->guard, true);
	MemoryContextSwitchTo(old);
	return wanted;
}

/*
 * What comes between routing and storing: triggers, generated columns,
 * constraints.
 */
static WriterVerdict
complete_row(BufferedWriter *writer, Leaf *leaf, TupleTableSlot *slot,
			 RowError *err)
{
	EState	   *estate = writer->base.estate;
	bool		bounds;

	if (leaf->before_row)
	{
		bool		wanted;

		guard_close(writer->guard);
		leaf_prepare(&writer->context, leaf);
		wanted = fire_triggers(writer, leaf, slot, ExecBRInsertTriggers);
		checks_forget_keys(writer->context.checks);
		if (!wanted)
			return WRITER_FILTERED;
	}

	bounds = leaf->rri->ri_RelationDesc->rd_rel->relispartition &&
		(writer->partitions == NULL || leaf->before_row);
	return constraints_complete(leaf->rri, leaf->constraints, bounds, slot, estate,
								writer->guard, err) ?
		WRITER_TAKEN : WRITER_BAD;
}

/* Before a row waits to ask for its key. */
static ArbiterBatch *
batch_for_row(BufferedWriter *writer, Leaf *leaf)
{
	if (unlikely(!arbiter_batch_accepts(leaf->keys)))
		buffered_settle_keys(writer);
	return leaf->keys;
}

/*
 * Whether the row may wait to ask for its key.  One whose quotes are misplaced may be read in
 * another way once it is found bad, so that must be known before the next one is read.
 */
static bool
waits_for_key(const BufferedWriter *writer, const Leaf *leaf, uint32 number)
{
	const ScanRow *row = &writer->context.journal->reader->rows[number];

	return leaf->keys != NULL && writer->context.entries_budget > 0 && !writer->base.one_by_one &&
		(leaf->merge == NULL || !writer->guard->enabled || !row->multiline || !row->lax);
}

/* The tuple of a row that waits so. */
static HeapTuple
form_for_batch(Leaf *leaf, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	return tuple_form(leaf->former, slot->tts_values, slot->tts_isnull,
					  arbiter_batch_arena(leaf->keys));
}

static WriterVerdict
delete_by_row(BufferedWriter *writer, Leaf *leaf, TupleTableSlot *slot, uint32 number)
{
	if (waits_for_key(writer, leaf, number))
	{
		ArbiterBatch *batch = batch_for_row(writer, leaf);

		arbiter_batch_put_deleting(batch, form_for_batch(leaf, slot), number);
		buffered_bound_keys(writer, leaf);
		return WRITER_TAKEN;
	}
	buffered_settle_keys(writer);
	guard_close(writer->guard);
	return row_merge_delete(&writer->context, leaf, slot);
}

static WriterVerdict
store_row(BufferedWriter *writer, Leaf *leaf, TupleTableSlot *slot,
		  uint32 number, RowError *err)
{
	if (writer->holds)
		return buffered_hold(writer, leaf, slot, number);
	if (waits_for_key(writer, leaf, number))
	{
		ArbiterBatch *batch = batch_for_row(writer, leaf);

		arbiter_batch_put_number(batch, form_for_batch(leaf, slot), number);
		buffered_bound_keys(writer, leaf);
		return WRITER_TAKEN;
	}
	if (leaf->merge != NULL)
	{
		buffered_settle_keys(writer);
		guard_close(writer->guard);
		return row_merge_put(&writer->context, leaf, slot, err);
	}
	if (!leaf->batches || writer->base.one_by_one)
	{
		bool		stored;

		buffered_settle_keys(writer);
		guard_close(writer->guard);
		stored = leaf_insert(&writer->context, leaf, slot);
		buffered_keep_warm(writer, leaf);
		return stored ? WRITER_TAKEN : WRITER_DUPLICATE;
	}

	buffered_put_slot(writer, leaf, slot, number);
	if (leaf_is_full(leaf))
	{
		guard_close(writer->guard);
		if (writer->partitions == NULL)
			buffered_flush_all(writer);
		else
			buffered_flush_leaf(writer, leaf);
	}
	return WRITER_TAKEN;
}

static WriterVerdict
buffered_put(Writer *base, uint32 number, RowError *err)
{
	BufferedWriter *writer = (BufferedWriter *) base;
	TupleTableSlot *slot = base->slot;
	Leaf	   *leaf = writer->leaf;
	WriterVerdict verdict;

	base->current_row = number;

	if (writer->partitions != NULL)
	{
		leaf = partitions_find(writer->partitions, slot, err);
		if (leaf == NULL)
			return WRITER_BAD;
		if (writer->holds && leaf->shared < 0)
			return WRITER_LEFT;
		if (!writer->holds && leaf != writer->leaf)
			switch_leaf(writer, leaf);

		/* without BEFORE triggers the row as it came is what to capture */
		if (writer->context.transition_capture != NULL)
			writer->context.transition_capture->tcs_original_insert_tuple =
				leaf->before_row ? NULL : slot;
		slot = partitions_map(leaf->rri, leaf->map, slot);
	}

	/*
	 * whether it has stored anything, an INSTEAD OF trigger need not say: COPY
	 * counts each row, too
	 */
	if (unlikely(leaf->instead_row))
	{
		(void) fire_triggers(writer, leaf, slot, ExecIRInsertTriggers);
		return WRITER_TAKEN;
	}

	if (unlikely(leaf->merge != NULL) && row_merge_deletes(&writer->context, leaf, slot))
		return delete_by_row(writer, leaf, slot, number);
	verdict = complete_row(writer, leaf, slot, err);
	if (verdict == WRITER_TAKEN)
		verdict = store_row(writer, leaf, slot, number, err);
	return verdict;
}

static uint32
buffered_put_rows(Writer *base, const char *data, const ScanRow *rows,
				  const ScanField *fields, uint32 first, uint32 n)
{
	BufferedWriter *writer = (BufferedWriter *) base;
	Leaf	   *leaf = writer->leaf;
	HeapTuple	tuples[WRITER_ROWS];

	if (writer->holds)
		return held_form_rows(&writer->held, base->former, data, rows, fields, first, n);
	n = Min(n, Min(WRITER_ROWS, LEAF_BATCH_ROWS - leaf->nrows));
	if (leaf->keys != NULL)
		(void) batch_for_row(writer, leaf);
	n = form_rows(base->former, data, rows + first, n, fields,
				  leaf->keys != NULL ? arbiter_batch_arena(leaf->keys) :
				  &writer->context.arena, tuples);
	for (uint32 i = 0; i < n; i++)
	{
		if (leaf->keys != NULL)
		{
			arbiter_batch_put_number(leaf->keys, tuples[i], first + i);
			continue;
		}
		leaf_put_tuple(&writer->context, leaf, tuples[i], first + i);
		if (!leaf_is_full(leaf))
			continue;
		guard_close(writer->guard);
		if (i + 1 < n)
			leaf_flush(&writer->context, leaf);
		else
			buffered_flush_all(writer);
	}
	if (leaf->keys != NULL)
		buffered_bound_keys(writer, leaf);
	return n;
}

/* ---- open and close ---- */

static void
buffered_finish(Writer *base)
{
	BufferedWriter *writer = (BufferedWriter *) base;

	buffered_settle_keys(writer);
	buffered_flush(base);
	buffered_flush_entries(writer);
}

static void
buffered_close(Writer *base)
{
	BufferedWriter *writer = (BufferedWriter *) base;
	EState	   *estate = base->estate;
	ListCell   *lc;

	buffered_finish(base);
	foreach(lc, writer->leaves)
	{
		Leaf	   *leaf = lfirst(lc);

		if (leaf->keys != NULL)
			arbiter_batch_close(leaf->keys);
		if (leaf->merge != NULL)
			row_merge_close(leaf->merge);
		leaf_close(&writer->context, leaf);
	}

	if (!writer->context.target->sent)
		end_statement(writer);
	AfterTriggerEndQuery(estate);

	ExecDropSingleTupleTableSlot(base->slot);
	ExecResetTupleTable(estate->es_tupleTable, false);
	if (writer->partitions)
		partitions_close(writer->partitions);
	ExecCloseResultRelations(estate);
	ExecCloseRangeTableRelations(estate);
	FreeExecutorState(estate);
}

static const WriterRoutine buffered_routine = {
	.name = "buffered",
	.put = buffered_put,
	.put_rows = buffered_put_rows,
	.flush = buffered_flush,
	.finish = buffered_finish,
	.close = buffered_close,
	.prepare_share = buffered_prepare_share,
	.share = buffered_share,
	.gather = buffered_gather,
	.share_refusal = buffered_share_refusal,
	.begin_parallel = buffered_begin_parallel,
	.end_parallel = buffered_end_parallel,
	.reserve = buffered_reserve,
	.take_over = buffered_take_over,
	.wants_alone = buffered_wants_alone,
	.rows_until_alone = buffered_rows_until_alone,
	.write = buffered_write,
	.writes_in_turn = buffered_writes_in_turn,
	.discard = buffered_discard
};

/* TABLE_INSERT_* for the target. */
static int
insert_options(Relation rel, const BulkOptions *options)
{
	int			result = 0;

	/* nothing to find in the free space map of a new file */
	if (RELKIND_HAS_STORAGE(rel->rd_rel->relkind) &&
		(rel->rd_createSubid != InvalidSubTransactionId ||
		 rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId))
		result |= TABLE_INSERT_SKIP_FSM;
	if (options->dry_run)
		result |= TABLE_INSERT_SKIP_FSM;
	/* a row that is rolled back must not be there for everyone */
	if (options->freeze && !options->dry_run)
		result |= TABLE_INSERT_FROZEN;
	return result;
}

static void
open_executor(BufferedWriter *writer, Target *target)
{
	EState	   *estate = CreateExecutorState();
	ResultRelInfo *root;

	writer->base.estate = estate;
	estate->es_output_cid = writer->context.cid;
	compat_init_range_table(estate, target->pstate);
	root = makeNode(ResultRelInfo);
	ExecInitResultRelation(estate, root, 1);
	ExecOpenIndices(root, false);

	AfterTriggerBeginQuery();
	writer->context.transition_capture =
		MakeTransitionCaptureState(target->rel->trigdesc,
								   RelationGetRelid(target->rel), CMD_INSERT);
	if (writer->replaces)
		writer->context.delete_capture =
			MakeTransitionCaptureState(target->rel->trigdesc,
									   RelationGetRelid(target->rel), CMD_DELETE);
	if (writer->updates)
		writer->context.update_capture =
			MakeTransitionCaptureState(target->rel->trigdesc,
									   RelationGetRelid(target->rel), CMD_UPDATE);
	writer->root = root;
	if (target->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		writer->partitions =
			partitions_open(estate, root, writer->context.transition_capture,
							writer->guard, add_leaf, writer);
}

/*
 * Two loads that wait for each other's keys, in another order, would be a deadlock:
 * so one comes after the other.  The lock is nobody else's.
 */
static void
take_turns(Relation rel)
{
	LockDatabaseObject(RelationRelationId, partition_tree_root(rel), 0, ExclusiveLock);
}

Writer *
buffered_open(Target *target, const BulkOptions *options, Guard *guard,
			  Checks *checks, bool others_look)
{
	BufferedWriter *writer = palloc0(sizeof(BufferedWriter));
	const TriggerDesc *triggers;
	EState	   *estate;

	if (options->on_duplicate != BULK_ON_DUPLICATE_ERROR)
		take_turns(target->rel);
	writer->base.routine = &buffered_routine;
	writer->base.current_row = -1;
	writer->guard = guard;
	writer->replaces = options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW ||
		(target->merge != NULL && target->merge->removes);
	writer->updates = target->merge != NULL && (target->merge->all || target->merge->set != NIL);
	writer->context.target = target;
	writer->context.writer = &writer->base;
	writer->context.guard = guard;
	writer->context.options = options;
	writer->context.dry = target->dry;
	writer->context.checks = checks;
	writer->context.journal = checks_journal(checks);
	writer->context.cid = GetCurrentCommandId(true);
	writer->context.insert_options = insert_options(target->rel, options);
	writer->context.entries_budget = others_look ? 0 : (Size) maintenance_work_mem * 1024;
	open_executor(writer, target);
	estate = writer->base.estate;
	triggers = writer->root->ri_TrigDesc;

	writer->base.slot = MakeSingleTupleTableSlot(RelationGetDescr(target->rel),
												 &TTSOpsVirtual);
	arena_init(&writer->context.arena, estate->es_query_cxt,
			   4 * LEAF_BATCH_BYTES);
	writer->context.batch_context =
		AllocSetContextCreate(estate->es_query_cxt, "bulk_load batch",
							  ALLOCSET_DEFAULT_SIZES);
	writer->context.flush_econtext = CreateExprContext(estate);

	/*
	 * Rows wait unless a trigger on the target might look for them; those of
	 * a partition are looked at when the leaf is opened.  A partitioned
	 * target's transition tables want each row's original, one at a time.
	 */
	writer->batches = triggers == NULL ||
		(!triggers->trig_insert_before_row &&
		 !triggers->trig_insert_instead_row &&
		 !(writer->partitions && triggers->trig_insert_new_table));

	if (writer->partitions == NULL && target->rel->rd_rel->relkind != RELKIND_FOREIGN_TABLE)
	{
		Leaf	   *leaf = add_leaf(writer, writer->root);

		writer->leaf = leaf;
		leaf_prepare(&writer->context, leaf);
		writer->base.plain = (leaf->batches || leaf->keys != NULL) && leaf->former != NULL &&
			arbiter_batch_takes_tuples(&writer->context) &&
			constraints_need_no_guard(leaf->constraints) && !target->rel->rd_rel->relispartition;
		writer->base.constraints = leaf->constraints;
	}

	if (!target->sent)
		begin_statement(writer);
	return &writer->base;
}
