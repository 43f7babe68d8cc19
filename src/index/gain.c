/*
 * gain.c
 *		See gain.h.
 */
#include "postgres.h"

#include "index/gain.h"
#include "index/key_shape.h"
#include "index/split.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* As many rows of a key, or more, make up for all else. */
#define MANY_ROWS 3

/* By what sorts them, whatever they are. */
static bool
is_sorted_faster(const KeyShape *shape)
{
	const ShapeColumn *first = &shape->columns[0];

	return shape->integer || (first->kind == KEY_COLLATED && first->libc);
}

/* By how many rows share them. */
static bool
is_shared(Relation heap, Relation index, IndexInfo *info, BlockNumber nblocks,
		  const KeyShape *shape)
{
	KeyKind		first = shape->columns[0].kind;
	double		of_key;
	double		of_first;

	if (info->ii_Expressions != NIL || info->ii_Predicate != NIL ||
		!split_estimate(heap, index, info, nblocks, (Size) maintenance_work_mem * 1024,
						&of_key, &of_first))
		return false;
	return of_key >= MANY_ROWS ||
		(of_first >= MANY_ROWS && (first == KEY_BYTES || first == KEY_COLLATED));
}

const char *
gain_refusal(Relation heap, Relation index, IndexInfo *info, BlockNumber nblocks)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "index gain",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const KeyShape *shape = shape_open(index);
	bool		gains = is_sorted_faster(shape) || is_shared(heap, index, info, nblocks, shape);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return gains ? NULL : "the server sorts such keys as fast";
}
