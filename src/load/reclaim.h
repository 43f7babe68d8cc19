/*
 * reclaim.h
 *		The space of rows that a direct load has put into its tables, and that have gone again.
 */
#ifndef PGBULK_RECLAIM_H
#define PGBULK_RECLAIM_H

#include "postgres.h"

#include "check/check.h"
#include "load/result.h"

/*
 * Where most rows of the load have gone again, so does their space, if it is much of the table:
 * what is left is moved together, the indexes are built once more, by up to so many
 * workers, and the end of the table is cut off.  checks_run has been there.  The result says of
 * its tables how much it was, or why not.  Errors: as index_run.
 */
extern void reclaim_space(const Checks *checks, int workers, LoadResult *result);

#endif							/* PGBULK_RECLAIM_H */
