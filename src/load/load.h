/*
 * load.h
 *		A load, from its options to its result row.
 */
#ifndef PGBULK_LOAD_H
#define PGBULK_LOAD_H

#include "postgres.h"

#include "load/result.h"
#include "nodes/pg_list.h"
#include "option/options.h"
#include "stream/stored.h"

/*
 * Loads the files named by paths (char *) into relid; or, if stored is not
 * NULL, its rows, which were read from these files earlier.  The load's number
 * is the next one of the sequence in that schema or, where schema is InvalidOid,
 * load_id.  Everything belongs to the current (sub)transaction; no error is
 * caught.  result and a child context with the load's memory are allocated in
 * the current context.
 */
extern void load_run(Oid relid, List *paths, StoredRows *stored,
					 const BulkOptions *options, Oid schema, int64 load_id,
					 LoadResult *result);

#endif							/* PGBULK_LOAD_H */
