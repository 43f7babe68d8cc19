/*
 * heap_scan.c
 *		See heap_scan.h.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "index/failed_row.h"
#include "index/heap_scan.h"
#include "index/heap_value.h"
#include "miscadmin.h"
#include "server/progress.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/memutils.h"

/* Blocks after which it is told how far the scan is. */
#define TOLD_BLOCKS 32

/* Of a table's row, for an index of nothing but its columns. */
typedef struct PlainColumns
{
	int			nindexed;		/* 0: the index is of something else */
	AttrNumber	numbers[INDEX_MAX_KEYS];
	int			nattributes;	/* up to the last one of the index */
	HeapAttribute *attributes;
	int		   *places;			/* of each in the index, or -1 */
} PlainColumns;

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
	TransactionId committed;	/* known to have ended with a commit, or invalid */

	/* plain pages */
	EState	   *estate;
	ExprContext *econtext;
	ExprState  *predicate;
	TupleTableSlot *slot;
	PlainColumns columns;
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

/*
 * The server's scan notes in each row that its transaction has committed, which after COPY writes
 * all pages of the table once more, and images of them to the WAL.  That is left to later readers.
 */
static inline bool
has_committed(HeapScan *scan, TransactionId xid)
{
	if (TransactionIdEquals(xid, scan->committed))
		return true;
	if (TransactionIdIsInProgress(xid) || !TransactionIdDidCommit(xid))
		return false;
	scan->committed = xid;
	return true;
}

/* Whether a row lives and is no part of a chain of versions. */
static inline bool
is_plain_row(HeapScan *scan, const HeapTupleHeaderData *row)
{
	return (row->t_infomask & (HEAP_XMAX_INVALID | HEAP_MOVED)) == HEAP_XMAX_INVALID &&
		(row->t_infomask2 & (HEAP_HOT_UPDATED | HEAP_ONLY_TUPLE)) == 0 &&
		((row->t_infomask & HEAP_XMIN_COMMITTED) != 0 ||	/* or frozen */
		 is_own(scan, HeapTupleHeaderGetRawXmin(row)) ||
		 has_committed(scan, HeapTupleHeaderGetRawXmin(row)));
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

/* ---- the values of rows ---- */

/* Columns of the table, no two of them the same, are read without the executor. */
static void
find_columns(HeapScan *scan)
{
	PlainColumns *columns = &scan->columns;
	TupleDesc	desc = RelationGetDescr(scan->heap);
	int			n = scan->info->ii_NumIndexAttrs;

	columns->attributes = palloc(desc->natts * sizeof(HeapAttribute));
	columns->places = palloc(desc->natts * sizeof(int));
	for (int i = 0; i < desc->natts; i++)
	{
		columns->attributes[i] = heap_attribute(TupleDescAttr(desc, i));
		columns->places[i] = -1;
	}
	for (int i = 0; i < n; i++)
	{
		AttrNumber	number = scan->info->ii_IndexAttrNumbers[i];

		if (number <= 0 || columns->places[number - 1] >= 0)
			return;
		columns->numbers[i] = number;
		columns->places[number - 1] = i;
		columns->nattributes = Max(columns->nattributes, number);
	}
	columns->nindexed = n;
}

static inline void
read_columns(const PlainColumns *columns, const HeapTupleHeaderData *row, Datum *values,
			 bool *isnull)
{
	const char *data = (const char *) row + row->t_hoff;
	const uint8 *bits = (row->t_infomask & HEAP_HASNULL) != 0 ? row->t_bits : NULL;
	Size		at = 0;

	for (int i = 0; i < columns->nattributes; i++)
	{
		const HeapAttribute *attribute = &columns->attributes[i];
		bool		null = bits != NULL && att_isnull(i, bits);
		const char *value = null ? NULL : heap_take_value(attribute, data, &at);
		int			place = columns->places[i];

		if (place < 0)
			continue;
		isnull[place] = null;
		values[place] = null ? (Datum) 0 :
			fetch_att(value, attribute->by_value, attribute->length);
	}
}

/* What the index has of a row. */
static inline void
form_values(HeapScan *scan, HeapTuple row, Datum *values, bool *isnull)
{
	const PlainColumns *columns = &scan->columns;

	if (columns->nindexed == 0)
		FormIndexDatum(scan->info, scan->slot, scan->estate, values, isnull);
	else if (HeapTupleHeaderGetNatts(row->t_data) >= columns->nattributes)
		read_columns(columns, row->t_data, values, isnull);
	else
		/* it was stored before its last columns were added */
		for (int i = 0; i < columns->nindexed; i++)
			values[i] = heap_getattr(row, columns->numbers[i], RelationGetDescr(scan->heap),
									 &isnull[i]);
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
		if (!scan->econtext->ecxt_per_tuple_memory->isReset)
			ResetExprContext(scan->econtext);
		scan->nrows++;
		if (scan->predicate != NULL || scan->columns.nindexed == 0)
			ExecStoreHeapTuple(&row, scan->slot, false);
		if (scan->predicate != NULL && !ExecQual(scan->predicate, scan->econtext))
			continue;
		form_values(scan, &row, values, isnull);
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

	/* most pages are plain ones, and whole they come from memory in less time than row by row */
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(scan->copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	plain = is_plain_page(scan, scan->copy);
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
		.committed = InvalidTransactionId,
		.estate = CreateExecutorState(),
		.slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple),
		.copy = palloc(BLCKSZ)
	};
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);

	scan.econtext = GetPerTupleExprContext(scan.estate);
	scan.econtext->ecxt_scantuple = scan.slot;
	scan.predicate = ExecPrepareQual(info->ii_Predicate, scan.estate);
	find_columns(&scan);
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
	pfree(scan.columns.attributes);
	pfree(scan.columns.places);
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
