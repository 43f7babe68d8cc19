/*
 * presort.h
 *		Keys collected in any order within the memory, and emitted in the index's; for index_sort.c.
 *
 * Keys are collected in groups (groups.h), integers as numbers (integers.h).  What does not fit
 * into the memory is sorted in runs that go to temporary files and are merged (temp_tablespaces
 * and temp_file_limit apply), or emitted unsorted, for someone else to sort.
 *
 * The order is verified with the operator class's own comparison; where it is not what the sort
 * strings promised, the keys are sorted again with that comparison alone (order.h).
 */
#ifndef PGBULK_PRESORT_H
#define PGBULK_PRESORT_H

#include "postgres.h"

#include "index/key_sink.h"
#include "index/order.h"
#include "index/key_shape.h"
#include "index/split.h"

typedef struct Presort Presort;

/*
 * Where keys are to go when the memory is full for the first time, with so many rows, all of the
 * blocks before that one; NULL: they are sorted in runs.
 */
typedef const KeySink *(*PresortSpill) (void *arg, BlockNumber block, uint64 rows);

/*
 * How keys arrive, and where they go when the memory is full; all zeroes: from a scan of the
 * table, and into runs.
 */
typedef struct PresortOptions
{
	RowOrder	rows;			/* in which order those of a key arrive */
	/*
	 * If not NULL: keys are not sorted, but emitted there as they were found, whenever the memory
	 * is full.  The rows of a key are those that rows_partitioned tells.  Integers
	 * (shape->integer) go there at once, and so do others when most rows have a key of their own.
	 */
	const KeySink *unsorted;
	/* If not NULL: the same from then on that the memory is full, where this says so. */
	PresortSpill spill;
	void	   *arg;			/* of spill */
	/* If not NULL: all keys should be in that range, unless sort strings are misleading. */
	Split	   *split;
	int			range;
	/* Keys stay in the memory, however many: presort_memory is the owner's to look at. */
	bool		stays;
} PresortOptions;

/*
 * budget: bytes of memory.  What the options point to must stay.  Memory: below the current
 * context.
 */
extern Presort *presort_open(KeyShape *shape, Size budget, PresortOptions options);

/* Takes a row's key.  Rows come block by block. */
extern void presort_put(Presort *presort, const ItemPointerData *tid,
						const Datum *values, const bool *isnull, bool alive);

/*
 * Takes rows that have a key, as an unsorted one emits them, in the order that the options tell.
 * string: the key's sort string, if the caller has that already for all keys; or NULL.
 */
extern void presort_put_rows(Presort *presort, const char *image, Size size,
							 const StringInfoData *string, const RowId *rows, uint32 n);

/*
 * The same where shape->integer, for a row and its key, as shape_integer has it.  Rows come block
 * by block.
 */
extern void presort_put_integer(Presort *presort, uint64 key, uint32 nulls, RowId row);

/*
 * Emits all keys in order, or unsorted all that are left; false: they were not all within the
 * range of the options.  Errors: 53400 where temp_file_limit is exceeded, and others of files.
 */
extern bool presort_finish(Presort *presort, const KeySink *sink);

/* Emits the same again after presort_finish, where keys stay in the memory. */
extern void presort_emit_again(Presort *presort, const KeySink *sink);

/* In which order the rows of a key have arrived so far. */
extern RowOrder presort_rows(const Presort *presort);

/* Bytes that the keys take, and what they will take while they are emitted. */
extern Size presort_memory(const Presort *presort);

/* Runs that went to files so far. */
extern int	presort_runs(const Presort *presort);

extern void presort_close(Presort *presort);

#endif							/* PGBULK_PRESORT_H */
