/*
 * partition_tree.h
 *		The position of a table in a partition tree, and what kinds of tables that has.
 */
#ifndef PGBULK_PARTITION_TREE_H
#define PGBULK_PARTITION_TREE_H

#include "postgres.h"

#include "storage/lockdefs.h"
#include "utils/rel.h"

/* The root of a partition's tree; for any other table the table itself. */
extern Oid	partition_tree_root(Relation rel);

/* Whether a table is another one, or a partition of it at any depth. */
extern bool partition_tree_is_part_of(Oid relid, Oid other);

/* Whether a table is partitioned and has foreign tables in its tree. */
extern bool partition_tree_has_foreign(Relation rel);

/*
 * The table and its partitions at any depth, locked.  Tables that inherit from one that is
 * not partitioned are not its own: a load puts nothing into them.
 */
extern List *partition_tree_tables(Oid relid, LOCKMODE lockmode);

/* Its tables that store rows here: partitions at any depth, or the table itself. */
extern List *partition_tree_stored_here(Oid relid);

#endif							/* PGBULK_PARTITION_TREE_H */
