/*
 * bulk.c
 *		See bulk.h.  From 17 on the server does it.
 */
#include "postgres.h"

#include "compat.h"
#include "index/bulk.h"

#ifdef COMPAT_BULK_WRITE

struct BulkPages
{
	BulkWriteState *state;
};

BulkPages *
bulk_open(Relation rel)
{
	BulkPages  *bulk = palloc(sizeof(BulkPages));

	bulk->state = smgr_bulk_start_rel(rel, MAIN_FORKNUM);
	return bulk;
}

Page
bulk_page(BulkPages *bulk)
{
	return (Page) smgr_bulk_get_buf(bulk->state);
}

void
bulk_put(BulkPages *bulk, BlockNumber block, Page page)
{
	smgr_bulk_write(bulk->state, block, (BulkWriteBuffer) page, true);
}

void
bulk_close(BulkPages *bulk)
{
	smgr_bulk_finish(bulk->state);
	pfree(bulk);
}

#else

#include "access/xloginsert.h"
#include "storage/smgr.h"

#define MOST_PENDING XLR_MAX_BLOCK_ID

typedef struct PendingPage
{
	BlockNumber block;
	Page		page;
} PendingPage;

struct BulkPages
{
	Relation	rel;
	MemoryContext context;
	bool		logged;
	BlockNumber size;			/* of the file */
	Page		zeroes;
	int			npending;
	PendingPage pending[MOST_PENDING];
};

BulkPages *
bulk_open(Relation rel)
{
	BulkPages  *bulk = palloc0(sizeof(BulkPages));

	bulk->rel = rel;
	bulk->context = CurrentMemoryContext;
	bulk->logged = RelationNeedsWAL(rel);
	bulk->size = smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM);
	bulk->zeroes = palloc0(BLCKSZ);
	return bulk;
}

Page
bulk_page(BulkPages *bulk)
{
	return MemoryContextAlloc(bulk->context, BLCKSZ);
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
	char	   *pages[MOST_PENDING];

	for (int i = 0; i < bulk->npending; i++)
	{
		blocks[i] = bulk->pending[i].block;
		pages[i] = (char *) bulk->pending[i].page;
	}
	log_newpages(&bulk->rel->rd_locator, MAIN_FORKNUM, bulk->npending, blocks,
				 pages, true);
}

/* Puts a page where it belongs; blocks before it that are to come are zero until then. */
static void
write_page(BulkPages *bulk, BlockNumber block, Page page)
{
	SMgrRelation smgr = RelationGetSmgr(bulk->rel);

	PageSetChecksumInplace(page, block);
	for (; bulk->size < block; bulk->size++)
		smgrextend(smgr, MAIN_FORKNUM, bulk->size, (char *) bulk->zeroes, bulk->logged);
	if (block == bulk->size)
	{
		smgrextend(smgr, MAIN_FORKNUM, block, (char *) page, bulk->logged);
		bulk->size++;
	}
	else
		smgrwrite(smgr, MAIN_FORKNUM, block, (char *) page, bulk->logged);
}

static void
flush(BulkPages *bulk)
{
	qsort(bulk->pending, bulk->npending, sizeof(PendingPage), compare_blocks);
	if (bulk->logged && bulk->npending > 0)
		log_pending(bulk);
	for (int i = 0; i < bulk->npending; i++)
	{
		write_page(bulk, bulk->pending[i].block, bulk->pending[i].page);
		pfree(bulk->pending[i].page);
	}
	bulk->npending = 0;
}

void
bulk_put(BulkPages *bulk, BlockNumber block, Page page)
{
	bulk->pending[bulk->npending].block = block;
	bulk->pending[bulk->npending++].page = page;
	if (bulk->npending == MOST_PENDING)
		flush(bulk);
}

void
bulk_close(BulkPages *bulk)
{
	flush(bulk);
	/* a checkpoint since the first page knows nothing of it */
	if (bulk->logged)
		smgrimmedsync(RelationGetSmgr(bulk->rel), MAIN_FORKNUM);
	pfree(bulk->zeroes);
	pfree(bulk);
}

#endif
