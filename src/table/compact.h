/*
 * compact.h
 *		Compacts the end of a table that a load has filled, when few of its
 *		rows are left.
 *
 * No other session sees the rows of a load until it commits, so they can be
 * moved: together, to where the load began.  The blocks after them are emptied,
 * and truncated if nobody uses the table.  If the transaction fails, nothing is
 * lost: all these rows, and those that were deleted, are its own.
 *
 * Assumption: the table is locked against writers, SHARE ROW EXCLUSIVE at
 * least; index entries of moved rows point to wrong places, so the caller
 * rebuilds the indexes (index_run_again).
 *
 * Price: each page is read twice, and written and logged as an image, including
 * the emptied ones.
 *
 * Trap: entries for these rows may exist only in index files that are removed
 * if the transaction aborts.  Others would point to rows that other sessions
 * store there later.  A row that a function inserted among them in this
 * transaction (one called by a constraint) does have such entries, in the
 * indexes' old files.  It is noticed because the number of rows is then greater
 * than the load's.
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

/* Whether blocks from end on contain no items, under the same lock. */
extern bool compact_is_empty(Relation rel, BlockNumber end);

/*
 * Truncates blocks from end on, which contain nothing that is needed; false if
 * others use the table.
 */
extern bool compact_truncate(Relation rel, BlockNumber end);

/*
 * Truncates all blocks of a table that is locked against writers and that the caller has open once,
 * provided that
 * 	- they contain only rows that nobody has ever seen (dead_rows.h);
 * 	- no index has entries for them, nor would have if this transaction failed; and
 * 	- nobody uses the table.
 * Otherwise they are left to VACUUM.
 *
 * Price: standbys hold the ACCESS EXCLUSIVE lock until the transaction ends, as
 * after TRUNCATE, while here it is held for a moment.
 */
extern void compact_unseen(Relation rel);

#endif							/* PGBULK_COMPACT_H */
