/*
 * table_there.h
 *		What a COPY into a table of another node has to know of it.
 */
#ifndef PGBULK_TABLE_THERE_H
#define PGBULK_TABLE_THERE_H

#include "postgres.h"

#include "cluster/node.h"
#include "cluster/placement.h"

/*
 * Asks the node, which must be idle.  desc: the target's columns.  Returns whether the
 * table may keep rows out; *unlike is set to why its columns take other texts than the
 * target's, or NULL.  Error: 0A000 for one with rules for INSERT.
 */
extern bool table_there_learn(RemoteNode *node, const Shard *shard, TupleDesc desc,
							  const char **unlike);

/* Its name in a statement.  Memory: the current context. */
extern char *table_there_name(const Shard *shard);

#endif							/* PGBULK_TABLE_THERE_H */
