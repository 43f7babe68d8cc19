/*
 * engines.c
 *		See engines.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "server/extension.h"
#include "table/engines.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* A table of the extension; InvalidOid if it has none of that name, even if others do. */
static Oid
find_catalog(const Extension *extension, Oid schema, const char *name)
{
	Oid			relid = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;

	return OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_RELATION &&
		getExtensionOfObject(RelationRelationId, relid) == extension->oid ? relid : InvalidOid;
}

/* Adds "column = value" to the keys; false if the catalog does not have that column. */
static bool
add_key(ScanKey keys, int *nkeys, Relation catalog, const char *column, Oid type,
		RegProcedure equal, Datum value)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(catalog), column);

	if (attnum == InvalidAttrNumber ||
		TupleDescAttr(RelationGetDescr(catalog), attnum - 1)->atttypid != type)
		return false;
	ScanKeyInit(&keys[(*nkeys)++], attnum, BTEqualStrategyNumber, equal, value);
	return true;
}

static bool
has_row(Relation catalog, ScanKey keys, int nkeys)
{
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, nkeys, keys);
	bool		found = HeapTupleIsValid(systable_getnext(scan));

	systable_endscan(scan);
	return found;
}

/* ---- Citus ---- */

/* Citus's own setting that permits a session to write to shards. */
#define SHARDS_SETTING "citus.enable_manual_changes_to_shards"

/* Distributed tables, and also reference tables and local ones managed by Citus. */
static bool
citus_has(const Extension *citus, Relation rel)
{
	Oid			relid = find_catalog(citus, citus->schema, "pg_dist_partition");
	Relation	catalog;
	ScanKeyData key[1];
	int			nkeys = 0;
	bool		found;

	if (!OidIsValid(relid))
		return false;
	catalog = table_open(relid, AccessShareLock);
	found = add_key(key, &nkeys, catalog, "logicalrelid", REGCLASSOID, F_OIDEQ,
					ObjectIdGetDatum(RelationGetRelid(rel))) &&
		has_row(catalog, key, nkeys);
	table_close(catalog, AccessShareLock);
	return found;
}

/* Whether rel is a shard of a distributed table, according to the extension. */
static bool
citus_has_shard(const Extension *citus, Relation rel)
{
	Oid			type = REGCLASSOID;
	Oid			function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
										   CStringGetDatum("relation_is_a_known_shard"),
										   PointerGetDatum(buildoidvector(&type, 1)),
										   ObjectIdGetDatum(citus->schema));

	return OidIsValid(function) && get_func_rettype(function) == BOOLOID &&
		getExtensionOfObject(ProcedureRelationId, function) == citus->oid &&
		DatumGetBool(OidFunctionCall1(function, ObjectIdGetDatum(RelationGetRelid(rel))));
}

static Refusal
citus_refusal(Relation rel)
{
	Extension	citus;
	const char *setting;

	if (!extension_find("citus", &citus))
		return REFUSAL(REFUSAL_NONE);
	if (citus_has(&citus, rel))
		return REFUSAL(REFUSAL_CITUS_TABLE);
	setting = GetConfigOption(SHARDS_SETTING, true, false);
	if ((setting == NULL || strcmp(setting, "on") != 0) && citus_has_shard(&citus, rel))
		return REFUSAL_NAMING(REFUSAL_CITUS_SHARD, SHARDS_SETTING);
	return REFUSAL(REFUSAL_NONE);
}

/* ---- TimescaleDB ---- */

static Refusal
timescale_refusal(Relation rel)
{
	Extension	timescale;
	Oid			relid;
	Relation	catalog;
	ScanKeyData keys[2];
	int			nkeys = 0;
	NameData	schema;
	bool		found;

	if (!extension_find("timescaledb", &timescale))
		return REFUSAL(REFUSAL_NONE);
	relid = find_catalog(&timescale, get_namespace_oid("_timescaledb_catalog", true), "hypertable");
	if (!OidIsValid(relid))
		return REFUSAL(REFUSAL_NONE);
	namestrcpy(&schema, get_namespace_name(RelationGetNamespace(rel)));
	catalog = table_open(relid, AccessShareLock);
	found = add_key(keys, &nkeys, catalog, "table_name", NAMEOID, F_NAMEEQ,
					NameGetDatum(&rel->rd_rel->relname)) &&
		add_key(keys, &nkeys, catalog, "schema_name", NAMEOID, F_NAMEEQ,
				NameGetDatum(&schema)) &&
		has_row(catalog, keys, nkeys);
	table_close(catalog, AccessShareLock);
	return REFUSAL(found ? REFUSAL_HYPERTABLE : REFUSAL_NONE);
}

Refusal
engines_refusal(Relation rel)
{
	Refusal		refusal = citus_refusal(rel);

	return refusal_is_any(&refusal) ? refusal : timescale_refusal(rel);
}
