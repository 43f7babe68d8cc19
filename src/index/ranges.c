/*
 * ranges.c
 *		See ranges.h.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "index/deal.h"
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

	/* once the memory was full */
	Split	   *split;			/* NULL: it was not, or there was no use in ranges */
	KeySink dealing;
	BufFile   **files;			/* NULL: the range got nothing */
	const char *image;			/* the key in hand */
	Size		size;
	int			count;			/* sorted parts */
	Order		order;			/* of what is in the files, then of all ranges, one after the other */

	/* a range that is sorted */
	KeySink sink;			/* where it goes, */
	MemoryContext sink_context; /* and what memory it may keep: a range's goes with it */
	int			range;
	bool		fresh;			/* no key has come */
};

static inline int
count_ranges(const Ranges *ranges)
{
	return ranges->split->nborders + 1;
}

static inline Size
budget_of(const Ranges *ranges)
{
	return ranges->memory - split_buffers(ranges->memory);
}

/* ---- dealing out ---- */

static void
deal_key(void *arg, const char *image, Size size, bool equal)
{
	Ranges	   *ranges = arg;

	ranges->image = image;
	ranges->size = size;
}

static void
deal_rows(void *arg, const RowId *rows, uint32 n)
{
	Ranges	   *ranges = arg;
	int			range = split_find(ranges->split, ranges->image);

	if (ranges->files[range] == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(ranges->context);

		ranges->files[range] = BufFileCreateTemp(false);
		MemoryContextSwitchTo(old);
	}
	deal_write(ranges->files[range], ranges->split, ranges->image, ranges->size, rows, n);
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
		ranges->files = palloc0(count_ranges(ranges) * sizeof(BufFile *));
		ranges->dealing = (KeySink) {.key = deal_key,.rows = deal_rows,.arg = ranges};
	}
	MemoryContextSwitchTo(old);
	return keys == NULL ? NULL : &ranges->dealing;
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

static void
sorted_string(void *arg, const char *string, Size size)
{
	Ranges	   *ranges = arg;

	ranges->sink.string(ranges->sink.arg, string, size);
}

/* The first or last key of a range is to be within it. */
static void
check_border(Ranges *ranges, const char *image)
{
	if (!split_has(ranges->split, ranges->range, image))
		ranges->order.keys = KEYS_BY_OPERATOR;
}

static void
sorted_key(void *arg, const char *image, Size size, bool equal)
{
	Ranges	   *ranges = arg;
	MemoryContext old = MemoryContextSwitchTo(ranges->sink_context);

	if (ranges->fresh)
		check_border(ranges, image);
	ranges->fresh = false;
	ranges->image = image;
	ranges->sink.key(ranges->sink.arg, image, size, equal);
	MemoryContextSwitchTo(old);
}

static void
sorted_rows(void *arg, const RowId *rows, uint32 n)
{
	Ranges	   *ranges = arg;
	MemoryContext old = MemoryContextSwitchTo(ranges->sink_context);

	ranges->sink.rows(ranges->sink.arg, rows, n);
	MemoryContextSwitchTo(old);
}

/* Sorts what a range has got, whose file goes. */
static void
sort_range(Ranges *ranges, int range, const KeySink *sink)
{
	Presort    *presort = presort_open(ranges->shape, budget_of(ranges),
									   (PresortOptions) {.rows = ranges->order.rows});
	KeySink between = {
		.string = sink->string == NULL ? NULL : sorted_string,
		.key = sorted_key,
		.rows = sorted_rows,
		.arg = ranges
	};

	if (BufFileSeek(ranges->files[range], 0, 0, SEEK_SET) != 0)
		elog(ERROR, "could not rewind a temporary file");
	deal_read(ranges->files[range], presort);
	BufFileClose(ranges->files[range]);
	ranges->files[range] = NULL;

	ranges->sink = *sink;
	ranges->range = range;
	ranges->fresh = true;
	presort_finish(presort, &between);
	if (!ranges->fresh)
		check_border(ranges, ranges->image);
	ranges->count += Max(presort_runs(presort), 1);
	presort_close(presort);
}

/* Where sort strings are in order. */
static void
emit_directly(Ranges *ranges, const KeySink *sink)
{
	for (int range = 0; range < count_ranges(ranges); range++)
		if (ranges->files[range] != NULL)
			sort_range(ranges, range, sink);
	if (ranges->order.keys != KEYS_BY_STRING)
		order_raise();
}

/* Where they may not be: into a run for each range, which are then proven to follow one another, or merged. */
static void
emit_proven(Ranges *ranges, const KeySink *sink)
{
	Runs	   *runs = runs_open(ranges->shape, RUNS_ALL_AT_ONCE, &ranges->order);

	for (int range = 0; range < count_ranges(ranges); range++)
	{
		KeySink run;

		if (ranges->files[range] == NULL)
			continue;
		run = runs_begin(runs);
		sort_range(ranges, range, &run);
		runs_end(runs);
	}
	if (ranges->order.keys == KEYS_BY_COLLATION)
		runs_chain(runs, sink);
	else
		runs_merge(runs, sink);
}

/* Deals out the rest, and emits all. */
static void
finish_ranges(Ranges *ranges, const KeySink *sink)
{
	presort_finish(ranges->presort, &ranges->dealing);
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
	MemoryContext old = MemoryContextSwitchTo(ranges->context);

	ranges->sink_context = old;
	if (ranges->split != NULL)
		finish_ranges(ranges, sink);
	else
	{
		presort_finish(ranges->presort, sink);
		ranges->count = presort_runs(ranges->presort);
	}
	MemoryContextSwitchTo(old);
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
