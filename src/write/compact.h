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
 * fail.  Else they would be found to point to what others put there later.  A row that somebody else in this transaction
 * has put among them (a function that a constraint calls) does have such entries, in the indexes' old files; it is told by
 * its being one too many.
 */
#ifndef PGBULK_COMPACT_H
#define PGBULK_COMPACT_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/rel.h"

/*
 * Moves the living rows from block first on together; end becomes the block
 * behind them.  The table is locked against other writers.  False, and nothing has changed, where there are
 * others than so many rows of this (sub)transaction that were inserted and perhaps deleted: those of the load, and
 * none besides.
 */
extern bool compact_tail(Relation rel, BlockNumber first, int64 rows, BlockNumber *end);

/* Whether there is nothing on blocks from end on, under the same lock. */
extern bool compact_is_empty(Relation rel, BlockNumber end);

/* Cuts off blocks from end on, of which nothing is of use; false: others use the table. */
extern bool compact_truncate(Relation rel, BlockNumber end);

/*
 * Cuts off all blocks of a table that is locked against writers, which the caller has open once, where they hold
 * nothing but rows that nobody has ever seen, no index has entries for them, in whichever file comes
 * back should this transaction fail, and nobody uses the table.  Else they stay, for VACUUM.
 *
 * Price: as long as the transaction lasts, standbys keep the lock that a moment is enough for here, as they do
 * after TRUNCATE.
 */
extern void compact_unseen(Relation rel);

#endif							/* PGBULK_COMPACT_H */
