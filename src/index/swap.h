/*
 * swap.h
 *		The end of a load's index phase: nobody may read the old files any more.
 */
#ifndef PGBULK_SWAP_H
#define PGBULK_SWAP_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/rel.h"

/*
 * Locks indexes (OIDs) of some tables (heaps: of Relation) against all others until the end of the
 * transaction, once those who are using them are done.  None of these has to wait for this
 * transaction meanwhile, whatever index it locks next, unless it takes too long.
 *
 * Assumption: the tables are locked against writers, SHARE ROW EXCLUSIVE at least.  Price: a query
 * that begins after the call waits for the commit.  Trap: between two attempts no lock is held, so
 * indexes may be used again.
 *
 * Errors: 40P01 where somebody who uses an index waits for this transaction.
 */
extern void swap_lock(List *heaps, List *indexes);

#endif							/* PGBULK_SWAP_H */
