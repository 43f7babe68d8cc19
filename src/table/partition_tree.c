/*
 * partition_tree.c
 *		See partition_tree.h.
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "storage/lmgr.h"
#include "table/partition_tree.h"
#include "utils/lsyscache.h"

Oid
partition_tree_root(Relation rel)
{
	/* a partition being detached has no ancestors any more */
	List	   *ancestors = rel->rd_rel->relispartition ?
		get_partition_ancestors(RelationGetRelid(rel)) : NIL;

	return ancestors == NIL ? RelationGetRelid(rel) : llast_oid(ancestors);
}

bool
partition_tree_is_part_of(Oid relid, Oid other)
{
	return relid == other || (get_rel_relispartition(relid) &&
							  list_member_oid(get_partition_ancestors(relid), other));
}

bool
partition_tree_has_foreign(Relation rel)
{
	ListCell   *lc;

	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	foreach(lc, find_all_inheritors(RelationGetRelid(rel), NoLock, NULL))
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_FOREIGN_TABLE)
			return true;
	return false;
}

List *
partition_tree_tables(Oid relid, LOCKMODE lockmode)
{
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		return find_all_inheritors(relid, lockmode, NULL);
	if (lockmode != NoLock)
		LockRelationOid(relid, lockmode);
	return list_make1_oid(relid);
}

List *
partition_tree_stored_here(Oid relid)
{
	List	   *stored = NIL;
	ListCell   *lc;

	foreach(lc, partition_tree_tables(relid, NoLock))
		if (RELKIND_HAS_STORAGE(get_rel_relkind(lfirst_oid(lc))))
			stored = lappend_oid(stored, lfirst_oid(lc));
	return stored;
}
