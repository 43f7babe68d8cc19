/*
 * create_index.h
 *		CREATE INDEX, ADD PRIMARY KEY, ADD UNIQUE, REINDEX and rewrites of a table (CLUSTER, VACUUM
 *		FULL, ALTER TABLE, REFRESH MATERIALIZED VIEW) by this extension's btree builder.
 *
 * The server does all of the statement: catalogs, locks, permissions, snapshots, the number of
 * workers, statistics.  Only the step that fills a btree (ambuild) is done here, where the setting
 * pgbulk.create_index is on and find_refusal has no reason against it.  What is left gets
 * the server's build, and so does an index whose keys are not unique: its error is the server's.
 *
 * How: the routines that a relation's cache entry points to are replaced by a copy with another
 * ambuild, for new indexes when they are created (object_access_hook), for others when the server
 * has given them a new file and marked them as being filled (a callback of the cache).
 * An entry that was built anew since has the server's own again, which is slower and not wrong.
 *
 * Trap: an entry keeps the copy after the statement, so that ambuild has to ask each time whether
 * it may.
 */
#ifndef PGBULK_CREATE_INDEX_H
#define PGBULK_CREATE_INDEX_H

#include "postgres.h"

/* Whether CREATE INDEX and the like are served. */
extern bool create_index_enabled;

/* For tests: also where that is not faster than the server's build. */
extern bool create_index_always;

/* Must be called once. */
extern void create_index_install(void);

#endif							/* PGBULK_CREATE_INDEX_H */
