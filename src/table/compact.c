/*
 * compact.c
 *		See compact.h.
 *
 * The table's end, from the load's first block on; x are rows that the load has deleted again:
 *
 *		block    first    +1      +2      +3      +4        nblocks
 *		before   | a x x | x b x | x x x | x x c | d x x |
 *		after    | a b c | d     |       |       |       |
 *		                           ^ *end: compact_truncate cuts the file here, if it may
 *
 * Two pages are in private memory: in, a copy of the page that rows come from, and out, the page
 * that they go to.  out is written over block end when it is full; end never passes the block that
 * was read last, so no row is overwritten before it has been copied.
 *
 *		1. is_tail_movable    reads all pages, changes nothing
 *		2. move_rows          page by page; each page that is written is logged as an image
 *		3. write_page         empty pages over the rest
 *		4. compact_truncate   RelationTruncate: its own WAL record, under ACCESS EXCLUSIVE
 *
 * A crash, or an error, after any step: the transaction fails, so all rows at the table's end are
 * dead, whichever page has them.  While 2 goes on a row may be there twice, at its new place and
 * at its old one.  That is harmless as nobody else sees either, and this transaction does not look
 * between 2 and 3, in which errors can only come from reading, writing or a cancel.
 *
 * A page is overwritten under an exclusive lock, not a cleanup lock: other sessions that have it
 * pinned have rows of their own snapshots in mind, and see none here.  Images of pages are nothing
 * to logical decoding, which has seen the rows inserted and deleted.  Hint bits, line pointers and
 * t_ctid are as PageAddItem and heap_insert would make them; xmin, cmin and the rest go along
 * unchanged.  The pages have no bits in the visibility map, as they have rows of a transaction in
 * progress, and frozen rows are refused.
 *
 * (The nearest in the server is VACUUM FULL before 9.0; lazy_truncate_heap cuts files as 4 does.)
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/pg_am_d.h"
#include "catalog/storage.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "table/compact.h"
#include "table/dead_rows.h"

typedef struct Compaction
{
	Relation	rel;
	BufferAccessStrategy strategy;
	Size		reserve;		/* bytes to leave free on a page (fillfactor) */
	BlockNumber end;			/* the block that out will be written to */
	PGAlignedBlock in;			/* the page that rows come from */
	PGAlignedBlock out;			/* the page that they go to */
} Compaction;

/* ---- the rows ---- */

/* Of a movable row: not deleted.  One that was only locked is alive. */
static inline bool
is_alive(const HeapTupleHeaderData *header)
{
	return (header->t_infomask & HEAP_XMAX_INVALID) ||
		HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask);
}

/*
 * Whether a row was inserted by this (sub)transaction, and then deleted by it or not at all.
 * Nothing may point to its place: no HOT chain, no newer version, no xmax of others.  Frozen rows
 * may be on a page that is all-visible.
 */
static bool
is_movable(HeapTupleHeader header, ItemPointer tid)
{
	TransactionId xid = GetCurrentTransactionIdIfAny();

	/* it has loaded rows */
	Assert(TransactionIdIsValid(xid));
	if (!TransactionIdEquals(HeapTupleHeaderGetRawXmin(header), xid) ||
		HeapTupleHeaderXminFrozen(header) ||
		HeapTupleHeaderIsHotUpdated(header) || HeapTupleHeaderIsHeapOnly(header) ||
		!ItemPointerEquals(&header->t_ctid, tid))
		return false;
	return is_alive(header) ||
		(!(header->t_infomask & HEAP_XMAX_IS_MULTI) &&
		 TransactionIdEquals(HeapTupleHeaderGetRawXmax(header), xid));
}

/* Whether all rows of a page are.  *rows: their number is added, of dead ones, too. */
static bool
page_is_movable(Page page, BlockNumber block, int64 *rows)
{
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber i = FirstOffsetNumber; i <= max; i++)
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

/* Copies a page to in. */
static void
read_page(Compaction *compaction, BlockNumber block)
{
	Buffer		buffer = ReadBufferExtended(compaction->rel, MAIN_FORKNUM, block,
											RBM_NORMAL, compaction->strategy);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(compaction->in.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

/*
 * Writes out over block end, and begins it anew.  The buffer's page is replaced as a whole, but
 * for its LSN: a full-page image needs none of the old contents, and the new LSN must be greater.
 * log_newpage_buffer takes a page without items for what it is, not for a new one.
 */
static void
write_page(Compaction *compaction)
{
	Buffer		buffer = ReadBufferExtended(compaction->rel, MAIN_FORKNUM,
											compaction->end, RBM_NORMAL,
											compaction->strategy);
	Page		page = BufferGetPage(buffer);
	Page		out = (Page) compaction->out.data;

	Assert(((PageHeader) out)->pd_lower <= ((PageHeader) out)->pd_upper);
	Assert(PageGetMaxOffsetNumber(out) <= MaxHeapTuplesPerPage);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	/* else the visibility map would have to be cleared, too */
	Assert(!PageIsAllVisible(page));
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

/* Puts a row on out, after writing that page if it is full. */
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
	/* behind all others: rows keep their order */
	Assert(offset == PageGetMaxOffsetNumber(out));
	ItemPointerSet(&moved->t_ctid, compaction->end, offset);
}

/* Moves the living rows of in, a copy of the block. */
static void
move_rows(Compaction *compaction, BlockNumber block)
{
	Page		page = (Page) compaction->in.data;
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	for (OffsetNumber i = FirstOffsetNumber; i <= max; i++)
	{
		ItemId		id = PageGetItemId(page, i);
		HeapTupleHeader header;

		if (!ItemIdIsUsed(id))
			continue;
		header = (HeapTupleHeader) PageGetItem(page, id);
		if (is_alive(header))
			move_row(compaction, header, ItemIdGetLength(id));
	}
	/* pages behind this one have not been read yet: none of them may have been written */
	if (compaction->end > block)
		elog(ERROR, "rows of \"%s\" do not fit where they were",
			 RelationGetRelationName(compaction->rel));
}

/* Whether all that the pages from first on have is this number of movable rows. */
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

	Assert(CheckRelationLockedByMe(rel, ShareRowExclusiveLock, true));
	Assert(first <= nblocks);
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
		Assert(*end >= first && *end <= nblocks);
		/* out is empty from here on */
		while (compaction->end < nblocks)
		{
			CHECK_FOR_INTERRUPTS();
			write_page(compaction);
		}
	}
	/* nobody has extended the table meanwhile */
	Assert(RelationGetNumberOfBlocks(rel) == nblocks);
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

	Assert(CheckRelationLockedByMe(rel, ShareRowExclusiveLock, true));
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
 * Locks the table ACCESS EXCLUSIVE if nobody uses it.  Before 18 a conditional
 * lock fails as long as anyone waits for any lock on the table, and writers may
 * well wait for ours.  An unconditional lock is granted then: it goes ahead of
 * those who wait for what we hold.  A reader who arrives at that moment is
 * waited for.
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
	/* standbys replay it under the same lock, which is in the WAL, too */
	Assert(CheckRelationLockedByMe(rel, AccessExclusiveLock, false));
	if (RelationGetNumberOfBlocks(rel) > end)
		RelationTruncate(rel, end);
	UnlockRelation(rel, AccessExclusiveLock);
	return true;
}

/*
 * Whether an index certainly has no entry, nor a file that it would have again if the transaction
 * failed: a btree with nothing but its meta page, and no other file before in this transaction.
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

/*
 * Whether an index may have entries for the table's rows.  One that this transaction has dropped
 * is valid again if it fails; it has locked the table ACCESS EXCLUSIVE to drop it.
 */
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
	Assert(CheckRelationLockedByMe(rel, ShareRowExclusiveLock, true));
	if (rel->rd_refcnt == 1 && RelationGetNumberOfBlocks(rel) > 0 &&
		!may_have_entries(rel) && dead_rows_unseen(rel))
		(void) compact_truncate(rel, 0);
}
