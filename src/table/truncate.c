/*
 * truncate.c
 *		See truncate.h.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/objectaccess.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "foreign/foreign.h"
#include "server/compat.h"
#include "server/foreign_option.h"
#include "table/partition_tree.h"
#include "table/statement.h"
#include "table/truncate.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

void
truncate_table(Oid relid)
{
	bool		parted = get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE;

	statement_run(psprintf("TRUNCATE TABLE %s%s", parted ? "" : "ONLY ", statement_table(relid)));
}

/* TRUNCATE of a foreign table is the other server's: nobody would call them. */
static void
check_no_triggers(Relation rel)
{
	const TriggerDesc *triggers = rel->trigdesc;

	if (triggers != NULL &&
		(triggers->trig_truncate_before_statement || triggers->trig_truncate_after_statement))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot truncate foreign table \"%s\"", RelationGetRelationName(rel)),
				 errdetail("It has triggers for TRUNCATE."),
				 errhint("Create them on the other server.")));
}

/* Option "truncatable" of a foreign table, or else of its server, is boolean: checked as it was set. */
static void
check_truncatable(Relation rel)
{
	ForeignTable *table = GetForeignTable(RelationGetRelid(rel));
	DefElem    *option = foreign_find_option(table->options, "truncatable");

	if (option == NULL)
		option = foreign_find_option(GetForeignServer(table->serverid)->options, "truncatable");
	if (option != NULL && !defGetBoolean(option))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("foreign table \"%s\" does not allow truncates",
						RelationGetRelationName(rel)),
				 errhint("Set option \"truncatable\" of the foreign table or its server.")));
}

/* As ExecuteTruncate of tablecmds.c has it for each table that is not named. */
void
truncate_parts_here(Oid relid)
{
	List	   *rels = NIL;
	List	   *relids = NIL;
	List	   *logged = NIL;
	ListCell   *lc;

	foreach(lc, partition_tree_tables(relid, AccessExclusiveLock))
	{
		Relation	rel = table_open(lfirst_oid(lc), NoLock);

		if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		{
			check_no_triggers(rel);
			check_truncatable(rel);
			table_close(rel, NoLock);
			continue;
		}
		CheckTableNotInUse(rel, "TRUNCATE");
		InvokeObjectTruncateHook(lfirst_oid(lc));
		rels = lappend(rels, rel);
		relids = lappend_oid(relids, lfirst_oid(lc));
		if (RelationIsLogicallyLogged(rel))
			logged = lappend_oid(logged, lfirst_oid(lc));
	}
	compat_truncate(rels, relids, logged);
	foreach(lc, rels)
		table_close(lfirst(lc), NoLock);
}
