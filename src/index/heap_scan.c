/*
 * heap_scan.c
 *		See heap_scan.h.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "index/failed_row.h"
#include "index/heap_scan.h"
#include "miscadmin.h"
#include "server/progress.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

/* Blocks after which it is told how far the scan is. */
#define TOLD_BLOCKS 32

typedef struct HeapScan
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	IndexBuildCallback callback;
	HeapScanPageCallback page;	/* NULL: row by row */
	void	   *state;
	double		nrows;
	TransactionId own;			/* known to be of this transaction, or invalid */

	/* plain pages */
	EState	   *estate;
	ExprContext *econtext;
	ExprState  *predicate;
	TupleTableSlot *slot;
	Page		copy;

	/* pages left to the server */
	BlockNumber left_first;
	BlockNumber left_count;
} HeapScan;

static inline bool
is_own(HeapScan *scan, TransactionId xid)
{
	if (TransactionIdEquals(xid, scan->own))
		return true;
	if (!TransactionIdIsCurrentTransactionId(xid))
		return false;
	scan->own = xid;
	return true;
}

/* Whether a row lives and is no part of a chain of versions. */
static inline bool
is_plain_row(HeapScan *scan, const HeapTupleHeaderData *row)
{
	return (row->t_infomask & (HEAP_XMAX_INVALID | HEAP_MOVED)) == HEAP_XMAX_INVALID &&
		(row->t_infomask2 & (HEAP_HOT_UPDATED | HEAP_ONLY_TUPLE)) == 0 &&
		((row->t_infomask & HEAP_XMIN_COMMITTED) != 0 ||	/* or frozen */
		 is_own(scan, HeapTupleHeaderGetRawXmin(row)));
}

static bool
is_plain_page(HeapScan *scan, Page page)
{
	OffsetNumber most = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);

	for (OffsetNumber at = FirstOffsetNumber; at <= most; at++)
	{
		ItemId		item = PageGetItemId(page, at);

		if (ItemIdIsNormal(item) ?
			!is_plain_row(scan, (HeapTupleHeader) PageGetItem(page, item)) :
			ItemIdIsUsed(item))
			return false;
	}
	return true;
}

/* Calls back for the rows of the copied page. */
static void
give_page(HeapScan *scan, BlockNumber block)
{
	OffsetNumber most = PageIsNew(scan->copy) ? 0 : PageGetMaxOffsetNumber(scan->copy);
	HeapTupleData row = {.t_tableOid = RelationGetRelid(scan->heap)};
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	MemoryContext old = MemoryContextSwitchTo(scan->econtext->ecxt_per_tuple_memory);
	FailedRowContext context;

	failed_row_begin(&context, scan->heap, &row.t_self);
	for (OffsetNumber at = FirstOffsetNumber; at <= most; at++)
	{
		ItemId		item = PageGetItemId(scan->copy, at);

		if (!ItemIdIsNormal(item))
			continue;
		failed_row_reset();
		row.t_data = (HeapTupleHeader) PageGetItem(scan->copy, item);
		row.t_len = ItemIdGetLength(item);
		ItemPointerSet(&row.t_self, block, at);
		ResetExprContext(scan->econtext);
		ExecStoreHeapTuple(&row, scan->slot, false);
		scan->nrows++;
		if (scan->predicate != NULL && !ExecQual(scan->predicate, scan->econtext))
			continue;
		FormIndexDatum(scan->info, scan->slot, scan->estate, values, isnull);
		scan->callback(scan->index, &row.t_self, values, isnull, true, scan->state);
	}
	failed_row_end(&context);
	ExecClearTuple(scan->slot);
	MemoryContextSwitchTo(old);
}

/*
 * Has the server scan what was left to it.  It makes states of its own for
 * expressions, in the same places.
 */
static void
give_left(HeapScan *scan)
{
	List	   *expressions = scan->info->ii_ExpressionsState;

	if (scan->left_count == 0)
		return;
	scan->info->ii_ExpressionsState = NIL;
	scan->nrows += table_index_build_range_scan(scan->heap, scan->index, scan->info,
												false, false, false,
												scan->left_first, scan->left_count,
												scan->callback, scan->state, NULL);
	scan->info->ii_ExpressionsState = expressions;
	scan->left_count = 0;
}

static void
scan_block(HeapScan *scan, BlockNumber block, BufferAccessStrategy strategy)
{
	Buffer		buffer = ReadBufferExtended(scan->heap, MAIN_FORKNUM, block,
											RBM_NORMAL, strategy);
	bool		plain;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	plain = is_plain_page(scan, BufferGetPage(buffer));
	if (plain)
		memcpy(scan->copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	if (plain)
	{
		give_left(scan);
		if (scan->page != NULL)
			scan->nrows += scan->page(block, scan->copy, scan->state);
		else
			give_page(scan, block);
	}
	else if (scan->left_count++ == 0)
		scan->left_first = block;
}

static double
scan_blocks(Relation heap, Relation index, IndexInfo *info, BlockNumber first,
			BlockNumber nblocks, IndexBuildCallback callback, HeapScanPageCallback page,
			void *state, bool told)
{
	HeapScan	scan = {
		.heap = heap,
		.index = index,
		.info = info,
		.callback = callback,
		.page = page,
		.state = state,
		.own = InvalidTransactionId,
		.estate = CreateExecutorState(),
		.slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple),
		.copy = palloc(BLCKSZ)
	};
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);

	scan.econtext = GetPerTupleExprContext(scan.estate);
	scan.econtext->ecxt_scantuple = scan.slot;
	scan.predicate = ExecPrepareQual(info->ii_Predicate, scan.estate);
	for (BlockNumber i = 0; i < nblocks; i++)
	{
		CHECK_FOR_INTERRUPTS();
		scan_block(&scan, first + i, strategy);
		if (told && i % TOLD_BLOCKS == TOLD_BLOCKS - 1)
			progress_index_blocks(TOLD_BLOCKS);
	}
	give_left(&scan);
	if (told)
		progress_index_blocks(nblocks % TOLD_BLOCKS);

	ExecDropSingleTupleTableSlot(scan.slot);
	FreeExecutorState(scan.estate);
	FreeAccessStrategy(strategy);
	pfree(scan.copy);
	/* made in that state */
	info->ii_ExpressionsState = NIL;
	info->ii_PredicateState = NULL;
	return scan.nrows;
}

double
heap_scan_rows(Relation heap, Relation index, IndexInfo *info, BlockNumber first,
			   BlockNumber nblocks, IndexBuildCallback callback, void *state)
{
	return scan_blocks(heap, index, info, first, nblocks, callback, NULL, state, true);
}

double
heap_scan_pages(Relation heap, Relation index, IndexInfo *info, BlockNumber first,
				BlockNumber nblocks, IndexBuildCallback callback, HeapScanPageCallback page,
				void *state)
{
	return scan_blocks(heap, index, info, first, nblocks, callback, page, state, true);
}

void
heap_scan_block(Relation heap, Relation index, IndexInfo *info, BlockNumber block,
				IndexBuildCallback callback, void *state)
{
	(void) scan_blocks(heap, index, info, block, 1, callback, NULL, state, false);
}

void
heap_scan_raise_written(Relation heap, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" was written to while it was loaded",
					RelationGetRelationName(heap)),
			 errdetail_internal("%s", detail),
			 errhint("Use writer \"buffered\" where functions or triggers write to the table.")));
}

void
heap_scan_check(Relation heap, double found, int64 loaded)
{
	if (found != (double) loaded)
		heap_scan_raise_written(heap,
								psprintf("There are %.0f new rows, of which %lld are of the load.",
										 found, (long long) loaded));
}
