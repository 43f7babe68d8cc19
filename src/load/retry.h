/*
 * retry.h
 *		Loads the bad rows of an earlier load again.
 */
#ifndef PGBULK_RETRY_H
#define PGBULK_RETRY_H

#include "postgres.h"

#include "load/load.h"
#include "utils/jsonb.h"

/*
 * Deletes the bad rows of load load_id from the reject table and loads them
 * into target.  Rows that are still bad are put back, with their new reason and
 * their original place.  json may be NULL; the default of on_error is ignore.
 *
 * The target is not taken from the reject table, as others may be able to write
 * to it; but rows for another table are refused.
 *
 * Errors: 22023 if there are no such rows, or not all are for target, and for
 * options that do not apply; 42804 if the table is not a reject table; 42501
 * without SELECT and DELETE on it; 22004 for a row without its line; those of a
 * load.
 */
extern void retry_run(Oid target, Oid reject_table, int64 load_id,
					  Jsonb *json, LoadResult *result);

#endif							/* PGBULK_RETRY_H */
