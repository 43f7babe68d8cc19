/*
 * gin_batch.c
 *		Entries of a GIN index, inserted key by key and leaf by leaf; see batch.h.
 *
 * The keys of all rows are sorted, each with the rows that have it.  One descent
 * and one exclusive lock of a leaf of the entry tree serve all keys that belong
 * there.  Their new tuples are staged while the page stays as it is: a new key, or
 * one whose posting list grows.  Then all go to the page, with the records of the
 * server's own insertion, or with an image of the page where that is less to write.
 * Keys that have a posting tree are put there when the leaf is released.  All else
 * is left to the server with no lock held: a page that is full, a list that
 * becomes a tree.
 *
 * Entries go to the tree although fastupdate may be on: it is there for rows that
 * come one by one, and a list that is emptied into the tree again and again while
 * rows come in would only be work.
 *
 * Price: 32 bytes for each integer of a row, 12 for other keys, and each distinct
 * one of these; while a leaf is filled, others wait for it.
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "access/ginxlog.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "index/batch.h"
#include "index/failed_row.h"
#include "index/huge_array.h"
#include "index/presort.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/wal_written.h"
#include "storage/predicate.h"
#include "utils/datum.h"
#include "utils/memutils.h"

/* A key of that size surely fits a page. */
#define SURELY_FITS (GinMaxItemSize / 2)

/* Rows that may wait for posting trees while a leaf is locked. */
#define MAX_LATER_ROWS 32768

/* What a record takes beside its tuple: headers of the record and the block. */
#define RECORD_SIZE (SizeOfXLogRecord + SizeOfXLogRecordBlockHeader + sizeof(RelFileLocator) + \
					 sizeof(BlockNumber) + SizeOfXLogRecordDataHeaderShort + \
					 sizeof(ginxlogInsert) + offsetof(ginxlogInsertEntry, tuple))

/* Categories of entries that have no key: GIN_CAT_NULL_KEY and those behind it. */
#define KEYLESS_CATEGORIES GIN_CAT_NULL_ITEM

/* Rows with such an entry. */
typedef struct KeylessRows
{
	RowId	   *rows;
	Size		n;
	Size		capacity;
} KeylessRows;

typedef struct GinColumn
{
	KeyShape   *shape;
	Presort    *presort;		/* NULL: no key waits */
	KeylessRows keyless[KEYLESS_CATEGORIES];
} GinColumn;

/* A new tuple of the leaf. */
typedef struct StagedTuple
{
	OffsetNumber offset;		/* of an old one: before it, or in its place */
	bool		replaces;
	IndexTuple	tuple;
} StagedTuple;

/* Rows for a posting tree. */
typedef struct TreeRows
{
	BlockNumber root;
	uint32		first;			/* in later_tids */
	uint32		n;
} TreeRows;

/* The leaf that is at work, and what is to come of it. */
typedef struct GinLeaf
{
	GinBtreeStack *stack;		/* with the leaf locked; NULL: none is */
	GinBtreeData btree;
	int			room;			/* bytes left on it */

	int			nstaged;
	Size		staged_size;
	StagedTuple staged[MaxIndexTuplesPerPage];

	/* what goes to posting trees when it is released */
	int			nlater;
	TreeRows	later[MaxIndexTuplesPerPage];
	uint32		nlater_tids;
	ItemPointerData later_tids[MAX_LATER_ROWS];
} GinLeaf;

typedef struct GinBatch
{
	Batch		base;
	Size		budget;
	MemoryContext context;
	MemoryContext scratch;		/* of a leaf */
	GinState	state;
	GinColumn	columns[INDEX_MAX_KEYS];

	/* while entries are inserted: the current key and its rows */
	OffsetNumber attnum;
	GinNullCategory category;
	Datum		key;
	ItemPointerData *tids;
	Size		ntids;
	Size		tids_capacity;
	GinLeaf    *leaf;

	/* of an index that is built; NULL: it has its place in the WAL */
	GinBuildStats *build;
} GinBatch;

/* ---- collecting ---- */

static Batch *
gin_batch_open(Relation heap, Relation index, Size budget)
{
	GinBatch   *batch = palloc0(sizeof(GinBatch));
	GinState   *state = &batch->state;

	batch->base = (Batch) {&gin_batch, heap, index};
	batch->budget = budget;
	batch->context = CurrentMemoryContext;
	batch->scratch = AllocSetContextCreate(CurrentMemoryContext, "leaf of a GIN index",
										   ALLOCSET_DEFAULT_SIZES);
	initGinState(state, index);
	for (int i = 0; i < state->origTupdesc->natts; i++)
	{
		TupleDesc	desc = CreateTemplateTupleDesc(1);

		TupleDescCopyEntry(desc, 1, state->origTupdesc, i + 1);
		compat_finalize_desc(desc);
		batch->columns[i].shape = shape_open_value(desc, state->compareFn[i].fn_oid,
												   state->supportCollation[i]);
	}
	return &batch->base;
}

/* Throws if no page can hold a key, as long as it is known whose it is. */
static void
check_size(GinBatch *batch, OffsetNumber attnum, Datum key)
{
	Form_pg_attribute att = TupleDescAttr(batch->state.origTupdesc, attnum - 1);

	if (!att->attbyval && datumGetSize(key, false, att->attlen) > SURELY_FITS)
		pfree(GinFormTuple(&batch->state, attnum, key, GIN_CAT_NORM_KEY, NULL, 0, 0, true));
}

static void
put_keyless(GinBatch *batch, KeylessRows *keyless, RowId row)
{
	if (keyless->n == keyless->capacity)
		keyless->rows = huge_array_grow(batch->context, keyless->rows, keyless->n,
										&keyless->capacity, sizeof(RowId));
	keyless->rows[keyless->n++] = row;
}

static void
put_key(GinBatch *batch, OffsetNumber attnum, const ItemPointerData *tid, Datum key)
{
	GinColumn  *column = &batch->columns[attnum - 1];
	bool		isnull = false;

	check_size(batch, attnum, key);
	if (column->presort == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(batch->context);

		column->presort = presort_open(column->shape, batch->budget,
									   (PresortOptions) {.stays = true});
		MemoryContextSwitchTo(old);
	}
	presort_put(column->presort, tid, &key, &isnull, true);
}

static void
gin_batch_put(Batch *base, const ItemPointerData *tid, const Datum *values, const bool *isnull)
{
	GinBatch   *batch = (GinBatch *) base;

	for (OffsetNumber attnum = 1; attnum <= batch->state.origTupdesc->natts; attnum++)
	{
		GinColumn  *column = &batch->columns[attnum - 1];
		GinNullCategory *categories;
		int32		n;
		Datum	   *keys = ginExtractEntries(&batch->state, attnum, values[attnum - 1],
											 isnull[attnum - 1], &n, &categories);

		for (int32 i = 0; i < n; i++)
			if (categories[i] == GIN_CAT_NORM_KEY)
				put_key(batch, attnum, tid, keys[i]);
			else
				put_keyless(batch, &column->keyless[categories[i] - 1], row_id(tid, true));
	}
}

static Size
gin_batch_memory(const Batch *base)
{
	const GinBatch *batch = (const GinBatch *) base;
	Size		size = 0;

	for (int i = 0; i < batch->state.origTupdesc->natts; i++)
	{
		const GinColumn *column = &batch->columns[i];

		if (column->presort != NULL)
			size += presort_memory(column->presort) + BATCH_PRESORT_OVERHEAD;
		for (int k = 0; k < KEYLESS_CATEGORIES; k++)
			size += column->keyless[k].n * sizeof(RowId);
	}
	return size;
}

/* ---- the leaf and its new tuples ---- */

static inline Page
leaf_page(const GinBatch *batch)
{
	return BufferGetPage(batch->leaf->stack->buffer);
}

static void
add_tuple(GinBatch *batch, Page page, IndexTuple tuple, OffsetNumber offset)
{
	if (PageAddItem(page, (char *) tuple, IndexTupleSize(tuple), offset, false, false) != offset)
		elog(ERROR, "failed to add item to index page in \"%s\"",
			 RelationGetRelationName(batch->base.index));
}

/* The page with all its tuples, old and new, in the scratch context. */
static Page
make_page(GinBatch *batch)
{
	const GinLeaf *leaf = batch->leaf;
	Page		page = leaf_page(batch);
	Page		new = PageGetTempPageCopySpecial(page);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber place = FirstOffsetNumber;
	int			i = 0;

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last + 1; offset++)
	{
		bool		replaced = false;

		for (; i < leaf->nstaged && leaf->staged[i].offset == offset; i++)
		{
			replaced |= leaf->staged[i].replaces;
			add_tuple(batch, new, leaf->staged[i].tuple, place++);
		}
		if (offset <= last && !replaced)
			add_tuple(batch, new,
					  (IndexTuple) PageGetItem(page, PageGetItemId(page, offset)), place++);
	}
	Assert(i == leaf->nstaged);
	PageSetLSN(new, PageGetLSN(page));
	return new;
}

/* Whether changes are written to the WAL one by one: all pages of a new index are, at last. */
static inline bool
needs_wal(const GinBatch *batch)
{
	return batch->build == NULL && RelationNeedsWAL(batch->base.index);
}

static inline GinStatsData *
stats_of(GinBatch *batch)
{
	return batch->build == NULL ? NULL : &batch->build->pages;
}

/* All new tuples, and an image of the page. */
static void
put_with_image(GinBatch *batch)
{
	Buffer		buffer = batch->leaf->stack->buffer;
	Page		new = make_page(batch);

	START_CRIT_SECTION();
	PageRestoreTempPage(new, BufferGetPage(buffer));
	MarkBufferDirty(buffer);
	if (needs_wal(batch))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
}

/* One with its record, as the server's insertion does (ginentrypage.c). */
static void
put_with_record(GinBatch *batch, const StagedTuple *staged, OffsetNumber offset)
{
	Buffer		buffer = batch->leaf->stack->buffer;
	Page		page = BufferGetPage(buffer);
	ginxlogInsert record = {.flags = GIN_INSERT_ISLEAF};
	ginxlogInsertEntry entry;

	START_CRIT_SECTION();
	if (staged->replaces)
		PageIndexTupleDelete(page, offset);
	add_tuple(batch, page, staged->tuple, offset);
	MarkBufferDirty(buffer);
	if (needs_wal(batch))
	{
		XLogRecPtr	lsn;

		entry.offset = offset;
		entry.isDelete = staged->replaces;
		XLogBeginInsert();
		XLogRegisterData((char *) &record, sizeof(record));
		XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
		XLogRegisterBufData(0, (char *) &entry, offsetof(ginxlogInsertEntry, tuple));
		XLogRegisterBufData(0, (char *) staged->tuple, IndexTupleSize(staged->tuple));
		lsn = XLogInsert(RM_GIN_ID, XLOG_GIN_INSERT);
		PageSetLSN(page, lsn);
	}
	END_CRIT_SECTION();
}

/* Whether an image of the page is less to write than records of its new tuples. */
static bool
image_is_less(const GinBatch *batch)
{
	const GinLeaf *leaf = batch->leaf;
	if (leaf->nstaged < 2)
		return false;
	return !needs_wal(batch) ||
		XLogCheckBufferNeedsBackup(leaf->stack->buffer) ||
		leaf->nstaged * RECORD_SIZE + leaf->staged_size > BLCKSZ - leaf->room + RECORD_SIZE;
}

static void
put_staged(GinBatch *batch)
{
	GinLeaf    *leaf = batch->leaf;
	int			inserted = 0;

	if (leaf->nstaged == 0)
		return;
	CheckForSerializableConflictIn(batch->base.index, NULL,
								   BufferGetBlockNumber(leaf->stack->buffer));
	if (image_is_less(batch))
		put_with_image(batch);
	else
		for (int i = 0; i < leaf->nstaged; i++)
		{
			const StagedTuple *staged = &leaf->staged[i];

			put_with_record(batch, staged, staged->offset + inserted);
			inserted += !staged->replaces;
		}
	leaf->nstaged = 0;
	leaf->staged_size = 0;
}

/* New tuples go to the leaf, which is released, and what was to come later to posting trees. */
static void
leave_leaf(GinBatch *batch)
{
	GinLeaf    *leaf = batch->leaf;
	if (leaf->stack == NULL)
		return;
	put_staged(batch);
	LockBuffer(leaf->stack->buffer, GIN_UNLOCK);
	freeGinBtreeStack(leaf->stack);
	leaf->stack = NULL;
	for (int i = 0; i < leaf->nlater; i++)
	{
		const TreeRows *later = &leaf->later[i];

		CHECK_FOR_INTERRUPTS();
		wal_written();
		ginInsertItemPointers(batch->base.index, later->root, leaf->later_tids + later->first,
							  later->n, stats_of(batch));
	}
	leaf->nlater = 0;
	leaf->nlater_tids = 0;
	MemoryContextReset(batch->scratch);
}

/* Has the current key's leaf locked. */
static void
find_leaf(GinBatch *batch)
{
	GinLeaf    *leaf = batch->leaf;
	GinBtree	btree = &leaf->btree;

	if (leaf->stack != NULL)
	{
		btree->entryAttnum = batch->attnum;
		btree->entryKey = batch->key;
		btree->entryCategory = batch->category;
		if (!btree->isMoveRight(btree, leaf_page(batch)))
			return;
		leave_leaf(batch);
	}
	CHECK_FOR_INTERRUPTS();
	wal_written();
	ginPrepareEntryScan(btree, batch->attnum, batch->key, batch->category, &batch->state);
	btree->isBuild = batch->build != NULL;
	leaf->stack = compat_gin_find_leaf(btree);
	leaf->room = PageGetExactFreeSpace(leaf_page(batch));
}

/* ---- a key's place ---- */

/* The key with these rows in a posting list; NULL: there are too many. */
static IndexTuple
form_tuple(GinBatch *batch, ItemPointerData *tids, uint32 n)
{
	IndexTuple	tuple = NULL;
	int			written;
	GinPostingList *list = ginCompressPostingList(tids, n, GinMaxItemSize, &written);

	if (written == n)
		tuple = GinFormTuple(&batch->state, batch->attnum, batch->key, batch->category,
							 (char *) list, SizeOfGinPostingList(list), n, false);
	pfree(list);
	return tuple;
}

/* The same for a key that is there with a posting list already. */
static IndexTuple
form_longer_tuple(GinBatch *batch, IndexTuple old)
{
	int			nold;
	int			n;
	ItemPointer old_tids = ginReadTuple(&batch->state, batch->attnum, old, &nold);
	ItemPointer tids = ginMergeItemPointers(batch->tids, batch->ntids, old_tids, nold, &n);
	IndexTuple	tuple = form_tuple(batch, tids, n);

	pfree(old_tids);
	pfree(tids);
	return tuple;
}

/* False: the tuple does not fit the page. */
static bool
stage(GinBatch *batch, OffsetNumber offset, IndexTuple old, IndexTuple tuple)
{
	GinLeaf    *leaf = batch->leaf;
	int			size = MAXALIGN(IndexTupleSize(tuple));
	int			more = old != NULL ? size - (int) MAXALIGN(IndexTupleSize(old)) :
		size + (int) sizeof(ItemIdData);

	if (more > leaf->room || leaf->nstaged == lengthof(leaf->staged))
		return false;
	leaf->staged[leaf->nstaged++] = (StagedTuple) {offset, old != NULL, tuple};
	leaf->staged_size += size;
	leaf->room -= more;
	return true;
}

/* Rows go to a posting tree when the leaf is released; false: there is no place to wait. */
static bool
put_later(GinBatch *batch, BlockNumber root)
{
	GinLeaf    *leaf = batch->leaf;
	if (leaf->nlater == lengthof(leaf->later) ||
		batch->ntids > lengthof(leaf->later_tids) - leaf->nlater_tids)
		return false;
	memcpy(leaf->later_tids + leaf->nlater_tids, batch->tids,
		   batch->ntids * sizeof(ItemPointerData));
	leaf->later[leaf->nlater++] = (TreeRows) {root, leaf->nlater_tids, batch->ntids};
	leaf->nlater_tids += batch->ntids;
	return true;
}

/* Whether the key is behind those that are staged, as it ought to be. */
static bool
is_in_order(const GinBatch *batch, OffsetNumber offset)
{
	const GinLeaf *leaf = batch->leaf;
	const StagedTuple *last;

	if (leaf->nstaged == 0)
		return true;
	last = &leaf->staged[leaf->nstaged - 1];
	return offset >= last->offset + (last->replaces ? 1 : 0);
}

/* The current key goes to the leaf, or to a posting tree; false: the server is to insert it. */
static bool
put_on_leaf(GinBatch *batch)
{
	GinLeaf    *leaf = batch->leaf;
	IndexTuple	old = NULL;
	IndexTuple	tuple;

	if (leaf->btree.findItem(&leaf->btree, leaf->stack))
		old = (IndexTuple) PageGetItem(leaf_page(batch),
									   PageGetItemId(leaf_page(batch), leaf->stack->off));
	if (old != NULL && GinIsPostingTree(old))
		return put_later(batch, GinGetPostingTree(old));
	if (!is_in_order(batch, leaf->stack->off))
		return false;
	/* a row takes a byte at least */
	if (batch->ntids > GinMaxItemSize)
		return false;
	tuple = old != NULL ? form_longer_tuple(batch, old) :
		form_tuple(batch, batch->tids, batch->ntids);
	if (tuple == NULL || !stage(batch, leaf->stack->off, old, tuple))
		return false;
	if (old == NULL && batch->build != NULL)
		batch->build->pages.nEntries++;
	return true;
}

/* Inserts the current key, whose rows are all there. */
static void
end_key(GinBatch *batch)
{
	MemoryContext old;
	FailedRowContext failing;

	if (batch->ntids == 0)
		return;
	old = MemoryContextSwitchTo(batch->scratch);
	failed_row_begin(&failing, batch->base.heap, batch->tids);
	find_leaf(batch);
	if (!put_on_leaf(batch))
	{
		leave_leaf(batch);
		ginEntryInsert(&batch->state, batch->attnum, batch->key, batch->category,
					   batch->tids, batch->ntids, stats_of(batch));
		MemoryContextReset(batch->scratch);
	}
	failed_row_end(&failing);
	if (batch->build != NULL)
		batch->build->entries += batch->ntids;
	MemoryContextSwitchTo(old);
	batch->ntids = 0;
}

/* ---- inserting ---- */

void
gin_batch_build(Batch *base, GinBuildStats *build)
{
	GinBatch   *batch = (GinBatch *) base;

	batch->build = build;
}

static void
take_key(void *arg, const char *image, Size size, bool equal)
{
	GinBatch   *batch = arg;
	bool		isnull;

	if (equal)
		return;
	end_key(batch);
	shape_values(batch->columns[batch->attnum - 1].shape, image, &batch->key, &isnull);
}

static void
take_rows(void *arg, const RowId *rows, uint32 n)
{
	GinBatch   *batch = arg;

	for (uint32 i = 0; i < n; i++)
	{
		if (batch->ntids == batch->tids_capacity)
			batch->tids = huge_array_grow(batch->context, batch->tids, batch->ntids,
										  &batch->tids_capacity, sizeof(ItemPointerData));
		row_tid(rows[i], &batch->tids[batch->ntids++]);
	}
}

static void
insert_column(GinBatch *batch, OffsetNumber attnum)
{
	GinColumn  *column = &batch->columns[attnum - 1];
	KeySink		sink = {.key = take_key,.rows = take_rows,.arg = batch};

	batch->attnum = attnum;
	batch->category = GIN_CAT_NORM_KEY;
	if (column->presort != NULL)
	{
		presort_finish(column->presort, &sink);
		end_key(batch);
	}
	for (int i = 0; i < KEYLESS_CATEGORIES; i++)
	{
		KeylessRows *keyless = &column->keyless[i];

		keysort_numbers(keyless->rows, keyless->n);
		batch->category = i + 1;
		batch->key = (Datum) 0;
		take_rows(batch, keyless->rows, keyless->n);
		end_key(batch);
		if (keyless->rows != NULL)
			pfree(keyless->rows);
		*keyless = (KeylessRows) {0};
	}
	/* the current key of the leaf's search lies there */
	leave_leaf(batch);
	if (column->presort != NULL)
		presort_close(column->presort);
	column->presort = NULL;
}

static void
gin_batch_insert(Batch *base)
{
	GinBatch   *batch = (GinBatch *) base;

	if (gin_batch_memory(base) == 0)
		return;
	batch->leaf = MemoryContextAlloc(batch->context, sizeof(GinLeaf));
	batch->leaf->stack = NULL;
	batch->leaf->nstaged = batch->leaf->nlater = 0;
	batch->leaf->staged_size = batch->leaf->nlater_tids = 0;
	for (OffsetNumber attnum = 1; attnum <= batch->state.origTupdesc->natts; attnum++)
		insert_column(batch, attnum);
	pfree(batch->leaf);
	pfree(batch->tids);
	batch->tids = NULL;
	batch->tids_capacity = 0;
}

const BatchRoutine gin_batch = {
	.open = gin_batch_open,
	.put = gin_batch_put,
	.memory = gin_batch_memory,
	.insert = gin_batch_insert,
};
