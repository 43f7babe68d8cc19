/*
 * pages.c
 *		See pages.h.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/heapam_xlog.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/catalog.h"
#include "compat.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "write/pages.h"

/*
 * Twice COPY's ring: with less a load waits for the WAL of its own dirty pages,
 * with more they leave the processor's cache before they are written.
 */
#define RING_SIZE_KB (32 * 1024)

/* Bytes that are copied of each tuple, if it has as many or not. */
#define OVERCOPY 32

static void
alloc_pages(PageBatch *batch, int capacity)
{
	batch->capacity = capacity;
	batch->pages = palloc((Size) capacity * BLCKSZ + OVERCOPY);
	batch->blocks = palloc(capacity * sizeof(BlockNumber));
	batch->buffers = palloc(capacity * sizeof(Buffer));
}

static void
free_pages(PageBatch *batch)
{
	Assert(batch->npages == 0);
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

/* Gives back the pinned page of the visibility map. */
static void
release_map(PageBatch *batch)
{
	if (BufferIsValid(batch->map))
		ReleaseBuffer(batch->map);
	batch->map = InvalidBuffer;
}

/* As much as the server would let one ring have, and this batch's share of it. */
static int
ring_size_kb(const PageBatch *batch)
{
	int			most = Min(RING_SIZE_KB, NBuffers / 8 * (BLCKSZ / 1024));

	return Max(most / Max(batch->shares, 1), 2 * PAGES_BATCH * (BLCKSZ / 1024));
}

void
pages_turn(PageBatch *batch, Relation rel, PageTail *tail)
{
	Assert(batch->npages == 0);
	release_map(batch);
	batch->rel = rel;
	batch->tail = tail;
	batch->reserve = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
	batch->logged = RelationNeedsWAL(rel);
	batch->decoded = RelationIsLogicallyLogged(rel);
	batch->tuplewise = batch->decoded && IsToastRelation(rel);
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
}

static inline Page
get_page(PageBatch *batch, int index)
{
	return (Page) (batch->pages + (Size) index * BLCKSZ);
}

/* Notes in the page's header what it holds. */
static void
close_page(PageBatch *batch)
{
	PageHeader	header = (PageHeader) batch->page;

	if (header == NULL)
		return;
	header->pd_lower = batch->lower;
	header->pd_upper = batch->upper;
	batch->page = NULL;
	batch->lower = batch->upper = 0;
}

/*
 * Begins the batch with the tail's page, if a tuple of that size fits there.
 * Of the private page only what is new will be looked at.
 */
static bool
continue_tail(PageBatch *batch, Size size)
{
	const PageTail *tail = batch->tail;

	batch->continued = tail != NULL && tail->lower > 0 &&
		tail->lower + sizeof(ItemIdData) + size + batch->reserve <= tail->upper;
	if (!batch->continued)
		return false;
	batch->page = (char *) get_page(batch, batch->npages++);
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
	if (batch->npages == batch->capacity)
		return false;
	if (batch->npages == 0 && continue_tail(batch, size))
		return true;

	close_page(batch);
	batch->page = (char *) get_page(batch, batch->npages++);
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
	PageHeader	header = (PageHeader) get_page(batch, page);
	Size		size = MAXALIGN(len);

	Assert(page < batch->npages - 1);
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
	Size		filling = batch->page - batch->pages;
	int			capacity = 2 * batch->capacity;

	batch->pages = repalloc_huge(batch->pages, (Size) capacity * BLCKSZ + OVERCOPY);
	batch->blocks = repalloc_huge(batch->blocks, capacity * sizeof(BlockNumber));
	batch->buffers = repalloc_huge(batch->buffers, capacity * sizeof(Buffer));
	if (batch->page != NULL)
		batch->page = batch->pages + filling;
	batch->capacity = capacity;
}

/* The first tuple of a page that is not in the table yet. */
static inline OffsetNumber
first_offset(const PageBatch *batch, int index)
{
	if (index > 0 || !batch->continued)
		return FirstOffsetNumber;
	return (batch->tail->lower - SizeOfPageHeaderData) / sizeof(ItemIdData) + 1;
}

int
pages_count(const PageBatch *batch, int index, OffsetNumber *first)
{
	*first = first_offset(batch, index);
	return PageGetMaxOffsetNumber((Page) (batch->pages + (Size) index * BLCKSZ)) -
		*first + 1;
}

/* What the WAL says of a tuple; returns where the next one goes. */
static inline char *
record_tuple(char *p, const HeapTupleHeaderData *header, Size len)
{
	xl_multi_insert_tuple *item = (xl_multi_insert_tuple *) SHORTALIGN(p);
	const char *data = (const char *) header + SizeofHeapTupleHeader;

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
 * Each tuple of a private page points at itself, now that its block is known,
 * and is noted for the WAL.  Returns how many bytes of batch->record that took.
 */
static Size
finish_tuples(PageBatch *batch, Page page, OffsetNumber first, BlockNumber block)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	bool		recorded = batch->logged && !batch->tuplewise;
	char	   *p = batch->record;

	for (OffsetNumber offset = first; offset <= last; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		HeapTupleHeader header = (HeapTupleHeader) PageGetItem(page, id);

		ItemPointerSet(&header->t_ctid, block, offset);
		if (recorded)
			p = record_tuple(p, header, ItemIdGetLength(id));
	}
	return p - batch->record;
}

/*
 * Logs a page that is in its buffer, from tuple first on, with what
 * finish_tuples has noted; in a critical section.  What is said to be the last
 * of a multi-insert has logical decoding forget the TOASTed values that it has
 * seen, so it must be the last page of the batch.
 */
static XLogRecPtr
log_page(PageBatch *batch, Buffer buffer, Page page, OffsetNumber first,
		 Size length, bool is_last)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	bool		is_new = first == FirstOffsetNumber;
	xl_heap_multi_insert head;
	int			flags = REGBUF_STANDARD | (is_new ? REGBUF_WILL_INIT : 0);

	head.flags = is_last ? XLH_INSERT_LAST_IN_MULTI : 0;
	head.ntuples = last - first + 1;
	if (batch->stamp.frozen)
		head.flags |= XLH_INSERT_ALL_FROZEN_SET;
	if (batch->decoded)
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
 * The same for a page of a TOAST table.  Logical decoding must not take the
 * changes seen so far for complete while the row that these chunks belong to
 * is still to come, and only a record of a single tuple can say so.  Should a
 * checkpoint begin in between, the next record holds the whole page as it is:
 * so the page grows with the records.
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
 * Copies into the table's page what the private one has beyond the tail.
 * Nobody has changed the page since: all tuples there are this load's.
 */
static void
copy_continued(const PageTail *tail, const char *source, char *page)
{
	const PageHeaderData *from = (const PageHeaderData *) source;
	PageHeader	to = (PageHeader) page;

	memcpy(page + tail->lower, source + tail->lower, from->pd_lower - tail->lower);
	memcpy(page + from->pd_upper, source + from->pd_upper, tail->upper - from->pd_upper);
	to->pd_lower = from->pd_lower;
	to->pd_upper = from->pd_upper;
}

/* Before the critical section: that the tail is as it was left. */
static void
check_tail(PageBatch *batch, const char *page)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	if (header->pd_lower != batch->tail->lower ||
		header->pd_upper != batch->tail->upper)
		elog(ERROR, "page %u of \"%s\" has changed while it was being filled",
			 batch->tail->block, RelationGetRelationName(batch->rel));
}

/* Copies a page into its pinned buffer: a new one, or the tail's. */
static void
write_page(PageBatch *batch, int index)
{
	Buffer		buffer = batch->buffers[index];
	BlockNumber block = batch->blocks[index];
	Page		source = get_page(batch, index);
	Page		page = BufferGetPage(buffer);
	OffsetNumber first = first_offset(batch, index);
	bool		continued = index == 0 && batch->continued;
	bool		all_frozen = batch->stamp.frozen && !batch->tuplewise;
	Size		length = finish_tuples(batch, source, first, block);

	if (all_frozen)
	{
		PageSetAllVisible(source);
		visibilitymap_pin(batch->rel, block, &batch->map);
	}
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (continued)
		check_tail(batch, page);
	if (all_frozen)
		compat_frozen_before(batch->map);
	START_CRIT_SECTION();
	if (continued)
		copy_continued(batch->tail, source, page);
	else
		memcpy(page, source, BLCKSZ);
	MarkBufferDirty(buffer);
	if (all_frozen)
		compat_frozen_set(batch->rel, block, batch->map);
	if (batch->tuplewise)
		log_tuples(buffer, page, first);
	else if (batch->logged)
	{
		/* on 15 PageSetLSN is a macro that evaluates its argument twice */
		XLogRecPtr	lsn = log_page(batch, buffer, page, first, length,
										 index == batch->npages - 1);

		PageSetLSN(page, lsn);
		if (all_frozen)
			compat_frozen_logged(batch->map, lsn);
	}
	END_CRIT_SECTION();
	if (all_frozen)
		compat_frozen_after(batch->rel, block, buffer, batch->map);
	UnlockReleaseBuffer(buffer);
}

static void
write_until(PageBatch *batch, int end)
{
	for (; batch->nwritten < end; batch->nwritten++)
		write_page(batch, batch->nwritten);
}

void
pages_reserve(PageBatch *batch)
{
	int			reserved = 0;

	close_page(batch);
	if (batch->npages == 0)
		return;

	Assert(GetCurrentTransactionIdIfAny() == batch->stamp.xid);
	CheckForSerializableConflictIn(batch->rel, NULL, InvalidBlockNumber);
	if (batch->continued)
	{
		batch->blocks[0] = batch->tail->block;
		batch->buffers[0] = ReadBufferExtended(batch->rel, MAIN_FORKNUM,
											   batch->tail->block, RBM_NORMAL,
											   batch->strategy);
		reserved = 1;
	}
	while (reserved < batch->npages)
	{
		uint32		extended;

		CHECK_FOR_INTERRUPTS();
		write_until(batch, reserved);
		extended = compat_extend(batch->rel, batch->strategy,
								 Min(batch->npages - reserved, PAGES_BATCH),
								 &batch->buffers[reserved]);
		for (uint32 i = 0; i < extended; i++, reserved++)
			batch->blocks[reserved] = BufferGetBlockNumber(batch->buffers[reserved]);
	}
}

/* Notes where the last page's room is. */
static void
keep_tail(PageBatch *batch)
{
	int			last = batch->npages - 1;
	PageHeader	header = (PageHeader) get_page(batch, last);

	batch->tail->block = batch->blocks[last];
	batch->tail->lower = header->pd_lower;
	batch->tail->upper = header->pd_upper;
}

void
pages_write(PageBatch *batch)
{
	if (batch->npages == 0)
		return;
	write_until(batch, batch->npages);
	/*
	 * Else this process would write the WAL itself whenever its buffers are
	 * full, and wait for the disk at the end of each segment.
	 */
	if (batch->logged)
		XLogSetAsyncXactLSN(XactLastRecEnd);
	if (batch->tail != NULL)
		keep_tail(batch);
	CheckForSerializableConflictIn(batch->rel, NULL, InvalidBlockNumber);
	batch->npages = batch->nwritten = 0;
	batch->continued = false;
}

void
pages_place(PageBatch *batch)
{
	pages_reserve(batch);
	pages_write(batch);
}

void
pages_discard(PageBatch *batch)
{
	Assert(batch->nwritten == 0);
	batch->page = NULL;
	batch->lower = batch->upper = 0;
	batch->npages = 0;
	batch->continued = false;
}
