/*
 * pages.h
 *		Heap pages formed privately and then placed at the end of a table.
 *
 * Tuples are put into pages in private memory; when a number of pages is full, the table is
 * extended by as many blocks at once, and each page is copied into its buffer and logged under the
 * buffer's lock, as one multi-insert record that initializes its page.  That form of WAL (and not
 * full-page images) is what logical decoding reads.  For the chunks of a TOAST table it wants a
 * record for each tuple, and gets it.
 *
 *		pages_add ...    pages_reserve                pages_write
 *		+----+----+      +----+----+ blocks 70, 71    +----+----+
 *		| p0 | p1 |  >   | p0 | p1 | some pinned    > | 70 | 71 | copied, logged, unpinned
 *		+----+----+      +----+----+                  +----+----+
 *		private          the table is extended        others may see the pages
 *
 * Assumption: nobody else inserts into the table meanwhile (SHARE ROW EXCLUSIVE lock), but for the
 * workers of the same load.  Price: the free space that the table had is not used.  Trap:
 * everything goes through shared buffers, for others can read the table; pages written past them
 * could be hidden by zero pages that a reader has cached, or be lost to a checkpoint in between.
 *
 * One batch may serve several tables, one after the other (pages_turn).  So that many changes do
 * not leave as many pages partly filled, a table's last page is continued (PageTail): the private
 * page has its new tuples where the table's page has space for them.  What is reserved in one table
 * (a run of pages) may wait until other tables have theirs; pages_write writes all of it.
 *
 * Of several processes that load side by side one at a time reserves pages, and all write at the
 * same time.  A page that another process may continue must be written before that one's turn
 * (pages_write_last).
 *
 * What a tuple's header holds is what heap_prepare_insert sets, and the WAL record is
 * heap_multi_insert's (heapam.c); src/README.md says with which versions they were compared.
 */
#ifndef PGBULK_PAGES_H
#define PGBULK_PAGES_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlogdefs.h"
#include "check/key_pass.h"
#include "index/brin_pass.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* Blocks that a table is extended by: fewer cost time, more do not save any. */
#define PAGES_BATCH 64

/* Pages that a process keeps while others write, too. */
#define PAGES_HELD 512

/* How the rows of a load become visible, and to whom. */
typedef struct PageStamp
{
	TransactionId xid;
	CommandId	cid;
	bool		frozen;			/* to everyone, at once */
} PageStamp;

/*
 * The page of a table that rows were put into last: lower and upper are its pd_lower and pd_upper.
 * Zeroes: there is none.
 */
typedef struct PageTail
{
	BlockNumber block;
	LocationIndex lower;
	LocationIndex upper;
} PageTail;

/* Pages of one table that are placed together. */
typedef struct PageRun
{
	Relation	rel;			/* NULL: pages_turn has not been called yet */
	bool		logged;
	bool		decoded;		/* WAL must carry the tuples for logical decoding */
	bool		tuplewise;		/* a WAL record for each tuple */
	bool		continued;		/* the first page is the continuation of from */
	PageTail	from;
	char	   *pages;			/* in the batch's memory, as are blocks and buffers */
	BlockNumber *blocks;		/* where pages_reserve has put them */
	Buffer	   *buffers;		/* pinned, or invalid */
	int			npages;			/* begun; all but the last are full */
	int			nwritten;		/* pages that are in the table already, from the first on; */
	bool		last_written;	/* and the last one is, too */
} PageRun;

typedef struct PageBatch
{
	PageStamp	stamp;
	BufferAccessStrategy strategy;
	int			shares;			/* of the ring of buffers; this batch has one of them */
	char	   *record;			/* a page's WAL record: BLCKSZ bytes and some */
	BrinPass   *pass;			/* is told of each page that is written; or NULL */
	KeyPass    *keys;			/* the same, where no page is continued */
	Buffer		map;			/* of the visibility map, pinned, or invalid */
	int			pinned;			/* buffers of all runs */

	/* the private pages, their blocks and buffers; the current run's are behind all others */
	char	   *pages;
	BlockNumber *blocks;
	Buffer	   *buffers;
	int			capacity;

	/* what is filled now, and what is reserved and waits for pages_write */
	PageRun		run;
	PageTail   *tail;			/* NULL: each run begins a new page */
	Size		reserve;		/* bytes to leave free in a page (fillfactor) */
	PageRun    *waiting;
	int			nwaiting;
	int			max_waiting;

	/* the page being filled; its header gets these when it is full */
	char	   *page;			/* NULL: none */
	uint32		lower;
	uint32		upper;
} PageBatch;

/*
 * rel may be NULL: pages_turn comes first.  capacity: pages to keep in memory at most.  In a
 * parallel worker stamp.xid must be the transaction id that it shares with its leader.  Memory: the
 * current context.
 */
extern PageBatch *pages_open(Relation rel, PageStamp stamp, int capacity);

/*
 * From here on pages are those of rel, the first one, if it has space, that of tail, where the
 * caller keeps what the next call for rel must know.  What was put before is reserved or written.
 * All tables of a batch are temporary, or none is.
 */
extern void pages_turn(PageBatch *batch, Relation rel, PageTail *tail);

/* The number of batches that share what one ring of buffers may have, this one included. */
extern void pages_share_ring(PageBatch *batch, int shares);

/* Another capacity, for an empty batch. */
extern void pages_resize(PageBatch *batch, int capacity);

/* What a new tuple's header says, but for its attributes' flags. */
extern void pages_stamp(const PageStamp *stamp, HeapTupleHeader header);

/* For pages_add, where the page is full: begins the next one; false: the batch is full. */
extern bool pages_next(PageBatch *batch, Size len);

/*
 * The place of a tuple of len bytes, of which MAXALIGN(len) are its.  NULL: the batch is full and
 * must be placed first.
 */
static inline char *
pages_take_room(PageBatch *batch, Size len)
{
	Size		size = MAXALIGN(len);

	if (unlikely(batch->lower + sizeof(ItemIdData) + size + batch->reserve > batch->upper) &&
		!pages_next(batch, len))
		return NULL;

	Assert(batch->page != NULL && batch->lower + sizeof(ItemIdData) + size <= batch->upper);
	batch->upper -= size;
	ItemIdSetNormal((ItemId) (batch->page + batch->lower), batch->upper, len);
	batch->lower += sizeof(ItemIdData);
	return batch->page + batch->upper;
}

/*
 * Puts a tuple of len bytes, stamped.  tuple is aligned, and zeroes follow it
 * up to MAXALIGN(len).  False: the batch is full.
 */
static inline bool
pages_add(PageBatch *batch, const char *tuple, Size len)
{
	Size		size = MAXALIGN(len);
	char	   *to = pages_take_room(batch, len);

	if (unlikely(to == NULL))
		return false;

	/*
	 * Two copies that overlap take the place of a loop.  Of a size that is not a
	 * constant some compilers make an instruction that takes long to begin.
	 */
	if (size <= 32)
	{
		memcpy(to, tuple, 16);
		memcpy(to + size - 16, tuple + size - 16, 16);
	}
	else if (size <= 64)
	{
		memcpy(to, tuple, 32);
		memcpy(to + size - 32, tuple + size - 32, 32);
	}
	else
	{
		for (Size i = 0; i + 64 < size; i += 64)
			memcpy(to + i, tuple + i, 64);
		memcpy(to + size - 64, tuple + size - 64, 64);
	}
	return true;
}

/* The same for any tuple: it is stamped here, and zeroes need not follow it. */
static inline bool
pages_put(PageBatch *batch, HeapTuple tuple)
{
	Size		len = tuple->t_len;
	char	   *to = pages_take_room(batch, len);

	if (to == NULL)
		return false;
	pages_stamp(&batch->stamp, tuple->t_data);
	memcpy(to, tuple->t_data, len);
	memset(to + len, 0, MAXALIGN(len) - len);
	return true;
}

/* How many tuples of len bytes the current page, if any, takes. */
static inline uint32
pages_tuples_left(const PageBatch *batch, Size len)
{
	const Size	each = sizeof(ItemIdData) + MAXALIGN(len);

	if (batch->lower + each + batch->reserve > batch->upper)
		return 0;
	return (batch->upper - batch->lower - batch->reserve) / each;
}

/* Where the next tuple of len bytes goes, if pages_tuples_left says that it fits. */
static inline char *
pages_place_for(PageBatch *batch, Size len)
{
	Assert(pages_tuples_left(batch, len) > 0);
	return batch->page + batch->upper - MAXALIGN(len);
}

/* The caller has put n tuples of len bytes there, each below the one before: line pointers. */
static inline void
pages_added(PageBatch *batch, uint32 n, Size len)
{
	ItemId		ids = (ItemId) (batch->page + batch->lower);

	Assert(n <= pages_tuples_left(batch, len));
	for (uint32 i = 0; i < n; i++)
	{
		batch->upper -= MAXALIGN(len);
		ItemIdSetNormal(&ids[i], batch->upper, len);
	}
	batch->lower += n * sizeof(ItemIdData);
}

/* Pages of all runs. */
static inline int
pages_used(const PageBatch *batch)
{
	return (batch->run.pages - batch->pages) / BLCKSZ + batch->run.npages;
}

/* Whether pages_put would take a tuple of len bytes. */
static inline bool
pages_have_space(const PageBatch *batch, Size len)
{
	return pages_used(batch) < batch->capacity ||
		batch->lower == SizeOfPageHeaderData ||
		batch->lower + sizeof(ItemIdData) + MAXALIGN(len) + batch->reserve <= batch->upper;
}

/*
 * Puts a tuple as pages_add does, but into a page before the last one, which must have space for
 * it.  Returns its offset.
 */
extern OffsetNumber pages_add_before(PageBatch *batch, int page,
									 const char *tuple, Size len);

/* Doubles the capacity, where pages may not be placed yet and must stay in memory. */
extern void pages_grow(PageBatch *batch);

/* Number of the page (in batch->run.blocks) and the offset of the tuple put last. */
static inline int
pages_last_page(const PageBatch *batch)
{
	return batch->run.npages - 1;
}

static inline OffsetNumber
pages_last_offset(const PageBatch *batch)
{
	return (batch->lower - SizeOfPageHeaderData) / sizeof(ItemIdData);
}

/*
 * After pages_reserve: how many tuples of the run are in its page number index, and the first one's
 * offset there; batch->run.blocks has the page's block.
 */
extern int	pages_count(const PageBatch *batch, int index, OffsetNumber *first);

/*
 * Extends the table by the pages of the run, which get their block numbers here and are written by
 * pages_write.  Of several processes, one at a time.
 *
 * Neither this nor what follows within a subtransaction of the one that opened the batch: the WAL
 * records would have the wrong transaction id.
 */
extern void pages_reserve(PageBatch *batch);

/* Writes only the last page of what pages_reserve has reserved, for whoever continues it. */
extern void pages_write_last(PageBatch *batch);

/*
 * Writes all that is reserved; the batch is empty then.  The WAL writer flushes the WAL meanwhile.
 */
extern void pages_write(PageBatch *batch);

/* Both; pages are written before the table is extended further. */
extern void pages_place(PageBatch *batch);

/* Forgets what was put; nothing of it may be reserved. */
extern void pages_discard(PageBatch *batch);

extern void pages_close(PageBatch *batch);

#endif							/* PGBULK_PAGES_H */
