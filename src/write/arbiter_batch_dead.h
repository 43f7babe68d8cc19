/*
 * arbiter_batch_dead.h
 *		Entries with the keys of rows that wait whose own rows are dead to everyone, by the
 *		leaves that they were found on.
 *
 * A table that is loaded again and again has one for nearly each key, until VACUUM comes: a leaf
 * that is full has room for all new entries when these are removed together.
 */
#ifndef PGBULK_ARBITER_BATCH_DEAD_H
#define PGBULK_ARBITER_BATCH_DEAD_H

#include "postgres.h"

#include "write/arbiter_batch_state.h"

/* Adds an entry with the key of a waiting row.  Memory: the batch's scratch. */
extern void dead_add(ArbiterBatch *batch, uint32 number, RowId entry);

/* When all have been added. */
extern void dead_sort(ArbiterBatch *batch);

/*
 * For the inserter: rows of entries of a leaf, as many as max, in the order of TIDs; lsn: of the
 * leaf, which is as it was when they were found if that is.  Returns how many there are.
 */
extern int	dead_on_leaf(void *arg, BlockNumber block, XLogRecPtr lsn, ItemPointerData *tids,
						 int max);

#endif							/* PGBULK_ARBITER_BATCH_DEAD_H */
