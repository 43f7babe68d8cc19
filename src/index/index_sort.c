/*
 * index_sort.c
 *		See index_sort.h.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "index/index_sort.h"
#include "index/presort.h"
#include "index/runs.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

struct IndexSort
{
	KeyShape	   *shape;
	Size		memory;
	MemoryContext context;
	Presort    *presort;		/* of what is put; NULL: that is done */
	int			parts;			/* sorted ones, of ranges */

	/* where all rows come from; heap NULL: nobody says */
	Relation	heap;
	Relation	index;
	BlockNumber first;
	BlockNumber nblocks;

	/* once rows are partitioned, because the memory was full or the caller says so */
	Split	   *split;			/* NULL: they are not */
	Partition  *partition;
	Order		order;			/* in the files, then of all ranges, one after the other */
};

/* What is left for keys beside the buffers of ranges' files, should there be any. */
static inline Size
keys_memory(Size memory)
{
	return memory - split_buffers(memory);
}

static IndexSort *
open_sort(KeyShape *shape, Size memory)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "index sort",
												  ALLOCSET_DEFAULT_SIZES);
	IndexSort  *sort = MemoryContextAllocZero(context, sizeof(IndexSort));

	sort->shape = shape;
	sort->memory = memory;
	sort->context = context;
	return sort;
}

/* ---- partitioning ---- */

static BufFile *
create_file(void *arg, int range)
{
	return BufFileCreateTemp(false);
}

/* The memory is full of rows, those before a block. */
static const KeySink *
spill(void *arg, BlockNumber block, uint64 rows)
{
	IndexSort  *sort = arg;
	MemoryContext old = MemoryContextSwitchTo(sort->context);
	double		parts = (double) sort->nblocks / Max(block - sort->first, 1);
	SplitKeys  *keys;

	/* with an IndexInfo of its own, as the caller's is in use */
	keys = split_evenly(sort->heap, sort->index, BuildIndexInfo(sort->index),
						sort->first, sort->nblocks, parts, rows, sort->memory);
	if (keys != NULL)
	{
		sort->split = split_open(sort->shape, keys);
		sort->partition = partition_open(sort->split, create_file, NULL);
	}
	MemoryContextSwitchTo(old);
	return keys == NULL ? NULL : partition_sink(sort->partition);
}

IndexSort *
index_sort_open(KeyShape *shape, Relation heap, Relation index, BlockNumber first,
				BlockNumber nblocks, Size memory)
{
	IndexSort  *sort = open_sort(shape, memory);
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	sort->heap = heap;
	sort->index = index;
	sort->first = first;
	sort->nblocks = nblocks;
	sort->presort = presort_open(shape, keys_memory(memory), (PresortOptions) {
		.spill = spill,
		.arg = sort
	});
	MemoryContextSwitchTo(old);
	return sort;
}

IndexSort *
index_sort_open_partition(KeyShape *shape, Split *split, PartitionCreate create, void *arg,
						  Size memory)
{
	IndexSort  *sort = open_sort(shape, memory);
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	sort->split = split;
	sort->partition = partition_open(split, create, arg);
	memory -= partition_memory(shape, split->nborders + 1);
	sort->presort = presort_open(shape, memory, (PresortOptions) {
		.unsorted = partition_sink(sort->partition)
	});
	MemoryContextSwitchTo(old);
	return sort;
}

void
index_sort_put(IndexSort *sort, const ItemPointerData *tid, const Datum *values,
			   const bool *isnull, bool alive)
{
	presort_put(sort->presort, tid, values, isnull, alive);
}

SortPartitioned
index_sort_finish_partition(IndexSort *sort)
{
	SortPartitioned result;

	(void) presort_finish(sort->presort, partition_sink(sort->partition));
	result.rows = rows_partitioned(presort_rows(sort->presort), sort->shape);
	result.nrows = partition_finish(sort->partition);
	presort_close(sort->presort);
	sort->presort = NULL;
	return result;
}

BufFile *
index_sort_take_file(IndexSort *sort, int range)
{
	return partition_take_file(sort->partition, range);
}

/* ---- sorting ---- */

IndexSort *
index_sort_open_range(KeyShape *shape, Split *split, int range, RowOrder rows, Size memory)
{
	IndexSort  *sort = open_sort(shape, memory);
	MemoryContext old = MemoryContextSwitchTo(sort->context);

	sort->presort = presort_open(shape, memory, (PresortOptions) {
		.rows = rows,
		.split = split,
		.range = range
	});
	MemoryContextSwitchTo(old);
	return sort;
}

void
index_sort_read(IndexSort *sort, BufFile *file)
{
	partition_read(file, sort->shape, sort->presort);
}

/* Emits what a range has got, whose file goes. */
static void
sort_range(IndexSort *sort, int range, BufFile *file, const KeySink *sink)
{
	IndexSort  *part = index_sort_open_range(sort->shape, sort->split, range, sort->order.rows,
											 keys_memory(sort->memory));

	if (BufFileSeek(file, 0, 0, SEEK_SET) != 0)
		elog(ERROR, "could not rewind a temporary file");
	index_sort_read(part, file);
	BufFileClose(file);
	if (!index_sort_finish(part, sink))
		sort->order.keys = KEYS_BY_OPERATOR;
	sort->parts += Max(index_sort_parts(part), 1);
	index_sort_close(part);
}

/* Where sort strings are in order: one range after the other. */
static void
emit_directly(IndexSort *sort, const KeySink *sink)
{
	for (int range = 0; range <= sort->split->nborders; range++)
	{
		BufFile    *file = index_sort_take_file(sort, range);

		if (file != NULL)
			sort_range(sort, range, file, sink);
	}
	if (sort->order.keys != KEYS_BY_STRING)
		order_raise();
}

/*
 * Where they may not be: a run for each range.  If all follow one another they are chained, else
 * merged.
 */
static void
emit_proven(IndexSort *sort, const KeySink *sink)
{
	MemoryContext old = MemoryContextSwitchTo(sort->context);
	Runs	   *runs = runs_open(sort->shape, RUNS_ALL_AT_ONCE, &sort->order);

	MemoryContextSwitchTo(old);
	for (int range = 0; range <= sort->split->nborders; range++)
	{
		BufFile    *file = index_sort_take_file(sort, range);
		KeySink		run;

		if (file == NULL)
			continue;
		run = runs_begin(runs);
		sort_range(sort, range, file, &run);
		runs_end(runs);
	}
	if (sort->order.keys == KEYS_BY_COLLATION)
		runs_chain(runs, sink);
	else
		runs_merge(runs, sink);
}

/* Partitions the rest, and emits all. */
static void
finish_ranges(IndexSort *sort, const KeySink *sink)
{
	sort->order = order_open(sort->shape, index_sort_finish_partition(sort).rows);
	if (sort->order.keys == KEYS_BY_STRING)
		emit_directly(sort, sink);
	else
		emit_proven(sort, sink);
}

bool
index_sort_finish(IndexSort *sort, const KeySink *sink)
{
	if (sort->split == NULL)
		return presort_finish(sort->presort, sink);
	finish_ranges(sort, sink);
	return true;
}

int
index_sort_parts(const IndexSort *sort)
{
	return sort->split == NULL ? presort_runs(sort->presort) : sort->parts;
}

void
index_sort_close(IndexSort *sort)
{
	if (sort->presort != NULL)
		presort_close(sort->presort);
	MemoryContextDelete(sort->context);
}
