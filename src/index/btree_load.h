/*
 * btree_load.h
 *		Keys in order, checked by what the index is for and put into a btree.
 */
#ifndef PGBULK_BTREE_LOAD_H
#define PGBULK_BTREE_LOAD_H

#include "postgres.h"

#include "index/btree.h"
#include "index/conflicts.h"
#include "index/key_sink.h"
#include "index/merge.h"
#include "index/key_shape.h"
#include "nodes/execnodes.h"

typedef struct BtreeLoad
{
	Relation	index;
	KeyShape	   *shape;
	Btree	   *btree;
	Merge	   *merge;			/* NULL: there are no old entries */
	bool		unique;
	bool		nulls_not_distinct;
	const ConflictSink *conflicts;	/* NULL: there are no duplicates */
	uint32		ngroups;		/* of rows that must not stand together */

	/* the current key */
	const char *image;
	bool		checked;			/* no two live rows may have it */
	RowId		live_row;		/* one that has; 0: none */
	bool		noted;			/* that and another one have */
} BtreeLoad;

/* Nothing but btree and merge is left to set. */
extern void btree_load_init(BtreeLoad *load, Relation index, IndexInfo *info, KeyShape *shape,
							const ConflictSink *conflicts);

/*
 * Where the keys go; the last one is to be ended (btree_end_key) by the caller.  Living rows with
 * one key that nobody records are an internal error, unless their constraint is deferrable.
 */
extern KeySink btree_load_sink(BtreeLoad *load);

#endif							/* PGBULK_BTREE_LOAD_H */
