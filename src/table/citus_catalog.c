/*
 * citus_catalog.c
 *		See citus_catalog.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/primnodes.h"
#include "server/extension.h"
#include "table/citus_catalog.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

/* pg_dist_placement.shardstate of one that is in use */
#define PLACEMENT_ACTIVE 1

/* pg_dist_authinfo.nodeid: of all nodes */
#define ANY_NODE 0

/* ---- catalogs ---- */

static bool
find_citus(Extension *citus)
{
	return extension_find("citus", citus);
}

/* The table of that name, or InvalidOid, also where there is no Citus. */
static Oid
find_catalog(const char *name)
{
	Extension	citus;

	return find_citus(&citus) ? extension_table(&citus, citus.schema, name) : InvalidOid;
}

static void
refuse_version(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("this version of extension \"citus\" is not supported"),
			 errdetail("%s", detail),
			 errhint("Use COPY.")));
}

/* A catalog, opened for reading.  Error: there is none. */
static Relation
open_catalog(const char *name)
{
	Oid			relid = find_catalog(name);

	if (!OidIsValid(relid))
		refuse_version(psprintf("It has no table \"%s\".", name));
	return table_open(relid, AccessShareLock);
}

/* The number of a column.  type: InvalidOid for any.  Error: there is none of that type. */
static AttrNumber
find_column(Relation catalog, const char *name, Oid type)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(catalog), name);

	if (attnum == InvalidAttrNumber ||
		(OidIsValid(type) &&
		 TupleDescAttr(RelationGetDescr(catalog), attnum - 1)->atttypid != type))
		refuse_version(psprintf("Its table \"%s\" has no column \"%s\" of the type that is known.",
								RelationGetRelationName(catalog), name));
	return attnum;
}

/* A row's value; false: it is null. */
static bool
get_value(Relation catalog, HeapTuple tuple, const char *name, Oid type, Datum *value)
{
	bool		isnull;

	*value = heap_getattr(tuple, find_column(catalog, name, type), RelationGetDescr(catalog),
						  &isnull);
	return !isnull;
}

/* The same where it cannot be null. */
static Datum
take_value(Relation catalog, HeapTuple tuple, const char *name, Oid type)
{
	Datum		value;

	if (!get_value(catalog, tuple, name, type, &value))
		elog(ERROR, "null in column \"%s\" of table \"%s\"", name,
			 RelationGetRelationName(catalog));
	return value;
}

/*
 * A scan of the rows that have a value in a column; of all where name is NULL.  It has the
 * snapshot of catalogs, which is always a new one.
 */
static SysScanDesc
begin_scan(Relation catalog, const char *name, Oid type, RegProcedure equal, Datum value)
{
	ScanKeyData key;

	if (name == NULL)
		return systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	ScanKeyInit(&key, find_column(catalog, name, type), BTEqualStrategyNumber, equal, value);
	return systable_beginscan(catalog, InvalidOid, false, NULL, 1, &key);
}

static SysScanDesc
begin_scan_of_table(Relation catalog, Oid relid)
{
	return begin_scan(catalog, "logicalrelid", REGCLASSOID, F_OIDEQ, ObjectIdGetDatum(relid));
}

static void
end_scan(SysScanDesc scan, Relation catalog)
{
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/* ---- tables ---- */

/* Whether there is a Citus that can tell which tables are its own. */
static bool
has_tables(void)
{
	Oid			catalog = find_catalog("pg_dist_partition");

	return OidIsValid(catalog) &&
		get_atttype(catalog, get_attnum(catalog, "logicalrelid")) == REGCLASSOID;
}

/* The distribution column, which is a Var there, as text. */
static void
read_key(Relation catalog, HeapTuple tuple, CitusTable *table)
{
	Datum		string;
	Var		   *var;

	if (!get_value(catalog, tuple, "partkey", TEXTOID, &string))
		return;
	var = stringToNode(TextDatumGetCString(string));
	if (!IsA(var, Var) || var->varattno <= 0)
		elog(ERROR, "unexpected distribution column of a table of extension \"citus\"");
	table->key = var->varattno;
	table->key_type = var->vartype;
	table->key_collation = var->varcollid;
}

bool
citus_find_table(Oid relid, CitusTable *table)
{
	Relation	catalog;
	SysScanDesc scan;
	HeapTuple	tuple;

	memset(table, 0, sizeof(CitusTable));
	/* most databases have no Citus, and an extension of its name may be another one */
	if (!has_tables())
		return false;
	catalog = open_catalog("pg_dist_partition");
	scan = begin_scan_of_table(catalog, relid);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		table->method = DatumGetChar(take_value(catalog, tuple, "partmethod", CHAROID));
		table->model = DatumGetChar(take_value(catalog, tuple, "repmodel", CHAROID));
		table->colocation = DatumGetInt32(take_value(catalog, tuple, "colocationid", INT4OID));
		read_key(catalog, tuple, table);
	}
	end_scan(scan, catalog);
	return table->method != '\0';
}

bool
citus_is_shard(Oid relid)
{
	Extension	citus;
	Oid			type = REGCLASSOID;
	Oid			function;

	if (!find_citus(&citus))
		return false;
	function = extension_function(&citus, citus.schema, "relation_is_a_known_shard", &type, 1);
	return OidIsValid(function) && get_func_rettype(function) == BOOLOID &&
		DatumGetBool(OidFunctionCall1(function, ObjectIdGetDatum(relid)));
}

/* ---- shards ---- */

static CitusShard *
read_shard(Relation catalog, HeapTuple tuple, bool by_hash)
{
	CitusShard *shard = palloc0(sizeof(CitusShard));
	Datum		low;
	Datum		high;

	shard->id = DatumGetInt64(take_value(catalog, tuple, "shardid", INT8OID));
	shard->has_range = by_hash && get_value(catalog, tuple, "shardminvalue", TEXTOID, &low) &&
		get_value(catalog, tuple, "shardmaxvalue", TEXTOID, &high);
	if (shard->has_range)
	{
		shard->low = pg_strtoint32(TextDatumGetCString(low));
		shard->high = pg_strtoint32(TextDatumGetCString(high));
	}
	return shard;
}

static int
compare_ids(const ListCell *a, const ListCell *b)
{
	const CitusShard *first = lfirst(a);
	const CitusShard *second = lfirst(b);

	return (first->id > second->id) - (first->id < second->id);
}

static int
compare_ranges(const ListCell *a, const ListCell *b)
{
	const CitusShard *first = lfirst(a);
	const CitusShard *second = lfirst(b);

	return (first->low > second->low) - (first->low < second->low);
}

/* One of a list that is sorted by id; NULL: it is of another table. */
static CitusShard *
find_shard(const List *shards, int64 id)
{
	int			low = 0;
	int			high = list_length(shards);

	while (low < high)
	{
		int			middle = (low + high) / 2;
		CitusShard *shard = list_nth(shards, middle);

		if (shard->id == id)
			return shard;
		if (shard->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void
citus_find_groups(const List *shards)
{
	Relation	catalog = open_catalog("pg_dist_placement");
	SysScanDesc scan = begin_scan(catalog, NULL, InvalidOid, InvalidOid, 0);
	List	   *by_id = list_copy(shards);
	HeapTuple	tuple;

	list_sort(by_id, compare_ids);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CitusShard *shard = find_shard(by_id, DatumGetInt64(take_value(catalog, tuple, "shardid",
																		INT8OID)));

		if (shard != NULL &&
			DatumGetInt32(take_value(catalog, tuple, "shardstate", INT4OID)) == PLACEMENT_ACTIVE)
			shard->groups = lappend_int(shard->groups,
										DatumGetInt32(take_value(catalog, tuple, "groupid", INT4OID)));
	}
	end_scan(scan, catalog);
}

List *
citus_list_shards(Oid relid, bool by_hash)
{
	Relation	catalog = open_catalog("pg_dist_shard");
	SysScanDesc scan = begin_scan_of_table(catalog, relid);
	HeapTuple	tuple;
	List	   *shards = NIL;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		shards = lappend(shards, read_shard(catalog, tuple, by_hash));
	end_scan(scan, catalog);
	list_sort(shards, compare_ranges);
	return shards;
}

/*
 * By Citus's own function: a long name is cut.  It is qualified where it has to be, and has a third
 * argument from 13.1 on.
 */
void
citus_shard_name(Oid relid, int64 shard, char **schema, char **name)
{
	Oid			arguments[] = {REGCLASSOID, INT8OID, BOOLOID};
	Extension	citus;
	Oid			function = InvalidOid;
	Datum		qualified;
	List	   *names;

	for (int n = lengthof(arguments); n >= 2 && !OidIsValid(function); n--)
		if (find_citus(&citus))
			function = extension_function(&citus, citus.schema, "shard_name", arguments, n);
	if (!OidIsValid(function) || get_func_rettype(function) != TEXTOID)
		refuse_version("It has no function \"shard_name\".");
	qualified = get_func_nargs(function) == 2 ?
		OidFunctionCall2(function, ObjectIdGetDatum(relid), Int64GetDatum(shard)) :
		OidFunctionCall3(function, ObjectIdGetDatum(relid), Int64GetDatum(shard),
						 BoolGetDatum(true));
	names = textToQualifiedNameList(DatumGetTextPP(qualified));
	*name = strVal(llast(names));
	*schema = get_namespace_name(get_rel_namespace(relid));
}

/* ---- nodes ---- */

/* Whether it is a primary of this cluster that is not off. */
static bool
takes_writes(Relation catalog, HeapTuple tuple)
{
	Oid			role = DatumGetObjectId(take_value(catalog, tuple, "noderole", InvalidOid));
	HeapTuple	label = SearchSysCache1(ENUMOID, ObjectIdGetDatum(role));
	const char *cluster = GetConfigOption("citus.cluster_name", true, false);
	bool		is_primary = HeapTupleIsValid(label) &&
		strcmp(NameStr(((Form_pg_enum) GETSTRUCT(label))->enumlabel), "primary") == 0;

	if (HeapTupleIsValid(label))
		ReleaseSysCache(label);
	return is_primary && DatumGetBool(take_value(catalog, tuple, "isactive", BOOLOID)) &&
		strcmp(NameStr(*DatumGetName(take_value(catalog, tuple, "nodecluster", NAMEOID))),
			   cluster == NULL ? "default" : cluster) == 0;
}

static int
compare_nodes(const ListCell *a, const ListCell *b)
{
	const CitusNode *first = lfirst(a);
	const CitusNode *second = lfirst(b);
	int			order = strcmp(first->host, second->host);

	return order != 0 ? order : (first->port > second->port) - (first->port < second->port);
}

List *
citus_list_nodes(void)
{
	Relation	catalog;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *nodes = NIL;

	if (!has_tables())
		return NIL;
	catalog = open_catalog("pg_dist_node");
	scan = begin_scan(catalog, NULL, InvalidOid, InvalidOid, 0);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CitusNode  *node;

		if (!takes_writes(catalog, tuple))
			continue;
		node = palloc(sizeof(CitusNode));
		node->id = DatumGetInt32(take_value(catalog, tuple, "nodeid", INT4OID));
		node->group = DatumGetInt32(take_value(catalog, tuple, "groupid", INT4OID));
		node->host = TextDatumGetCString(take_value(catalog, tuple, "nodename", TEXTOID));
		node->port = DatumGetInt32(take_value(catalog, tuple, "nodeport", INT4OID));
		nodes = lappend(nodes, node);
	}
	end_scan(scan, catalog);
	list_sort(nodes, compare_nodes);
	return nodes;
}

int32
citus_local_group(void)
{
	Relation	catalog = open_catalog("pg_dist_local_group");
	SysScanDesc scan = begin_scan(catalog, NULL, InvalidOid, InvalidOid, 0);
	HeapTuple	tuple = systable_getnext(scan);
	int32		group = HeapTupleIsValid(tuple) ?
		DatumGetInt32(take_value(catalog, tuple, "groupid", INT4OID)) : 0;

	end_scan(scan, catalog);
	return group;
}

/* The text of the first row for a node, or for all of them: then the node's own comes first. */
char *
citus_authentication(const CitusNode *node, const char *user)
{
	Relation	catalog = open_catalog("pg_dist_authinfo");
	SysScanDesc scan = begin_scan(catalog, "rolename", NAMEOID, F_NAMEEQ, CStringGetDatum(user));
	HeapTuple	tuple;
	char	   *found = NULL;
	int32		found_for = ANY_NODE;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		int32		of = DatumGetInt32(take_value(catalog, tuple, "nodeid", INT4OID));

		if (of != node->id && (of != ANY_NODE || found_for == node->id))
			continue;
		found = TextDatumGetCString(take_value(catalog, tuple, "authinfo", TEXTOID));
		found_for = of;
	}
	end_scan(scan, catalog);
	return found;
}

char *
citus_pooler(const CitusNode *node)
{
	Relation	catalog = open_catalog("pg_dist_poolinfo");
	SysScanDesc scan = begin_scan(catalog, "nodeid", INT4OID, F_INT4EQ, Int32GetDatum(node->id));
	HeapTuple	tuple = systable_getnext(scan);
	char	   *found = HeapTupleIsValid(tuple) ?
		TextDatumGetCString(take_value(catalog, tuple, "poolinfo", TEXTOID)) : NULL;

	end_scan(scan, catalog);
	return found;
}
