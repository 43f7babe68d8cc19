/*
 * truncate.c
 *		See truncate.h.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/objectaccess.h"
#include "commands/tablecmds.h"
#include "server/compat.h"
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
