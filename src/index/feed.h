/*
 * feed.h
 *		Keys in order, judged by what the index is for and put into a btree.
 */
#ifndef PGBULK_FEED_H
#define PGBULK_FEED_H

#include "postgres.h"

#include "index/btree.h"
#include "index/conflicts.h"
#include "index/key_sink.h"
#include "index/merge.h"
#include "index/shape.h"
#include "nodes/execnodes.h"

typedef struct Feed
{
	Relation	index;
	Shape	   *shape;
	Btree	   *btree;
	Merge	   *merge;			/* NULL: there are no old entries */
	bool		unique;
	bool		nulls_not_distinct;
	const ConflictSink *conflicts;	/* NULL: there are no duplicates */
	uint32		ngroups;		/* of rows that must not stand together */

	/* the current key */
	const char *image;
	bool		judged;			/* no two living rows may have it */
	RowId		living;			/* one that has; 0: none */
	bool		noted;			/* that and another one have */
} Feed;

/* Nothing but btree and merge is left to set. */
extern void feed_init(Feed *feed, Relation index, IndexInfo *info, Shape *shape,
					  const ConflictSink *conflicts);

/*
 * Where the keys go; the last one is to be ended (btree_end_key) by the caller.  Living rows with
 * one key that nobody notes are an internal error, unless their constraint is deferrable.
 */
extern KeySink feed_sink(Feed *feed);

#endif							/* PGBULK_FEED_H */
