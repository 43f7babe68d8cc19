/*
 * history_unlogged.c
 *		Files whose rows a crash has taken: those of unlogged tables.
 *
 * A crash empties unlogged tables, and so does the promotion of a standby; among them one of the
 * extension, bulk_load_unlogged.  Loads of unlogged tables note its id in their rows of the
 * history, or add one where there is none.  Where the id of a row is gone, what was loaded is.
 *
 * None waits for the end of another's load: sessions that find no id at the same time add one each,
 * and rows of what is gone are changed when their own file is claimed, and else passed by.
 *
 * Price: two look-ups for each load that is remembered, one of them for each id that rows of the
 * table have, of a partitioned table one for each of its partitions, and with each row that is
 * found one for its id.  Trap: what becomes of a table whose persistence is changed is known when
 * it is loaded the next time, and not to a crash before that.
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

/* What becomes of a row of what is gone. */
#define RELEASE "once_key = NULL, loaded_to = NULL, part_of = NULL, unlogged = "

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

/* Whether there are rows of what is gone: of a million with few different ids, few are read. */
static bool
has_lost(const History *history, const HistoryTable *table)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(history->target)};

	return history_table_run(table,
							 psprintf("WITH RECURSIVE ids AS ("
									  "(SELECT unlogged FROM %s WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND unlogged IS NOT NULL ORDER BY unlogged LIMIT 1)"
									  " UNION ALL "
									  "SELECT (SELECT h.unlogged FROM %s h WHERE h.target OPERATOR(pg_catalog.=) $1"
									  " AND h.unlogged OPERATOR(pg_catalog.>) ids.unlogged"
									  " ORDER BY h.unlogged LIMIT 1)"
									  " FROM ids WHERE ids.unlogged IS NOT NULL)"
									  " SELECT FROM ids WHERE NOT %s LIMIT 1",
									  table->name, table->name, history_is_there(table)),
							 1, types, values, NULL, NULL, 0) > 0;
}

const char *
history_is_there(const HistoryTable *table)
{
	return psprintf("(unlogged IS NULL"
					" OR EXISTS (SELECT FROM %s u WHERE u.id OPERATOR(pg_catalog.=) unlogged))",
					table->unlogged_name);
}

void
history_check_crash(History *history, Relation target)
{
	HistoryTable table = history_table_find();

	history->lost = has_lost(history, &table);
	if (is_unlogged(history->options, target) && !history->options->dry_run)
		history->unlogged = find_id(&table);
}

void
history_release(const History *history, const HistoryTable *table, const HistoryFile *file,
				const LoadResult *result)
{
	bool		by_content = history->options->once == BULK_ONCE_CONTENT ||
		history->options->once == BULK_ONCE_PART;
	const char *same = psprintf("path OPERATOR(pg_catalog.=) $%d", HISTORY_PATH);

	if (by_content)
		same = psprintf("(%s OR extra OPERATOR(pg_catalog.=) $%d OR (extra IS NULL AND $%d IS NULL))"
						" AND %s OPERATOR(pg_catalog.=) $%d",
						same, HISTORY_EXTRA, HISTORY_EXTRA,
						file->is_part ? "part_of" : "content",
						file->is_part ? HISTORY_PART_OF : HISTORY_CONTENT);
	(void) history_run_row(history, table, file, result,
						   psprintf("UPDATE %s SET " RELEASE "$%d WHERE target OPERATOR(pg_catalog.=) $%d"
									" AND once_key OPERATOR(pg_catalog.=) $%d AND %s AND NOT %s",
									table->name, HISTORY_UNLOGGED, HISTORY_TARGET, HISTORY_ONCE_KEY,
									same, history_is_there(table)));
}

void
history_release_all(const History *history, const HistoryTable *table)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(history->target)};

	(void) history_table_run(table,
							 psprintf("UPDATE %s SET " RELEASE "NULL WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND unlogged IS NOT NULL AND NOT %s",
									  table->name, history_is_there(table)),
							 1, types, values, NULL, NULL, 0);
}
