/*
 * bulk.c
 *		See bulk.h.
 *
 * From 17 on this is smgr_bulk_start_rel and its companions (bulk_write.c), whose work is done
 * here by ourselves for older servers (as nbtsort.c's _bt_blwritepage did it there), and on all
 * servers where several processes share a file.  There bulk_write.c can't be used: it takes the
 * file to be as large as it has made it itself, and would write zeroes over blocks that other
 * processes have put.
 *
 * Pages wait until there are MAX_PENDING of them.  Then, in this order:
 *
 *		1. sort by block         so that files grow from front to end
 *		2. log_newpages          one WAL record of up to 32 full-page images:
 *
 *			+--------+---------+---------+     +-------------------------+
 *			| header | block 7 | block 8 | ... | images, each without the |
 *			|        |   ref   |   ref   |     | hole pd_lower..pd_upper  |
 *			+--------+---------+---------+     +-------------------------+
 *
 *		3. extend with zeroes    up to the last of them, where the file is shorter
 *		4. checksum and smgrwrite of each
 *
 * Step 2 comes before 4 (WAL before data), and sets the pages' LSNs, which the checksum covers.
 * As the hole is not logged, a page must have the standard layout: replay makes the page with
 * zeroes in the hole, where the file may have what the last line pointer has left there.
 *
 * A crash
 *	- after 2 replays the pages into a file that is removed, as the transaction has not committed;
 *	- after 3 leaves zeroes, or holes that other processes were to fill, in such a file.
 * After the commit a crash must find the pages in the WAL or on disk.  They are not in shared
 * buffers.  So a checkpoint that begins after their WAL records, and syncs what it knows of before
 * they are written, does not have them on disk, and later replay begins behind the records.
 * Therefore the file is synced at the end if a checkpoint has begun since the first of them
 * (close_own, smgr_bulk_finish).  If none has, the next one will sync the file, which has been
 * registered: after each batch of pages, of which the last in each segment stands for those before
 * it (flush), or at the end (smgr_bulk_finish).  Where WAL is skipped (wal_level = minimal,
 * unlogged) each write is registered, and the commit syncs what it must (smgrDoPendingSyncs).
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "index/bulk.h"
#include "server/compat.h"
#include "server/wal_written.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"

/* As many as one WAL record may refer to, as in bulk_write.c. */
#define MAX_PENDING XLR_MAX_BLOCK_ID

typedef struct PendingPage
{
	BlockNumber block;
	Page		page;
} PendingPage;

struct BulkPages
{
#ifdef COMPAT_BULK_WRITE
	BulkWriteState *state;		/* the server does it all; NULL: the fields below do */
#endif
	Relation	rel;
	MemoryContext context;		/* of the pages */
	bool		shared;			/* other processes put pages to the file, too */
	bool		logged;
	XLogRecPtr	redo;			/* where replay would have begun when it was opened */
	BlockNumber size;			/* the file's size; shared: it is no smaller */
	int			npending;
	PendingPage pending[MAX_PENDING];
};

#ifdef USE_ASSERT_CHECKING

/*
 * Whether a relation's storage was made in this transaction.  The relation caches of parallel
 * workers don't know that.
 */
static bool
storage_is_new(Relation rel)
{
	return IsParallelWorker() || rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
}

/* Whether the hole that isn't logged is where the page's header says. */
static bool
page_is_standard(Page page)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	return header->pd_lower >= SizeOfPageHeaderData && header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special && header->pd_special <= BLCKSZ;
}

#endif

/* ---- by ourselves ---- */

static BulkPages *
open_own(Relation rel, bool shared)
{
	BulkPages  *bulk = palloc0(sizeof(BulkPages));

	bulk->rel = rel;
	bulk->context = CurrentMemoryContext;
	bulk->shared = shared;
	bulk->logged = RelationNeedsWAL(rel);
	bulk->redo = GetRedoRecPtr();
	bulk->size = smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM);
	/* with a backend's own files there are no others to share with */
	Assert(!shared || !RelationUsesLocalBuffers(rel));
	return bulk;
}

static int
compare_blocks(const void *a, const void *b)
{
	BlockNumber block_a = ((const PendingPage *) a)->block;
	BlockNumber block_b = ((const PendingPage *) b)->block;

	return (block_a > block_b) - (block_a < block_b);
}

/* Steps 1 and 2: the pending pages, sorted, in one record; each gets its LSN. */
static void
log_pending(BulkPages *bulk)
{
	BlockNumber blocks[MAX_PENDING];
	Page		pages[MAX_PENDING];

	for (int i = 0; i < bulk->npending; i++)
	{
		blocks[i] = bulk->pending[i].block;
		pages[i] = bulk->pending[i].page;
		Assert(page_is_standard(pages[i]));
	}
	log_newpages(&bulk->rel->rd_locator, MAIN_FORKNUM, bulk->npending, blocks,
				 pages, true);
}

/*
 * The file gets size blocks, if it has less.  Zeroes are written, which nobody logs: blocks before
 * the pending ones are other processes' or come later.  Of several processes one extends at a
 * time, and looks at the size under the lock, so that no block is zeroed that another has put.
 */
static void
extend(BulkPages *bulk, BlockNumber size)
{
	if (bulk->size >= size)
		return;
	if (bulk->shared)
	{
		LockRelationForExtension(bulk->rel, ExclusiveLock);
		bulk->size = smgrnblocks(RelationGetSmgr(bulk->rel), MAIN_FORKNUM);
	}
	if (bulk->size < size)
	{
		compat_zero_extend(RelationGetSmgr(bulk->rel), bulk->size, size - bulk->size,
						   bulk->logged);
		bulk->size = size;
	}
	if (bulk->shared)
		UnlockRelationForExtension(bulk->rel, ExclusiveLock);
	Assert(smgrnblocks(RelationGetSmgr(bulk->rel), MAIN_FORKNUM) >= size);
}

/* Whether a pending page is the last one, or the last of its segment of the file. */
static bool
is_last_of_segment(const BulkPages *bulk, int i)
{
	return i == bulk->npending - 1 ||
		bulk->pending[i].block / RELSEG_SIZE != bulk->pending[i + 1].block / RELSEG_SIZE;
}

/* The four steps. */
static void
flush(BulkPages *bulk)
{
	if (bulk->npending == 0)
		return;
	qsort(bulk->pending, bulk->npending, sizeof(PendingPage), compare_blocks);
	if (bulk->logged)
	{
		log_pending(bulk);
		compat_injection_point("pgbulk-index-pages-logged");
	}
	extend(bulk, bulk->pending[bulk->npending - 1].block + 1);
	for (int i = 0; i < bulk->npending; i++)
	{
		BlockNumber block = bulk->pending[i].block;
		Page		page = bulk->pending[i].page;

		/* each block once: else which one of two pages remains is a matter of luck */
		Assert(i == 0 || bulk->pending[i - 1].block < block);
		/* WAL before data */
		Assert(!bulk->logged || !XLogRecPtrIsInvalid(PageGetLSN(page)));
		compat_set_checksum(page, block);
		smgrwrite(RelationGetSmgr(bulk->rel), MAIN_FORKNUM, block, (char *) page,
				  bulk->logged && !is_last_of_segment(bulk, i));
		pfree(page);
	}
	bulk->npending = 0;
}

static void
put_own(BulkPages *bulk, BlockNumber block, Page page)
{
	Assert(bulk->npending < MAX_PENDING);
	bulk->pending[bulk->npending].block = block;
	bulk->pending[bulk->npending++].page = page;
	if (bulk->npending == MAX_PENDING)
		flush(bulk);
}

static void
close_own(BulkPages *bulk)
{
	flush(bulk);
	Assert(bulk->npending == 0);

	/*
	 * A checkpoint that begins from here on finds the writes registered.  For those who share the
	 * file, whoever has called bulk_open, before them, does it.
	 */
	if (bulk->logged && !bulk->shared && bulk->redo != GetRedoRecPtr())
		smgrimmedsync(RelationGetSmgr(bulk->rel), MAIN_FORKNUM);
}

/* ---- either ---- */

BulkPages *
bulk_join(Relation rel)
{
	Assert(storage_is_new(rel));
	return open_own(rel, true);
}

#ifdef COMPAT_BULK_WRITE

BulkPages *
bulk_open(Relation rel)
{
	BulkPages  *bulk = palloc0(sizeof(BulkPages));

	Assert(storage_is_new(rel));
	Assert(smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM) == 0);
	bulk->state = smgr_bulk_start_rel(rel, MAIN_FORKNUM);
	return bulk;
}

Page
bulk_page(BulkPages *bulk)
{
	if (bulk->state == NULL)
		return compat_alloc_page(bulk->context);
	return (Page) smgr_bulk_get_buf(bulk->state);
}

void
bulk_put(BulkPages *bulk, BlockNumber block, Page page)
{
	Assert(BlockNumberIsValid(block) && page_is_standard(page));
	if (bulk->state == NULL)
		put_own(bulk, block, page);
	else
		smgr_bulk_write(bulk->state, block, (BulkWriteBuffer) page, true);
	wal_written();
}

void
bulk_close(BulkPages *bulk)
{
	if (bulk->state == NULL)
		close_own(bulk);
	else
		smgr_bulk_finish(bulk->state);
	pfree(bulk);
}

#else

BulkPages *
bulk_open(Relation rel)
{
	Assert(storage_is_new(rel));
	Assert(smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM) == 0);
	return open_own(rel, false);
}

Page
bulk_page(BulkPages *bulk)
{
	return compat_alloc_page(bulk->context);
}

void
bulk_put(BulkPages *bulk, BlockNumber block, Page page)
{
	Assert(BlockNumberIsValid(block) && page_is_standard(page));
	put_own(bulk, block, page);
	wal_written();
}

void
bulk_close(BulkPages *bulk)
{
	close_own(bulk);
	pfree(bulk);
}

#endif
