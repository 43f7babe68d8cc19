/*
 * btree.c
 *		See btree.h.
 *
 * Each level has a page in hand and holds back its newest item: when the next one
 * comes it is clear whether the held one belongs on that page or begins the next.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "compat.h"
#include "index/blame.h"
#include "index/btree.h"
#include "index/bulk.h"
#include "miscadmin.h"
#include "progress.h"

#define POSTING_ROWS (BTREE_POSTING_MOST / sizeof(ItemPointerData))

typedef struct Level
{
	uint32		number;			/* 0: leaves */
	Page		page;
	BlockNumber block;
	int			nitems;			/* on the page, the held one not counted */
	Size		room;			/* to leave free on a page */
	IndexTuple	low;			/* the page's lower bound, for its parent */
	struct Level *parent;		/* NULL: none yet */

	/* the newest item */
	IndexTuple	held;			/* room for any */
	Size		held_size;		/* 0: there is none */
	Size		held_posting;	/* of that, the posting list's part */
} Level;

/* A leaf in the list of a range; its high key follows, if it has one, then the page, if that is not in the file. */
typedef struct LeafEntry
{
	BlockNumber block;
	uint32		high_size;		/* 0: the last one of the range, that has none yet */
	bool		has_page;
} LeafEntry;

/* Leaves that wait for their block numbers: these come one after the other. */
typedef struct Range
{
	pg_atomic_uint32 *next_block;	/* of the whole btree */
	BufFile    *list;
	BlockNumber block;			/* of the first page that waits; P_NONE: not known yet */
	BlockNumber before;			/* the leaf before it; P_NONE: it is the first one */
	int			most;
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
	BlockNumber nblocks;		/* given out, the meta page's included */
	Level	   *leaves;			/* NULL: no row has come */
	double		nrows;
	double		told;			/* of them, as progress */
	Range	   *range;			/* NULL: the btree is one range */

	/* the key in hand, and those of its rows that are not in a page */
	IndexTuple	key;
	int			nwaiting;
	ItemPointerData waiting[POSTING_ROWS];
};

/* ---- pages ---- */

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
	/* the first item pointer is the high key's */
	((PageHeader) page)->pd_lower += sizeof(ItemIdData);
	return page;
}

/* Nothing is below the first page of a level. */
static IndexTuple
form_lowest(void)
{
	IndexTuple	low = palloc0(sizeof(IndexTupleData));

	low->t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(low, 0, false);
	return low;
}

static Level *
begin_level(Btree *btree, uint32 number)
{
	Level	   *level = palloc0(sizeof(Level));

	level->number = number;
	level->page = begin_page(btree, number);
	level->block = btree->range == NULL ? btree->nblocks++ : P_NONE;
	level->room = number == 0 ? BTGetTargetPageFreeSpace(btree->index) :
		BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	level->held = palloc(BLCKSZ);

	level->low = form_lowest();
	return level;
}

/* Copies an item to the page, without an item pointer. */
static LocationIndex
copy_item(Page page, const void *item, Size size)
{
	PageHeader	header = (PageHeader) page;

	header->pd_upper -= MAXALIGN(size);
	memcpy((char *) page + header->pd_upper, item, size);
	memset((char *) page + header->pd_upper + size, 0, MAXALIGN(size) - size);
	return header->pd_upper;
}

static void
append_item(Level *level, const void *item, Size size)
{
	PageHeader	header = (PageHeader) level->page;
	LocationIndex at = copy_item(level->page, item, size);

	ItemIdSetNormal((ItemId) ((char *) header + header->pd_lower), at, size);
	header->pd_lower += sizeof(ItemIdData);
	level->nitems++;
}

/* Whether the held item will be a bare downlink. */
static inline bool
held_is_bare(const Level *level)
{
	return level->number > 0 && level->nitems == 0;
}

/* The held item's place is on the page in hand. */
static void
place_held(Level *level)
{
	if (held_is_bare(level))
	{
		IndexTupleData bare = *level->held;

		bare.t_info = sizeof(IndexTupleData);
		BTreeTupleSetNAtts(&bare, 0, false);
		append_item(level, &bare, sizeof(bare));
	}
	else
		append_item(level, level->held, level->held_size);
	level->held_size = 0;
}

/*
 * Whether the held item begins the next page, now that one of a size comes behind
 * it: where both do not fit, with room for the TID that a leaf's high key may
 * need, or where the page has what the fill factor wants.
 */
static inline bool
is_full(const Level *level, Size size)
{
	const PageHeaderData *header = (const PageHeaderData *) level->page;
	Size		held = held_is_bare(level) ? sizeof(IndexTupleData) :
		MAXALIGN(level->held_size);
	int			left = (int) header->pd_upper - (int) header->pd_lower -
		(int) (held + 2 * sizeof(ItemIdData));
	int			need = size + (level->number == 0 ? MAXALIGN(sizeof(ItemPointerData)) : 0);

	return left < need ||
		(left + (int) level->held_posting < (int) level->room && level->nitems > 0);
}

static void add_item(Btree *btree, Level *level, IndexTuple item, Size posting);

/* Tells the parent of the page in hand. */
static void
link_page(Btree *btree, Level *level)
{
	if (level->parent == NULL)
		level->parent = begin_level(btree, level->number + 1);
	BTreeTupleSetDownLink(level->low, level->block);
	add_item(btree, level->parent, level->low, 0);
	pfree(level->low);
	level->low = NULL;
}

/* What the held item leaves as the upper bound of the page before it. */
static IndexTuple
form_high_key(Btree *btree, Level *level)
{
	OffsetNumber last = PageGetMaxOffsetNumber(level->page);
	IndexTuple	before;

	if (level->number > 0)
		return CopyIndexTuple(level->held);
	before = (IndexTuple) PageGetItem(level->page, PageGetItemId(level->page, last));
	return _bt_truncate(btree->index, before, level->held, btree->order);
}

/* ---- the leaves of a range ---- */

/* A page whose neighbours are known: to the file, but for those at the ends of the range. */
static void
put_leaf(Btree *btree, BlockNumber block, Page page, bool has_high)
{
	Range	   *range = btree->range;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	LeafEntry	entry;

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
		bulk_put(btree->pages, block, page);
}

/*
 * Those that wait get their blocks, and the one behind them gets its, unless the range has
 * come to its end.
 */
static void
put_leaves(Btree *btree, bool last)
{
	Range	   *range = btree->range;
	BlockNumber block = range->block;
	uint32		need = range->npages - (block != P_NONE) + !last;
	BlockNumber next = pg_atomic_fetch_add_u32(range->next_block, need);

	if (block == P_NONE)
		block = next++;
	for (int i = 0; i < range->npages; i++)
	{
		bool		is_last = last && i == range->npages - 1;
		BTPageOpaque opaque = BTPageGetOpaque(range->pages[i]);

		opaque->btpo_prev = range->before;
		opaque->btpo_next = is_last ? P_NONE : next++;
		range->before = block;
		block = opaque->btpo_next;
		put_leaf(btree, range->before, range->pages[i], !is_last);
	}
	range->block = block;
	range->npages = 0;
}

static void
keep_leaf(Btree *btree, Page page)
{
	Range	   *range = btree->range;

	if (range->npages == range->most)
		put_leaves(btree, false);
	range->pages[range->npages++] = page;
}

/* ---- items ---- */

static void
set_high_key(Page page, IndexTuple high)
{
	Size		size = IndexTupleSize(high);

	ItemIdSetNormal(PageGetItemId(page, P_HIKEY), copy_item(page, high, size), size);
	Assert(((PageHeader) page)->pd_lower <= ((PageHeader) page)->pd_upper);
}

static void
tell_rows(Btree *btree)
{
	progress_index_rows(btree->nrows - btree->told);
	btree->told = btree->nrows;
}

/* The held item begins a new page. */
static void
turn_page(Btree *btree, Level *level)
{
	IndexTuple	high = form_high_key(btree, level);
	BlockNumber block = P_NONE;

	CHECK_FOR_INTERRUPTS();
	Assert(level->nitems > 0);
	tell_rows(btree);
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
		level->low = high;
		bulk_put(btree->pages, level->block, level->page);
	}

	level->page = begin_page(btree, level->number);
	BTPageGetOpaque(level->page)->btpo_prev = level->block;
	level->block = block;
	level->nitems = 0;
}

/* An item that is too large. */
static void
refuse_item(Btree *btree, const Level *level, IndexTuple item)
{
	if (level->number == 0)
		blame_row(btree->heap, BTreeTupleGetHeapTID(item));
	_bt_check_third_page(btree->index, btree->heap, level->number == 0,
						 level->page, item);
}

/* posting: bytes of the item that are a posting list. */
static void
add_item(Btree *btree, Level *level, IndexTuple item, Size posting)
{
	Size		size = IndexTupleSize(item);

	if (unlikely(MAXALIGN(size) > COMPAT_BT_MAX_ITEM_SIZE(level->page)))
		refuse_item(btree, level, item);
	if (level->held_size > 0)
	{
		if (is_full(level, MAXALIGN(size)))
			turn_page(btree, level);
		place_held(level);
	}
	memcpy(level->held, item, size);
	level->held_size = size;
	level->held_posting = posting;
}

/* The last page of a level has no high key, nor an item pointer for it. */
static void
close_last_page(Page page)
{
	PageHeader	header = (PageHeader) page;
	ItemId		items = PageGetItemId(page, P_HIKEY);

	memmove(items, items + 1,
			(PageGetMaxOffsetNumber(page) - 1) * sizeof(ItemIdData));
	header->pd_lower -= sizeof(ItemIdData);
}

/* ---- rows ---- */

/* What waits becomes an item. */
static void
flush_rows(Btree *btree)
{
	if (btree->nwaiting == 1)
	{
		btree->key->t_tid = btree->waiting[0];
		add_item(btree, btree->leaves, btree->key, 0);
	}
	else if (btree->nwaiting > 1)
	{
		IndexTuple	item = _bt_form_posting(btree->key, btree->waiting, btree->nwaiting);

		add_item(btree, btree->leaves, item,
				 IndexTupleSize(item) - BTreeTupleGetPostingOffset(item));
		pfree(item);
	}
	btree->nwaiting = 0;
}

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

/* All but the pages. */
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
	btree->key = key;
}

/* Takes a row of the key in hand, whose posting list may have so many. */
static inline void
wait_row(Btree *btree, const ItemPointerData *tid)
{
	if (btree->nwaiting > 0 &&
		MAXALIGN(IndexTupleSize(btree->key) +
				 (btree->nwaiting + 1) * sizeof(ItemPointerData)) > BTREE_POSTING_MOST)
		flush_rows(btree);
	btree->waiting[btree->nwaiting++] = *tid;
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
		wait_row(btree, &tid);
	}
}

void
btree_tids(Btree *btree, const ItemPointerData *tids, int n)
{
	begin_rows(btree, n);
	for (int i = 0; i < n; i++)
	{
		if (btree->deduplicate)
			wait_row(btree, &tids[i]);
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

double
btree_close(Btree *btree)
{
	BlockNumber root = P_NONE;
	uint32		height = 0;
	Page		meta;

	flush_rows(btree);
	for (Level *level = btree->leaves; level != NULL; level = level->parent)
	{
		if (level->held_size > 0)
			place_held(level);
		if (level->parent != NULL)
			link_page(btree, level);
		else
		{
			BTPageGetOpaque(level->page)->btpo_flags |= BTP_ROOT;
			root = level->block;
			height = level->number;
		}
		close_last_page(level->page);
		bulk_put(btree->pages, level->block, level->page);
	}
	meta = bulk_page(btree->pages);
	_bt_initmetapage(meta, root, height, btree->order->allequalimage);
	bulk_put(btree->pages, BTREE_METAPAGE, meta);
	bulk_close(btree->pages);
	tell_rows(btree);
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
	btree->range->most = npages;
	return btree;
}

double
btree_close_range(Btree *btree, IndexTuple bound)
{
	Level	   *leaves = btree->leaves;

	flush_rows(btree);
	if (leaves != NULL)
	{
		/* as if it came next: so there is room for a high key */
		if (bound != NULL)
			add_item(btree, leaves, bound, 0);
		else
			place_held(leaves);
		keep_leaf(btree, leaves->page);
		put_leaves(btree, true);
	}
	bulk_close(btree->pages);
	tell_rows(btree);
	return btree->nrows;
}

Btree *
btree_open_above(Relation heap, Relation index, BlockNumber nblocks)
{
	Btree	   *btree = open_btree(heap, index);

	btree->pages = bulk_join(index);
	btree->nblocks = nblocks;
	return btree;
}

/*
 * The leaf in hand has another one behind it.  If it is the last of its range, only now it has an upper
 * bound.
 */
static void
pass_leaf(Btree *btree, Level *level, IndexTuple *high, BlockNumber next)
{
	if (level->page != NULL)
	{
		*high = form_high_key(btree, level);
		set_high_key(level->page, *high);
		BTPageGetOpaque(level->page)->btpo_next = next;
		bulk_put(btree->pages, level->block, level->page);
		level->page = NULL;
	}
	link_page(btree, level);
	level->low = *high;
	*high = NULL;
}

/* The level of leaves, with none in hand. */
static Level *
begin_above(Btree *btree)
{
	Level	   *level = palloc0(sizeof(Level));

	level->held = palloc(BLCKSZ);
	level->low = form_lowest();
	level->block = P_NONE;
	return level;
}

static void
take_leaf(Btree *btree, const LeafEntry *entry, BufFile *list, IndexTuple *high)
{
	Level	   *level = btree->leaves;
	BlockNumber before = level->block;
	Page		page;
	BTPageOpaque opaque;

	if (before != P_NONE)
		pass_leaf(btree, level, high, entry->block);
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
	if (opaque->btpo_prev == P_NONE)
		opaque->btpo_prev = before;
	if (entry->high_size > 0)
		bulk_put(btree->pages, entry->block, page);
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
	if (nrows > 0 && bound != NULL)
		memcpy(btree->leaves->held, bound, IndexTupleSize(bound));
	btree->nrows += nrows;
	btree->told += nrows;		/* by who has made the leaves */
}
