/*
 * entries.c
 *		See entries.h.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "index/batch.h"
#include "index/entries.h"
#include "index/huge_array.h"
#include "index/parallel_entries.h"
#include "index/presort.h"
#include "miscadmin.h"
#include "server/progress.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/*
 * Rows that may wait for workers: what part of the memory they may take, as
 * much as their copy in shared memory; and how many at least and at most: that
 * memory may be scarce where there is plenty of the other (64 MB in a container),
 * and there are no workers without it.
 */
#define ROWS_SHARE 4
#define MIN_ROWS 10000
#define MAX_ROWS (4 * 1024 * 1024)

/* One index. */
typedef struct EntryIndex
{
	Entries    *entries;
	Relation	index;
	IndexInfo  *info;
	bool		tried;			/* a row whose key is there is lost, no error */
	bool		keeps_key;		/* see entries_keep_key */
	Batch	   *batch;			/* NULL: it is a btree */
	uint64		batched;		/* entries in it */

	/* a btree */
	KeyShape   *shape;
	Inserter   *inserter;
	Presort    *presort;		/* what waits; NULL: nothing */
} EntryIndex;

/* A row for the server. */
typedef struct Doubt
{
	RowId		row;
	int			index;
	bool		entered;		/* it has its entry */
	bool		stays;			/* although the index has a trial */
	char	   *image;
} Doubt;

struct Entries
{
	ResultRelInfo *rri;
	ResultRelInfo *others;		/* with what indexes is left; NULL: nothing */
	Size		budget;
	uint64		waiting;		/* entries that there will be, at most */
	bool		versions;		/* some are of new versions of rows */
	MemoryContext context;
	int			nindexes;
	EntryIndex *indexes;
	EntriesTrial trial;
	EntryIndex *tried;			/* the latest of those with one; NULL: none */
	Presort    *sorted;			/* its keys that the caller has sorted, or NULL */
	InserterRows sorted_rows;

	/* with workers */
	int			workers;		/* 0: keys wait; else rows */
	int			helped;			/* workers that there were, at most */
	RowId	   *rows;
	uint32		nrows;
	Size		row_capacity;
	uint32		max_rows;		/* from then on they do not wait any longer */

	/* of a flush */
	MemoryContext doubt_context;
	Doubt	   *doubts;
	int			ndoubts;
	int			capacity;
};

/* ---- preparation ---- */

bool
entries_serves(Relation index)
{
	return inserter_serves(index) || batch_routine(index) != NULL;
}

static void
take_doubt(void *arg, RowId row, const char *image, Size size, bool entered)
{
	EntryIndex *index = arg;
	Entries    *entries = index->entries;
	const EntriesTrial *trial = &entries->trial;
	Doubt	   *doubt;

	if (entries->ndoubts == entries->capacity)
	{
		entries->capacity = Max(2 * entries->capacity, 64);
		entries->doubts = entries->doubts == NULL ?
			MemoryContextAlloc(entries->doubt_context, entries->capacity * sizeof(Doubt)) :
			repalloc_huge(entries->doubts, entries->capacity * sizeof(Doubt));
	}
	doubt = &entries->doubts[entries->ndoubts++];
	doubt->row = row;
	doubt->index = index - entries->indexes;
	doubt->entered = entered;
	doubt->stays = index->tried && trial->stays != NULL && trial->stays(trial->arg);
	doubt->image = MemoryContextAlloc(entries->doubt_context, size);
	memcpy(doubt->image, image, size);
}

/* False: its entries do not wait. */
static bool
add_index(Entries *entries, Relation index, IndexInfo *info)
{
	Relation	heap = entries->rri->ri_RelationDesc;
	const BatchRoutine *routine = batch_routine(index);
	EntryIndex *entry;

	if (!info->ii_ReadyForInserts || !entries_serves(index))
		return false;
	entry = &entries->indexes[entries->nindexes++];
	entry->entries = entries;
	entry->index = index;
	entry->info = info;
	if (routine != NULL)
	{
		entry->batch = routine->open(heap, index, entries->budget);
		return true;
	}
	entry->shape = shape_open(index);
	entry->inserter = inserter_open(heap, index, info, entry->shape, take_doubt, entry);
	return true;
}

/* How many workers may help. */
static int
count_workers(const Entries *entries, int workers)
{
	IndexInfo **infos;

	if (workers == 0)
		return 0;
	infos = palloc(entries->nindexes * sizeof(IndexInfo *));
	for (int i = 0; i < entries->nindexes; i++)
		infos[i] = entries->indexes[i].info;
	return parallel_entries_are_safe(entries->rri->ri_RelationDesc, infos, entries->nindexes) ?
		workers : 0;
}

Entries *
entries_open(ResultRelInfo *rri, Size budget, int workers)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load index entries",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int			n = rri->ri_NumIndices;
	Entries    *entries = palloc0(sizeof(Entries));
	ResultRelInfo *others = palloc(sizeof(ResultRelInfo));

	entries->rri = rri;
	entries->budget = budget;
	entries->context = context;
	entries->indexes = palloc0(Max(n, 1) * sizeof(EntryIndex));
	entries->doubt_context = AllocSetContextCreate(context, "rows in doubt",
												   ALLOCSET_DEFAULT_SIZES);
	*others = *rri;
	others->ri_IndexRelationDescs = palloc(Max(n, 1) * sizeof(Relation));
	for (int i = 0; i < n; i++)
	{
		Relation	index = rri->ri_IndexRelationDescs[i];
		bool		served = index != NULL &&
			add_index(entries, index, rri->ri_IndexRelationInfo[i]);

		if (index != NULL && !served)
			entries->others = others;
		others->ri_IndexRelationDescs[i] = served ? NULL : index;
	}
	entries->workers = count_workers(entries, workers);
	entries->max_rows = Min(Max(budget / ROWS_SHARE / sizeof(RowId), MIN_ROWS), MAX_ROWS);
	MemoryContextSwitchTo(old);
	if (entries->nindexes > 0)
		return entries;
	MemoryContextDelete(context);
	return NULL;
}

void
entries_try(Entries *entries, Relation index, const EntriesTrial *trial)
{
	for (int i = 0; i < entries->nindexes; i++)
		if (entries->indexes[i].index == index)
			entries->tried = &entries->indexes[i];
	Assert(entries->tried != NULL && entries->tried->index == index && entries->workers == 0);
	entries->tried->tried = true;
	entries->trial = *trial;
	inserter_try(entries->tried->inserter, trial->knows, trial->arg);
}

void
entries_keep_key(Entries *entries, Relation index)
{
	for (int i = 0; i < entries->nindexes; i++)
		if (entries->indexes[i].index == index)
			entries->indexes[i].keeps_key = true;
}

void
entries_note_version(Entries *entries)
{
	entries->versions = true;
}

void
entries_sorted(Entries *entries, Presort *presort, const InserterRows *rows)
{
	entries->sorted = presort;
	entries->sorted_rows = *rows;
}

ResultRelInfo *
entries_others(const Entries *entries)
{
	return entries->others;
}

void
entries_tell(const Entries *entries, IndexTable *table)
{
	ListCell   *lc;

	foreach(lc, table->plans)
	{
		IndexPlan  *plan = lfirst(lc);

		for (int i = 0; i < entries->nindexes; i++)
			if (RelationGetRelid(entries->indexes[i].index) == plan->relid)
			{
				plan->in_batches = true;
				plan->processes = entries->helped + 1;
			}
	}
}

int
entries_workers(const Entries *entries)
{
	return entries->helped;
}

static Size
index_memory(const EntryIndex *index)
{
	if (index->batch != NULL)
		return index->batch->routine->memory(index->batch);
	return index->presort == NULL ? 0 :
		presort_memory(index->presort) + BATCH_PRESORT_OVERHEAD;
}

void
entries_close(Entries *entries)
{
	Assert(entries->nrows == 0);
	for (int i = 0; i < entries->nindexes; i++)
		Assert(index_memory(&entries->indexes[i]) == 0);
	MemoryContextDelete(entries->context);
}

/* ---- collecting ---- */

/* As ExecInsertIndexTuples finds. */
bool
entries_has_row(IndexInfo *info, EState *estate)
{
	if (info->ii_Predicate == NIL)
		return true;
	if (info->ii_PredicateState == NULL)
		info->ii_PredicateState = ExecPrepareQual(info->ii_Predicate, estate);
	return ExecQual(info->ii_PredicateState, GetPerTupleExprContext(estate));
}

static void
begin_presort(Entries *entries, EntryIndex *index)
{
	MemoryContext old = MemoryContextSwitchTo(entries->context);

	/*
	 * not to files: rows reuse pages in any order, so those of a key in one run
	 * might belong between those in another, and the owner looks at the memory
	 */
	index->presort = presort_open(index->shape, entries->budget,
								  (PresortOptions) {.stays = true});
	MemoryContextSwitchTo(old);
}

static void
note_waiting(Entries *entries, uint64 n)
{
	entries->waiting += n;
	progress_entries_wait(n);
}

static void
put_row(Entries *entries, RowId row)
{
	if (entries->nrows == entries->row_capacity)
		entries->rows = huge_array_grow(entries->context, entries->rows, entries->nrows,
										&entries->row_capacity, sizeof(RowId));
	entries->rows[entries->nrows++] = row;
	note_waiting(entries, entries->nindexes);
}

void
entries_put(Entries *entries, TupleTableSlot *slot, EState *estate)
{
	ExprContext *econtext = GetPerTupleExprContext(estate);
	MemoryContext old;

	if (entries->workers > 0)
	{
		put_row(entries, row_id(&slot->tts_tid, true));
		return;
	}
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	econtext->ecxt_scantuple = slot;
	for (int i = 0; i < entries->nindexes; i++)
	{
		EntryIndex *index = &entries->indexes[i];
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		if (index == entries->tried && entries->trial.is_sorted(entries->trial.arg))
		{
			note_waiting(entries, 1);
			continue;
		}
		if (!entries_has_row(index->info, estate))
			continue;
		FormIndexDatum(index->info, slot, estate, values, isnull);
		if (index->batch != NULL)
		{
			index->batch->routine->put(index->batch, &slot->tts_tid, values, isnull);
			index->batched++;
			note_waiting(entries, 1);
			continue;
		}
		if (index->presort == NULL)
			begin_presort(entries, index);
		presort_put(index->presort, &slot->tts_tid, values, isnull, true);
		note_waiting(entries, 1);
	}
	MemoryContextSwitchTo(old);
}

Size
entries_memory(const Entries *entries)
{
	Size		size = 0;

	/* rows are accounted with the memory that their keys will take */
	if (entries->workers > 0)
		return (Size) ((double) entries->budget * entries->nrows / entries->max_rows);
	for (int i = 0; i < entries->nindexes; i++)
		size += index_memory(&entries->indexes[i]);
	return size;
}

bool
entries_full(const Entries *entries)
{
	return entries_memory(entries) >= entries->budget;
}

/* ---- inserting ---- */

/* As rows come in the table, and their indexes in the server's order. */
static int
compare_doubts(const void *a, const void *b)
{
	const Doubt *doubt_a = a;
	const Doubt *doubt_b = b;

	if (doubt_a->row != doubt_b->row)
		return doubt_a->row < doubt_b->row ? -1 : 1;
	return doubt_a->index - doubt_b->index;
}

static void
ask_server(Entries *entries)
{
	if (entries->ndoubts > 1)
		qsort(entries->doubts, entries->ndoubts, sizeof(Doubt), compare_doubts);
	for (int i = 0; i < entries->ndoubts; i++)
	{
		const Doubt *doubt = &entries->doubts[i];
		EntryIndex *index = &entries->indexes[doubt->index];

		if (doubt->stays)
			inserter_judge(index->inserter, doubt->row, doubt->image, doubt->entered);
		else if (index->tried)
			entries->trial.lost(entries->trial.arg, doubt->row);
		else
			inserter_ask_server(index->inserter, doubt->row, doubt->image);
	}
	MemoryContextReset(entries->doubt_context);
	entries->doubts = NULL;
	entries->ndoubts = entries->capacity = 0;
}

/* Forms the key of a row once more, for the server. */
static void
judge_row(EntryIndex *index, IndexInfo *info, TupleTableSlot *slot, RowId row, EState *estate)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	StringInfoData image;

	FormIndexDatum(info, slot, estate, values, isnull);
	initStringInfo(&image);
	(void) shape_image(index->shape, values, isnull, &image);
	inserter_ask_server(index->inserter, row, image.data);
}

/* Rows that the server must judge, in the order of the table, and of the indexes. */
static void
judge_rows(Entries *entries, const ParallelEntries *parallel)
{
	Relation	heap = entries->rri->ri_RelationDesc;
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	IndexInfo **infos = palloc(entries->nindexes * sizeof(IndexInfo *));

	/* of their own, as what is prepared for their expressions goes with the state */
	for (int i = 0; i < entries->nindexes; i++)
		infos[i] = BuildIndexInfo(entries->indexes[i].index);
	econtext->ecxt_scantuple = slot;
	for (uint32 row = 0; row < entries->nrows; row++)
		for (int i = 0; i < entries->nindexes; i++)
		{
			MemoryContext old;
			ItemPointerData tid;

			if (!parallel_entries_is_judged(&parallel[i], row))
				continue;
			row_tid(entries->rows[row], &tid);
			if (!table_tuple_fetch_row_version(heap, &tid, SnapshotAny, slot))
				elog(ERROR, "could not find a row of the load in table \"%s\"",
					 RelationGetRelationName(heap));
			old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
			judge_row(&entries->indexes[i], infos[i], slot, entries->rows[row], estate);
			MemoryContextSwitchTo(old);
			ResetExprContext(econtext);
		}
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
}

static void
flush_rows(Entries *entries)
{
	MemoryContext context = AllocSetContextCreate(entries->context, "flush of index entries",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ParallelEntries *parallel = palloc0(entries->nindexes * sizeof(ParallelEntries));
	int			workers;

	keysort_numbers(entries->rows, entries->nrows);
	for (int i = 0; i < entries->nindexes; i++)
		parallel[i].index = entries->indexes[i].index;
	workers = parallel_entries_insert(entries->rri->ri_RelationDesc, parallel, entries->nindexes,
									  entries->rows, entries->nrows, entries->workers,
									  entries->budget / 2);
	entries->helped = Max(entries->helped, workers);
	judge_rows(entries, parallel);
	entries->nrows = 0;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
insert_batch(EntryIndex *index)
{
	index->batch->routine->insert(index->batch);
	progress_entries_done(index->batched);
	index->batched = 0;
}

void
entries_flush(Entries *entries)
{
	MemoryContext old;

	if (entries->waiting == 0 && entries->sorted == NULL)
		return;
	old = MemoryContextSwitchTo(entries->context);
	progress_entries_begin(entries->waiting);
	if (entries->nrows > 0)
		flush_rows(entries);
	for (int i = 0; i < entries->nindexes; i++)
	{
		EntryIndex *index = &entries->indexes[i];

		progress_entries_index(RelationGetRelid(index->index));
		if (index->inserter != NULL)
			inserter_expect_versions(index->inserter, entries->versions && index->keeps_key);
		if (index->batch != NULL)
			insert_batch(index);
		else
			inserter_take_all(index->inserter, &index->presort);
		if (index == entries->tried && entries->sorted != NULL)
			inserter_take_again(index->inserter, entries->sorted, &entries->sorted_rows);
	}
	entries->sorted = NULL;
	ask_server(entries);
	progress_entries_end();
	entries->waiting = 0;
	entries->versions = false;
	MemoryContextSwitchTo(old);
}

void
entries_make_room(Entries *entries)
{
	Size		half = entries_memory(entries) / 2;
	MemoryContext old;

	for (int i = 0; i < entries->nindexes; i++)
	{
		EntryIndex *index = &entries->indexes[i];

		if (index->batch == NULL || index->batch->routine->memory(index->batch) <= half)
			continue;
		old = MemoryContextSwitchTo(entries->context);
		progress_entries_begin(index->batched);
		progress_entries_index(RelationGetRelid(index->index));
		entries->waiting -= index->batched;
		insert_batch(index);
		progress_entries_end();
		MemoryContextSwitchTo(old);
		return;
	}
	entries_flush(entries);
}
