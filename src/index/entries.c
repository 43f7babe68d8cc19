/*
 * entries.c
 *		See entries.h.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "executor/executor.h"
#include "index/entries.h"
#include "index/inserter.h"
#include "index/presort.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* One index. */
typedef struct EntryIndex
{
	Entries    *entries;
	Relation	index;
	IndexInfo  *info;
	KeyShape   *shape;
	Inserter   *inserter;
	Presort    *presort;		/* what waits; NULL: nothing */
} EntryIndex;

/* A row for the server. */
typedef struct Doubt
{
	RowId		row;
	int			index;
	char	   *image;
} Doubt;

struct Entries
{
	ResultRelInfo *rri;
	ResultRelInfo *others;		/* with what indexes is left; NULL: nothing */
	Size		budget;
	MemoryContext context;
	int			nindexes;
	EntryIndex *indexes;

	/* of a flush */
	MemoryContext doubt_context;
	Doubt	   *doubts;
	int			ndoubts;
	int			capacity;
};

/* ---- preparation ---- */

static void
take_doubt(void *arg, RowId row, const char *image, Size size)
{
	EntryIndex *index = arg;
	Entries    *entries = index->entries;
	Doubt	   *doubt;

	if (entries->ndoubts == entries->capacity)
	{
		entries->capacity = Max(2 * entries->capacity, 64);
		entries->doubts = entries->doubts == NULL ?
			MemoryContextAlloc(entries->doubt_context, entries->capacity * sizeof(Doubt)) :
			repalloc_huge(entries->doubts, entries->capacity * sizeof(Doubt));
	}
	doubt = &entries->doubts[entries->ndoubts++];
	doubt->row = row;
	doubt->index = index - entries->indexes;
	doubt->image = MemoryContextAlloc(entries->doubt_context, size);
	memcpy(doubt->image, image, size);
}

static void
add_index(Entries *entries, Relation index, IndexInfo *info)
{
	EntryIndex *entry = &entries->indexes[entries->nindexes++];

	entry->entries = entries;
	entry->index = index;
	entry->info = info;
	entry->shape = shape_open(index);
	entry->inserter = inserter_open(entries->rri->ri_RelationDesc, index, info, entry->shape,
									take_doubt, entry);
}

Entries *
entries_open(ResultRelInfo *rri, Size budget)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load index entries",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int			n = rri->ri_NumIndices;
	Entries    *entries = palloc0(sizeof(Entries));
	ResultRelInfo *others = palloc(sizeof(ResultRelInfo));

	entries->rri = rri;
	entries->budget = budget;
	entries->context = context;
	entries->indexes = palloc0(Max(n, 1) * sizeof(EntryIndex));
	entries->doubt_context = AllocSetContextCreate(context, "rows in doubt",
												   ALLOCSET_DEFAULT_SIZES);
	*others = *rri;
	others->ri_IndexRelationDescs = palloc(Max(n, 1) * sizeof(Relation));
	for (int i = 0; i < n; i++)
	{
		Relation	index = rri->ri_IndexRelationDescs[i];
		bool		served = index != NULL && inserter_serves(index) &&
			rri->ri_IndexRelationInfo[i]->ii_ReadyForInserts;

		if (served)
			add_index(entries, index, rri->ri_IndexRelationInfo[i]);
		else if (index != NULL)
			entries->others = others;
		others->ri_IndexRelationDescs[i] = served ? NULL : index;
	}
	MemoryContextSwitchTo(old);
	if (entries->nindexes > 0)
		return entries;
	MemoryContextDelete(context);
	return NULL;
}

ResultRelInfo *
entries_others(const Entries *entries)
{
	return entries->others;
}

void
entries_close(Entries *entries)
{
	for (int i = 0; i < entries->nindexes; i++)
		Assert(entries->indexes[i].presort == NULL);
	MemoryContextDelete(entries->context);
}

/* ---- collecting ---- */

/* Whether a partial index has the row, as ExecInsertIndexTuples finds. */
static bool
has_row(IndexInfo *info, EState *estate)
{
	if (info->ii_Predicate == NIL)
		return true;
	if (info->ii_PredicateState == NULL)
		info->ii_PredicateState = ExecPrepareQual(info->ii_Predicate, estate);
	return ExecQual(info->ii_PredicateState, GetPerTupleExprContext(estate));
}

static void
begin_presort(Entries *entries, EntryIndex *index)
{
	MemoryContext old = MemoryContextSwitchTo(entries->context);

	/* what waits goes before it would have to go to files */
	index->presort = presort_open(index->shape, 2 * entries->budget, (PresortOptions) {0});
	MemoryContextSwitchTo(old);
}

void
entries_put(Entries *entries, TupleTableSlot *slot, EState *estate)
{
	ExprContext *econtext = GetPerTupleExprContext(estate);
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	econtext->ecxt_scantuple = slot;
	for (int i = 0; i < entries->nindexes; i++)
	{
		EntryIndex *index = &entries->indexes[i];
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		if (!has_row(index->info, estate))
			continue;
		FormIndexDatum(index->info, slot, estate, values, isnull);
		if (index->presort == NULL)
			begin_presort(entries, index);
		presort_put(index->presort, &slot->tts_tid, values, isnull, true);
	}
	MemoryContextSwitchTo(old);
}

bool
entries_full(const Entries *entries)
{
	Size		size = 0;

	for (int i = 0; i < entries->nindexes; i++)
		if (entries->indexes[i].presort != NULL)
			size += presort_memory(entries->indexes[i].presort);
	return size >= entries->budget;
}

/* ---- inserting ---- */

static void
insert_waiting(EntryIndex *index)
{
	KeySink		sink = inserter_sink(index->inserter);

	presort_finish(index->presort, &sink);
	inserter_end(index->inserter);
	presort_close(index->presort);
	index->presort = NULL;
}

/* As rows come in the table, and their indexes in the server's order. */
static int
compare_doubts(const void *a, const void *b)
{
	const Doubt *doubt_a = a;
	const Doubt *doubt_b = b;

	if (doubt_a->row != doubt_b->row)
		return doubt_a->row < doubt_b->row ? -1 : 1;
	return doubt_a->index - doubt_b->index;
}

static void
ask_server(Entries *entries)
{
	if (entries->ndoubts > 1)
		qsort(entries->doubts, entries->ndoubts, sizeof(Doubt), compare_doubts);
	for (int i = 0; i < entries->ndoubts; i++)
	{
		const Doubt *doubt = &entries->doubts[i];

		inserter_ask_server(entries->indexes[doubt->index].inserter, doubt->row, doubt->image);
	}
	MemoryContextReset(entries->doubt_context);
	entries->doubts = NULL;
	entries->ndoubts = entries->capacity = 0;
}

void
entries_flush(Entries *entries)
{
	MemoryContext old = MemoryContextSwitchTo(entries->context);

	for (int i = 0; i < entries->nindexes; i++)
		if (entries->indexes[i].presort != NULL)
			insert_waiting(&entries->indexes[i]);
	ask_server(entries);
	MemoryContextSwitchTo(old);
}
