/*
 * gain.c
 *		See gain.h.
 */
#include "postgres.h"

#include "index/gain.h"
#include "index/key_shape.h"
#include "index/split.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "utils/memutils.h"

/* As many rows of a key, or more, make up for all else. */
#define MANY_ROWS 3

/* Below so many blocks of the table, sort strings of keys that are all different do not pay. */
#define SMALL_BLOCKS 256

/* Below so many, the file of an index is synced in more time than it is filled. */
#define TINY_BLOCKS 16

/* Whether all of a key is numbers or bytes of a fixed size, such as uuids. */
static bool
is_fixed(const KeyShape *shape)
{
	for (int i = 0; i < shape->nkeys; i++)
		if (shape->columns[i].kind != KEY_SIGNED && shape->columns[i].kind != KEY_UNSIGNED &&
			shape->columns[i].kind != KEY_FIXED)
			return false;
	return true;
}

/* By what sorts them, whatever they are.  workers: those that would help the server. */
static bool
is_sorted_faster(const KeyShape *shape, BlockNumber nblocks, int workers)
{
	const ShapeColumn *first = &shape->columns[0];

	if (shape->integer)
		return true;
	return nblocks >= SMALL_BLOCKS &&
		(first->kind == KEY_BYTES || (first->kind == KEY_COLLATED && first->libc) ||
		 (workers == 0 && is_fixed(shape)));
}

/* Whether the server's build syncs the file at once, which ours leaves to the next checkpoint. */
static bool
is_synced(Relation index)
{
#ifdef COMPAT_BULK_WRITE
	return false;
#else
	return RelationNeedsWAL(index);
#endif
}

/* By how many rows share keys, or by the weights of these. */
static bool
is_estimated_faster(Relation heap, Relation index, IndexInfo *info, BlockNumber nblocks,
					const KeyShape *shape)
{
	const ShapeColumn *first = &shape->columns[0];
	SplitEstimate estimate;

	if (info->ii_Expressions != NIL || info->ii_Predicate != NIL ||
		!split_estimate(heap, index, info, nblocks, (Size) maintenance_work_mem * 1024,
						first->text && nblocks >= SMALL_BLOCKS, &estimate))
		return false;
	return estimate.of_key >= MANY_ROWS ||
		(estimate.of_first >= MANY_ROWS &&
		 (first->kind == KEY_BYTES || first->kind == KEY_COLLATED ||
		  first->kind == KEY_ABBREVIATED)) ||
		estimate.weighed;
}

const char *
gain_refusal(Relation heap, Relation index, IndexInfo *info, BlockNumber nblocks)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "index gain",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const KeyShape *shape = shape_open(index);
	bool		gains = (nblocks < TINY_BLOCKS && is_synced(index)) ||
		is_sorted_faster(shape, nblocks, info->ii_ParallelWorkers) ||
		is_estimated_faster(heap, index, info, nblocks, shape);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	if (gains)
		return NULL;
	return nblocks < SMALL_BLOCKS ? "The table is small." : "The server sorts such keys as fast.";
}
