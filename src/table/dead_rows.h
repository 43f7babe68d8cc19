/*
 * dead_rows.h
 *		Tables that have pages and no rows: after a load that failed, or DELETE.
 */
#ifndef PGBULK_DEAD_ROWS_H
#define PGBULK_DEAD_ROWS_H

#include "postgres.h"

#include "utils/rel.h"

/*
 * Whether all rows of a heap table seem to be deleted or rolled back.  Of large tables only some
 * pages are looked at, evenly spread, so a few rows may be there all the same: this is for choices
 * that are only a matter of time.  Rows that this transaction has deleted count as gone, those
 * that others are deleting do not.  Price: 8 MB are read at most; a single page where there are
 * rows on the first one.
 */
extern bool dead_rows_only(Relation rel);

/*
 * Whether every row of a heap table was inserted by transactions that failed, so that no snapshot,
 * also on a standby, has ever seen one or ever will.  That is certain as long as the table is
 * locked against writers, SHARE ROW EXCLUSIVE at least, which the caller sees to.  Price: all
 * pages are read, 1 microsecond each, up to the first other row.
 */
extern bool dead_rows_unseen(Relation rel);

#endif							/* PGBULK_DEAD_ROWS_H */
