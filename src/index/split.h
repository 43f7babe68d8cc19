/*
 * split.h
 *		Where the keys of a btree are split into ranges, for several processes or for little memory.
 *
 * The borders are keys of a sample of the table's rows; a border is the first key that may be in
 * the range above it.  On which side of it a key is, its sort string tells (key_shape.h), and where
 * that is the same as the border's, the operator class.  So keys that are equal are in one range,
 * and ranges come in order, as far as sort strings do (order.h); presort.h verifies that the ends
 * of a range are within its borders.
 */
#ifndef PGBULK_SPLIT_H
#define PGBULK_SPLIT_H

#include "postgres.h"

#include "index/key_shape.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#define SPLIT_MAX_RANGES 256

/* The keys at the borders, as bytes that any process can read. */
typedef struct SplitKeys
{
	uint64		nborders;		/* as large as that for the alignment of the images */
	uint64		size;			/* of the images, each behind its size as a uint64 */
	char		images[FLEXIBLE_ARRAY_MEMBER];
} SplitKeys;

typedef struct SplitBorder
{
	const char *image;
	const char *string;
	Size		length;
	uint64		first;			/* the string's first bytes, as a number */
	uint64		integer;		/* where shape->integer */
} SplitBorder;

typedef struct Split
{
	KeyShape	   *shape;
	/* borders have strings of weights (shape_has_weights); keys that have none are compared */
	bool		weighed;
	/*
	 * Where the shape is collated, the string of the key that split_find was asked for last; empty
	 * where it was compared.
	 */
	StringInfoData scratch;
	int			nborders;		/* one less than ranges */
	SplitBorder borders[FLEXIBLE_ARRAY_MEMBER];
} Split;

/*
 * Borders for an index that so many processes build from a table of nblocks blocks, each with
 * memory bytes.  NULL: it had better be built by one, as *refusal says.
 */
extern SplitKeys *split_choose(Relation heap, Relation index, IndexInfo *info,
							   BlockNumber nblocks, int processes,
							   Size memory, const char **refusal);

/*
 * Borders for one process, in whose memory the keys of nblocks blocks of the table would go in so
 * many parts or more: it holds so many rows.  NULL: there is no use in ranges.
 */
extern SplitKeys *split_evenly(Relation heap, Relation index, IndexInfo *info,
							   BlockNumber first, BlockNumber nblocks,
							   double parts, double rows, Size memory);

typedef struct SplitEstimate
{
	double		of_key;			/* how many rows of the table share a key with one of them, */
	double		of_first;		/* and how many its first column */
	bool		weighed;		/* keys have weights (shape_has_weights), if that matters */
} SplitEstimate;

/*
 * As far as a sample tells.  weights: it matters whether keys have some, which may have to be
 * learned.  False: the table is too small for that.
 */
extern bool split_estimate(Relation heap, Relation index, IndexInfo *info, BlockNumber nblocks,
						   Size memory, bool weights, SplitEstimate *estimate);

/* Bytes of a process's memory that are for the buffers of all ranges' files. */
extern Size split_buffers(Size memory);

/* keys must stay.  Memory: the current context. */
extern Split *split_open(KeyShape *shape, const SplitKeys *keys);

/* The range of a key, from 0. */
extern int	split_find(Split *split, const char *image);
extern int	split_find_integer(const Split *split, uint64 key, uint32 nulls);

/* Whether a key is within its range, as the operator class sees it. */
extern bool split_has(Split *split, int range, const char *image);

static inline Size
split_keys_size(const SplitKeys *keys)
{
	return offsetof(SplitKeys, images) + keys->size;
}

#endif							/* PGBULK_SPLIT_H */
