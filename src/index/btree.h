/*
 * btree.h
 *		A btree's pages from keys that come in order.
 *
 * The pages are those that the server's own build makes (nbtsort.c, the layout is nbtree.h's): the
 * same fill factors, posting lists, truncated high keys.  What nbtree exports is used for that
 * (_bt_truncate, _bt_form_posting).  In contrast to nbtsort.c no tuple is sorted, and a key that
 * many rows have is formed once.
 *
 * Assumption: the storage is new in this transaction and empty, so no other session reads it and
 * shared buffers have none of it.  Keys come in the order of the operator class, the rows of a key
 * (of equal keys, too) by TID: nothing here compares keys.
 *
 * Price: each level keeps a page and an item in memory; each leaf is copied once.
 *
 * Trap: until btree_close the file has no meta page, so that nobody takes it for an index.  A
 * btree whose build has failed can't be gone on with: its storage must be dropped.
 */
#ifndef PGBULK_BTREE_H
#define PGBULK_BTREE_H

#include "postgres.h"

#include "access/itup.h"
#include "index/btree_type.h"
#include "index/row_id.h"
#include "port/atomics.h"
#include "storage/buffile.h"
#include "utils/rel.h"

/* Memory: the current context. */
extern Btree *btree_open(Relation heap, Relation index);

/*
 * The next key, in order, as index_form_tuple makes it; the tuple must stay until btree_end_key.
 * The key before has been ended.
 */
extern void btree_key(Btree *btree, IndexTuple key);

/* The current key, if there is one, has no more rows; its tuple may go. */
extern void btree_end_key(Btree *btree);

/*
 * Rows with that key, by TID; may be called several times for a key.  Errors: 54000 for a key that
 * is too large for the index.
 */
extern void btree_rows(Btree *btree, const RowId *rows, uint32 n);

/* The same, where whether rows are alive is not known or not of interest. */
extern void btree_tids(Btree *btree, const ItemPointerData *tids, int n);

/*
 * Instead of keys and their rows: n keys of one row each, as tuples of that size side by side.  The
 * key before has been ended, and no other row has one of them.
 */
extern void btree_singles(Btree *btree, IndexTuple tuples, Size size, uint32 n);

/*
 * Instead of a key and its rows: an entry of n rows, as another btree has it.  The key before has
 * been ended, and no other entry has the same key, unless btree_deduplicates is false.
 */
extern void btree_item(Btree *btree, IndexTuple item, int n);

/* Whether rows with the same key share entries. */
extern bool btree_deduplicates(const Btree *btree);

/* Returns the number of rows. */
extern double btree_close(Btree *btree);

/*
 * A btree from ranges of its keys that several processes have at the same time.  Each makes the
 * leaves of a range: what was said above, but with these two instead of btree_open and
 * btree_close.  next_block is in shared memory and begins with BTREE_FIRST_BLOCK; list gets the
 * leaves' numbers and high keys, and those two leaves that have neighbours in other ranges.  At
 * most npages pages wait in memory.
 *
 * bound: a key, as a tuple of the index, above all of the range and not above any of the next one;
 * NULL: the range is the last one.
 */
extern Btree *btree_open_range(Relation heap, Relation index,
							   pg_atomic_uint32 *next_block, int npages,
							   BufFile *list);
extern double btree_close_range(Btree *btree, IndexTuple bound);

/*
 * When all leaves are there, one process makes the levels above them and calls btree_close.  Lists
 * of leaves come in the order of the ranges, each with the bound above it.  nblocks: what
 * next_block has come to.
 */
extern Btree *btree_open_above(Relation heap, Relation index, BlockNumber nblocks);
extern void btree_take_range(Btree *btree, BufFile *list, IndexTuple bound, double nrows);

#endif							/* PGBULK_BTREE_H */
