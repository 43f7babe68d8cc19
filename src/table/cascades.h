/*
 * cascades.h
 *		Whether cascading actions of foreign keys lead back to a table.
 */
#ifndef PGBULK_CASCADES_H
#define PGBULK_CASCADES_H

#include "postgres.h"

/*
 * Whether deleting rows of a table or one of its partitions deletes or changes
 * other rows of it: by ON DELETE CASCADE, SET NULL or SET DEFAULT of a
 * self-referencing key, or along a cycle of tables, in which ON UPDATE counts,
 * too.  User-defined triggers are not considered.  Locks the tables it examines
 * (ACCESS SHARE).
 */
extern bool cascades_return(Oid relid);

#endif							/* PGBULK_CASCADES_H */
