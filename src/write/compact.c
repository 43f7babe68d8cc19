/*
 * compact.c
 *		See compact.h.
 *
 * A page is overwritten under an exclusive lock, not a cleanup lock: whoever has
 * it pinned has no business with rows that he cannot see.  Pages are logged as
 * images, which logical decoding passes over: it has seen the rows come and go.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/pg_am_d.h"
#include "catalog/storage.h"
#include "compat.h"
#include "dead_rows.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "write/compact.h"

typedef struct Compaction
{
	Relation	rel;
	BufferAccessStrategy strategy;
	Size		reserve;		/* to leave free on a page */
	BlockNumber end;			/* the next block to write */
	PGAlignedBlock in;			/* the page that rows come from */
	PGAlignedBlock out;			/* the page that they go to */
} Compaction;

/* ---- the rows ---- */

static inline bool
is_alive(const HeapTupleHeaderData *header)
{
	return (header->t_infomask & HEAP_XMAX_INVALID) ||
		HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask);
}

/* Whether a row was inserted by this transaction, and then deleted by it or not at all. */
static bool
is_movable(HeapTupleHeader header, ItemPointer tid)
{
	TransactionId xid = GetCurrentTransactionIdIfAny();

	if (!TransactionIdEquals(HeapTupleHeaderGetRawXmin(header), xid) ||
		HeapTupleHeaderXminFrozen(header) ||
		HeapTupleHeaderIsHotUpdated(header) || HeapTupleHeaderIsHeapOnly(header) ||
		!ItemPointerEquals(&header->t_ctid, tid))
		return false;
	return is_alive(header) ||
		(!(header->t_infomask & HEAP_XMAX_IS_MULTI) &&
		 TransactionIdEquals(HeapTupleHeaderGetRawXmax(header), xid));
}

/* *rows: those of the page are added. */
static bool
page_is_movable(Page page, BlockNumber block, int64 *rows)
{
	OffsetNumber most = PageGetMaxOffsetNumber(page);

	for (OffsetNumber i = FirstOffsetNumber; i <= most; i++)
	{
		ItemId		id = PageGetItemId(page, i);
		ItemPointerData tid;

		if (!ItemIdIsUsed(id))
			continue;
		ItemPointerSet(&tid, block, i);
		if (!ItemIdIsNormal(id) ||
			!is_movable((HeapTupleHeader) PageGetItem(page, id), &tid))
			return false;
		(*rows)++;
	}
	return true;
}

/* ---- pages ---- */

static void
read_page(Compaction *compaction, BlockNumber block)
{
	Buffer		buffer = ReadBufferExtended(compaction->rel, MAIN_FORKNUM, block,
											RBM_NORMAL, compaction->strategy);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(compaction->in.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

/* The page that rows go to is written, and begun anew. */
static void
write_page(Compaction *compaction)
{
	Buffer		buffer = ReadBufferExtended(compaction->rel, MAIN_FORKNUM,
											compaction->end, RBM_NORMAL,
											compaction->strategy);
	Page		page = BufferGetPage(buffer);
	Page		out = (Page) compaction->out.data;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	START_CRIT_SECTION();
	PageSetLSN(out, PageGetLSN(page));
	memcpy(page, out, BLCKSZ);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(compaction->rel))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
	compaction->end++;
	PageInit(out, BLCKSZ, 0);
}

static void
move_row(Compaction *compaction, const HeapTupleHeaderData *header, Size len)
{
	Page		out = (Page) compaction->out.data;
	OffsetNumber offset;
	HeapTupleHeader moved;

	if (!PageIsEmpty(out) &&
		PageGetHeapFreeSpace(out) < MAXALIGN(len) + compaction->reserve)
		write_page(compaction);
	offset = PageAddItem(out, (char *) unconstify(HeapTupleHeaderData *, header), len,
						 InvalidOffsetNumber, false, true);
	if (offset == InvalidOffsetNumber)
		elog(ERROR, "could not move a row of \"%s\"",
			 RelationGetRelationName(compaction->rel));
	moved = (HeapTupleHeader) PageGetItem(out, PageGetItemId(out, offset));
	ItemPointerSet(&moved->t_ctid, compaction->end, offset);
}

/* The rows of the page in hand. */
static void
move_rows(Compaction *compaction, BlockNumber block)
{
	Page		page = (Page) compaction->in.data;
	OffsetNumber most = PageGetMaxOffsetNumber(page);

	for (OffsetNumber i = FirstOffsetNumber; i <= most; i++)
	{
		ItemId		id = PageGetItemId(page, i);
		HeapTupleHeader header;

		if (!ItemIdIsUsed(id))
			continue;
		header = (HeapTupleHeader) PageGetItem(page, id);
		if (is_alive(header))
			move_row(compaction, header, ItemIdGetLength(id));
	}
	/* what is behind it has not been read yet */
	if (compaction->end > block)
		elog(ERROR, "rows of \"%s\" do not fit where they were",
			 RelationGetRelationName(compaction->rel));
}

/* Whether all that pages from first on hold is that many movable rows. */
static bool
is_tail_movable(Compaction *compaction, BlockNumber first, BlockNumber nblocks, int64 rows)
{
	int64		found = 0;

	for (BlockNumber block = first; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		read_page(compaction, block);
		if (!page_is_movable((Page) compaction->in.data, block, &found))
			return false;
	}
	return found == rows;
}

bool
compact_tail(Relation rel, BlockNumber first, int64 rows, BlockNumber *end)
{
	Compaction *compaction = palloc0(sizeof(Compaction));
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	bool		movable;

	compaction->rel = rel;
	compaction->strategy = GetAccessStrategy(BAS_BULKWRITE);
	compaction->reserve = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
	compaction->end = first;
	PageInit((Page) compaction->out.data, BLCKSZ, 0);
	movable = is_tail_movable(compaction, first, nblocks, rows);
	for (BlockNumber block = first; block < nblocks && movable; block++)
	{
		CHECK_FOR_INTERRUPTS();
		read_page(compaction, block);
		move_rows(compaction, block);
	}
	if (movable)
	{
		if (!PageIsEmpty((Page) compaction->out.data))
			write_page(compaction);
		*end = compaction->end;
		while (compaction->end < nblocks)
		{
			CHECK_FOR_INTERRUPTS();
			write_page(compaction);
		}
	}
	FreeAccessStrategy(compaction->strategy);
	pfree(compaction);
	return movable;
}

bool
compact_is_empty(Relation rel, BlockNumber end)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	bool		empty = true;

	for (BlockNumber block = end; block < nblocks && empty; block++)
	{
		Buffer		buffer;
		Page		page;

		CHECK_FOR_INTERRUPTS();
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buffer);
		empty = PageIsNew(page) || PageIsEmpty(page);
		UnlockReleaseBuffer(buffer);
	}
	FreeAccessStrategy(strategy);
	return empty;
}

/*
 * Locks the table if nobody uses it.  Before 18 a conditional lock is not to be had as long as somebody waits
 * for another one, and writers may well wait for us.  One that waits is: it goes ahead of those who
 * wait for what we have.  A reader who comes just then is waited for.
 */
static bool
lock_unused(Relation rel)
{
	LockRelId  *id = &rel->rd_lockInfo.lockRelId;
	LOCKTAG		tag;
	int			users;

	if (ConditionalLockRelation(rel, AccessExclusiveLock))
		return true;
	SET_LOCKTAG_RELATION(tag, id->dbId, id->relId);
	pfree(GetLockConflicts(&tag, AccessExclusiveLock, &users));
	if (users > 0)
		return false;
	LockRelation(rel, AccessExclusiveLock);
	return true;
}

bool
compact_truncate(Relation rel, BlockNumber end)
{
	if (!lock_unused(rel))
		return false;
	if (RelationGetNumberOfBlocks(rel) > end)
		RelationTruncate(rel, end);
	UnlockRelation(rel, AccessExclusiveLock);
	return true;
}

/*
 * Whether an index certainly has no entry, nor has any file that it may have again: a btree with nothing but its
 * metapage, and no other file before in this transaction.
 */
static bool
is_without_entries(Oid relid)
{
	Relation	index = index_open(relid, AccessShareLock);
	bool		without = index->rd_rel->relam == BTREE_AM_OID &&
		index->rd_createSubid == InvalidSubTransactionId &&
		index->rd_firstRelfilelocatorSubid == InvalidSubTransactionId &&
		RelationGetNumberOfBlocks(index) <= 1;

	index_close(index, AccessShareLock);
	return without;
}

/* An index that this transaction has dropped comes back if it fails; then it has locked the table against all. */
static bool
may_have_entries(Relation rel)
{
	ListCell   *lc;

	if (CheckRelationLockedByMe(rel, AccessExclusiveLock, false))
		return true;
	foreach(lc, RelationGetIndexList(rel))
		if (!is_without_entries(lfirst_oid(lc)))
			return true;
	return false;
}

void
compact_unseen(Relation rel)
{
	if (rel->rd_refcnt == 1 && RelationGetNumberOfBlocks(rel) > 0 &&
		!may_have_entries(rel) && dead_rows_unseen(rel))
		(void) compact_truncate(rel, 0);
}
