/*
 * merge.h
 *		The entries that a btree has, merged with new keys.
 *
 * New keys come in order (presort.h); before each, what the old file (leaves.h) has up to it goes
 * into the new pages (btree.h).  Old entries are copied as they are, but for posting lists that
 * REINDEX would make otherwise.  Of equal keys the old rows come first, as the new ones are behind
 * them in the table.
 *
 * Assumption: all rows that the old file has entries for are before the new ones in the table, and
 * nobody inserts while the merge lasts.
 *
 * Price: a key is searched for from where the one before was found, in steps that grow, so the
 * comparisons are a few for each new key, and one or two for each old page.  Where the same bytes
 * are there already, and equal keys have the same bytes, there is none: comparing by a collation
 * takes as long as a hundred comparisons of bytes.
 *
 * Trap: what is wrong in the old file and not seen here is wrong in the new one, too.
 */
#ifndef PGBULK_MERGE_H
#define PGBULK_MERGE_H

#include "postgres.h"

#include "index/btree.h"
#include "index/leaves.h"
#include "index/key_shape.h"

typedef struct Merge Merge;

/* The old rows are all before block first_block of the table.  Memory: the current context. */
extern Merge *merge_open(Relation heap, Relation index, KeyShape *shape,
						 Btree *btree, RelFileLocator file,
						 BlockNumber first_block);

/*
 * The next new key, as image and tuple: puts the old entries up to it and equal to it.  The caller
 * has ended the key before (btree_end_key).  True: the key is btree.h's current one already, with
 * old rows, and its new rows may follow.  False: the caller begins it (btree_key).
 *
 * alive: NULL, or a pointer to 0, which becomes a row of an old entry with this key that is alive.
 *
 * Errors: XX002 where the old entries are not in order.
 */
extern bool merge_key(Merge *merge, const char *image, IndexTuple tuple,
					  RowId *alive);

/* Puts the old entries that are left, and frees everything. */
extern void merge_close(Merge *merge);

#endif							/* PGBULK_MERGE_H */
