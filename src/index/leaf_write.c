/*
 * leaf_write.c
 *		See leaf_write.h.
 *
 *		posting list of rows 1 3 5 7, and row 4 comes (after = 2):
 *
 *		   before   | ... | key: 1 3 5 7 | next ...
 *		   after    | ... | key: 1 3 4 5 | key: 7 | next ...
 *
 *		The list keeps its size and its place.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/nbtxlog.h"
#include "access/xloginsert.h"
#include "index/leaf_write.h"
#include "miscadmin.h"

void
leaf_add_item(Relation index, Buffer leaf, IndexTuple item, OffsetNumber offset)
{
	Assert(CritSectionCount > 0);
	if (PageAddItem(BufferGetPage(leaf), (char *) item, IndexTupleSize(item), offset, false,
					false) == InvalidOffsetNumber)
		elog(PANIC, "failed to add new item to block %u in index \"%s\"",
			 BufferGetBlockNumber(leaf), RelationGetRelationName(index));
}

void
leaf_write_item(Relation index, Buffer leaf, IndexTuple item, OffsetNumber offset)
{
	xl_btree_insert record = {.offnum = offset};

	START_CRIT_SECTION();
	leaf_add_item(index, leaf, item, offset);
	MarkBufferDirty(leaf);
	if (RelationNeedsWAL(index))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData((char *) &record, SizeOfBtreeInsert);
		XLogRegisterBuffer(0, leaf, REGBUF_STANDARD);
		XLogRegisterBufData(0, (char *) item, IndexTupleSize(item));
		lsn = XLogInsert(RM_BTREE_ID, XLOG_BTREE_INSERT_LEAF);
		PageSetLSN(BufferGetPage(leaf), lsn);
	}
	END_CRIT_SECTION();
}

void
leaf_split_posting(Relation index, Buffer leaf, IndexTuple item, OffsetNumber posting,
				   uint16 after)
{
	Page		page = BufferGetPage(leaf);
	IndexTuple	old = (IndexTuple) PageGetItem(page, PageGetItemId(page, posting));
	IndexTuple	last = CopyIndexTuple(item);	/* becomes that of the list's last row */
	xl_btree_insert record = {.offnum = OffsetNumberNext(posting)};
	IndexTuple	list;

	Assert(BTreeTupleIsPosting(old) && !ItemIdIsDead(PageGetItemId(page, posting)));
	Assert(after > 0 && after < BTreeTupleGetNPosting(old));
	list = _bt_swap_posting(last, old, after);
	Assert(IndexTupleSize(list) == IndexTupleSize(old));

	START_CRIT_SECTION();
	memcpy(old, list, MAXALIGN(IndexTupleSize(list)));
	leaf_add_item(index, leaf, last, record.offnum);
	MarkBufferDirty(leaf);
	if (RelationNeedsWAL(index))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData((char *) &record, SizeOfBtreeInsert);
		XLogRegisterBuffer(0, leaf, REGBUF_STANDARD);
		/* redo swaps the rows again, from the item as it came */
		XLogRegisterBufData(0, (char *) &after, sizeof(after));
		XLogRegisterBufData(0, (char *) item, IndexTupleSize(item));
		lsn = XLogInsert(RM_BTREE_ID, XLOG_BTREE_INSERT_POST);
		PageSetLSN(page, lsn);
	}
	END_CRIT_SECTION();
	pfree(list);
	pfree(last);
}
