/*
 * parallel_entries.c
 *		See parallel_entries.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "index/batch.h"
#include "index/failed_row.h"
#include "index/inserter.h"
#include "index/parallel_entries.h"
#include "index/presort.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "server/progress.h"
#include "server/workers.h"
#include "storage/bufmgr.h"
#include "storage/shm_toc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define KEY_ENTRIES UINT64CONST(1)
#define KEY_ROWS UINT64CONST(2)
#define KEY_JUDGED UINT64CONST(3)

/* Seconds that the entry of a row takes, at least: whether workers are worth starting. */
#define ENTRY_SECONDS 1e-6

/* What all processes share; in shared memory if there are several. */
typedef struct SharedEntries
{
	Oid			heap;
	uint32		nrows;
	Size		memory;			/* for the keys of each process */
	SharedFailedRow failed_row;
	pg_atomic_uint32 next;		/* task that nobody has taken */
	pg_atomic_uint64 inserted;	/* entries, by all processes */
	uint32		share;			/* rows of a task, a multiple of 8; the last has less */
	uint32		ntasks;			/* share after share, each for one index after the other */
	uint32		n;
	Oid			indexes[FLEXIBLE_ARRAY_MEMBER];
} SharedEntries;

/* One index, in one process. */
typedef struct Feed
{
	const RowId *rows;
	uint32		nrows;
	uint8	   *judged;
	Size		memory;
	Batch	   *batch;			/* NULL: it is a btree */

	/* a btree */
	KeyShape   *shape;
	Inserter   *inserter;
	Presort    *presort;		/* NULL: no key has been collected */
} Feed;

PGDLLEXPORT void parallel_entries_worker_main(dsm_segment *segment, shm_toc *toc);

static Size
judged_size(uint32 nrows)
{
	return MAXALIGN(nrows / 8 + 1);
}

/* ---- one index ---- */

/* A row that the server must judge: for the caller of parallel_entries_insert. */
static void
judge_later(void *arg, RowId row, const char *image, Size size, bool entered)
{
	Feed	   *feed = arg;
	uint32		low = 0;
	uint32		high = feed->nrows;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (feed->rows[middle] < row)
			low = middle + 1;
		else
			high = middle;
	}
	Assert(low < feed->nrows && feed->rows[low] == row);
	feed->judged[low / 8] |= 1 << (low % 8);
}

static void
insert_all(Feed *feed)
{
	if (feed->batch != NULL)
		feed->batch->routine->insert(feed->batch);
	else
		inserter_take_all(feed->inserter, &feed->presort);
}

/* Keys go to the index before they would have to go to files.  row: for what a row takes. */
static void
take_key(Feed *feed, const ItemPointerData *tid, const Datum *values, const bool *isnull,
		 MemoryContext row)
{
	if (feed->batch != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(row);

		feed->batch->routine->put(feed->batch, tid, values, isnull);
		MemoryContextSwitchTo(old);
		if (feed->batch->routine->memory(feed->batch) >= feed->memory)
			insert_all(feed);
		return;
	}
	if (feed->presort == NULL)
		feed->presort = presort_open(feed->shape, feed->memory, (PresortOptions) {.stays = true});
	presort_put(feed->presort, tid, values, isnull, true);
	if (presort_memory(feed->presort) >= feed->memory)
		insert_all(feed);
}

/* Forms the keys of all rows.  The rows are this transaction's, but maybe not this process's. */
static void
take_rows(Feed *feed, Relation heap, IndexInfo *info)
{
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	ExprState  *predicate = ExecPrepareQual(info->ii_Predicate, estate);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	ItemPointerData tid;
	FailedRowContext context;

	econtext->ecxt_scantuple = slot;
	failed_row_begin(&context, heap, &tid);
	for (uint32 i = 0; i < feed->nrows; i++)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		CHECK_FOR_INTERRUPTS();
		row_tid(feed->rows[i], &tid);
		if (!table_tuple_fetch_row_version(heap, &tid, SnapshotAny, slot))
			elog(ERROR, "could not find a row of the load in table \"%s\"",
				 RelationGetRelationName(heap));
		if (predicate == NULL || ExecQual(predicate, econtext))
		{
			FormIndexDatum(info, slot, estate, values, isnull);
			take_key(feed, &tid, values, isnull, econtext->ecxt_per_tuple_memory);
		}
		ResetExprContext(econtext);
	}
	failed_row_end(&context);
	ExecDropSingleTupleTableSlot(slot);
	insert_all(feed);
	FreeExecutorState(estate);
}

/* judged: of the first of the rows, in a byte of its own. */
static void
feed_index(const SharedEntries *shared, Relation heap, Relation index, const RowId *rows,
		   uint32 nrows, uint8 *judged)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load index entries",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	IndexInfo  *info = BuildIndexInfo(index);
	const BatchRoutine *routine = batch_routine(index);
	Feed		feed = {
		.rows = rows,
		.nrows = nrows,
		.judged = judged,
		.memory = shared->memory
	};

	if (routine != NULL)
		feed.batch = routine->open(heap, index, feed.memory);
	else
	{
		feed.shape = shape_open(index);
		feed.inserter = inserter_open(heap, index, info, feed.shape, judge_later, &feed);
	}
	take_rows(&feed, heap, info);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* One task after the other that nobody has taken. */
static void
feed_tasks(SharedEntries *shared, Relation heap, const RowId *rows, uint8 *judged)
{
	uint32		task;

	while ((task = pg_atomic_fetch_add_u32(&shared->next, 1)) < shared->ntasks)
	{
		uint32		i = task % shared->n;
		uint32		first = task / shared->n * shared->share;
		Relation	index = index_open(shared->indexes[i], RowExclusiveLock);

		progress_entries_index(shared->indexes[i]);
		feed_index(shared, heap, index, rows + first, Min(shared->share, shared->nrows - first),
				   judged + i * judged_size(shared->nrows) + first / 8);
		index_close(index, NoLock);
	}
}

/* In each process. */
static void
feed_indexes(SharedEntries *shared, const RowId *rows, uint8 *judged)
{
	Relation	heap = table_open(shared->heap, RowExclusiveLock);
	pg_atomic_uint64 *before = progress_entries_together(&shared->inserted);

	PG_TRY();
	{
		feed_tasks(shared, heap, rows, judged);
	}
	PG_FINALLY();
	{
		/* an error takes the shared memory with it */
		(void) progress_entries_together(before);
	}
	PG_END_TRY();
	table_close(heap, NoLock);
}

void
parallel_entries_worker_main(dsm_segment *segment, shm_toc *toc)
{
	SharedEntries *shared;

	if (!workers_begin(toc))
		return;
	shared = shm_toc_lookup(toc, KEY_ENTRIES, false);
	PG_TRY();
	{
		feed_indexes(shared, shm_toc_lookup(toc, KEY_ROWS, false),
					 shm_toc_lookup(toc, KEY_JUDGED, false));
	}
	PG_CATCH();
	{
		failed_row_send(&shared->failed_row);
		PG_RE_THROW();
	}
	PG_END_TRY();
	workers_end(toc);
}

/* ---- the leader ---- */

bool
parallel_entries_are_safe(Relation heap, IndexInfo *const *infos, int n)
{
	List	   *expressions = NIL;

	if (RelationUsesLocalBuffers(heap))
		return false;
	for (int i = 0; i < n; i++)
	{
		expressions = list_concat(expressions, infos[i]->ii_Expressions);
		expressions = list_concat(expressions, infos[i]->ii_Predicate);
	}
	return workers_can_evaluate(expressions);
}

static int
compare_sizes(const void *a, const void *b)
{
	BlockNumber size_a = RelationGetNumberOfBlocks((*(ParallelEntries *const *) a)->index);
	BlockNumber size_b = RelationGetNumberOfBlocks((*(ParallelEntries *const *) b)->index);

	return size_a > size_b ? -1 : size_a < size_b;
}

static void *
reserve(shm_toc *toc, uint64 key, Size size)
{
	void	   *address = shm_toc_allocate(toc, size);

	shm_toc_insert(toc, key, address);
	return address;
}

/* By this process and workers, as far as any can be had; returns how many. */
static int
insert_with_workers(SharedEntries *local, Size size, const RowId *rows, uint8 *judged,
					int workers)
{
	Size		all_judged = local->n * judged_size(local->nrows);
	Size		all_rows = local->nrows * sizeof(RowId);
	ParallelContext *pcxt;
	SharedEntries *shared;
	RowId	   *shared_rows;
	uint8	   *shared_judged;
	int			launched;

	EnterParallelMode();
	pcxt = CreateParallelContext(workers_library(), "parallel_entries_worker_main", workers);
	shm_toc_estimate_chunk(&pcxt->estimator, size);
	shm_toc_estimate_chunk(&pcxt->estimator, all_rows);
	shm_toc_estimate_chunk(&pcxt->estimator, all_judged);
	shm_toc_estimate_keys(&pcxt->estimator, 3);
	workers_estimate(pcxt);
	if (!workers_initialize(pcxt))
	{
		ExitParallelMode();
		feed_indexes(local, rows, judged);
		return 0;
	}
	shared = reserve(pcxt->toc, KEY_ENTRIES, size);
	shared_rows = reserve(pcxt->toc, KEY_ROWS, all_rows);
	shared_judged = reserve(pcxt->toc, KEY_JUDGED, all_judged);
	memcpy(shared, local, size);
	pg_atomic_init_u32(&shared->next, 0);
	pg_atomic_init_u64(&shared->inserted, 0);
	failed_row_init(&shared->failed_row);
	memcpy(shared_rows, rows, all_rows);
	memset(shared_judged, 0, all_judged);
	failed_row_receive(pcxt, &shared->failed_row);
	workers_launch(pcxt);
	PG_TRY();
	{
		feed_indexes(shared, shared_rows, shared_judged);
		workers_finish(pcxt);
	}
	PG_CATCH();
	{
		workers_abandon(pcxt);
		PG_RE_THROW();
	}
	PG_END_TRY();
	launched = pcxt->nworkers_launched;
	memcpy(judged, shared_judged, all_judged);
	DestroyParallelContext(pcxt);
	ExitParallelMode();
	return launched;
}

int
parallel_entries_insert(Relation heap, ParallelEntries *indexes, int n, const RowId *rows,
						uint32 nrows, int workers, Size memory)
{
	Size		size = offsetof(SharedEntries, indexes) + n * sizeof(Oid);
	SharedEntries *shared = palloc0(size);
	uint8	   *judged = palloc0(n * judged_size(nrows));
	ParallelEntries **sorted = palloc(n * sizeof(ParallelEntries *));

	/* the one with the most work first, so that no process has it as its last */
	for (int i = 0; i < n; i++)
		sorted[i] = &indexes[i];
	qsort(sorted, n, sizeof(ParallelEntries *), compare_sizes);
	/* not beside workers that form rows: together they might be too many */
	if (IsInParallelMode() || !workers_pay(nrows * ENTRY_SECONDS * n / 2))
		workers = 0;
	shared->heap = RelationGetRelid(heap);
	shared->nrows = nrows;
	shared->memory = memory / (workers + 1);
	shared->n = n;
	shared->share = TYPEALIGN(8, nrows / (workers + 1) + 1);
	shared->ntasks = n * ((nrows + shared->share - 1) / shared->share);
	pg_atomic_init_u32(&shared->next, 0);
	pg_atomic_init_u64(&shared->inserted, 0);
	for (int i = 0; i < n; i++)
	{
		shared->indexes[i] = RelationGetRelid(sorted[i]->index);
		sorted[i]->judged = judged + i * judged_size(nrows);
	}
	if (workers > 0)
		return insert_with_workers(shared, size, rows, judged, workers);
	feed_indexes(shared, rows, judged);
	return 0;
}
