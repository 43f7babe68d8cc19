/*
 * route.c
 *		See route.h.
 *
 * The search in a table's bounds is the server's (partbounds.h); its use
 * follows get_partition_for_tuple of execPartition.c, as does the test whether
 * a row goes where the one before went.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tupconvert.h"
#include "access/xact.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "row/computation.h"
#include "row/route.h"
#include "server/compat.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"

/*
 * Where one row after the other goes to the same range or value, its bounds are compared first.
 * That takes so many of them, as the comparison is in vain where the next one goes elsewhere.
 */
#define FEW_REPEATS 16

/* A partitioned table of the tree. */
typedef struct RouteLevel
{
	Relation	rel;
	PartitionKey key;
	PartitionDesc desc;
	List	   *exprs;			/* ExprStates of the key's expressions */
	bool		computes;		/* keys and their places are found by computations alone */
	int			last;			/* the bound that was found last, as the server's searches say */
	int			repeats;		/* how many times in a row, FEW_REPEATS at most */
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
	TupleTableSlot *slot;		/* of tuples whose columns must be looked at through it */
	void	   *unknown;		/* always NULL: the pointer of rows for route_find */
};

/* Whether what routes a row to a partition throws nothing that would have to be undone. */
static bool
key_computes(PartitionKey key)
{
	for (int i = 0; i < key->partnatts; i++)
		if (!computation_calls(key->partsupfunc[i].fn_oid))
			return false;
	return computation_are_all(key->partexprs);
}

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
	level->computes = key_computes(level->key);
	level->last = INT_MIN;
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
	ResourceOwner owner;
	MemoryContext context;

	if (child != NULL)
		return child;

	owner = guard_owner_enter(router->guard);
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

/* The value of an expression of the key. */
static Datum
expression_value(Router *router, ExprState *expr, ExprContext *econtext, bool guarded,
				 bool *isnull)
{
	Datum		value;

	if (guarded)
		guard_enter(router->guard);
	value = ExecEvalExprSwitchContext(expr, econtext, isnull);
	if (guarded)
		guard_leave(router->guard, false);
	return value;
}

/*
 * The values of the partition key in a row with the level's columns.  Not guarded: the caller
 * takes care of what expressions throw.
 */
static void
key_values(Router *router, RouteLevel *level, TupleTableSlot *slot, bool guarded, Datum *values,
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
			values[i] = expression_value(router, lfirst(expr), econtext, guarded, &isnull[i]);
			expr = lnext(level->exprs, expr);
		}
	}
}

/*
 * Whether a key is within the range above a bound (-1: below the first one), or has the value of
 * one of a list.
 */
static bool
is_at(const RouteLevel *level, int at, Datum *values)
{
	PartitionKey key = level->key;
	PartitionBoundInfo bounds = level->desc->boundinfo;

	if (key->strategy == PARTITION_STRATEGY_LIST)
		return DatumGetInt32(FunctionCall2Coll(&key->partsupfunc[0], key->partcollation[0],
											   bounds->datums[at][0], values[0])) == 0;
	return (at < 0 ||
			partition_rbound_datum_cmp(key->partsupfunc, key->partcollation, bounds->datums[at],
									   bounds->kind[at], values, key->partnatts) <= 0) &&
		(at == bounds->ndatums - 1 ||
		 partition_rbound_datum_cmp(key->partsupfunc, key->partcollation, bounds->datums[at + 1],
									bounds->kind[at + 1], values, key->partnatts) > 0);
}

/*
 * The last bound that is not above a key, -1: all are; of a list the one that is equal, -1: none.
 */
static int
search_bounds(RouteLevel *level, Datum *values)
{
	PartitionKey key = level->key;
	PartitionBoundInfo bounds = level->desc->boundinfo;
	bool		equal = false;
	int			at;

	if (level->repeats == FEW_REPEATS && is_at(level, level->last, values))
		return level->last;
	if (key->strategy == PARTITION_STRATEGY_LIST)
	{
		at = partition_list_bsearch(key->partsupfunc, key->partcollation, bounds, values[0],
									&equal);
		if (!equal)
			at = -1;
	}
	else
		at = partition_range_datum_bsearch(key->partsupfunc, key->partcollation, bounds,
										   key->partnatts, values, &equal);
	if (at != level->last || (at < 0 && key->strategy == PARTITION_STRATEGY_LIST))
		level->repeats = 0;
	else if (level->repeats < FEW_REPEATS)
		level->repeats++;
	level->last = at;
	return at;
}

/* Index of the partition for a key, or -1. */
static int
find_partition(RouteLevel *level, Datum *values, bool *isnull)
{
	PartitionKey key = level->key;
	PartitionBoundInfo bounds = level->desc->boundinfo;
	bool		has_null = false;
	int			found = -1;
	int			at;

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
			else if ((at = search_bounds(level, values)) >= 0)
				found = bounds->indexes[at];
			break;

		case PARTITION_STRATEGY_RANGE:
			for (int i = 0; i < key->partnatts; i++)
				has_null |= isnull[i];
			if (!has_null)
				found = bounds->indexes[search_bounds(level, values) + 1];
			break;
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

/* The level of a row's leaf and its index there; -1: there is none at that level. */
static int
find_leaf(Router *router, TupleTableSlot *slot, RouteLevel **found, bool *by_default)
{
	RouteLevel *level = router->root;
	int			index;

	*by_default = false;
	for (;;)
	{
		Datum		values[PARTITION_MAX_KEYS];
		bool		isnull[PARTITION_MAX_KEYS];
		TupleTableSlot *row = slot;

		if (level->map != NULL)
			row = execute_attr_map_slot(level->map, slot, level->slot);
		key_values(router, level, row, true, values, isnull);
		index = find_partition(level, values, isnull);
		*by_default |= index >= 0 && index == level->desc->boundinfo->default_index;
		if (index < 0 || level->desc->is_leaf[index])
			break;
		level = child_level(router, level, index);
	}
	*found = level;
	return index;
}

bool
route_find(Router *router, TupleTableSlot *slot, void ***place, RowError *err)
{
	MemoryContext context = MemoryContextSwitchTo(GetPerTupleMemoryContext(router->estate));
	RouteLevel *level;
	bool		by_default;
	int			index = find_leaf(router, slot, &level, &by_default);

	if (index < 0 && err != NULL)
		fail_route(level, err);
	MemoryContextSwitchTo(context);
	*place = index < 0 || by_default ? NULL : &level->places[index];
	return index >= 0;
}

bool
route_find_leaf(Router *router, TupleTableSlot *slot, void ***place, Oid *relid, bool *by_default)
{
	MemoryContext context = MemoryContextSwitchTo(GetPerTupleMemoryContext(router->estate));
	RouteLevel *level;
	int			index = find_leaf(router, slot, &level, by_default);

	MemoryContextSwitchTo(context);
	if (index < 0)
		return false;
	*place = &level->places[index];
	*relid = level->desc->oids[index];
	return true;
}

/* Beside the default one, which has to look at its bounds. */
static bool
has_leaf(PartitionDesc desc)
{
	for (int i = 0; i < desc->nparts; i++)
		if (desc->is_leaf[i] && i != desc->boundinfo->default_index)
			return true;
	return false;
}

bool
route_is_by_value(const Router *router)
{
	const RouteLevel *level = router->root;

	return level->computes && level->key->partnatts == 1 &&
		level->key->partattrs[0] != InvalidAttrNumber && has_leaf(level->desc);
}

void **
route_find_by_value(Router *router, Datum value)
{
	RouteLevel *level = router->root;
	bool		isnull = false;
	int			index = find_partition(level, &value, &isnull);

	return index < 0 || index == level->desc->boundinfo->default_index ||
		!level->desc->is_leaf[index] ? NULL : &level->places[index];
}

/* ---- many rows that are tuples ---- */

typedef struct TupleRoutes
{
	Router	   *router;
	HeapTuple  *tuples;			/* with the root's columns */
	uint32		n;
	uint32		done;
	void	 ***places;
} TupleRoutes;

TupleTableSlot *
route_show_tuple(Router *router, HeapTuple tuple)
{
	ExecStoreHeapTuple(tuple, router->slot, false);
	router->slot->tts_tableOid = RelationGetRelid(router->root->rel);
	return router->slot;
}

/* The key of a tuple, in memory of the row. */
static void
tuple_key(Router *router, RouteLevel *level, HeapTuple tuple, Datum *values, bool *isnull)
{
	TupleDesc	desc = router->slot->tts_tupleDescriptor;
	TupleTableSlot *slot;

	if (level->map == NULL && level->exprs == NIL)
	{
		for (int i = 0; i < level->key->partnatts; i++)
			values[i] = heap_getattr(tuple, level->key->partattrs[i], desc, &isnull[i]);
		return;
	}
	slot = route_show_tuple(router, tuple);
	if (level->map != NULL)
		slot = execute_attr_map_slot(level->map, slot, level->slot);
	key_values(router, level, slot, false, values, isnull);
}

/* NULL: there is no partition, or it is not found by computations alone. */
static void **
route_tuple(Router *router, HeapTuple tuple)
{
	RouteLevel *level = router->root;

	while (level != NULL && level->computes)
	{
		Datum		values[PARTITION_MAX_KEYS];
		bool		isnull[PARTITION_MAX_KEYS];
		int			index;

		tuple_key(router, level, tuple, values, isnull);
		index = find_partition(level, values, isnull);
		if (index < 0)
			return NULL;
		if (index == level->desc->boundinfo->default_index)
			return &router->unknown;
		if (level->desc->is_leaf[index])
			return &level->places[index];
		if (level->children[index] == NULL)
			return &router->unknown;
		level = level->children[index];
	}
	return NULL;
}

static void
route_tuples(void *arg)
{
	TupleRoutes *routes = arg;
	void	  **place;

	for (; routes->done < routes->n; routes->done++)
	{
		place = route_tuple(routes->router, routes->tuples[routes->done]);
		if (place == NULL)
			return;
		routes->places[routes->done] = place;
	}
}

static void
prepare_tuples(Router *router)
{
	MemoryContext old = MemoryContextSwitchTo(router->estate->es_query_cxt);
	TupleDesc	desc = RelationGetDescr(router->root->rel);

	/* a copy: a reference would end with the subtransaction that a row is guarded by */
	router->slot = ExecInitExtraTupleSlot(router->estate, CreateTupleDescCopy(desc),
										  &TTSOpsHeapTuple);
	MemoryContextSwitchTo(old);
}

uint32
route_find_tuples(Router *router, HeapTuple *tuples, uint32 n, void ***places)
{
	TupleRoutes routes = {router, tuples, n, 0, places};
	MemoryContext old;

	if (router->slot == NULL)
		prepare_tuples(router);
	ResetPerTupleExprContext(router->estate);
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(router->estate));
	computation_run(router->guard, route_tuples, &routes, NULL);
	MemoryContextSwitchTo(old);
	return routes.done;
}
