/*
 * slower.c
 *		See slower.h.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "load/slower.h"
#include "storage/bufmgr.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

/* Minimum number of rows for the NOTICE; these take seconds with a few indexes. */
#define MIN_ROWS 200000

/* Reads a relation's pg_class row without opening it; empty if it is gone. */
static FormData_pg_class
read_class(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	FormData_pg_class class = {0};

	if (HeapTupleIsValid(tuple))
	{
		memcpy(&class, GETSTRUCT(tuple), CLASS_TUPLE_SIZE);
		ReleaseSysCache(tuple);
	}
	return class;
}

/* Size of the table; for a partitioned one as of the last ANALYZE. */
static double
table_bytes(Relation rel)
{
	double		blocks = 0;
	ListCell   *lc;

	if (rel->rd_rel->relkind == RELKIND_RELATION)
		return (double) RelationGetNumberOfBlocks(rel) * BLCKSZ;
	foreach(lc, find_all_inheritors(RelationGetRelid(rel), NoLock, NULL))
		blocks += Max(read_class(lfirst_oid(lc)).relpages, 0);
	return blocks * BLCKSZ;
}

/* Whether the table has indexes for which insertions are slow. */
static bool
has_slow_indexes(Relation rel)
{
	ListCell   *lc;

	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	foreach(lc, RelationGetIndexList(rel))
		if (read_class(lfirst_oid(lc)).relam != BRIN_AM_OID)
			return true;
	return false;
}

/* The HINT for a reason. */
static int
hint_for(RefusalReason reason)
{
	switch (reason)
	{
		case REFUSAL_NOT_EMPTY:
		case REFUSAL_MANY_PARTITIONS:
			return errhint("Set option \"writer\" to \"direct\" if nobody has to write to the table meanwhile.");
		case REFUSAL_IN_USE:
			return errhint("Set option \"writer\" to \"direct\" to wait for those who use the table, and to keep others from writing to it meanwhile.");
		case REFUSAL_NO_LOCK_PRIVILEGE:
			return errhint("Have one of the privileges %s on the table granted, by which others can be kept from writing to it meanwhile.",
						   target_lock_privileges());
		default:
			return errhint("It takes less time to drop the indexes before the load and to create them after it.");
	}
}

void
slower_notice(const Target *target, const Refusal *refusal, double rows, double bytes)
{
	if (rows < MIN_ROWS || !has_slow_indexes(target->rel) ||
		table_bytes(target->rel) > bytes / 2)
		return;
	ereport(NOTICE,
			(errmsg("the indexes of \"%s\" get their entries while others may write, which may take more than twice as long as with writer \"direct\"",
					target_name(target)),
			 refusal_detail(refusal),
			 hint_for(refusal->reason)));
}
