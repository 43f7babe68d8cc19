/*
 * ranges.h
 *		More keys than fit into memory, sorted range by range.
 *
 * When the memory is full, keys are not sorted in runs (runs.h) of what it holds at a time, over which the rows of a
 * key are scattered, but partitioned by ranges of keys (partition.h), each of which will fit.  So rows with one key
 * meet before anything is sorted: each key is transformed, sorted and compared once, as it would be in memory.
 *
 * Sort strings tell the range of a key.  As they may be misleading, and keys that have been emitted cannot be taken
 * back, ranges of keys that a collation orders are sorted into files first.  Should one of them not be within its
 * borders, these files are merged as runs are, by the operator class.
 *
 * Price: a file for each range, and each key and row is written and read once more, twice with a collation.
 */
#ifndef PGBULK_RANGES_H
#define PGBULK_RANGES_H

#include "postgres.h"

#include "index/presort.h"
#include "utils/rel.h"

typedef struct Ranges Ranges;

/*
 * For the rows of nblocks blocks of a table, from first on; memory: bytes.  Memory: below the current context.  Where
 * keys are integers (shape->integer), they are sorted in runs.
 */
extern Ranges *ranges_open(Shape *shape, Relation heap, Relation index,
						   BlockNumber first, BlockNumber nblocks, Size memory);

/* Where rows are put. */
extern Presort *ranges_presort(Ranges *ranges);

/* Emits all keys in order.  Errors: as presort_finish. */
extern void ranges_finish(Ranges *ranges, const KeySink *sink);

/* Sorted parts that went through files. */
extern int	ranges_count(const Ranges *ranges);

extern void ranges_close(Ranges *ranges);

#endif							/* PGBULK_RANGES_H */
