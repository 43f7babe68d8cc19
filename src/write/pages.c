/*
 * pages.c
 *		See pages.h.
 *
 * This does the work of heap_multi_insert (heapam.c) with RelationPutHeapTuple and
 * RelationGetBufferForTuple (hio.c), in another order: the page is filled first, and gets its
 * block and buffer when it is full.  A private page, here with three tuples, is a heap page but for
 * what only its block tells:
 *
 *		+----------------+------------------------------------------+
 *		| PageHeaderData | lp1 > t1 | lp2 > t2 | lp3 > t3           |
 *		+----------------+------------------------------------------+
 *		|                                     ^ batch->lower        |
 *		|                  (free: batch->reserve at least)          |
 *		|    v batch->upper                                         |
 *		+-----------------------------------------------------------+
 *		|    | t3            | t2                | t1               |
 *		+-----------------------------------------------------------+
 *
 * While it is filled, lower and upper are in the batch; close_page puts them into the header
 * (pd_lower, pd_upper).  t_ctid is set by finish_tuples, the LSN by the WAL record, the checksum
 * by whoever writes the buffer.
 *
 * The first page of a batch may be the continuation of the table's last one (the tail).  Of the
 * private page then only the new part means anything, what is between the two pairs of offsets:
 *
 *		tail->lower .. pd_lower		new line pointers
 *		pd_upper .. tail->upper		new tuples
 *
 * The WAL record of a page (xl_heap_multi_insert):
 *
 *		+-------------------+-------------------------+----------------------------+
 *		| flags, ntuples    | offsets of the tuples   | main data                  |
 *		|                   | (not on a new page)     |                            |
 *		+-------------------+-------------------------+----------------------------+
 *		| xl_multi_insert_tuple | t1 from byte 23 on: | data of block 0            |
 *		| len, infomasks, hoff  | null bitmap, values | (batch->record)            |
 *		+-----------------------+---------------------+                            |
 *		| xl_multi_insert_tuple | t2 ...              |                            |
 *		+-----------------------+---------------------+----------------------------+
 *
 * Replay makes the page from it: a new one from nothing (REGBUF_WILL_INIT), or the tail's with
 * these tuples added at their offsets.  xmin is the record's transaction.
 *
 * The order of steps, and what a crash after each leaves:
 *
 *	1. The table is extended: pages of zeroes, in buffers and on disk.
 *	   crash: empty pages at the table's end, which VACUUM finds and gives to the free space map
 *	2. For each page, under its exclusive lock and in a critical section: contents are copied,
 *	   the buffer is marked dirty, the WAL record is inserted, the page gets its LSN.
 *	   crash: rows of a transaction that has not committed, on the pages whose records have
 *	          reached the disk; the others are empty
 *	3. Before 19, where rows are frozen: the page's bits in the visibility map, still under the
 *	   lock, by a record of their own.
 *	   crash before: all-visible pages that the map does not know; frozen rows are only put into
 *	          a file that is new in this transaction, and goes with it
 *
 * Invariants:
 *	- nobody else changes these pages: new ones are ours, the tail has only this load's rows;
 *	- lower <= upper, both within the page, and upper is MAXALIGNed;
 *	- each page is written exactly once (nwritten), in the order of the blocks but for the last one
 *	  of a run, which may be first (last_written);
 *	- the record says of each tuple what its page says.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/heapam_xlog.h"
#include "access/parallel.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/catalog.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/extend.h"
#include "server/wal_written.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "write/pages.h"

/*
 * Twice COPY's ring: with less a load waits for the WAL of its own dirty pages,
 * with more they leave the processor's cache before they are written.
 */
#define RING_SIZE_KB (32 * 1024)

/* Bytes of data that are copied of each tuple, if it has as many or not: a constant is faster. */
#define OVERCOPY 32

/*
 * Buffers that a batch has pinned at most between pages_reserve and pages_write, also as a part of
 * all: the server gives a backend that has many pinned few more.  Other pages are found again by
 * their blocks.
 */
#define PINNED_MAX PAGES_BATCH
#define PINNED_PART 16

/* The current run begins behind that number of pages. */
static void
begin_run(PageBatch *batch, int used)
{
	PageRun    *run = &batch->run;

	Assert(used <= batch->capacity && batch->page == NULL);
	run->pages = batch->pages + (Size) used * BLCKSZ;
	run->blocks = batch->blocks + used;
	run->buffers = batch->buffers + used;
	run->npages = run->nwritten = 0;
	run->continued = run->last_written = false;
}

static void
alloc_pages(PageBatch *batch, int capacity)
{
	Assert(capacity > 0);
	batch->capacity = capacity;
	batch->pages = palloc((Size) capacity * BLCKSZ + OVERCOPY);
	batch->blocks = palloc(capacity * sizeof(BlockNumber));
	batch->buffers = palloc(capacity * sizeof(Buffer));
	begin_run(batch, 0);
}

static void
free_pages(PageBatch *batch)
{
	Assert(pages_used(batch) == 0);
	pfree(batch->buffers);
	pfree(batch->blocks);
	pfree(batch->pages);
}

PageBatch *
pages_open(Relation rel, PageStamp stamp, int capacity)
{
	PageBatch  *batch = palloc0(sizeof(PageBatch));

	batch->stamp = stamp;
	alloc_pages(batch, capacity);
	batch->record = palloc(BLCKSZ + OVERCOPY);
	batch->map = InvalidBuffer;
	if (rel != NULL)
		pages_turn(batch, rel, NULL);
	return batch;
}

/* Unpins the page of the visibility map. */
static void
release_map(PageBatch *batch)
{
	if (BufferIsValid(batch->map))
		ReleaseBuffer(batch->map);
	batch->map = InvalidBuffer;
}

/* This batch's share of what the server lets one ring have: an eighth of the buffers. */
static int
ring_size_kb(const PageBatch *batch)
{
	int			max_kb = Min(RING_SIZE_KB, NBuffers / 8 * (BLCKSZ / 1024));

	return Max(max_kb / Max(batch->shares, 1), 2 * PAGES_BATCH * (BLCKSZ / 1024));
}

/* The current run, which is reserved, waits for pages_write. */
static void
set_aside(PageBatch *batch)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(batch));

	if (batch->nwaiting == batch->max_waiting)
	{
		batch->max_waiting = Max(2 * batch->max_waiting, 8);
		batch->waiting = batch->waiting == NULL ?
			palloc(batch->max_waiting * sizeof(PageRun)) :
			repalloc(batch->waiting, batch->max_waiting * sizeof(PageRun));
	}
	batch->waiting[batch->nwaiting++] = batch->run;
	begin_run(batch, pages_used(batch));
	MemoryContextSwitchTo(old);
}

void
pages_turn(PageBatch *batch, Relation rel, PageTail *tail)
{
	PageRun    *run = &batch->run;

	Assert(batch->page == NULL);
	/* its strategy is not for local buffers */
	Assert(batch->strategy == NULL || !RelationUsesLocalBuffers(rel));
	if (run->npages > 0)
		set_aside(batch);
	run->rel = rel;
	run->logged = RelationNeedsWAL(rel);
	run->decoded = RelationIsLogicallyLogged(rel);
	run->tuplewise = run->decoded && IsToastRelation(rel);
	batch->tail = tail;
	batch->reserve = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
	if (batch->strategy == NULL && !RelationUsesLocalBuffers(rel))
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(batch));

		batch->strategy = compat_bulkwrite_strategy(ring_size_kb(batch));
		MemoryContextSwitchTo(old);
	}
}

void
pages_share_ring(PageBatch *batch, int shares)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(batch));

	Assert(shares > 0);
	batch->shares = shares;
	if (batch->strategy != NULL)
	{
		FreeAccessStrategy(batch->strategy);
		batch->strategy = compat_bulkwrite_strategy(ring_size_kb(batch));
	}
	MemoryContextSwitchTo(old);
}

void
pages_close(PageBatch *batch)
{
	release_map(batch);
	if (batch->strategy != NULL)
		FreeAccessStrategy(batch->strategy);
	free_pages(batch);
	if (batch->waiting != NULL)
		pfree(batch->waiting);
	pfree(batch->record);
	pfree(batch);
}

void
pages_resize(PageBatch *batch, int capacity)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(batch));

	free_pages(batch);
	alloc_pages(batch, capacity);
	MemoryContextSwitchTo(old);
}

void
pages_stamp(const PageStamp *stamp, HeapTupleHeader header)
{
	header->t_infomask &= ~HEAP_XACT_MASK;
	header->t_infomask2 &= ~HEAP2_XACT_MASK;
	header->t_infomask |= HEAP_XMAX_INVALID;
	HeapTupleHeaderSetXmin(header, stamp->xid);
	if (stamp->frozen)
		HeapTupleHeaderSetXminFrozen(header);
	HeapTupleHeaderSetCmin(header, stamp->cid);
	HeapTupleHeaderSetXmax(header, 0);
	/* of another table's or an older version's header nothing may remain */
	Assert(!HeapTupleHeaderIsHeapOnly(header) && !HeapTupleHeaderIsHotUpdated(header));
	Assert(HeapTupleHeaderXminFrozen(header) == stamp->frozen);
}

static inline Page
get_page(const PageRun *run, int index)
{
	Assert(index >= 0 && index < run->npages);
	return (Page) (run->pages + (Size) index * BLCKSZ);
}

/* Behind those that the run has. */
static inline char *
add_page(PageBatch *batch)
{
	Assert(pages_used(batch) < batch->capacity);
	batch->run.npages++;
	return (char *) get_page(&batch->run, batch->run.npages - 1);
}

/* The current page, if there is one, takes no more tuples: its header says what it holds. */
static void
close_page(PageBatch *batch)
{
	PageHeader	header = (PageHeader) batch->page;

	if (header == NULL)
		return;
	Assert(batch->page == (char *) get_page(&batch->run, batch->run.npages - 1));
	Assert(batch->lower >= SizeOfPageHeaderData && batch->lower <= batch->upper);
	Assert(batch->upper <= BLCKSZ && batch->upper == MAXALIGN(batch->upper));
	/* none is begun without a tuple that comes */
	Assert(batch->lower > SizeOfPageHeaderData);
	header->pd_lower = batch->lower;
	header->pd_upper = batch->upper;
	batch->page = NULL;
	batch->lower = batch->upper = 0;
}

/*
 * Begins the run with the continuation of the tail, if a tuple of that size fits there.  The
 * private page is not initialized: only what is new will be looked at.
 */
static bool
continue_tail(PageBatch *batch, Size size)
{
	const PageTail *tail = batch->tail;
	PageRun    *run = &batch->run;

	run->continued = tail != NULL && tail->lower > 0 &&
		tail->lower + sizeof(ItemIdData) + size + batch->reserve <= tail->upper;
	if (!run->continued)
		return false;
	Assert(tail->lower > SizeOfPageHeaderData && tail->upper <= BLCKSZ);
	run->from = *tail;
	batch->page = add_page(batch);
	batch->lower = tail->lower;
	batch->upper = tail->upper;
	return true;
}

bool
pages_next(PageBatch *batch, Size len)
{
	Size		size = MAXALIGN(len);

	/* an empty page takes any tuple, whatever the fill factor says */
	if (batch->page != NULL && batch->lower == SizeOfPageHeaderData)
		return true;
	if (pages_used(batch) == batch->capacity)
		return false;
	if (batch->run.npages == 0 && continue_tail(batch, size))
		return true;

	close_page(batch);
	batch->page = add_page(batch);
	PageInit((Page) batch->page, BLCKSZ, 0);
	batch->lower = SizeOfPageHeaderData;
	batch->upper = BLCKSZ;
	if (size > BLCKSZ - SizeOfPageHeaderData - sizeof(ItemIdData))
		elog(ERROR, "tuple of %zu bytes does not fit a page", len);
	return true;
}

OffsetNumber
pages_add_before(PageBatch *batch, int page, const char *tuple, Size len)
{
	PageHeader	header = (PageHeader) get_page(&batch->run, page);
	Size		size = MAXALIGN(len);

	/* the last page's offsets are in the batch */
	Assert(page >= 0 && page < batch->run.npages - 1);
	Assert(page >= batch->run.nwritten);
	Assert(header->pd_lower + sizeof(ItemIdData) + size <= header->pd_upper);
	header->pd_upper -= size;
	ItemIdSetNormal((ItemId) ((char *) header + header->pd_lower),
					header->pd_upper, len);
	header->pd_lower += sizeof(ItemIdData);
	memcpy((char *) header + header->pd_upper, tuple, size);
	return PageGetMaxOffsetNumber((Page) header);
}

void
pages_grow(PageBatch *batch)
{
	Size		filling = batch->page - batch->pages;	/* the current page's place */
	int			capacity = 2 * batch->capacity;

	/* blocks and buffers would have to be reserved anew */
	Assert(batch->run.nwritten == 0 && batch->nwaiting == 0);
	batch->pages = repalloc_huge(batch->pages, (Size) capacity * BLCKSZ + OVERCOPY);
	batch->blocks = repalloc_huge(batch->blocks, capacity * sizeof(BlockNumber));
	batch->buffers = repalloc_huge(batch->buffers, capacity * sizeof(Buffer));
	if (batch->page != NULL)
		batch->page = batch->pages + filling;
	batch->run.pages = batch->pages;
	batch->run.blocks = batch->blocks;
	batch->run.buffers = batch->buffers;
	batch->capacity = capacity;
}

/* The first tuple of a page that is not in the table yet. */
static inline OffsetNumber
first_offset(const PageRun *run, int index)
{
	if (index > 0 || !run->continued)
		return FirstOffsetNumber;
	return (run->from.lower - SizeOfPageHeaderData) / sizeof(ItemIdData) + 1;
}

int
pages_count(const PageBatch *batch, int index, OffsetNumber *first)
{
	*first = first_offset(&batch->run, index);
	return PageGetMaxOffsetNumber(get_page(&batch->run, index)) - *first + 1;
}

/*
 * Puts what the WAL says of a tuple to p; returns where the next one goes.  Up to OVERCOPY bytes
 * behind the tuple are copied, too: there is space at p for that, and the next tuple overwrites
 * them.  They are read from the page or, at its end, from the next one.
 */
static inline char *
record_tuple(char *p, const HeapTupleHeaderData *header, Size len)
{
	xl_multi_insert_tuple *item = (xl_multi_insert_tuple *) SHORTALIGN(p);
	const char *data = (const char *) header + SizeofHeapTupleHeader;

	Assert(len >= header->t_hoff && header->t_hoff >= SizeofHeapTupleHeader);
	len -= SizeofHeapTupleHeader;
	item->datalen = len;
	item->t_infomask2 = header->t_infomask2;
	item->t_infomask = header->t_infomask;
	item->t_hoff = header->t_hoff;
	p = (char *) item + SizeOfMultiInsertTuple;

	/* more than is needed, but for most tuples without a call */
	memcpy(p, data, OVERCOPY);
	if (len > OVERCOPY)
		memcpy(p + OVERCOPY, data + OVERCOPY, len - OVERCOPY);
	return p + len;
}

/*
 * Each new tuple of a private page points at itself, now that its block is known, and is put into
 * batch->record for the WAL.  Returns the number of bytes there: less than the tuples take on the
 * page, as each has 7 bytes instead of a header and a line pointer.
 */
static Size
finish_tuples(PageBatch *batch, const PageRun *run, Page page, OffsetNumber first,
			  BlockNumber block)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	bool		recorded = run->logged && !run->tuplewise;
	char	   *p = batch->record;

	/* replay refuses more, and so would the executor's arrays */
	Assert(first <= last && last <= MaxHeapTuplesPerPage);
	for (OffsetNumber offset = first; offset <= last; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		HeapTupleHeader header = (HeapTupleHeader) PageGetItem(page, id);

		Assert(ItemIdIsNormal(id) && ItemIdGetOffset(id) == MAXALIGN(ItemIdGetOffset(id)));
		Assert(ItemIdGetOffset(id) >= ((PageHeader) page)->pd_upper &&
			   ItemIdGetOffset(id) + ItemIdGetLength(id) <= BLCKSZ);
		/* what pages_stamp has set, and what amcheck takes for damage (RelationPutHeapTuple) */
		Assert(HeapTupleHeaderGetRawXmin(header) == batch->stamp.xid);
		Assert(header->t_infomask & HEAP_XMAX_INVALID);
		Assert(!(header->t_infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_IS_MULTI)));
		ItemPointerSet(&header->t_ctid, block, offset);
		if (recorded)
			p = record_tuple(p, header, ItemIdGetLength(id));
	}
	Assert(p - batch->record < BLCKSZ);
	return p - batch->record;
}

/*
 * Logs a page that is in its buffer, from tuple first on, with what finish_tuples has recorded; in
 * a critical section.  The record that is marked as the last of a multi-insert makes logical
 * decoding forget the TOASTed values that it has seen, so it must be the last page of the batch.
 *
 * Flags: CONTAINS_NEW_TUPLE and REGBUF_KEEP_DATA where the table is decoded, so that the tuples
 * are in the record even if the whole page is, too.  ALL_FROZEN_SET makes replay mark the page
 * all-visible, as the caller has done.
 */
static XLogRecPtr
log_page(PageBatch *batch, Buffer buffer, Page page, OffsetNumber first,
		 Size length, bool decoded, bool is_last)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	bool		is_new = first == FirstOffsetNumber;
	xl_heap_multi_insert head;
	int			flags = REGBUF_STANDARD | (is_new ? REGBUF_WILL_INIT : 0);

	Assert(CritSectionCount > 0 && length > 0);
	Assert(!batch->stamp.frozen || PageIsAllVisible(page));
	/* replay makes a new page empty but for these tuples */
	Assert(!is_new || ((PageHeader) page)->pd_lower ==
		   SizeOfPageHeaderData + last * sizeof(ItemIdData));
	head.flags = is_last ? XLH_INSERT_LAST_IN_MULTI : 0;
	head.ntuples = last - first + 1;
	if (batch->stamp.frozen)
		head.flags |= XLH_INSERT_ALL_FROZEN_SET;
	if (decoded)
	{
		head.flags |= XLH_INSERT_CONTAINS_NEW_TUPLE;
		flags |= REGBUF_KEEP_DATA;
	}

	XLogBeginInsert();
	XLogRegisterData((char *) &head, SizeOfHeapMultiInsert);
	if (!is_new)
	{
		for (OffsetNumber offset = first; offset <= last; offset++)
			offsets[offset - first] = offset;
		XLogRegisterData((char *) offsets, head.ntuples * sizeof(OffsetNumber));
	}
	XLogRegisterBuffer(0, buffer, flags);
	if (batch->stamp.frozen)
		compat_frozen_register(batch->map);
	XLogRegisterBufData(0, batch->record, length);
	XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
	return XLogInsert(RM_HEAP2_ID, XLOG_HEAP2_MULTI_INSERT |
					  (is_new ? XLOG_HEAP_INIT_PAGE : 0));
}

/*
 * The same for a page of a TOAST table that is decoded, by heap_insert's records.  Logical
 * decoding must not take the changes seen so far for complete while the row that these chunks
 * belong to is still to come, and only a record of a single tuple can say so
 * (XLH_INSERT_ON_TOAST_RELATION).
 *
 *		record 1: page with t1			the page's header grows with each record, as the
 *		record 2: page with t1, t2		first one after a checkpoint holds the whole page,
 *		record 3: page with t1, t2, t3	of which replay skips only what is in the hole
 */
static void
log_tuples(Buffer buffer, Page page, OffsetNumber first)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = first; offset <= last; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		HeapTupleHeader header = (HeapTupleHeader) PageGetItem(page, id);
		bool		is_new = offset == FirstOffsetNumber;
		xl_heap_insert insert;
		xl_heap_header tuple;
		XLogRecPtr	lsn;

		/* tuples lie in the order of their offsets: none is lost in the hole */
		Assert(is_new || ItemIdGetOffset(id) < ItemIdGetOffset(PageGetItemId(page, offset - 1)));
		((PageHeader) page)->pd_lower = (char *) (id + 1) - (char *) page;
		((PageHeader) page)->pd_upper = ItemIdGetOffset(id);

		insert.offnum = offset;
		insert.flags = XLH_INSERT_CONTAINS_NEW_TUPLE | XLH_INSERT_ON_TOAST_RELATION;
		tuple.t_infomask2 = header->t_infomask2;
		tuple.t_infomask = header->t_infomask;
		tuple.t_hoff = header->t_hoff;

		XLogBeginInsert();
		XLogRegisterData((char *) &insert, SizeOfHeapInsert);
		XLogRegisterBuffer(0, buffer, REGBUF_STANDARD | REGBUF_KEEP_DATA |
						   (is_new ? REGBUF_WILL_INIT : 0));
		XLogRegisterBufData(0, (char *) &tuple, SizeOfHeapHeader);
		XLogRegisterBufData(0, (char *) header + SizeofHeapTupleHeader,
							ItemIdGetLength(id) - SizeofHeapTupleHeader);
		XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
		lsn = XLogInsert(RM_HEAP_ID,
						 XLOG_HEAP_INSERT | (is_new ? XLOG_HEAP_INIT_PAGE : 0));
		PageSetLSN(page, lsn);
	}
}

/*
 * Copies into the table's page what the private one has beyond the tail: line pointers up to
 * pd_lower, tuples from pd_upper on.
 */
static void
copy_continued(const PageTail *tail, const char *source, char *page)
{
	const PageHeaderData *from = (const PageHeaderData *) source;
	PageHeader	to = (PageHeader) page;

	Assert(CritSectionCount > 0);
	Assert(from->pd_lower > tail->lower && from->pd_upper < tail->upper);
	memcpy(page + tail->lower, source + tail->lower, from->pd_lower - tail->lower);
	memcpy(page + from->pd_upper, source + from->pd_upper, tail->upper - from->pd_upper);
	to->pd_lower = from->pd_lower;
	to->pd_upper = from->pd_upper;
}

/*
 * Before the critical section: whether the page is as it was left, empty or, if it is continued, as
 * the tail says.
 */
static void
check_page(const PageRun *run, BlockNumber block, bool continued, const char *page)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	if (!continued)
	{
		/* RelationGetBufferForTuple's error */
		if (!PageIsNew((Page) page))
			elog(ERROR, "page %u of relation \"%s\" should be empty but is not",
				 block, RelationGetRelationName(run->rel));
	}
	else if (header->pd_lower != run->from.lower || header->pd_upper != run->from.upper)
		elog(ERROR, "page %u of \"%s\" has changed while it was being filled",
			 run->from.block, RelationGetRelationName(run->rel));
}

/* The pinned buffer of a page, which is the caller's from here on. */
static Buffer
take_buffer(PageBatch *batch, PageRun *run, int index)
{
	Buffer		buffer = run->buffers[index];

	run->buffers[index] = InvalidBuffer;
	if (!BufferIsValid(buffer))
		return ReadBufferExtended(run->rel, MAIN_FORKNUM, run->blocks[index], RBM_NORMAL,
								  batch->strategy);
	batch->pinned--;
	return buffer;
}

/*
 * Copies a page into its buffer, a new one or the tail's, and logs it: step 2, and 3.
 * Memory is allocated and locks are taken before the critical section, in which an error would
 * stop the server.  Pages of a decoded TOAST table are not marked all-frozen, as only multi-insert
 * records can say it.
 */
static void
write_page(PageBatch *batch, PageRun *run, int index)
{
	Buffer		buffer = take_buffer(batch, run, index);
	BlockNumber block = run->blocks[index];
	Page		source = get_page(run, index);
	Page		page = BufferGetPage(buffer);
	OffsetNumber first = first_offset(run, index);
	bool		continued = index == 0 && run->continued;
	bool		all_frozen = batch->stamp.frozen && !run->tuplewise;
	Size		length = finish_tuples(batch, run, source, first, block);

	if (all_frozen)
	{
		PageSetAllVisible(source);
		visibilitymap_pin(run->rel, block, &batch->map);
	}
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	Assert(BufferGetBlockNumber(buffer) == block);
	check_page(run, block, continued, page);
	if (all_frozen)
		compat_frozen_before(batch->map);
	START_CRIT_SECTION();
	if (continued)
		copy_continued(&run->from, source, page);
	else
		memcpy(page, source, BLCKSZ);
	MarkBufferDirty(buffer);
	if (all_frozen)
		compat_frozen_set(run->rel, block, batch->map);
	if (run->tuplewise)
		log_tuples(buffer, page, first);
	else if (run->logged)
	{
		/* on 15 PageSetLSN is a macro that evaluates its argument twice */
		XLogRecPtr	lsn = log_page(batch, buffer, page, first, length, run->decoded,
										 index == run->npages - 1);

		PageSetLSN(page, lsn);
		if (all_frozen)
			compat_frozen_logged(batch->map, lsn);
	}
	END_CRIT_SECTION();
	if (all_frozen)
		compat_frozen_after(run->rel, block, buffer, batch->map);
	UnlockReleaseBuffer(buffer);
	if (batch->pass != NULL)
		brin_pass_add(batch->pass, block, source);
	if (batch->keys != NULL)
	{
		Assert(!continued);
		key_pass_add(batch->keys, source);
	}
}

/* The new pages [first, end) of the run stay pinned, unless that are too many. */
static void
keep_pinned(PageBatch *batch, int first, int end)
{
	PageRun    *run = &batch->run;
	int			max_pinned = Min(PINNED_MAX, NBuffers / PINNED_PART);

	for (int i = first; i < end; i++)
	{
		if (batch->pinned < max_pinned)
			batch->pinned++;
		else
		{
			ReleaseBuffer(run->buffers[i]);
			run->buffers[i] = InvalidBuffer;
		}
	}
}

/* The last page is what the next run may go on with. */
static void
keep_tail(PageBatch *batch)
{
	const PageRun *run = &batch->run;
	PageHeader	header = (PageHeader) get_page(run, run->npages - 1);

	Assert(header->pd_lower > SizeOfPageHeaderData);
	batch->tail->block = run->blocks[run->npages - 1];
	batch->tail->lower = header->pd_lower;
	batch->tail->upper = header->pd_upper;
}

/* What is written is counted at once, in case of an error in the next page. */
static void
write_until(PageBatch *batch, PageRun *run, int end)
{
	Assert(end <= run->npages);
	for (; run->nwritten < end; run->nwritten++)
		write_page(batch, run, run->nwritten);
}

/* at_once: pages are written before the table is extended further. */
static void
reserve_pages(PageBatch *batch, bool at_once)
{
	PageRun    *run = &batch->run;
	int			reserved = 0;

	close_page(batch);
	if (run->npages == 0)
		return;

	/* the record's transaction is what replay takes for the tuples' xmin */
	Assert(GetCurrentTransactionIdIfAny() == batch->stamp.xid);
	Assert(run->nwritten == 0);
	Assert(CheckRelationLockedByMe(run->rel, RowExclusiveLock, true) || IsParallelWorker());
	CheckForSerializableConflictIn(run->rel, NULL, InvalidBlockNumber);
	if (run->continued)
	{
		run->blocks[0] = run->from.block;
		run->buffers[0] = InvalidBuffer;
		reserved = 1;
	}
	while (reserved < run->npages)
	{
		int			before = reserved;
		uint32		extended;

		CHECK_FOR_INTERRUPTS();
		if (at_once)
			write_until(batch, run, reserved);
		extended = extend_table(run->rel, batch->strategy,
								Min(run->npages - reserved, PAGES_BATCH),
								&run->buffers[reserved]);
		Assert(extended > 0 && reserved + extended <= run->npages);
		for (uint32 i = 0; i < extended; i++, reserved++)
		{
			run->blocks[reserved] = BufferGetBlockNumber(run->buffers[reserved]);
			/* rows come in the order of the input, whoever else extends the table */
			Assert(reserved == 0 || run->blocks[reserved - 1] < run->blocks[reserved]);
		}
		keep_pinned(batch, before, reserved);
	}
	if (batch->tail != NULL)
		keep_tail(batch);
	compat_injection_point("pgbulk-pages-reserved");
}

void
pages_reserve(PageBatch *batch)
{
	reserve_pages(batch, false);
}

void
pages_write_last(PageBatch *batch)
{
	PageRun    *run = &batch->run;

	Assert(batch->page == NULL);	/* pages_reserve came before */
	if (run->npages == 0)
		return;
	write_page(batch, run, run->npages - 1);
	run->last_written = true;
}

static void
write_run(PageBatch *batch, PageRun *run)
{
	write_until(batch, run, run->npages - (run->last_written ? 1 : 0));
	release_map(batch);
	CheckForSerializableConflictIn(run->rel, NULL, InvalidBlockNumber);
}

void
pages_write(PageBatch *batch)
{
	Assert(batch->page == NULL);	/* pages_reserve came before */
	for (int i = 0; i < batch->nwaiting; i++)
		write_run(batch, &batch->waiting[i]);
	batch->nwaiting = 0;
	if (batch->run.npages > 0)
		write_run(batch, &batch->run);
	begin_run(batch, 0);
	Assert(batch->pinned == 0);
	wal_written();
}

void
pages_place(PageBatch *batch)
{
	reserve_pages(batch, true);
	pages_write(batch);
}

void
pages_discard(PageBatch *batch)
{
	Assert(batch->run.nwritten == 0 && batch->nwaiting == 0 && batch->pinned == 0);
	batch->page = NULL;
	batch->lower = batch->upper = 0;
	begin_run(batch, 0);
}
