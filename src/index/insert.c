/*
 * insert.c
 *		See insert.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "catalog/pg_am_d.h"
#include "index/batch.h"
#include "index/failed_row.h"
#include "index/heap_scan.h"
#include "index/index_sort.h"
#include "index/insert.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/progress.h"
#include "server/wal_written.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* How often it is told how far it is. */
#define TOLD_ENTRIES 64

typedef struct Insertion
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	MemoryContext scratch;		/* for one entry */
	double		nrows;
	double		expected;		/* so many there will be, if there is one for each row */

	Batch	   *batch;			/* NULL: it is a btree, or gets one entry after the other */
	Size		memory;			/* for that */

	/* btrees */
	KeyShape	   *shape;
	IndexSort  *sort;
	Datum		values[INDEX_MAX_KEYS]; /* the current key */
	bool		isnull[INDEX_MAX_KEYS];

	/* duplicates */
	const ConflictSink *conflicts;	/* NULL: they are known, or cannot be */
	BlockNumber first;			/* of the new rows */
	ScanKeyData scan_keys[INDEX_MAX_KEYS];	/* equality */
	uint32		ngroups;
	bool		checked;			/* no two live rows may have the current key */
	bool		fresh;			/* none of its rows is in the index */
	RowId		live_row;		/* a live row with it; 0: none */
	bool		noted;			/* that and another one */
} Insertion;

/* False: another row may have the key; only with UNIQUE_CHECK_PARTIAL. */
static bool
insert_entry(Insertion *insertion, Datum *values, bool *isnull, ItemPointer tid,
			 IndexUniqueCheck check)
{
	MemoryContext old = MemoryContextSwitchTo(insertion->scratch);
	FailedRowContext context;
	bool		unique;

	CHECK_FOR_INTERRUPTS();
	wal_written();
	failed_row_begin(&context, insertion->heap, tid);
	unique = index_insert(insertion->index, values, isnull, tid, insertion->heap,
						  check, false, insertion->info);
	failed_row_end(&context);
	insertion->nrows++;
	if ((int64) insertion->nrows % TOLD_ENTRIES == 0)
		progress_done(insertion->nrows / insertion->expected);
	MemoryContextSwitchTo(old);
	MemoryContextReset(insertion->scratch);
	return unique;
}

/* ---- in the order of the table ---- */

static void
take_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		 bool alive, void *state)
{
	Insertion  *insertion = state;

	insert_entry(insertion, values, isnull, tid, UNIQUE_CHECK_NO);
}

/* ---- in the order of the access method ---- */

static void
insert_batch(Insertion *insertion)
{
	insertion->batch->routine->insert(insertion->batch);
	progress_done(insertion->nrows / insertion->expected);
}

static void
batch_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool alive, void *state)
{
	Insertion  *insertion = state;
	MemoryContext old = MemoryContextSwitchTo(insertion->scratch);

	insertion->batch->routine->put(insertion->batch, tid, values, isnull);
	insertion->nrows++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(insertion->scratch);
	if (insertion->batch->routine->memory(insertion->batch) >= insertion->memory)
		insert_batch(insertion);
}

static int
batch_page(BlockNumber block, Page page, void *state)
{
	Insertion  *insertion = state;
	int			nrows = insertion->batch->routine->put_page(insertion->batch, block, page);

	insertion->nrows += nrows;
	if (insertion->batch->routine->memory(insertion->batch) >= insertion->memory)
		insert_batch(insertion);
	return nrows;
}

/* ---- duplicates ---- */

/* The operator class's equality, for each column. */
static void
init_scan_keys(Insertion *insertion)
{
	Relation	index = insertion->index;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Oid			equality = get_opfamily_member(index->rd_opfamily[i],
												   index->rd_opcintype[i],
												   index->rd_opcintype[i],
												   BTEqualStrategyNumber);

		if (!OidIsValid(equality))
			elog(ERROR, "missing operator %d(%u,%u) in opfamily %u",
				 BTEqualStrategyNumber, index->rd_opcintype[i],
				 index->rd_opcintype[i], index->rd_opfamily[i]);
		ScanKeyEntryInitialize(&insertion->scan_keys[i], 0, i + 1,
							   BTEqualStrategyNumber, InvalidOid,
							   index->rd_indcollation[i], get_opcode(equality), (Datum) 0);
	}
}

/* An old row, alive, with the current key; 0: there is none. */
static RowId
find_live(Insertion *insertion)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(insertion->index);
	SnapshotData dirty;
	IndexScanDesc scan;
	ItemPointer found;
	RowId		live = 0;

	for (int i = 0; i < nkeys; i++)
	{
		insertion->scan_keys[i].sk_argument = insertion->values[i];
		insertion->scan_keys[i].sk_flags = insertion->isnull[i] ?
			SK_ISNULL | SK_SEARCHNULL : 0;
	}
	InitDirtySnapshot(dirty);
	scan = compat_index_beginscan(insertion->heap, insertion->index, &dirty, nkeys);
	index_rescan(scan, insertion->scan_keys, nkeys, NULL, 0);
	while (live == 0 && (found = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		ItemPointerData entry = *found;
		ItemPointerData tid = entry;

		if (ItemPointerGetBlockNumber(&entry) < insertion->first &&
			table_index_fetch_tuple_check(insertion->heap, &tid, &dirty, NULL))
			live = row_id(&entry, true);
	}
	index_endscan(scan);
	return live;
}

/* Inserts a row and records whether another live one has its key. */
static void
insert_recording(Insertion *insertion, RowId row, ItemPointer tid)
{
	const ConflictSink *sink = insertion->conflicts;
	bool		counts = insertion->checked && row_alive(row);
	bool		ask = counts && insertion->fresh;

	if (!insert_entry(insertion, insertion->values, insertion->isnull, tid,
					  ask ? UNIQUE_CHECK_PARTIAL : UNIQUE_CHECK_NO) && ask)
		insertion->live_row = find_live(insertion);
	if (!counts)
		return;
	insertion->fresh = false;
	if (insertion->live_row == 0)
	{
		insertion->live_row = row;
		return;
	}
	if (!insertion->noted)
		sink->add(sink->arg, insertion->ngroups++, insertion->live_row);
	sink->add(sink->arg, insertion->ngroups - 1, row);
	insertion->noted = true;
}

/* ---- in the order of the keys ---- */

static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *state)
{
	Insertion  *insertion = state;

	index_sort_put(insertion->sort, tid, values, isnull, alive);
}

static void
take_key(void *arg, const char *image, Size size, bool equal)
{
	Insertion  *insertion = arg;

	shape_values(insertion->shape, image, insertion->values, insertion->isnull);
	if (insertion->conflicts == NULL || equal)
		return;
	insertion->checked = insertion->info->ii_NullsNotDistinct ||
		!shape_has_null(insertion->shape, image);
	insertion->fresh = true;
	insertion->live_row = 0;
	insertion->noted = false;
}

static void
take_rows(void *arg, const RowId *rows, uint32 n)
{
	Insertion  *insertion = arg;

	for (uint32 i = 0; i < n; i++)
	{
		ItemPointerData tid;

		row_tid(rows[i], &tid);
		if (insertion->conflicts != NULL)
			insert_recording(insertion, rows[i], &tid);
		else
			insert_entry(insertion, insertion->values, insertion->isnull, &tid,
						 UNIQUE_CHECK_NO);
	}
}

BuildResult
insert_index(Relation heap, Relation index, IndexInfo *info, BlockNumber first,
			 int64 rows, Size memory, const ConflictSink *conflicts)
{
	Insertion	insertion = {
		.heap = heap,
		.index = index,
		.info = info,
		.conflicts = conflicts,
		.first = first,
		.memory = memory,
		.expected = rows,
		.scratch = AllocSetContextCreate(CurrentMemoryContext, "index entry",
										 ALLOCSET_DEFAULT_SIZES)
	};
	KeySink		sink = {.key = take_key,.rows = take_rows,.arg = &insertion};
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap) - first;
	bool		btree = index->rd_rel->relam == BTREE_AM_OID;
	const BatchRoutine *routine = batch_routine(index);
	BuildResult result = {0};

	if (routine != NULL)
	{
		insertion.batch = routine->open(heap, index, memory);
		if (index->rd_rel->relam == BRIN_AM_OID)
			brin_batch_complete(insertion.batch, first, first + nblocks);
	}
	if (btree)
	{
		insertion.shape = shape_open(index);
		insertion.sort = index_sort_open(insertion.shape, heap, index, first, nblocks, memory);
		if (conflicts != NULL)
			init_scan_keys(&insertion);
	}
	result.heap_rows = heap_scan_pages(heap, index, info, first, nblocks,
									   btree ? put_row : routine != NULL ? batch_row : take_row,
									   routine != NULL && insertion.batch->takes_pages ?
									   batch_page : NULL,
									   &insertion);
	heap_scan_check(heap, result.heap_rows, rows);
	if (routine != NULL)
		insert_batch(&insertion);
	if (btree)
	{
		(void) index_sort_finish(insertion.sort, &sink);
		result.runs = index_sort_parts(insertion.sort);
		index_sort_close(insertion.sort);
	}
	compat_index_insert_cleanup(index, info);
	result.index_rows = insertion.nrows;
	return result;
}
