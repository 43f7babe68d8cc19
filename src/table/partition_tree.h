/*
 * partition_tree.h
 *		Where a table stands in a tree of partitions.
 */
#ifndef PGBULK_PARTITION_TREE_H
#define PGBULK_PARTITION_TREE_H

#include "postgres.h"

#include "utils/rel.h"

/* The root of the tree that a partition belongs to; the table itself if it is none. */
extern Oid	partition_tree_root(Relation rel);

/* Whether a table is another one, or a partition of it at any depth. */
extern bool partition_tree_is_part_of(Oid relid, Oid other);

#endif							/* PGBULK_PARTITION_TREE_H */
