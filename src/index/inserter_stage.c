/*
 * inserter_stage.c
 *		See inserter_stage.h.
 */
#include "postgres.h"

#include "access/nbtxlog.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "index/inserter_stage.h"
#include "index/leaf_write.h"
#include "index/row_id.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "storage/predicate.h"

/* What a record takes beside its item: headers of the record and the block, the offset. */
#define RECORD_SIZE (SizeOfXLogRecord + SizeOfXLogRecordBlockHeader + sizeof(RelFileLocator) + \
					 sizeof(BlockNumber) + SizeOfXLogRecordDataHeaderShort + SizeOfBtreeInsert)

/* The i-th new item's place, once those before it are on the page. */
static inline OffsetNumber
item_offset(const Inserter *inserter, int i)
{
	return inserter->offsets[i] + i;
}

/* Puts all of them there, with an image of the page. */
static void
put_with_image(Inserter *inserter)
{
	START_CRIT_SECTION();
	for (int i = 0; i < inserter->nstaged; i++)
		leaf_add_item(inserter->index, inserter->search.buf, inserter->items[i],
					  item_offset(inserter, i));
	MarkBufferDirty(inserter->search.buf);
	log_newpage_buffer(inserter->search.buf, true);
	END_CRIT_SECTION();
}

/* Whether an image of the page is less to write than records of its new items. */
static bool
image_is_less(const Inserter *inserter)
{
	Page		page = leaf_page(inserter);
	Size		image = BLCKSZ - PageGetExactFreeSpace(page) + inserter->staged_size;

	if (!RelationNeedsWAL(inserter->index) || inserter->nstaged < 2)
		return false;
	return XLogCheckBufferNeedsBackup(inserter->search.buf) ||
		inserter->nstaged * RECORD_SIZE + inserter->staged_size > image + RECORD_SIZE;
}

void
stage_flush(Inserter *inserter)
{
	if (inserter->nstaged == 0)
		return;
	if (image_is_less(inserter))
		put_with_image(inserter);
	else
		for (int i = 0; i < inserter->nstaged; i++)
			leaf_write_item(inserter->index, inserter->search.buf, inserter->items[i],
							item_offset(inserter, i));
	inserter->nstaged = 0;
	inserter->staged_size = 0;
}

void
stage_leave(Inserter *inserter)
{
	if (!BufferIsValid(inserter->search.buf))
		return;
	stage_flush(inserter);
	_bt_relbuf(inserter->index, inserter->search.buf);
	inserter->search.buf = InvalidBuffer;
}

void
stage_begin(Inserter *inserter, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);

	Assert(inserter->nstaged == 0);
	inserter->search.buf = buffer;
	inserter->search.bounds_valid = false;
	inserter->search.postingoff = 0;
	inserter->block = BufferGetBlockNumber(buffer);
	inserter->lsn = PageGetLSN(page);
	inserter->swept = false;
	inserter->right = BTPageGetOpaque(page)->btpo_next;
	inserter->room = PageGetExactFreeSpace(page);
}

bool
stage_put(Inserter *inserter, uint32 n, OffsetNumber offset)
{
	IndexTuple	item = inserter->tuple;
	Size		size;

	item->t_tid = inserter->tids[0];
	if (n > 1)
		item = _bt_form_posting(item, inserter->tids, n);
	size = IndexTupleSize(item);
	Assert(size == MAXALIGN(size));
	if (size + sizeof(ItemIdData) <= inserter->room && inserter->nstaged < MAX_STAGED)
	{
		IndexTuple	copy = (IndexTuple) (inserter->staged.data + inserter->staged_size);

		if (inserter->nstaged == 0)
			CheckForSerializableConflictIn(inserter->index, NULL, inserter->block);
		memcpy(copy, item, size);
		inserter->items[inserter->nstaged] = copy;
		inserter->offsets[inserter->nstaged++] = offset;
		inserter->staged_size += size;
		inserter->room -= size + sizeof(ItemIdData);
	}
	else
		size = 0;
	if (n > 1)
		pfree(item);
	return size > 0;
}

/* The search goes on at an offset of the page, which has changed. */
static void
search_from(Inserter *inserter, OffsetNumber offset)
{
	inserter->search.bounds_valid = true;
	inserter->search.low = offset;
	inserter->search.stricthigh = OffsetNumberNext(PageGetMaxOffsetNumber(leaf_page(inserter)));
	inserter->room = PageGetExactFreeSpace(leaf_page(inserter));
}

static inline bool
has_room(const Inserter *inserter)
{
	return IndexTupleSize(inserter->tuple) + sizeof(ItemIdData) <= inserter->room;
}

bool
stage_into_posting(Inserter *inserter, OffsetNumber offset)
{
	int			after = inserter->search.postingoff;

	inserter->search.postingoff = 0;
	/* an item that is dead is to be removed before */
	if (after < 0 || !has_room(inserter))
		return false;
	offset += inserter->nstaged;
	stage_flush(inserter);
	CheckForSerializableConflictIn(inserter->index, NULL, inserter->block);
	inserter->tuple->t_tid = inserter->tids[0];
	leaf_split_posting(inserter->index, inserter->search.buf, inserter->tuple, offset, after);
	search_from(inserter, offset);
	return true;
}

/* What is known of a leaf's dead entries before some are removed. */
typedef struct Sweep
{
	Page		page;
	ItemPointerData *dead;		/* as the owner knows, in order */
	int			ndead;
	BlockNumber *blocks;		/* of all rows that are dead, in order */
	int			nblocks;
	TM_IndexDeleteOp op;
} Sweep;

typedef void (*SweepRow) (Sweep *sweep, OffsetNumber offset, const ItemPointerData *tid,
						  bool dead);

/* Shows each entry of the leaf, and whether its row is known to be dead. */
static void
sweep_rows(Sweep *sweep, SweepRow show)
{
	OffsetNumber last = PageGetMaxOffsetNumber(sweep->page);

	for (OffsetNumber i = P_FIRSTDATAKEY(BTPageGetOpaque(sweep->page)); i <= last; i++)
	{
		ItemId		id = PageGetItemId(sweep->page, i);
		IndexTuple	item = (IndexTuple) PageGetItem(sweep->page, id);
		bool		posting = BTreeTupleIsPosting(item);
		ItemPointer tids = posting ? BTreeTupleGetPosting(item) : &item->t_tid;
		int			n = posting ? BTreeTupleGetNPosting(item) : 1;

		for (int j = 0; j < n; j++)
			show(sweep, i, &tids[j], ItemIdIsDead(id) ||
				 (sweep->ndead > 0 && bsearch(&tids[j], sweep->dead, sweep->ndead,
											  sizeof(ItemPointerData), row_compare_tids) != NULL));
	}
}

static void
note_block(Sweep *sweep, OffsetNumber offset, const ItemPointerData *tid, bool dead)
{
	if (dead)
		sweep->blocks[sweep->nblocks++] = ItemPointerGetBlockNumber(tid);
}

static int
compare_blocks(const void *a, const void *b)
{
	BlockNumber block_a = *(const BlockNumber *) a;
	BlockNumber block_b = *(const BlockNumber *) b;

	return (block_a > block_b) - (block_a < block_b);
}

/* The row may be dead, as one on its page is: the table tells. */
static void
note_row(Sweep *sweep, OffsetNumber offset, const ItemPointerData *tid, bool dead)
{
	TM_IndexDeleteOp *op = &sweep->op;
	BlockNumber block = ItemPointerGetBlockNumber(tid);

	if (bsearch(&block, sweep->blocks, sweep->nblocks, sizeof(BlockNumber),
				compare_blocks) == NULL)
		return;
	op->deltids[op->ndeltids] = (TM_IndexDelete) {.tid = *tid,.id = op->ndeltids};
	op->status[op->ndeltids++] = (TM_IndexStatus) {.idxoffnum = offset,.knowndeletable = dead};
}

/*
 * Removes from the leaf what is marked dead, as _bt_simpledel_pass does, or known to be, and with
 * it other entries of dead rows on the same pages of the table.
 */
static void
sweep_dead(Inserter *inserter)
{
	Sweep		sweep = {
		.page = leaf_page(inserter),
		.op = {.irel = inserter->index,.iblknum = inserter->block}
	};

	sweep.dead = palloc(MaxTIDsPerBTreePage * sizeof(ItemPointerData));
	sweep.blocks = palloc(MaxTIDsPerBTreePage * sizeof(BlockNumber));
	if (inserter->dead != NULL && !inserter->swept && !XLogRecPtrIsInvalid(inserter->lsn))
		sweep.ndead = inserter->dead(inserter->dead_arg, inserter->block, inserter->lsn,
									 sweep.dead, MaxTIDsPerBTreePage);
	inserter->swept = true;
	sweep_rows(&sweep, note_block);
	if (sweep.nblocks > 0)
	{
		qsort(sweep.blocks, sweep.nblocks, sizeof(BlockNumber), compare_blocks);
		sweep.op.deltids = palloc(MaxTIDsPerBTreePage * sizeof(TM_IndexDelete));
		sweep.op.status = palloc(MaxTIDsPerBTreePage * sizeof(TM_IndexStatus));
		sweep_rows(&sweep, note_row);
		_bt_delitems_delete_check(inserter->index, inserter->search.buf, inserter->heap,
								  &sweep.op);
		pfree(sweep.op.deltids);
		pfree(sweep.op.status);
	}
	pfree(sweep.dead);
	pfree(sweep.blocks);
}

/* Whether the current key is that of a row that was there, and has gone or has a new version. */
static inline bool
has_version(const Inserter *inserter)
{
	return inserter->versions || inserter->replaces;
}

/*
 * Whether entries of dead versions have been removed from the leaf, or it is no use to merge equal
 * keys.  That costs a look at the table, in vain where the versions died in this transaction.
 */
static bool
remove_versions(Inserter *inserter)
{
	Page		page = leaf_page(inserter);
	Size		room = PageGetExactFreeSpace(page);
	bool		done;

	if (inserter->looks == 0 && inserter->passed++ % LOOK_AT_ONE_OF != 0)
		return false;
	done = _bt_bottomupdel_pass(inserter->index, inserter->search.buf, inserter->heap,
								IndexTupleSize(inserter->tuple));
	if (PageGetExactFreeSpace(page) > room)
		inserter->looks = MAX_LOOKS;
	else if (inserter->looks > 0)
		inserter->looks--;
	return done;
}

bool
stage_make_room(Inserter *inserter)
{
	Page		page;

	if (has_room(inserter) || !BufferIsValid(inserter->search.buf))
		return false;
	page = leaf_page(inserter);
	stage_flush(inserter);
	sweep_dead(inserter);
	search_from(inserter, P_FIRSTDATAKEY(BTPageGetOpaque(page)));
	/* in a unique index only versions are equal */
	if (has_room(inserter) || (!has_version(inserter) &&
							   (!inserter->shares || inserter->index->rd_index->indisunique)))
		return has_room(inserter);
	if (!(has_version(inserter) && remove_versions(inserter)) && inserter->shares)
		compat_bt_dedup_pass(inserter->index, inserter->heap, inserter->search.buf,
							 inserter->tuple, IndexTupleSize(inserter->tuple),
							 has_version(inserter));
	search_from(inserter, P_FIRSTDATAKEY(BTPageGetOpaque(page)));
	inserter->tidied = true;
	return has_room(inserter);
}
