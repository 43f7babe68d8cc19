/*
 * leaves.h
 *		The entries of a btree, page by page in the order of the keys.
 *
 * Reads the file that an index had before it got a new one, through shared buffers, while others
 * scan it.
 *
 * Assumption: the table's lock keeps out whoever would insert, and VACUUM, so no page splits and
 * none is deleted.  Scans may mark items LP_DEAD at any time, under a share lock as here.
 *
 * Price: each page is read once, into a ring of buffers, and copied.
 *
 * Trap: items point into the copy of the current page, and are gone with the next one.
 */
#ifndef PGBULK_LEAVES_H
#define PGBULK_LEAVES_H

#include "postgres.h"

#include "access/nbtree.h"
#include "server/compat.h"
#include "utils/rel.h"

typedef struct Leaves Leaves;

/* A leaf's items, without the dead ones unless a standby may want them (horizon.h). */
typedef struct LeafPage
{
	BlockNumber block;
	int			n;
	IndexTuple	items[MaxIndexTuplesPerPage];
} LeafPage;

/* file: the index's old one, of format 4 (heap TIDs are keys).  Memory: the current context. */
extern Leaves *leaves_open(Relation index, RelFileLocator file);

/*
 * The next page that has entries, good until the next call; NULL: there is none.  Errors: XX002
 * where the file is not a btree's.
 */
extern const LeafPage *leaves_next(Leaves *leaves);

/* Raises XX002, with what is wrong with the current page. */
extern void leaves_raise_corrupted(const Leaves *leaves, const char *what);

extern void leaves_close(Leaves *leaves);

/* The TIDs of an item, of which check_item has made sure, and the size of its key. */
static inline const ItemPointerData *
leaf_rows(IndexTuple item, int *n)
{
	Assert(!BTreeTupleIsPivot(item));
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
