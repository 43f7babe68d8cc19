/*
 * presort.c
 *		See presort.h.
 */
#include "postgres.h"

#include "index/groups.h"
#include "index/integers.h"
#include "index/presort.h"
#include "index/runs.h"
#include "utils/memutils.h"

/*
 * Keys that nobody sorts are collected so that each of them goes on once for all of its rows.  If
 * more than such a share of the first rows have a key of their own, so many or all that fit into
 * the memory, it takes less time that each row goes on with its key at once.  Fewer rows would not
 * tell: of keys that will come again and again most are new at first.
 */
#define ROWS_TO_JUDGE (256 * 1024)
#define TOO_MANY_GROUPS 0.97

struct Presort
{
	KeyShape	   *shape;
	Size		budget;
	MemoryContext context;		/* of this and the runs */
	MemoryContext memory;		/* of the keys of a run */
	Order		order;			/* in which keys arrive, then in which they leave */
	bool		in_range;		/* all keys so far are where the options say */
	PresortOptions options;		/* spill goes when it has been asked */
	Integers   *integers;		/* the keys; NULL: they are not */
	Groups	   *groups;			/* or these */
	Runs	   *runs;			/* NULL: everything has fit so far */
	bool		judged;			/* whether most rows have a key of their own; if so, */
	bool		at_once;		/* nothing is collected: each row goes where the options say */
	StringInfoData image;		/* of its key */
	BlockNumber block;			/* of the row put last */
	RowId		last_row;
};

/* Begins a run with nothing in it. */
static void
begin_run(Presort *presort)
{
	MemoryContextReset(presort->memory);
	presort->last_row = 0;
	if (presort->integers != NULL)
		integers_begin(presort->integers);
	else
		groups_begin(presort->groups);
}

Presort *
presort_open(KeyShape *shape, Size budget, PresortOptions options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "presort",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Presort    *presort = palloc0(sizeof(Presort));

	presort->shape = shape;
	presort->budget = Min(budget, GROUPS_MAX_MEMORY);
	presort->context = context;
	presort->memory = AllocSetContextCreate(context, "presort run",
											ALLOCSET_DEFAULT_SIZES);
	presort->order = order_open(shape, options.rows);
	presort->in_range = true;
	presort->options = options;
	initStringInfo(&presort->image);
	presort->block = InvalidBlockNumber;
	if (shape->integer)
		presort->integers = integers_open(shape, presort->memory);
	else
		presort->groups = groups_open(shape, presort->budget, presort->memory);
	begin_run(presort);
	MemoryContextSwitchTo(old);
	return presort;
}

void
presort_close(Presort *presort)
{
	if (presort->runs != NULL)
		runs_close(presort->runs);
	MemoryContextDelete(presort->context);
}

RowOrder
presort_rows(const Presort *presort)
{
	return presort->order.rows;
}

int
presort_runs(const Presort *presort)
{
	return presort->runs == NULL ? 0 : runs_count(presort->runs);
}

Size
presort_memory(const Presort *presort)
{
	return presort->integers != NULL ? integers_memory(presort->integers) :
		groups_memory(presort->groups, presort->options.unsorted == NULL);
}

/* Whether the keys that were sorted are in the range where they should be. */
static void
check_range(Presort *presort)
{
	const PresortOptions *options = &presort->options;
	const char *first;
	const char *last;

	if (options->split != NULL && groups_ends(presort->groups, &first, &last))
		presort->in_range &= split_has(options->split, options->range, first) &&
			split_has(options->split, options->range, last);
}

static void
emit(Presort *presort, const KeySink *sink)
{
	if (presort->integers != NULL && presort->options.unsorted != NULL)
		integers_emit_unsorted(presort->integers, sink);
	else if (presort->integers != NULL)
		integers_emit(presort->integers, presort->order.rows, sink);
	else if (presort->options.unsorted != NULL)
		groups_emit_unsorted(presort->groups, presort->order.rows, sink);
	else
	{
		groups_sort(presort->groups, &presort->order, sink->string != NULL);
		check_range(presort);
		groups_emit(presort->groups, &presort->order, sink);
	}
}

static void
write_run(Presort *presort)
{
	MemoryContext old = MemoryContextSwitchTo(presort->context);
	KeySink		sink;

	if (presort->runs == NULL)
		presort->runs = runs_open(presort->shape, presort->budget / 2, &presort->order);
	sink = runs_begin(presort->runs);
	emit(presort, &sink);
	runs_end(presort->runs);
	begin_run(presort);
	MemoryContextSwitchTo(old);
}

/* Gets rid of what is in memory, where nobody sorts it. */
static void
emit_unsorted(Presort *presort)
{
	/* of a key, rows that go on at once come after those that were collected */
	if (presort->groups != NULL && !presort->judged)
		presort->at_once = groups_count(presort->groups) >
			TOO_MANY_GROUPS * groups_rows(presort->groups);
	presort->judged = true;
	emit(presort, presort->options.unsorted);
	begin_run(presort);
}

/* Gets rid of what is in memory, if that is too much. */
static inline void
bound_memory(Presort *presort)
{
	PresortOptions *options = &presort->options;

	if (options->stays || presort_memory(presort) <= presort->budget)
		return;
	if (options->spill != NULL)
	{
		options->unsorted = options->spill(options->arg, presort->block,
										   presort->integers != NULL ?
										   integers_rows(presort->integers) :
										   groups_rows(presort->groups));
		options->spill = NULL;
	}
	if (options->unsorted == NULL)
		write_run(presort);
	else
		emit_unsorted(presort);
}

/* Whether enough rows have come to tell whether it pays to collect keys that nobody sorts. */
static inline bool
can_judge(const Presort *presort)
{
	return !presort->judged && presort->options.unsorted != NULL && presort->groups != NULL &&
		groups_rows(presort->groups) >= ROWS_TO_JUDGE;
}

/* What is to be seen to for a row, where they come block by block. */
static inline void
begin_row(Presort *presort, RowId row)
{
	BlockNumber block = row_block(row);

	/* between blocks, as rows within one may come in any order */
	if (block != presort->block)
	{
		presort->block = block;
		bound_memory(presort);
		if (can_judge(presort))
			emit_unsorted(presort);
	}
	if (row < presort->last_row)
	{
		Assert(!rows_interleave(presort->order.rows));
		presort->order.rows = ROWS_BY_BLOCK;
	}
	presort->last_row = row;
}

static inline void
put_at_once(Presort *presort, const Datum *values, const bool *isnull, RowId row)
{
	const KeySink *unsorted = presort->options.unsorted;
	Size		size;

	resetStringInfo(&presort->image);
	size = shape_image(presort->shape, values, isnull, &presort->image);
	unsorted->key(unsorted->arg, presort->image.data, size, false);
	unsorted->rows(unsorted->arg, &row, 1);
}

void
presort_put(Presort *presort, const ItemPointerData *tid, const Datum *values,
			const bool *isnull, bool alive)
{
	const KeySink *unsorted;
	RowId		row = row_id(tid, alive);
	uint64		key;
	uint32		nulls;

	begin_row(presort, row);
	if (presort->at_once)
	{
		put_at_once(presort, values, isnull, row);
		return;
	}
	if (presort->groups != NULL)
	{
		groups_put(presort->groups, row, values, isnull);
		return;
	}
	key = shape_integer(presort->shape, values, isnull, &nulls);
	unsorted = presort->options.unsorted;
	if (unsorted != NULL)
		unsorted->integer(unsorted->arg, key, nulls, row);
	else
		integers_put(presort->integers, row, key, nulls);
}

void
presort_put_rows(Presort *presort, const char *image, Size size,
				 const StringInfoData *string, const RowId *rows, uint32 n)
{
	bound_memory(presort);
	groups_put_rows(presort->groups, image, size, string, rows, n);
}

void
presort_put_integer(Presort *presort, uint64 key, uint32 nulls, RowId row)
{
	begin_row(presort, row);
	integers_put(presort->integers, row, key, nulls);
}

bool
presort_finish(Presort *presort, const KeySink *sink)
{
	if (presort->runs == NULL)
		emit(presort, sink);
	else
	{
		write_run(presort);
		runs_merge(presort->runs, sink);
	}
	return presort->in_range;
}

void
presort_emit_again(Presort *presort, const KeySink *sink)
{
	Assert(presort->options.stays && presort->options.unsorted == NULL);
	if (presort->integers != NULL)
		integers_emit(presort->integers, presort->order.rows, sink);
	else
		groups_emit(presort->groups, &presort->order, sink);
}
