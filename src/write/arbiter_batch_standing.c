/*
 * arbiter_batch_standing.c
 *		See arbiter_batch_standing.h.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "server/compat.h"
#include "server/throttle.h"
#include "server/wal_written.h"
#include "utils/snapmgr.h"
#include "write/arbiter.h"
#include "write/arbiter_batch_dead.h"
#include "write/arbiter_batch_merge.h"
#include "write/arbiter_batch_standing.h"
#include "write/leaf.h"

/* How far the memory of rows that wait is fetched ahead, as the order of the heap is not theirs. */
#define AHEAD 8

/* What is found of the row of an entry. */
typedef enum Standing
{
	STANDING_UNKNOWN,
	STANDING_THERE,
	STANDING_DEAD
} Standing;

/*
 * Whether the row that was fetched has the bytes of all columns of the key, where these are all
 * that the index has: then it has the key.
 */
static bool
has_same_columns(ArbiterBatch *batch, uint32 number)
{
	HeapTuple	tuple = batch->rows[number].tuple;
	TupleDesc	desc = batch->standing->tts_tupleDescriptor;

	if (batch->info->ii_Predicate != NIL)
		return false;
	for (int i = 0; i < batch->shape->nkeys; i++)
	{
		AttrNumber	column = batch->info->ii_IndexAttrNumbers[i];
		Form_pg_attribute attribute;
		Datum		values[2];
		bool		isnull[2];

		/* an expression, or what a slot has of its own */
		if (column <= 0)
			return false;
		attribute = TupleDescAttr(desc, column - 1);
		values[0] = slot_getattr(batch->standing, column, &isnull[0]);
		values[1] = heap_getattr(tuple, column, desc, &isnull[1]);
		if (isnull[0] || isnull[1] ||
			!datumIsEqual(values[0], values[1], attribute->attbyval, attribute->attlen))
			return false;
	}
	return true;
}

/* Whether the row that was fetched still has the key of the one that waits. */
static bool
has_key(ArbiterBatch *batch, uint32 number)
{
	TupleTableSlot *slots[2] = {batch->slot, batch->standing};
	EState	   *estate = batch->context->writer->estate;
	MemoryContext old;
	bool		judged = true;

	if (has_same_columns(batch, number))
		return true;
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	batch_show_row(batch, number);
	for (int i = 0; i < 2 && judged; i++)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		judged = batch_form_key(batch, slots[i], values, isnull);
		resetStringInfo(&batch->keys[i]);
		if (judged)
			shape_image(batch->shape, values, isnull, &batch->keys[i]);
	}
	judged = judged &&
		shape_compare(batch->shape, batch->keys[0].data, batch->keys[1].data) == 0;
	MemoryContextSwitchTo(old);
	return judged;
}

/* Deletes the row in the slot.  False: somebody has changed it meanwhile. */
static bool
remove_standing(ArbiterBatch *batch, uint32 first)
{
	LeafContext *context = batch->context;
	TM_FailureData failure;

	context->writer->current_row = first;
	return compat_table_delete(batch->leaf->rri->ri_RelationDesc, &batch->standing->tts_tid,
							   context->cid, GetActiveSnapshot(), &failure) == TM_Ok;
}

/* Whether no index need have an entry for the row that waits where it has the other's. */
static bool
keeps_entries(ArbiterBatch *batch, HeapTuple tuple)
{
	TupleDesc	desc = batch->standing->tts_tupleDescriptor;
	int			column = -1;

	while ((column = bms_next_member(batch->indexed, column)) >= 0)
	{
		Form_pg_attribute attribute;
		Datum		values[2];
		bool		isnull[2];

		/* all columns, or what is none */
		if (column + FirstLowInvalidHeapAttributeNumber <= 0)
			return false;
		attribute = TupleDescAttr(desc, column + FirstLowInvalidHeapAttributeNumber - 1);
		values[0] = slot_getattr(batch->standing, attribute->attnum, &isnull[0]);
		values[1] = heap_getattr(tuple, attribute->attnum, desc, &isnull[1]);
		if (!batch_same_value(attribute, values, isnull))
			return false;
	}
	return true;
}

/*
 * Whether a row that waits may take the place of the row in the slot as its new version, on the
 * same page and with its entries (HOT).  The page is not locked: the server decides.
 */
static bool
fits_beside(ArbiterBatch *batch, uint32 number)
{
	HeapTuple	tuple = batch->rows[number].tuple;
	Buffer		buffer = ((BufferHeapTupleTableSlot *) batch->standing)->buffer;

	return batch->context->dry == NULL && tuple->t_len <= TOAST_TUPLE_THRESHOLD &&
		MAXALIGN(tuple->t_len) <= PageGetHeapFreeSpace(BufferGetPage(buffer)) &&
		keeps_entries(batch, tuple);
}

/* Makes the last row of a key a new version of the row in the slot.  False: as remove_standing. */
static bool
update_standing(ArbiterBatch *batch, uint32 first)
{
	LeafContext *context = batch->context;
	uint32		number = batch->rows[first].last;
	TM_FailureData failure;
	CompatEntries entries;

	batch_show_row(batch, number);
	if (compat_table_update(batch->leaf->rri->ri_RelationDesc, &batch->standing->tts_tid,
							batch->slot, context->cid, GetActiveSnapshot(), &failure,
							&entries) != TM_Ok)
		return false;
	batch->tids[number] = batch->slot->tts_tid;
	leaf_note_place(context, batch->leaf, batch->slot);
	/* of an index that another session has begun to make */
	if (entries == COMPAT_ENTRIES_SUMMARIZING)
		list_free(compat_update_index_tuples(batch->leaf->rri, batch->slot,
											 context->writer->estate, true));
	/* others may have taken the room meanwhile */
	batch->rows[first].keys = entries == COMPAT_ENTRIES_ALL ? FATE_NEW : FATE_STORED;
	return true;
}

/*
 * Replaces the row in the slot, whose pin keeps its place from being another row's.  False:
 * somebody has changed it meanwhile.
 */
static bool
replace_standing(ArbiterBatch *batch, const Candidate *candidate)
{
	TupleTableSlot *standing = batch->standing;
	uint32		first = candidate->number;
	WaitingRow *row = &batch->rows[first];
	bool		from_load = arbiter_is_from_load(batch->leaf->arbiter, standing);

	if (!from_load && fits_beside(batch, row->last) ? !update_standing(batch, first) :
		!remove_standing(batch, first))
		return false;
	row->gone = candidate->standing;
	if (from_load)
		checks_displace(batch->context->checks, batch->leaf->checked, &standing->tts_tid,
						RelationGetRelid(batch->index));
	else
		row->replaced = standing->tts_tid;
	return true;
}

/* With the row in the slot, which stands.  False: it is to be asked about. */
static bool
use_standing(ArbiterBatch *batch, const Candidate *candidate)
{
	if (batch->merge != NULL)
		return batch_merge_take(batch, candidate);
	return !batch->replaces || replace_standing(batch, candidate);
}

/* The row of an entry is dead to everyone: of use to an inserter that comes to its leaf. */
static void
note_dead(ArbiterBatch *batch, const Candidate *candidate)
{
	WaitingRow *row = &batch->rows[candidate->number];

	if (batch->njudges > 1 || XLogRecPtrIsInvalid(row->found.lsn))
		return;
	row->dead = candidate->standing;
	dead_add(batch, candidate->number, candidate->standing);
}

/*
 * Whether the row of an entry stands, for certain; where rows are replaced it goes.  That it is
 * dead need not be certain: who enters its key now is met when new rows get their entries.
 */
static Standing
settle_candidate(ArbiterBatch *batch, IndexFetchTableData *fetch, const Candidate *candidate)
{
	Relation	rel = batch->leaf->rri->ri_RelationDesc;
	SnapshotData dirty;
	ItemPointerData tid;
	bool		again = false;
	bool		to_all = false;
	bool		found;
	Standing	standing = STANDING_UNKNOWN;

	InitDirtySnapshot(dirty);
	row_tid(candidate->standing, &tid);
	found = table_index_fetch_tuple(fetch, &tid, &dirty, batch->standing, &again,
									&to_all);
	if (!found)
		standing = STANDING_DEAD;
	else if (!TransactionIdIsValid(dirty.xmin) && !TransactionIdIsValid(dirty.xmax) &&
			 arbiter_may_see(rel, batch->standing) && has_key(batch, candidate->number) &&
			 use_standing(batch, candidate))
	{
		arbiter_note_read(rel, &tid);
		standing = STANDING_THERE;
	}
	if (to_all)
		note_dead(batch, candidate);
	ExecClearTuple(batch->standing);
	return standing;
}

/* What is known then of the key of the rows that wait. */
static void
settle_key(ArbiterBatch *batch, const Candidate *candidate, Standing standing)
{
	WaitingRow *row = &batch->rows[candidate->number];

	if (standing == STANDING_THERE && !batch->replaces)
		row->keys = FATE_DUPLICATE;
	if (standing != STANDING_UNKNOWN && row->keys == FATE_ASK && --row->nentries == 0)
		row->keys = FATE_NEW;
}

/* Has what is looked at of the rows that wait for the next candidates fetched. */
static inline void
fetch_rows(const ArbiterBatch *batch, uint32 i)
{
	const Candidates *candidates = &batch->candidates;

	if (i + 2 * AHEAD < candidates->n)
		batch_fetch_row(batch, candidates->list[i + 2 * AHEAD].number);
	if (i + AHEAD < candidates->n)
	{
		HeapTuple	tuple = batch->rows[candidates->list[i + AHEAD].number].tuple;

		/* what it points to is beside it */
		fetch_ahead(tuple);
		fetch_ahead((const char *) tuple + FETCHED_BYTES);
	}
}

void
standing_settle(ArbiterBatch *batch)
{
	IndexFetchTableData *fetch;

	if (batch->candidates.n == 0)
		return;
	compat_injection_point("pgbulk-keys-looked-up");
	candidates_sort(&batch->candidates);
	fetch = compat_table_index_fetch_begin(batch->leaf->rri->ri_RelationDesc);
	for (uint32 i = 0; i < batch->candidates.n; i++)
	{
		const Candidate *candidate = &batch->candidates.list[i];

		if (i % ROWS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		fetch_rows(batch, i);
		candidates_read_ahead(&batch->candidates, batch->leaf->rri->ri_RelationDesc, i);
		if (batch->rows[candidate->number].keys != FATE_ASK)
			continue;
		settle_key(batch, candidate, settle_candidate(batch, fetch, candidate));
		if (batch->merge != NULL && batch_merge_exceeds(batch))
			break;
		/* not with a page pinned, for which VACUUM would wait, too */
		if (throttle_active != NULL)
			table_index_fetch_reset(fetch);
		wal_written();
	}
	table_index_fetch_end(fetch);
	dead_sort(batch);
	batch->context->writer->current_row = -1;
}

Bitmapset *
standing_indexed(const ResultRelInfo *rri)
{
	Bitmapset  *columns = NULL;

	for (int i = 0; i < rri->ri_NumIndices; i++)
	{
		const IndexInfo *info = rri->ri_IndexRelationInfo[i];

		for (int j = 0; j < info->ii_NumIndexAttrs; j++)
			if (info->ii_IndexAttrNumbers[j] != 0)
				columns = bms_add_member(columns, info->ii_IndexAttrNumbers[j] -
										 FirstLowInvalidHeapAttributeNumber);
		pull_varattnos((Node *) info->ii_Expressions, 1, &columns);
		pull_varattnos((Node *) info->ii_Predicate, 1, &columns);
	}
	return columns;
}
