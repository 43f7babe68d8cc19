/*
 * insert.c
 *		See insert.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "catalog/pg_am_d.h"
#include "compat.h"
#include "index/heap_scan.h"
#include "index/insert.h"
#include "index/presort.h"
#include "miscadmin.h"
#include "utils/memutils.h"

typedef struct Insertion
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	IndexUniqueCheck check;
	MemoryContext scratch;		/* for one entry */
	double		nrows;

	/* btrees */
	Shape	   *shape;
	Presort    *presort;
	Datum		values[INDEX_MAX_KEYS]; /* the key in hand */
	bool		isnull[INDEX_MAX_KEYS];
} Insertion;

static void
insert_entry(Insertion *insertion, Datum *values, bool *isnull, ItemPointer tid)
{
	MemoryContext old = MemoryContextSwitchTo(insertion->scratch);

	CHECK_FOR_INTERRUPTS();
	index_insert(insertion->index, values, isnull, tid, insertion->heap,
				 insertion->check, false, insertion->info);
	insertion->nrows++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(insertion->scratch);
}

/* ---- in the order of the table ---- */

static void
take_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		 bool alive, void *state)
{
	insert_entry(state, values, isnull, tid);
}

/* ---- in the order of the keys ---- */

static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *state)
{
	Insertion  *insertion = state;

	presort_put(insertion->presort, tid, values, isnull, alive);
}

static void
take_key(void *arg, const char *image, Size size, bool equal)
{
	Insertion  *insertion = arg;

	shape_values(insertion->shape, image, insertion->values, insertion->isnull);
}

static void
take_rows(void *arg, const RowId *rows, uint32 n)
{
	Insertion  *insertion = arg;

	for (uint32 i = 0; i < n; i++)
	{
		ItemPointerData tid;

		row_tid(rows[i], &tid);
		insert_entry(insertion, insertion->values, insertion->isnull, &tid);
	}
}

BuildResult
insert_index(Relation heap, Relation index, IndexInfo *info, BlockNumber first,
			 Size memory)
{
	Insertion	insertion = {
		.heap = heap,
		.index = index,
		.info = info,
		.check = index->rd_index->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO,
		.scratch = AllocSetContextCreate(CurrentMemoryContext, "index entry",
										 ALLOCSET_DEFAULT_SIZES)
	};
	PresortSink sink = {.key = take_key,.rows = take_rows,.arg = &insertion};
	bool		btree = index->rd_rel->relam == BTREE_AM_OID;
	BuildResult result = {0};

	if (btree)
	{
		insertion.shape = shape_open(index);
		insertion.presort = presort_open(insertion.shape, memory);
	}
	result.heap_rows = heap_scan_rows(heap, index, info, first,
									  RelationGetNumberOfBlocks(heap) - first,
									  btree ? put_row : take_row, &insertion);
	if (btree)
	{
		presort_finish(insertion.presort, &sink);
		result.runs = presort_runs(insertion.presort);
		presort_close(insertion.presort);
	}
	compat_index_insert_cleanup(index, info);
	result.index_rows = insertion.nrows;
	return result;
}
