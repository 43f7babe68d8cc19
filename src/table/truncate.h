/*
 * truncate.h
 *		Empties the target of a load.
 */
#ifndef PGBULK_TRUNCATE_H
#define PGBULK_TRUNCATE_H

#include "postgres.h"

/*
 * TRUNCATE of a table, or TRUNCATE ONLY of one that is not partitioned, with all
 * checks and effects of the command.  The table must not be open.
 */
extern void truncate_table(Oid relid);

/*
 * The same, without the foreign tables among its partitions, or the table itself if it
 * is one.  Privileges on the table have been checked; errors: as TRUNCATE's, and 0A000
 * for triggers for TRUNCATE of such a foreign table, 55000 for one with option "truncatable" off.
 */
extern void truncate_parts_here(Oid relid);

#endif							/* PGBULK_TRUNCATE_H */
