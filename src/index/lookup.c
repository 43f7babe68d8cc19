/*
 * lookup.c
 *		See lookup.h.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/visibilitymap.h"
#include "index/leaf_guess.h"
#include "index/leaf_search.h"
#include "index/lookup.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/fetch_ahead.h"
#include "storage/bufmgr.h"

/* How far to the right of the current leaf a key may be before a descent is better. */
#define MAX_STEPS 2

struct Lookup
{
	Relation	heap;
	Relation	index;
	KeyShape   *shape;
	LookupSink	sink;
	BTScanInsert key;			/* of the current key */
	bool		bytewise;		/* equal keys have equal images */
	IndexTuple	tuple;			/* the same, good until the next key */
	bool		begun;			/* a row of it has come */
	LookupPlace place;			/* of it, while it is looked up */

	/* the leaf; search.buf: locked, or InvalidBuffer */
	BTInsertStateData search;
	BlockNumber right;			/* its right sibling */
	bool		steps;			/* keys have gone on to the right sibling lately */
	bool		stays;			/* the latest key was on the leaf of the one before */
	bool		guesses;		/* its keys can be guessed */
	Luck		guess;			/* of guesses that were right */
	Luck		same;			/* of bytes that were found */
	Buffer		map;			/* of the visibility map, pinned, or InvalidBuffer */
};

/* ---- finding the leaf ---- */

static inline Page
leaf_page(const Lookup *lookup)
{
	return BufferGetPage(lookup->search.buf);
}

static inline void
take_leaf(Lookup *lookup, Buffer buffer)
{
	lookup->search.buf = buffer;
	lookup->search.bounds_valid = false;
	if (!BufferIsValid(buffer))
		return;
	lookup->right = BTPageGetOpaque(BufferGetPage(buffer))->btpo_next;
	/* a search would wait for one item after the other */
	for (int i = 0; i < BLCKSZ; i += FETCHED_BYTES)
		fetch_ahead((const char *) BufferGetPage(buffer) + i);
}

static inline int
compare_high(const Lookup *lookup, Page page)
{
	return leaf_search_compare_high(lookup->index, lookup->key, page);
}

/*
 * The next leaf to the right of a locked one, locked, without those that are
 * being deleted; InvalidBuffer: there is none.
 */
static Buffer
next_leaf(Lookup *lookup, Buffer buffer)
{
	do
	{
		BTPageOpaque opaque = BTPageGetOpaque(BufferGetPage(buffer));

		if (P_RIGHTMOST(opaque))
		{
			_bt_relbuf(lookup->index, buffer);
			return InvalidBuffer;
		}
		buffer = _bt_relandgetbuf(lookup->index, buffer, opaque->btpo_next, BT_READ);
	} while (P_IGNORE(BTPageGetOpaque(BufferGetPage(buffer))));
	return buffer;
}

/* Goes right from a locked leaf that is before the key; InvalidBuffer: it is too far for steps. */
static Buffer
step_right(Lookup *lookup, Buffer buffer)
{
	for (int i = 0; i < MAX_STEPS; i++)
	{
		buffer = next_leaf(lookup, buffer);
		if (!BufferIsValid(buffer) || compare_high(lookup, BufferGetPage(buffer)) <= 0)
			return buffer;
	}
	_bt_relbuf(lookup->index, buffer);
	return InvalidBuffer;
}

/* Has the current key's leaf locked, if there is one. */
static void
find_leaf(Lookup *lookup)
{
	Buffer		buffer = lookup->search.buf;
	BlockNumber right = lookup->right;

	if (BufferIsValid(buffer))
	{
		if (compare_high(lookup, BufferGetPage(buffer)) <= 0)
			return;
		lookup->search.buf = InvalidBuffer;
		if (lookup->steps && !InterruptPending)
			buffer = step_right(lookup, buffer);
		else
		{
			_bt_relbuf(lookup->index, buffer);
			buffer = InvalidBuffer;
		}
	}
	if (!BufferIsValid(buffer))
	{
		CHECK_FOR_INTERRUPTS();
		compat_injection_point("pgbulk-lookup-no-leaf-locked");
		buffer = compat_bt_search(lookup->index, lookup->heap, lookup->key, BT_READ);
		lookup->steps = BufferIsValid(buffer) && BufferGetBlockNumber(buffer) == right;
	}
	take_leaf(lookup, buffer);
}

/* ---- its entries ---- */

static void
tell_entry(Lookup *lookup, RowId row, const ItemPointerData *tid)
{
	bool		visible = VM_ALL_VISIBLE(lookup->heap, ItemPointerGetBlockNumber(tid),
										 &lookup->map);

	lookup->sink.entry(lookup->sink.arg, row, tid, visible);
}

static void
tell_item(Lookup *lookup, RowId row, OffsetNumber offset)
{
	Page		page = leaf_page(lookup);
	ItemId		id = PageGetItemId(page, offset);
	IndexTuple	item = (IndexTuple) PageGetItem(page, id);

	if (ItemIdIsDead(id))
		return;
	if (!BTreeTupleIsPosting(item))
		tell_entry(lookup, row, &item->t_tid);
	else
		for (int i = 0; i < BTreeTupleGetNPosting(item); i++)
			tell_entry(lookup, row, BTreeTupleGetPostingN(item, i));
}

/* Where the current key is, or would be; the next search begins there. */
static OffsetNumber
find_offset(Lookup *lookup)
{
	BTInsertState search = &lookup->search;

	if (search->bounds_valid)
		search->stricthigh = OffsetNumberNext(PageGetMaxOffsetNumber(leaf_page(lookup)));
	return _bt_binsrch_insert(lookup->index, search);
}

/* Whether the search has found that the item at offset is above the key. */
static inline bool
is_above(const Lookup *lookup, OffsetNumber offset)
{
	return lookup->search.bounds_valid && offset >= lookup->search.stricthigh &&
		offset <= PageGetMaxOffsetNumber(leaf_page(lookup));
}

/* The current key has an item there on the leaf, or would have. */
static inline void
take_place(Lookup *lookup, OffsetNumber offset, bool equal)
{
	Buffer		buffer = lookup->search.buf;

	/* what has no WAL keeps its LSN when it changes */
	lookup->place.lsn = RelationNeedsWAL(lookup->index) ? BufferGetLSNAtomic(buffer) :
		InvalidXLogRecPtr;
	lookup->place.block = BufferGetBlockNumber(buffer);
	lookup->place.offset = offset;
	lookup->place.equal = equal;
}

static inline bool
is_equal(const Lookup *lookup, OffsetNumber offset)
{
	return leaf_search_is_equal(lookup->index, lookup->key, lookup->bytewise, lookup->tuple,
								leaf_page(lookup), offset);
}

/* Tells the entries of the current key from offset on; equal ones may go on to the right. */
static void
tell_from(Lookup *lookup, RowId row, OffsetNumber offset)
{
	take_place(lookup, offset, false);
	for (;;)
	{
		Page		page = leaf_page(lookup);
		OffsetNumber last = PageGetMaxOffsetNumber(page);
		Buffer		buffer;

		while (offset <= last && is_equal(lookup, offset))
		{
			tell_item(lookup, row, offset++);
			lookup->place.equal = true;
		}
		if (offset <= last || compare_high(lookup, page) != 0)
			return;
		lookup->place.equal = true;
		/* of entries on the next leaf it says nothing */
		lookup->place.lsn = InvalidXLogRecPtr;
		buffer = lookup->search.buf;
		lookup->search.buf = InvalidBuffer;
		take_leaf(lookup, next_leaf(lookup, buffer));
		if (!BufferIsValid(lookup->search.buf))
			return;
		offset = P_FIRSTDATAKEY(BTPageGetOpaque(leaf_page(lookup)));
	}
}

/* Tells the entries of the current key, whose leaf is locked. */
static void
tell_entries(Lookup *lookup, RowId row)
{
	OffsetNumber offset = find_offset(lookup);

	if (is_above(lookup, offset))
		take_place(lookup, offset, false);
	else
		tell_from(lookup, row, offset);
}

/* ---- its bytes ---- */

OffsetNumber
lookup_same(Page page, OffsetNumber offset, IndexTuple tuple)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	const char *key = (const char *) tuple;
	Size		size = IndexTupleSize(tuple);
	unsigned short flags = tuple->t_info & (INDEX_NULL_MASK | INDEX_VAR_MASK);
	uint64		tail;

	/* neighbours differ at their ends */
	memcpy(&tail, key + size - sizeof(tail), sizeof(tail));
	for (; offset <= last; offset++)
	{
		IndexTuple	item = (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
		Size		item_size = BTreeTupleIsPosting(item) ? BTreeTupleGetPostingOffset(item) :
			IndexTupleSize(item);

		if (item_size == size &&
			*(const uint64 *) ((const char *) item + size - sizeof(tail)) == tail &&
			(item->t_info & (INDEX_NULL_MASK | INDEX_VAR_MASK)) == flags &&
			memcmp(key + sizeof(IndexTupleData), item + 1, size - sizeof(IndexTupleData)) == 0)
			return offset;
	}
	return InvalidOffsetNumber;
}

/* The same on the leaf, from where the key before was. */
static OffsetNumber
find_same(const Lookup *lookup)
{
	const BTInsertStateData *search = &lookup->search;
	Page		page = leaf_page(lookup);

	return lookup_same(page, search->bounds_valid ? search->low :
					   P_FIRSTDATAKEY(BTPageGetOpaque(page)), lookup->tuple);
}

/* Whether an item has them. */
static inline bool
has_same_bytes(const Lookup *lookup, OffsetNumber offset)
{
	Page		page = leaf_page(lookup);

	return leaf_search_same_images(lookup->index, lookup->tuple, (IndexTuple)
								   PageGetItem(page, PageGetItemId(page, offset)),
								   lookup->key->keysz);
}

/* Tells a row of the item that stands, if there is one: then no other does. */
static bool
tell_standing(Lookup *lookup, RowId row, OffsetNumber offset)
{
	ItemId		id = PageGetItemId(leaf_page(lookup), offset);
	IndexTuple	item = (IndexTuple) PageGetItem(leaf_page(lookup), id);

	if (ItemIdIsDead(id) || BTreeTupleIsPosting(item) ||
		!VM_ALL_VISIBLE(lookup->heap, ItemPointerGetBlockNumber(&item->t_tid), &lookup->map))
		return false;
	lookup->sink.entry(lookup->sink.arg, row, &item->t_tid, true);
	return true;
}

/*
 * Tells the entries of the current key, whose bytes an item has, with no
 * comparison where a row is certain to exist, or two.
 */
static void
tell_equal(Lookup *lookup, RowId row, OffsetNumber offset)
{
	BTInsertState search = &lookup->search;
	OffsetNumber first = P_FIRSTDATAKEY(BTPageGetOpaque(leaf_page(lookup)));

	search->bounds_valid = true;
	search->low = offset;
	take_place(lookup, offset, true);
	if (tell_standing(lookup, row, offset))
		return;
	while (offset > first && is_equal(lookup, offset - 1))
		offset--;
	tell_from(lookup, row, offset);
}

/* The same if its bytes are on the leaf. */
static bool
tell_same(Lookup *lookup, RowId row)
{
	OffsetNumber offset = find_same(lookup);

	luck_note(&lookup->same, offset != InvalidOffsetNumber);
	if (offset == InvalidOffsetNumber)
		return false;
	tell_equal(lookup, row, offset);
	return true;
}

/* ---- guessing ---- */

static inline int
compare_item(const Lookup *lookup, OffsetNumber offset)
{
	return _bt_compare(lookup->index, lookup->key, leaf_page(lookup), offset);
}

/*
 * Whether the current key is above the items before offset and below the one there, or equal to
 * none, as was guessed.  from: where the search began.
 */
static inline bool
is_right(const Lookup *lookup, OffsetNumber from, OffsetNumber offset)
{
	return (offset > PageGetMaxOffsetNumber(leaf_page(lookup)) ||
			compare_item(lookup, offset) < 0) &&
		(offset == from || compare_item(lookup, offset - 1) > 0);
}

/*
 * Tells the entries of the current key if a guess says where they are, or that there are none.
 * is_its: it is known to belong on this leaf.
 */
static bool
tell_guessed(Lookup *lookup, RowId row, bool is_its)
{
	BTInsertState search = &lookup->search;
	Page		page = leaf_page(lookup);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber from = search->bounds_valid ? search->low :
		P_FIRSTDATAKEY(BTPageGetOpaque(page));
	OffsetNumber offset = leaf_guess(lookup->shape, page, from, lookup->tuple);
	bool		equal = offset <= last && has_same_bytes(lookup, offset);

	/* it may belong on the next one */
	if (offset > last && !is_its)
		return false;
	if (!equal && !is_right(lookup, from, offset))
	{
		luck_note(&lookup->guess, false);
		return false;
	}
	luck_note(&lookup->guess, true);
	luck_note(&lookup->same, equal);
	if (equal)
	{
		tell_equal(lookup, row, offset);
		return true;
	}
	search->bounds_valid = true;
	search->low = search->stricthigh = offset;
	if (offset <= last)
		take_place(lookup, offset, false);
	else
		tell_from(lookup, row, offset);
	return true;
}

/* ---- a key ---- */

/* Tells the entries of the current key if they are found in a way that has helped lately. */
static bool
tell_quickly(Lookup *lookup, RowId row, bool is_its)
{
	/* where all keys are there, looking for their bytes is faster still */
	if (lookup->guesses && lookup->same.hits < LUCK_MAX_HITS && luck_tries(&lookup->guess))
		return tell_guessed(lookup, row, is_its);
	return luck_tries(&lookup->same) && tell_same(lookup, row);
}

static void
look_up(Lookup *lookup, RowId row)
{
	Buffer		before = lookup->search.buf;
	bool		tried = BufferIsValid(before) && lookup->stays;

	if (tried && tell_quickly(lookup, row, false))
		return;
	find_leaf(lookup);
	if (!BufferIsValid(lookup->search.buf))
		return;
	lookup->stays = lookup->search.buf == before;
	if ((lookup->stays && tried) || !tell_quickly(lookup, row, true))
		tell_entries(lookup, row);
}

/* ---- the sink ---- */

static void
take_key(void *arg, const char *image, Size size, bool equal)
{
	Lookup	   *lookup = arg;

	if (equal)
		return;
	lookup->tuple = shape_tuple(lookup->shape, image);
	(void) leaf_search_set(lookup->index, lookup->key, lookup->tuple);
	lookup->begun = false;
}

static void
take_rows(void *arg, const RowId *rows, uint32 n)
{
	Lookup	   *lookup = arg;

	for (uint32 i = 0; i < n; i++)
	{
		bool		first = !lookup->begun;

		lookup->begun = true;
		if (first)
		{
			lookup->place.block = InvalidBlockNumber;
			look_up(lookup, rows[i]);
			if (lookup->sink.place != NULL)
				lookup->sink.place(lookup->sink.arg, rows[i], &lookup->place);
		}
		lookup->sink.row(lookup->sink.arg, rows[i], first);
	}
}

static void
tell_ahead(void *arg, RowId row)
{
	const Lookup *lookup = arg;

	lookup->sink.ahead(lookup->sink.arg, row);
}

Lookup *
lookup_open(Relation heap, Relation index, KeyShape *shape, const LookupSink *sink)
{
	Lookup	   *lookup = palloc0(sizeof(Lookup));

	lookup->heap = heap;
	lookup->index = index;
	lookup->shape = shape;
	lookup->sink = *sink;
	lookup->key = leaf_search_key(index);
	lookup->bytewise = leaf_search_is_bytewise(index, lookup->key->allequalimage);
	lookup->guesses = leaf_guess_serves(shape);
	lookup->search.itup_key = lookup->key;
	lookup->search.buf = InvalidBuffer;
	lookup->right = InvalidBlockNumber;
	lookup->map = InvalidBuffer;
	return lookup;
}

KeySink
lookup_keys(Lookup *lookup)
{
	return (KeySink) {
		.key = take_key,
		.rows = take_rows,
		.ahead = lookup->sink.ahead == NULL ? NULL : tell_ahead,
		.arg = lookup
	};
}

void
lookup_end(Lookup *lookup)
{
	if (BufferIsValid(lookup->search.buf))
		_bt_relbuf(lookup->index, lookup->search.buf);
	if (BufferIsValid(lookup->map))
		ReleaseBuffer(lookup->map);
	lookup->search.buf = lookup->map = InvalidBuffer;
	lookup->steps = lookup->stays = false;
}
