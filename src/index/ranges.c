/*
 * ranges.c
 *		See ranges.h.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "index/partition.h"
#include "index/ranges.h"
#include "index/runs.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

struct Ranges
{
	Shape	   *shape;
	Relation	heap;
	Relation	index;
	BlockNumber first;
	BlockNumber nblocks;
	Size		memory;
	MemoryContext context;
	Presort    *presort;		/* of what is put */
	int			count;			/* sorted parts */

	/* once the memory was full */
	Split	   *split;			/* NULL: it was not, or there was no use in ranges */
	Partition  *partition;
	Order		order;			/* in the files, then of all ranges, one after the other */
};

static inline Size
budget_of(const Ranges *ranges)
{
	return ranges->memory - split_buffers(ranges->memory);
}

/* ---- partitioning ---- */

static BufFile *
create_file(void *arg, int range)
{
	return BufFileCreateTemp(false);
}

/* Rows, those before a block, have filled the memory. */
static const KeySink *
spill(void *arg, BlockNumber block, uint64 rows)
{
	Ranges	   *ranges = arg;
	MemoryContext old = MemoryContextSwitchTo(ranges->context);
	double		parts = (double) ranges->nblocks / Max(block - ranges->first, 1);
	SplitKeys  *keys;

	/* with an IndexInfo of its own, as the other one is in use */
	keys = split_evenly(ranges->heap, ranges->index, BuildIndexInfo(ranges->index),
						ranges->first, ranges->nblocks, parts, rows, ranges->memory);
	if (keys != NULL)
	{
		ranges->split = split_open(ranges->shape, keys);
		ranges->partition = partition_open(ranges->split, create_file, NULL);
	}
	MemoryContextSwitchTo(old);
	return keys == NULL ? NULL : partition_sink(ranges->partition);
}

Ranges *
ranges_open(Shape *shape, Relation heap, Relation index, BlockNumber first,
			BlockNumber nblocks, Size memory)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "ranges",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Ranges	   *ranges = palloc0(sizeof(Ranges));

	ranges->shape = shape;
	ranges->heap = heap;
	ranges->index = index;
	ranges->first = first;
	ranges->nblocks = nblocks;
	ranges->memory = memory;
	ranges->context = context;
	ranges->presort = shape->integer ? presort_open(shape, memory, (PresortOptions) {0}) :
		presort_open(shape, budget_of(ranges), (PresortOptions) {.spill = spill,.arg = ranges});
	MemoryContextSwitchTo(old);
	return ranges;
}

Presort *
ranges_presort(Ranges *ranges)
{
	return ranges->presort;
}

/* ---- sorting ---- */

/* Emits what a range has got, whose file goes. */
static void
sort_range(Ranges *ranges, int range, BufFile *file, const KeySink *sink)
{
	Presort    *presort = presort_open(ranges->shape, budget_of(ranges), (PresortOptions) {
		.rows = ranges->order.rows,
		.split = ranges->split,
		.range = range
	});

	if (BufFileSeek(file, 0, 0, SEEK_SET) != 0)
		elog(ERROR, "could not rewind a temporary file");
	partition_read(file, ranges->shape, presort);
	BufFileClose(file);
	if (!presort_finish(presort, sink))
		ranges->order.keys = KEYS_BY_OPERATOR;
	ranges->count += Max(presort_runs(presort), 1);
	presort_close(presort);
}

/* Where sort strings are in order: one range after the other. */
static void
emit_directly(Ranges *ranges, const KeySink *sink)
{
	for (int range = 0; range <= ranges->split->nborders; range++)
	{
		BufFile    *file = partition_take_file(ranges->partition, range);

		if (file != NULL)
			sort_range(ranges, range, file, sink);
	}
	if (ranges->order.keys != KEYS_BY_STRING)
		order_raise();
}

/* Where they may not be: a run for each range.  All of them are then proven to follow one another, or are merged. */
static void
emit_proven(Ranges *ranges, const KeySink *sink)
{
	MemoryContext old = MemoryContextSwitchTo(ranges->context);
	Runs	   *runs = runs_open(ranges->shape, RUNS_ALL_AT_ONCE, &ranges->order);

	MemoryContextSwitchTo(old);
	for (int range = 0; range <= ranges->split->nborders; range++)
	{
		BufFile    *file = partition_take_file(ranges->partition, range);
		KeySink		run;

		if (file == NULL)
			continue;
		run = runs_begin(runs);
		sort_range(ranges, range, file, &run);
		runs_end(runs);
	}
	if (ranges->order.keys == KEYS_BY_COLLATION)
		runs_chain(runs, sink);
	else
		runs_merge(runs, sink);
}

/* Partitions the rest, and emits all. */
static void
finish_ranges(Ranges *ranges, const KeySink *sink)
{
	(void) presort_finish(ranges->presort, partition_sink(ranges->partition));
	(void) partition_finish(ranges->partition);
	ranges->order = order_open(ranges->shape,
							   rows_partitioned(presort_rows(ranges->presort), ranges->shape));
	presort_close(ranges->presort);
	ranges->presort = NULL;
	if (ranges->order.keys == KEYS_BY_STRING)
		emit_directly(ranges, sink);
	else
		emit_proven(ranges, sink);
}

void
ranges_finish(Ranges *ranges, const KeySink *sink)
{
	if (ranges->split != NULL)
		finish_ranges(ranges, sink);
	else
	{
		(void) presort_finish(ranges->presort, sink);
		ranges->count = presort_runs(ranges->presort);
	}
}

int
ranges_count(const Ranges *ranges)
{
	return ranges->count;
}

void
ranges_close(Ranges *ranges)
{
	MemoryContextDelete(ranges->context);
}
