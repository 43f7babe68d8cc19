/*
 * insert.c
 *		See insert.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_am_d.h"
#include "index/batch.h"
#include "index/failed_row.h"
#include "index/heap_scan.h"
#include "index/index_sort.h"
#include "index/insert.h"
#include "index/sorted_insert.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/progress.h"
#include "server/wal_written.h"
#include "utils/memutils.h"

/* How often it is told how far it is. */
#define TOLD_ENTRIES 64

/* Of a btree's memory, what is for sorted keys that wait; more than that many bytes do not pay. */
#define KEYS_SHARE 8
#ifndef MAX_KEYS_MEMORY
#define MAX_KEYS_MEMORY ((Size) 8 * 1024 * 1024)
#endif

typedef struct Insertion
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	MemoryContext scratch;		/* for one entry */
	double		nrows;
	double		expected;		/* so many there will be, if there is one for each row */

	Batch	   *batch;			/* NULL: it is a btree, or gets one entry after the other */
	IndexSort  *sort;			/* of a btree */
	Size		memory;			/* for that, or the batch */
} Insertion;

/* ---- in the order of the table ---- */

static void
take_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		 bool alive, void *state)
{
	Insertion  *insertion = state;
	MemoryContext old = MemoryContextSwitchTo(insertion->scratch);
	FailedRowContext context;

	CHECK_FOR_INTERRUPTS();
	wal_written();
	failed_row_begin(&context, insertion->heap, tid);
	(void) index_insert(insertion->index, values, isnull, tid, insertion->heap,
						UNIQUE_CHECK_NO, false, insertion->info);
	failed_row_end(&context);
	insertion->nrows++;
	if ((int64) insertion->nrows % TOLD_ENTRIES == 0)
		progress_done(insertion->nrows / insertion->expected);
	MemoryContextSwitchTo(old);
	MemoryContextReset(insertion->scratch);
}

/* ---- in the order of the access method ---- */

static void
insert_batch(Insertion *insertion)
{
	insertion->batch->routine->insert(insertion->batch);
	progress_done(insertion->nrows / insertion->expected);
}

static void
batch_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool alive, void *state)
{
	Insertion  *insertion = state;
	MemoryContext old = MemoryContextSwitchTo(insertion->scratch);

	insertion->batch->routine->put(insertion->batch, tid, values, isnull);
	insertion->nrows++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(insertion->scratch);
	if (insertion->batch->routine->memory(insertion->batch) >= insertion->memory)
		insert_batch(insertion);
}

static int
batch_page(BlockNumber block, Page page, void *state)
{
	Insertion  *insertion = state;
	int			nrows = insertion->batch->routine->put_page(insertion->batch, block, page);

	insertion->nrows += nrows;
	if (insertion->batch->routine->memory(insertion->batch) >= insertion->memory)
		insert_batch(insertion);
	return nrows;
}

/* ---- in the order of the keys ---- */

static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *state)
{
	Insertion  *insertion = state;

	index_sort_put(insertion->sort, tid, values, isnull, alive);
}

/* The rows of nblocks blocks, from first on; returns how many there are. */
static double
insert_sorted(Insertion *insertion, BlockNumber first, BlockNumber nblocks,
			  const ConflictSink *conflicts, BuildResult *result)
{
	SortedInsertion its = {
		.heap = insertion->heap,
		.index = insertion->index,
		.shape = shape_open(insertion->index),
		.first = first,
		.rows = insertion->expected,
		.memory = Min(insertion->memory / KEYS_SHARE, MAX_KEYS_MEMORY),
		.conflicts = conflicts
	};
	SortedInsert *insert = sorted_insert_open(&its);
	KeySink		sink = sorted_insert_keys(insert);
	double		rows;

	insertion->sort = index_sort_open(its.shape, its.heap, its.index, first, nblocks,
									  insertion->memory - its.memory);
	rows = heap_scan_pages(its.heap, its.index, insertion->info, first, nblocks, put_row, NULL,
						   insertion);
	heap_scan_check(its.heap, rows, insertion->expected);
	(void) index_sort_finish(insertion->sort, &sink);
	insertion->nrows = sorted_insert_close(insert);
	result->runs = index_sort_parts(insertion->sort);
	index_sort_close(insertion->sort);
	return rows;
}

/* ---- all of it ---- */

/* The same, for other access methods. */
static double
insert_unsorted(Insertion *insertion, BlockNumber first, BlockNumber nblocks)
{
	const BatchRoutine *routine = batch_routine(insertion->index);
	double		rows;

	if (routine != NULL)
	{
		insertion->batch = routine->open(insertion->heap, insertion->index, insertion->memory);
		if (insertion->index->rd_rel->relam == BRIN_AM_OID)
			brin_batch_complete(insertion->batch, first, first + nblocks);
	}
	rows = heap_scan_pages(insertion->heap, insertion->index, insertion->info, first, nblocks,
						   routine != NULL ? batch_row : take_row,
						   routine != NULL && insertion->batch->takes_pages ? batch_page : NULL,
						   insertion);
	heap_scan_check(insertion->heap, rows, insertion->expected);
	if (routine != NULL)
		insert_batch(insertion);
	compat_index_insert_cleanup(insertion->index, insertion->info);
	return rows;
}

BuildResult
insert_index(Relation heap, Relation index, IndexInfo *info, BlockNumber first,
			 int64 rows, Size memory, const ConflictSink *conflicts)
{
	Insertion	insertion = {
		.heap = heap,
		.index = index,
		.info = info,
		.memory = memory,
		.expected = rows,
		.scratch = AllocSetContextCreate(CurrentMemoryContext, "index entry",
										 ALLOCSET_DEFAULT_SIZES)
	};
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap) - first;
	BuildResult result = {0};

	if (index->rd_rel->relam == BTREE_AM_OID)
		result.heap_rows = insert_sorted(&insertion, first, nblocks, conflicts, &result);
	else
		result.heap_rows = insert_unsorted(&insertion, first, nblocks);
	result.index_rows = insertion.nrows;
	return result;
}
