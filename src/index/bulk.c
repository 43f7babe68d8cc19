/*
 * bulk.c
 *		See bulk.h.  From 17 on the server has means for it, but not where several
 *		processes share a file: it takes blocks that others have put for missing ones.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "compat.h"
#include "index/bulk.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"

#define MOST_PENDING XLR_MAX_BLOCK_ID

typedef struct PendingPage
{
	BlockNumber block;
	Page		page;
} PendingPage;

struct BulkPages
{
#ifdef COMPAT_BULK_WRITE
	BulkWriteState *state;		/* NULL: all that follows counts */
#endif
	Relation	rel;
	MemoryContext context;
	bool		shared;
	bool		logged;
	BlockNumber size;			/* of the file, or at least that */
	int			npending;
	PendingPage pending[MOST_PENDING];
};

/* ---- by ourselves ---- */

static BulkPages *
open_own(Relation rel, bool shared)
{
	BulkPages  *bulk = palloc0(sizeof(BulkPages));

	bulk->rel = rel;
	bulk->context = CurrentMemoryContext;
	bulk->shared = shared;
	bulk->logged = RelationNeedsWAL(rel);
	bulk->size = smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM);
	return bulk;
}

static int
compare_blocks(const void *a, const void *b)
{
	BlockNumber block_a = ((const PendingPage *) a)->block;
	BlockNumber block_b = ((const PendingPage *) b)->block;

	return (block_a > block_b) - (block_a < block_b);
}

static void
log_pending(BulkPages *bulk)
{
	BlockNumber blocks[MOST_PENDING];
	Page		pages[MOST_PENDING];

	for (int i = 0; i < bulk->npending; i++)
	{
		blocks[i] = bulk->pending[i].block;
		pages[i] = bulk->pending[i].page;
	}
	log_newpages(&bulk->rel->rd_locator, MAIN_FORKNUM, bulk->npending, blocks,
				 pages, true);
}

/* The file gets so many blocks, if it has less. */
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
}

static void
flush(BulkPages *bulk)
{
	if (bulk->npending == 0)
		return;
	qsort(bulk->pending, bulk->npending, sizeof(PendingPage), compare_blocks);
	if (bulk->logged)
		log_pending(bulk);
	extend(bulk, bulk->pending[bulk->npending - 1].block + 1);
	for (int i = 0; i < bulk->npending; i++)
	{
		BlockNumber block = bulk->pending[i].block;
		Page		page = bulk->pending[i].page;

		compat_set_checksum(page, block);
		smgrwrite(RelationGetSmgr(bulk->rel), MAIN_FORKNUM, block, (char *) page,
				  bulk->logged);
		pfree(page);
	}
	bulk->npending = 0;
}

static void
put_own(BulkPages *bulk, BlockNumber block, Page page)
{
	bulk->pending[bulk->npending].block = block;
	bulk->pending[bulk->npending++].page = page;
	if (bulk->npending == MOST_PENDING)
		flush(bulk);
}

static void
close_own(BulkPages *bulk)
{
	flush(bulk);
	/* a checkpoint since the first page knows nothing of it */
	if (bulk->logged && !bulk->shared)
		smgrimmedsync(RelationGetSmgr(bulk->rel), MAIN_FORKNUM);
}

/* ---- either ---- */

BulkPages *
bulk_join(Relation rel)
{
	return open_own(rel, true);
}

#ifdef COMPAT_BULK_WRITE

BulkPages *
bulk_open(Relation rel)
{
	BulkPages  *bulk = palloc0(sizeof(BulkPages));

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
	if (bulk->state == NULL)
		put_own(bulk, block, page);
	else
		smgr_bulk_write(bulk->state, block, (BulkWriteBuffer) page, true);
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
	put_own(bulk, block, page);
}

void
bulk_close(BulkPages *bulk)
{
	close_own(bulk);
	pfree(bulk);
}

#endif
