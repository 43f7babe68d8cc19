/*
 * leaf.c
 *		Batches of rows into one table; see leaf.h.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_trigger.h"
#include "check/foreign_key.h"
#include "check/tables.h"
#include "commands/trigger.h"
#include "optimizer/optimizer.h"
#include "portability/instr_time.h"
#include "server/compat.h"
#include "server/wal_written.h"
#include "server/workers.h"
#include "utils/memutils.h"
#include "write/arbiter.h"
#include "write/leaf.h"
#include "write/toast.h"

#define LEAF_FIRST_ROWS 16		/* of a batch that may stay small */

/*
 * Index entries wait from then on that the load has more rows than that, and a
 * leaf of many has more than some: sorting a few does not pay.
 */
#ifndef LEAF_ROWS_TO_COLLECT
#define LEAF_ROWS_TO_COLLECT 1000
#endif
#ifndef LEAF_OWN_ROWS_TO_COLLECT
#define LEAF_OWN_ROWS_TO_COLLECT 50
#endif

/* What needs to be done at the end; what can be checked then needs no triggers now. */
static int
find_checks(const LeafContext *context, Leaf *leaf)
{
	Relation	rel = leaf->rri->ri_RelationDesc;
	int			what = leaf->collects ? CHECKS_PLACES | CHECKS_UNIQUE : 0;

	if (leaf->after_row && context->transition_capture == NULL &&
		rel->rd_tableam == GetHeapamTableAmRoutine() &&
		tables_refusal(rel, context->options) == REFUSAL_NONE)
	{
		what |= CHECKS_KEYS;
		leaf->after_row = false;
		foreign_key_disable_triggers(leaf->rri->ri_TrigDesc);
		leaf->keys_first = leaf->arbiter != NULL;
	}
	if (leaf->keys_first && context->options->on_error != BULK_ON_ERROR_STOP &&
		tables_refers_to_itself(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("writer \"buffered\" cannot set duplicates of \"%s\" aside beside other bad rows",
						RelationGetRelationName(rel)),
				 errdetail("It has a foreign key that refers to the table itself, so which rows are good is known only at the end."),
				 errhint("Set \"on_error\" to \"stop\".")));
	if (leaf->arbiter != NULL &&
		context->options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW)
		what |= CHECKS_DISPLACED;
	return what;
}

/*
 * What functions of triggers keep for the next row stays as long as the load.  Those that it never
 * fires need not even exist.
 */
static void
prepare_triggers(const LeafContext *context, ResultRelInfo *rri)
{
	int16		events = TRIGGER_TYPE_INSERT;

	if (context->options->on_duplicate != BULK_ON_DUPLICATE_ERROR)
		events |= TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE;
	for (int i = 0; rri->ri_TrigDesc != NULL && i < rri->ri_TrigDesc->numtriggers; i++)
	{
		const Trigger *trigger = &rri->ri_TrigDesc->triggers[i];

		if ((trigger->tgtype & events) != 0 && foreign_key_fires(trigger))
			fmgr_info_cxt(trigger->tgfoid, &rri->ri_TrigFunctions[i],
						  context->writer->estate->es_query_cxt);
	}
}

/* Whether a WHEN condition, evaluated as soon as a row is stored, may look at the table. */
static bool
conditions_volatile(const TriggerDesc *triggers)
{
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];
		Expr	   *condition;

		if (trigger->tgqual == NULL || trigger->tgenabled == TRIGGER_DISABLED ||
			!TRIGGER_TYPE_MATCHES(trigger->tgtype, TRIGGER_TYPE_ROW, TRIGGER_TYPE_AFTER,
								  TRIGGER_TYPE_INSERT))
			continue;
		/* planned, since the default values of functions' arguments count, too */
		condition = expression_planner(stringToNode(trigger->tgqual));
		if (contain_volatile_functions((Node *) condition))
			return true;
	}
	return false;
}

Leaf *
leaf_open(LeafContext *context, ResultRelInfo *rri, bool batches)
{
	EState	   *estate = context->writer->estate;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Relation	rel = rri->ri_RelationDesc;
	TriggerDesc *triggers = rri->ri_TrigDesc;
	Leaf	   *leaf = palloc0(sizeof(Leaf));
	ResourceOwner owner = guard_owner_enter(context->guard);	/* slots pin descriptors */

	leaf->rri = rri;
	leaf->shared = -1;
	toast_forget_indexes(rel);
	prepare_triggers(context, rri);
	leaf->constraints = constraints_open(rri, estate);
	leaf->map = compat_root_to_child_map(rri, estate);
	if (triggers != NULL)
	{
		leaf->before_row = triggers->trig_insert_before_row;
		leaf->instead_row = triggers->trig_insert_instead_row;
		leaf->after_row = triggers->trig_insert_after_row ||
			triggers->trig_insert_new_table;
	}
	/* a partitioned target's transition tables want the rows of every leaf */
	if (context->transition_capture != NULL)
		leaf->after_row = true;

	leaf->arbiter = arbiter_open(context, rri);
	leaf->batches = batches && !leaf->before_row && !leaf->instead_row &&
		leaf->arbiter == NULL;

	/* other access methods may borrow the heap's routines: they count as heap */
	if (rel->rd_tableam == GetHeapamTableAmRoutine())
		leaf->former = tuple_former(RelationGetDescr(rel));
	/* who looks at the table finds by its indexes what a scan finds */
	leaf->looks = !leaf->batches || constraints_volatile(leaf->constraints) ||
		constraints_types_volatile(RelationGetDescr(rel)) || conditions_volatile(triggers);
	leaf->collects = leaf->former != NULL && context->entries_budget > 0 && !leaf->looks;
	leaf->checked = context->target->merge != NULL ? CHECKS_NOTHING :
		checks_add_table(context->checks, rel, find_checks(context, leaf));
	context->writer->fires_after |= leaf->after_row;
	/* its triggers were those of other constraints */
	if (leaf->checked == CHECKS_NOTHING)
		leaf->keys_first = false;
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(old);
	return leaf;
}

/*
 * Indexes get their entries in parallel mode.  Access methods of the server
 * can do that, of others nobody knows.
 */
static RefusalReason
find_index_refusal(const ResultRelInfo *rri)
{
	List	   *expressions = NIL;

	for (int i = 0; i < rri->ri_NumIndices; i++)
	{
		Relation	index = rri->ri_IndexRelationDescs[i];

		if (index == NULL)
			continue;
		if (index->rd_rel->relam >= FirstNormalObjectId)
			return REFUSAL_INDEX_METHOD;
		expressions = list_concat(expressions, RelationGetIndexExpressions(index));
		expressions = list_concat(expressions, RelationGetIndexPredicate(index));
	}
	return workers_can_evaluate(expressions) ? REFUSAL_NONE : REFUSAL_EXPRESSION;
}

RefusalReason
leaf_share_refusal(const Leaf *leaf)
{
	if (leaf->before_row || leaf->instead_row || leaf->after_row)
		return REFUSAL_ROW_TRIGGERS;
	if (leaf->rri->ri_RelationDesc->rd_rel->relkind != RELKIND_RELATION)
		return REFUSAL_NO_PLAIN_TABLE;
	if (leaf->former == NULL)
		return REFUSAL_ACCESS_METHOD;
	if (leaf->looks)
		return REFUSAL_ONE_BY_ONE;
	return find_index_refusal(leaf->rri);
}

/* Room for one more row in the batch. */
static void
leaf_reserve(LeafContext *context, Leaf *leaf)
{
	MemoryContext cxt = context->writer->estate->es_query_cxt;
	int			old = leaf->capacity;

	if (old == 0)
	{
		leaf->capacity = LEAF_FIRST_ROWS;
		leaf->tuples = MemoryContextAlloc(cxt, sizeof(HeapTuple) * leaf->capacity);
		leaf->numbers = MemoryContextAlloc(cxt, sizeof(uint32) * leaf->capacity);
		leaf->slots = MemoryContextAlloc(cxt, sizeof(TupleTableSlot *) * leaf->capacity);
		return;
	}
	leaf->capacity = Min(old * 4, LEAF_BATCH_ROWS);
	leaf->tuples = repalloc(leaf->tuples, sizeof(HeapTuple) * leaf->capacity);
	leaf->numbers = repalloc(leaf->numbers, sizeof(uint32) * leaf->capacity);
	leaf->slots = repalloc(leaf->slots, sizeof(TupleTableSlot *) * leaf->capacity);
}

void
leaf_prepare_dry(LeafContext *context, Leaf *leaf)
{
	dry_run_prepare(context->dry, leaf->rri->ri_RelationDesc, false, 1);
	leaf->prepared = true;
}

static void
leaf_begin_bulk(LeafContext *context, Leaf *leaf)
{
	MemoryContext old;

	if (leaf->bistate != NULL)
		return;
	old = MemoryContextSwitchTo(context->writer->estate->es_query_cxt);
	leaf->bistate = GetBulkInsertState();
	MemoryContextSwitchTo(old);
}

/*
 * A slot for the heap tuples of a batch.  Its descriptor is a copy: to count each
 * slot's reference to the relation's own takes longer than to make the slot.
 */
static TupleTableSlot *
make_heap_slot(Leaf *leaf)
{
	if (leaf->desc == NULL)
		leaf->desc = CreateTupleDescCopyConstr(RelationGetDescr(leaf->rri->ri_RelationDesc));
	return MakeSingleTupleTableSlot(leaf->desc, &TTSOpsHeapTuple);
}

static TupleTableSlot *
leaf_slot(LeafContext *context, Leaf *leaf, int index)
{
	if (index >= leaf->nslots)
	{
		MemoryContext old;
		ResourceOwner owner = guard_owner_enter(context->guard);	/* a slot pins a descriptor */

		old = MemoryContextSwitchTo(context->writer->estate->es_query_cxt);
		leaf->slots[index] = leaf->former != NULL ? make_heap_slot(leaf) :
			table_slot_create(leaf->rri->ri_RelationDesc, NULL);
		leaf->nslots = index + 1;
		MemoryContextSwitchTo(old);
		CurrentResourceOwner = owner;
	}
	return leaf->slots[index];
}

void
leaf_put_tuple(LeafContext *context, Leaf *leaf, HeapTuple tuple, uint32 number)
{
	if (unlikely(leaf->nrows == leaf->capacity))
		leaf_reserve(context, leaf);
	leaf->tuples[leaf->nrows] = tuple;
	leaf->nbytes += tuple->t_len;
	leaf->numbers[leaf->nrows++] = number;
}

void
leaf_put(LeafContext *context, Leaf *leaf, TupleTableSlot *slot, uint32 number)
{
	TupleTableSlot *own;

	if (leaf->former != NULL)
	{
		leaf_put_tuple(context, leaf,
					   tuple_form(leaf->former, slot->tts_values,
								  slot->tts_isnull, &context->arena),
					   number);
		return;
	}

	if (leaf->nrows == leaf->capacity)
		leaf_reserve(context, leaf);
	own = leaf_slot(context, leaf, leaf->nrows);
	ExecCopySlot(own, slot);
	ExecMaterializeSlot(own);
	leaf->nbytes += LEAF_BATCH_BYTES / LEAF_BATCH_ROWS;
	leaf->numbers[leaf->nrows++] = number;
}

/*
 * Lends the batch's tuples to slots.  They count as the slots' own, so that
 * nobody copies them; leaf_clear takes them back.
 */
static void
leaf_lend(LeafContext *context, Leaf *leaf)
{
	for (int i = 0; i < leaf->nrows; i++)
	{
		TupleTableSlot *slot = leaf_slot(context, leaf, i);

		ExecStoreHeapTuple(leaf->tuples[i], slot, true);
		slot->tts_tableOid = RelationGetRelid(leaf->rri->ri_RelationDesc);
	}
}

static void
leaf_clear(Leaf *leaf)
{
	for (int i = 0; i < leaf->nrows; i++)
	{
		if (leaf->former != NULL)
			leaf->slots[i]->tts_flags &= ~TTS_FLAG_SHOULDFREE;
		ExecClearTuple(leaf->slots[i]);
	}
}

void
leaf_fire(LeafContext *context, Leaf *leaf, TupleTableSlot *slot, List *recheck)
{
	EState	   *estate = context->writer->estate;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	if (leaf->after_row || recheck != NIL)
		ExecARInsertTriggers(estate, leaf->rri, slot, recheck,
							 context->transition_capture);
	MemoryContextSwitchTo(old);
	list_free(recheck);
}

void
leaf_follow_up(LeafContext *context, Leaf *leaf, TupleTableSlot *slot, Entries *entries)
{
	EState	   *estate = context->writer->estate;
	ResultRelInfo *rri = leaf->rri;
	List	   *recheck = NIL;

	if (entries != NULL)
	{
		entries_put(entries, slot, estate);
		rri = entries_others(entries);
	}
	if (rri != NULL && rri->ri_NumIndices > 0)
		recheck = compat_insert_index_tuples(rri, slot, estate);
	wal_written();
	leaf_fire(context, leaf, slot, recheck);
}

static void
insert_all(void *arg)
{
	entries_flush(arg);
}

static void
insert_some(void *arg)
{
	entries_make_room(arg);
}

static void
insert_entries(LeafContext *context, Leaf *leaf, void (*insert) (void *))
{
	Writer	   *writer = context->writer;
	int64		current_row = writer->current_row;

	writer->current_row = -1;
	if (writer->by_place != NULL)
		writer->by_place(writer->by_place_arg, insert, leaf->entries);
	else
		insert(leaf->entries);
	writer->workers = Max(writer->workers, entries_workers(leaf->entries));
	if (writer->target != NULL)
		entries_tell(leaf->entries, writer->target);
	writer->current_row = current_row;
}

void
leaf_flush_entries(LeafContext *context, Leaf *leaf)
{
	if (leaf->entries != NULL)
		insert_entries(context, leaf, insert_all);
}

void
leaf_make_room(LeafContext *context, Leaf *leaf)
{
	insert_entries(context, leaf, insert_some);
}

bool
leaf_entries_wait(const Leaf *leaf)
{
	return leaf->entries != NULL && entries_full(leaf->entries);
}

/* How many workers may make index entries, as many as for files of that size. */
static int
entry_workers(const LeafContext *context, const Leaf *leaf)
{
	int			workers = context->options->workers;

	return workers >= 0 ? workers :
		workers_for_bytes(leaf->rri->ri_RelationDesc, context->writer->input_bytes);
}

/*
 * Before a batch: from then on that there are many rows, their index entries
 * wait.  Returns where, or NULL: they do not.
 */
static Entries *
leaf_begin_entries(LeafContext *context, Leaf *leaf)
{
	MemoryContext old;

	context->nwritten += leaf->nrows;
	leaf->nwritten += leaf->nrows;
	if (context->entries_budget == 0)
		return NULL;
	/* or an arbiter's batch has opened them */
	if (leaf->entries == NULL && leaf->collects && context->nwritten > LEAF_ROWS_TO_COLLECT &&
		leaf->nwritten > LEAF_OWN_ROWS_TO_COLLECT)
	{
		old = MemoryContextSwitchTo(context->writer->estate->es_query_cxt);
		leaf->entries = entries_open(leaf->rri, context->entries_budget,
									 entry_workers(context, leaf));
		leaf->collects = leaf->entries != NULL;
		MemoryContextSwitchTo(old);
	}
	return leaf->entries;
}

/* The row that is worked on is stored next. */
static void
journal_current(LeafContext *context)
{
	JournalPlace place;

	if (context->writer->find_place == NULL)
	{
		journal_rows(context->journal, context->writer->current_row, 1);
		return;
	}
	writer_locate(context->writer, context->journal, &place);
	journal_place(context->journal, &place);
}

/* Where the rows of the batch have got their places. */
static void
leaf_note_places(LeafContext *context, Leaf *leaf)
{
	Journal    *journal = context->journal;

	for (int i = 0; leaf->tids != NULL && i < leaf->nrows; i++)
		leaf->tids[leaf->numbers[i]] = leaf->slots[i]->tts_tid;
	if (leaf->checked == CHECKS_NOTHING)
		return;
	for (int i = 0; i < leaf->nrows; i++)
	{
		ItemPointer tid = &leaf->slots[i]->tts_tid;

		context->writer->current_row = leaf->numbers[i];
		journal_current(context);
		journal_stored(journal, ItemPointerGetBlockNumber(tid),
					   ItemPointerGetOffsetNumber(tid), 1);
	}
	context->writer->current_row = -1;
	journal_end_record(journal, leaf->checked);
}

/* How many rows of the batch, from the first on, surely fit a page; the next one may not. */
static int
count_fitting(const Leaf *leaf, int first)
{
	int			end = first;

	while (end < leaf->nrows &&
		   (leaf->former == NULL || MAXALIGN(leaf->tuples[end]->t_len) <= MaxHeapTupleSize))
		end++;
	return end - first;
}

/* Rows that may be too big to store go alone, so that an error can tell of which it is. */
static void
leaf_store(LeafContext *context, Leaf *leaf)
{
	MemoryContext old = MemoryContextSwitchTo(context->batch_context);
	int			n;

	for (int first = 0; first < leaf->nrows; first += n)
	{
		n = count_fitting(leaf, first);
		context->writer->current_row = n > 0 ? -1 : leaf->numbers[first];
		n = Max(n, 1);
		table_multi_insert(leaf->rri->ri_RelationDesc, leaf->slots + first, n,
						   context->cid, context->insert_options, leaf->bistate);
	}
	context->writer->current_row = -1;
	MemoryContextSwitchTo(old);
	MemoryContextReset(context->batch_context);
}

void
leaf_flush(LeafContext *context, Leaf *leaf)
{
	Writer	   *writer = context->writer;
	EState	   *estate = writer->estate;
	ExprContext *next_row = GetPerTupleExprContext(estate);
	Entries    *entries;
	instr_time	start;
	instr_time	end;

	if (leaf->nrows == 0)
		return;

	INSTR_TIME_SET_CURRENT(start);
	leaf_prepare(context, leaf);
	leaf_begin_bulk(context, leaf);
	entries = leaf_begin_entries(context, leaf);
	if (leaf->former != NULL)
		leaf_lend(context, leaf);

	leaf_store(context, leaf);
	wal_written();
	leaf_note_places(context, leaf);

	/* the row that made room for itself still has its values in its context */
	estate->es_per_tuple_exprcontext = context->flush_econtext;
	if (leaf->rri->ri_NumIndices > 0 || leaf->after_row)
		for (int i = 0; i < leaf->nrows; i++)
		{
			writer->current_row = leaf->numbers[i];
			leaf_follow_up(context, leaf, leaf->slots[i], entries);
			ResetExprContext(context->flush_econtext);
		}
	writer->current_row = -1;
	estate->es_per_tuple_exprcontext = next_row;

	leaf_clear(leaf);
	leaf->nrows = 0;
	leaf->nbytes = 0;
	if (leaf_entries_wait(leaf) && !IsInParallelMode())
		leaf_make_room(context, leaf);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	writer->storing += INSTR_TIME_GET_DOUBLE(end);
}

void
leaf_note_place(LeafContext *context, Leaf *leaf, TupleTableSlot *slot)
{
	Journal    *journal = context->journal;

	if (leaf->checked == CHECKS_NOTHING)
		return;
	journal_current(context);
	journal_stored(journal, ItemPointerGetBlockNumber(&slot->tts_tid),
				   ItemPointerGetOffsetNumber(&slot->tts_tid), 1);
	journal_end_record(journal, leaf->checked);
}

/* Whether the row has what it refers to; else it is dealt with. */
static bool
leaf_refers(LeafContext *context, Leaf *leaf, TupleTableSlot *slot)
{
	EState	   *estate = context->writer->estate;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	bool		should_free;
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, true, &should_free);
	JournalPlace place;
	int			key;
	bool		good;
	bool		bad = false;

	if (context->writer->one_by_one)
		checks_forget_keys(context->checks);
	journal_locate(context->journal, context->writer->current_row, &place);
	do
	{
		CHECK_FOR_INTERRUPTS();
		good = checks_holds(context->checks, leaf->checked, tuple, &key);
		if (!good)
			bad = checks_take_orphan(context->checks, leaf->checked, key, tuple, slot,
									 &place);
	} while (!good && !bad);
	MemoryContextSwitchTo(old);
	return good;
}

bool
leaf_insert(LeafContext *context, Leaf *leaf, TupleTableSlot *slot)
{
	Relation	rel = leaf->rri->ri_RelationDesc;
	bool		stored = true;

	/* an access method of its own wants a slot of its own */
	if (leaf->former == NULL)
	{
		TupleTableSlot *own;

		if (leaf->capacity == 0)
			leaf_reserve(context, leaf);
		own = leaf_slot(context, leaf, 0);

		ExecCopySlot(own, slot);
		slot = own;
	}
	slot->tts_tableOid = RelationGetRelid(rel);

	leaf_prepare(context, leaf);
	if (unlikely(leaf->entries != NULL))
		leaf_flush_entries(context, leaf);
	if (leaf->keys_first && !leaf_refers(context, leaf, slot))
		return true;
	if (leaf->arbiter != NULL)
	{
		List	   *recheck = NIL;

		stored = arbiter_insert(context, leaf, slot, &recheck);
		wal_written();
		if (stored)
		{
			leaf_note_place(context, leaf, slot);
			leaf_fire(context, leaf, slot, recheck);
		}
	}
	else
	{
		leaf_begin_bulk(context, leaf);
		table_tuple_insert(rel, slot, context->cid, context->insert_options,
						   leaf->bistate);
		leaf_note_place(context, leaf, slot);
		leaf_follow_up(context, leaf, slot, NULL);
	}
	if (leaf->former == NULL)
		ExecClearTuple(slot);
	return stored;
}

void
leaf_rest(Leaf *leaf)
{
	Assert(leaf->nrows == 0);

	for (int i = 0; i < leaf->nslots; i++)
		ExecDropSingleTupleTableSlot(leaf->slots[i]);
	leaf->nslots = 0;
	if (leaf->desc != NULL)
		FreeTupleDesc(leaf->desc);
	leaf->desc = NULL;
	if (leaf->capacity > 0)
	{
		pfree(leaf->tuples);
		pfree(leaf->numbers);
		pfree(leaf->slots);
		leaf->capacity = 0;
	}
	if (leaf->bistate != NULL)
		FreeBulkInsertState(leaf->bistate);
	leaf->bistate = NULL;
}

void
leaf_close(LeafContext *context, Leaf *leaf)
{
	leaf_rest(leaf);
	if (leaf->entries != NULL)
		entries_close(leaf->entries);
	if (leaf->arbiter != NULL)
		arbiter_close(leaf->arbiter);
	if (leaf->rri->ri_RelationDesc->rd_tableam != NULL)
		table_finish_bulk_insert(leaf->rri->ri_RelationDesc,
								 context->insert_options);
}
