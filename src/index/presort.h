/*
 * presort.h
 *		The keys of an index, collected in any order and handed out in the index's.
 *
 * Keys are collected in groups (groups.h), integers as numbers (integers.h).  What does not fit into the memory is
 * sorted in runs that go to temporary files and are merged (temp_tablespaces and temp_file_limit apply).
 *
 * The order handed out is verified with the operator class's own comparison; where it
 * is not what the sort strings promised, the keys are sorted again with that
 * comparison alone.
 */
#ifndef PGBULK_PRESORT_H
#define PGBULK_PRESORT_H

#include "postgres.h"

#include "index/key_sink.h"
#include "index/shape.h"

typedef struct Presort Presort;

/* budget: bytes of memory.  Memory: below the current context. */
extern Presort *presort_open(Shape *shape, Size budget);

/*
 * The same for keys that come by presort_put_rows and presort_put_integer.  disordered: rows of a key may come in any
 * order.
 */
extern Presort *presort_open_rows(Shape *shape, Size budget, bool disordered);

/*
 * The same, but keys are handed out as they were found, whenever the memory is full and at the end: for
 * someone else to sort them.  The rows of a key come by TID, and so do those of the next times, unless
 * presort_disordered says at the end that they may not.
 * Not for integers (shape->integer).
 */
extern Presort *presort_open_unsorted(Shape *shape, Size budget,
									  const KeySink *sink);

/*
 * Where keys are to go when the memory is full for the first time, with so many rows, all of the blocks before that
 * one; NULL: they are sorted in runs.
 */
typedef const KeySink *(*PresortSpill) (void *arg, BlockNumber block, uint64 rows);

/* The same, but from then on only, and only if spill says so; the sink must stay. */
extern Presort *presort_open_spilling(Shape *shape, Size budget, PresortSpill spill,
									  void *arg);

/* Takes a row's key.  Rows come block by block. */
extern void presort_put(Presort *presort, const ItemPointerData *tid,
						const Datum *values, const bool *isnull, bool alive);

/*
 * Takes rows that have a key, by TID, as an unsorted one hands them out.  All rows of an image come by TID, but
 * those of another one that is equal may come before or after, unless the shape is exact.
 * string: the key's sort string, if the caller has that already for all keys; or NULL.
 */
extern void presort_put_rows(Presort *presort, const char *image, Size size,
							 const StringInfoData *string, const RowId *rows, uint32 n);

/*
 * The same where shape->integer, for a key as shape_integer has it; the other is for nulls then.  Rows come
 * block by block.
 */
extern void presort_put_integer(Presort *presort, uint64 key, RowId row);

/*
 * Hands out all keys in order.  Errors: 53400 where temp_file_limit is exceeded,
 * and others of files.
 */
extern void presort_finish(Presort *presort, const KeySink *sink);

/* Whether rows have come, or been handed out, out of the order of their TIDs. */
extern bool presort_disordered(const Presort *presort);

/* Runs that went to files so far. */
extern int	presort_runs(const Presort *presort);

extern void presort_close(Presort *presort);

#endif							/* PGBULK_PRESORT_H */
