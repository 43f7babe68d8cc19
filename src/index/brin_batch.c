/*
 * brin_batch.c
 *		Entries of a BRIN index, inserted range by range; see batch.h.
 *
 * The rows of a range of blocks are summarized here as they pass by, and the
 * summary is united with that of the index once, where the server's insertion
 * reads that of the index for each row.  A range that has no summary there gets
 * none, as with the server, unless all of its rows are known to have come here.
 *
 * What somebody summarizes meanwhile has the rows that wait: they are in the
 * table, and a summary is of all versions of rows.
 *
 * Price: 100 bytes for each range, or what its summary takes.
 */
#include "postgres.h"

#include "access/brin.h"
#include "access/brin_internal.h"
#include "access/brin_pageops.h"
#include "access/brin_tuple.h"
#include "access/detoast.h"
#include "access/genam.h"
#include "index/batch.h"
#include "index/brin_page.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "server/compat.h"
#include "server/wal_written.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/* A range of blocks with rows that wait. */
typedef struct BrinRange
{
	BlockNumber first;			/* block; the hash key */
	bool		begun;			/* its very first row waits */
	BrinTuple  *summary;		/* NULL: in current */
	Size		size;
} BrinRange;

/* Bytes of it and of its place in the hash table, about. */
#define RANGE_OVERHEAD 100

typedef struct BrinBatch
{
	Batch		base;
	MemoryContext context;
	BrinDesc   *desc;
	BlockNumber blocks;			/* of a range */
	BlockNumber complete_from;	/* all rows of ranges between these come here */
	BlockNumber complete_to;
	MinmaxKind	kinds[INDEX_MAX_KEYS];
	BrinPage   *page;			/* NULL: it takes rows only */

	HTAB	   *ranges;			/* NULL: nothing waits */
	Size		size;			/* of their summaries */
	BrinRange  *range;			/* the current one, or NULL */
	BrinMemTuple *current;
} BrinBatch;

/*
 * The optional support function of brin_inclusion.c that its union calls all the same.  PostGIS's
 * operator classes have none, and the server seldom unites summaries.
 */
#define INCLUSION_MERGE 11

bool
brin_batch_serves(Relation index)
{
	for (int i = 1; i <= RelationGetDescr(index)->natts; i++)
		if (index_getprocid(index, i, BRIN_PROCNUM_UNION) == F_BRIN_INCLUSION_UNION &&
			!OidIsValid(index_getprocid(index, i, INCLUSION_MERGE)))
			return false;
	return true;
}

static Batch *
brin_batch_open(Relation heap, Relation index, Size budget)
{
	BrinBatch  *batch = palloc0(sizeof(BrinBatch));

	for (int i = 0; i < RelationGetDescr(index)->natts; i++)
		batch->kinds[i] = minmax_kind(index, i);
	batch->page = brin_page_open(heap, index);
	batch->base = (Batch) {
		.routine = &brin_batch,
		.heap = heap,
		.index = index,
		.takes_pages = batch->page != NULL
	};
	batch->context = AllocSetContextCreate(CurrentMemoryContext, "ranges of blocks",
										   ALLOCSET_DEFAULT_SIZES);
	batch->desc = brin_build_desc(index);
	batch->current = brin_new_memtuple(batch->desc);
	batch->complete_from = InvalidBlockNumber;
	/* the setting may have changed since the index was built */
	brinRevmapTerminate(compat_brin_revmap(index, &batch->blocks));
	return &batch->base;
}

void
brin_batch_complete(Batch *base, BlockNumber first, BlockNumber end)
{
	BrinBatch  *batch = (BrinBatch *) base;

	batch->complete_from = first;
	batch->complete_to = end;
}

/* ---- summaries in memory, as brin.c makes them ---- */

/* What brin_minmax_add_value does to a column that has values. */
static inline void
add_number(BrinValues *column, Datum value, MinmaxKind kind)
{
	int64		number = minmax_number(kind, value);

	if (number < minmax_number(kind, column->bv_values[0]))
		column->bv_values[0] = value;
	if (number > minmax_number(kind, column->bv_values[1]))
		column->bv_values[1] = value;
}

/* The current range has a row with this value; the current context is that of its values. */
static void
add_value(BrinBatch *batch, int i, Datum value, bool isnull)
{
	Relation	index = batch->base.index;
	BrinMemTuple *summary = batch->current;
	BrinValues *column = &summary->bt_columns[i];
	bool		had_nulls = !summary->bt_empty_range &&
		(column->bv_hasnulls || column->bv_allnulls);

	if (batch->kinds[i] != MINMAX_OTHER && !isnull && !column->bv_allnulls)
	{
		add_number(column, value, batch->kinds[i]);
		return;
	}
	if (isnull && batch->desc->bd_info[i]->oi_regular_nulls)
	{
		column->bv_hasnulls = true;
		return;
	}
	(void) FunctionCall4Coll(index_getprocinfo(index, i + 1, BRIN_PROCNUM_ADDVALUE),
							 index->rd_indcollation[i], PointerGetDatum(batch->desc),
							 PointerGetDatum(column), value, BoolGetDatum(isnull));
	if (had_nulls && !column->bv_allnulls)
		column->bv_hasnulls = true;
}

/* A value that is stored elsewhere, or compressed, is read once. */
static Datum
fetch_value(BrinBatch *batch, int i, Datum value)
{
	const BrinDesc *desc = batch->desc;

	if (TupleDescAttr(desc->bd_tupdesc, i)->attlen != -1 ||
		!(VARATT_IS_EXTERNAL(DatumGetPointer(value)) ||
		  VARATT_IS_COMPRESSED(DatumGetPointer(value))))
		return value;
	return PointerGetDatum(detoast_attr((struct varlena *) DatumGetPointer(value)));
}

static void
copy_column(const BrinOpcInfo *info, BrinValues *to, const BrinValues *from)
{
	to->bv_allnulls = false;
	for (int i = 0; i < info->oi_nstored; i++)
		to->bv_values[i] = datumCopy(from->bv_values[i], info->oi_typcache[i]->typbyval,
									 info->oi_typcache[i]->typlen);
}

/* A column of a range that has rows, with one of another summary that has, too. */
static void
unite_column(BrinBatch *batch, int i, BrinValues *to, BrinValues *from)
{
	Relation	index = batch->base.index;
	const BrinOpcInfo *info = batch->desc->bd_info[i];

	if (info->oi_regular_nulls)
	{
		if (!to->bv_allnulls && (from->bv_hasnulls || from->bv_allnulls))
			to->bv_hasnulls = true;
		if (from->bv_allnulls)
			return;
		if (to->bv_allnulls)
		{
			to->bv_hasnulls = true;
			copy_column(info, to, from);
			return;
		}
	}
	(void) FunctionCall3Coll(index_getprocinfo(index, i + 1, BRIN_PROCNUM_UNION),
							 index->rd_indcollation[i], PointerGetDatum(batch->desc),
							 PointerGetDatum(to), PointerGetDatum(from));
}

/* Takes another summary in, with copies of its values in the current context. */
static void
unite(BrinBatch *batch, BrinMemTuple *to, BrinMemTuple *from)
{
	for (int i = 0; i < batch->desc->bd_tupdesc->natts && !from->bt_empty_range; i++)
	{
		BrinValues *column = &to->bt_columns[i];
		BrinValues *other = &from->bt_columns[i];

		if (!to->bt_empty_range)
			unite_column(batch, i, column, other);
		else
		{
			column->bv_hasnulls = other->bv_hasnulls;
			column->bv_allnulls = other->bv_allnulls;
			if (!other->bv_allnulls)
				copy_column(batch->desc->bd_info[i], column, other);
		}
	}
	to->bt_empty_range &= from->bt_empty_range;
}

/* ---- collecting ---- */

/* The current range is left. */
static void
stash(BrinBatch *batch)
{
	BrinRange  *range = batch->range;
	MemoryContext old;

	if (range == NULL)
		return;
	old = MemoryContextSwitchTo(batch->context);
	range->summary = brin_form_tuple(batch->desc, range->first, batch->current, &range->size);
	batch->size += range->size;
	MemoryContextSwitchTo(old);
	batch->range = NULL;
}

/* Makes the range of a block the current one. */
static void
enter(BrinBatch *batch, BlockNumber first)
{
	bool		found;

	stash(batch);
	if (batch->ranges == NULL)
	{
		HASHCTL		info = {
			.keysize = sizeof(BlockNumber),
			.entrysize = sizeof(BrinRange),
			.hcxt = batch->context
		};

		batch->ranges = hash_create("ranges of blocks", 256, &info,
									HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	batch->range = hash_search(batch->ranges, &first, HASH_ENTER, &found);
	if (!found)
	{
		batch->range->begun = false;
		(void) brin_memtuple_initialize(batch->current, batch->desc);
	}
	else
	{
		(void) brin_deform_tuple(batch->desc, batch->range->summary, batch->current);
		batch->size -= batch->range->size;
		pfree(batch->range->summary);
	}
	batch->range->summary = NULL;
}

/* Makes the range of a block the current one, and returns the context of its values. */
static inline MemoryContext
enter_block(BrinBatch *batch, BlockNumber block)
{
	BlockNumber first = block - block % batch->blocks;

	if (batch->range == NULL || batch->range->first != first)
	{
		MemoryContext old = MemoryContextSwitchTo(batch->context);

		enter(batch, first);
		MemoryContextSwitchTo(old);
	}
	return batch->current->bt_context;
}

static void
brin_batch_put(Batch *base, const ItemPointerData *tid, const Datum *values, const bool *isnull)
{
	BrinBatch  *batch = (BrinBatch *) base;
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	Datum		fetched[INDEX_MAX_KEYS];
	MemoryContext old;

	for (int i = 0; i < batch->desc->bd_tupdesc->natts; i++)
		fetched[i] = isnull[i] ? (Datum) 0 : fetch_value(batch, i, values[i]);
	old = MemoryContextSwitchTo(enter_block(batch, block));
	for (int i = 0; i < batch->desc->bd_tupdesc->natts; i++)
		add_value(batch, i, fetched[i], isnull[i]);
	MemoryContextSwitchTo(old);
	batch->current->bt_empty_range = false;
	if (block == batch->range->first && ItemPointerGetOffsetNumber(tid) == FirstOffsetNumber)
		batch->range->begun = true;
}

/* Rows in a block or a range that begins with it, one at least. */
static void
put_columns(BrinBatch *batch, BlockNumber block, const MinmaxColumn *columns)
{
	MemoryContext old = MemoryContextSwitchTo(enter_block(batch, block));

	for (int i = 0; i < batch->desc->bd_tupdesc->natts; i++)
	{
		if (columns[i].has_values)
		{
			add_value(batch, i, columns[i].least, false);
			add_value(batch, i, columns[i].greatest, false);
		}
		if (columns[i].has_nulls)
			add_value(batch, i, (Datum) 0, true);
	}
	MemoryContextSwitchTo(old);
	batch->current->bt_empty_range = false;
}

static int
brin_batch_put_page(Batch *base, BlockNumber block, Page page)
{
	BrinBatch  *batch = (BrinBatch *) base;
	int			nrows;
	const MinmaxColumn *columns = brin_page_read(batch->page, page, &nrows);

	if (nrows == 0)
		return 0;
	put_columns(batch, block, columns);
	if (block == batch->range->first && ItemIdIsNormal(PageGetItemId(page, FirstOffsetNumber)))
		batch->range->begun = true;
	return nrows;
}

bool
brin_batch_put_passed(Batch *base, const BrinPassed *passed, BlockNumber nblocks)
{
	BrinBatch  *batch = (BrinBatch *) base;
	const MinmaxColumn *columns = passed->columns;

	Assert(passed->ncolumns == batch->desc->bd_tupdesc->natts && passed->first == 0);
	if (passed->blocks != batch->blocks)
		return false;
	Assert(nblocks == 0 || (nblocks - 1) / passed->blocks < passed->nranges);
	for (uint64 first = 0; first < nblocks; first += batch->blocks)
	{
		CHECK_FOR_INTERRUPTS();
		put_columns(batch, first, columns);
		columns += passed->ncolumns;
	}
	return true;
}

static Size
brin_batch_memory(const Batch *base)
{
	const BrinBatch *batch = (const BrinBatch *) base;

	return batch->ranges == NULL ? 0 : BATCH_PRESORT_OVERHEAD + batch->size +
		hash_get_num_entries(batch->ranges) * RANGE_OVERHEAD;
}

/* ---- inserting ---- */

/* What the server asks autovacuum for when the first row of the next range comes. */
static void
request_summary(BrinBatch *batch, BrinRevmap *revmap, BlockNumber block)
{
	Relation	index = batch->base.index;
	Buffer		buffer = InvalidBuffer;
	OffsetNumber offset;

	if (compat_brin_tuple(revmap, block, &buffer, &offset, NULL) != NULL)
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	else if (!AutoVacuumRequestWork(AVW_BRINSummarizeRange, RelationGetRelid(index), block))
		ereport(LOG,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("request for BRIN range summarization for index \"%s\" page %u was not recorded",
						RelationGetRelationName(index), block)));
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
}

/* Unites the summary of a range with that of the index; false: that has changed meanwhile. */
static bool
insert_range(BrinBatch *batch, BrinRevmap *revmap, const BrinRange *range, Buffer *buffer)
{
	Relation	index = batch->base.index;
	BrinMemTuple *summary;
	BrinTuple  *before;
	BrinTuple  *after;
	OffsetNumber offset;
	Size		size;
	Size		size_after;
	bool		same_page;

	before = compat_brin_tuple(revmap, range->first, buffer, &offset, &size);
	if (before == NULL)
	{
		if (range->first >= batch->complete_from &&
			(uint64) range->first + batch->blocks <= batch->complete_to)
			(void) brin_doinsert(index, batch->blocks, revmap, buffer, range->first,
								 range->summary, range->size);
		return true;
	}
	before = brin_copy_tuple(before, size, NULL, NULL);
	LockBuffer(*buffer, BUFFER_LOCK_UNLOCK);
	summary = brin_deform_tuple(batch->desc, before, NULL);
	MemoryContextSwitchTo(summary->bt_context);
	unite(batch, summary, brin_deform_tuple(batch->desc, range->summary, NULL));
	after = brin_form_tuple(batch->desc, range->first, summary, &size_after);
	if (brin_tuples_equal(before, size, after, size_after))
		return true;
	same_page = brin_can_do_samepage_update(*buffer, size, size_after);
	return brin_doupdate(index, batch->blocks, revmap, range->first, *buffer, offset,
						 before, size, after, size_after, same_page);
}

static int
compare_ranges(const void *a, const void *b)
{
	BlockNumber first_a = (*(BrinRange *const *) a)->first;
	BlockNumber first_b = (*(BrinRange *const *) b)->first;

	return first_a < first_b ? -1 : first_a > first_b;
}

/* Memory: the current context. */
static BrinRange **
sort_ranges(BrinBatch *batch, int n)
{
	BrinRange **ranges = palloc(n * sizeof(BrinRange *));
	HASH_SEQ_STATUS status;

	hash_seq_init(&status, batch->ranges);
	for (int i = 0; i < n; i++)
		ranges[i] = hash_seq_search(&status);
	hash_seq_term(&status);
	qsort(ranges, n, sizeof(BrinRange *), compare_ranges);
	return ranges;
}

static void
brin_batch_insert(Batch *base)
{
	BrinBatch  *batch = (BrinBatch *) base;
	Relation	index = base->index;
	Buffer		buffer = InvalidBuffer;
	MemoryContext scratch;
	MemoryContext old;
	BrinRange **ranges;
	BrinRevmap *revmap;
	BlockNumber blocks;
	int			n;

	if (batch->ranges == NULL)
		return;
	stash(batch);
	scratch = AllocSetContextCreate(batch->context, "range of blocks", ALLOCSET_DEFAULT_SIZES);
	n = hash_get_num_entries(batch->ranges);
	old = MemoryContextSwitchTo(batch->context);
	ranges = sort_ranges(batch, n);
	revmap = compat_brin_revmap(index, &blocks);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		wal_written();
		CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
		if (ranges[i]->begun && ranges[i]->first > 0 && BrinGetAutoSummarize(index))
			request_summary(batch, revmap, ranges[i]->first - 1);
		do
		{
			MemoryContextSwitchTo(scratch);
			MemoryContextReset(scratch);
		} while (!insert_range(batch, revmap, ranges[i], &buffer));
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	brinRevmapTerminate(revmap);
	MemoryContextSwitchTo(old);
	batch->ranges = NULL;
	batch->size = 0;
	MemoryContextReset(batch->context);
}

/* A range of blocks without summary gets one of no rows.  *buffer: as brin_doinsert has it. */
static void
fill_range(BrinBatch *batch, BrinRevmap *revmap, BlockNumber first, Buffer *buffer)
{
	OffsetNumber offset;
	BrinTuple  *summary;
	Size		size;

	if (compat_brin_tuple(revmap, first, buffer, &offset, NULL) != NULL)
	{
		LockBuffer(*buffer, BUFFER_LOCK_UNLOCK);
		return;
	}
	summary = brin_form_tuple(batch->desc, first,
							  brin_memtuple_initialize(batch->current, batch->desc), &size);
	(void) brin_doinsert(batch->base.index, batch->blocks, revmap, buffer, first, summary, size);
	pfree(summary);
}

double
brin_batch_fill(Batch *base, BlockNumber nblocks)
{
	BrinBatch  *batch = (BrinBatch *) base;
	Buffer		buffer = InvalidBuffer;
	BlockNumber blocks;
	BrinRevmap *revmap = compat_brin_revmap(base->index, &blocks);
	double		n = 0;

	Assert(batch->ranges == NULL);
	for (uint64 first = 0; first < nblocks; first += blocks)
	{
		CHECK_FOR_INTERRUPTS();
		fill_range(batch, revmap, first, &buffer);
		n++;
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	brinRevmapTerminate(revmap);
	return n;
}

const BatchRoutine brin_batch = {
	.open = brin_batch_open,
	.put = brin_batch_put,
	.put_page = brin_batch_put_page,
	.memory = brin_batch_memory,
	.insert = brin_batch_insert,
};
