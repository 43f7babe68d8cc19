/*
 * orphans.h
 *		Whether a table has rows whose foreign key refers to no row.
 *
 * Reads both tables once, under a given snapshot, and looks the keys of the one up among those
 * of the other (orphan_search.h), with workers where the table is large: then each reads all
 * referenced keys, and they share the blocks of the table.
 *
 * Assumption: keys with the same bytes are equal.  The reverse need not hold, so the
 * answer "none" is certain, and the other one is not.
 *
 * Price: 35 ns for each row with a bitmap, 60 ns with a set of texts, the scans included, divided
 * among the processes.
 * All stays within maintenance_work_mem.
 */
#ifndef PGBULK_ORPHANS_H
#define PGBULK_ORPHANS_H

#include "postgres.h"

#include "check/orphan_search.h"
#include "utils/snapshot.h"

/*
 * Why the rows of this key are not, or had better not be, searched here; NULL if they should be.
 * The tables must be locked against changes of their columns.
 */
extern const char *orphans_obstacle(const OrphanKey *key);

/* For tests: workers do all of the search, if any can be had, also in small tables. */
extern bool orphans_by_workers;

/*
 * NULL: the table has no orphans, as far as this snapshot sees.  Else why that is not certain: it
 * may have some, or the keys need more memory.  To be called where orphans_obstacle is NULL.
 */
extern const char *orphans_doubt(const OrphanKey *key, Snapshot snapshot);

#endif							/* PGBULK_ORPHANS_H */
