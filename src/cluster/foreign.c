/*
 * foreign.c
 *		Foreign tables of postgres_fdw, as a placement; see placement.h.
 *
 * What COPY does with rows for a foreign table is the rule: NOT NULL and CHECK are
 * those of the other server, generated columns are left to it, and all other
 * columns are given, those without a value as NULL.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/tupconvert.h"
#include "cluster/connection.h"
#include "cluster/placement.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "optimizer/optimizer.h"
#include "partitioning/partdesc.h"
#include "row/constraints.h"
#include "row/route.h"
#include "server/foreign_option.h"
#include "table/partition_tree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"

/* What workers know of foreign tables. */
typedef struct ForeignShared
{
	int			n;
	struct
	{
		Oid			relid;
		int			number;
	}			tables[FLEXIBLE_ARRAY_MEMBER];
} ForeignShared;

/* A partition, or the target itself. */
typedef struct Place
{
	bool		sent;			/* it gets the shard's rows; else it is here, or unknown */
	Relation	rel;			/* open, where it is sent; in a worker only for its bounds */
	ResultRelInfo *bounds;		/* to be checked for each row; NULL: routing has done that */
	TupleConversionMap *map;	/* for that, from the target's columns; NULL: the same ones */
	TupleTableSlot *slot;		/* with the map */
	Shard		shard;
} Place;

typedef struct ForeignPlacement
{
	Placement	base;
	EState	   *estate;
	Guard	   *guard;
	ResultRelInfo *root;
	Router	   *router;			/* NULL: the target is not partitioned */
	Place	   *only;			/* then; NULL: no row yet */
	List	   *places;			/* that are open */
	const ForeignShared *shared;	/* in a worker; else NULL */
} ForeignPlacement;

bool
foreign_has(Relation rel)
{
	char		relkind = rel->rd_rel->relkind;

	/* most tables are neither, and the extension is looked for in a catalog that is not cached */
	if (relkind != RELKIND_FOREIGN_TABLE && relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	if (!OidIsValid(get_extension_oid("postgres_fdw", true)))
		return false;
	return relkind == RELKIND_FOREIGN_TABLE || partition_tree_has_foreign(rel);
}

/* ---- what cannot be loaded so ---- */

static void
refuse(Relation rel, int sqlstate, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 rel->rd_rel->relispartition ?
			 errmsg("cannot load into foreign partition \"%s\"", RelationGetRelationName(rel)) :
			 errmsg("cannot load into foreign table \"%s\"", RelationGetRelationName(rel)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

static void
check_foreign(Relation rel)
{
	const TriggerDesc *triggers = rel->trigdesc;
	const FdwRoutine *routine;

	if (!connection_serves(GetForeignServerIdByRelId(RelationGetRelid(rel))))
		refuse(rel, ERRCODE_FEATURE_NOT_SUPPORTED,
			   "Its server is not one of postgres_fdw.",
			   "Load into a plain table, then use INSERT ... SELECT.");
	if (triggers != NULL &&
		(triggers->trig_insert_before_row || triggers->trig_insert_after_row))
		refuse(rel, ERRCODE_FEATURE_NOT_SUPPORTED,
			   "It has triggers that see each row, which is sent past them.",
			   "Use COPY, or create the triggers on the other server.");
	routine = GetFdwRoutineForRelation(rel, false);
	if (routine->IsForeignRelUpdatable != NULL &&
		(routine->IsForeignRelUpdatable(rel) & (1 << CMD_INSERT)) == 0)
		refuse(rel, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
			   "It does not allow inserts.",
			   "Set option \"updatable\" of the foreign table or its server.");
}

/* ---- one foreign table ---- */

static const char *
find_option(List *options, const char *name, const char *otherwise)
{
	DefElem    *option = foreign_find_option(options, name);

	return option == NULL ? otherwise : defGetString(option);
}

/* The names of the columns there, by the columns of the target. */
static const char **
column_names(Relation rel, Relation root)
{
	TupleDesc	desc = RelationGetDescr(root);
	const char **names = palloc0(sizeof(char *) * Max(desc->natts, 1));

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		AttrNumber	attnum;

		if (att->attisdropped || att->attgenerated)
			continue;
		attnum = get_attnum(RelationGetRelid(rel), NameStr(att->attname));
		if (attnum == InvalidAttrNumber ||
			TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attgenerated)
			continue;
		names[i] = pstrdup(find_option(GetForeignColumnOptions(RelationGetRelid(rel), attnum),
									   "column_name", NameStr(att->attname)));
	}
	return names;
}

/* The table's columns there, and its name. */
static void
open_foreign(ForeignPlacement *placement, Place *place)
{
	Relation	rel = place->rel;
	ForeignTable *table = GetForeignTable(RelationGetRelid(rel));
	Shard	   *shard = &place->shard;

	check_foreign(rel);
	shard->node.serverid = table->serverid;
	shard->schema = pstrdup(find_option(table->options, "schema_name",
										get_namespace_name(RelationGetNamespace(rel))));
	shard->name = pstrdup(find_option(table->options, "table_name",
									  RelationGetRelationName(rel)));
	shard->columns = column_names(rel, placement->root->ri_RelationDesc);
}

/* Others may have attached partitions that rows of this default one belong to. */
static void
open_bounds(ForeignPlacement *placement, Place *place)
{
	Relation	rel = place->rel;

	place->bounds = makeNode(ResultRelInfo);
	InitResultRelInfo(place->bounds, rel, 0, placement->root, 0);
	place->map = convert_tuples_by_name(RelationGetDescr(placement->root->ri_RelationDesc),
										RelationGetDescr(rel));
	if (place->map != NULL)
		place->slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsVirtual);
}

/* The number in the target of a column of one of its partitions. */
static AttrNumber
number_in_root(Relation root, Relation rel, AttrNumber attnum)
{
	return rel == root ? attnum :
		get_attnum(RelationGetRelid(root),
				   NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname));
}

/*
 * That rows have been routed with all columns of the partition's keys: others may have
 * attached tables that are partitioned by more of them.
 */
static void
check_key(ForeignPlacement *placement, Relation rel)
{
	Relation	root = placement->root->ri_RelationDesc;
	Bitmapset  *columns = NULL;
	int			member = -1;

	if (rel == root || !rel->rd_rel->relispartition)
		return;
	pull_varattnos((Node *) RelationGetPartitionQual(rel), 1, &columns);
	while ((member = bms_next_member(columns, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum <= 0)
			continue;
		attnum = number_in_root(root, rel, attnum);
		if (!bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, placement->base.key))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("partitions of \"%s\" were attached while it was loaded",
							RelationGetRelationName(root)),
					 errdetail("Partition \"%s\" has a key with other columns.",
							   RelationGetRelationName(rel)),
					 errhint("Load again.")));
	}
}

/* The place of a foreign table, unless it is not open yet. */
static Place *
find_place(const ForeignPlacement *placement, Oid relid)
{
	ListCell   *lc;

	foreach(lc, placement->places)
		if (RelationGetRelid(((Place *) lfirst(lc))->rel) == relid)
			return lfirst(lc);
	return NULL;
}

/* In a worker: one that is not known to others is for the leader alone. */
static int
find_number(const ForeignShared *shared, Oid relid)
{
	for (int i = 0; i < shared->n; i++)
		if (shared->tables[i].relid == relid)
			return shared->tables[i].number;
	return 0;
}

/* Opens a table that is foreign, unless it is known to be here. */
static void
open_table(ForeignPlacement *placement, Place *place, Oid relid, bool by_default)
{
	if (placement->shared != NULL)
	{
		place->shard.number = find_number(placement->shared, relid);
		place->sent = place->shard.number > 0;
		if (!place->sent || !by_default)
			return;
	}
	else if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE)
		return;
	/* the lock keeps its bounds as they are */
	place->rel = table_open(relid, RowExclusiveLock);
	placement->places = lappend(placement->places, place);
	if (placement->shared != NULL)
		return;
	check_key(placement, place->rel);
	open_foreign(placement, place);
	place->sent = true;
}

static Place *
open_place(ForeignPlacement *placement, Oid relid, bool by_default)
{
	MemoryContext old;
	Place	   *place = find_place(placement, relid);

	/* the table stays open, and what is wrong with it is not the row's fault */
	guard_close(placement->guard);
	old = MemoryContextSwitchTo(placement->estate->es_query_cxt);
	if (place == NULL)
		place = palloc0(sizeof(Place));
	if (place->rel == NULL)
		open_table(placement, place, relid, by_default);
	if (place->rel != NULL && by_default)
		open_bounds(placement, place);
	MemoryContextSwitchTo(old);
	return place;
}

/* ---- rows ---- */

/* Whether a row is within the bounds of the target, and of a default partition. */
static bool
check_bounds(ForeignPlacement *placement, Place *place, TupleTableSlot *slot, RowError *err)
{
	ResultRelInfo *root = placement->root;

	if (root->ri_RelationDesc->rd_rel->relispartition &&
		!constraints_check_bounds(root, slot, placement->estate, placement->guard, err))
		return false;
	if (place->bounds == NULL)
		return true;
	/* its columns may be in another order */
	if (place->map != NULL)
		slot = execute_attr_map_slot(place->map->attrMap, slot, place->slot);
	return constraints_check_bounds(place->bounds, slot, placement->estate, placement->guard,
									err);
}

static Place *
find_partition(ForeignPlacement *placement, TupleTableSlot *slot)
{
	void	  **pointer;
	Oid			relid;
	bool		by_default;

	if (!route_find_leaf(placement->router, slot, &pointer, &relid, &by_default))
		return NULL;
	if (*pointer == NULL)
		*pointer = open_place(placement, relid, by_default);
	return *pointer;
}

static bool
foreign_find_by_value(Placement *base, Datum value, Shard **shard)
{
	void	  **pointer = route_find_by_value(((ForeignPlacement *) base)->router, value);
	Place	   *place = pointer == NULL ? NULL : *pointer;

	if (place == NULL)
		return false;
	*shard = place->sent ? &place->shard : NULL;
	return true;
}

static bool
foreign_find(Placement *base, TupleTableSlot *slot, Shard **shard, RowError *err)
{
	ForeignPlacement *placement = (ForeignPlacement *) base;
	Place	   *place;

	*shard = NULL;
	if (placement->router != NULL)
		place = find_partition(placement, slot);
	else
	{
		if (placement->only == NULL)
			placement->only = open_place(placement,
										 RelationGetRelid(placement->root->ri_RelationDesc),
										 false);
		place = placement->only;
	}
	/* a row that is for no node is for others to judge */
	if (place == NULL || !place->sent)
		return true;
	*shard = &place->shard;
	return check_bounds(placement, place, slot, err);
}

static List *
foreign_list(Placement *base)
{
	ForeignPlacement *placement = (ForeignPlacement *) base;
	List	   *shards = NIL;
	ListCell   *lc;

	foreach(lc, partition_tree_tables(RelationGetRelid(placement->root->ri_RelationDesc),
									  RowExclusiveLock))
	{
		Place	   *place = open_place(placement, lfirst_oid(lc), false);

		if (place->sent)
			shards = lappend(shards, &place->shard);
	}
	return shards;
}

static Size
foreign_share_size(Placement *base)
{
	const ForeignPlacement *placement = (ForeignPlacement *) base;

	return offsetof(ForeignShared, tables) +
		list_length(placement->places) * sizeof(((ForeignShared *) NULL)->tables[0]);
}

static void
foreign_share(Placement *base, void *memory)
{
	ForeignShared *shared = memory;
	ListCell   *lc;

	shared->n = 0;
	foreach(lc, ((ForeignPlacement *) base)->places)
	{
		const Place *place = lfirst(lc);

		shared->tables[shared->n].relid = RelationGetRelid(place->rel);
		shared->tables[shared->n++].number = place->shard.number;
	}
}

static void
foreign_close(Placement *base)
{
	ForeignPlacement *placement = (ForeignPlacement *) base;
	ListCell   *lc;

	if (placement->router != NULL)
		route_close(placement->router);
	foreach(lc, placement->places)
	{
		Place	   *place = lfirst(lc);

		if (place->slot != NULL)
			ExecDropSingleTupleTableSlot(place->slot);
		table_close(place->rel, NoLock);
	}
}

static const PlacementRoutine foreign_routine = {
	.find = foreign_find,
	.find_by_value = foreign_find_by_value,
	.list = foreign_list,
	.share_size = foreign_share_size,
	.share = foreign_share,
	.close = foreign_close
};

/* Adds the columns that route a row at this level and below; their numbers are the target's. */
static Bitmapset *
add_key_columns(Bitmapset *columns, Relation rel, Relation root)
{
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc desc = RelationGetPartitionDesc(rel, false);
	Bitmapset  *own = NULL;
	int			member = -1;

	pull_varattnos((Node *) key->partexprs, 1, &own);
	for (int i = 0; i < key->partnatts; i++)
		if (key->partattrs[i] != InvalidAttrNumber)
			own = bms_add_member(own, key->partattrs[i] - FirstLowInvalidHeapAttributeNumber);
	while ((member = bms_next_member(own, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum > 0)
			attnum = number_in_root(root, rel, attnum);
		columns = bms_add_member(columns, attnum - FirstLowInvalidHeapAttributeNumber);
	}
	for (int i = 0; i < desc->nparts; i++)
	{
		Relation	child;

		if (desc->is_leaf[i])
			continue;
		child = table_open(desc->oids[i], RowExclusiveLock);
		columns = add_key_columns(columns, child, root);
		table_close(child, NoLock);
	}
	return columns;
}

Placement *
foreign_open(ResultRelInfo *root, EState *estate, Guard *guard)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Relation	rel = root->ri_RelationDesc;
	ForeignPlacement *placement = palloc0(sizeof(ForeignPlacement));

	placement->base.routine = &foreign_routine;
	placement->estate = estate;
	placement->guard = guard;
	placement->root = root;
	if (rel->rd_rel->relispartition)
		pull_varattnos((Node *) RelationGetPartitionQual(rel), 1, &placement->base.key);
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		placement->base.key = add_key_columns(placement->base.key, rel, rel);
		placement->router = route_open(rel, estate, guard);
		placement->base.by_value = !rel->rd_rel->relispartition &&
			route_is_by_value(placement->router);
	}
	MemoryContextSwitchTo(old);
	return &placement->base;
}

Placement *
foreign_join(ResultRelInfo *root, EState *estate, Guard *guard, const void *shared)
{
	Placement  *placement = foreign_open(root, estate, guard);

	((ForeignPlacement *) placement)->shared = shared;
	return placement;
}
