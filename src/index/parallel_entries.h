/*
 * parallel_entries.h
 *		The index entries of rows that are in their table, inserted by several processes.
 *
 * For many rows that others may not see yet, in a table that others write to: see entries.h.
 * Each process takes a share of the rows for one index, fetches them, forms their keys, sorts
 * these and inserts them leaf by leaf (inserter.h), and goes on with a share that nobody has
 * taken, of the next index: so processes are seldom at work on the same leaves.
 *
 * Rows that the server must judge, as their keys may be there already, are returned to the caller,
 * who asks in the order of the table; so errors are those of one process.
 *
 * Price: each row is fetched once for each index, and each share finds the leaves anew; in
 * shared memory 8 bytes for each row, and a bit for each row and index.
 */
#ifndef PGBULK_PARALLEL_ENTRIES_H
#define PGBULK_PARALLEL_ENTRIES_H

#include "postgres.h"

#include "index/row_id.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/* An index, and what came of it. */
typedef struct ParallelEntries
{
	Relation	index;
	uint8	   *judged;			/* a bit for each row that the server must judge */
} ParallelEntries;

/* Whether other processes may do that: they see the table, and may evaluate its indexes. */
extern bool parallel_entries_are_safe(Relation heap, IndexInfo *const *infos, int n);

/*
 * Inserts the entries of the rows, which are in order, into n indexes, all open
 * and locked as for INSERT; judged is set.  workers: how many help, at most.
 * memory: bytes for the keys that all processes have at a time.  Returns how
 * many workers there were.  Memory: the current context.  Errors: those of
 * forming and inserting entries, about a row (failed_row.h).
 */
extern int	parallel_entries_insert(Relation heap, ParallelEntries *indexes, int n,
									const RowId *rows, uint32 nrows, int workers, Size memory);

static inline bool
parallel_entries_is_judged(const ParallelEntries *entries, uint32 row)
{
	return (entries->judged[row / 8] >> (row % 8) & 1) != 0;
}

#endif							/* PGBULK_PARALLEL_ENTRIES_H */
