/*
 * arbiter_batch.c
 *		See arbiter_batch.h.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "check/duplicates.h"
#include "check/tables.h"
#include "index/lookup.h"
#include "index/presort.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "server/compat.h"
#include "server/throttle.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "write/arbiter.h"
#include "write/arbiter_batch.h"
#include "write/candidates.h"
#include "write/leaf.h"

/* So few rows are asked about one by one: sorting them does not pay. */
#ifndef ROWS_TO_SORT
#define ROWS_TO_SORT 32
#endif

/* Rows between two checks for interrupts. */
#define ROWS_AT_ONCE 1024

/* Memory is taken in small steps, as there may be a batch for each of many partitions. */
#define FIRST_ROWS 64
#define ARENA_BLOCK (16 * 1024)

/* No entry is at a row of this number. */
#define NO_ENTRY PG_UINT64_MAX

typedef enum Fate
{
	FATE_NEW,
	FATE_ASK,
	FATE_STORED,				/* it was asked about, or has updated another */
	FATE_DUPLICATE
} Fate;

typedef struct WaitingRow
{
	HeapTuple	tuple;
	JournalPlace place;
	const char *raw;			/* its bytes, if they may have to be shown, or NULL */
	uint32		first;			/* the first row with its key */
	Fate		fate;

	/* of the first row with a key */
	uint32		last;			/* the last one */
	Fate		keys;			/* what becomes of its rows */
	uint32		nentries;		/* entries with it whose rows have not gone */
	RowId		gone;			/* the entry of a row that was there and went, or NO_ENTRY */
	ItemPointerData replaced;	/* that row if it is none of the load, or invalid */
	bool		sorted;			/* it has a key that was looked up */
	LookupPlace found;			/* where */
} WaitingRow;

/* What is found of the row of an entry. */
typedef enum Standing
{
	STANDING_UNKNOWN,
	STANDING_THERE,
	STANDING_DEAD
} Standing;

struct ArbiterBatch
{
	LeafContext *context;
	Leaf	   *leaf;
	Relation	index;
	IndexInfo  *info;
	KeyShape   *shape;
	Lookup	   *lookup;
	Size		budget;			/* of maintenance_work_mem */
	bool		replaces;		/* keep_new */
	bool		shows;			/* each duplicate, with its bytes */
	bool		notes;			/* each of what was replaced, or displaced */
	Bitmapset  *indexed;		/* columns that indexes know, offset as in the server */
	int			nnoted;
	TupleTableSlot *slot;		/* a row that waits */
	TupleTableSlot *standing;	/* a row that may be in its way */
	StringInfoData keys[2];		/* theirs, when they are compared */

	/* the rows that wait */
	MemoryContext waiting;
	Arena		arena;
	WaitingRow *rows;
	ItemPointerData *tids;		/* of those that are stored */
	uint32		nrows;
	uint32		capacity;
	Size		bytes;

	uint32		first;			/* the first with the key that is looked up, or inserted */
	Presort    *presort;		/* their keys, until new rows have their entries */

	/* those that are looked at together */
	MemoryContext scratch;
	Candidates	candidates;
	RowId	   *lost;			/* rows that were stored, but others have their keys */
	uint32		nlost;
	uint32		lost_capacity;
};

/* For their keys, and as much for those of other indexes; the rest is for rows. */
static inline Size
memory_for_keys(const ArbiterBatch *batch)
{
	Size		memory = batch->budget / 8 * 5;

	return batch->leaf->rri->ri_NumIndices > 1 ? memory / 2 : memory;
}

/* For rows. */
static inline Size
memory_for_rows(const ArbiterBatch *batch)
{
	return batch->budget / 8 * 3;
}

/* ---- a row that waits ---- */

/* Shows a row in the slot, and to expressions. */
static void
show_row(ArbiterBatch *batch, uint32 number)
{
	EState	   *estate = batch->context->writer->estate;

	ResetPerTupleExprContext(estate);
	ExecStoreHeapTuple(batch->rows[number].tuple, batch->slot, false);
	batch->slot->tts_tableOid = RelationGetRelid(batch->leaf->rri->ri_RelationDesc);
	GetPerTupleExprContext(estate)->ecxt_scantuple = batch->slot;
	batch->context->writer->current_row = number;
}

/* The key of the row in a slot; false: the index has none of it, or it is equal to no other. */
static bool
form_key(ArbiterBatch *batch, TupleTableSlot *slot, Datum *values, bool *isnull)
{
	EState	   *estate = batch->context->writer->estate;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	bool		judged;

	GetPerTupleExprContext(estate)->ecxt_scantuple = slot;
	judged = entries_has_row(batch->info, estate);
	if (judged)
	{
		FormIndexDatum(batch->info, slot, estate, values, isnull);
		for (int i = 0; i < batch->shape->nkeys; i++)
			judged &= !isnull[i] || batch->info->ii_NullsNotDistinct;
	}
	MemoryContextSwitchTo(old);
	return judged;
}

/* ---- looking up ---- */

static void
take_row(void *arg, RowId row, bool first)
{
	ArbiterBatch *batch = arg;

	uint32		number = candidates_row_number(row);

	if (first)
		batch->first = number;
	batch->rows[number].first = batch->first;
	batch->rows[batch->first].last = number;
}

static void
take_place(void *arg, RowId row, const LookupPlace *place)
{
	ArbiterBatch *batch = arg;

	batch->rows[candidates_row_number(row)].found = *place;
}

static void
take_entry(void *arg, RowId row, const ItemPointerData *tid, bool visible)
{
	ArbiterBatch *batch = arg;
	uint32		number = candidates_row_number(row);
	WaitingRow *waiting = &batch->rows[number];

	if (visible && !batch->replaces)
		waiting->keys = FATE_DUPLICATE;
	if (waiting->keys == FATE_DUPLICATE)
		return;
	waiting->keys = FATE_ASK;
	waiting->nentries++;
	candidates_add(&batch->candidates, batch->scratch, tid, number);
}

/* Looks up the keys of rows from first on, as many as fit; returns how many rows. */
static uint32
look_up(ArbiterBatch *batch, uint32 first)
{
	Size		budget = memory_for_keys(batch);
	MemoryContext old = MemoryContextSwitchTo(batch->scratch);
	Presort    *presort = presort_open(batch->shape, budget, (PresortOptions) {.stays = true});
	KeySink		keys = lookup_keys(batch->lookup);
	uint32		i;

	for (i = first; i < batch->nrows; i++)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];
		ItemPointerData tid;

		if (i % ROWS_AT_ONCE == 0)
		{
			CHECK_FOR_INTERRUPTS();
			if (i > first && presort_memory(presort) >= budget)
				break;
		}
		batch->rows[i].first = batch->rows[i].last = i;
		batch->rows[i].keys = FATE_NEW;
		batch->rows[i].nentries = 0;
		batch->rows[i].gone = NO_ENTRY;
		ItemPointerSetInvalid(&batch->rows[i].replaced);
		show_row(batch, i);
		batch->rows[i].sorted = form_key(batch, batch->slot, values, isnull);
		if (!batch->rows[i].sorted)
			continue;
		candidates_number_tid(i, &tid);
		MemoryContextSwitchTo(GetPerTupleMemoryContext(batch->context->writer->estate));
		presort_put(presort, &tid, values, isnull, true);
		MemoryContextSwitchTo(batch->scratch);
	}
	batch->context->writer->current_row = -1;
	presort_finish(presort, &keys);
	lookup_end(batch->lookup);
	batch->presort = presort;
	MemoryContextSwitchTo(old);
	return i - first;
}

/* ---- rows that may be in the way ---- */

/* Whether the row that was fetched still has the key of the one that waits. */
static bool
has_key(ArbiterBatch *batch, uint32 number)
{
	TupleTableSlot *slots[2] = {batch->slot, batch->standing};
	EState	   *estate = batch->context->writer->estate;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	bool		judged = true;

	show_row(batch, number);
	for (int i = 0; i < 2 && judged; i++)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		judged = form_key(batch, slots[i], values, isnull);
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
		if (isnull[0] != isnull[1] ||
			(!isnull[0] &&
			 !datumIsEqual(values[0], values[1], attribute->attbyval, attribute->attlen)))
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
	bool		enters;

	show_row(batch, number);
	if (compat_table_update(batch->leaf->rri->ri_RelationDesc, &batch->standing->tts_tid,
							batch->slot, context->cid, GetActiveSnapshot(), &failure,
							&enters) != TM_Ok)
		return false;
	batch->tids[number] = batch->slot->tts_tid;
	leaf_note_place(context, batch->leaf, batch->slot);
	/* others may have taken the room meanwhile */
	batch->rows[first].keys = enters ? FATE_NEW : FATE_STORED;
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
	bool		found;
	Standing	standing = STANDING_UNKNOWN;

	InitDirtySnapshot(dirty);
	row_tid(candidate->standing, &tid);
	found = table_index_fetch_tuple(fetch, &tid, &dirty, batch->standing, &again, NULL);
	if (!found)
		standing = STANDING_DEAD;
	else if (!TransactionIdIsValid(dirty.xmin) && !TransactionIdIsValid(dirty.xmax) &&
			 arbiter_may_see(rel, batch->standing) && has_key(batch, candidate->number) &&
			 (!batch->replaces || replace_standing(batch, candidate)))
		standing = STANDING_THERE;
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

static void
fetch_candidates(ArbiterBatch *batch)
{
	IndexFetchTableData *fetch;

	if (batch->candidates.n == 0)
		return;
	candidates_sort(&batch->candidates);
	fetch = table_index_fetch_begin(batch->leaf->rri->ri_RelationDesc);
	for (uint32 i = 0; i < batch->candidates.n; i++)
	{
		const Candidate *candidate = &batch->candidates.list[i];

		if (i % ROWS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		candidates_read_ahead(&batch->candidates, batch->leaf->rri->ri_RelationDesc, i);
		if (batch->rows[candidate->number].keys != FATE_ASK)
			continue;
		settle_key(batch, candidate, settle_candidate(batch, fetch, candidate));
		if (throttle_active != NULL)
		{
			/* not with a page pinned, for which VACUUM would wait, too */
			table_index_fetch_reset(fetch);
			throttle_wait();
		}
	}
	table_index_fetch_end(fetch);
	batch->context->writer->current_row = -1;
}

/* ---- fates ---- */

/*
 * Each row's fate, from that of its key.  Of rows about whose key is to be asked
 * and that displace each other all are asked about, as each may be in the way of the next.
 */
static void
give_fates(ArbiterBatch *batch, uint32 first, uint32 n)
{
	for (uint32 i = first; i < first + n; i++)
	{
		WaitingRow *row = &batch->rows[i];
		const WaitingRow *leading = &batch->rows[row->first];
		uint32		winner = batch->replaces ? leading->last : row->first;

		if (leading->keys == FATE_ASK && batch->replaces)
			row->fate = FATE_ASK;
		else
			row->fate = i == winner ? leading->keys : FATE_DUPLICATE;
	}
}

/* ---- storing ---- */

/* Leaves a row to the arbiter. */
static void
ask(ArbiterBatch *batch, uint32 number)
{
	show_row(batch, number);
	batch->rows[number].fate = leaf_insert(batch->context, batch->leaf, batch->slot) ?
		FATE_STORED : FATE_DUPLICATE;
	batch->context->writer->current_row = -1;
}

static void
ask_all(ArbiterBatch *batch, uint32 first, uint32 n)
{
	for (uint32 i = first; i < first + n; i++)
		if (batch->rows[i].fate == FATE_ASK)
			ask(batch, i);
}

static void
take_lost(void *arg, RowId row)
{
	ArbiterBatch *batch = arg;

	if (batch->nlost == batch->lost_capacity)
	{
		batch->lost_capacity = Max(2 * batch->lost_capacity, 64);
		batch->lost = batch->lost == NULL ?
			MemoryContextAlloc(batch->scratch, batch->lost_capacity * sizeof(RowId)) :
			repalloc_huge(batch->lost, batch->lost_capacity * sizeof(RowId));
	}
	batch->lost[batch->nlost++] = row;
}

static int
compare_rows(const void *a, const void *b)
{
	RowId		row_a = *(const RowId *) a;
	RowId		row_b = *(const RowId *) b;

	return (row_a > row_b) - (row_a < row_b);
}

/* For the inserter: whether the row of an entry with the key that it inserts was deleted here. */
static bool
has_gone(void *arg, const ItemPointerData *tid)
{
	const ArbiterBatch *batch = arg;

	return batch->rows[batch->first].gone == row_id(tid, true);
}

/* For the entries: whether the key of the row that is stored has been sorted for the lookup. */
static bool
is_sorted(void *arg)
{
	const ArbiterBatch *batch = arg;

	return batch->rows[batch->context->writer->current_row].sorted;
}

/* For the inserter: where a row that is new has been stored, and its key looked for. */
static bool
find_new(void *arg, RowId sorted, RowId *row, const LookupPlace **place)
{
	ArbiterBatch *batch = arg;
	uint32		number = candidates_row_number(sorted);

	if (batch->rows[number].fate != FATE_NEW)
		return false;
	Assert(ItemPointerIsValid(&batch->tids[number]));
	*row = row_id(&batch->tids[number], true);
	batch->first = batch->rows[number].first;
	*place = &batch->rows[batch->first].found;
	return true;
}

/* Takes back rows whose keys others were faster to enter; they are to be asked about. */
static void
take_back(ArbiterBatch *batch, uint32 first, uint32 n)
{
	if (batch->nlost == 0)
		return;
	arbiter_advance_command(batch->context);
	qsort(batch->lost, batch->nlost, sizeof(RowId), compare_rows);
	for (uint32 i = first; i < first + n; i++)
	{
		RowId		row = row_id(&batch->tids[i], true);

		if (batch->rows[i].fate != FATE_NEW ||
			bsearch(&row, batch->lost, batch->nlost, sizeof(RowId), compare_rows) == NULL)
			continue;
		CHECK_FOR_INTERRUPTS();
		simple_heap_delete(batch->leaf->rri->ri_RelationDesc, &batch->tids[i]);
		batch->rows[i].fate = FATE_ASK;
	}
	batch->nlost = 0;
	arbiter_advance_command(batch->context);
	ask_all(batch, first, n);
}

static void
store_new(ArbiterBatch *batch, uint32 first, uint32 n)
{
	Leaf	   *leaf = batch->leaf;

	for (uint32 i = first; i < first + n; i++)
	{
		if (batch->rows[i].fate != FATE_NEW)
			continue;
		if (ItemPointerIsValid(&batch->tids[i]))
		{
			/* it is a new version of a row that was there, on another page */
			show_row(batch, i);
			batch->slot->tts_tid = batch->tids[i];
			leaf_follow_up(batch->context, leaf, batch->slot, leaf->entries);
			continue;
		}
		leaf_put_tuple(batch->context, leaf, batch->rows[i].tuple, i);
		if (leaf_is_full(leaf))
		{
			CHECK_FOR_INTERRUPTS();
			leaf_flush(batch->context, leaf);
		}
	}
	leaf_flush(batch->context, leaf);
	entries_sorted(leaf->entries, batch->presort, find_new);
	leaf_flush_entries(batch->context, leaf);
	presort_close(batch->presort);
	batch->context->writer->current_row = -1;
	take_back(batch, first, n);
}

/* ---- duplicates ---- */

static void
tell_duplicates(ArbiterBatch *batch, uint32 first, uint32 n)
{
	Writer	   *writer = batch->context->writer;
	const LateDuplicates *late = &writer->late;
	int64		unseen = late->unseen(late->arg);
	int64		more = 0;

	for (uint32 i = first; i < first + n; i++)
	{
		WaitingRow *row = &batch->rows[i];

		if (row->fate != FATE_DUPLICATE)
			continue;
		if (more < unseen)
		{
			more++;
			continue;
		}
		late->count(late->arg, REJECT_DUPLICATE, more);
		more = 0;
		show_row(batch, i);
		arbiter_set_aside(batch->context, batch->leaf->arbiter, batch->slot);
		late->reject(late->arg, &row->place, row->raw, &writer->duplicate);
		unseen = late->unseen(late->arg);
	}
	late->count(late->arg, REJECT_DUPLICATE, more);
	writer->current_row = -1;
}

/* Has a row written down that goes to the reject stream at the end, in the order of the input. */
static void
note(ArbiterBatch *batch, uint32 number, RejectReason reason, TupleTableSlot *slot)
{
	LeafContext *context = batch->context;
	BadRow		row = {
		.place = batch->rows[number].place,
		.reason = reason,
		.table = batch->leaf->checked,
		.key = RelationGetRelid(batch->index)
	};
	MemoryContext old =
		MemoryContextSwitchTo(GetPerTupleMemoryContext(context->writer->estate));

	row.value = duplicates_key(batch->index, batch->info, slot, context->writer->estate);
	if (reason == REJECT_REPLACED && context->options->reject_table != NULL)
		row.row = duplicates_row(arbiter_root(batch->leaf->rri),
								 batch->leaf->rri->ri_RelationDesc, slot);
	checks_replace(context->checks, &row);
	MemoryContextSwitchTo(old);
	batch->nnoted++;
}

static inline bool
is_noted(const ArbiterBatch *batch)
{
	return batch->notes || batch->nnoted < REJECTS_FIRST;
}

/* Notes the row of the table that a row has replaced.  It is dead, and still there. */
static void
note_replaced(ArbiterBatch *batch, uint32 number)
{
	Relation	rel = batch->leaf->rri->ri_RelationDesc;

	if (!table_tuple_fetch_row_version(rel, &batch->rows[number].replaced, SnapshotAny,
									   batch->standing))
		elog(ERROR, "could not fetch the row that was replaced");
	note(batch, number, REJECT_REPLACED, batch->standing);
	ExecClearTuple(batch->standing);
}

/* The same where rows are replaced: which were, and which others of the batch displace. */
static void
tell_replaced(ArbiterBatch *batch, uint32 first, uint32 n)
{
	const LateDuplicates *late = &batch->context->writer->late;
	int64		replaced = 0;
	int64		duplicates = 0;

	for (uint32 i = first; i < first + n; i++)
	{
		const WaitingRow *row = &batch->rows[i];
		bool		replaces = ItemPointerIsValid(&row->replaced);

		if (!replaces && row->fate != FATE_DUPLICATE)
			continue;
		if (!is_noted(batch))
		{
			replaced += replaces;
			duplicates += row->fate == FATE_DUPLICATE;
			continue;
		}
		show_row(batch, i);
		if (replaces)
			note_replaced(batch, i);
		if (row->fate == FATE_DUPLICATE)
			note(batch, i, REJECT_DUPLICATE, batch->slot);
	}
	late->count(late->arg, REJECT_REPLACED, replaced);
	late->count(late->arg, REJECT_DUPLICATE, duplicates);
	batch->context->writer->current_row = -1;
}

/* ---- the batch ---- */

/* Asks about each. */
static void
settle_few(ArbiterBatch *batch)
{
	for (uint32 i = 0; i < batch->nrows; i++)
	{
		batch->rows[i].fate = FATE_ASK;
		ask(batch, i);
	}
	if (!batch->replaces)
		tell_duplicates(batch, 0, batch->nrows);
	ExecClearTuple(batch->slot);
}

/* Looks at rows from first on together; returns how many. */
static uint32
settle(ArbiterBatch *batch, uint32 first)
{
	uint32		n;

	/* what has been stored may have to go again */
	if (batch->replaces)
		arbiter_advance_command(batch->context);
	n = look_up(batch, first);
	fetch_candidates(batch);
	give_fates(batch, first, n);
	ask_all(batch, first, n);
	store_new(batch, first, n);
	if (batch->replaces)
		tell_replaced(batch, first, n);
	else
		tell_duplicates(batch, first, n);

	ExecClearTuple(batch->slot);
	MemoryContextReset(batch->scratch);
	batch->candidates = (Candidates) {0};
	batch->lost = NULL;
	batch->lost_capacity = 0;
	return n;
}

/* For the writer. */
static bool
find_place(void *arg, const ItemPointerData *tid, JournalPlace *place)
{
	ArbiterBatch *batch = arg;
	int64		number = batch->context->writer->current_row;

	if (tid != NULL)
		for (number = 0; number < batch->nrows; number++)
			if (ItemPointerEquals(&batch->tids[number], unconstify(ItemPointerData *, tid)))
				break;
	if (number < 0 || number >= batch->nrows)
		return false;
	*place = batch->rows[number].place;
	return true;
}

/* The memory goes back: the next rows may be those of another partition. */
static void
forget_rows(ArbiterBatch *batch)
{
	batch->context->asking -= batch->bytes;
	batch->bytes = 0;
	batch->nrows = batch->capacity = 0;
	batch->rows = NULL;
	batch->tids = NULL;
	MemoryContextReset(batch->waiting);
	arena_init(&batch->arena, batch->waiting, ARENA_BLOCK);
}

void
arbiter_batch_flush(ArbiterBatch *batch)
{
	LeafContext *context = batch->context;
	Writer	   *writer = context->writer;
	EState	   *estate = writer->estate;
	ExprContext *next_row = GetPerTupleExprContext(estate);

	if (batch->nrows == 0)
		return;
	leaf_prepare(context, batch->leaf);
	/* the row that made room for itself still has its values in its context */
	estate->es_per_tuple_exprcontext = context->flush_econtext;
	writer->current_row = -1;
	writer->find_place = find_place;
	writer->find_place_arg = batch;
	for (uint32 i = 0; i < batch->nrows; i++)
		ItemPointerSetInvalid(&batch->tids[i]);
	batch->leaf->tids = batch->tids;

	if (batch->nrows < ROWS_TO_SORT)
		settle_few(batch);
	else
		for (uint32 first = 0; first < batch->nrows;)
			first += settle(batch, first);

	batch->leaf->tids = NULL;
	writer->find_place = NULL;
	estate->es_per_tuple_exprcontext = next_row;
	forget_rows(batch);
}

static void
reserve_rows(ArbiterBatch *batch)
{
	batch->capacity = Max(2 * batch->capacity, FIRST_ROWS);
	if (batch->rows == NULL)
	{
		batch->rows = MemoryContextAlloc(batch->waiting,
										 batch->capacity * sizeof(WaitingRow));
		batch->tids = MemoryContextAlloc(batch->waiting,
										 batch->capacity * sizeof(ItemPointerData));
		return;
	}
	batch->rows = repalloc_huge(batch->rows, batch->capacity * sizeof(WaitingRow));
	batch->tids = repalloc_huge(batch->tids, batch->capacity * sizeof(ItemPointerData));
}

Arena *
arbiter_batch_arena(ArbiterBatch *batch)
{
	return &batch->arena;
}

void
arbiter_batch_put(ArbiterBatch *batch, HeapTuple tuple, uint32 number)
{
	const Journal *journal = batch->context->journal;
	WaitingRow *row;
	Size		size;

	if (batch->nrows == batch->capacity)
		reserve_rows(batch);
	row = &batch->rows[batch->nrows++];
	row->tuple = tuple;
	row->raw = NULL;
	journal_locate(journal, number, &row->place);
	size = sizeof(WaitingRow) + sizeof(ItemPointerData) +
		MAXALIGN(sizeof(HeapTupleData)) + MAXALIGN(tuple->t_len);
	if (batch->shows)
	{
		char	   *raw = arena_alloc(&batch->arena, row->place.length);

		memcpy(raw, journal->reader->data + journal->reader->rows[number].start,
			   row->place.length);
		row->raw = raw;
		size += MAXALIGN(row->place.length);
	}
	batch->bytes += size;
	batch->context->asking += size;
}

Size
arbiter_batch_memory(const ArbiterBatch *batch)
{
	return batch->bytes;
}

bool
arbiter_batch_full(const ArbiterBatch *batch)
{
	return batch->context->asking >= memory_for_rows(batch);
}

/* With keep_new: whether rows may go with nobody being told, and for good. */
static bool
may_replace(const LeafContext *context, const Leaf *leaf)
{
	Relation	rel = leaf->rri->ri_RelationDesc;
	const TriggerDesc *triggers = leaf->rri->ri_TrigDesc;

	if (context->options->on_duplicate == BULK_ON_DUPLICATE_KEEP_OLD)
		return leaf->checked == CHECKS_NOTHING;
	return !tables_may_repeat(arbiter_root(leaf->rri), context->options) &&
		!tables_may_repeat(rel, context->options) && context->delete_capture == NULL &&
		(triggers == NULL ||
		 (!triggers->trig_delete_before_row && !triggers->trig_delete_after_row));
}

/* Whether rows of the leaf need nothing at their turn but to know who has their keys. */
static bool
serves(const LeafContext *context, const Leaf *leaf)
{
	const BulkOptions *options = context->options;
	Relation	index;
	IndexInfo  *info;

	return leaf->arbiter != NULL && may_replace(context, leaf) &&
		options->on_error != BULK_ON_ERROR_SET_NULL &&
		arbiter_only_index(leaf->arbiter, &index, &info) && inserter_serves(index) &&
		context->entries_budget > 0 && leaf->former != NULL &&
		!leaf->before_row && !leaf->instead_row && !leaf->after_row && !leaf->keys_first &&
		!constraints_volatile(leaf->constraints) &&
		!constraints_types_volatile(RelationGetDescr(leaf->rri->ri_RelationDesc)) &&
		!RelationIsLogicallyLogged(leaf->rri->ri_RelationDesc);
}

/* Columns of indexes, of their expressions and predicates. */
static Bitmapset *
find_indexed(const ResultRelInfo *rri)
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

ArbiterBatch *
arbiter_batch_open(LeafContext *context, Leaf *leaf)
{
	const BulkOptions *options = context->options;
	Relation	rel = leaf->rri->ri_RelationDesc;
	ArbiterBatch *batch;
	LookupSink	sink;
	EntriesTrial trial;
	MemoryContext old;

	if (!serves(context, leaf))
		return NULL;
	old = MemoryContextSwitchTo(context->writer->estate->es_query_cxt);
	batch = palloc0(sizeof(ArbiterBatch));
	(void) arbiter_only_index(leaf->arbiter, &batch->index, &batch->info);
	batch->context = context;
	batch->leaf = leaf;
	batch->budget = context->entries_budget;
	batch->replaces = options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW;
	batch->shows = !batch->replaces &&
		(options->reject_table != NULL || options->reject_file != NULL);
	batch->notes = options->reject_table != NULL || options->reject_file != NULL ||
		options->log_verbosity == BULK_VERBOSITY_VERBOSE || options->duplicate_limit >= 0;
	batch->indexed = batch->replaces ? find_indexed(leaf->rri) : NULL;
	batch->shape = shape_open(batch->index);
	sink = (LookupSink) {.row = take_row,.place = take_place,.entry = take_entry,.arg = batch};
	batch->lookup = lookup_open(rel, batch->index, batch->shape, &sink);
	batch->slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
	batch->standing = table_slot_create(rel, NULL);
	initStringInfo(&batch->keys[0]);
	initStringInfo(&batch->keys[1]);
	batch->scratch = AllocSetContextCreate(CurrentMemoryContext, "bulk_load duplicates",
										   ALLOCSET_DEFAULT_SIZES);
	batch->waiting = AllocSetContextCreate(CurrentMemoryContext, "bulk_load rows with keys",
										   ALLOCSET_SMALL_SIZES);
	arena_init(&batch->arena, batch->waiting, ARENA_BLOCK);
	trial = (EntriesTrial) {.lost = take_lost,.gone = has_gone,.is_sorted = is_sorted,.arg = batch};
	leaf->entries = entries_open(leaf->rri, memory_for_keys(batch), 0);
	entries_try(leaf->entries, batch->index, &trial);
	MemoryContextSwitchTo(old);
	return batch;
}

void
arbiter_batch_close(ArbiterBatch *batch)
{
	ExecDropSingleTupleTableSlot(batch->slot);
	ExecDropSingleTupleTableSlot(batch->standing);
}
