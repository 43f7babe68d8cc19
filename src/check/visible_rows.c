/*
 * visible_rows.c
 *		See visible_rows.h.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "check/visible_rows.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/snapmgr.h"

struct VisibleRows
{
	Relation	heap;
	Snapshot	snapshot;
	BufferAccessStrategy strategy;	/* or NULL */
	Page		copy;
	bool		seen[MaxHeapTuplesPerPage + 1]; /* of a page that is not plain, by offset */
	TransactionId own_xid;		/* known to be of this transaction, or invalid */
	TransactionId seen_xid;		/* known to be seen by the snapshot, or invalid */
};

VisibleRows *
visible_rows_open(Relation heap, Snapshot snapshot)
{
	VisibleRows *rows = palloc0(sizeof(VisibleRows));

	Assert(IsMVCCSnapshot(snapshot));
	rows->heap = heap;
	rows->snapshot = snapshot;
	/* tables of that size don't get the buffers of all others, as in the server's scan */
	if (RelationGetNumberOfBlocks(heap) > NBuffers / 4)
		rows->strategy = GetAccessStrategy(BAS_BULKREAD);
	rows->copy = palloc(BLCKSZ);
	/* does nothing unless the transaction is serializable */
	PredicateLockRelation(heap, snapshot);
	return rows;
}

static inline bool
is_own(VisibleRows *rows, TransactionId xid)
{
	if (TransactionIdEquals(xid, rows->own_xid))
		return true;
	if (!TransactionIdIsCurrentTransactionId(xid))
		return false;
	rows->own_xid = xid;
	return true;
}

/* Whether the snapshot sees what another transaction has inserted. */
static inline bool
is_seen(VisibleRows *rows, const HeapTupleHeaderData *row, TransactionId xid)
{
	if (TransactionIdEquals(xid, rows->seen_xid))
		return true;
	if (XidInMVCCSnapshot(xid, rows->snapshot) ||
		(!HeapTupleHeaderXminCommitted(row) && !TransactionIdDidCommit(xid)))
		return false;
	rows->seen_xid = xid;
	return true;
}

/* Whether the snapshot sees a row that nobody has deleted or updated; false: perhaps. */
static inline bool
is_plain_row(VisibleRows *rows, const HeapTupleHeaderData *row)
{
	TransactionId xmin = HeapTupleHeaderGetRawXmin(row);

	if ((row->t_infomask & (HEAP_COMBOCID | HEAP_MOVED)) != 0 ||
		((row->t_infomask & HEAP_XMAX_INVALID) == 0 &&
		 !HEAP_XMAX_IS_LOCKED_ONLY(row->t_infomask)))
		return false;
	if (HeapTupleHeaderXminFrozen(row))
		return true;
	if (HeapTupleHeaderXminInvalid(row) || !TransactionIdIsValid(xmin))
		return false;
	if (is_own(rows, xmin))
		return HeapTupleHeaderGetRawCommandId(row) < rows->snapshot->curcid;
	return is_seen(rows, row, xmin);
}

/* Whether the snapshot sees all rows of the page. */
static bool
is_plain_page(VisibleRows *rows, Page page)
{
	OffsetNumber most = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);

	if (PageIsAllVisible(page) && !rows->snapshot->takenDuringRecovery)
		return true;
	for (OffsetNumber at = FirstOffsetNumber; at <= most; at++)
	{
		ItemId		item = PageGetItemId(page, at);

		if (ItemIdIsNormal(item) && !is_plain_row(rows, (HeapTupleHeader) PageGetItem(page, item)))
			return false;
	}
	return true;
}

static inline HeapTupleData
row_at(VisibleRows *rows, Page page, BlockNumber block, OffsetNumber at)
{
	ItemId		item = PageGetItemId(page, at);
	HeapTupleData row = {
		.t_tableOid = RelationGetRelid(rows->heap),
		.t_data = (HeapTupleHeader) PageGetItem(page, item),
		.t_len = ItemIdGetLength(item)
	};

	ItemPointerSet(&row.t_self, block, at);
	return row;
}

/* Asks the server for each row of a page that is locked, as its own scan does. */
static void
see_rows(VisibleRows *rows, Buffer buffer, BlockNumber block)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber most = PageGetMaxOffsetNumber(page);

	for (OffsetNumber at = FirstOffsetNumber; at <= most; at++)
	{
		HeapTupleData row;

		rows->seen[at] = false;
		if (!ItemIdIsNormal(PageGetItemId(page, at)))
			continue;
		row = row_at(rows, page, block, at);
		rows->seen[at] = HeapTupleSatisfiesVisibility(&row, rows->snapshot, buffer);
		HeapCheckForSerializableConflictOut(rows->seen[at], rows->heap, &row, buffer,
											rows->snapshot);
	}
}

/* Calls for the rows of the copied page that are seen. */
static bool
give_page(VisibleRows *rows, BlockNumber block, bool all, VisibleRowsCallback take, void *arg)
{
	Page		page = rows->copy;
	OffsetNumber most = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	bool		more = true;

	for (OffsetNumber at = FirstOffsetNumber; more && at <= most; at++)
	{
		HeapTupleData row;

		if (!ItemIdIsNormal(PageGetItemId(page, at)) || !(all || rows->seen[at]))
			continue;
		row = row_at(rows, page, block, at);
		more = take(&row, arg);
	}
	return more;
}

bool
visible_rows_scan(VisibleRows *rows, BlockNumber first, BlockNumber nblocks,
				  VisibleRowsCallback take, void *arg)
{
	bool		more = true;

	for (BlockNumber i = 0; more && i < nblocks; i++)
	{
		Buffer		buffer;
		bool		all;

		CHECK_FOR_INTERRUPTS();
		buffer = ReadBufferExtended(rows->heap, MAIN_FORKNUM, first + i, RBM_NORMAL,
									rows->strategy);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(rows->copy, BufferGetPage(buffer), BLCKSZ);
		compat_test_for_old_snapshot(rows->snapshot, rows->heap, rows->copy);
		all = is_plain_page(rows, rows->copy);
		if (!all)
			see_rows(rows, buffer, first + i);
		UnlockReleaseBuffer(buffer);
		more = give_page(rows, first + i, all, take, arg);
	}
	return more;
}

void
visible_rows_close(VisibleRows *rows)
{
	if (rows->strategy != NULL)
		FreeAccessStrategy(rows->strategy);
	pfree(rows->copy);
	pfree(rows);
}
