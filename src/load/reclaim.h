/*
 * reclaim.h
 *		Reclaims the space of rows of a direct load that have been deleted
 *		again.
 */
#ifndef PGBULK_RECLAIM_H
#define PGBULK_RECLAIM_H

#include "postgres.h"

#include "check/check.h"
#include "load/result.h"

/*
 * Where most rows of the load have been deleted, and their space is much of the
 * table, moves the remaining rows together, rebuilds the indexes with up to
 * this many workers, and truncates the table.  Call after checks_run.  Sets in
 * the result how much was reclaimed per table, or why not.  Errors: as
 * index_run.
 */
extern void reclaim_space(const Checks *checks, int workers, LoadResult *result);

#endif							/* PGBULK_RECLAIM_H */
