/*
 * cascades.h
 *		Whether the actions of foreign keys come back to a table.
 */
#ifndef PGBULK_CASCADES_H
#define PGBULK_CASCADES_H

#include "postgres.h"

/*
 * Whether rows of a table, or of a part of it, are deleted or changed when rows of it are deleted: by
 * ON DELETE CASCADE, SET NULL or SET DEFAULT of a key to itself, or along a circle of
 * tables, on which ON UPDATE counts, too.  Triggers of other kinds are not looked
 * at.  Locks what it looks at (ACCESS SHARE).
 */
extern bool cascades_return(Oid relid);

#endif							/* PGBULK_CASCADES_H */
