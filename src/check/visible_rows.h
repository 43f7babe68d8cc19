/*
 * visible_rows.h
 *		The rows of a table that a snapshot sees, by blocks, so that several processes can share
 *		them.
 *
 * Pages are copied under one lock and read from the copy.  Most pages of a table that was loaded
 * hold nothing but rows that the snapshot sees; of any other the server is asked for each row.
 *
 * Price: rows of such pages get no note that their transaction has committed, which the server's
 * scan leaves in them; so they need not be written once more, but later readers look it up.
 *
 * Assumption: the table is a heap, and the snapshot one for MVCC.
 */
#ifndef PGBULK_VISIBLE_ROWS_H
#define PGBULK_VISIBLE_ROWS_H

#include "postgres.h"

#include "access/htup.h"
#include "storage/block.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

typedef struct VisibleRows VisibleRows;

/* Takes a row, which is there until it returns; false: no more of them. */
typedef bool (*VisibleRowsCallback) (HeapTuple row, void *arg);

/* Allocates in the current context.  The snapshot must be registered, or active. */
extern VisibleRows *visible_rows_open(Relation heap, Snapshot snapshot);

/* Calls for the rows of nblocks blocks from first on.  False: the callback wanted no more. */
extern bool visible_rows_scan(VisibleRows *rows, BlockNumber first, BlockNumber nblocks,
							  VisibleRowsCallback take, void *arg);

extern void visible_rows_close(VisibleRows *rows);

#endif							/* PGBULK_VISIBLE_ROWS_H */
