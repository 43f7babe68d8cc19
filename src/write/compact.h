/*
 * compact.h
 *		The end of a table that a load has filled, when few of its rows are left.
 *
 * Rows of the load are nobody else's until it commits, so they can be moved: together, to where
 * the load began.  What is behind them is emptied, and cut off when
 * nobody uses the table.  Whatever becomes of the transaction, nothing is lost: the rows that go are
 * deleted by the transaction that has inserted them.
 *
 * Their index entries are good no more: indexes must be built anew (index_run_again).
 *
 * Trap: there may be entries for these rows only in files that go with the transaction, should it
 * fail.  Else they would be found to point to what others put there later.
 */
#ifndef PGBULK_COMPACT_H
#define PGBULK_COMPACT_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/rel.h"

/*
 * Moves the living rows from block first on together; end becomes the block
 * behind them.  The table is locked against other writers.  False, and nothing has changed, where there are
 * others than rows of this (sub)transaction that were inserted and perhaps deleted.
 */
extern bool compact_tail(Relation rel, BlockNumber first, BlockNumber *end);

/* Cuts off empty blocks from end on; false: others use the table. */
extern bool compact_truncate(Relation rel, BlockNumber end);

#endif							/* PGBULK_COMPACT_H */
