/*
 * extension.c
 *		See extension.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_proc.h"
#include "server/extension.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#define MAX_KNOWN 4

/* What was last found out about an extension. */
typedef struct Known
{
	const char *name;
	bool		installed;
	Extension	extension;
	uint64		changes;		/* of tables before that */
} Known;

static Known known[MAX_KNOWN];
static int	nknown;

/* Changes of pg_extension are not announced, but those of pg_class are. */
static uint64 table_changes;

static void
count_change(Datum arg, int cache, uint32 hash)
{
	table_changes++;
}

static bool
look_up(const char *name, Extension *extension)
{
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(name));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_extension form = (Form_pg_extension) GETSTRUCT(tuple);

		extension->oid = form->oid;
		extension->schema = form->extnamespace;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple);
}

/* The entry of that name, which may be new. */
static Known *
find_known(const char *name)
{
	for (int i = 0; i < nknown; i++)
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	if (nknown == 0)
		CacheRegisterSyscacheCallback(RELOID, count_change, (Datum) 0);
	Assert(nknown < MAX_KNOWN);
	/* an entry without a look-up must not seem to be up to date */
	known[nknown] = (Known) {.name = name,.changes = PG_UINT64_MAX};
	return &known[nknown++];
}

bool
extension_find(const char *name, Extension *extension)
{
	Known	   *entry = find_known(name);
	uint64		changes = table_changes;

	if (entry->changes != changes)
	{
		entry->changes = PG_UINT64_MAX;
		entry->installed = look_up(name, &entry->extension);
		entry->changes = changes;
	}
	*extension = entry->extension;
	return entry->installed;
}

Oid
extension_table(const Extension *extension, Oid schema, const char *name)
{
	Oid			relid = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;

	return OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_RELATION &&
		getExtensionOfObject(RelationRelationId, relid) == extension->oid ? relid : InvalidOid;
}

Oid
extension_function(const Extension *extension, Oid schema, const char *name,
				   const Oid *arguments, int narguments)
{
	Oid			function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
										   CStringGetDatum(name),
										   PointerGetDatum(buildoidvector(arguments, narguments)),
										   ObjectIdGetDatum(schema));

	return OidIsValid(function) &&
		getExtensionOfObject(ProcedureRelationId, function) == extension->oid ?
		function : InvalidOid;
}
