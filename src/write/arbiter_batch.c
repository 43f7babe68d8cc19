/*
 * arbiter_batch.c
 *		See arbiter_batch.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "server/compat.h"
#include "utils/memutils.h"
#include "write/arbiter.h"
#include "write/arbiter_batch.h"
#include "write/arbiter_batch_dead.h"
#include "write/arbiter_batch_merge.h"
#include "write/arbiter_batch_serves.h"
#include "write/arbiter_batch_standing.h"
#include "write/arbiter_batch_tell.h"
#include "write/leaf.h"

/* So few rows are asked about one by one: sorting them does not pay. */
#ifndef ROWS_TO_SORT
#define ROWS_TO_SORT 32
#endif

/* Memory is taken in small steps, as there may be a batch for each of many partitions. */
#define FIRST_ROWS 64
#define ARENA_BLOCK (16 * 1024)

/* For their keys, and as much for those of other indexes; the rest is for rows. */
static inline Size
memory_for_keys(const ArbiterBatch *batch)
{
	Size		memory = batch->budget / 8 * (batch->merge != NULL ? 4 : 5);

	return batch->leaf->rri->ri_NumIndices > 1 ? memory / 2 : memory;
}

/* For rows. */
static inline Size
memory_for_rows(const ArbiterBatch *batch)
{
	return batch->merge != NULL ? batch_merge_memory(batch->budget) : batch->budget / 8 * 3;
}

/* ---- looking up ---- */

/* Rows come in the order of their keys, in which they do not lie in memory. */
static void
fetch_row(void *arg, RowId row)
{
	const ArbiterBatch *batch = arg;

	batch_fetch_row(batch, candidates_row_number(row));
}

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
	{
		arbiter_note_read(batch->leaf->rri->ri_RelationDesc, tid);
		waiting->keys = FATE_DUPLICATE;
	}
	if (waiting->keys == FATE_DUPLICATE)
		return;
	waiting->keys = FATE_ASK;
	waiting->nentries++;
	candidates_add(&batch->candidates, batch->scratch, tid, number);
}

/* Looks up the keys of rows [first, end), as many as fit; returns how many rows. */
static uint32
look_up(ArbiterBatch *batch, uint32 first, uint32 end)
{
	Size		budget = memory_for_keys(batch);
	MemoryContext old = MemoryContextSwitchTo(batch->scratch);
	Presort    *presort = presort_open(batch->shape, budget, (PresortOptions) {.stays = true});
	KeySink		keys = lookup_keys(batch->lookup);
	uint32		i;

	for (i = first; i < end; i++)
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
		batch->rows[i].gone = batch->rows[i].dead = NO_ENTRY;
		ItemPointerSetInvalid(&batch->rows[i].replaced);
		batch->rows[i].sorted = false;
		if (batch->merge != NULL)
			batch->merging[i].key = NULL;
		/* another index has its key */
		if (batch->rows[i].fate == FATE_DUPLICATE)
			continue;
		batch_show_row(batch, i);
		batch->rows[i].sorted = batch_form_key(batch, batch->slot, values, isnull);
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

static void
end_lookup(ArbiterBatch *batch)
{
	if (batch->presort != NULL)
		presort_close(batch->presort);
	batch->presort = NULL;
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

static void
use_index(ArbiterBatch *batch, int judge)
{
	const JudgingIndex *index = &batch->judges[judge];

	batch->index = index->index;
	batch->info = index->info;
	batch->shape = index->shape;
	batch->lookup = index->lookup;
}

/* What has been found of the keys in one of several indexes. */
static void
take_fates(ArbiterBatch *batch, Fates *fates, int judge, uint32 first, uint32 n)
{
	for (uint32 i = first; i < first + n; i++)
	{
		WaitingRow *row = &batch->rows[i];
		Fate		key = batch->rows[row->first].keys;

		if (!row->sorted)
			continue;
		/* entries_put has all keys sorted anew, without those of rows that are set aside */
		row->sorted = false;
		if (key == FATE_DUPLICATE)
		{
			row->fate = FATE_DUPLICATE;
			row->judge = judge;
		}
		else
			fates_put(fates, judge, i - first, row->first - first, key);
	}
}

/* With several indexes: looks at all, and gives each row its fate; returns how many rows. */
static uint32
look_at_several(ArbiterBatch *batch, uint32 first)
{
	MemoryContext old = MemoryContextSwitchTo(batch->scratch);
	uint32		n = batch->nrows - first;
	Fates	   *fates = fates_open(batch->njudges, n);
	int			judge;

	MemoryContextSwitchTo(old);
	for (int i = 0; i < batch->njudges; i++)
	{
		use_index(batch, i);
		n = look_up(batch, first, first + n);
		standing_settle(batch);
		batch->candidates = (Candidates) {0};
		end_lookup(batch);
		take_fates(batch, fates, i, first, n);
	}
	for (uint32 i = first; i < batch->nrows; i++)
	{
		WaitingRow *row = &batch->rows[i];

		/* keys of more rows did not fit */
		if (i >= first + n)
			row->fate = FATE_NEW;
		else if (row->fate != FATE_DUPLICATE)
		{
			row->fate = fates_decide(fates, i - first, &judge, &row->because);
			if (row->fate == FATE_DUPLICATE)
			{
				row->judge = judge;
				row->because += first;
			}
		}
	}
	return n;
}

/* ---- storing ---- */

/* Leaves a row to the arbiter. */
static void
ask(ArbiterBatch *batch, uint32 number)
{
	WaitingRow *row = &batch->rows[number];

	if (batch->merge != NULL)
	{
		batch_merge_ask(batch, number);
		return;
	}
	batch_show_row(batch, number);
	row->fate = leaf_insert(batch->context, batch->leaf, batch->slot) ?
		FATE_STORED : FATE_DUPLICATE;
	row->because = NO_ROW;
	if (row->fate == FATE_DUPLICATE)
		row->judge = arbiter_judge(batch->leaf->arbiter);
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

/* For the inserter: what was found of the row of an entry with the key that it inserts. */
static InserterKnown
knows_entry(void *arg, const ItemPointerData *tid)
{
	const ArbiterBatch *batch = arg;
	RowId		entry = row_id(tid, true);
	const WaitingRow *first;

	if (batch->first == NO_ROW)
		return INSERTER_UNKNOWN;
	first = &batch->rows[batch->first];
	return first->gone == entry ? INSERTER_GONE :
		first->dead == entry ? INSERTER_DEAD : INSERTER_UNKNOWN;
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
find_new(void *arg, RowId sorted, RowId *row, const LookupPlace **place, const InserterKey **own)
{
	ArbiterBatch *batch = arg;
	uint32		number = candidates_row_number(sorted);

	if (batch->rows[number].fate != FATE_NEW)
		return false;
	Assert(ItemPointerIsValid(&batch->tids[number]));
	*row = row_id(&batch->tids[number], true);
	batch->first = batch->rows[number].first;
	*place = &batch->rows[batch->first].found;
	if (batch->merge != NULL)
		*own = batch_merge_own_key(batch);
	return true;
}

static void
fetch_new(void *arg, RowId sorted)
{
	const ArbiterBatch *batch = arg;
	uint32		number = candidates_row_number(sorted);

	fetch_row(arg, sorted);
	fetch_ahead(&batch->tids[number]);
}

/* For the inserter: whether the row is the new version of one that has its key. */
static bool
stays(void *arg)
{
	return batch_merge_stays(arg);
}

/* Whether others were faster to enter a key of the earlier row for which one was set aside. */
static bool
depends_on_lost(const ArbiterBatch *batch, const WaitingRow *row)
{
	return row->fate == FATE_DUPLICATE && row->because != NO_ROW &&
		batch->rows[row->because].fate == FATE_ASK;
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

		if (depends_on_lost(batch, &batch->rows[i]))
			batch->rows[i].fate = FATE_ASK;
		if (batch->rows[i].fate != FATE_NEW ||
			bsearch(&row, batch->lost, batch->nlost, sizeof(RowId), compare_rows) == NULL)
			continue;
		CHECK_FOR_INTERRUPTS();
		simple_heap_delete(batch->leaf->rri->ri_RelationDesc, &batch->tids[i]);
		batch->rows[i].fate = FATE_ASK;
		if (batch->merge != NULL)
			batch_merge_lose(batch, i);
	}
	batch->nlost = 0;
	if (batch->merge != NULL)
		batch_merge_ask_lost(batch, first, n);
	arbiter_advance_command(batch->context);
	ask_all(batch, first, n);
}

static void
store_new(ArbiterBatch *batch, uint32 first, uint32 n)
{
	Leaf	   *leaf = batch->leaf;

	/* a key that was not sorted is equal to none that was looked up */
	batch->first = NO_ROW;
	for (uint32 i = first; i < first + n; i++)
	{
		if (batch->rows[i].fate != FATE_NEW)
			continue;
		if (ItemPointerIsValid(&batch->tids[i]))
		{
			/* it is a new version of a row that was there, on another page */
			batch_show_row(batch, i);
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
	if (batch->presort != NULL)
		entries_sorted(leaf->entries, batch->presort,
					   &(InserterRows) {.find = find_new,.ahead = fetch_new,
						   .dead = dead_on_leaf,.arg = batch});
	batch->first = NO_ROW;
	leaf_flush_entries(batch->context, leaf);
	end_lookup(batch);
	batch->context->writer->current_row = -1;
	take_back(batch, first, n);
}

/* ---- the batch ---- */

/* Tells what has become of rows, but of those that were simply stored. */
static void
tell(ArbiterBatch *batch, uint32 first, uint32 n)
{
	if (batch->merge != NULL)
		batch_merge_tell(batch, first, n);
	else if (batch->replaces)
		tell_replaced(batch, first, n);
	else
		tell_duplicates(batch, first, n);
}

/* Asks about each. */
static void
settle_few(ArbiterBatch *batch)
{
	for (uint32 i = 0; i < batch->nrows; i++)
	{
		batch->rows[i].fate = FATE_ASK;
		ask(batch, i);
	}
	if (!batch->replaces || batch->merge != NULL)
		tell(batch, 0, batch->nrows);
	ExecClearTuple(batch->slot);
}

/* Forgets what was looked at together. */
static void
forget_scratch(ArbiterBatch *batch)
{
	ExecClearTuple(batch->slot);
	MemoryContextReset(batch->scratch);
	batch->candidates = (Candidates) {0};
	batch->dead = (DeadEntries) {0};
	batch->lost = NULL;
	batch->lost_capacity = 0;
}

/* With one index: looks at it, and gives each row its fate; returns how many rows. */
static uint32
look_at_one(ArbiterBatch *batch, uint32 first)
{
	uint32		n = batch->nrows - first;

	/* where fewer did fit before, no more than that is likely to do so */
	if (batch->fitting > 0)
		n = Min(n, 2 * batch->fitting);
	for (;;)
	{
		n = look_up(batch, first, first + n);
		standing_settle(batch);
		if (batch->merge == NULL)
			give_fates(batch, first, n);
		if (batch->merge == NULL || batch_merge_settle(batch, first, n))
			return n;
		end_lookup(batch);
		forget_scratch(batch);
		n /= 2;
		batch->fitting = n;
	}
}

/* Looks at rows from first on together; returns how many. */
static uint32
settle(ArbiterBatch *batch, uint32 first)
{
	uint32		n;

	/* what has been stored may have to go again */
	if (batch->replaces)
		arbiter_advance_command(batch->context);
	n = batch->njudges > 1 ? look_at_several(batch, first) : look_at_one(batch, first);
	ask_all(batch, first, n);
	store_new(batch, first, n);
	tell(batch, first, n);
	forget_scratch(batch);
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
			if (ItemPointerIsValid(&batch->tids[number]) &&
				ItemPointerEquals(&batch->tids[number], unconstify(ItemPointerData *, tid)))
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
	batch->fitting = 0;
	batch->rows = NULL;
	batch->tids = NULL;
	batch->merging = NULL;
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
	double		storing = writer->storing;
	instr_time	start;
	instr_time	end;

	if (batch->nrows == 0)
		return;
	/* rows cannot be replaced there, nor taken back */
	Assert(!IsInParallelMode());
	INSTR_TIME_SET_CURRENT(start);
	leaf_prepare(context, batch->leaf);
	/* the row that made room for itself still has its values in its context */
	estate->es_per_tuple_exprcontext = context->flush_econtext;
	writer->current_row = -1;
	writer->find_place = find_place;
	writer->find_place_arg = batch;
	for (uint32 i = 0; i < batch->nrows; i++)
		ItemPointerSetInvalid(&batch->tids[i]);
	batch->leaf->tids = batch->tids;
	if (batch->merge != NULL)
		batch_merge_enter(batch);

	if (batch->nrows < ROWS_TO_SORT)
		settle_few(batch);
	else
		for (uint32 first = 0; first < batch->nrows;)
			first += settle(batch, first);

	if (batch->merge != NULL)
		batch_merge_leave(batch);
	batch->leaf->tids = NULL;
	writer->find_place = NULL;
	estate->es_per_tuple_exprcontext = next_row;
	forget_rows(batch);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	writer->storing = storing + INSTR_TIME_GET_DOUBLE(end);
}

/* Room for more in an array of the rows that wait, NULL at first. */
static void *
reserve(ArbiterBatch *batch, void *array, Size size)
{
	return array == NULL ? MemoryContextAlloc(batch->waiting, batch->capacity * size) :
		repalloc_huge(array, batch->capacity * size);
}

static void
reserve_rows(ArbiterBatch *batch)
{
	batch->capacity = Max(2 * batch->capacity, FIRST_ROWS);
	batch->rows = reserve(batch, batch->rows, sizeof(WaitingRow));
	batch->tids = reserve(batch, batch->tids, sizeof(ItemPointerData));
	if (batch->merge != NULL)
		batch->merging = reserve(batch, batch->merging, sizeof(MergingRow));
}

Arena *
arbiter_batch_arena(ArbiterBatch *batch)
{
	return &batch->arena;
}

void
arbiter_batch_put(ArbiterBatch *batch, HeapTuple tuple, const JournalPlace *place,
				  const char *raw)
{
	WaitingRow *row;
	Size		size;

	if (batch->merge != NULL && batch->nrows == 0)
		batch_merge_begin(batch);
	if (batch->nrows == batch->capacity)
		reserve_rows(batch);
	row = &batch->rows[batch->nrows++];
	row->tuple = tuple;
	row->raw = NULL;
	row->fate = FATE_NEW;
	row->because = NO_ROW;
	row->judge = 0;
	row->place = *place;
	size = sizeof(WaitingRow) + sizeof(ItemPointerData) +
		MAXALIGN(sizeof(HeapTupleData)) + MAXALIGN(tuple->t_len);
	if (batch->merge != NULL)
	{
		batch->merging[batch->nrows - 1] = (MergingRow) {0};
		size += sizeof(MergingRow) + batch_merge_expect(batch, tuple);
	}
	if (batch->shows)
	{
		char	   *copy = arena_alloc(&batch->arena, place->length);

		memcpy(copy, raw, place->length);
		row->raw = copy;
		size += MAXALIGN(row->place.length);
	}
	batch->bytes += size;
	batch->all_rows++;
	batch->all_bytes += size;
	batch->context->asking += size;
}

void
arbiter_batch_put_number(ArbiterBatch *batch, HeapTuple tuple, uint32 number)
{
	const Journal *journal = batch->context->journal;
	JournalPlace place;

	journal_locate(journal, number, &place);
	arbiter_batch_put(batch, tuple, &place,
					  journal->reader->data + journal->reader->rows[number].start);
}

void
arbiter_batch_put_deleting(ArbiterBatch *batch, HeapTuple tuple, uint32 number)
{
	arbiter_batch_put_number(batch, tuple, number);
	batch->merging[batch->nrows - 1].deletes = true;
}

bool
arbiter_batch_accepts(const ArbiterBatch *batch)
{
	return batch->merge == NULL || batch->nrows == 0 || !batch_merge_changed(batch);
}

Size
arbiter_batch_memory(const ArbiterBatch *batch)
{
	return batch->bytes;
}

double
arbiter_batch_rows(const ArbiterBatch *batch)
{
	return batch->all_rows == 0 ? 0 :
		memory_for_rows(batch) / (batch->all_bytes / batch->all_rows);
}

bool
arbiter_batch_full(const ArbiterBatch *batch)
{
	return batch->context->asking >= memory_for_rows(batch);
}

/* Opens the indexes that judge; new rows' entries in them are on trial. */
static void
open_judges(ArbiterBatch *batch, const EntriesTrial *trial)
{
	LookupSink	sink = {
		.row = take_row,
		.place = take_place,
		.entry = take_entry,
		.ahead = fetch_row,
		.arg = batch
	};

	batch->njudges = arbiter_count(batch->leaf->arbiter);
	batch->judges = palloc(batch->njudges * sizeof(JudgingIndex));
	for (int i = 0; i < batch->njudges; i++)
	{
		JudgingIndex *judge = &batch->judges[i];

		arbiter_index(batch->leaf->arbiter, i, &judge->index, &judge->info);
		judge->shape = shape_open(judge->index);
		judge->lookup = lookup_open(batch->leaf->rri->ri_RelationDesc, judge->index,
									judge->shape, &sink);
		entries_try(batch->leaf->entries, judge->index, trial);
	}
	use_index(batch, 0);
}

ArbiterBatch *
arbiter_batch_open(LeafContext *context, Leaf *leaf)
{
	const BulkOptions *options = context->options;
	Relation	rel = leaf->rri->ri_RelationDesc;
	ArbiterBatch *batch;
	EntriesTrial trial;
	MemoryContext old;

	if (!batch_serves(context, leaf))
		return NULL;
	old = MemoryContextSwitchTo(context->writer->estate->es_query_cxt);
	batch = palloc0(sizeof(ArbiterBatch));
	batch->context = context;
	batch->leaf = leaf;
	batch->budget = context->entries_budget;
	batch->replaces = options->on_duplicate != BULK_ON_DUPLICATE_KEEP_OLD;
	if (leaf->merge != NULL)
		batch->merge = batch_merge_open(leaf);
	batch->shows = arbiter_batch_shows(options);
	batch->notes = options_show_rejects(options) || options->duplicate_limit >= 0;
	batch->indexed = batch->replaces ? standing_indexed(leaf->rri) : NULL;
	batch->slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
	batch->standing = table_slot_create(rel, NULL);
	initStringInfo(&batch->keys[0]);
	initStringInfo(&batch->keys[1]);
	batch->scratch = AllocSetContextCreate(CurrentMemoryContext, "bulk_load duplicates",
										   ALLOCSET_DEFAULT_SIZES);
	batch->waiting = AllocSetContextCreate(CurrentMemoryContext, "bulk_load rows with keys",
										   ALLOCSET_SMALL_SIZES);
	arena_init(&batch->arena, batch->waiting, ARENA_BLOCK);
	trial = (EntriesTrial) {
		.lost = take_lost,
		.knows = knows_entry,
		.is_sorted = is_sorted,
		.stays = stays,
		.arg = batch
	};
	leaf->entries = entries_open(leaf->rri, memory_for_keys(batch), 0);
	open_judges(batch, &trial);
	if (batch->merge != NULL)
		batch_merge_keep_keys(context, leaf);
	MemoryContextSwitchTo(old);
	return batch;
}

void
arbiter_batch_close(ArbiterBatch *batch)
{
	ExecDropSingleTupleTableSlot(batch->slot);
	ExecDropSingleTupleTableSlot(batch->standing);
	if (batch->merge != NULL)
		batch_merge_close(batch->merge);
}
