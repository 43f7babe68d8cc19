/*
 * btree_level.c
 *		See btree_level.h.
 *
 * nbtsort.c's _bt_buildadd puts each item on the page, and takes the last one off again when the
 * page turns out to be full.  Here each level keeps its newest item back, pending, until the next
 * one comes: then it is clear whether the pending item is the page's last or the next page's
 * first.  So nothing is ever removed from a page.
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
 */
#include "postgres.h"

#include "index/btree_level.h"
#include "index/failed_row.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/progress.h"

/* ---- assertions ---- */

#ifdef USE_ASSERT_CHECKING

/*
 * A page that is about to be written: its line pointers, items and bounds are what the picture
 * above shows, without gaps.  is_last: it has no high key.
 */
void
level_assert_page(const Btree *btree, const Level *level, Page page, bool is_last)
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
IndexTuple
level_minus_infinity(void)
{
	IndexTuple	low = palloc0(sizeof(IndexTupleData));

	low->t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(low, 0, false);
	return low;
}

/* A level with its first page (_bt_pagestate). */
Level *
level_begin(Btree *btree, uint32 number)
{
	Level	   *level = palloc0(sizeof(Level));

	level->number = number;
	level->page = begin_page(btree, number);
	level->block = btree->range == NULL ? btree->nblocks++ : P_NONE;
	level->free_wanted = number == 0 ? BTGetTargetPageFreeSpace(btree->index) :
		BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	level->pending = palloc(BLCKSZ);

	level->low = level_minus_infinity();
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
void
level_place_pending(Level *level)
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

/*
 * Gives the current page a downlink in its parent, with the page's lower bound.  A level gets its
 * parent with its first downlink: so the root is a page with one downlink at least, or a leaf.
 */
void
level_link_page(Btree *btree, Level *level)
{
	Assert(level->block != P_NONE && level->low != NULL);
	Assert(BTreeTupleGetNAtts(level->low, btree->index) <=
		   IndexRelationGetNumberOfKeyAttributes(btree->index));
	/* a leaf of a range has been written: there is no page to look at */
	Assert(level->page == NULL ||
		   (BTreeTupleGetNAtts(level->low, btree->index) == 0) ==
		   P_LEFTMOST(BTPageGetOpaque(level->page)));
	if (level->parent == NULL)
		level->parent = level_begin(btree, level->number + 1);
	Assert(level->parent->number == level->number + 1);
	BTreeTupleSetDownLink(level->low, level->block);
	level_add_item(btree, level->parent, level->low, 0);
	pfree(level->low);
	level->low = NULL;
}

/*
 * The high key of the current page, where the pending item begins the next one.  On a leaf it has
 * only as many attributes as distinguish the pending item from the page's last one, or all of them
 * and the last item's greatest TID where the keys are equal.
 */
IndexTuple
level_form_high_key(Btree *btree, Level *level)
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
		level_assert_page(btree, btree->leaves, page, false);
		bulk_put(btree->pages, block, page);
	}
}

/*
 * Gives numbers to the leaves that wait, and one to the leaf that will follow them, for the right
 * link of the last of these; none where the range ends here.  All but the first number come from
 * one step of the counter, so each is greater than those that the range had before.
 */
void
level_put_leaves(Btree *btree, bool last)
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
void
level_keep_leaf(Btree *btree, Page page)
{
	Range	   *range = btree->range;

	Assert(range->npages <= range->max_pages);
	if (range->npages == range->max_pages)
		level_put_leaves(btree, false);
	range->pages[range->npages++] = page;
}

/* ---- items ---- */

/* is_full has made sure that there is space. */
void
level_set_high_key(Page page, IndexTuple high)
{
	Size		size = IndexTupleSize(high);

	Assert(BTreeTupleIsPivot(high));
	/* reserved by begin_page, and not taken */
	Assert(!ItemIdIsUsed(PageGetItemId(page, P_HIKEY)));
	ItemIdSetNormal(PageGetItemId(page, P_HIKEY), copy_item(page, high, size), size);
}

void
level_report_rows(Btree *btree)
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
	IndexTuple	high = level_form_high_key(btree, level);
	BlockNumber block = P_NONE;

	CHECK_FOR_INTERRUPTS();
	Assert(level->nitems > 0);
	Assert(btree->range == NULL || level->number == 0);
	level_report_rows(btree);
	level_set_high_key(level->page, high);
	if (btree->range != NULL)
	{
		level_keep_leaf(btree, level->page);
		pfree(high);
	}
	else
	{
		block = btree->nblocks++;
		BTPageGetOpaque(level->page)->btpo_next = block;
		level_link_page(btree, level);
		/* what is above all of this page is below all of the next */
		level->low = high;
		level_assert_page(btree, level, level->page, false);
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
void
level_add_item(Btree *btree, Level *level, IndexTuple item, Size posting)
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
		level_place_pending(level);
	}
	memcpy(level->pending, item, size);
	level->pending_size = size;
	level->pending_posting = posting;
}

/* All but the last item go to pages without being copied first. */
void
level_add_items(Btree *btree, Level *level, IndexTuple items, Size size, uint32 n)
{
	const char *next = (const char *) items;

	level_add_item(btree, level, items, 0);
	for (uint32 i = 1; i < n; i++)
	{
		const char *pending = next;

		next += size;
		Assert(item_follows(btree, (IndexTuple) pending, (IndexTuple) next));
		if (is_full(level, size))
		{
			memcpy(level->pending, pending, size);
			finish_page(btree, level);
		}
		append_item(level, pending, size);
	}
	memcpy(level->pending, next, size);
}

/*
 * The last page of a level has no high key, nor a line pointer for it: the others move down by one
 * (_bt_slideleft).
 */
void
level_close_last_page(Page page)
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
