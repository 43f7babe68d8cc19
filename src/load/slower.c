/*
 * slower.c
 *		See slower.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "index/entries.h"
#include "load/slower.h"
#include "storage/bufmgr.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

/*
 * Entries that wait (entries.h) take at most 1.8 times as long as those that are made after the
 * rows of a direct load.  In seconds of CPU of all of the load, without workers, one run each on a
 * busy machine with 15, 50,000 to a million rows for tables of 100,000 to 4 million: three indexes
 * 0.6 to 1.8 times, a text 0.6 to 1.8, integers 0.5 to 1.8; the fewer rows for a table, the
 * better are entries that wait.  Row by row, 200,000 rows for a table of 1,000: GiST 1.9 times,
 * GiST and two btrees 2.5, two btrees of deferrable constraints 2.2; SP-GiST 1.3, hash 1.2, GIN
 * 1.1.  For a table of 400,000 GiST takes 1.3 times as long.
 */

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

/*
 * Whether the table has indexes for which insertions row by row are slow: those in order go by
 * rows, too, in GiST.
 */
static bool
has_slow_indexes(Relation rel)
{
	bool		found = false;
	ListCell   *lc;

	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		found |= index->rd_rel->relam == GIST_AM_OID ||
			(index->rd_rel->relam == BTREE_AM_OID && !entries_serves(index));
		index_close(index, AccessShareLock);
	}
	return found;
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
			(errmsg("indexes of \"%s\" get their entries row by row, as others may write, which may take more than twice as long as with writer \"direct\"",
					target_name(target)),
			 refusal_detail(refusal),
			 hint_for(refusal->reason)));
}
