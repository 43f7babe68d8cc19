/*
 * placement.h
 *		Which table of which node a row belongs to.
 *
 * A placement is a const struct of callbacks, one for each engine that spreads
 * a table over nodes: postgres_fdw, whose foreign tables are the target or
 * partitions of it, beside partitions that are here (foreign.c), and Citus (citus.c).
 */
#ifndef PGBULK_PLACEMENT_H
#define PGBULK_PLACEMENT_H

#include "postgres.h"

#include "cluster/session.h"
#include "executor/executor.h"
#include "nodes/bitmapset.h"
#include "row/guard.h"

typedef struct Placement Placement;

/* A table of a node. */
typedef struct Shard
{
	NodeId		node;
	char	   *schema;			/* there */
	char	   *name;
	const char **columns;		/* their names there, by the target's; NULL: is not sent */
	void	   *sink;			/* whoever sends to it; NULL at first */
	struct Shard *copy;			/* another table with the same rows; NULL: none */
	bool		is_copied;		/* it is one of several such */
	int			number;			/* that processes beside one another know it by; 0: they do not */
} Shard;

typedef struct PlacementRoutine
{
	/*
	 * The shard of a row with the target's columns, of which those of the key
	 * suffice; *shard is NULL where it is not for a node.  False: the row is outside
	 * of the bounds of a table, and err is filled; where it is NULL, that is an error
	 * (23514).  Others: 0A000 for a table that cannot be loaded so.
	 */
	bool		(*find) (Placement *placement, TupleTableSlot *slot, Shard **shard, RowError *err);

	/*
	 * The same for the value of a key of one column, not NULL, where by_value is set.  False: that
	 * does not suffice, and it is for find.
	 */
	bool		(*find_by_value) (Placement *placement, Datum value, Shard **shard);

	/* The shard of a text in the database encoding, where by_bytes is set, too. */
	Shard	   *(*find_by_bytes) (Placement *placement, const char *bytes, uint32 length);

	/* All shards that there are, each a Shard, also those without rows. */
	List	   *(*list) (Placement *placement);

	/* Before the first row; NULL: there is nothing to do. */
	void		(*begin) (Placement *placement, Sessions *sessions);

	/*
	 * For a worker: the bytes of what it has to know of the shards that have numbers, and that,
	 * for foreign_join or citus_join.
	 */
	Size		(*share_size) (Placement *placement);
	void		(*share) (Placement *placement, void *shared);

	/* Once the estate's slots are no longer needed. */
	void		(*close) (Placement *placement);
} PlacementRoutine;

struct Placement
{
	const PlacementRoutine *routine;
	Bitmapset  *key;			/* columns that find looks at, offset as those of pull_varattnos */
	bool		has_copies;		/* each row goes to several nodes, or may once do so */
	bool		by_value;		/* its value alone may say where a row belongs */
	bool		by_bytes;		/* values of the key that are text are no more than their bytes */
};

/* Whether a table is, or has, foreign tables of postgres_fdw. */
extern bool foreign_has(Relation rel);

/* The placement of such a table.  Memory: the executor state's. */
extern Placement *foreign_open(ResultRelInfo *root, EState *estate, Guard *guard);

/*
 * That of a table of Citus, whose shards stay where they are until the transaction ends.
 * Memory: the executor state's.  Error: 55000 for one without shards.
 */
extern Placement *citus_open(ResultRelInfo *root, EState *estate);

/*
 * The same in a worker, which only finds the numbers of shards: *shard is NULL where a row is for
 * none that has one.  It stays valid as long as shared does.
 */
extern Placement *foreign_join(ResultRelInfo *root, EState *estate, Guard *guard,
							   const void *shared);
extern Placement *citus_join(ResultRelInfo *root, EState *estate, const void *shared);

/* Whether rows of such a table go to several nodes, as long as nobody changes that. */
extern bool citus_has_copies(Oid relid);

#endif							/* PGBULK_PLACEMENT_H */
