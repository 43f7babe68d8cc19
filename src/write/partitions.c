/*
 * partitions.c
 *		See partitions.h.
 */
#include "postgres.h"

#include "commands/trigger.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "row/constraints.h"
#include "row/route.h"
#include "write/partitions.h"

struct Partitions
{
	EState	   *estate;
	Guard	   *guard;
	ResultRelInfo *root;
	ModifyTableState *mtstate;
	PartitionTupleRouting *proute;
	Router	   *router;			/* NULL: no row yet */
	OpenLeaf	open_leaf;
	void	   *arg;
};

Partitions *
partitions_open(EState *estate, ResultRelInfo *root,
				struct TransitionCaptureState *capture, Guard *guard,
				OpenLeaf open_leaf, void *arg)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Partitions *partitions = palloc0(sizeof(Partitions));
	ModifyTableState *mtstate = makeNode(ModifyTableState);

	mtstate->ps.state = estate;
	mtstate->operation = CMD_INSERT;
	mtstate->mt_nrels = 1;
	mtstate->resultRelInfo = root;
	mtstate->rootResultRelInfo = root;
	mtstate->mt_transition_capture = capture;

	partitions->estate = estate;
	partitions->guard = guard;
	partitions->root = root;
	partitions->mtstate = mtstate;
	partitions->open_leaf = open_leaf;
	partitions->arg = arg;
	partitions->proute = ExecSetupPartitionTupleRouting(estate,
														root->ri_RelationDesc);
	MemoryContextSwitchTo(old);
	return partitions;
}

/*
 * Whether the row has a partition; if not, err is filled.  *place as in
 * route.h.
 */
static bool
has_partition(Partitions *partitions, TupleTableSlot *slot, void ***place, RowError *err)
{
	ResultRelInfo *root = partitions->root;

	if (partitions->router == NULL)
		partitions->router = route_open(root->ri_RelationDesc, partitions->estate,
										partitions->guard);
	if (root->ri_RelationDesc->rd_rel->relispartition &&
		!constraints_check_bounds(root, slot, partitions->estate, partitions->guard, err))
		return false;
	return route_find(partitions->router, slot, place, err);
}

/* Calls ExecFindPartition, which may throw: opens the leaf for its first row. */
static void *
open_partition(Partitions *partitions, TupleTableSlot *slot)
{
	Guard	   *guard = partitions->guard;
	ResourceOwner owner = guard_owner_enter(guard);
	ResultRelInfo *rri;

	/* what is wrong with a partition is not the row's fault */
	guard->work = GUARD_NOT_ROW;
	rri = ExecFindPartition(partitions->mtstate, partitions->root,
							partitions->proute, slot, partitions->estate);
	/* a writer's state is attached where COPY's is */
	if (unlikely(rri->ri_CopyMultiInsertBuffer == NULL))
		rri->ri_CopyMultiInsertBuffer =
			partitions->open_leaf(partitions->arg, rri);
	guard->work = GUARD_OWN_CODE;
	CurrentResourceOwner = owner;
	return rri->ri_CopyMultiInsertBuffer;
}

void *
partitions_find(Partitions *partitions, TupleTableSlot *slot, RowError *err)
{
	void	  **place = NULL;
	void	   *leaf;

	/* where the guard is not enabled the server raises the error */
	if (!has_partition(partitions, slot, &place, err) && partitions->guard->enabled)
		return NULL;
	if (place != NULL && *place != NULL)
		return *place;
	leaf = open_partition(partitions, slot);
	if (place != NULL)
		*place = leaf;
	return leaf;
}

uint32
partitions_find_tuples(Partitions *partitions, HeapTuple *tuples, uint32 n, void ***places)
{
	if (partitions->router == NULL)
		partitions->router = route_open(partitions->root->ri_RelationDesc, partitions->estate,
										partitions->guard);
	return route_find_tuples(partitions->router, tuples, n, places);
}

TupleTableSlot *
partitions_show_tuple(Partitions *partitions, HeapTuple tuple)
{
	return route_show_tuple(partitions->router, tuple);
}

void
partitions_close_indexes(ResultRelInfo *rri)
{
	if (rri->ri_IndexRelationDescs != NULL)
		ExecCloseIndices(rri);
	rri->ri_NumIndices = 0;
	rri->ri_IndexRelationDescs = NULL;
}

void
partitions_close(Partitions *partitions)
{
	if (partitions->router != NULL)
		route_close(partitions->router);
	ExecCleanupTupleRouting(partitions->mtstate, partitions->proute);
}
