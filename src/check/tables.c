/*
 * tables.c
 *		See tables.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "check/foreign_key.h"
#include "check/recheck.h"
#include "check/tables.h"
#include "commands/trigger.h"
#include "server/compat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "table/partition_tree.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

static inline bool
is_after_row_insert(const Trigger *trigger)
{
	return TRIGGER_TYPE_MATCHES(trigger->tgtype, TRIGGER_TYPE_ROW,
								TRIGGER_TYPE_AFTER, TRIGGER_TYPE_INSERT);
}

static inline bool
is_after_row_delete(const Trigger *trigger)
{
	return TRIGGER_TYPE_MATCHES(trigger->tgtype, TRIGGER_TYPE_ROW,
								TRIGGER_TYPE_AFTER, TRIGGER_TYPE_DELETE);
}

bool
tables_is_key(const Trigger *trigger)
{
	return is_after_row_insert(trigger) && foreign_key_is_check(trigger);
}

const Trigger *
tables_next_key(const TriggerDesc *triggers, int *next)
{
	while (*next < triggers->numtriggers)
	{
		const Trigger *trigger = &triggers->triggers[(*next)++];

		if (tables_is_key(trigger) && foreign_key_fires(trigger))
			return trigger;
	}
	return NULL;
}

RefusalReason
tables_refusal(Relation rel, const BulkOptions *options)
{
	/* catalog lookups may cause the relcache to reload the relation's own */
	const TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);
	bool		any = false;

	if (triggers == NULL)
		return REFUSAL_NONE;
	if (triggers->trig_insert_before_row || triggers->trig_insert_instead_row ||
		triggers->trig_insert_new_table)
		return REFUSAL_ROW_TRIGGERS;
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];
		RefusalReason refusal;

		if (!is_after_row_insert(trigger) || recheck_is_trigger(trigger))
			continue;
		if (!foreign_key_is_check(trigger))
			return REFUSAL_ROW_TRIGGERS;
		if (!foreign_key_fires(trigger))
			continue;
		refusal = foreign_key_refusal(trigger);
		if (refusal != REFUSAL_NONE)
			return refusal;
		any = true;
	}
	if (!any || rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return REFUSAL_NONE;
	if (options->on_error == BULK_ON_ERROR_STOP)
		return REFUSAL_NONE;
	/* a row that was inserted could not be deleted again */
	return options->freeze ? REFUSAL_FROZEN_KEYS : REFUSAL_NONE;
}

/* OIDs of the indexes that enforce uniqueness or exclusion. */
List *
tables_unique_indexes(Relation rel)
{
	List	   *unique = NIL;
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (index->rd_index->indisunique || index->rd_index->indisexclusion)
			unique = lappend_oid(unique, lfirst_oid(lc));
		index_close(index, AccessShareLock);
	}
	return unique;
}

static bool
index_may_refuse(Relation index)
{
	TupleDesc	desc = RelationGetDescr(index);

	if (RelationGetIndexExpressions(index) != NIL ||
		RelationGetIndexPredicate(index) != NIL)
		return true;
	for (int i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->attlen < 0)
			return true;
	return false;
}

bool
tables_may_refuse(Relation rel)
{
	bool		may_refuse = false;
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		may_refuse |= index_may_refuse(index);
		index_close(index, AccessShareLock);
	}
	return may_refuse;
}

/*
 * Whether this transaction may have stored rows in a table: a writer holds its
 * lock until the end, or until its subtransaction is rolled back.
 */
static bool
may_have_written(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	bool		may = CheckRelationLockedByMe(rel, RowExclusiveLock, true) &&
		RELKIND_HAS_STORAGE(rel->rd_rel->relkind) && RelationGetNumberOfBlocks(rel) > 0;

	table_close(rel, AccessShareLock);
	return may;
}

bool
tables_may_be_referred_to(Relation rel)
{
	const TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];
		ListCell   *lc;

		if (RI_FKey_trigger_type(trigger->tgfoid) != RI_TRIGGER_PK)
			continue;
		foreach(lc, find_all_inheritors(trigger->tgconstrrelid, AccessShareLock, NULL))
			if (may_have_written(lfirst_oid(lc)))
				return true;
	}
	return false;
}

/* Whether there are foreign keys to the table at all. */
static bool
is_referred_to(const TriggerDesc *triggers)
{
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		if (RI_FKey_trigger_type(triggers->triggers[i].tgfoid) == RI_TRIGGER_PK)
			return true;
	return false;
}

bool
tables_refers_to_itself(Relation rel)
{
	const TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);
	Oid			root = partition_tree_root(rel);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (tables_is_key(trigger) &&
			partition_tree_is_part_of(trigger->tgconstrrelid, root))
			return true;
	}
	return false;
}

RefusalReason
tables_replacement_refusal(Relation rel, const BulkOptions *options)
{
	const TriggerDesc *triggers = rel->trigdesc;

	if (options->on_duplicate != BULK_ON_DUPLICATE_KEEP_NEW)
		return REFUSAL_NONE;
	if (triggers != NULL &&
		(triggers->trig_delete_before_row || triggers->trig_delete_instead_row ||
		 triggers->trig_delete_old_table || triggers->trig_delete_before_statement ||
		 triggers->trig_delete_after_statement))
		return REFUSAL_REPLACED_ROW_TRIGGERS;
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		if (is_after_row_delete(&triggers->triggers[i]) &&
			RI_FKey_trigger_type(triggers->triggers[i].tgfoid) != RI_TRIGGER_PK)
			return REFUSAL_REPLACED_ROW_TRIGGERS;
	if (options->on_error != BULK_ON_ERROR_STOP && tables_refers_to_itself(rel))
		return REFUSAL_REPLACED_REFERENCES;
	return REFUSAL_NONE;
}

/* Whether rows may be deleted for violating a foreign key. */
static bool
may_lose_orphans(Relation rel, const BulkOptions *options)
{
	const TriggerDesc *triggers = rel->trigdesc;

	if (options->on_error == BULK_ON_ERROR_STOP || triggers == NULL)
		return false;
	for (int i = 0; i < triggers->numtriggers; i++)
		if (tables_is_key(&triggers->triggers[i]) &&
			foreign_key_fires(&triggers->triggers[i]))
			return true;
	return false;
}

/* Whether some partition has triggers; foreign keys in either direction are triggers. */
static bool
partitions_have_triggers(Relation rel)
{
	ListCell   *lc;

	foreach(lc, find_all_inheritors(RelationGetRelid(rel), NoLock, NULL))
	{
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(lc)));
		bool		has;

		if (!HeapTupleIsValid(tuple))
			continue;
		has = ((Form_pg_class) GETSTRUCT(tuple))->relhastriggers;
		ReleaseSysCache(tuple);
		if (has)
			return true;
	}
	return false;
}

bool
tables_may_repeat(Relation rel, const BulkOptions *options)
{
	bool		keeps = options->on_duplicate != BULK_ON_DUPLICATE_ERROR;
	bool		triggers;

	/* rows that are merged stay, and bad ones never get in */
	if (options->merge != NULL)
		return false;
	/* a dry run is rolled back anyway, and frozen rows are never deleted again */
	if (options->dry_run || options->freeze)
		return false;
	if (rel->rd_rel->relkind == RELKIND_RELATION)
		return (keeps || may_lose_orphans(rel, options)) &&
			(RelationIsLogicallyLogged(rel) || is_referred_to(rel->trigdesc));
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE ||
		(!keeps && options->on_error == BULK_ON_ERROR_STOP))
		return false;
	/* partitions may have foreign keys of their own, and be logged even if the parent is not */
	triggers = partitions_have_triggers(rel);
	return (keeps || triggers) && (XLogLogicalInfoActive() || triggers);
}

static bool
has_exclusion(Relation rel)
{
	ListCell   *lc;
	bool		found = false;

	foreach(lc, tables_unique_indexes(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		found |= index->rd_index->indisexclusion;
		index_close(index, AccessShareLock);
	}
	return found;
}

RefusalReason
tables_duplicates_refusal(Relation rel, const BulkOptions *options)
{
	bool		keeps = options->on_duplicate != BULK_ON_DUPLICATE_ERROR;
	List	   *unique;
	ListCell   *lc;
	RefusalReason refusal = REFUSAL_NONE;

	/* an index that is built tells of any row of two in conflict, COPY of the second */
	if (options->plain && has_exclusion(rel))
		return REFUSAL_EXCLUSION;
	if (!keeps && !may_lose_orphans(rel, options))
		return REFUSAL_NONE;
	unique = tables_unique_indexes(rel);
	if (unique == NIL)
		return REFUSAL_NONE;
	/* the WAL would have each row before the deletion of the other row with its key */
	if (RelationIsLogicallyLogged(rel))
		return REFUSAL_SUBSCRIBERS;
	if (!keeps)
		return REFUSAL_NONE;
	/* with several indexes, a dropped row would free its other keys */
	if (options->on_error != BULK_ON_ERROR_STOP && tables_refers_to_itself(rel) &&
		(rel->rd_rel->relispartition || list_length(unique) > 1))
		return REFUSAL_KEPT_REFERENCES;
	foreach(lc, unique)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (index->rd_index->indisexclusion)
			refusal = REFUSAL_EXCLUSION;
		/* for the target itself this is an error */
		else if (!index->rd_index->indimmediate)
			refusal = REFUSAL_DEFERRABLE;
		index_close(index, AccessShareLock);
	}
	if (refusal == REFUSAL_NONE && options->freeze)
		refusal = REFUSAL_FROZEN_UNIQUE;
	if (refusal == REFUSAL_NONE)
		refusal = tables_replacement_refusal(rel, options);
	return refusal;
}
