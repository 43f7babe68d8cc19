/*
 * compact.h
 *		The end of a table that a load has filled, when few of its rows are left.
 *
 * No other session sees the rows of a load until it commits, so they can be moved: together, to
 * where the load began.  What is behind them is emptied, and cut off when nobody uses the table.
 * If the transaction fails, nothing is lost: all these rows, and those that were deleted, are its
 * own.
 *
 * Assumption: the table is locked against writers, SHARE ROW EXCLUSIVE at least; index entries of
 * moved rows point to wrong places, so the caller builds the indexes again (index_run_again).
 *
 * Price: each page is read twice, and written and logged as an image, the emptied ones, too.
 *
 * Trap: entries for these rows may be only in index files that go with the transaction, should it
 * fail.  Others would point to what other sessions put there later.  A row that a function has
 * inserted among them in this transaction (one that a constraint calls) does have such entries, in
 * the indexes' old files.  It is noticed as the number of rows is then greater than the load's.
 */
#ifndef PGBULK_COMPACT_H
#define PGBULK_COMPACT_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/rel.h"

/*
 * Moves the living rows from block first on together; *end becomes the block behind them.  rows:
 * the number that the load has inserted there in this (sub)transaction, deleted ones included.
 * False, and nothing has changed, where there are other rows or another number of them.
 */
extern bool compact_tail(Relation rel, BlockNumber first, int64 rows, BlockNumber *end);

/* Whether there is no item on blocks from end on, under the same lock. */
extern bool compact_is_empty(Relation rel, BlockNumber end);

/* Cuts off blocks from end on, which have nothing that is needed; false: others use the table. */
extern bool compact_truncate(Relation rel, BlockNumber end);

/*
 * Cuts off all blocks of a table that is locked against writers and that the caller has open once,
 * where
 *	- they have nothing but rows that nobody has ever seen (dead_rows.h);
 *	- no index has entries for them, nor would have if this transaction failed; and
 *	- nobody uses the table.
 * Else they remain, for VACUUM.
 *
 * Price: standbys keep the ACCESS EXCLUSIVE lock until the transaction ends, as after TRUNCATE,
 * while here it is held for a moment.
 */
extern void compact_unseen(Relation rel);

#endif							/* PGBULK_COMPACT_H */
