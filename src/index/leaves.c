/*
 * leaves.c
 *		See leaves.h.
 *
 * Pages are copied under their lock, so that no buffer stays pinned.  What can be seen of a
 * broken file on the way is looked at: a merge would carry it into the new one.
 */
#include "postgres.h"

#include "index/horizon.h"
#include "index/leaves.h"
#include "miscadmin.h"
#include "progress.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

struct Leaves
{
	RelationData rel;			/* the index as it was */
	BufferAccessStrategy strategy;
	bool		keep_dead;		/* snapshots on standbys may still see rows that are dead here */
	BlockNumber nblocks;
	BlockNumber nread;
	BlockNumber next;			/* P_NONE: there is none */
	char	   *copy;
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

static BTPageOpaque
read_page(Leaves *leaves, BlockNumber block)
{
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	if (block >= leaves->nblocks)
		leaves_raise_corrupted(leaves, "points beyond the end");
	/* in a right-linked list each page comes once, the way down has few */
	if (leaves->nread++ > leaves->nblocks + BTREE_METAPAGE + 64)
		leaves_raise_corrupted(leaves, "is part of a circle");
	leaves->page.block = block;

	/* the storage manager may have let go of the file since the last page */
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

/* The leftmost leaf; what is being deleted is passed by. */
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

	/* a shallow copy that statistics know nothing of */
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

/* An item of the page, if it is sound. */
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
	if (BTreeTupleIsPosting(item) &&
		BTreeTupleGetPostingOffset(item) +
		BTreeTupleGetNPosting(item) * sizeof(ItemPointerData) > size)
		leaves_raise_corrupted(leaves, "has an item that is too short");
	return item;
}

const LeafPage *
leaves_next(Leaves *leaves)
{
	LeafPage   *page = &leaves->page;

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
