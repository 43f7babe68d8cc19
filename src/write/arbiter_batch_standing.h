/*
 * arbiter_batch_standing.h
 *		Rows of the table whose keys rows of a batch have: whether they stand and,
 *		with keep_new, their replacement, in the order of the heap.
 */
#ifndef PGBULK_ARBITER_BATCH_STANDING_H
#define PGBULK_ARBITER_BATCH_STANDING_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "write/arbiter_batch_state.h"

/*
 * Fetches the rows of all candidates, and says of each key that waits what becomes of its rows.
 * Errors: those of DELETE and UPDATE.
 */
extern void standing_settle(ArbiterBatch *batch);

/* Columns of indexes, of their expressions and predicates, offset as in the server. */
extern Bitmapset *standing_indexed(const ResultRelInfo *rri);

#endif							/* PGBULK_ARBITER_BATCH_STANDING_H */
