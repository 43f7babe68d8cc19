/*
 * citus.c
 *		Tables of Citus, as a placement; see placement.h.
 *
 * What Citus's own COPY does is the rule: the shard of a row is that whose range has the hash
 * of its distribution column, by the type's default hash operator class.  A table without such a
 * column has a single shard; a reference table has it on all nodes.  All rows go through
 * sessions, also those of shards that are on this server.
 *
 * The locks are those of Citus, advisory ones with classes of its own (its resource_lock.h): one
 * for each shard that a move or split of it waits for, and one that serializes statements which
 * would have different results in copies of a shard.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "cluster/placement.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "table/citus_catalog.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#define CITUS_LOCK_PLACES 4
#define CITUS_LOCK_ROWS 5
#define CITUS_LOCK_COLOCATED_PLACES 8

/* A shard, on one node or more. */
typedef struct Place
{
	int32		high;			/* of the hashes, inclusive; the low one is behind the one before */
	Shard	   *shard;
} Place;

typedef struct CitusPlacement
{
	Placement	base;
	Relation	rel;
	EState	   *estate;
	CitusTable	table;
	List	   *shards;			/* CitusShard, by the ranges of their hashes */
	FmgrInfo   *hash;			/* of the distribution column */
	int			nplaces;
	Place	   *places;
} CitusPlacement;

/* What workers know of it. */
typedef struct CitusShared
{
	CitusTable	table;
	int			nplaces;
	struct
	{
		int32		high;
		int			number;		/* of the shard */
	}			places[FLEXIBLE_ARRAY_MEMBER];
} CitusShared;

/* ---- locks ---- */

static void
lock_advisory(uint32 first, uint32 second, uint16 class, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, first, second, class);
	(void) LockAcquire(&tag, mode, false, false);
}

static void
lock_shard(int64 shard, uint16 class, LOCKMODE mode)
{
	lock_advisory((uint32) (shard >> 32), (uint32) shard, class, mode);
}

/* As COPY does: one that is moved or split is waited for. */
static void
lock_places(const CitusTable *table, const List *shards)
{
	bool		colocated = table->colocation != 0 &&
		(table->method == CITUS_BY_HASH || table->model == CITUS_STREAMING_MODEL);
	ListCell   *lc;

	foreach(lc, shards)
	{
		const CitusShard *shard = lfirst(lc);

		if (colocated)
			lock_advisory(foreach_current_index(lc), table->colocation,
						  CITUS_LOCK_COLOCATED_PLACES, ShareLock);
		else
			lock_shard(shard->id, CITUS_LOCK_PLACES, ShareLock);
	}
}

static bool
is_same_table(const CitusTable *a, const CitusTable *b)
{
	return a->method == b->method && a->model == b->model && a->colocation == b->colocation &&
		a->key == b->key && a->key_type == b->key_type && a->key_collation == b->key_collation;
}

static bool
have_same_ids(const List *a, const List *b)
{
	if (list_length(a) != list_length(b))
		return false;
	for (int i = 0; i < list_length(a); i++)
		if (((CitusShard *) list_nth(a, i))->id != ((CitusShard *) list_nth(b, i))->id)
			return false;
	return true;
}

/* The shards, and what the table says of them. */
static List *
list_shards(Relation rel, CitusTable *table)
{
	if (!citus_find_table(RelationGetRelid(rel), table) || !citus_is_served(table))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" was changed while it was waited for",
						RelationGetRelationName(rel)),
				 errhint("Load again.")));
	return citus_list_shards(RelationGetRelid(rel), table->method == CITUS_BY_HASH);
}

/*
 * The same, and both stay as they are from now on.  While the locks are waited for, others may
 * move or split shards, or distribute the table.
 */
static List *
list_locked_shards(Relation rel, CitusTable *table)
{
	List	   *shards;
	List	   *again = list_shards(rel, table);
	CitusTable	before;

	do
	{
		before = *table;
		shards = again;
		lock_places(&before, shards);
		again = list_shards(rel, table);
	} while (!is_same_table(&before, table) || !have_same_ids(shards, again));
	citus_find_groups(again);
	return again;
}

/*
 * The tables of which statements are serialized: this one, and where it is a reference table
 * those that its keys refer to, whose changes may cascade to it.
 */
static List *
list_serialized(Oid relid, const CitusTable *table)
{
	List	   *tables = list_make1_oid(relid);

	for (int i = 0; citus_is_reference(table) && i < list_length(tables); i++)
	{
		Relation	rel = try_table_open(list_nth_oid(tables, i), AccessShareLock);
		ListCell   *lc;

		if (rel == NULL)
			continue;
		foreach(lc, RelationGetFKeyList(rel))
		{
			Oid			referenced = ((ForeignKeyCacheInfo *) lfirst(lc))->confrelid;
			CitusTable	other;

			if (citus_find_table(referenced, &other) && citus_is_reference(&other))
				tables = list_append_unique_oid(tables, referenced);
		}
		table_close(rel, AccessShareLock);
	}
	return tables;
}

static int
compare_ids(const ListCell *a, const ListCell *b)
{
	int64		first = *(int64 *) lfirst(a);
	int64		second = *(int64 *) lfirst(b);

	return (first > second) - (first < second);
}

/* The shards of these, by their numbers: pointers to int64. */
static List *
list_serialized_shards(const CitusPlacement *placement)
{
	Oid			relid = RelationGetRelid(placement->rel);
	List	   *ids = NIL;
	ListCell   *lc;

	foreach(lc, list_serialized(relid, &placement->table))
	{
		ListCell   *shard;

		foreach(shard, lfirst_oid(lc) == relid ? placement->shards :
				citus_list_shards(lfirst_oid(lc), false))
			ids = lappend(ids, &((CitusShard *) lfirst(shard))->id);
	}
	list_sort(ids, compare_ids);
	return ids;
}

/* The first one beside the coordinator; NULL: there is none. */
static const CitusNode *
find_first_worker(void)
{
	ListCell   *lc;

	foreach(lc, citus_list_nodes())
		if (((CitusNode *) lfirst(lc))->group != 0)
			return lfirst(lc);
	return NULL;
}

/* Statements of other nodes come to the first of them for these locks. */
static void
lock_at_first_worker(Sessions *sessions, const List *ids)
{
	const CitusNode *first = find_first_worker();
	StringInfoData sql;
	ListCell   *lc;
	NodeId		id;

	if (first == NULL || first->group == citus_local_group())
		return;
	id = (NodeId) {.group = first->group};
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT pg_catalog.lock_shard_resources(%d, ARRAY[", RowExclusiveLock);
	foreach(lc, ids)
		appendStringInfo(&sql, "%s" INT64_FORMAT, lc == list_head(ids) ? "" : ",",
						 *(int64 *) lfirst(lc));
	appendStringInfoString(&sql, "]::pg_catalog.int8[])");
	PQclear(node_query(session_node(sessions_get(sessions, &id)), sql.data));
	pfree(sql.data);
}

static void
citus_begin(Placement *base, Sessions *sessions)
{
	CitusPlacement *placement = (CitusPlacement *) base;
	List	   *ids = list_serialized_shards(placement);
	ListCell   *lc;

	if (placement->base.has_copies)
		lock_at_first_worker(sessions, ids);
	foreach(lc, ids)
		lock_shard(*(int64 *) lfirst(lc), CITUS_LOCK_ROWS, RowExclusiveLock);
}

/* ---- rows ---- */

static const char *
qualified_name(Relation rel)
{
	return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
									  RelationGetRelationName(rel));
}

/* The first place whose range does not end before the hash; ranges are mostly of one size. */
static const Place *
find_place(const CitusPlacement *placement, int32 hash)
{
	const Place *places = placement->places;
	uint64		distance = (int64) hash - PG_INT32_MIN;
	int			i = (distance * placement->nplaces) >> 32;

	while (places[i].high < hash)
		i++;
	while (i > 0 && places[i - 1].high >= hash)
		i--;
	return &places[i];
}

/* Throws, or tells of it where err is not NULL. */
static void
refuse_null_key(const CitusPlacement *placement, RowError *err)
{
	MemoryContext old;
	const char *name = qualified_name(placement->rel);

	if (err == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the partition column of table %s cannot be NULL", name)));
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(placement->estate));
	memset(err, 0, sizeof(*err));
	err->reason = REJECT_CONSTRAINT;
	err->sqlstate = ERRCODE_NULL_VALUE_NOT_ALLOWED;
	err->message = psprintf("the partition column of table %s cannot be NULL", name);
	MemoryContextSwitchTo(old);
}

static bool
citus_find_by_value(Placement *base, Datum value, Shard **shard)
{
	const CitusPlacement *placement = (CitusPlacement *) base;
	Datum		hash = FunctionCall1Coll(placement->hash, placement->table.key_collation, value);

	*shard = find_place(placement, DatumGetInt32(hash))->shard;
	return true;
}

/* As hashtext does it. */
static Shard *
citus_find_by_bytes(Placement *base, const char *bytes, uint32 length)
{
	const CitusPlacement *placement = (CitusPlacement *) base;

	return find_place(placement, hash_bytes((const unsigned char *) bytes, length))->shard;
}

static bool
citus_find(Placement *base, TupleTableSlot *slot, Shard **shard, RowError *err)
{
	CitusPlacement *placement = (CitusPlacement *) base;
	const CitusTable *table = &placement->table;
	Datum		key;
	bool		isnull;

	*shard = placement->places[0].shard;
	if (table->key == InvalidAttrNumber)
		return true;
	key = slot_getattr(slot, table->key, &isnull);
	if (isnull)
	{
		refuse_null_key(placement, err);
		return false;
	}
	return citus_find_by_value(base, key, shard);
}

static List *
citus_list(Placement *base)
{
	CitusPlacement *placement = (CitusPlacement *) base;
	List	   *shards = NIL;

	for (int i = 0; i < placement->nplaces; i++)
		for (Shard *shard = placement->places[i].shard; shard != NULL; shard = shard->copy)
			shards = lappend(shards, shard);
	return shards;
}

static Size
citus_share_size(Placement *base)
{
	return offsetof(CitusShared, places) +
		((CitusPlacement *) base)->nplaces * sizeof(((CitusShared *) NULL)->places[0]);
}

static void
citus_share(Placement *base, void *memory)
{
	const CitusPlacement *placement = (CitusPlacement *) base;
	CitusShared *shared = memory;

	shared->table = placement->table;
	shared->nplaces = placement->nplaces;
	for (int i = 0; i < shared->nplaces; i++)
	{
		shared->places[i].high = placement->places[i].high;
		shared->places[i].number = placement->places[i].shard->number;
	}
}

static void
citus_close(Placement *base)
{
}

static const PlacementRoutine citus_routine = {
	.find = citus_find,
	.find_by_value = citus_find_by_value,
	.find_by_bytes = citus_find_by_bytes,
	.list = citus_list,
	.begin = citus_begin,
	.share_size = citus_share_size,
	.share = citus_share,
	.close = citus_close
};

/* ---- open ---- */

/* The columns have the same names on all nodes; generated ones are left to them. */
static const char **
column_names(TupleDesc desc)
{
	const char **names = palloc0(sizeof(char *) * Max(desc->natts, 1));

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && !att->attgenerated)
			names[i] = NameStr(att->attname);
	}
	return names;
}

/* The shard on all nodes that have it. */
static Shard *
open_copies(const CitusPlacement *placement, const CitusShard *found, const char **columns)
{
	Shard	   *first = NULL;
	char	   *schema;
	char	   *name;
	ListCell   *lc;

	citus_shard_name(RelationGetRelid(placement->rel), found->id, &schema, &name);
	foreach(lc, found->groups)
	{
		Shard	   *shard = palloc0(sizeof(Shard));

		shard->node.group = lfirst_int(lc);
		shard->schema = schema;
		shard->name = name;
		shard->columns = columns;
		shard->copy = first;
		shard->is_copied = list_length(found->groups) > 1;
		first = shard;
	}
	if (first == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no node has shard " INT64_FORMAT " of table %s", found->id,
						qualified_name(placement->rel))));
	return first;
}

/* Ranges have to follow one another, from the least to the largest hash. */
static void
check_ranges(const CitusPlacement *placement, const List *shards)
{
	int64		low = PG_INT32_MIN;
	bool		whole = true;
	ListCell   *lc;

	foreach(lc, shards)
	{
		const CitusShard *shard = lfirst(lc);

		whole &= shard->has_range && shard->low == low && shard->high >= shard->low;
		low = (int64) shard->high + 1;
	}
	if (!whole || low != (int64) PG_INT32_MAX + 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the shards of table %s do not have all hashes once",
						qualified_name(placement->rel))));
}

static void
open_places(CitusPlacement *placement)
{
	const List *shards = placement->shards;
	const char **columns = column_names(RelationGetDescr(placement->rel));
	ListCell   *lc;

	if (shards == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table %s has no shards", qualified_name(placement->rel))));
	if (placement->table.key != InvalidAttrNumber)
		check_ranges(placement, shards);
	else if (list_length(shards) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table %s has several shards, and no distribution column",
						qualified_name(placement->rel))));
	placement->places = palloc(sizeof(Place) * list_length(shards));
	foreach(lc, shards)
	{
		const CitusShard *shard = lfirst(lc);

		placement->places[placement->nplaces++] = (Place) {
			.high = shard->high,
			.shard = open_copies(placement, shard, columns)
		};
	}
}

static void
open_hash(CitusPlacement *placement)
{
	TypeCacheEntry *type = lookup_type_cache(placement->table.key_type, TYPECACHE_HASH_PROC_FINFO);

	if (!OidIsValid(type->hash_proc))
		elog(ERROR, "no hash function for type %u", placement->table.key_type);
	placement->hash = palloc(sizeof(FmgrInfo));
	fmgr_info_copy(placement->hash, &type->hash_proc_finfo, CurrentMemoryContext);
	placement->base.by_value = true;
	placement->base.by_bytes = type->hash_proc == F_HASHTEXT &&
		get_collation_isdeterministic(placement->table.key_collation);
	placement->base.key = bms_make_singleton(placement->table.key -
											 FirstLowInvalidHeapAttributeNumber);
}

static bool
have_copies(const CitusTable *table, const List *shards)
{
	ListCell   *lc;

	foreach(lc, shards)
		if (list_length(((CitusShard *) lfirst(lc))->groups) > 1)
			return true;
	return citus_is_reference(table);
}

static void
refuse_by_setting(const CitusPlacement *placement, const char *detail, const char *setting,
				  const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot load into table \"%s\"", RelationGetRelationName(placement->rel)),
			 errdetail(detail, setting),
			 errhint("%s", hint)));
}

static bool
has_setting(const char *name, const char *value)
{
	const char *setting = GetConfigOption(name, true, false);

	return setting != NULL && strcmp(setting, value) == 0;
}

/* What Citus's settings forbid its COPY, too. */
static void
check_settings(const CitusPlacement *placement)
{
	if (has_setting("citus.use_secondary_nodes", "always"))
		refuse_by_setting(placement, "Setting \"%s\" is \"always\", so that nothing is written.",
						  "citus.use_secondary_nodes", "Load in a session where it is \"never\".");
	if (placement->base.has_copies && citus_local_group() != 0 &&
		has_setting("citus.allow_modifications_from_workers_to_replicated_tables", "off"))
		refuse_by_setting(placement, "Its shards have copies, and setting \"%s\" is off.",
						  "citus.allow_modifications_from_workers_to_replicated_tables",
						  "Load by the coordinator.");
}

Placement *
citus_open(ResultRelInfo *root, EState *estate)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	CitusPlacement *placement = palloc0(sizeof(CitusPlacement));

	placement->base.routine = &citus_routine;
	placement->rel = root->ri_RelationDesc;
	placement->estate = estate;
	placement->shards = list_locked_shards(placement->rel, &placement->table);
	placement->base.has_copies = have_copies(&placement->table, placement->shards);
	check_settings(placement);
	if (placement->table.key != InvalidAttrNumber)
		open_hash(placement);
	open_places(placement);
	MemoryContextSwitchTo(old);
	return &placement->base;
}

/* In a worker a shard that has no number is not told from others: NULL, as for a row for none. */
Placement *
citus_join(ResultRelInfo *root, EState *estate, const void *memory)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	const CitusShared *shared = memory;
	CitusPlacement *placement = palloc0(sizeof(CitusPlacement));

	placement->base.routine = &citus_routine;
	placement->rel = root->ri_RelationDesc;
	placement->estate = estate;
	placement->table = shared->table;
	if (placement->table.key != InvalidAttrNumber)
		open_hash(placement);
	placement->nplaces = shared->nplaces;
	placement->places = palloc(sizeof(Place) * shared->nplaces);
	for (int i = 0; i < shared->nplaces; i++)
	{
		Shard	   *shard = NULL;

		if (shared->places[i].number > 0)
		{
			shard = palloc0(sizeof(Shard));
			shard->number = shared->places[i].number;
		}
		placement->places[i] = (Place) {.high = shared->places[i].high,.shard = shard};
	}
	MemoryContextSwitchTo(old);
	return &placement->base;
}

bool
citus_has_copies(Oid relid)
{
	CitusTable	table;
	List	   *shards;

	if (!citus_find_table(relid, &table))
		return false;
	shards = citus_list_shards(relid, table.method == CITUS_BY_HASH);
	citus_find_groups(shards);
	return have_copies(&table, shards);
}
