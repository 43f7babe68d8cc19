/*
 * citus_catalog.h
 *		What the catalogs of Citus say of its tables, shards and nodes.
 *
 * They are found by name, as members of the extension, which is needed neither to build
 * nor to run.  Each function reads what is committed now, whatever the transaction's
 * snapshot: shards may have moved since.
 *
 * Errors of those that find Citus with other catalogs than these: 0A000.  Known are those
 * of Citus 11.1 to 15.  Memory: the current context.
 */
#ifndef PGBULK_CITUS_CATALOG_H
#define PGBULK_CITUS_CATALOG_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* How rows find their shard (pg_dist_partition.partmethod). */
#define CITUS_BY_HASH 'h'
#define CITUS_SINGLE_SHARD 'n'

/* What keeps copies of a shard the same (pg_dist_partition.repmodel). */
#define CITUS_REFERENCE_MODEL 't'
#define CITUS_STREAMING_MODEL 's'

typedef struct CitusTable
{
	char		method;
	char		model;
	uint32		colocation;		/* 0: with no other table */
	AttrNumber	key;			/* the distribution column; 0: none */
	Oid			key_type;
	Oid			key_collation;
} CitusTable;

typedef struct CitusShard
{
	int64		id;
	bool		has_range;
	int32		low;			/* of the hashes, both inclusive */
	int32		high;
	List	   *groups;			/* of the nodes that have it; int */
} CitusShard;

typedef struct CitusNode
{
	int32		id;
	int32		group;			/* 0: the coordinator */
	char	   *host;
	int32		port;
} CitusNode;

/* Whether the rows of a table can be sent to its shards. */
static inline bool
citus_is_served(const CitusTable *table)
{
	return table->method == CITUS_BY_HASH || table->method == CITUS_SINGLE_SHARD;
}

/* Whether it is a reference table, which all nodes have. */
static inline bool
citus_is_reference(const CitusTable *table)
{
	return table->method == CITUS_SINGLE_SHARD && table->model == CITUS_REFERENCE_MODEL;
}

/* Whether a table is one of Citus: distributed, reference, or local and known to it. */
extern bool citus_find_table(Oid relid, CitusTable *table);

/* Whether it is a shard of one. */
extern bool citus_is_shard(Oid relid);

/*
 * The shards of a table, CitusShard, without their groups; by the ranges of their hashes, where it
 * has such.
 */
extern List *citus_list_shards(Oid relid, bool by_hash);

/* Finds out which groups (pg_dist_placement.groupid) have them; once for each list. */
extern void citus_find_groups(const List *shards);

/* A shard's schema and name on its nodes. */
extern void citus_shard_name(Oid relid, int64 shard, char **schema, char **name);

/* The nodes that take writes, CitusNode, by host and port; NIL where there is no Citus. */
extern List *citus_list_nodes(void);

/* The number of this server among these. */
extern int32 citus_local_group(void);

/*
 * How a user is authenticated to a node, and what of its address a pooler replaces, both as
 * connection strings, NULL: nothing.
 */
extern char *citus_authentication(const CitusNode *node, const char *user);
extern char *citus_pooler(const CitusNode *node);

#endif							/* PGBULK_CITUS_CATALOG_H */
