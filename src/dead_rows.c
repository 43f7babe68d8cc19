/*
 * dead_rows.c
 *		See dead_rows.h.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "dead_rows.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"

/* Pages that are looked at where a guess will do. */
#define PAGES_TO_LOOK_AT 1024

/* Judges a row that is stored. */
typedef bool (*RowTest) (HeapTuple row, Buffer buffer, TransactionId *failed);

/* Nobody who begins to read now finds the row. */
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

/* *failed: a transaction that is known to be, or invalid. */
static bool
is_unseen(HeapTuple row, Buffer buffer, TransactionId *failed)
{
	TransactionId xid = HeapTupleHeaderGetRawXmin(row->t_data);

	if (HeapTupleHeaderXminCommitted(row->t_data) || (row->t_data->t_infomask & HEAP_MOVED) ||
		!TransactionIdIsNormal(xid))
		return false;
	if (TransactionIdEquals(xid, *failed))
		return true;
	/* in this order, as what ends is noted before it is no more in progress */
	if (TransactionIdIsCurrentTransactionId(xid) || TransactionIdIsInProgress(xid) ||
		TransactionIdDidCommit(xid))
		return false;
	*failed = xid;
	return true;
}

/* Whether all rows of a page pass. */
static bool
page_passes(Relation rel, Buffer buffer, RowTest test, TransactionId *failed)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber most = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	HeapTupleData row = {.t_tableOid = RelationGetRelid(rel)};

	for (OffsetNumber at = FirstOffsetNumber; at <= most; at++)
	{
		ItemId		item = PageGetItemId(page, at);

		/* a redirection leads to a row of the page */
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

/* The same for so many pages of a table, evenly spread, the last one among them. */
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
	return rows_pass(rel, is_unseen, MaxBlockNumber);
}
