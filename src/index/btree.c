/*
 * btree.c
 *		See btree.h.
 *
 * This does the work of nbtsort.c's _bt_load, _bt_buildadd and _bt_uppershutdown, and the pages
 * are the same but for their LSNs and what is left in their free space (sql/index_pages.sql).
 * _bt_buildadd puts each item on the page, and takes the last one off again when the page turns
 * out to be full.  Here each level keeps its newest item back, pending, until the next one comes:
 * then it is clear whether the pending item is the page's last or the next page's first.  So
 * nothing is ever removed from a page.
 *
 * A leaf with items A, B and C while D is pending:
 *
 *		+----------------+------------+---------+---------+---------+
 *		| PageHeaderData | lp1 unused | lp2 > A | lp3 > B | lp4 > C |
 *		+----------------+------------+---------+---------+---------+
 *		|                                                           ^ pd_lower
 *		|                       (free space)
 *		|                    v pd_upper
 *		+--------------------+-----+-----+-----+--------------------+
 *		|                    |  C  |  B  |  A  |  BTPageOpaqueData  |
 *		+--------------------+-----+-----+-----+--------------------+
 *
 * lp1 is reserved for the high key.  If D begins the next page, a truncated copy of D is put
 * below C and lp1 made to point to it: it is above C and not above D.  If no further item comes,
 * the page is its level's rightmost, which has no high key: lp1 is removed and the line pointers
 * move down by one (P_FIRSTDATAKEY is then P_HIKEY).
 *
 * An internal page looks the same.  Its items are pivot tuples, one for each child: the child's
 * block number (the downlink) and the child's lower bound, which is the high key of the child's
 * left sibling.  The first item of each internal page has no attributes ("minus infinity"), as
 * the page's own lower bound is known above it.  Its high key is the pending pivot, untruncated.
 *
 * A posting list tuple is for several rows with the same key, by TID:
 *
 *		+-------+--------+-------------+-----+-----+-----+---------+
 *		| t_tid | t_info | key columns | TID | TID | TID | padding |
 *		+-------+--------+-------------+-----+-----+-----+---------+
 *		  |   |                        ^
 *		  |   number of TIDs, flag BT_IS_POSTING
 *		  offset of the first TID (in place of a block number), MAXALIGNed
 *
 * Block numbers are given when a page is begun, so a level's pages ascend from left to right but
 * are interleaved with those of other levels; the meta page, block 0, is written last.
 *
 * Invariants, where Assert can see them:
 *	- items of a level come in order; equal ones by TID, no TID twice;
 *	- a page has at least one data item before it is finished, and space for its high key, which
 *	  may be MAXALIGN(sizeof(ItemPointerData)) larger than the item that it is made from;
 *	- only the leftmost page of a level has a lower bound without attributes, only the rightmost
 *	  one no high key;
 *	- what is on a leaf is no pivot, what is on an internal page is one.
 *
 * A crash at any point leaves a file that no catalog row points to (the transaction has not
 * committed), or pages that replay makes again.  A file without its meta page is refused by
 * _bt_getmeta, so an index that was not closed can't be read by mistake.
 *
 * Ranges.  When several processes build one btree, each makes the leaves of a range of keys.
 * Their block numbers come from a counter in shared memory, several at a time:
 *
 *		process 1:  range 0   blocks 1 2 3 4 . . . . 9
 *		process 2:  range 1   blocks . . . . 5 6 7 8 . 10
 *
 * A right link so needs the number of a page that isn't made yet.  Leaves therefore wait in
 * memory (Range.pages) until their successors' numbers are known.  The first and the last leaf of
 * a range have a neighbour in another range: these two go, as whole pages, into the range's list,
 * with an entry for each leaf between them.  One process then reads all lists in the order of the
 * ranges, connects the ends, forms the high keys of the ranges' last leaves from the bound
 * between both ranges, and makes the levels above.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "index/btree.h"
#include "index/bulk.h"
#include "index/failed_row.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/progress.h"

#define MAX_POSTING_TIDS (BTREE_MAX_POSTING_SIZE / sizeof(ItemPointerData))

typedef struct Level
{
	uint32		number;			/* btpo_level; 0: leaves */
	Page		page;			/* being filled */
	BlockNumber block;			/* its number; P_NONE: a range's leaf, not known yet */
	int			nitems;			/* data items on the page, without the pending one */
	Size		free_wanted;	/* free space that the fill factor wants (btps_full) */
	IndexTuple	low;			/* the page's lower bound, for its parent (btps_lowkey) */
	struct Level *parent;		/* NULL: none yet */

	/* the newest item */
	IndexTuple	pending;		/* BLCKSZ bytes */
	Size		pending_size;		/* 0: there is none */
	Size		pending_posting;	/* the part that is a posting list (btps_lastextra) */
} Level;

/*
 * A leaf in the list of a range.  Its high key follows, if it has one; then the page, if that has
 * not been written to the index.
 */
typedef struct LeafEntry
{
	BlockNumber block;
	uint32		high_size;		/* 0: the range's last leaf, which has no high key yet */
	bool		has_page;
} LeafEntry;

/*
 * The leaves of a range that wait for their block numbers, from left to right.  Only the first of
 * them may have its number already: the page before needed it for its right link.
 */
typedef struct Range
{
	pg_atomic_uint32 *next_block;	/* of the whole btree, shared with other processes */
	BufFile    *list;			/* of LeafEntry */
	BlockNumber block;			/* pages[0]'s number; P_NONE: not known yet */
	BlockNumber before;			/* its left sibling; P_NONE: it is the range's first leaf */
	int			max_pages;
	int			npages;
	Page		pages[FLEXIBLE_ARRAY_MEMBER];
} Range;

struct Btree
{
	Relation	heap;
	Relation	index;
	BTScanInsert order;
	bool		deduplicate;
	BulkPages  *pages;
	BlockNumber nblocks;		/* the next page's number: the meta page's is taken */
	Level	   *leaves;			/* NULL: no row has come */
	double		nrows;
	double		reported;		/* of these, as progress */
	Range	   *range;			/* NULL: all leaves are this process's */

	/* the current key, and those of its TIDs that are not part of an item yet */
	IndexTuple	key;
	int			ntids;
	ItemPointerData tids[MAX_POSTING_TIDS];
};

/* ---- assertions ---- */

#ifdef USE_ASSERT_CHECKING

/*
 * A page that is about to be written: its line pointers, items and bounds are what the picture
 * above shows, without gaps.  is_last: it has no high key.
 */
static void
assert_page(const Btree *btree, const Level *level, Page page, bool is_last)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber first = is_last ? P_HIKEY : P_FIRSTKEY;
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(btree->index);
	Size		end = header->pd_special;

	Assert(header->pd_lower <= header->pd_upper);
	Assert(PageGetSpecialSize(page) == MAXALIGN(sizeof(BTPageOpaqueData)));
	Assert(opaque->btpo_level == level->number);
	Assert(P_ISLEAF(opaque) == (level->number == 0));
	Assert(max >= first);
	for (OffsetNumber i = first; i <= max; i++)
	{
		ItemId		id = PageGetItemId(page, i);
		IndexTuple	item = (IndexTuple) PageGetItem(page, id);

		Assert(ItemIdIsNormal(id) && ItemIdGetLength(id) == IndexTupleSize(item));
		/* each item lies right below the one before it */
		Assert(ItemIdGetOffset(id) + ItemIdGetLength(id) == end);
		end = ItemIdGetOffset(id);
		Assert(BTreeTupleIsPivot(item) == (level->number > 0));
		if (level->number > 0)
		{
			Assert((BTreeTupleGetNAtts(item, btree->index) == 0) == (i == first));
			Assert(BTreeTupleGetDownLink(item) != BTREE_METAPAGE);
		}
	}
	if (!is_last)
	{
		ItemId		id = PageGetItemId(page, P_HIKEY);
		IndexTuple	high = (IndexTuple) PageGetItem(page, id);

		Assert(ItemIdIsNormal(id) && ItemIdGetOffset(id) + ItemIdGetLength(id) == end);
		end = ItemIdGetOffset(id);
		Assert(BTreeTupleIsPivot(high));
		Assert(BTreeTupleGetNAtts(high, btree->index) > 0 &&
			   BTreeTupleGetNAtts(high, btree->index) <= nkeys);
	}
	Assert(end == header->pd_upper);
}

/*
 * Whether a leaf's item may follow another one.  Of keys with the same bytes the TIDs ascend; the
 * order of others is for whoever sorts them to prove (presort.h).
 */
static bool
item_follows(const Btree *btree, IndexTuple before, IndexTuple item)
{
	return _bt_keep_natts_fast(btree->index, before, item) <=
		IndexRelationGetNumberOfKeyAttributes(btree->index) ||
		ItemPointerCompare(BTreeTupleGetMaxHeapTID(before), BTreeTupleGetHeapTID(item)) < 0;
}

#else
#define assert_page(btree, level, page, is_last) ((void) 0)
#endif

/* ---- pages ---- */

/* An empty page of a level (_bt_blnewpage), with the line pointer of its high key reserved. */
static Page
begin_page(Btree *btree, uint32 level)
{
	Page		page = bulk_page(btree->pages);
	BTPageOpaque opaque;

	_bt_pageinit(page, BLCKSZ);
	opaque = BTPageGetOpaque(page);
	opaque->btpo_prev = opaque->btpo_next = P_NONE;
	opaque->btpo_level = level;
	opaque->btpo_flags = level == 0 ? BTP_LEAF : 0;
	opaque->btpo_cycleid = 0;
	((PageHeader) page)->pd_lower += sizeof(ItemIdData);
	return page;
}

/* The lower bound of a level's leftmost page: a pivot tuple without attributes. */
static IndexTuple
form_minus_infinity(void)
{
	IndexTuple	low = palloc0(sizeof(IndexTupleData));

	low->t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(low, 0, false);
	return low;
}

/* A level with its first page (_bt_pagestate). */
static Level *
begin_level(Btree *btree, uint32 number)
{
	Level	   *level = palloc0(sizeof(Level));

	level->number = number;
	level->page = begin_page(btree, number);
	level->block = btree->range == NULL ? btree->nblocks++ : P_NONE;
	level->free_wanted = number == 0 ? BTGetTargetPageFreeSpace(btree->index) :
		BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	level->pending = palloc(BLCKSZ);

	level->low = form_minus_infinity();
	return level;
}

/* Copies an item to the page, without a line pointer; returns its offset. */
static LocationIndex
copy_item(Page page, const void *item, Size size)
{
	PageHeader	header = (PageHeader) page;

	Assert(header->pd_lower + MAXALIGN(size) <= header->pd_upper);
	header->pd_upper -= MAXALIGN(size);
	memcpy((char *) page + header->pd_upper, item, size);
	memset((char *) page + header->pd_upper + size, 0, MAXALIGN(size) - size);
	return header->pd_upper;
}

/* Puts an item behind the others (_bt_sortaddtup). */
static void
append_item(Level *level, const void *item, Size size)
{
	PageHeader	header = (PageHeader) level->page;
	LocationIndex at = copy_item(level->page, item, size);

	/* the page's line pointers are those of its items, and the high key's */
	Assert(PageGetMaxOffsetNumber(level->page) == P_HIKEY + level->nitems);
	Assert(header->pd_lower + sizeof(ItemIdData) <= at);
	ItemIdSetNormal((ItemId) ((char *) header + header->pd_lower), at, size);
	header->pd_lower += sizeof(ItemIdData);
	level->nitems++;
}

/* Whether the pending item will be its page's first downlink, which has no attributes. */
static inline bool
pending_is_minus_infinity(const Level *level)
{
	return level->number > 0 && level->nitems == 0;
}

/* The pending item belongs on the current page. */
static void
place_pending(Level *level)
{
	Assert(level->pending_size > 0);
	if (pending_is_minus_infinity(level))
	{
		IndexTupleData downlink = *level->pending;

		downlink.t_info = sizeof(IndexTupleData);
		BTreeTupleSetNAtts(&downlink, 0, false);
		append_item(level, &downlink, sizeof(downlink));
	}
	else
		append_item(level, level->pending, level->pending_size);
	level->pending_size = 0;
}

/*
 * Whether the pending item begins the next page, now that an item of a size comes behind it:
 *	- where both don't fit, with the TID that a leaf's high key may have in addition; or
 *	- where with the pending item the page has less free space than the fill factor wants.  Of a
 *	  posting list only the key would remain in the high key, so its TIDs count as free.  A page
 *	  has two items at least, whatever the fill factor says.
 *
 * left is what PageGetFreeSpace would say with the pending item on the page: the space less one
 * line pointer, the new item's.  There it is never below 0; here it may be, which makes no
 * difference, as no item has size 0.
 */
static inline bool
is_full(const Level *level, Size size)
{
	const PageHeaderData *header = (const PageHeaderData *) level->page;
	Size		pending = pending_is_minus_infinity(level) ? sizeof(IndexTupleData) :
		MAXALIGN(level->pending_size);
	int			left = (int) header->pd_upper - (int) header->pd_lower -
		(int) (pending + 2 * sizeof(ItemIdData));
	int			need = size + (level->number == 0 ? MAXALIGN(sizeof(ItemPointerData)) : 0);

	Assert(level->pending_posting == 0 || level->number == 0);
	/* that the pending item fits was seen when it came */
	Assert(left >= - (int) sizeof(ItemIdData));
	return left < need ||
		(left + (int) level->pending_posting < (int) level->free_wanted && level->nitems > 0);
}

static void add_item(Btree *btree, Level *level, IndexTuple item, Size posting);

/*
 * Gives the current page a downlink in its parent, with the page's lower bound.  A level gets its
 * parent with its first downlink: so the root is a page with one downlink at least, or a leaf.
 */
static void
link_page(Btree *btree, Level *level)
{
	Assert(level->block != P_NONE && level->low != NULL);
	Assert(BTreeTupleGetNAtts(level->low, btree->index) <=
		   IndexRelationGetNumberOfKeyAttributes(btree->index));
	/* a leaf of a range has been written: there is no page to look at */
	Assert(level->page == NULL ||
		   (BTreeTupleGetNAtts(level->low, btree->index) == 0) ==
		   P_LEFTMOST(BTPageGetOpaque(level->page)));
	if (level->parent == NULL)
		level->parent = begin_level(btree, level->number + 1);
	Assert(level->parent->number == level->number + 1);
	BTreeTupleSetDownLink(level->low, level->block);
	add_item(btree, level->parent, level->low, 0);
	pfree(level->low);
	level->low = NULL;
}

/*
 * The high key of the current page, where the pending item begins the next one.  On a leaf it has
 * only as many attributes as distinguish the pending item from the page's last one, or all of them
 * and the last item's greatest TID where the keys are equal.
 */
static IndexTuple
form_high_key(Btree *btree, Level *level)
{
	OffsetNumber last = PageGetMaxOffsetNumber(level->page);
	IndexTuple	before;

	Assert(last >= P_FIRSTKEY);
	if (level->number > 0)
		return CopyIndexTuple(level->pending);
	before = (IndexTuple) PageGetItem(level->page, PageGetItemId(level->page, last));
	return _bt_truncate(btree->index, before, level->pending, btree->order);
}

/* ---- the leaves of a range ---- */

/*
 * A leaf whose number and siblings are known goes to the file.  The range's first leaf lacks its
 * left link and the last one its right link and high key: these go into the list.
 */
static void
put_leaf(Btree *btree, BlockNumber block, Page page, bool has_high)
{
	Range	   *range = btree->range;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	LeafEntry	entry;

	Assert(block != P_NONE && block != BTREE_METAPAGE);
	Assert(has_high == (opaque->btpo_next != P_NONE));
	memset(&entry, 0, sizeof(entry));
	entry.block = block;
	entry.has_page = opaque->btpo_prev == P_NONE || !has_high;
	if (has_high)
		entry.high_size = ItemIdGetLength(PageGetItemId(page, P_HIKEY));
	compat_buffile_write(range->list, &entry, sizeof(entry));
	if (has_high)
		compat_buffile_write(range->list, PageGetItem(page, PageGetItemId(page, P_HIKEY)),
							 entry.high_size);
	if (entry.has_page)
	{
		compat_buffile_write(range->list, page, BLCKSZ);
		pfree(page);
	}
	else
	{
		assert_page(btree, btree->leaves, page, false);
		bulk_put(btree->pages, block, page);
	}
}

/*
 * Gives numbers to the leaves that wait, and one to the leaf that will follow them, for the right
 * link of the last of these; none where the range ends here.  All but the first number come from
 * one step of the counter, so each is greater than those that the range had before.
 */
static void
put_leaves(Btree *btree, bool last)
{
	Range	   *range = btree->range;
	BlockNumber block = range->block;
	uint32		need = range->npages - (block != P_NONE) + !last;
	BlockNumber next = pg_atomic_fetch_add_u32(range->next_block, need);

	Assert(range->npages > 0);
	Assert(next >= BTREE_FIRST_BLOCK);
	if (block == P_NONE)
		block = next++;
	for (int i = 0; i < range->npages; i++)
	{
		bool		is_last = last && i == range->npages - 1;
		BTPageOpaque opaque = BTPageGetOpaque(range->pages[i]);

		opaque->btpo_prev = range->before;
		opaque->btpo_next = is_last ? P_NONE : next++;
		/* so each number is given to one page, and the chain of leaves has no circle */
		Assert(range->before == P_NONE || range->before < block);
		Assert(is_last || block < opaque->btpo_next);
		range->before = block;
		block = opaque->btpo_next;
		put_leaf(btree, range->before, range->pages[i], !is_last);
	}
	range->block = block;
	range->npages = 0;
}

/* A leaf of a range is full: it waits for its number. */
static void
keep_leaf(Btree *btree, Page page)
{
	Range	   *range = btree->range;

	Assert(range->npages <= range->max_pages);
	if (range->npages == range->max_pages)
		put_leaves(btree, false);
	range->pages[range->npages++] = page;
}

/* ---- items ---- */

/* is_full has made sure that there is space. */
static void
set_high_key(Page page, IndexTuple high)
{
	Size		size = IndexTupleSize(high);

	Assert(BTreeTupleIsPivot(high));
	/* reserved by begin_page, and not taken */
	Assert(!ItemIdIsUsed(PageGetItemId(page, P_HIKEY)));
	ItemIdSetNormal(PageGetItemId(page, P_HIKEY), copy_item(page, high, size), size);
}

static void
report_rows(Btree *btree)
{
	progress_index_rows(btree->nrows - btree->reported);
	btree->reported = btree->nrows;
}

/*
 * The pending item begins a new page: the current one gets its high key and right link, its
 * downlink, and goes to the file.  The new page gets its number before the downlink can make a page
 * in a level above, so that numbers are the same as _bt_buildadd's.
 */
static void
finish_page(Btree *btree, Level *level)
{
	IndexTuple	high = form_high_key(btree, level);
	BlockNumber block = P_NONE;

	CHECK_FOR_INTERRUPTS();
	Assert(level->nitems > 0);
	Assert(btree->range == NULL || level->number == 0);
	report_rows(btree);
	set_high_key(level->page, high);
	if (btree->range != NULL)
	{
		keep_leaf(btree, level->page);
		pfree(high);
	}
	else
	{
		block = btree->nblocks++;
		BTPageGetOpaque(level->page)->btpo_next = block;
		link_page(btree, level);
		/* what is above all of this page is below all of the next */
		level->low = high;
		assert_page(btree, level, level->page, false);
		bulk_put(btree->pages, level->block, level->page);
	}

	level->page = begin_page(btree, level->number);
	BTPageGetOpaque(level->page)->btpo_prev = level->block;
	level->block = block;
	level->nitems = 0;
}

/*
 * An item of more than a third of a page: the row has failed, and the error is nbtree's own.
 * On internal levels that can't be, as pivots come from items that were small enough.
 */
static void
refuse_item(Btree *btree, const Level *level, IndexTuple item)
{
	if (level->number == 0)
		failed_row_set(btree->heap, BTreeTupleGetHeapTID(item));
	_bt_check_third_page(btree->index, btree->heap, level->number == 0,
						 level->page, item);
}

/*
 * The next item of a level (_bt_buildadd): the one that is pending finds its place, and this one
 * is pending.  posting: the bytes of the item that are a posting list (truncextra).
 */
static void
add_item(Btree *btree, Level *level, IndexTuple item, Size posting)
{
	Size		size = IndexTupleSize(item);

	Assert(size == MAXALIGN(size) && posting < size);
	Assert(BTreeTupleIsPivot(item) == (level->number > 0));
	Assert((posting > 0) == BTreeTupleIsPosting(item));
	if (unlikely(MAXALIGN(size) > COMPAT_BT_MAX_ITEM_SIZE(level->page)))
		refuse_item(btree, level, item);
	if (level->pending_size > 0)
	{
		Assert(level->number > 0 || item_follows(btree, level->pending, item));
		if (is_full(level, MAXALIGN(size)))
			finish_page(btree, level);
		place_pending(level);
	}
	memcpy(level->pending, item, size);
	level->pending_size = size;
	level->pending_posting = posting;
}

/*
 * The last page of a level has no high key, nor a line pointer for it: the others move down by one
 * (_bt_slideleft).
 */
static void
close_last_page(Page page)
{
	PageHeader	header = (PageHeader) page;
	ItemId		items = PageGetItemId(page, P_HIKEY);

	Assert(!ItemIdIsUsed(items));
	Assert(P_RIGHTMOST(BTPageGetOpaque(page)));
	Assert(PageGetMaxOffsetNumber(page) >= P_FIRSTKEY);
	memmove(items, items + 1,
			(PageGetMaxOffsetNumber(page) - 1) * sizeof(ItemIdData));
	header->pd_lower -= sizeof(ItemIdData);
}

/* ---- rows ---- */

/*
 * The current key's TIDs become an item (_bt_sort_dedup_finish_pending): one with a posting list,
 * if they are several.
 */
static void
flush_rows(Btree *btree)
{
	Assert(btree->ntids == 0 || btree->key != NULL);
	if (btree->ntids == 1)
	{
		btree->key->t_tid = btree->tids[0];
		add_item(btree, btree->leaves, btree->key, 0);
	}
	else if (btree->ntids > 1)
	{
		IndexTuple	item = _bt_form_posting(btree->key, btree->tids, btree->ntids);

		Assert(IndexTupleSize(item) <= BTREE_MAX_POSTING_SIZE);
		add_item(btree, btree->leaves, item,
				 IndexTupleSize(item) - BTreeTupleGetPostingOffset(item));
		pfree(item);
	}
	btree->ntids = 0;
}

/* The first row makes the first leaf: a btree without rows has none, only its meta page. */
static inline void
begin_rows(Btree *btree, uint32 n)
{
	if (btree->leaves == NULL)
	{
		btree->leaves = begin_level(btree, 0);
		progress_index_load();
	}
	btree->nrows += n;
}

/*
 * What all ways to build have in common.  Whether rows share items is decided as _bt_load does it:
 * not in unique indexes, not where the option says no, nor where equal keys may have different
 * bytes, as all but one of these would be lost.
 */
static Btree *
open_btree(Relation heap, Relation index)
{
	Btree	   *btree = palloc0(sizeof(Btree));

	btree->heap = heap;
	btree->index = index;
	btree->order = _bt_mkscankey(index, NULL);
	btree->order->allequalimage = _bt_allequalimage(index, true);
	btree->deduplicate = btree->order->allequalimage &&
		!index->rd_index->indisunique && BTGetDeduplicateItems(index);
	btree->nblocks = BTREE_FIRST_BLOCK;
	return btree;
}

Btree *
btree_open(Relation heap, Relation index)
{
	Btree	   *btree = open_btree(heap, index);

	btree->pages = bulk_open(index);
	return btree;
}

void
btree_end_key(Btree *btree)
{
	flush_rows(btree);
}

void
btree_key(Btree *btree, IndexTuple key)
{
	/* else these would be taken for the new key's */
	Assert(btree->ntids == 0);
	Assert(!BTreeTupleIsPivot(key) && !BTreeTupleIsPosting(key));
	btree->key = key;
}

/*
 * Takes a TID of the current key (_bt_dedup_save_htid); where the posting list would become too
 * large with it, those before become an item first.  An item with a single TID may be larger:
 * that is a matter of the key.
 */
static inline void
save_tid(Btree *btree, const ItemPointerData *tid)
{
	Assert(btree->ntids == 0 ||
		   ItemPointerCompare(&btree->tids[btree->ntids - 1],
							  unconstify(ItemPointerData *, tid)) < 0);
	if (btree->ntids > 0 &&
		MAXALIGN(IndexTupleSize(btree->key) +
				 (btree->ntids + 1) * sizeof(ItemPointerData)) > BTREE_MAX_POSTING_SIZE)
		flush_rows(btree);
	Assert(btree->ntids < MAX_POSTING_TIDS);
	btree->tids[btree->ntids++] = *tid;
}

void
btree_rows(Btree *btree, const RowId *rows, uint32 n)
{
	begin_rows(btree, n);
	if (!btree->deduplicate)
	{
		for (uint32 i = 0; i < n; i++)
		{
			row_tid(rows[i], &btree->key->t_tid);
			add_item(btree, btree->leaves, btree->key, 0);
		}
		return;
	}
	for (uint32 i = 0; i < n; i++)
	{
		ItemPointerData tid;

		row_tid(rows[i], &tid);
		save_tid(btree, &tid);
	}
}

void
btree_tids(Btree *btree, const ItemPointerData *tids, int n)
{
	begin_rows(btree, n);
	for (int i = 0; i < n; i++)
	{
		if (btree->deduplicate)
			save_tid(btree, &tids[i]);
		else
		{
			btree->key->t_tid = tids[i];
			add_item(btree, btree->leaves, btree->key, 0);
		}
	}
}

void
btree_item(Btree *btree, IndexTuple item, int n)
{
	Size		posting = 0;

	/* a key that is still open would get its TIDs behind this one's */
	Assert(btree->ntids == 0);
	Assert(n == (BTreeTupleIsPosting(item) ? BTreeTupleGetNPosting(item) : 1));
	if (BTreeTupleIsPosting(item))
		posting = IndexTupleSize(item) - BTreeTupleGetPostingOffset(item);
	begin_rows(btree, n);
	add_item(btree, btree->leaves, item, posting);
}

bool
btree_deduplicates(const Btree *btree)
{
	return btree->deduplicate;
}

/*
 * From the leaves upwards: the last page of each level gets its downlink, which may fill the last
 * page of the level above, and make a level above that.  The only page of the highest level is
 * the root.  The meta page comes last (_bt_uppershutdown).
 */
double
btree_close(Btree *btree)
{
	BlockNumber root = P_NONE;
	uint32		height = 0;
	Page		meta;

	Assert(btree->range == NULL);
	flush_rows(btree);
	for (Level *level = btree->leaves; level != NULL; level = level->parent)
	{
		if (level->pending_size > 0)
			place_pending(level);
		if (level->parent != NULL)
			link_page(btree, level);
		else
		{
			Assert(P_LEFTMOST(BTPageGetOpaque(level->page)));
			BTPageGetOpaque(level->page)->btpo_flags |= BTP_ROOT;
			root = level->block;
			height = level->number;
		}
		close_last_page(level->page);
		assert_page(btree, level, level->page, true);
		bulk_put(btree->pages, level->block, level->page);
	}
	Assert((root == P_NONE) == (btree->nrows == 0));
	Assert(root < btree->nblocks);
	meta = bulk_page(btree->pages);
	_bt_initmetapage(meta, root, height, btree->order->allequalimage);
	bulk_put(btree->pages, BTREE_METAPAGE, meta);
	bulk_close(btree->pages);
	report_rows(btree);
	return btree->nrows;
}

/* ---- ranges ---- */

Btree *
btree_open_range(Relation heap, Relation index, pg_atomic_uint32 *next_block,
				 int npages, BufFile *list)
{
	Btree	   *btree = open_btree(heap, index);

	btree->pages = bulk_join(index);
	btree->range = palloc0(offsetof(Range, pages) + npages * sizeof(Page));
	btree->range->next_block = next_block;
	btree->range->list = list;
	btree->range->block = btree->range->before = P_NONE;
	btree->range->max_pages = npages;
	return btree;
}

double
btree_close_range(Btree *btree, IndexTuple bound)
{
	Level	   *leaves = btree->leaves;

	flush_rows(btree);
	if (leaves != NULL)
	{
		/*
		 * As if the bound were the next item: it becomes the pending one, the last leaf has space
		 * for a high key that is made from it, and the bound itself goes nowhere.
		 */
		if (bound != NULL)
			add_item(btree, leaves, bound, 0);
		else
			place_pending(leaves);
		keep_leaf(btree, leaves->page);
		put_leaves(btree, true);
	}
	Assert(btree->range->npages == 0 && btree->range->block == P_NONE);
	bulk_close(btree->pages);
	report_rows(btree);
	return btree->nrows;
}

/* nblocks: of the meta page and all leaves; the levels above come behind them. */
Btree *
btree_open_above(Relation heap, Relation index, BlockNumber nblocks)
{
	Btree	   *btree = open_btree(heap, index);

	Assert(nblocks >= BTREE_FIRST_BLOCK);
	btree->pages = bulk_join(index);
	btree->nblocks = nblocks;
	return btree;
}

/*
 * Leaf next follows the current one, which gets its downlink.  If the current one is its range's
 * last, it was kept (level->page): its high key comes from the bound, which btree_take_range has
 * left as the pending item, and it is written only now.  *high: the current leaf's high key, if it
 * is known from the list; becomes the next one's lower bound.
 */
static void
finish_leaf(Btree *btree, Level *level, IndexTuple *high, BlockNumber next)
{
	if (level->page != NULL)
	{
		Assert(*high == NULL);
		*high = form_high_key(btree, level);
		set_high_key(level->page, *high);
		BTPageGetOpaque(level->page)->btpo_next = next;
		assert_page(btree, level, level->page, false);
		bulk_put(btree->pages, level->block, level->page);
		level->page = NULL;
	}
	Assert(*high != NULL);
	link_page(btree, level);
	level->low = *high;
	*high = NULL;
}

/* The level of leaves that other processes have made: there is no page to fill. */
static Level *
begin_above(Btree *btree)
{
	Level	   *level = palloc0(sizeof(Level));

	level->pending = palloc(BLCKSZ);
	level->low = form_minus_infinity();
	level->block = P_NONE;
	return level;
}

/*
 * The next leaf of a list.  A range's first leaf gets its left link here, its last one is kept
 * until the next range's first leaf is known, or btree_close makes it the rightmost.
 */
static void
take_leaf(Btree *btree, const LeafEntry *entry, BufFile *list, IndexTuple *high)
{
	Level	   *level = btree->leaves;
	BlockNumber before = level->block;
	Page		page;
	BTPageOpaque opaque;

	Assert(entry->block >= BTREE_FIRST_BLOCK && entry->block < btree->nblocks);
	if (before != P_NONE)
		finish_leaf(btree, level, high, entry->block);
	level->block = entry->block;
	if (entry->high_size > 0)
	{
		*high = palloc(entry->high_size);
		compat_buffile_read(list, *high, entry->high_size);
	}
	if (!entry->has_page)
		return;
	page = bulk_page(btree->pages);
	compat_buffile_read(list, page, BLCKSZ);
	opaque = BTPageGetOpaque(page);
	Assert(opaque->btpo_prev == P_NONE || opaque->btpo_prev == before);
	Assert((entry->high_size > 0) == (opaque->btpo_next != P_NONE));
	if (opaque->btpo_prev == P_NONE)
		opaque->btpo_prev = before;
	if (entry->high_size > 0)
	{
		assert_page(btree, level, page, false);
		bulk_put(btree->pages, entry->block, page);
	}
	else
		level->page = page;
}

void
btree_take_range(Btree *btree, BufFile *list, IndexTuple bound, double nrows)
{
	LeafEntry	entry;
	IndexTuple	high = NULL;

	while (compat_buffile_read_more(list, &entry, sizeof(entry)))
	{
		CHECK_FOR_INTERRUPTS();
		if (btree->leaves == NULL)
			btree->leaves = begin_above(btree);
		take_leaf(btree, &entry, list, &high);
	}
	Assert(nrows == 0 || (btree->leaves != NULL && btree->leaves->page != NULL));
	if (nrows > 0 && bound != NULL)
		memcpy(btree->leaves->pending, bound, IndexTupleSize(bound));
	btree->nrows += nrows;
	/* whoever has made the leaves has reported these */
	btree->reported += nrows;
}
