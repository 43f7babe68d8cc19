/*
 * index.h
 *		The index phase: after the rows, their index entries.
 *
 * A direct writer puts rows into the table without index entries; index_run makes
 * up for that.  Few rows are inserted.  Else an index is built anew in a file of its own
 * while readers go on with the old one; the old file gives way when the
 * transaction commits.  Whoever reads the table by then must be done before: the lock for
 * that, ACCESS EXCLUSIVE on these indexes alone, is taken at the end.
 */
#ifndef PGBULK_INDEX_H
#define PGBULK_INDEX_H

#include "postgres.h"

#include "index/conflicts.h"
#include "index/plan.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

/*
 * The entries of all rows; nothing if they came with the rows.  tables: of IndexTable, by OID; all
 * have got rows, and are locked against other writers.  No
 * subtransaction of the load is open.  workers: option
 * workers.  Several indexes are built side by side.  conflicts: where rows that share
 * a key are noted.
 *
 * Where somebody who uses an index waits for this very transaction, as whoever has read the table
 * and now writes to it does, or is not done within lock_timeout, all old files stay and the
 * entries are inserted into them.
 *
 * Errors: as build_index; 55006 where an index is being used by this session; 40P01 and 55P03 in
 * these cases where option indexes has asked for new files.
 */
extern void index_run(List *tables, int workers, Conflicts *conflicts);

/*
 * After that, in the same transaction, rows of some tables have moved: all their indexes once more,
 * anew.  reason: for the plans.
 */
extern void index_run_again(List *tables, int workers, const char *reason);

/*
 * The seconds that the index phase may take for such tables, with so many rows in all of them
 * (below 0: as each has): a guess, for which the indexes are looked at.
 */
extern double index_seconds(List *tables, double rows, int workers);

/* The table has got smaller. */
extern void index_note_size(const IndexTable *table);

#endif							/* PGBULK_INDEX_H */
