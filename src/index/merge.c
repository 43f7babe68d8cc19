/*
 * merge.c
 *		See merge.h.
 *
 * Two streams of entries become one:
 *
 *		old leaves (leaves.h)   a:1,2   b:7    d:3          by key, then TID
 *		new keys (presort.h)            b      c:20  e:21   by key; rows follow, by TID
 *		                        -----------------------
 *		new btree (btree.h)     a:1,2   b:7,22 c:20  d:3 e:21
 *
 * For each new key merge_key does three steps:
 *	1. find_place: the first old item that is not below the key.  Items before it are put.
 *	2. put_equals: items with an equal key are put, and whether one of their rows is alive is
 *	   looked up where the key must be unique (_bt_check_unique asks the same).
 *	3. The caller puts the new rows: behind the old ones of the key, as their TIDs are greater.
 *
 * An old item is put in one of two ways:
 *	- as it is (btree_item), where REINDEX would make the same: no neighbour has the same key, or
 *	  items with the same key aren't joined;
 *	- as the current key with its TIDs (put_rows), which btree.c makes posting lists of.
 *
 *		                   current key open in btree.c?
 *		   put as it is    no:  an item must not come between a key and its TIDs
 *		   put_rows        yes: until another key comes, or end_current
 *
 * Equal is what the operator class says; the same are keys with the same bytes (is_same).  Only
 * keys that are the same share a posting list.  Where equal keys always are the same, but for
 * values stored in an unusual form (is_odd), comparing bytes spares most comparisons.
 *
 * Invariants:
 *	- what is put never goes back: at and page move forward only;
 *	- all old rows are before first_block, all new ones behind, so TIDs ascend within a key;
 *	- each old item is put once, and none is left when merge_close returns.
 * The old file may break them: then leaves_raise_corrupted ends the merge, and the new file goes.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "index/leaf_search.h"
#include "index/merge.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* The average distance between new keys moves by this part with each of them. */
#define GAP_WEIGHT 8

/* How many items are searched for the same bytes. */
#define MAX_SEARCH 64

/*
 * How often that search succeeds, as an average of 0 to MAX_HITS.  Below MIN_HITS only every
 * TRY_EVERYth key is searched for in that way.
 */
#define MAX_HITS 256
#define MIN_HITS 32
#define TRY_EVERY 32

struct Merge
{
	Relation	heap;
	Relation	index;
	KeyShape	   *shape;
	Btree	   *btree;
	BlockNumber first_block;	/* of the new rows */
	MemoryContext scratch;		/* for comparisons; reset with each page */
	Buffer		map;			/* of the visibility map, pinned, or InvalidBuffer */
	bool		deduplicates;	/* the new btree's rows share entries */
	bool		bytewise;		/* equal keys have the same bytes, but for odd ones */

	/* the old entries */
	Leaves	   *leaves;
	const LeafPage *page;		/* NULL: there are no more */
	int			at;				/* next item of the page */
	int			gap;			/* items between new keys, on average, times GAP_WEIGHT */
	IndexTuple	last;			/* the last item of the page before: a copy */
	bool		has_last;

	/* an old key that btree.c has as the current one: more rows may follow */
	IndexTuple	current;
	bool		has_current;

	/* searching for the bytes of the new key */
	int			hits;			/* average of successes, up to MAX_HITS */
	uint32		tries;			/* keys for which that was not worth it */

	/* the new key */
	IndexTuple	key;
	bool		exact;			/* items equal to it have the same bytes, unless they are odd */
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
};

/* ---- comparisons ---- */

/* An old entry with the new key: below, equal or above 0. */
static int
compare_key(Merge *merge, IndexTuple item)
{
	KeyShape	   *shape = merge->shape;
	MemoryContext old = MemoryContextSwitchTo(merge->scratch);
	int			order = 0;

	for (int i = 0; i < shape->nkeys && order == 0; i++)
	{
		bool		isnull;
		Datum		value = index_getattr(item, i + 1, shape->desc, &isnull);

		order = ApplySortComparator(value, isnull, merge->values[i],
									merge->isnull[i], &shape->columns[i].ssup);
	}
	MemoryContextSwitchTo(old);
	return order;
}

/* The same for two old entries: to see whether the old file is in order. */
static int
compare_items(Merge *merge, IndexTuple a, IndexTuple b)
{
	KeyShape	   *shape = merge->shape;
	MemoryContext old = MemoryContextSwitchTo(merge->scratch);
	int			order = 0;

	for (int i = 0; i < shape->nkeys && order == 0; i++)
	{
		bool		null_a;
		bool		null_b;
		Datum		value_a = index_getattr(a, i + 1, shape->desc, &null_a);
		Datum		value_b = index_getattr(b, i + 1, shape->desc, &null_b);

		order = ApplySortComparator(value_a, null_a, value_b, null_b,
									&shape->columns[i].ssup);
	}
	MemoryContextSwitchTo(old);
	return order;
}

/* The flags that index_form_tuple sets: whether there are nulls and columns of variable width. */
static inline unsigned short
key_flags(IndexTuple item)
{
	return item->t_info & (INDEX_NULL_MASK | INDEX_VAR_MASK);
}

/*
 * Whether two entries have the same key, byte by byte: null bitmap, columns and padding, which
 * index_form_tuple has zeroed.  TIDs are not part of it.
 */
static inline bool
is_same(IndexTuple a, IndexTuple b)
{
	Size		size = leaf_key_size(a);

	Assert(size >= sizeof(IndexTupleData) && size == MAXALIGN(size));
	return size == leaf_key_size(b) && key_flags(a) == key_flags(b) &&
		memcmp(a + 1, b + 1, size - sizeof(IndexTupleData)) == 0;
}

/*
 * Whether a value may have other bytes in another entry: it is compressed, or has not the header,
 * short or not, that it would get now.
 */
static inline bool
has_other_forms(const ShapeColumn *column, const struct varlena *value)
{
	if (VARATT_IS_COMPRESSED(value))
		return true;
	/* headers are as the column's storage was when the entry was made */
	return column->can_be_short ?
		!VARATT_IS_SHORT(value) && VARATT_CAN_MAKE_SHORT(value) : VARATT_IS_SHORT(value);
}

/* Whether an entry with an equal key may have other bytes. */
static bool
is_odd(const Merge *merge, IndexTuple item)
{
	const KeyShape *shape = merge->shape;

	for (int i = 0; i < shape->nkeys; i++)
	{
		bool		isnull;
		Datum		value;

		if (shape->columns[i].length != -1)
			continue;
		value = index_getattr(item, i + 1, shape->desc, &isnull);
		if (!isnull && has_other_forms(&shape->columns[i],
									   (struct varlena *) DatumGetPointer(value)))
			return true;
	}
	return false;
}

/*
 * Whether an item that is not below the new key is above it, as far as bytes tell.  False: a
 * comparison must say so.
 */
static inline bool
is_above(const Merge *merge, IndexTuple item)
{
	return merge->exact && !is_same(merge->key, item) && !is_odd(merge, item);
}

/* ---- the old entries ---- */

/*
 * Whether the current page may follow the one before.  A page is binary-searched, so its ends are
 * compared; what is not in order between them would show as new keys that come out of order, which
 * put_equals sees, or stay as wrong as it is in the old file.
 */
static void
check_order(Merge *merge)
{
	const LeafPage *page = merge->page;
	IndexTuple	last = page->items[page->n - 1];

	Assert(page->n > 0 && merge->at == 0);
	if ((merge->has_last && compare_items(merge, merge->last, page->items[0]) > 0) ||
		compare_items(merge, page->items[0], last) > 0)
		leaves_raise_corrupted(merge->leaves, "has items out of order");
	memcpy(merge->last, last, IndexTupleSize(last));
	merge->has_last = true;
}

/* Moves on to the next page if all items of the current one are put.  False: there is none. */
static bool
has_item(Merge *merge)
{
	if (merge->page == NULL)
		return false;
	Assert(merge->at <= merge->page->n);
	if (merge->at < merge->page->n)
		return true;
	MemoryContextReset(merge->scratch);
	merge->page = leaves_next(merge->leaves);
	merge->at = 0;
	if (merge->page == NULL)
		return false;
	check_order(merge);
	return true;
}

/* ---- into the new pages ---- */

/* No more rows of the old key come: what btree.c has of it becomes items. */
static void
end_current(Merge *merge)
{
	if (merge->has_current)
		btree_end_key(merge->btree);
	merge->has_current = false;
}

/* Old rows come before the new ones: of rows in the order of TIDs, the last says it for all. */
static inline void
check_rows(const Merge *merge, const ItemPointerData *rows, int n)
{
	Assert(n > 0);
	Assert(n == 1 || ItemPointerCompare(unconstify(ItemPointerData *, &rows[0]),
										unconstify(ItemPointerData *, &rows[n - 1])) < 0);
	if (unlikely(ItemPointerGetBlockNumberNoCheck(&rows[n - 1]) >= merge->first_block))
		leaves_raise_corrupted(merge->leaves, "has an entry for a row that was not there");
}

/* Puts an item's rows: those of the current key, if it is the same, or else of the next one. */
static void
put_rows(Merge *merge, IndexTuple item)
{
	int			n;
	const ItemPointerData *rows = leaf_rows(item, &n);

	check_rows(merge, rows, n);
	if (!merge->has_current || !is_same(merge->current, item))
	{
		Size		size = leaf_key_size(item);

		end_current(merge);
		memcpy(merge->current, item, size);
		/* no posting list any more, or a plain tuple as before */
		merge->current->t_info = key_flags(item) | size;
		Assert(IndexTupleSize(merge->current) == size && is_same(merge->current, item));
		btree_key(merge->btree, merge->current);
		merge->has_current = true;
	}
	btree_tids(merge->btree, rows, n);
}

/*
 * Whether an item can be put as it is: no other one has the same key, as far as this page tells
 * (its last item's neighbour is not known yet), and a posting list is no longer than new ones are.
 * Without deduplication only posting lists, from when the index had it, are taken apart.
 */
static inline bool
can_be_copied(const Merge *merge, int i)
{
	IndexTuple *items = (IndexTuple *) merge->page->items;

	Assert(i < merge->page->n);
	if (merge->has_current && is_same(merge->current, items[i]))
		return false;
	if (!merge->deduplicates)
		return !BTreeTupleIsPosting(items[i]);
	return i + 1 < merge->page->n && !is_same(items[i], items[i + 1]) &&
		IndexTupleSize(items[i]) <= BTREE_MAX_POSTING_SIZE;
}

/* Puts the current page's items before end. */
static void
put_items(Merge *merge, int end)
{
	Assert(merge->at <= end && end <= merge->page->n);
	for (; merge->at < end; merge->at++)
	{
		IndexTuple	item = merge->page->items[merge->at];
		int			n;
		const ItemPointerData *rows;

		if (!can_be_copied(merge, merge->at))
		{
			put_rows(merge, item);
			continue;
		}
		end_current(merge);
		rows = leaf_rows(item, &n);
		check_rows(merge, rows, n);
		btree_item(merge->btree, item, n);
	}
}

/* ---- where a new key belongs ---- */

/*
 * The first item of the page with the bytes of the new key, if it is near; else -1.  About as many
 * items are searched as lie between two new keys; comparing bytes is so cheap that it pays even if
 * it fails three times of four.
 */
static int
find_same(Merge *merge)
{
	IndexTuple *items = (IndexTuple *) merge->page->items;
	int			search = Min(2 * merge->gap / GAP_WEIGHT + 8, MAX_SEARCH);
	int			end = Min(merge->at + search, merge->page->n);

	Assert(merge->hits >= 0 && merge->hits <= MAX_HITS);
	if (merge->hits < MIN_HITS && merge->tries++ % TRY_EVERY != 0)
		return -1;
	for (int i = merge->at; i < end; i++)
		if (is_same(items[i], merge->key))
		{
			/* one before may have the same key in another form */
			if (i > merge->at && is_odd(merge, items[i - 1]))
				return -1;
			merge->hits += (MAX_HITS - merge->hits) / 8;
			return i;
		}
	merge->hits -= merge->hits / 8;
	return -1;
}

/*
 * The first item of the page that is not below the new key; the page's end, if all are.  From the
 * current item on in steps that double, then by bisection of the last step.  Where new keys are
 * farther apart than the page's items, its last one is asked first.
 *
 * Items before low are below the key, those from high on are not, or not known yet.
 */
static int
find_place(Merge *merge)
{
	IndexTuple *items = (IndexTuple *) merge->page->items;
	int			low = merge->at;
	int			high = merge->at;
	int			end = merge->page->n;

	if (merge->exact)
	{
		int			same = find_same(merge);

		if (same >= 0)
			return same;
	}
	if (merge->gap / GAP_WEIGHT > end - low && compare_key(merge, items[end - 1]) < 0)
		return end;
	for (int step = 1; high < end && compare_key(merge, items[high]) < 0; step *= 2)
	{
		low = high + 1;
		high += step;
	}
	high = Min(high, end);
	Assert(low >= merge->at && low <= high);
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (compare_key(merge, items[middle]) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * A row of an entry that is alive or may come to be (its insertion or deletion is in progress);
 * 0: there is none.  An entry leads to a HOT chain, of which any version counts.
 */
static RowId
find_alive(Merge *merge, IndexTuple item)
{
	int			n;
	const ItemPointerData *rows = leaf_rows(item, &n);
	SnapshotData dirty;

	InitDirtySnapshot(dirty);
	for (int i = 0; i < n; i++)
	{
		ItemPointerData tid = rows[i];

		/* nobody deletes or removes rows meanwhile: the table is locked */
		if (VM_ALL_VISIBLE(merge->heap, ItemPointerGetBlockNumber(&tid), &merge->map) ||
			table_index_fetch_tuple_check(merge->heap, &tid, &dirty, NULL))
			return row_id(&rows[i], true);
	}
	return 0;
}

/*
 * Puts the entries that are equal to the new key; false: there is none.  They need not be the
 * same: 1.0 and 1.00 are two keys, with rows in the order of their TIDs.  *alive, if wanted: a
 * live row of theirs.
 */
static bool
put_equals(Merge *merge, RowId *alive)
{
	bool		any = false;

	for (; has_item(merge); merge->at++)
	{
		IndexTuple	item = merge->page->items[merge->at];

		if (!(any && merge->has_current && is_same(merge->current, item)))
		{
			int			order = is_above(merge, item) ? 1 : compare_key(merge, item);

			if (order < 0)
				leaves_raise_corrupted(merge->leaves, "has items out of order");
			if (order > 0)
				break;
		}
		if (alive != NULL && *alive == 0)
			*alive = find_alive(merge, item);
		put_rows(merge, item);
		any = true;
	}
	return any;
}

bool
merge_key(Merge *merge, const char *image, IndexTuple tuple, RowId *alive)
{
	int			skipped = 0;
	bool		same;

	Assert(!BTreeTupleIsPivot(tuple) && !BTreeTupleIsPosting(tuple));
	shape_values(merge->shape, image, merge->values, merge->isnull);
	merge->key = tuple;
	merge->exact = merge->bytewise && !is_odd(merge, tuple);
	/* the caller has ended the key before, whether it was old or new */
	merge->has_current = false;
	while (has_item(merge))
	{
		int			place = find_place(merge);

		Assert(place >= merge->at && place <= merge->page->n);
		skipped += place - merge->at;
		put_items(merge, place);
		if (place < merge->page->n)
			break;
	}
	merge->gap += skipped - merge->gap / GAP_WEIGHT;
	same = put_equals(merge, alive) && merge->deduplicates &&
		is_same(merge->current, tuple);
	if (!same)
		end_current(merge);
	/* true: the new rows go behind the old ones that btree.c has of the current key */
	Assert(!same || merge->has_current);
	return same;
}

Merge *
merge_open(Relation heap, Relation index, KeyShape *shape, Btree *btree,
		   RelFileLocator file, BlockNumber first_block)
{
	Merge	   *merge = palloc0(sizeof(Merge));

	merge->heap = heap;
	merge->index = index;
	merge->shape = shape;
	merge->btree = btree;
	merge->first_block = first_block;
	merge->map = InvalidBuffer;
	Assert(BlockNumberIsValid(first_block));
	merge->deduplicates = btree_deduplicates(btree);
	/* but for odd ones */
	merge->bytewise = leaf_search_is_bytewise(index, merge->deduplicates);
	merge->hits = MAX_HITS;
	merge->scratch = AllocSetContextCreate(CurrentMemoryContext, "merge",
										   ALLOCSET_DEFAULT_SIZES);
	merge->last = palloc(BLCKSZ);
	merge->current = palloc(BLCKSZ);
	merge->leaves = leaves_open(index, file);
	merge->page = leaves_next(merge->leaves);
	if (merge->page != NULL)
		check_order(merge);
	return merge;
}

void
merge_close(Merge *merge)
{
	merge->has_current = false;
	while (has_item(merge))
		put_items(merge, merge->page->n);
	end_current(merge);
	Assert(merge->page == NULL);
	leaves_close(merge->leaves);
	if (BufferIsValid(merge->map))
		ReleaseBuffer(merge->map);
	MemoryContextDelete(merge->scratch);
	pfree(merge->last);
	pfree(merge->current);
	pfree(merge);
}
