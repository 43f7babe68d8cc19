/*
 * pages.c
 *		See pages.h.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/heapam_xlog.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/catalog.h"
#include "compat.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "write/pages.h"

/* COPY's ring of 16 MB makes a load wait for its own dirty pages. */
#define RING_SIZE_KB (128 * 1024)

static void
alloc_pages(PageBatch *batch, int capacity)
{
	batch->capacity = capacity;
	batch->pages = palloc((Size) capacity * BLCKSZ);
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

	batch->rel = rel;
	batch->stamp = stamp;
	batch->reserve = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
	batch->logged = RelationNeedsWAL(rel);
	batch->decoded = RelationIsLogicallyLogged(rel);
	batch->tuplewise = batch->decoded && IsToastRelation(rel);
	if (!RelationUsesLocalBuffers(rel))
		batch->strategy = compat_bulkwrite_strategy(RING_SIZE_KB);
	alloc_pages(batch, capacity);
	batch->record = palloc(BLCKSZ);
	batch->map = InvalidBuffer;
	return batch;
}

void
pages_close(PageBatch *batch)
{
	if (BufferIsValid(batch->map))
		ReleaseBuffer(batch->map);
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

bool
pages_next(PageBatch *batch, Size len)
{
	Size		size = MAXALIGN(len);

	/* an empty page takes any tuple, whatever the fill factor says */
	if (batch->page != NULL && batch->lower == SizeOfPageHeaderData)
		return true;
	if (batch->npages == batch->capacity)
		return false;

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

	batch->pages = repalloc_huge(batch->pages, (Size) capacity * BLCKSZ);
	batch->blocks = repalloc_huge(batch->blocks, capacity * sizeof(BlockNumber));
	batch->buffers = repalloc_huge(batch->buffers, capacity * sizeof(Buffer));
	if (batch->page != NULL)
		batch->page = batch->pages + filling;
	batch->capacity = capacity;
}

/* Each tuple points at itself, now that its block is known. */
static void
set_ctids(Page page, BlockNumber block)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		HeapTupleHeader header;

		header = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset));
		ItemPointerSet(&header->t_ctid, block, offset);
	}
}

/*
 * Logs a page that is in its buffer, in a critical section.  What is said to
 * be the last of a multi-insert has logical decoding forget the TOASTed values
 * that it has seen, so it must be the last page of the batch.
 */
static XLogRecPtr
log_page(PageBatch *batch, Buffer buffer, Page page, bool is_last)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	xl_heap_multi_insert head;
	char	   *p = batch->record;
	int			flags = REGBUF_STANDARD | REGBUF_WILL_INIT;

	head.flags = is_last ? XLH_INSERT_LAST_IN_MULTI : 0;
	head.ntuples = last;
	if (batch->stamp.frozen)
		head.flags |= XLH_INSERT_ALL_FROZEN_SET;
	if (batch->decoded)
	{
		head.flags |= XLH_INSERT_CONTAINS_NEW_TUPLE;
		flags |= REGBUF_KEEP_DATA;
	}

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		HeapTupleHeader header = (HeapTupleHeader) PageGetItem(page, id);
		xl_multi_insert_tuple *item = (xl_multi_insert_tuple *) SHORTALIGN(p);
		Size		len = ItemIdGetLength(id) - SizeofHeapTupleHeader;

		item->datalen = len;
		item->t_infomask2 = header->t_infomask2;
		item->t_infomask = header->t_infomask;
		item->t_hoff = header->t_hoff;
		p = (char *) item + SizeOfMultiInsertTuple;
		memcpy(p, (char *) header + SizeofHeapTupleHeader, len);
		p += len;
	}

	XLogBeginInsert();
	XLogRegisterData((char *) &head, SizeOfHeapMultiInsert);
	XLogRegisterBuffer(0, buffer, flags);
	if (batch->stamp.frozen)
		compat_frozen_register(batch->map);
	XLogRegisterBufData(0, batch->record, p - batch->record);
	XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
	return XLogInsert(RM_HEAP2_ID, XLOG_HEAP2_MULTI_INSERT | XLOG_HEAP_INIT_PAGE);
}

/*
 * The same for a page of a TOAST table.  Logical decoding must not take the
 * changes seen so far for complete while the row that these chunks belong to
 * is still to come, and only a record of a single tuple can say so.  Should a
 * checkpoint begin in between, the next record holds the whole page as it is:
 * so the page grows with the records.
 */
static void
log_tuples(Buffer buffer, Page page)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		HeapTupleHeader header = (HeapTupleHeader) PageGetItem(page, id);
		bool		first = offset == FirstOffsetNumber;
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
						   (first ? REGBUF_WILL_INIT : 0));
		XLogRegisterBufData(0, (char *) &tuple, SizeOfHeapHeader);
		XLogRegisterBufData(0, (char *) header + SizeofHeapTupleHeader,
							ItemIdGetLength(id) - SizeofHeapTupleHeader);
		XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
		lsn = XLogInsert(RM_HEAP_ID,
						 XLOG_HEAP_INSERT | (first ? XLOG_HEAP_INIT_PAGE : 0));
		PageSetLSN(page, lsn);
	}
}

/* Copies a page into its new, pinned buffer. */
static void
write_page(PageBatch *batch, int index)
{
	Buffer		buffer = batch->buffers[index];
	BlockNumber block = batch->blocks[index];
	Page		source = get_page(batch, index);
	Page		page = BufferGetPage(buffer);

	bool		all_frozen = batch->stamp.frozen && !batch->tuplewise;

	set_ctids(source, block);
	if (all_frozen)
	{
		PageSetAllVisible(source);
		visibilitymap_pin(batch->rel, block, &batch->map);
	}
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (all_frozen)
		compat_frozen_before(batch->map);
	START_CRIT_SECTION();
	memcpy(page, source, BLCKSZ);
	MarkBufferDirty(buffer);
	if (all_frozen)
		compat_frozen_set(batch->rel, block, batch->map);
	if (batch->tuplewise)
		log_tuples(buffer, page);
	else if (batch->logged)
	{
		/* on 15 PageSetLSN is a macro that evaluates its argument twice */
		XLogRecPtr	lsn = log_page(batch, buffer, page,
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

void
pages_write(PageBatch *batch)
{
	if (batch->npages == 0)
		return;
	write_until(batch, batch->npages);
	CheckForSerializableConflictIn(batch->rel, NULL, InvalidBlockNumber);
	batch->npages = batch->nwritten = 0;
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
}
