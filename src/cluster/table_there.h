/*
 * table_there.h
 *		What a COPY into a table of another node has to know of it.
 */
#ifndef PGBULK_TABLE_THERE_H
#define PGBULK_TABLE_THERE_H

#include "postgres.h"

#include "cluster/node.h"
#include "cluster/placement.h"

typedef struct TableThere
{
	Oid			oid;			/* InvalidOid: there is none */
	bool		filters;		/* it may keep rows out */
	bool		is_apart;		/* storing rows there has no part in other tables */
	const char *unlike;			/* why its columns take other texts than the target's; or NULL */
} TableThere;

/*
 * Asks the node, whose session must be idle.  desc: the target's columns.  Error: 0A000 for a
 * table with rules for INSERT.
 */
extern void table_there_learn(RemoteNode *node, const Shard *shard, TupleDesc desc,
							  TableThere *there);

/*
 * Has texts for the table mean there what they mean here, as far as its columns say so; for the
 * session that will copy them, which must be idle.
 */
extern void table_there_pass_settings(RemoteNode *node, TupleDesc desc);

/* Its name in a statement.  Memory: the current context. */
extern char *table_there_name(const Shard *shard);

#endif							/* PGBULK_TABLE_THERE_H */
