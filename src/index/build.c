/*
 * build.c
 *		See build.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/storage_xlog.h"
#include "executor/executor.h"
#include "index/batch.h"
#include "index/btree_load.h"
#include "index/build.h"
#include "index/failed_row.h"
#include "index/heap_scan.h"
#include "index/index_sort.h"
#include "index/insert.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/progress.h"
#include "server/wal_written.h"
#include "storage/smgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* ---- btrees ---- */

typedef struct Found
{
	IndexSort  *sort;
	uint64		nrows;			/* that have gone there */
} Found;

static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *state)
{
	Found	   *found = state;

	index_sort_put(found->sort, tid, values, isnull, alive);
	found->nrows++;
}

static BuildResult
build_btree(Relation heap, Relation index, IndexInfo *info,
			const BuildTask *task, Size memory, const ConflictSink *conflicts)
{
	KeyShape	   *shape = shape_open(index);
	BlockNumber first = task->method == INDEX_MERGE ? task->first_block : 0;
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap) - first;
	IndexSort  *sort = index_sort_open(shape, heap, index, first, nblocks, memory);
	Found		found = {.sort = sort};
	BtreeLoad	load;
	KeySink		sink = btree_load_sink(&load);
	BuildResult result;

	btree_load_init(&load, index, info, shape, conflicts);
	progress_index_scan(nblocks);
	result.heap_rows = heap_scan_rows(heap, index, info, first, nblocks, put_row, &found);
	if (task->method == INDEX_MERGE)
		heap_scan_check(heap, result.heap_rows, task->rows);
	load.btree = btree_open(heap, index);
	if (task->method == INDEX_MERGE)
		load.merge = merge_open(heap, index, shape, load.btree, task->old, first);
	progress_index_sort(load.merge == NULL ? found.nrows : 0);
	(void) index_sort_finish(sort, &sink);
	if (load.merge != NULL)
	{
		btree_end_key(load.btree);
		merge_close(load.merge);
	}
	result.index_rows = btree_close(load.btree);
	result.runs = index_sort_parts(sort);
	result.broken_chains = info->ii_BrokenHotChain;
	index_sort_close(sort);
	return result;
}

/* ---- all else ---- */

/*
 * A load that is slowed down waits after so many blocks at least, and so many times at most: each
 * part is a scan of its own.
 */
#define PART_BLOCKS 128
#define MAX_PARTS 1000

/* Who takes rows of a scan, in a context that stays as it is from row to row. */
typedef struct RowTaker
{
	IndexBuildCallback callback;
	HeapScanPageCallback page;	/* NULL: row by row */
	void	   *state;
	MemoryContext context;
} RowTaker;

static void
take_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *state)
{
	const RowTaker *taker = state;
	MemoryContext old = MemoryContextSwitchTo(taker->context);

	taker->callback(index, tid, values, isnull, alive, taker->state);
	MemoryContextSwitchTo(old);
}

static int
take_page(BlockNumber block, Page page, void *state)
{
	const RowTaker *taker = state;

	return taker->page(block, page, taker->state);
}

/* The rows of a table, part after part. */
static double
scan_parts(Relation heap, Relation index, IndexInfo *info, RowTaker *taker)
{
	BlockNumber all = RelationGetNumberOfBlocks(heap);
	BlockNumber part = Max(PART_BLOCKS, all / MAX_PARTS);
	double		nrows = 0;

	progress_index_scan_other(all);
	for (uint64 begin = 0; begin < all; begin += part)
	{
		nrows += heap_scan_pages(heap, index, info, begin, Min(part, all - begin),
								 take_row, taker->page != NULL ? take_page : NULL, taker);
		wal_written();
	}
	return nrows;
}

/*
 * Stands in for the server's index_build_range_scan, which takes twice as long for most pages
 * (heap_scan.h), and reports wrong progress: at the first block that all are done, and takes that
 * back at the second.  While the server scans, it must find its own routines in the relation.
 */
static double
scan_table(Relation heap, Relation index, IndexInfo *info, bool allow_sync, bool anyvisible,
		   bool progress, BlockNumber first, BlockNumber nblocks,
		   IndexBuildCallback callback, void *state, TableScanDesc scan)
{
	const TableAmRoutine *here = heap->rd_tableam;
	RowTaker	taker = {
		.callback = callback,
		.state = state,
		.context = CurrentMemoryContext
	};
	double		nrows;

	heap->rd_tableam = GetHeapamTableAmRoutine();
	if (!progress || scan != NULL || first != 0 || nblocks != InvalidBlockNumber)
		nrows = table_index_build_range_scan(heap, index, info, allow_sync, anyvisible, progress,
											 first, nblocks, callback, state, scan);
	else
		nrows = scan_parts(heap, index, info, &taker);
	heap->rd_tableam = here;
	return nrows;
}

/* The access method's own build, of a table with these routines. */
static IndexBuildResult *
build_with(Relation heap, Relation index, IndexInfo *info, const TableAmRoutine *routines)
{
	const TableAmRoutine *server = heap->rd_tableam;
	IndexBuildResult *built;

	PG_TRY();
	{
		heap->rd_tableam = routines;
		built = index->rd_indam->ambuild(heap, index, info);
	}
	PG_FINALLY();
	{
		heap->rd_tableam = server;
	}
	PG_END_TRY();
	return built;
}

/* A build takes its memory from the setting; in a worker none can be set. */
static BuildResult
build_other(Relation heap, Relation index, IndexInfo *info, Size memory)
{
	int			setting = maintenance_work_mem;
	TableAmRoutine own = *heap->rd_tableam;
	IndexBuildResult *built;
	BuildResult result = {0};

	own.index_build_range_scan = scan_table;
	PG_TRY();
	{
		maintenance_work_mem = memory / 1024;
		built = build_with(heap, index, info, &own);
		result.heap_rows = built->heap_tuples;
		result.index_rows = built->index_tuples;
		result.broken_chains = info->ii_BrokenHotChain;
	}
	PG_FINALLY();
	{
		maintenance_work_mem = setting;
	}
	PG_END_TRY();
	return result;
}

/* ---- by batches ---- */

/* Rows that are inserted into a new index. */
typedef struct BatchBuild
{
	Batch	   *batch;
	Size		memory;
} BatchBuild;

static Batch *
open_batch(BatchBuild *build, const BatchRoutine *routine, Relation heap, Relation index)
{
	return build->batch = routine->open(heap, index, build->memory);
}

/* The current context is for one row. */
static void
batch_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *state)
{
	const BatchBuild *build = state;
	const BatchRoutine *routine = build->batch->routine;

	routine->put(build->batch, tid, values, isnull);
	MemoryContextReset(CurrentMemoryContext);
	if (routine->memory(build->batch) >= build->memory)
		routine->insert(build->batch);
}

static int
batch_page(BlockNumber block, Page page, void *state)
{
	const BatchBuild *build = state;
	const BatchRoutine *routine = build->batch->routine;
	int			nrows = routine->put_page(build->batch, block, page);

	if (routine->memory(build->batch) >= build->memory)
		routine->insert(build->batch);
	return nrows;
}

/* All rows of the table; returns how many there are. */
static double
batch_rows(BatchBuild *build, Relation heap, Relation index, IndexInfo *info)
{
	RowTaker	taker = {
		.callback = batch_row,
		.page = build->batch->takes_pages ? batch_page : NULL,
		.state = build,
		.context = AllocSetContextCreate(CurrentMemoryContext, "row", ALLOCSET_DEFAULT_SIZES)
	};
	double		nrows = scan_parts(heap, index, info, &taker);

	build->batch->routine->insert(build->batch);
	MemoryContextDelete(taker.context);
	return nrows;
}

/* ---- BRIN ---- */

/* Of a table without rows, */
static double
scan_nothing(Relation heap, Relation index, IndexInfo *info, bool allow_sync, bool anyvisible,
			 bool progress, BlockNumber first, BlockNumber nblocks,
			 IndexBuildCallback callback, void *state, TableScanDesc scan)
{
	return 0;
}

/* and without blocks. */
static uint64
size_of_nothing(Relation heap, ForkNumber fork)
{
	return 0;
}

/*
 * The server makes the index of a table without blocks, and the ranges are summarized as those of
 * rows that are inserted: integers in half the time of the server's own build.
 */
static BuildResult
build_brin(Relation heap, Relation index, IndexInfo *info, const BuildTask *task, Size memory)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	TableAmRoutine nothing = *heap->rd_tableam;
	BatchBuild	rows = {.memory = memory};
	BuildResult result = {0};

	nothing.index_build_range_scan = scan_nothing;
	nothing.relation_size = size_of_nothing;
	(void) build_with(heap, index, info, &nothing);
	/* that the last one may have fewer blocks does not matter here */
	brin_batch_complete(open_batch(&rows, &brin_batch, heap, index), 0, InvalidBlockNumber);
	if (task->passed != NULL && brin_batch_put_passed(rows.batch, task->passed, nblocks))
	{
		result.heap_rows = task->rows;
		brin_batch.insert(rows.batch);
	}
	else
		result.heap_rows = batch_rows(&rows, heap, index, info);
	result.index_rows = brin_batch_fill(rows.batch, nblocks);
	result.broken_chains = info->ii_BrokenHotChain;
	return result;
}

/* ---- GIN ---- */

/* Routines of a table that is scanned for a GIN index. */
typedef struct GinBuild
{
	TableAmRoutine routines;
	BatchBuild	rows;
	GinBuildStats stats;
} GinBuild;

/* The entries are in the index when this returns; the server has none to add. */
static double
scan_for_gin(Relation heap, Relation index, IndexInfo *info, bool allow_sync, bool anyvisible,
			 bool progress, BlockNumber first, BlockNumber nblocks,
			 IndexBuildCallback callback, void *state, TableScanDesc scan)
{
	GinBuild   *build = (GinBuild *) unconstify(TableAmRoutine *, heap->rd_tableam);
	double		nrows;

	heap->rd_tableam = GetHeapamTableAmRoutine();
	gin_batch_build(open_batch(&build->rows, &gin_batch, heap, index), &build->stats);
	nrows = batch_rows(&build->rows, heap, index, info);
	heap->rd_tableam = &build->routines;
	return nrows;
}

/*
 * A fifth of the CPU time of the server's own build, which looks each entry up in a tree in memory
 * first.
 */
static BuildResult
build_gin(Relation heap, Relation index, IndexInfo *info, Size memory)
{
	GinBuild	build = {.routines = *heap->rd_tableam,.rows = {.memory = memory}};
	BuildResult result = {0};

	build.routines.index_build_range_scan = scan_for_gin;
	result.heap_rows = build_with(heap, index, info, &build.routines)->heap_tuples;
	result.index_rows = build.stats.entries;
	result.broken_chains = info->ii_BrokenHotChain;
	build.stats.pages.nEntryPages++;
	build.stats.pages.nTotalPages = RelationGetNumberOfBlocks(index);
	ginUpdateStats(index, &build.stats.pages, false);
	return result;
}

/* ---- exclusion constraints ---- */

/*
 * Each row from a block on asks the index for others that exclude it, as it would have
 * when it was inserted.
 */
static void
check_exclusion(Relation heap, Relation index, IndexInfo *info, BlockNumber first)
{
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	ExprState  *predicate = ExecPrepareQual(info->ii_Predicate, estate);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan;
	ItemPointerData begin;
	ItemPointerData end;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	FailedRowContext context;

	ItemPointerSet(&begin, first, FirstOffsetNumber);
	ItemPointerSet(&end, MaxBlockNumber, MaxOffsetNumber);
	scan = compat_table_beginscan_tidrange(heap, snapshot, &begin, &end);
	econtext->ecxt_scantuple = slot;
	failed_row_begin(&context, heap, &slot->tts_tid);
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		failed_row_reset();
		ResetExprContext(econtext);
		if (predicate != NULL && !ExecQual(predicate, econtext))
			continue;
		FormIndexDatum(info, slot, estate, values, isnull);
		check_exclusion_constraint(heap, index, info, &slot->tts_tid, values,
								   isnull, estate, false);
	}
	failed_row_end(&context);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	/* made in that state */
	info->ii_ExpressionsState = NIL;
	info->ii_PredicateState = NULL;
}

/* What is left of an unlogged index after a crash. */
static void
make_init_fork(Relation index)
{
	if (index->rd_rel->relpersistence != RELPERSISTENCE_UNLOGGED ||
		smgrexists(RelationGetSmgr(index), INIT_FORKNUM))
		return;
	smgrcreate(RelationGetSmgr(index), INIT_FORKNUM, false);
	log_smgrcreate(&index->rd_locator, INIT_FORKNUM);
	index->rd_indam->ambuildempty(index);
}

/*
 * Of blocks that are new, BRIN makes entries when somebody asks it to, as VACUUM does.
 */
static void
summarize(Relation heap, Relation index)
{
	IndexVacuumInfo info = {
		.index = index,
		.estimated_count = true,
		.message_level = DEBUG2,
		.num_heap_tuples = -1,
		.strategy = GetAccessStrategy(BAS_VACUUM)
	};

	compat_vacuum_info_heap(&info, heap);
	(void) index_vacuum_cleanup(&info, NULL);
	FreeAccessStrategy(info.strategy);
}

BuildResult
build_index(Relation heap, Relation index, const BuildTask *task, Size memory,
			const ConflictSink *conflicts)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "bulk_load index",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	IndexInfo  *info = BuildIndexInfo(index);
	BuildResult result;

	if (task->method == INDEX_INSERT)
		result = insert_index(heap, index, info, task->first_block, task->rows, memory,
							  conflicts);
	else if (index->rd_rel->relam == BTREE_AM_OID)
		result = build_btree(heap, index, info, task, memory, conflicts);
	else if (batch_routine(index) == &brin_batch)
		result = build_brin(heap, index, info, task, memory);
	else if (index->rd_rel->relam == GIN_AM_OID)
		result = build_gin(heap, index, info, memory);
	else
		result = build_other(heap, index, info, memory);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return result;
}

void
build_complete(Relation heap, Relation index, const BuildTask *task)
{
	if (index->rd_index->indisexclusion)
		check_exclusion(heap, index, BuildIndexInfo(index),
						task->method == INDEX_REBUILD ? 0 : task->first_block);
	if (task->method == INDEX_INSERT && index->rd_rel->relam == BRIN_AM_OID)
		summarize(heap, index);
	make_init_fork(index);
}
