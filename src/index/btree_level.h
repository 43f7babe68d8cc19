/*
 * btree_level.h
 *		A btree's pages and levels, for btree.c: each level takes its items in order, and fills its
 *		pages and their downlinks one after the other.
 *
 * Assumption: items of a level come in order.  Price: a page for each level, and the newest item of
 * each; a range's leaves wait in memory for the numbers of their siblings.  Trap: a level's newest
 * item is on no page until level_place_pending.
 */
#ifndef PGBULK_BTREE_LEVEL_H
#define PGBULK_BTREE_LEVEL_H

#include "postgres.h"

#include "access/nbtree.h"
#include "index/btree_type.h"
#include "index/bulk.h"
#include "port/atomics.h"
#include "storage/buffile.h"

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

/* A level with its first page, which is empty. */
extern Level *level_begin(Btree *btree, uint32 number);

/* The lower bound of a level's leftmost page: a pivot tuple without attributes. */
extern IndexTuple level_minus_infinity(void);

/*
 * The next item of a level: the one that is pending finds its place, and this one is pending.
 * posting: the bytes of the item that are a posting list.  Error: 54000 for one that is too large.
 */
extern void level_add_item(Btree *btree, Level *level, IndexTuple item, Size posting);

/* The same for n items of a size, none of them with a posting list, side by side. */
extern void level_add_items(Btree *btree, Level *level, IndexTuple items, Size size, uint32 n);

/* The pending item belongs on the current page. */
extern void level_place_pending(Level *level);

/* The high key of the current page, where the pending item begins the next one; puts one there. */
extern IndexTuple level_form_high_key(Btree *btree, Level *level);
extern void level_set_high_key(Page page, IndexTuple high);

/* Gives the current page a downlink in its parent, with the page's lower bound. */
extern void level_link_page(Btree *btree, Level *level);

/* The last page of a level has no high key, nor a line pointer for it. */
extern void level_close_last_page(Page page);

/* A leaf of a range is full: it waits for its number. */
extern void level_keep_leaf(Btree *btree, Page page);

/* Gives numbers to the leaves that wait, and puts them; last: the range ends here. */
extern void level_put_leaves(Btree *btree, bool last);

/* Reports the rows that have come since the last time, as progress. */
extern void level_report_rows(Btree *btree);

/* Asserts that a page which is about to be written is what btree_level.c's picture shows. */
#ifdef USE_ASSERT_CHECKING
extern void level_assert_page(const Btree *btree, const Level *level, Page page, bool is_last);
#else
#define level_assert_page(btree, level, page, is_last) ((void) 0)
#endif

#endif							/* PGBULK_BTREE_LEVEL_H */
