/*
 * leaves.c
 *		See leaves.h.
 *
 * The way through the file, which is that of a full index scan (_bt_get_endpoint, then right
 * links as in _bt_readnextpage):
 *
 *		meta page > root
 *		              | first downlink of each internal page
 *		              v
 *		            leaf > leaf > half-dead > leaf > leaf
 *		                          (ignored)
 *
 * Pages that are half-dead or deleted have no items that count, but their right links are good.
 * A page whose split is incomplete lacks only a downlink, which nobody looks for here.
 *
 * An item is a row's TID with the key, or a posting list of them (btree.c shows it).  LP_DEAD
 * items are rows that are dead to all here; whether they are passed over says horizon.h.
 *
 * Each page is copied under a share lock, so no buffer stays pinned or locked while its items are
 * used, and a VACUUM that wants a cleanup lock need not wait.
 *
 * Nothing that is read here is trusted: a merge would carry what is broken into the new file, and
 * a TID list with a wrong length would be read beyond the page.  So what can be seen of a broken
 * file on the way is an error, not an Assert, and the index stays as it was.
 */
#include "postgres.h"

#include "index/horizon.h"
#include "index/leaves.h"
#include "miscadmin.h"
#include "server/progress.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

struct Leaves
{
	RelationData rel;			/* the index with its old file: a shallow copy */
	BufferAccessStrategy strategy;
	bool		keep_dead;		/* snapshots on standbys may still see rows that are dead here */
	BlockNumber nblocks;
	BlockNumber nread;			/* to see a circle of right links */
	BlockNumber next;			/* the next leaf; P_NONE: there is none */
	char	   *copy;			/* of the current page */
	LeafPage	page;
};

void
leaves_raise_corrupted(const Leaves *leaves, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is corrupted",
					RelationGetRelationName(&leaves->rel)),
			 errdetail("Block %u of it %s.", leaves->page.block, what),
			 errhint("Please REINDEX it.")));
}

/* The page is copied; it becomes the one that errors are about. */
static BTPageOpaque
read_page(Leaves *leaves, BlockNumber block)
{
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	if (block >= leaves->nblocks)
		leaves_raise_corrupted(leaves, "points beyond the end");
	/* along right links each page comes once, on the way down a few more */
	if (leaves->nread++ > leaves->nblocks + BTREE_METAPAGE + 64)
		leaves_raise_corrupted(leaves, "is part of a circle");
	leaves->page.block = block;

	/* the storage manager may have closed the file since the last page */
	leaves->rel.rd_smgr = smgropen(leaves->rel.rd_locator, leaves->rel.rd_backend);
	buffer = ReadBufferExtended(&leaves->rel, MAIN_FORKNUM, block, RBM_NORMAL,
								leaves->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	_bt_checkpage(&leaves->rel, buffer);
	memcpy(leaves->copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	progress_index_blocks(1);
	return BTPageGetOpaque((Page) leaves->copy);
}

/*
 * The leftmost leaf, by the first downlink of each level; pages that are being deleted are
 * passed over by their right links.
 */
static BlockNumber
find_first(Leaves *leaves)
{
	const BTMetaPageData *meta;
	BlockNumber block;
	uint32		level;

	(void) read_page(leaves, BTREE_METAPAGE);
	meta = BTPageGetMeta((Page) leaves->copy);
	if (meta->btm_magic != BTREE_MAGIC)
		leaves_raise_corrupted(leaves, "is not a btree's meta page");
	block = meta->btm_root;
	level = meta->btm_level;
	while (block != P_NONE && level > 0)
	{
		BTPageOpaque opaque = read_page(leaves, block);
		Page		page = (Page) leaves->copy;
		OffsetNumber first = P_FIRSTDATAKEY(opaque);

		if (P_IGNORE(opaque))
		{
			block = opaque->btpo_next;
			continue;
		}
		if (opaque->btpo_level != level || first > PageGetMaxOffsetNumber(page))
			leaves_raise_corrupted(leaves, "is not on its level");
		block = BTreeTupleGetDownLink((IndexTuple) PageGetItem(page, PageGetItemId(page, first)));
		level--;
	}
	return block;
}

Leaves *
leaves_open(Relation index, RelFileLocator file)
{
	Leaves	   *leaves = palloc0(sizeof(Leaves));

	/* the index has its new file by now, in which there is nothing yet */
	Assert(memcmp(&file, &index->rd_locator, sizeof(file)) != 0);
	/* statistics are for the index's own file */
	leaves->rel = *index;
	leaves->rel.rd_locator = file;
	leaves->rel.pgstat_enabled = false;
	leaves->rel.pgstat_info = NULL;
	leaves->strategy = GetAccessStrategy(BAS_BULKREAD);
	leaves->keep_dead = horizon_matters(index);
	leaves->nblocks = smgrnblocks(smgropen(file, index->rd_backend), MAIN_FORKNUM);
	leaves->copy = palloc(BLCKSZ);
	progress_index_merge(leaves->nblocks);
	leaves->next = find_first(leaves);
	return leaves;
}

/* An item of the page, if it is sound: it and its posting list lie within the page. */
static IndexTuple
check_item(const Leaves *leaves, ItemId id)
{
	IndexTuple	item;
	Size		size;

	if (!ItemIdHasStorage(id) || ItemIdGetOffset(id) + sizeof(IndexTupleData) > BLCKSZ)
		leaves_raise_corrupted(leaves, "has an item without storage");
	item = (IndexTuple) PageGetItem((Page) leaves->copy, id);
	size = IndexTupleSize(item);
	if (ItemIdGetOffset(id) + size > BLCKSZ || size < sizeof(IndexTupleData) ||
		BTreeTupleIsPivot(item))
		leaves_raise_corrupted(leaves, "has an item that is not a leaf's");
	if (BTreeTupleIsPosting(item))
	{
		Size		offset = BTreeTupleGetPostingOffset(item);
		int			n = BTreeTupleGetNPosting(item);

		if (n == 0 || offset < sizeof(IndexTupleData) || offset != MAXALIGN(offset) ||
			offset + n * sizeof(ItemPointerData) > size)
			leaves_raise_corrupted(leaves, "has an item that is too short");
	}
	return item;
}

const LeafPage *
leaves_next(Leaves *leaves)
{
	LeafPage   *page = &leaves->page;

	/* each leaf that is not ignored, until one has items */
	while (leaves->next != P_NONE)
	{
		BTPageOpaque opaque = read_page(leaves, leaves->next);
		Page		copy = (Page) leaves->copy;
		OffsetNumber last = PageGetMaxOffsetNumber(copy);

		leaves->next = opaque->btpo_next;
		if (P_IGNORE(opaque))
			continue;
		if (!P_ISLEAF(opaque) || last > MaxIndexTuplesPerPage)
			leaves_raise_corrupted(leaves, "is not a leaf");
		page->n = 0;
		for (OffsetNumber i = P_FIRSTDATAKEY(opaque); i <= last; i++)
		{
			ItemId		id = PageGetItemId(copy, i);

			if (leaves->keep_dead || !ItemIdIsDead(id))
				page->items[page->n++] = check_item(leaves, id);
		}
		Assert(page->n <= lengthof(page->items));
		if (page->n > 0)
			return page;
	}
	return NULL;
}

void
leaves_close(Leaves *leaves)
{
	FreeAccessStrategy(leaves->strategy);
	pfree(leaves->copy);
	pfree(leaves);
}
