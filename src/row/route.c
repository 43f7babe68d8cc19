/*
 * route.c
 *		See route.h.
 *
 * The search in a table's bounds is the server's (partbounds.h); its use
 * follows get_partition_for_tuple of execPartition.c.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tupconvert.h"
#include "access/xact.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "row/route.h"
#include "server/compat.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"

/* A partitioned table of the tree. */
typedef struct RouteLevel
{
	Relation	rel;
	PartitionKey key;
	PartitionDesc desc;
	List	   *exprs;			/* ExprStates of the key's expressions */
	AttrMap    *map;			/* from the root's columns; NULL if they are the same */
	TupleTableSlot *slot;		/* a row with this table's columns, with map */
	struct RouteLevel **children;	/* by partition; NULL: leaf or not yet opened */
	void	  **places;			/* by partition: the caller's pointers, for leaves */
} RouteLevel;

struct Router
{
	EState	   *estate;
	Guard	   *guard;
	RouteLevel	   *root;
	List	   *levels;			/* the tables that were opened here */
};

static RouteLevel *
open_level(Router *router, Relation rel, Relation root)
{
	EState	   *estate = router->estate;
	MemoryContext context = MemoryContextSwitchTo(estate->es_query_cxt);
	RouteLevel	   *level = palloc0(sizeof(RouteLevel));

	level->rel = rel;
	level->key = RelationGetPartitionKey(rel);
	level->desc = RelationGetPartitionDesc(rel, !IsolationUsesXactSnapshot());
	level->exprs = ExecPrepareExprList(level->key->partexprs, estate);
	level->children = palloc0(sizeof(RouteLevel *) * Max(level->desc->nparts, 1));
	level->places = palloc0(sizeof(void *) * Max(level->desc->nparts, 1));
	if (rel != root)
	{
		level->map = compat_attrmap_if_needed(RelationGetDescr(root),
											  RelationGetDescr(rel));
		if (level->map != NULL)
			level->slot = MakeSingleTupleTableSlot(RelationGetDescr(rel),
												   &TTSOpsVirtual);
	}
	MemoryContextSwitchTo(context);
	return level;
}

Router *
route_open(Relation root, EState *estate, Guard *guard)
{
	Router	   *router = MemoryContextAllocZero(estate->es_query_cxt,
												sizeof(Router));

	router->estate = estate;
	router->guard = guard;
	router->root = open_level(router, root, root);
	return router;
}

void
route_close(Router *router)
{
	ListCell   *lc;

	foreach(lc, router->levels)
	{
		RouteLevel	   *level = lfirst(lc);

		if (level->slot)
			ExecDropSingleTupleTableSlot(level->slot);
		table_close(level->rel, NoLock);
	}
}

/* The subpartitioned table at index, opened until the end of the load. */
static RouteLevel *
child_level(Router *router, RouteLevel *level, int index)
{
	RouteLevel	   *child = level->children[index];
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext context;

	if (child != NULL)
		return child;

	/* it must outlive the guard's subtransaction */
	if (router->guard->open)
		CurrentResourceOwner = router->guard->owner;
	child = open_level(router,
					   table_open(level->desc->oids[index], RowExclusiveLock),
					   router->root->rel);
	CurrentResourceOwner = owner;

	context = MemoryContextSwitchTo(router->estate->es_query_cxt);
	router->levels = lappend(router->levels, child);
	MemoryContextSwitchTo(context);
	level->children[index] = child;
	return child;
}

/* The values of the partition key in a row with the level's columns. */
static void
key_values(Router *router, RouteLevel *level, TupleTableSlot *slot, Datum *values,
		   bool *isnull)
{
	ExprContext *econtext = GetPerTupleExprContext(router->estate);
	ListCell   *expr = list_head(level->exprs);

	econtext->ecxt_scantuple = slot;
	for (int i = 0; i < level->key->partnatts; i++)
	{
		AttrNumber	attnum = level->key->partattrs[i];

		if (attnum != 0)
			values[i] = slot_getattr(slot, attnum, &isnull[i]);
		else
		{
			guard_enter(router->guard);
			values[i] = ExecEvalExprSwitchContext(lfirst(expr), econtext,
												  &isnull[i]);
			guard_leave(router->guard, false);
			expr = lnext(level->exprs, expr);
		}
	}
}

/* Index of the partition for a key, or -1. */
static int
find_partition(RouteLevel *level, Datum *values, bool *isnull)
{
	PartitionKey key = level->key;
	PartitionBoundInfo bounds = level->desc->boundinfo;
	int			found = -1;
	bool		equal = false;

	if (level->desc->nparts == 0)
		return -1;

	switch (key->strategy)
	{
		case PARTITION_STRATEGY_HASH:
			return bounds->indexes[compute_partition_hash_value(key->partnatts,
																key->partsupfunc,
																key->partcollation,
																values, isnull) %
								   bounds->nindexes];

		case PARTITION_STRATEGY_LIST:
			if (isnull[0])
				found = bounds->null_index;
			else
			{
				int			at = partition_list_bsearch(key->partsupfunc,
														key->partcollation,
														bounds, values[0],
														&equal);

				if (at >= 0 && equal)
					found = bounds->indexes[at];
			}
			break;

		case PARTITION_STRATEGY_RANGE:
			{
				bool		has_null = false;

				for (int i = 0; i < key->partnatts; i++)
					has_null |= isnull[i];
				if (!has_null)
				{
					int			at = partition_range_datum_bsearch(key->partsupfunc,
																   key->partcollation,
																   bounds,
																   key->partnatts,
																   values,
																   &equal);

					found = bounds->indexes[at + 1];
				}
				break;
			}
	}
	return found >= 0 ? found : bounds->default_index;
}

static void
fail_route(RouteLevel *level, RowError *err)
{
	memset(err, 0, sizeof(*err));
	err->reason = REJECT_CONSTRAINT;
	err->sqlstate = ERRCODE_CHECK_VIOLATION;
	err->message = psprintf("no partition of relation \"%s\" found for row",
							RelationGetRelationName(level->rel));
}

bool
route_find(Router *router, TupleTableSlot *slot, void ***place, RowError *err)
{
	EState	   *estate = router->estate;
	MemoryContext context = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	RouteLevel	   *level = router->root;
	bool		by_default = false;
	int			index;

	for (;;)
	{
		Datum		values[PARTITION_MAX_KEYS];
		bool		isnull[PARTITION_MAX_KEYS];
		TupleTableSlot *row = slot;

		if (level->map != NULL)
			row = execute_attr_map_slot(level->map, slot, level->slot);
		key_values(router, level, row, values, isnull);
		index = find_partition(level, values, isnull);
		by_default |= index >= 0 && index == level->desc->boundinfo->default_index;
		if (index < 0 || level->desc->is_leaf[index])
			break;
		level = child_level(router, level, index);
	}
	if (index < 0 && err != NULL)
		fail_route(level, err);
	MemoryContextSwitchTo(context);
	*place = index < 0 || by_default ? NULL : &level->places[index];
	return index >= 0;
}
