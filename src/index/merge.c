/*
 * merge.c
 *		See merge.h.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/pg_type_d.h"
#include "index/merge.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* How much the last new key counts in what is expected of the next. */
#define GAP_WEIGHT 8

/* How many items to look through for the same bytes; how often that is tried in vain. */
#define LOOK_MOST 64
#define LUCK_MOST 256
#define LUCK_LEAST 32
#define TRY_EVERY 32

struct Merge
{
	Relation	heap;
	Relation	index;
	Shape	   *shape;
	Btree	   *btree;
	BlockNumber first_block;
	MemoryContext scratch;		/* for comparisons */
	bool		deduplicates;
	bool		bytewise;		/* the same key has the same bytes, but for odd ones */

	/* the old entries */
	Leaves	   *leaves;
	const LeafPage *page;		/* NULL: there are no more */
	int			at;				/* next item of the page */
	int			gap;			/* items between new keys, on average, times GAP_WEIGHT */
	IndexTuple	last;			/* of the page before */
	bool		has_last;

	/* an old key whose rows may be followed by more of them */
	IndexTuple	hand;
	bool		in_hand;

	/* looking for the bytes of the new key */
	int			luck;			/* how often they were found, of LUCK_MOST times */
	uint32		tries;

	/* the new key */
	IndexTuple	key;
	bool		exact;			/* what is equal to it has the same bytes, unless that is odd */
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
};

/* ---- comparisons ---- */

/* An old entry with the new key: below, equal or above 0. */
static int
compare_key(Merge *merge, IndexTuple item)
{
	Shape	   *shape = merge->shape;
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

static int
compare_items(Merge *merge, IndexTuple a, IndexTuple b)
{
	Shape	   *shape = merge->shape;
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

/* What index_form_tuple says of a tuple's attributes. */
static inline unsigned short
key_flags(IndexTuple item)
{
	return item->t_info & (INDEX_NULL_MASK | INDEX_VAR_MASK);
}

/* Whether two entries have the same key, byte by byte. */
static inline bool
is_same(IndexTuple a, IndexTuple b)
{
	Size		size = leaf_key_size(a);

	return size == leaf_key_size(b) && key_flags(a) == key_flags(b) &&
		memcmp(a + 1, b + 1, size - sizeof(IndexTupleData)) == 0;
}

/* Whether a value could have been written with other bytes. */
static inline bool
has_other_forms(const ShapeColumn *column, const struct varlena *value)
{
	if (VARATT_IS_COMPRESSED(value))
		return true;
	/* headers are as the column's storage was when the entry was made */
	return column->can_be_short ?
		!VARATT_IS_SHORT(value) && VARATT_CAN_MAKE_SHORT(value) : VARATT_IS_SHORT(value);
}

/* Whether an entry with the same key may have other bytes. */
static bool
is_odd(const Merge *merge, IndexTuple item)
{
	const Shape *shape = merge->shape;

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

/* Whether keys that are the same always have the same bytes, but for odd ones. */
static bool
is_bytewise(Relation index, bool deduplicates)
{
	/* not all that says so does: blanks at the end count for nothing */
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		if (index->rd_opcintype[i] == BPCHAROID)
			return false;
	return deduplicates;
}

/* An item that is not below the new key is above it, known without a comparison. */
static inline bool
is_above(const Merge *merge, IndexTuple item)
{
	return merge->exact && !is_same(merge->key, item) && !is_odd(merge, item);
}

/* ---- the old entries ---- */

/* The page in hand must fit to the one before. */
static void
check_order(Merge *merge)
{
	const LeafPage *page = merge->page;
	IndexTuple	last = page->items[page->n - 1];

	if ((merge->has_last && compare_items(merge, merge->last, page->items[0]) > 0) ||
		compare_items(merge, page->items[0], last) > 0)
		leaves_raise_corrupted(merge->leaves, "has items out of order");
	memcpy(merge->last, last, IndexTupleSize(last));
	merge->has_last = true;
}

/* False: there are no more entries. */
static bool
has_item(Merge *merge)
{
	if (merge->page == NULL)
		return false;
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

static void
end_hand(Merge *merge)
{
	if (merge->in_hand)
		btree_end_key(merge->btree);
	merge->in_hand = false;
}

/* The new rows are behind all that have entries. */
static inline void
check_rows(const Merge *merge, const ItemPointerData *rows, int n)
{
	if (unlikely(ItemPointerGetBlockNumberNoCheck(&rows[n - 1]) >= merge->first_block))
		leaves_raise_corrupted(merge->leaves, "has an entry for a row that was not there");
}

static void
put_in_hand(Merge *merge, IndexTuple item)
{
	int			n;
	const ItemPointerData *rows = leaf_rows(item, &n);

	check_rows(merge, rows, n);
	if (!merge->in_hand || !is_same(merge->hand, item))
	{
		Size		size = leaf_key_size(item);

		end_hand(merge);
		memcpy(merge->hand, item, size);
		merge->hand->t_info = key_flags(item) | size;
		btree_key(merge->btree, merge->hand);
		merge->in_hand = true;
	}
	btree_tids(merge->btree, rows, n);
}

/* Whether an item is as the new page will have it, whatever follows it there. */
static inline bool
stands_alone(const Merge *merge, int i)
{
	IndexTuple *items = (IndexTuple *) merge->page->items;

	if (merge->in_hand && is_same(merge->hand, items[i]))
		return false;
	if (!merge->deduplicates)
		return !BTreeTupleIsPosting(items[i]);
	return i + 1 < merge->page->n && !is_same(items[i], items[i + 1]) &&
		IndexTupleSize(items[i]) <= BTREE_POSTING_MOST;
}

/* The items of the page before end. */
static void
put_items(Merge *merge, int end)
{
	for (; merge->at < end; merge->at++)
	{
		IndexTuple	item = merge->page->items[merge->at];
		int			n;
		const ItemPointerData *rows;

		if (!stands_alone(merge, merge->at))
		{
			put_in_hand(merge, item);
			continue;
		}
		end_hand(merge);
		rows = leaf_rows(item, &n);
		check_rows(merge, rows, n);
		btree_item(merge->btree, item, n);
	}
}

/* ---- where a new key belongs ---- */

/* The item of the page with the bytes of the new key, if it is near; else -1. */
static int
find_same(Merge *merge)
{
	IndexTuple *items = (IndexTuple *) merge->page->items;
	int			look = Min(2 * merge->gap / GAP_WEIGHT + 8, LOOK_MOST);
	int			end = Min(merge->at + look, merge->page->n);

	if (merge->luck < LUCK_LEAST && merge->tries++ % TRY_EVERY != 0)
		return -1;
	for (int i = merge->at; i < end; i++)
		if (is_same(items[i], merge->key))
		{
			/* one before may have the same key in another form */
			if (i > merge->at && is_odd(merge, items[i - 1]))
				return -1;
			merge->luck += (LUCK_MOST - merge->luck) / 8;
			return i;
		}
	merge->luck -= merge->luck / 8;
	return -1;
}

/*
 * An item of the page before which all are below the new key, and which is not.  Where new keys are far
 * apart, it is mostly not on this page.
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

/* A row of an entry that is alive, or may come to be; 0: there is none. */
static RowId
find_alive(const Merge *merge, IndexTuple item)
{
	int			n;
	const ItemPointerData *rows = leaf_rows(item, &n);
	SnapshotData dirty;

	InitDirtySnapshot(dirty);
	for (int i = 0; i < n; i++)
	{
		ItemPointerData tid = rows[i];

		if (table_index_fetch_tuple_check(merge->heap, &tid, &dirty, NULL))
			return row_id(&rows[i], true);
	}
	return 0;
}

/* Puts the entries with the new key; false: there is none. */
static bool
put_equals(Merge *merge, RowId *alive)
{
	bool		any = false;

	for (; has_item(merge); merge->at++)
	{
		IndexTuple	item = merge->page->items[merge->at];

		if (!(any && merge->in_hand && is_same(merge->hand, item)))
		{
			int			order = is_above(merge, item) ? 1 : compare_key(merge, item);

			if (order < 0)
				leaves_raise_corrupted(merge->leaves, "has items out of order");
			if (order > 0)
				break;
		}
		if (alive != NULL && *alive == 0)
			*alive = find_alive(merge, item);
		put_in_hand(merge, item);
		any = true;
	}
	return any;
}

bool
merge_key(Merge *merge, const char *image, IndexTuple tuple, RowId *alive)
{
	int			skipped = 0;
	bool		same;

	shape_values(merge->shape, image, merge->values, merge->isnull);
	merge->key = tuple;
	merge->exact = merge->bytewise && !is_odd(merge, tuple);
	merge->in_hand = false;
	while (has_item(merge))
	{
		int			place = find_place(merge);

		skipped += place - merge->at;
		put_items(merge, place);
		if (place < merge->page->n)
			break;
	}
	merge->gap += skipped - merge->gap / GAP_WEIGHT;
	same = put_equals(merge, alive) && merge->deduplicates &&
		is_same(merge->hand, tuple);
	if (!same)
		end_hand(merge);
	return same;
}

Merge *
merge_open(Relation heap, Relation index, Shape *shape, Btree *btree,
		   RelFileLocator file, BlockNumber first_block)
{
	Merge	   *merge = palloc0(sizeof(Merge));

	merge->heap = heap;
	merge->index = index;
	merge->shape = shape;
	merge->btree = btree;
	merge->first_block = first_block;
	merge->deduplicates = btree_deduplicates(btree);
	merge->bytewise = is_bytewise(index, merge->deduplicates);
	merge->luck = LUCK_MOST;
	merge->scratch = AllocSetContextCreate(CurrentMemoryContext, "merge",
										   ALLOCSET_DEFAULT_SIZES);
	merge->last = palloc(BLCKSZ);
	merge->hand = palloc(BLCKSZ);
	merge->leaves = leaves_open(index, file);
	merge->page = leaves_next(merge->leaves);
	if (merge->page != NULL)
		check_order(merge);
	return merge;
}

void
merge_close(Merge *merge)
{
	merge->in_hand = false;
	while (has_item(merge))
		put_items(merge, merge->page->n);
	end_hand(merge);
	leaves_close(merge->leaves);
	MemoryContextDelete(merge->scratch);
	pfree(merge->last);
	pfree(merge->hand);
	pfree(merge);
}
