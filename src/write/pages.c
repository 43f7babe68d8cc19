/*
 * pages.c
 *		See pages.h.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/heapam_xlog.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/catalog.h"
#include "compat.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/predicate.h"
#include "write/pages.h"

/* COPY's ring of 16 MB makes a load wait for its own dirty pages. */
#define RING_SIZE_KB (128 * 1024)

PageBatch *
pages_open(Relation rel, CommandId cid)
{
	PageBatch  *batch = palloc0(sizeof(PageBatch));

	batch->rel = rel;
	batch->xid = GetCurrentTransactionId();
	batch->cid = cid;
	batch->reserve = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
	batch->logged = RelationNeedsWAL(rel);
	batch->decoded = RelationIsLogicallyLogged(rel);
	if (!RelationUsesLocalBuffers(rel))
		batch->strategy = compat_bulkwrite_strategy(RING_SIZE_KB);
	batch->pages = palloc(PAGES_BATCH * BLCKSZ);
	batch->record = palloc(BLCKSZ);
	return batch;
}

void
pages_close(PageBatch *batch)
{
	Assert(batch->npages == 0);
	if (batch->strategy != NULL)
		FreeAccessStrategy(batch->strategy);
	pfree(batch->record);
	pfree(batch->pages);
	pfree(batch);
}

static inline Page
get_page(PageBatch *batch, int index)
{
	return (Page) (batch->pages + (Size) index * BLCKSZ);
}

/* What a tuple that is about to be inserted says of its transaction. */
static inline void
stamp_tuple(const PageBatch *batch, HeapTupleHeader header)
{
	header->t_infomask &= ~HEAP_XACT_MASK;
	header->t_infomask2 &= ~HEAP2_XACT_MASK;
	header->t_infomask |= HEAP_XMAX_INVALID;
	HeapTupleHeaderSetXmin(header, batch->xid);
	HeapTupleHeaderSetCmin(header, batch->cid);
	HeapTupleHeaderSetXmax(header, 0);
}

/*
 * The page for a tuple of len bytes; begins a new one where the last is full.
 * NULL when that would be one too many.
 */
static inline Page
page_for(PageBatch *batch, Size len)
{
	Page		page;

	if (batch->npages > 0)
	{
		page = get_page(batch, batch->npages - 1);
		if (PageGetHeapFreeSpace(page) >= MAXALIGN(len) + batch->reserve ||
			PageGetMaxOffsetNumber(page) == 0)
			return page;
		if (batch->npages == PAGES_BATCH)
			return NULL;
	}
	page = get_page(batch, batch->npages++);
	PageInit(page, BLCKSZ, 0);
	return page;
}

bool
pages_put(PageBatch *batch, HeapTuple tuple)
{
	Page		page = page_for(batch, tuple->t_len);

	if (page == NULL)
		return false;
	stamp_tuple(batch, tuple->t_data);
	if (PageAddItem(page, (char *) tuple->t_data, tuple->t_len,
					InvalidOffsetNumber, false, true) == InvalidOffsetNumber)
		elog(ERROR, "tuple of %u bytes does not fit a page", tuple->t_len);
	return true;
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

/* Logs a page that is in its buffer, in a critical section. */
static XLogRecPtr
log_page(PageBatch *batch, Buffer buffer, Page page)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	xl_heap_multi_insert head;
	char	   *p = batch->record;
	int			flags = REGBUF_STANDARD | REGBUF_WILL_INIT;

	head.flags = XLH_INSERT_LAST_IN_MULTI;
	head.ntuples = last;
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
	XLogRegisterBufData(0, batch->record, p - batch->record);
	XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
	return XLogInsert(RM_HEAP2_ID, XLOG_HEAP2_MULTI_INSERT | XLOG_HEAP_INIT_PAGE);
}

/* Copies a page into its new, pinned buffer. */
static void
place_page(PageBatch *batch, Page source, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);

	set_ctids(source, BufferGetBlockNumber(buffer));
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	START_CRIT_SECTION();
	memcpy(page, source, BLCKSZ);
	MarkBufferDirty(buffer);
	if (batch->logged)
	{
		/* on 15 PageSetLSN is a macro that evaluates its argument twice */
		XLogRecPtr	lsn = log_page(batch, buffer, page);

		PageSetLSN(page, lsn);
	}
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

void
pages_place(PageBatch *batch)
{
	Buffer		buffers[PAGES_BATCH];
	int			done = 0;

	if (batch->npages == 0)
		return;

	Assert(GetCurrentTransactionIdIfAny() == batch->xid);
	CheckForSerializableConflictIn(batch->rel, NULL, InvalidBlockNumber);
	while (done < batch->npages)
	{
		uint32		extended = compat_extend(batch->rel, batch->strategy,
											 batch->npages - done, buffers);

		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < extended; i++)
			place_page(batch, get_page(batch, done + i), buffers[i]);
		done += extended;
	}
	CheckForSerializableConflictIn(batch->rel, NULL, InvalidBlockNumber);
	batch->npages = 0;
}
