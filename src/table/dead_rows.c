/*
 * dead_rows.c
 *		See dead_rows.h.
 *
 * What a row's header says of its inserter (xmin), as far as it matters here:
 *
 *		xmin                       gone?                         unseen?
 *		committed (or frozen)      what xmax says                no: snapshots have seen it
 *		in progress, others'       no                            no: it may commit
 *		our own                    what xmax says                no: we may commit
 *		aborted or crashed         yes                           yes, for ever
 *
 * "Gone" is what HeapTupleSatisfiesVacuumHorizon says, which may set hint bits.  "Unseen" is
 * stricter than its HEAPTUPLE_DEAD, which also means rows that were seen once and are no more: a
 * standby with an old snapshot may still want these.  A crashed transaction is neither in progress
 * nor committed: pg_xact says nothing of it.
 *
 * Line pointers without a tuple: LP_UNUSED has none.  LP_REDIRECT leads to a tuple of the same
 * page, which is looked at by itself.  LP_DEAD remains of a row that pruning has removed, on
 * standbys too, so no snapshot wants it; an index may still have an entry for it, which
 * compact_unseen takes care of.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "table/dead_rows.h"

/* Number of pages sampled if an estimate suffices. */
#define PAGES_TO_LOOK_AT 1024

/* Tests a stored row. */
typedef bool (*RowTest) (HeapTuple row, Buffer buffer, TransactionId *failed);

/*
 * Whether a snapshot that is taken now doesn't see the row.  What this transaction is deleting is
 * gone; what others are deleting may remain.
 */
static bool
is_gone(HeapTuple row, Buffer buffer, TransactionId *failed)
{
	TransactionId deleter;

	switch (HeapTupleSatisfiesVacuumHorizon(row, buffer, &deleter))
	{
		case HEAPTUPLE_DEAD:
		case HEAPTUPLE_RECENTLY_DEAD:
			return true;
		case HEAPTUPLE_DELETE_IN_PROGRESS:
			return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(row->t_data));
		case HEAPTUPLE_LIVE:
		case HEAPTUPLE_INSERT_IN_PROGRESS:
			return false;
	}
	pg_unreachable();
}

/*
 * Whether the row's inserter has failed.  *failed: a transaction of which that is known, or
 * InvalidTransactionId: a failed load has left many rows, and is looked up once.
 *
 * The order of the questions is HeapTupleSatisfiesMVCC's: a transaction that ends is recorded in
 * pg_xact before it leaves the list of those in progress.  Asked the other way round, one that
 * commits in between would be neither.  HEAP_MOVED is of VACUUM FULL before 9.0.
 */
static bool
is_unseen(HeapTuple row, Buffer buffer, TransactionId *failed)
{
	TransactionId xid = HeapTupleHeaderGetRawXmin(row->t_data);

	Assert(!TransactionIdIsValid(*failed) || !TransactionIdDidCommit(*failed));
	if (HeapTupleHeaderXminCommitted(row->t_data) || (row->t_data->t_infomask & HEAP_MOVED) ||
		!TransactionIdIsNormal(xid))
		return false;
	if (TransactionIdEquals(xid, *failed))
		return true;
	if (TransactionIdIsCurrentTransactionId(xid) || TransactionIdIsInProgress(xid) ||
		TransactionIdDidCommit(xid))
		return false;
	*failed = xid;
	return true;
}

/* Whether all rows of a page pass the test; the page is locked. */
static bool
page_passes(Relation rel, Buffer buffer, RowTest test, TransactionId *failed)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber max = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	HeapTupleData row = {.t_tableOid = RelationGetRelid(rel)};

	/* HeapTupleSatisfiesVacuumHorizon may set hint bits, and tuples must not move */
	Assert(BufferIsValid(buffer) && max <= MaxHeapTuplesPerPage);
	for (OffsetNumber at = FirstOffsetNumber; at <= max; at++)
	{
		ItemId		item = PageGetItemId(page, at);

		if (!ItemIdIsNormal(item))
			continue;
		row.t_data = (HeapTupleHeader) PageGetItem(page, item);
		row.t_len = ItemIdGetLength(item);
		ItemPointerSet(&row.t_self, BufferGetBlockNumber(buffer), at);
		if (!test(&row, buffer, failed))
			return false;
	}
	return true;
}

/*
 * The same for a number of a table's pages, evenly spread: the first one and the last one, where a
 * load's rows would be, are among them.  A single page is the last one.
 */
static bool
rows_pass(Relation rel, RowTest test, BlockNumber pages)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	TransactionId failed = InvalidTransactionId;
	bool		pass = true;

	pages = Min(pages, nblocks);
	for (BlockNumber i = 0; i < pages && pass; i++)
	{
		BlockNumber block = pages == 1 ? nblocks - 1 :
			(BlockNumber) ((uint64) i * (nblocks - 1) / (pages - 1));
		Buffer		buffer;

		Assert(block < nblocks && (i < pages - 1 || block == nblocks - 1));
		CHECK_FOR_INTERRUPTS();
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		pass = page_passes(rel, buffer, test, &failed);
		UnlockReleaseBuffer(buffer);
	}
	FreeAccessStrategy(strategy);
	return pass;
}

bool
dead_rows_only(Relation rel)
{
	return rows_pass(rel, is_gone, PAGES_TO_LOOK_AT);
}

bool
dead_rows_unseen(Relation rel)
{
	/* else rows might come while pages are read */
	Assert(CheckRelationLockedByMe(rel, ShareRowExclusiveLock, true));
	return rows_pass(rel, is_unseen, MaxBlockNumber);
}
