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

struct Presort
{
	Shape	   *shape;
	Size		budget;
	MemoryContext context;		/* of this and the runs */
	MemoryContext memory;		/* of the run in hand */
	Integers   *integers;		/* the keys; NULL: they are not */
	Groups	   *groups;			/* or these */
	Runs	   *runs;			/* NULL: everything has fit so far */
	const KeySink *unsorted;	/* where keys go as they are; NULL: they are sorted */
	PresortSpill spill;			/* says so when the memory is full; or NULL */
	void	   *spill_arg;
	BlockNumber block;			/* of the row put last */
	RowId		last_row;
	bool		unordered;		/* rows of the run did not come by TID */
	bool		disordered;		/* nor did those of some run; or the caller says so */
	bool		mixed;			/* nor do those of equal keys, from run to run */
};

/* Begins a run with nothing in it. */
static void
begin_run(Presort *presort)
{
	MemoryContextReset(presort->memory);
	presort->unordered = presort->disordered && presort->unsorted == NULL;
	presort->last_row = 0;
	if (presort->integers != NULL)
		integers_begin(presort->integers);
	else
		groups_begin(presort->groups);
}

Presort *
presort_open(Shape *shape, Size budget)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "presort",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Presort    *presort = palloc0(sizeof(Presort));

	presort->shape = shape;
	presort->budget = Min(budget, GROUPS_MOST);
	presort->context = context;
	presort->memory = AllocSetContextCreate(context, "presort run",
											ALLOCSET_DEFAULT_SIZES);
	presort->block = InvalidBlockNumber;
	if (shape->integer)
		presort->integers = integers_open(shape, presort->memory);
	else
		presort->groups = groups_open(shape, presort->budget, presort->memory);
	begin_run(presort);
	MemoryContextSwitchTo(old);
	return presort;
}

Presort *
presort_open_rows(Shape *shape, Size budget, bool disordered)
{
	Presort    *presort = presort_open(shape, budget);

	presort->unordered = presort->disordered = disordered;
	presort->mixed = disordered || !shape->exact;
	return presort;
}

Presort *
presort_open_spilling(Shape *shape, Size budget, PresortSpill spill, void *arg)
{
	Presort    *presort = presort_open(shape, budget);

	Assert(!shape->integer);
	presort->spill = spill;
	presort->spill_arg = arg;
	return presort;
}

Presort *
presort_open_unsorted(Shape *shape, Size budget, const KeySink *sink)
{
	Presort    *presort = presort_open(shape, budget);

	Assert(!shape->integer);
	presort->unsorted = sink;
	return presort;
}

void
presort_close(Presort *presort)
{
	if (presort->runs != NULL)
		runs_close(presort->runs);
	MemoryContextDelete(presort->context);
}

bool
presort_disordered(const Presort *presort)
{
	return presort->disordered || presort->unordered;
}

int
presort_runs(const Presort *presort)
{
	return presort->runs == NULL ? 0 : runs_count(presort->runs);
}

static Size
memory_needed(const Presort *presort)
{
	return presort->integers != NULL ? integers_memory(presort->integers) :
		groups_memory(presort->groups, presort->unsorted == NULL);
}

static void
hand_out(Presort *presort, const KeySink *sink)
{
	if (presort->integers != NULL)
		integers_hand_out(presort->integers, presort->unordered, sink);
	else
		groups_hand_out(presort->groups, presort->unsorted == NULL, presort->unordered, sink);
}

static void
write_run(Presort *presort)
{
	MemoryContext old = MemoryContextSwitchTo(presort->context);
	KeySink sink;

	if (presort->runs == NULL)
		presort->runs = runs_open(presort->shape, presort->budget / 2, presort->mixed);
	sink = runs_begin(presort->runs);
	hand_out(presort, &sink);
	runs_end(presort->runs);
	begin_run(presort);
	MemoryContextSwitchTo(old);
}

/* Gets rid of what is in memory, if that is too much. */
static inline void
bound_memory(Presort *presort)
{
	if (memory_needed(presort) <= presort->budget)
		return;
	if (presort->spill != NULL)
	{
		presort->unsorted = presort->spill(presort->spill_arg, presort->block,
										   groups_rows(presort->groups));
		presort->spill = NULL;
	}
	if (presort->unsorted == NULL)
		write_run(presort);
	else
	{
		hand_out(presort, presort->unsorted);
		begin_run(presort);
	}
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
	}
	if (row < presort->last_row)
		presort->unordered = presort->disordered = true;
	presort->last_row = row;
}

void
presort_put(Presort *presort, const ItemPointerData *tid, const Datum *values,
			const bool *isnull, bool alive)
{
	RowId		row = row_id(tid, alive);

	begin_row(presort, row);
	if (presort->groups != NULL)
		groups_put(presort->groups, row, values, isnull);
	else if (isnull[0])
		integers_put_null(presort->integers, row);
	else
		integers_put(presort->integers, row, shape_integer(presort->shape, values[0]));
}

void
presort_put_rows(Presort *presort, const char *image, Size size,
				 const StringInfoData *string, const RowId *rows, uint32 n)
{
	if (presort->groups != NULL)
	{
		bound_memory(presort);
		groups_put_rows(presort->groups, image, size, string, rows, n);
		return;
	}
	for (uint32 i = 0; i < n; i++)
	{
		begin_row(presort, rows[i]);
		integers_put_null(presort->integers, rows[i]);
	}
}

void
presort_put_integer(Presort *presort, uint64 key, RowId row)
{
	begin_row(presort, row);
	integers_put(presort->integers, row, key);
}

void
presort_finish(Presort *presort, const KeySink *sink)
{
	MemoryContext old = MemoryContextSwitchTo(presort->context);

	if (presort->runs == NULL)
		hand_out(presort, sink);
	else
	{
		write_run(presort);
		runs_merge(presort->runs, sink);
	}
	MemoryContextSwitchTo(old);
}
