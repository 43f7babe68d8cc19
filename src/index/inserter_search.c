/*
 * inserter_search.c
 *		See inserter_search.h.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "index/inserter_search.h"
#include "index/inserter_stage.h"
#include "index/leaf_search.h"
#include "index/lookup.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/throttle.h"
#include "server/wal_written.h"

/* How far to the right of the current leaf a key may be before a descent is better. */
#define MAX_STEPS 2

/* The gap between keys is the mean of about so many, in parts of an item. */
#define GAP_KEYS 8
#define GAP_UNIT 64

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

/* Whether a locked leaf is as it was when the current key was looked up on it. */
static inline bool
is_as_looked_up(const Inserter *inserter, Buffer buffer)
{
	const LookupPlace *place = inserter->place;
	Page		page = BufferGetPage(buffer);

	return place != NULL && place->block == BufferGetBlockNumber(buffer) &&
		!XLogRecPtrIsInvalid(place->lsn) && PageGetLSN(page) == place->lsn && is_usable(page);
}

/*
 * Comes back to a leaf, which others may have changed since.  That the key is above an
 * item of it proves that it does not belong further left.
 */
static Buffer
come_back(Inserter *inserter, BlockNumber block)
{
	Buffer		buffer = _bt_getbuf(inserter->index, block, BT_WRITE);
	Page		page = BufferGetPage(buffer);

	if (is_as_looked_up(inserter, buffer))
		return buffer;
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

/* Has the current key's leaf locked. */
static void
find_leaf(Inserter *inserter)
{
	Buffer		buffer = inserter->search.buf;
	BlockNumber right = inserter->right;
	BlockNumber known = inserter->place == NULL ? InvalidBlockNumber : inserter->place->block;
	bool		moves = BlockNumberIsValid(known) && known != inserter->known &&
		known != inserter->block;

	inserter->known = known;
	if (BufferIsValid(buffer))
	{
		/* a key that was looked for elsewhere belongs there; the leaf may have been split since */
		if (is_as_looked_up(inserter, buffer) ||
			(!moves && compare_high(inserter, BufferGetPage(buffer)) <= 0))
			return;
		stage_flush(inserter);
		inserter->search.buf = InvalidBuffer;
		/* whoever is to wait, or to stop, does so with no leaf locked */
		if (inserter->steps && !moves && !InterruptPending && throttle_active == NULL &&
			inserter->untold < TOLD_ROWS)
			buffer = step_right(inserter, buffer);
		else
		{
			_bt_relbuf(inserter->index, buffer);
			buffer = InvalidBuffer;
		}
	}
	else if (!moves)
		known = inserter->block;
	if (!BufferIsValid(buffer))
	{
		CHECK_FOR_INTERRUPTS();
		wal_written();
		compat_injection_point("pgbulk-insert-no-leaf-locked");
		inserter_tell(inserter, TOLD_ROWS);
		if (BlockNumberIsValid(known) && (moves || known == inserter->block))
			buffer = come_back(inserter, known);
	}
	if (!BufferIsValid(buffer))
	{
		buffer = compat_bt_search(inserter->index, inserter->heap, inserter->key, BT_WRITE);
		inserter->steps = BufferGetBlockNumber(buffer) == right;
	}
	stage_begin(inserter, buffer);
}

static inline bool
is_equal(const Inserter *inserter, OffsetNumber offset)
{
	return leaf_search_is_equal(inserter->index, inserter->key, inserter->bytewise,
								inserter->tuple, leaf_page(inserter), offset);
}

bool
search_may_be_taken(Inserter *inserter, OffsetNumber offset)
{
	Page		page = leaf_page(inserter);

	if (!inserter->judged)
		return false;
	if (inserter->search.bounds_valid && offset < inserter->search.stricthigh)
		return true;
	return offset > PageGetMaxOffsetNumber(page) && compare_high(inserter, page) == 0;
}

/* What the owner knows of the row of an entry, if it still is that row. */
static InserterKnown
known_row(const Inserter *inserter, const ItemPointerData *tid)
{
	const LookupPlace *place = inserter->place;
	InserterKnown known;

	if (inserter->knows == NULL)
		return INSERTER_UNKNOWN;
	known = inserter->knows(inserter->knows_arg, tid);
	if (known == INSERTER_DEAD &&
		(place == NULL || !inserter_found_unchanged(inserter, place->block, place->lsn)))
		return INSERTER_UNKNOWN;
	return known;
}

/* Whether the row of an entry is dead, as _bt_check_unique finds; *to_all: to everyone. */
static bool
row_is_dead(const Inserter *inserter, ItemPointerData tid, bool *to_all)
{
	InserterKnown known = known_row(inserter, &tid);
	SnapshotData dirty;

	*to_all = known == INSERTER_DEAD;
	if (known != INSERTER_UNKNOWN)
		return true;
	InitDirtySnapshot(dirty);
	return !table_index_fetch_tuple_check(inserter->heap, &tid, &dirty, to_all);
}

/*
 * Whether all rows of an item are dead.  If they are dead to everyone it is marked, so that it is
 * removed where the page is full.
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

	if (ItemIdIsDead(id))
		return true;
	for (int i = 0; i < n; i++)
	{
		bool		row_to_all;

		if (!row_is_dead(inserter, tids[i], &row_to_all))
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

bool
search_equals_gone(Inserter *inserter, OffsetNumber offset, ItemPointer tid, OffsetNumber *place)
{
	Page		page = leaf_page(inserter);
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	for (*place = offset; offset <= last; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		IndexTuple	item = (IndexTuple) PageGetItem(page, id);

		if (!is_equal(inserter, offset))
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

/*
 * Whether an item that has the bytes of the current key has all other entries of it beside, in the
 * order of their rows.
 */
static inline bool
may_find_same(const Inserter *inserter)
{
	return inserter->judged ? inserter->knows != NULL : inserter->shares && inserter->bytewise;
}

/* The first item with the current key, of which one is at offset: others may have other bytes. */
static OffsetNumber
first_equal(const Inserter *inserter, OffsetNumber offset)
{
	OffsetNumber first = P_FIRSTDATAKEY(BTPageGetOpaque(leaf_page(inserter)));

	while (offset > first && is_equal(inserter, offset - 1))
		offset--;
	return offset;
}

/*
 * Where the first of the current rows belongs among the items with their key, the first of which
 * is at offset; as _bt_binsrch_insert, this sets postingoff where that is in a posting list.
 * InvalidOffsetNumber: on the next leaf.
 */
static OffsetNumber
find_among_equal(Inserter *inserter, OffsetNumber offset)
{
	Page		page = leaf_page(inserter);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	ItemPointer tid = &inserter->tids[0];

	for (; offset <= last; offset++)
	{
		ItemId		id = PageGetItemId(page, offset);
		IndexTuple	item = (IndexTuple) PageGetItem(page, id);

		if (!is_equal(inserter, offset) ||
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
 * The search has ended at an offset; if the key is judged its entries begin there, or before if
 * one is there.
 */
static void
begin_at(Inserter *inserter, OffsetNumber offset)
{
	BTInsertState search = &inserter->search;

	search->bounds_valid = true;
	search->low = inserter->judged ? first_equal(inserter, offset) : offset;
	search->stricthigh = OffsetNumberNext(PageGetMaxOffsetNumber(leaf_page(inserter)));
}

/*
 * An item with the bytes of the current key is at offset of its leaf: where the key is to be put
 * before, that is where a judged key's entries begin, another's place.  InvalidOffsetNumber: that
 * remains to be searched.
 */
static OffsetNumber
place_at(Inserter *inserter, OffsetNumber offset)
{
	BTInsertState search = &inserter->search;
	OffsetNumber from = search->bounds_valid ? search->low : InvalidOffsetNumber;

	if (!inserter->judged)
		offset = find_among_equal(inserter, first_equal(inserter, offset));
	if (offset == InvalidOffsetNumber)
		return offset;
	begin_at(inserter, offset);
	if (OffsetNumberIsValid(from))
		note_gap(inserter, from, search->low);
	return search->low;
}

/* Where the search on a leaf goes on. */
static inline OffsetNumber
next_offset(const Inserter *inserter)
{
	return inserter->search.bounds_valid ? inserter->search.low :
		P_FIRSTDATAKEY(BTPageGetOpaque(leaf_page(inserter)));
}

/*
 * The same, where an item on the current leaf or the one that the key belongs on has its bytes.
 */
static OffsetNumber
find_same(Inserter *inserter)
{
	BTInsertState search = &inserter->search;
	OffsetNumber offset = InvalidOffsetNumber;

	if (!may_find_same(inserter) || !luck_tries(&inserter->same))
		return InvalidOffsetNumber;
	for (int i = 0; i < 2 && offset == InvalidOffsetNumber; i++)
	{
		Buffer		before = search->buf;

		if (i == 1 || !BufferIsValid(before))
			find_leaf(inserter);
		if (i == 1 && search->buf == before)
			break;
		offset = lookup_same(leaf_page(inserter), next_offset(inserter), inserter->tuple);
	}
	if (offset != InvalidOffsetNumber)
		offset = place_at(inserter, offset);
	luck_note(&inserter->same, offset != InvalidOffsetNumber);
	return offset;
}

/* Where it is guessed to be on the current leaf. */
static inline OffsetNumber
guess(const Inserter *inserter)
{
	return leaf_guess(inserter->shape, leaf_page(inserter), next_offset(inserter),
					  inserter->tuple);
}

/* Whether the current key is above the items before offset and below the one there. */
static bool
is_between(const Inserter *inserter, OffsetNumber offset)
{
	Page		page = leaf_page(inserter);

	return (offset > PageGetMaxOffsetNumber(page) ||
			_bt_compare(inserter->index, inserter->key, page, offset) < 0) &&
		(offset == next_offset(inserter) ||
		 _bt_compare(inserter->index, inserter->key, page, offset - 1) > 0);
}

static inline bool
has_same_bytes(const Inserter *inserter, OffsetNumber offset)
{
	Page		page = leaf_page(inserter);

	return leaf_search_same_images(inserter->index, inserter->tuple, (IndexTuple)
								   PageGetItem(page, PageGetItemId(page, offset)),
								   inserter->key->keysz);
}

/* Where the current key is to be put before, if a guess is right; else as find_same. */
static OffsetNumber
find_guessed(Inserter *inserter)
{
	BTInsertState search = &inserter->search;
	OffsetNumber offset = InvalidOffsetNumber;
	bool		same;
	bool		right;

	if (BufferIsValid(search->buf))
		offset = guess(inserter);
	/* what is behind all items may belong on the next leaf */
	if (offset == InvalidOffsetNumber || offset > PageGetMaxOffsetNumber(leaf_page(inserter)))
	{
		find_leaf(inserter);
		offset = guess(inserter);
	}
	same = may_find_same(inserter) && offset <= PageGetMaxOffsetNumber(leaf_page(inserter)) &&
		has_same_bytes(inserter, offset);
	if (same)
		offset = place_at(inserter, offset);
	right = same ? offset != InvalidOffsetNumber : is_between(inserter, offset);
	luck_note(&inserter->same, same);
	luck_note(&inserter->guess, right);
	if (!right)
		return InvalidOffsetNumber;
	if (!same)
	{
		search->bounds_valid = true;
		search->low = search->stricthigh = offset;
	}
	return offset;
}

/* The same in a way that has helped lately. */
static OffsetNumber
find_quickly(Inserter *inserter)
{
	/* where all keys are there, looking for their bytes is faster still */
	if (inserter->guesses && inserter->same.hits < LUCK_MAX_HITS && luck_tries(&inserter->guess))
		return find_guessed(inserter);
	return find_same(inserter);
}

bool
search_belongs_before(Inserter *inserter, ItemPointer tid, OffsetNumber offset)
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

/* The same where it was looked up, with its leaf as it was then. */
static OffsetNumber
find_known(Inserter *inserter)
{
	const LookupPlace *place = inserter->place;
	BTInsertState search = &inserter->search;

	begin_at(inserter, place->offset);
	if (!place->equal)
		search->stricthigh = place->offset;
	return search->low;
}

OffsetNumber
search_key(Inserter *inserter)
{
	OffsetNumber offset;

	if (inserter->place != NULL)
	{
		find_leaf(inserter);
		if (is_as_looked_up(inserter, inserter->search.buf))
			return find_known(inserter);
	}
	offset = find_quickly(inserter);
	return offset != InvalidOffsetNumber ? offset : find_offset(inserter);
}
