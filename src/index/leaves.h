/*
 * leaves.h
 *		The entries of a btree, page by page in the order of the keys.
 *
 * Reads the file that an index had before it got a new one, through shared buffers,
 * while others scan it.  Nobody inserts, and no VACUUM runs: that is for
 * the lock on the table to see to.
 */
#ifndef PGBULK_LEAVES_H
#define PGBULK_LEAVES_H

#include "postgres.h"

#include "access/nbtree.h"
#include "compat.h"
#include "utils/rel.h"

typedef struct Leaves Leaves;

/* A leaf's entries; those that are known to be dead only where a standby may want them (horizon.h). */
typedef struct LeafPage
{
	BlockNumber block;
	int			n;
	IndexTuple	items[MaxIndexTuplesPerPage];
} LeafPage;

/* Memory: the current context. */
extern Leaves *leaves_open(Relation index, RelFileLocator file);

/*
 * The next page that has entries, good until the next call; NULL: there is none.  Errors: XX002
 * where the file is not a btree's.
 */
extern const LeafPage *leaves_next(Leaves *leaves);

/* XX002, with what is wrong. */
extern void leaves_raise_corrupted(const Leaves *leaves, const char *what);

extern void leaves_close(Leaves *leaves);

/* Of an entry: its rows, and the size of its key. */
static inline const ItemPointerData *
leaf_rows(IndexTuple item, int *n)
{
	if (BTreeTupleIsPosting(item))
	{
		*n = BTreeTupleGetNPosting(item);
		return BTreeTupleGetPosting(item);
	}
	*n = 1;
	return &item->t_tid;
}

static inline Size
leaf_key_size(IndexTuple item)
{
	return BTreeTupleIsPosting(item) ? BTreeTupleGetPostingOffset(item) :
		IndexTupleSize(item);
}

#endif							/* PGBULK_LEAVES_H */
