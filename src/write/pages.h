/*
 * pages.h
 *		Heap pages formed privately and then placed at the end of a table.
 *
 * Tuples are put into pages in private memory; when a number of pages is
 * full, the table is extended by as many blocks at once, and each page is
 * copied into its buffer and logged under the buffer's lock, as one
 * multi-insert record that initialises its page.  That form of WAL (and not
 * full-page images) is what logical decoding reads.  For the chunks of a TOAST
 * table it wants a record for each tuple, and gets it.
 *
 * Assumption: nobody else inserts into the table meanwhile (SHARE ROW
 * EXCLUSIVE lock), but for the workers of the same load.  Price: the free
 * space that the table had is not used.  Trap: everything goes through
 * shared buffers, for others can read the table; pages written past them
 * could be hidden by zero pages that a reader has cached, or be lost to a
 * checkpoint in between.
 *
 * One batch may serve many tables in turn (pages_turn).  So that many turns do
 * not leave as many pages partly filled, a table's tail is gone on with: the
 * private page has its new tuples where the table's page has room for them.
 *
 * What a tuple's header holds is heap_prepare_insert's doing, and the WAL
 * record is heap_multi_insert's (heapam.c, PostgreSQL 18).
 */
#ifndef PGBULK_PAGES_H
#define PGBULK_PAGES_H

#include "postgres.h"

#include "access/htup_details.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* Blocks that a table is extended by: fewer cost time, more do not save any. */
#define PAGES_BATCH 64

/* Pages that a process keeps while others write, too. */
#define PAGES_HELD 256

/* How the rows of a load become visible, and to whom. */
typedef struct PageStamp
{
	TransactionId xid;
	CommandId	cid;
	bool		frozen;			/* to everyone, at once */
} PageStamp;

/*
 * The page of a table that rows were put into last; what is in use is below
 * lower and from upper on.  Zeroes: there is none.
 */
typedef struct PageTail
{
	BlockNumber block;
	LocationIndex lower;
	LocationIndex upper;
} PageTail;

typedef struct PageBatch
{
	Relation	rel;			/* NULL: not yet turned to one */
	PageStamp	stamp;
	bool		logged;
	bool		decoded;		/* WAL must carry the tuples for logical decoding */
	bool		tuplewise;		/* a WAL record for each tuple */
	BufferAccessStrategy strategy;
	int			shares;			/* of the ring of buffers, this batch's being one */
	Size		reserve;		/* bytes to leave free in a page (fillfactor) */
	char	   *record;			/* room for a page's WAL record */

	/* the private pages */
	char	   *pages;
	int			capacity;
	int			npages;			/* begun; all but the last are full */
	PageTail   *tail;			/* NULL: each batch begins a new page */
	bool		continued;		/* the first page is the tail */
	BlockNumber *blocks;		/* where pages_reserve has put them */

	/* the page being filled; its header has these only when it is closed */
	char	   *page;
	uint32		lower;
	uint32		upper;

	/* reserved, not yet written */
	Buffer	   *buffers;
	int			nwritten;		/* pages that are in the table already */
	Buffer		map;			/* of the visibility map, pinned, or invalid */
} PageBatch;

/*
 * rel may be NULL: pages_turn comes first.  capacity: pages to hold at most.  In a parallel worker stamp.xid must be
 * the transaction id that it shares with its leader.  Memory: the current
 * context.
 */
extern PageBatch *pages_open(Relation rel, PageStamp stamp, int capacity);

/*
 * From here on pages are those of rel, the first one, if it has room, that of
 * tail, where the caller keeps what the next turn to rel must know.  The batch
 * is empty.  All tables of a batch are temporary, or none is.
 */
extern void pages_turn(PageBatch *batch, Relation rel, PageTail *tail);

/* The batch is one of so many that share what may be taken of the buffers. */
extern void pages_share_ring(PageBatch *batch, int shares);

/* Another capacity, for an empty batch. */
extern void pages_resize(PageBatch *batch, int capacity);

/* What a new tuple's header says, but for its attributes' flags. */
extern void pages_stamp(const PageStamp *stamp, HeapTupleHeader header);

/* pages_add's way out where the page is full; false: so is the batch. */
extern bool pages_next(PageBatch *batch, Size len);

/*
 * Puts a tuple of len bytes, stamped.  tuple is aligned, and zeroes follow it
 * up to MAXALIGN(len).  False: the batch is full and must be placed first.
 */
static inline bool
pages_add(PageBatch *batch, const char *tuple, Size len)
{
	Size		size = MAXALIGN(len);
	char	   *to;

	if (unlikely(batch->lower + sizeof(ItemIdData) + size + batch->reserve > batch->upper) &&
		!pages_next(batch, len))
		return false;

	batch->upper -= size;
	ItemIdSetNormal((ItemId) (batch->page + batch->lower), batch->upper, len);
	batch->lower += sizeof(ItemIdData);
	to = batch->page + batch->upper;

	/* two copies that overlap take the place of a loop */
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
		memcpy(to, tuple, size);
	return true;
}

/* The same for any tuple: it is stamped here, and what follows it is not looked at. */
static inline bool
pages_put(PageBatch *batch, HeapTuple tuple)
{
	Size		len = tuple->t_len;

	pages_stamp(&batch->stamp, tuple->t_data);
	if (!pages_add(batch, (char *) tuple->t_data, len))
		return false;
	memset(batch->page + batch->upper + len, 0, MAXALIGN(len) - len);
	return true;
}

/* How many tuples of len bytes the page in hand, if any, takes. */
static inline uint32
pages_room(const PageBatch *batch, Size len)
{
	const Size	each = sizeof(ItemIdData) + MAXALIGN(len);

	if (batch->lower + each + batch->reserve > batch->upper)
		return 0;
	return (batch->upper - batch->lower - batch->reserve) / each;
}

/* Where the next tuple of len bytes goes, if there is room. */
static inline char *
pages_place_for(PageBatch *batch, Size len)
{
	return batch->page + batch->upper - MAXALIGN(len);
}

/* n tuples of len bytes are in their places, each before the one before. */
static inline void
pages_added(PageBatch *batch, uint32 n, Size len)
{
	ItemId		ids = (ItemId) (batch->page + batch->lower);

	for (uint32 i = 0; i < n; i++)
	{
		batch->upper -= MAXALIGN(len);
		ItemIdSetNormal(&ids[i], batch->upper, len);
	}
	batch->lower += n * sizeof(ItemIdData);
}

/* Whether pages_put would take a tuple of len bytes. */
static inline bool
pages_have_room(const PageBatch *batch, Size len)
{
	return batch->npages < batch->capacity ||
		batch->lower == SizeOfPageHeaderData ||
		batch->lower + sizeof(ItemIdData) + MAXALIGN(len) + batch->reserve <= batch->upper;
}

/*
 * Puts a tuple as pages_add does, but into a page before the last one, which
 * must have room for it.  Returns its offset.
 */
extern OffsetNumber pages_add_before(PageBatch *batch, int page,
									 const char *tuple, Size len);

/* Doubles the capacity: what may not be placed yet must stay in memory. */
extern void pages_grow(PageBatch *batch);

/* Number of the page (in batch->blocks) and the offset of the tuple put last. */
static inline int
pages_last_page(const PageBatch *batch)
{
	return batch->npages - 1;
}

static inline OffsetNumber
pages_last_offset(const PageBatch *batch)
{
	return (batch->lower - SizeOfPageHeaderData) / sizeof(ItemIdData);
}

/*
 * After pages_reserve: how many tuples of the batch are in its page number
 * index, and the first one's offset there; batch->blocks has the page's place.
 */
extern int	pages_count(const PageBatch *batch, int index, OffsetNumber *first);

/*
 * Extends the table by the pages of the batch, which get their block numbers
 * here and are written by pages_write.  What cannot be pinned at once is
 * written here.  Of several processes, one at a time.
 *
 * Neither this nor pages_write within a subtransaction of the one that opened
 * the batch: the WAL records would bear the wrong transaction id.
 */
extern void pages_reserve(PageBatch *batch);

/*
 * Writes what is reserved; the batch is empty then.  Has the WAL writer take
 * the WAL to disk meanwhile.
 */
extern void pages_write(PageBatch *batch);

/* Both. */
extern void pages_place(PageBatch *batch);

/* Forgets what was put and is not reserved. */
extern void pages_discard(PageBatch *batch);

extern void pages_close(PageBatch *batch);

#endif							/* PGBULK_PAGES_H */
