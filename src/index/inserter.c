/*
 * inserter.c
 *		See inserter.h.
 *
 * While a leaf is locked, its new items are staged: each has its place among
 * the old items of the page, which stays as it is, so that a search begins
 * where the one before ended.  When a key comes that belongs elsewhere, or to
 * the server, all of them go to the page and to the WAL.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/nbtxlog.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_am_d.h"
#include "index/failed_row.h"
#include "index/inserter.h"
#include "index/leaf_search.h"
#include "index/leaf_write.h"
#include "index/lookup.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/progress.h"
#include "server/throttle.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

/* Items that a page can take. */
#define MAX_STAGED MaxIndexTuplesPerPage

/*
 * A posting list item, as a build makes it (nbtsort.c); many of the full size
 * would waste space at splits.
 */
#define MAX_POSTING_SIZE (MAXALIGN_DOWN(BLCKSZ / 10) - sizeof(ItemIdData))
#define MAX_POSTING_ROWS (MAX_POSTING_SIZE / sizeof(ItemPointerData))

/* What a record takes beside its item: headers of the record and the block, the offset. */
#define RECORD_SIZE (SizeOfXLogRecord + SizeOfXLogRecordBlockHeader + sizeof(RelFileLocator) + \
					 sizeof(BlockNumber) + SizeOfXLogRecordDataHeaderShort + SizeOfBtreeInsert)

/* After so many rows a leaf is released to say how far this is. */
#define TOLD_ROWS 4096

/* How far to the right of the current leaf a key may be before a descent is better. */
#define MAX_STEPS 2

/* The gap between keys is the mean of about so many, in parts of an item. */
#define GAP_KEYS 8
#define GAP_UNIT 64

/* Bytes are looked for while that has helped lately, else for one key of so many. */
#define MAX_HITS 16
#define TRY_ONE_OF 8

struct Inserter
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	KeyShape   *shape;
	InserterDoubt doubt;
	void	   *arg;
	MemoryContext scratch;		/* what the server's insertion leaves behind */
	BTScanInsert key;			/* of the current key */
	bool		shares;			/* rows of a key may share an item */
	bool		is_trial;		/* a key that is there is a doubt, not an error */
	InserterGone gone;			/* NULL: no row has */
	void	   *gone_arg;
	uint32		untold;			/* rows that progress does not know of */
	int			hits;			/* keys that were found by their bytes, less those that were not */
	uint32		tries;			/* keys that were not looked for so */

	/* the current key */
	const char *image;
	Size		size;
	IndexTuple	tuple;
	bool		judged;			/* no two rows may have it */
	bool		taken;			/* a row with it has come */

	/* the leaf; search.buf: locked, or InvalidBuffer */
	BTInsertStateData search;
	BlockNumber block;			/* of the latest leaf, or InvalidBlockNumber */
	BlockNumber right;			/* its right sibling */
	bool		steps;			/* keys have gone on to the right sibling lately */
	Size		room;			/* left on the page */
	int			gap;			/* between keys lately, in items of a leaf, times GAP_UNIT */

	/* its new items */
	int			nstaged;
	OffsetNumber offsets[MAX_STAGED];	/* before which old item each goes */
	IndexTuple	items[MAX_STAGED];
	Size		staged_size;
	PGAlignedBlock staged;

	ItemPointerData tids[MAX_POSTING_ROWS];
};

/* ---- the leaf and its new items ---- */

static inline Page
leaf_page(const Inserter *inserter)
{
	return BufferGetPage(inserter->search.buf);
}

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

/* The new items go to the page. */
static void
put_staged(Inserter *inserter)
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

/* The same, and releases the leaf. */
static void
leave_leaf(Inserter *inserter)
{
	if (!BufferIsValid(inserter->search.buf))
		return;
	put_staged(inserter);
	_bt_relbuf(inserter->index, inserter->search.buf);
	inserter->search.buf = InvalidBuffer;
}

/* A leaf is locked that the current key belongs on. */
static void
take_leaf(Inserter *inserter, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);

	Assert(inserter->nstaged == 0);
	inserter->search.buf = buffer;
	inserter->search.bounds_valid = false;
	inserter->search.postingoff = 0;
	inserter->block = BufferGetBlockNumber(buffer);
	inserter->right = BTPageGetOpaque(page)->btpo_next;
	inserter->room = PageGetExactFreeSpace(page);
}

/* ---- finding the leaf ---- */

static inline int
compare_high(const Inserter *inserter, Page page)
{
	return leaf_search_compare_high(inserter->index, inserter->key, page);
}

/* Whether a page may be used as it is: it was a leaf a moment ago. */
static inline bool
is_usable(Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);

	return P_ISLEAF(opaque) && !P_IGNORE(opaque) && !P_INCOMPLETE_SPLIT(opaque);
}

/*
 * Goes right from a locked leaf that is before the key, a few steps as
 * _bt_moveright would, but leaves what is unusual to a descent.  Returns the
 * key's leaf, locked, or InvalidBuffer.
 */
static Buffer
step_right(Inserter *inserter, Buffer buffer)
{
	for (int i = 0; i < MAX_STEPS; i++)
	{
		buffer = _bt_relandgetbuf(inserter->index, buffer,
								  BTPageGetOpaque(BufferGetPage(buffer))->btpo_next, BT_WRITE);
		if (!is_usable(BufferGetPage(buffer)))
			break;
		if (compare_high(inserter, BufferGetPage(buffer)) <= 0)
			return buffer;
	}
	_bt_relbuf(inserter->index, buffer);
	return InvalidBuffer;
}

/*
 * Comes back to the latest leaf, which others may have changed since.  That the
 * key is above an item of it proves that it does not belong further left.
 */
static Buffer
come_back(Inserter *inserter)
{
	Buffer		buffer = _bt_getbuf(inserter->index, inserter->block, BT_WRITE);
	Page		page = BufferGetPage(buffer);

	if (is_usable(page) &&
		PageGetMaxOffsetNumber(page) >= P_FIRSTDATAKEY(BTPageGetOpaque(page)) &&
		_bt_compare(inserter->index, inserter->key, page,
					P_FIRSTDATAKEY(BTPageGetOpaque(page))) > 0)
	{
		if (compare_high(inserter, page) <= 0)
			return buffer;
		return step_right(inserter, buffer);
	}
	_bt_relbuf(inserter->index, buffer);
	return InvalidBuffer;
}

/* Says how far this is, if there are so many rows to tell of; no leaf is locked. */
static inline void
tell(Inserter *inserter, uint32 least)
{
	if (inserter->untold < least)
		return;
	progress_entries_done(inserter->untold);
	inserter->untold = 0;
}

/* Has the current key's leaf locked. */
static void
find_leaf(Inserter *inserter)
{
	Buffer		buffer = inserter->search.buf;
	BlockNumber right = inserter->right;

	if (BufferIsValid(buffer))
	{
		if (compare_high(inserter, BufferGetPage(buffer)) <= 0)
			return;
		put_staged(inserter);
		inserter->search.buf = InvalidBuffer;
		/* whoever is to wait, or to stop, does so with no leaf locked */
		if (inserter->steps && !InterruptPending && throttle_active == NULL &&
			inserter->untold < TOLD_ROWS)
			buffer = step_right(inserter, buffer);
		else
		{
			_bt_relbuf(inserter->index, buffer);
			buffer = InvalidBuffer;
		}
	}
	else if (BlockNumberIsValid(inserter->block))
		buffer = come_back(inserter);
	if (!BufferIsValid(buffer))
	{
		CHECK_FOR_INTERRUPTS();
		throttle_wait();
		tell(inserter, TOLD_ROWS);
		buffer = leaf_search_descend(inserter->heap, inserter->index, inserter->key,
									 BT_WRITE);
		inserter->steps = BufferGetBlockNumber(buffer) == right;
	}
	take_leaf(inserter, buffer);
}

/* ---- a row's place ---- */

/* Whether no page may hold the key: the server is to say so when all others are in. */
static inline bool
is_too_large(const Inserter *inserter)
{
	return IndexTupleSize(inserter->tuple) > COMPAT_BT_MAX_ITEM_SIZE(leaf_page(inserter));
}

/*
 * Whether there may be keys of others that are equal, on this leaf, where the
 * search has ended at offset, or the next.
 */
static bool
may_be_taken(Inserter *inserter, OffsetNumber offset)
{
	Page		page = leaf_page(inserter);

	if (!inserter->judged)
		return false;
	if (inserter->search.bounds_valid && offset < inserter->search.stricthigh)
		return true;
	return offset > PageGetMaxOffsetNumber(page) && compare_high(inserter, page) == 0;
}

/* Whether the owner says of all rows of an item that they have gone. */
static bool
is_said_gone(const Inserter *inserter, const ItemPointerData *tids, int n)
{
	if (inserter->gone == NULL)
		return false;
	for (int i = 0; i < n; i++)
		if (!inserter->gone(inserter->gone_arg, &tids[i]))
			return false;
	return true;
}

/*
 * Whether all rows of an item are dead, as _bt_check_unique finds.  If they are
 * dead to everyone it is marked, so that the server removes it where the page is
 * full.
 */
static bool
item_gone(Inserter *inserter, ItemId id)
{
	Page		page = leaf_page(inserter);
	IndexTuple	item = (IndexTuple) PageGetItem(page, id);
	bool		posting = BTreeTupleIsPosting(item);
	ItemPointer tids = posting ? BTreeTupleGetPosting(item) : &item->t_tid;
	int			n = posting ? BTreeTupleGetNPosting(item) : 1;
	bool		to_all = true;

	if (ItemIdIsDead(id) || is_said_gone(inserter, tids, n))
		return true;
	for (int i = 0; i < n; i++)
	{
		ItemPointerData tid = tids[i];
		SnapshotData dirty;
		bool		row_to_all = false;

		InitDirtySnapshot(dirty);
		if (table_index_fetch_tuple_check(inserter->heap, &tid, &dirty, &row_to_all))
			return false;
		to_all &= row_to_all;
	}
	if (to_all)
	{
		ItemIdMarkDead(id);
		BTPageGetOpaque(page)->btpo_flags |= BTP_HAS_GARBAGE;
		MarkBufferDirtyHint(inserter->search.buf, true);
	}
	return true;
}

/*
 * Whether all entries with the current key, from offset on, are on this leaf, and of
 * rows that have gone.  Then *place is where the row at tid belongs among them;
 * InvalidOffsetNumber: in the middle of a posting list, or on another leaf.
 */
static bool
equals_gone(Inserter *inserter, OffsetNumber offset, ItemPointer tid, OffsetNumber *place)
{
	Page		page = leaf_page(inserter);
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	for (*place = offset; offset <= last; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		IndexTuple	item = (IndexTuple) PageGetItem(page, id);

		if (_bt_compare(inserter->index, inserter->key, page, offset) != 0)
			return true;
		if (!item_gone(inserter, id))
			return false;
		if (ItemPointerCompare(BTreeTupleGetMaxHeapTID(item), tid) < 0)
			*place = offset + 1;
		else if (ItemPointerCompare(BTreeTupleGetHeapTID(item), tid) < 0)
			*place = InvalidOffsetNumber;
	}
	/* it may be the last on the leaf, or the first on the next */
	if (compare_high(inserter, page) == 0)
		return false;
	if (*place > last)
	{
		inserter->key->scantid = tid;
		if (compare_high(inserter, page) > 0)
			*place = InvalidOffsetNumber;
		inserter->key->scantid = NULL;
	}
	return true;
}

/* How far the search has gone on since the key before. */
static inline void
note_gap(Inserter *inserter, OffsetNumber from, OffsetNumber to)
{
	inserter->gap += ((int) (to - from) * GAP_UNIT - inserter->gap) / GAP_KEYS;
}

/* How many rows of a posting list, which begins before a row and ends behind it, come before it. */
static int
rows_before(IndexTuple item, ItemPointer tid)
{
	ItemPointer rows = BTreeTupleGetPosting(item);
	int			low = 1;
	int			high = BTreeTupleGetNPosting(item) - 1;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (ItemPointerCompare(&rows[middle], tid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether an item that has the bytes of the current key has all other entries of it beside. */
static inline bool
may_find_same(const Inserter *inserter)
{
	return inserter->judged ? inserter->gone != NULL : inserter->shares;
}

/*
 * Where the first of the current rows belongs among the items with the bytes of their key, which
 * begin at offset; as _bt_binsrch_insert, this sets postingoff where that is in a posting list.
 * InvalidOffsetNumber: on the next leaf.
 */
static OffsetNumber
find_among_same(Inserter *inserter, OffsetNumber offset)
{
	Page		page = leaf_page(inserter);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	ItemPointer tid = &inserter->tids[0];

	for (; offset <= last; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		IndexTuple	item = (IndexTuple) PageGetItem(page, id);

		if (!lookup_is_same(item, inserter->tuple) ||
			ItemPointerCompare(tid, BTreeTupleGetHeapTID(item)) < 0)
			return offset;
		if (ItemPointerCompare(tid, BTreeTupleGetMaxHeapTID(item)) < 0)
		{
			inserter->search.postingoff = ItemIdIsDead(id) ? -1 : rows_before(item, tid);
			return offset;
		}
	}
	return compare_high(inserter, page) > 0 ? InvalidOffsetNumber : offset;
}

/*
 * Where the current key is to be put before, found by its bytes on the current leaf or the one
 * that the key belongs on: where a judged key's entries begin, another's place.
 * InvalidOffsetNumber: that remains to be searched.
 */
static OffsetNumber
find_same(Inserter *inserter)
{
	BTInsertState search = &inserter->search;
	OffsetNumber offset = InvalidOffsetNumber;
	OffsetNumber first;
	OffsetNumber from = search->bounds_valid ? search->low : InvalidOffsetNumber;

	if (!may_find_same(inserter) || (inserter->hits == 0 && inserter->tries++ % TRY_ONE_OF != 0))
		return InvalidOffsetNumber;
	for (int i = 0; i < 2 && offset == InvalidOffsetNumber; i++)
	{
		Buffer		before = search->buf;

		if (i == 1 || !BufferIsValid(before))
			find_leaf(inserter);
		if (i == 1 && search->buf == before)
			break;
		first = P_FIRSTDATAKEY(BTPageGetOpaque(leaf_page(inserter)));
		offset = lookup_same(leaf_page(inserter), search->bounds_valid ? search->low : first,
							 inserter->tuple);
	}
	if (offset != InvalidOffsetNumber && !inserter->judged)
		offset = find_among_same(inserter, offset);
	if (offset == InvalidOffsetNumber)
	{
		inserter->hits = Max(inserter->hits - 1, 0);
		return offset;
	}
	inserter->hits = Min(inserter->hits + 1, MAX_HITS);
	if (inserter->judged)
		while (offset > first &&
			   _bt_compare(inserter->index, inserter->key, leaf_page(inserter), offset - 1) == 0)
			offset--;
	if (!search->bounds_valid)
		from = InvalidOffsetNumber;
	if (OffsetNumberIsValid(from))
		note_gap(inserter, from, offset);
	search->bounds_valid = true;
	search->low = offset;
	search->stricthigh = OffsetNumberNext(PageGetMaxOffsetNumber(leaf_page(inserter)));
	return offset;
}

/* Whether a row of the current key belongs before the old item at offset, too. */
static bool
belongs_before(Inserter *inserter, ItemPointer tid, OffsetNumber offset)
{
	Page		page = leaf_page(inserter);
	ItemPointer first = inserter->key->scantid;
	bool		belongs;

	inserter->key->scantid = tid;
	if (offset <= PageGetMaxOffsetNumber(page))
		belongs = _bt_compare(inserter->index, inserter->key, page, offset) < 0;
	else
		belongs = compare_high(inserter, page) <= 0;
	inserter->key->scantid = first;
	return belongs;
}

/* How many rows an item of the current key may have, of n. */
static inline uint32
rows_of_item(const Inserter *inserter, uint32 n)
{
	Size		key = MAXALIGN(IndexTupleSize(inserter->tuple));

	if (!inserter->shares || inserter->judged || n == 1 ||
		key + 2 * sizeof(ItemPointerData) > MAX_POSTING_SIZE)
		return 1;
	return Min(n, (MAX_POSTING_SIZE - key) / sizeof(ItemPointerData));
}

/* Takes an item for so many rows to the stage; false: it does not fit the page. */
static bool
stage(Inserter *inserter, uint32 n, OffsetNumber offset)
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

/*
 * Keys come in order, so that the next is mostly as far from the one before as those
 * were from each other: it is looked for there, and in growing steps from there on.
 * Returns whether an item of the leaf is found to be behind it, which is then the
 * search's bound: the key belongs on this leaf, and the page's high key need not be
 * compared.
 */
static bool
leap(Inserter *inserter)
{
	BTInsertState search = &inserter->search;
	OffsetNumber last;
	int			step = Max(inserter->gap * 3 / (4 * GAP_UNIT), 1);

	if (!BufferIsValid(search->buf) || !search->bounds_valid)
		return false;
	last = PageGetMaxOffsetNumber(leaf_page(inserter));
	search->stricthigh = OffsetNumberNext(last);
	for (int i = 0; search->low + step - 1 <= last; i++)
	{
		OffsetNumber offset = search->low + step - 1;
		int32		result = _bt_compare(inserter->index, inserter->key, leaf_page(inserter),
										 offset);

		if (result < 0)
			search->stricthigh = offset;
		if (result <= 0)
			return result < 0;
		search->low = OffsetNumberNext(offset);
		if (i > 0)
			step *= 2;
	}
	return false;
}

/* Has the current key's leaf locked.  Returns before which old item it belongs. */
static OffsetNumber
find_offset(Inserter *inserter)
{
	BTInsertState search = &inserter->search;
	OffsetNumber from = search->bounds_valid ? search->low : InvalidOffsetNumber;
	OffsetNumber offset;

	if (!leap(inserter))
		find_leaf(inserter);
	if (!search->bounds_valid)
		from = InvalidOffsetNumber;
	offset = _bt_binsrch_insert(inserter->index, search);
	if (OffsetNumberIsValid(from))
		note_gap(inserter, from, offset);
	return offset;
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

/*
 * The row belongs into the middle of the posting list at offset, as where several sessions load
 * rows with the same keys: their rows have taken turns.  Returns whether it is there now.
 */
static bool
put_into_posting(Inserter *inserter, OffsetNumber offset)
{
	int			after = inserter->search.postingoff;

	inserter->search.postingoff = 0;
	/* an item that is dead is to be removed before */
	if (after < 0 || !has_room(inserter))
		return false;
	offset += inserter->nstaged;
	put_staged(inserter);
	CheckForSerializableConflictIn(inserter->index, NULL, inserter->block);
	inserter->tuple->t_tid = inserter->tids[0];
	leaf_split_posting(inserter->index, inserter->search.buf, inserter->tuple, offset, after);
	search_from(inserter, offset);
	return true;
}

/*
 * Where a leaf is full, equal keys on it are merged into posting lists, as the server would
 * before it splits the leaf.  Returns whether the current key fits now.
 */
static bool
make_room(Inserter *inserter)
{
	if (has_room(inserter) || !inserter->shares || inserter->info->ii_Unique ||
		!BufferIsValid(inserter->search.buf) ||
		P_HAS_GARBAGE(BTPageGetOpaque(leaf_page(inserter))))
		return false;
	put_staged(inserter);
	compat_bt_dedup_pass(inserter->index, inserter->heap, inserter->search.buf, inserter->tuple,
						 IndexTupleSize(inserter->tuple));
	search_from(inserter, P_FIRSTDATAKEY(BTPageGetOpaque(leaf_page(inserter))));
	return has_room(inserter);
}

/* Takes the first of n rows, or some; returns how many.  0: the server is to insert the first. */
static uint32
put_rows(Inserter *inserter, const RowId *rows, uint32 n)
{
	OffsetNumber offset;
	OffsetNumber place;

	n = rows_of_item(inserter, n);
	for (uint32 i = 0; i < n; i++)
		row_tid(rows[i], &inserter->tids[i]);
	inserter->key->scantid = inserter->judged ? NULL : &inserter->tids[0];
	offset = find_same(inserter);
	if (offset == InvalidOffsetNumber)
		offset = find_offset(inserter);
	if (inserter->search.postingoff != 0)
		return put_into_posting(inserter, offset) ? 1 : 0;
	place = offset;
	if (is_too_large(inserter) ||
		(may_be_taken(inserter, offset) &&
		 !equals_gone(inserter, offset, &inserter->tids[0], &place)))
	{
		inserter->doubt(inserter->arg, rows[0], inserter->image, inserter->size);
		return 1;
	}
	if (place == InvalidOffsetNumber)
		return 0;
	if (n > 1 && !belongs_before(inserter, &inserter->tids[n - 1], place))
		n = 1;
	return stage(inserter, n, place) ? n : 0;
}

/* ---- the sink ---- */

static void
set_key(Inserter *inserter)
{
	BTScanInsert key = inserter->key;
	bool		nulls = leaf_search_set(inserter->index, key, inserter->tuple);

	key->anynullkeys = nulls && !inserter->info->ii_NullsNotDistinct;
	inserter->judged = inserter->info->ii_Unique && !key->anynullkeys;
}

static void
take_key(void *arg, const char *image, Size size, bool equal)
{
	Inserter   *inserter = arg;

	inserter->image = image;
	inserter->size = size;
	inserter->tuple = shape_tuple(inserter->shape, image);
	set_key(inserter);
	if (!equal)
		inserter->taken = false;
}

static void
take_rows(void *arg, const RowId *rows, uint32 n)
{
	Inserter   *inserter = arg;
	uint32		done;

	for (uint32 i = 0; i < n; i += done)
	{
		done = 1;
		if (inserter->judged && inserter->taken)
			inserter->doubt(inserter->arg, rows[i], inserter->image, inserter->size);
		else if (inserter->key->heapkeyspace)
		{
			done = put_rows(inserter, rows + i, n - i);
			if (done == 0 && make_room(inserter))
				done = put_rows(inserter, rows + i, n - i);
		}
		else
			done = 0;
		if (done == 0)
		{
			if (!inserter_ask_server(inserter, rows[i], inserter->image))
				inserter->doubt(inserter->arg, rows[i], inserter->image, inserter->size);
			done = 1;
		}
		inserter->taken = true;
		inserter->untold += done;
	}
}

bool
inserter_ask_server(Inserter *inserter, RowId row, const char *image)
{
	IndexUniqueCheck check = !inserter->info->ii_Unique ? UNIQUE_CHECK_NO :
		inserter->is_trial ? UNIQUE_CHECK_PARTIAL : UNIQUE_CHECK_YES;
	bool		good;
	MemoryContext old;
	FailedRowContext failing;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid;

	leave_leaf(inserter);
	CHECK_FOR_INTERRUPTS();
	throttle_wait();
	tell(inserter, TOLD_ROWS);
	old = MemoryContextSwitchTo(inserter->scratch);
	row_tid(row, &tid);
	shape_values(inserter->shape, image, values, isnull);
	failed_row_begin(&failing, inserter->heap, &tid);
	good = index_insert(inserter->index, values, isnull, &tid, inserter->heap, check, false,
						inserter->info);
	failed_row_end(&failing);
	MemoryContextSwitchTo(old);
	MemoryContextReset(inserter->scratch);
	return good || check != UNIQUE_CHECK_PARTIAL;
}

void
inserter_try(Inserter *inserter, InserterGone gone, void *arg)
{
	inserter->is_trial = true;
	inserter->gone = gone;
	inserter->gone_arg = arg;
}

bool
inserter_serves(Relation index)
{
	return index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indisready &&
		index->rd_index->indimmediate && !index->rd_index->indisexclusion;
}

Inserter *
inserter_open(Relation heap, Relation index, IndexInfo *info, KeyShape *shape,
			  InserterDoubt doubt, void *arg)
{
	Inserter   *inserter = palloc0(sizeof(Inserter));

	inserter->heap = heap;
	inserter->index = index;
	inserter->info = info;
	inserter->shape = shape;
	inserter->doubt = doubt;
	inserter->arg = arg;
	inserter->scratch = AllocSetContextCreate(CurrentMemoryContext, "index entry",
											  ALLOCSET_DEFAULT_SIZES);
	inserter->key = leaf_search_key(index);
	inserter->shares = inserter->key->allequalimage && BTGetDeduplicateItems(index);
	inserter->search.itup_key = inserter->key;
	inserter->search.buf = InvalidBuffer;
	inserter->block = InvalidBlockNumber;
	return inserter;
}

/* The last key has come: others may change the leaf from now on. */
static void
end_keys(Inserter *inserter)
{
	leave_leaf(inserter);
	tell(inserter, 1);
	inserter->block = InvalidBlockNumber;
	inserter->steps = false;
}

void
inserter_take_all(Inserter *inserter, Presort **presort)
{
	KeySink		sink = {.key = take_key,.rows = take_rows,.arg = inserter};

	if (*presort == NULL)
		return;
	presort_finish(*presort, &sink);
	end_keys(inserter);
	presort_close(*presort);
	*presort = NULL;
}

/* Keys that are sorted already, of which some rows are wanted. */
typedef struct Again
{
	Inserter   *inserter;
	InserterRow find_row;
	void	   *arg;
	const char *image;
	Size		size;
} Again;

static void
take_key_again(void *arg, const char *image, Size size, bool equal)
{
	Again	   *again = arg;

	again->image = image;
	again->size = size;
}

static void
take_rows_again(void *arg, const RowId *rows, uint32 n)
{
	Again	   *again = arg;
	RowId		row;

	for (uint32 i = 0; i < n; i++)
		if (again->find_row(again->arg, rows[i], &row))
		{
			take_key(again->inserter, again->image, again->size, false);
			take_rows(again->inserter, &row, 1);
		}
}

void
inserter_take_again(Inserter *inserter, Presort *presort, InserterRow find_row, void *arg)
{
	Again		again = {.inserter = inserter,.find_row = find_row,.arg = arg};
	KeySink		sink = {.key = take_key_again,.rows = take_rows_again,.arg = &again};

	presort_emit_again(presort, &sink);
	end_keys(inserter);
}
