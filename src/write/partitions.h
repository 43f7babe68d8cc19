/*
 * partitions.h
 *		The leaf for each row of a partitioned target.
 *
 * Routing is the server's (ExecFindPartition), which opens a leaf when its
 * first row comes and keeps it open; the rows after it are routed by route.h.
 * A writer's own state of a leaf is attached to the leaf's result relation.
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

/* Creates the writer's state of a leaf, when its first row comes. */
typedef void *(*OpenLeaf) (void *arg, ResultRelInfo *rri);

/*
 * capture: of the target's transition tables, or NULL.  Memory: the executor
 * state's.
 */
extern Partitions *partitions_open(EState *estate, ResultRelInfo *root,
								   struct TransitionCaptureState *capture,
								   Guard *guard, OpenLeaf open_leaf, void *arg);

/*
 * The leaf for a row with the target's columns; NULL: there is none, and err is
 * filled.
 */
extern void *partitions_find(Partitions *partitions, TupleTableSlot *slot,
							 RowError *err);

/*
 * Of tuples with the target's columns, where that is not a partition itself: *places[i] is the leaf
 * of each, or NULL where partitions_find must be asked.  Returns for how many there is a place: the
 * next one may have no leaf, and is to come in a slot.
 */
extern uint32 partitions_find_tuples(Partitions *partitions, HeapTuple *tuples, uint32 n,
									 void ***places);

/* One of these in a slot, until the next one. */
extern TupleTableSlot *partitions_show_tuple(Partitions *partitions, HeapTuple tuple);

/*
 * Routing opens a leaf's indexes for those who insert row by row.  For others, who would only keep
 * their files and locks.
 */
extern void partitions_close_indexes(ResultRelInfo *rri);

/* The row with its leaf's columns; map: from the target's, or NULL. */
static inline TupleTableSlot *
partitions_map(ResultRelInfo *rri, TupleConversionMap *map, TupleTableSlot *slot)
{
	if (map != NULL)
		slot = execute_attr_map_slot(map->attrMap, slot,
									 rri->ri_PartitionTupleSlot);
	slot->tts_tableOid = RelationGetRelid(rri->ri_RelationDesc);
	return slot;
}

/* Closes the leaves, too; to be called when the executor's slots have been dropped. */
extern void partitions_close(Partitions *partitions);

#endif							/* PGBULK_PARTITIONS_H */
