/*
 * load.h
 *		One load, from its options to its result row.
 */
#ifndef PGBULK_LOAD_H
#define PGBULK_LOAD_H

#include "postgres.h"

#include "load/result.h"
#include "nodes/pg_list.h"
#include "option/options.h"
#include "stream/stored.h"

/*
 * Loads the files that paths (char *) name into relid; or, where stored is not
 * NULL, its rows, which stood in these files.  load_id is what the rejects carry.  Everything that is
 * done belongs to the current (sub)transaction; nothing is caught.  result is
 * allocated in the current context, and so is all that the load needs, below
 * a context of its own.
 */
extern void load_run(Oid relid, List *paths, StoredRows *stored,
					 const BulkOptions *options, int64 load_id,
					 LoadResult *result);

#endif							/* PGBULK_LOAD_H */
