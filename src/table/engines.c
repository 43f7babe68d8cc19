/*
 * engines.c
 *		See engines.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "server/extension.h"
#include "table/citus_catalog.h"
#include "table/engines.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

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

static Refusal
citus_refusal(Relation rel)
{
	const char *setting;
	CitusTable	table;

	if (citus_find_table(RelationGetRelid(rel), &table))
		return REFUSAL(REFUSAL_CITUS_TABLE);
	setting = GetConfigOption(SHARDS_SETTING, true, false);
	if ((setting == NULL || strcmp(setting, "on") != 0) &&
		citus_is_shard(RelationGetRelid(rel)))
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
	relid = extension_table(&timescale, get_namespace_oid("_timescaledb_catalog", true), "hypertable");
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
