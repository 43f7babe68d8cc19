/*
 * btree.c
 *		See btree.h.
 *
 * This does the work of nbtsort.c's _bt_load, _bt_buildadd and _bt_uppershutdown, and the pages
 * are the same but for their LSNs and what is left in their free space (sql/index_pages.sql).
 * Pages and levels are built by btree_level.c; here are the tuples that go on leaves, and the
 * whole.
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
 */#include "postgres.h"

#include "index/btree.h"
#include "index/btree_level.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/progress.h"

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
		level_add_item(btree, btree->leaves, btree->key, 0);
	}
	else if (btree->ntids > 1)
	{
		IndexTuple	item = _bt_form_posting(btree->key, btree->tids, btree->ntids);

		Assert(IndexTupleSize(item) <= BTREE_MAX_POSTING_SIZE);
		level_add_item(btree, btree->leaves, item,
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
		btree->leaves = level_begin(btree, 0);
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
			level_add_item(btree, btree->leaves, btree->key, 0);
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
			level_add_item(btree, btree->leaves, btree->key, 0);
		}
	}
}

void
btree_singles(Btree *btree, IndexTuple tuples, Size size, uint32 n)
{
	Assert(btree->ntids == 0);
	begin_rows(btree, n);
	level_add_items(btree, btree->leaves, tuples, size, n);
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
	level_add_item(btree, btree->leaves, item, posting);
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
			level_place_pending(level);
		if (level->parent != NULL)
			level_link_page(btree, level);
		else
		{
			Assert(P_LEFTMOST(BTPageGetOpaque(level->page)));
			BTPageGetOpaque(level->page)->btpo_flags |= BTP_ROOT;
			root = level->block;
			height = level->number;
		}
		level_close_last_page(level->page);
		level_assert_page(btree, level, level->page, true);
		bulk_put(btree->pages, level->block, level->page);
	}
	Assert((root == P_NONE) == (btree->nrows == 0));
	Assert(root < btree->nblocks);
	meta = bulk_page(btree->pages);
	_bt_initmetapage(meta, root, height, btree->order->allequalimage);
	bulk_put(btree->pages, BTREE_METAPAGE, meta);
	bulk_close(btree->pages);
	level_report_rows(btree);
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
			level_add_item(btree, leaves, bound, 0);
		else
			level_place_pending(leaves);
		level_keep_leaf(btree, leaves->page);
		level_put_leaves(btree, true);
	}
	Assert(btree->range->npages == 0 && btree->range->block == P_NONE);
	bulk_close(btree->pages);
	level_report_rows(btree);
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
		*high = level_form_high_key(btree, level);
		level_set_high_key(level->page, *high);
		BTPageGetOpaque(level->page)->btpo_next = next;
		level_assert_page(btree, level, level->page, false);
		bulk_put(btree->pages, level->block, level->page);
		level->page = NULL;
	}
	Assert(*high != NULL);
	level_link_page(btree, level);
	level->low = *high;
	*high = NULL;
}

/* The level of leaves that other processes have made: there is no page to fill. */
static Level *
begin_above(Btree *btree)
{
	Level	   *level = palloc0(sizeof(Level));

	level->pending = palloc(BLCKSZ);
	level->low = level_minus_infinity();
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
		level_assert_page(btree, level, page, false);
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
