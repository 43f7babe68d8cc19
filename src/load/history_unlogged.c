/*
 * history_unlogged.c
 *		Files whose rows a crash has taken: those of unlogged tables.
 *
 * A crash empties unlogged tables, and so does the promotion of a standby; among them one of the
 * extension, bulk_load_unlogged.  Loads of unlogged tables note its id in their rows of the
 * history, or add one where there is none.  Where the id of a row is gone, what was loaded is.
 *
 * Sessions that find none at the same time add one each: none waits for the end of another's load.
 *
 * Price: two look-ups for each load that is remembered, of a partitioned table one for each of its
 * partitions.  Trap: what becomes of a table whose persistence is changed is known when it is
 * loaded the next time, and not to a crash before that.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "load/history.h"
#include "load/history_state.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

static void
refuse_both(Relation target, Oid unlogged, Oid logged)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("option \"once\" cannot be used for partitioned table \"%s\"",
					RelationGetRelationName(target)),
			 errdetail("Partition \"%s\" is unlogged, and partition \"%s\" is not: a crash would take a part of what was loaded.",
					   get_rel_name(unlogged), get_rel_name(logged)),
			 errhint("Set all partitions to LOGGED, or all to UNLOGGED, by ALTER TABLE.")));
}

/* Whether a crash would take what is loaded. */
static bool
is_unlogged(const BulkOptions *options, Relation target)
{
	Oid			unlogged = InvalidOid;
	Oid			logged = InvalidOid;
	ListCell   *lc;

	if (target->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return target->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED;
	foreach(lc, find_all_inheritors(RelationGetRelid(target), NoLock, NULL))
	{
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(lc)));
		Form_pg_class form;

		/* dropped meanwhile */
		if (!HeapTupleIsValid(tuple))
			continue;
		form = (Form_pg_class) GETSTRUCT(tuple);
		if (form->relkind != RELKIND_PARTITIONED_TABLE)
			*(form->relpersistence == RELPERSISTENCE_UNLOGGED ? &unlogged : &logged) = form->oid;
		ReleaseSysCache(tuple);
	}
	if (options->once != BULK_ONCE_NONE && OidIsValid(unlogged) && OidIsValid(logged))
		refuse_both(target, unlogged, logged);
	return OidIsValid(unlogged);
}

static Datum
find_id(const HistoryTable *table)
{
	Datum		id;

	if (history_table_run(table, psprintf("SELECT id FROM %s LIMIT 1", table->unlogged_name),
						  0, NULL, NULL, NULL, &id, 1) == 0)
		(void) history_table_run(table,
								 psprintf("INSERT INTO %s VALUES (pg_catalog.gen_random_uuid())"
										  " RETURNING id", table->unlogged_name),
								 0, NULL, NULL, NULL, &id, 1);
	return id;
}

void
history_check_crash(History *history, Relation target)
{
	HistoryTable table = history_table_find();
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(history->target)};

	(void) history_table_run(&table,
							 psprintf("UPDATE %s h"
									  " SET once_key = NULL, loaded_to = NULL, part_of = NULL, unlogged = NULL"
									  " WHERE target OPERATOR(pg_catalog.=) $1 AND unlogged IS NOT NULL"
									  " AND NOT EXISTS (SELECT FROM %s u WHERE u.id OPERATOR(pg_catalog.=) h.unlogged)",
									  table.name, table.unlogged_name),
							 1, types, values, NULL, NULL, 0);
	if (is_unlogged(history->options, target) && !history->options->dry_run)
		history->unlogged = find_id(&table);
}
