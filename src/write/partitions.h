/*
 * partitions.h
 *		The leaf for each row of a partitioned target.
 *
 * Routing is the server's (ExecFindPartition), which opens a leaf when its
 * first row comes and keeps it open; the rows after it are routed by route.h.
 * What a writer has of its own for a leaf hangs on the leaf's result relation.
 *
 * Assumption: the writer's guard may be open, and a guard's subtransaction may
 * be rolled back at any row; what is opened here outlives it.
 */
#ifndef PGBULK_PARTITIONS_H
#define PGBULK_PARTITIONS_H

#include "postgres.h"

#include "access/tupconvert.h"
#include "nodes/execnodes.h"
#include "row/guard.h"
#include "row/row_error.h"

typedef struct Partitions Partitions;

/* Makes what the writer has for a leaf, when its first row comes. */
typedef void *(*OpenLeaf) (void *arg, ResultRelInfo *rri);

/*
 * capture: of the target's transition tables, or NULL.  Memory: the executor
 * state's.
 */
extern Partitions *partitions_open(EState *estate, ResultRelInfo *root,
								   struct TransitionCaptureState *capture,
								   Guard *guard, OpenLeaf open_leaf, void *arg);

/* The leaf for a row in the target's form; NULL: err says there is none. */
extern void *partitions_find(Partitions *partitions, TupleTableSlot *slot,
							 RowError *err);

/* The row in the form of its leaf; map: from the target's, or NULL. */
static inline TupleTableSlot *
partitions_map(ResultRelInfo *rri, TupleConversionMap *map, TupleTableSlot *slot)
{
	if (map != NULL)
		slot = execute_attr_map_slot(map->attrMap, slot,
									 rri->ri_PartitionTupleSlot);
	slot->tts_tableOid = RelationGetRelid(rri->ri_RelationDesc);
	return slot;
}

/* Closes the leaves, too; when the executor's slots are gone. */
extern void partitions_close(Partitions *partitions);

#endif							/* PGBULK_PARTITIONS_H */
