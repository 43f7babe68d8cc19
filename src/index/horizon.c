/*
 * horizon.c
 *		See horizon.h.
 *
 * Which rows a build has left out it does not say.  They were deleted by transactions before the
 * oldest one that anybody was thought to need when its scan began.  That transaction only gets
 * younger, unless a standby's feedback sets in: so the youngest before and after the build is
 * taken.  What was pruned meanwhile has raised its conflict then.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/heapam_xlog.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "index/horizon.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/rel.h"

/* The younger one of that and what must be kept now. */
static TransactionId
advance(TransactionId horizon, Relation heap)
{
	TransactionId oldest = GetOldestNonRemovableTransactionId(heap);

	return TransactionIdFollows(horizon, oldest) ? horizon : oldest;
}

/* Goes through the rows that are dead to all but snapshots on standbys. */
static void
look_at_page(Relation heap, Buffer buffer, TransactionId horizon, TransactionId *newest)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber most = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	HeapTupleData row = {.t_tableOid = RelationGetRelid(heap)};

	for (OffsetNumber at = FirstOffsetNumber; at <= most; at++)
	{
		ItemId		item = PageGetItemId(page, at);

		if (!ItemIdIsNormal(item))
			continue;
		row.t_data = (HeapTupleHeader) PageGetItem(page, item);
		/* nobody has deleted it; whether it was ever inserted does not matter */
		if (row.t_data->t_infomask & HEAP_XMAX_INVALID)
			continue;
		row.t_len = ItemIdGetLength(item);
		ItemPointerSet(&row.t_self, BufferGetBlockNumber(buffer), at);
		if (HeapTupleSatisfiesVacuum(&row, horizon, buffer) == HEAPTUPLE_DEAD)
			HeapTupleHeaderAdvanceConflictHorizon(row.t_data, newest);
	}
}

/* The newest transaction that has deleted a row which a build may have left out; or invalid. */
static TransactionId
find_newest(const IndexTable *table, TransactionId horizon)
{
	Relation	heap = table->heap;
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	Buffer		map = InvalidBuffer;
	TransactionId newest = InvalidTransactionId;

	/* the load's own rows nobody has seen yet */
	for (BlockNumber block = 0; block < table->heap_blocks; block++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		if (VM_ALL_VISIBLE(heap, block, &map))
			continue;
		buffer = ReadBufferExtended(heap, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		look_at_page(heap, buffer, horizon, &newest);
		UnlockReleaseBuffer(buffer);
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
	FreeAccessStrategy(strategy);
	return newest;
}

/*
 * Of all records that raise the conflict this one does nothing else.  It is about a page of a
 * btree, but is replayed without looking at any.
 */
static void
log_conflict(Relation heap, TransactionId newest)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32		age = XidFromFullTransactionId(next) - newest;
	xl_btree_reuse_page record = {.block = InvalidBlockNumber};

	compat_reuse_page(&record, heap,
					  FullTransactionIdFromU64(U64FromFullTransactionId(next) - age));
	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfBtreeReusePage);
	(void) XLogInsert(RM_BTREE_ID, XLOG_BTREE_REUSE_PAGE);
}

bool
horizon_matters(Relation rel)
{
	return XLogStandbyInfoActive() && RelationNeedsWAL(rel);
}

void
horizon_note(IndexTable *table)
{
	if (horizon_matters(table->heap))
		table->horizon = advance(table->horizon, table->heap);
}

void
horizon_tell(const IndexTable *table)
{
	TransactionId newest;

	if (!horizon_matters(table->heap))
		return;
	newest = find_newest(table, advance(table->horizon, table->heap));
	if (TransactionIdIsNormal(newest))
		log_conflict(table->heap, newest);
}
