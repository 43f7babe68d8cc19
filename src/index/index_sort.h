/*
 * index_sort.h
 *		The keys of a table's rows, taken in any order and emitted in the index's.
 *
 * The one entry to all that sorts.  A caller says which rows, how much memory, and who takes the
 * keys (key_sink.h); how they are sorted is decided here and below:
 *
 *	integers	one or several of at most 64 bits in all: as numbers (integers.h)
 *	groups		all else: rows by the image of their key (groups.h)
 *	ranges		what exceeds the memory is partitioned by ranges of keys (partition.h), each of
 *				which will fit.  So rows with one key meet before anything is sorted: each key is
 *				transformed, sorted and compared once, as it would be in memory
 *	runs		where there is no use in ranges, or a range exceeds the memory, too: what the
 *				memory holds at a time is sorted, and merged (runs.h)
 *
 * One process opens, puts and finishes.  For a parallel build (range_build.h) the two halves of
 * that are there, too: each process partitions some of the rows, and sorts some of the ranges.
 *
 * In which order keys and rows are, and why, is one state, an Order (order.h).  Sort strings tell
 * the range of a key.  As they may be misleading, and keys that have been emitted cannot be taken
 * back, ranges of keys that a collation orders are sorted into files first.  Should one of them not
 * be within its borders, these files are merged as runs are, by the operator class.
 *
 * Price of ranges: a file for each, and each key and row is written and read once more, twice with
 * a collation.
 */
#ifndef PGBULK_INDEX_SORT_H
#define PGBULK_INDEX_SORT_H

#include "postgres.h"

#include "index/key_sink.h"
#include "index/order.h"
#include "index/partition.h"
#include "index/split.h"
#include "utils/rel.h"

typedef struct IndexSort IndexSort;

/* What partitioning has made of the rows that were put. */
typedef struct SortPartitioned
{
	uint64		nrows;
	RowOrder	rows;			/* in the files of all ranges */
} SortPartitioned;

/*
 * For the rows of nblocks blocks of a table, from first on; memory: bytes, as for all of these.
 * Memory: below the current context.
 */
extern IndexSort *index_sort_open(KeyShape *shape, Relation heap, Relation index,
								  BlockNumber first, BlockNumber nblocks, Size memory);

/* For rows that are only partitioned, into files that create makes. */
extern IndexSort *index_sort_open_partition(KeyShape *shape, Split *split, PartitionCreate create,
											void *arg, Size memory);

/*
 * For the keys of a range, from such files (index_sort_read).  rows: in which order all of them
 * have those of a key, one file after the other.
 */
extern IndexSort *index_sort_open_range(KeyShape *shape, Split *split, int range, RowOrder rows,
										Size memory);

/* Takes a row's key.  Rows come block by block. */
extern void index_sort_put(IndexSort *sort, const ItemPointerData *tid, const Datum *values,
						   const bool *isnull, bool alive);

/* Takes all that a file of the range has, from where it stands. */
extern void index_sort_read(IndexSort *sort, BufFile *file);

/*
 * Emits all keys in order; false: not all keys were within their range, so that ranges do not
 * follow one another (never after index_sort_open).  Errors: 53400 where temp_file_limit is
 * exceeded, XX000 where the operator class has no order, and others of files.
 */
extern bool index_sort_finish(IndexSort *sort, const KeySink *sink);

/* After index_sort_open_partition: all rows are in the files of their ranges. */
extern SortPartitioned index_sort_finish_partition(IndexSort *sort);

/* A range's file then, to read and close once; NULL: no row came for it. */
extern BufFile *index_sort_take_file(IndexSort *sort, int range);

/* Sorted parts that went through files. */
extern int	index_sort_parts(const IndexSort *sort);

extern void index_sort_close(IndexSort *sort);

#endif							/* PGBULK_INDEX_SORT_H */
