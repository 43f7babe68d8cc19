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
 * better are entries that wait.
 *
 * Row by row, with a worker, 300,000 rows (36 MB) for a table of as many rows as said, how many
 * times as long: a deferrable text 2.6 (1000), 2.3 (300,000), 1.7 (a million); two of them and
 * three other indexes 5.1, 4.9, 3.3; a deferrable integer in order 1.5 (1000), two and a bigint
 * 2.4; GiST 2.1 (1000), 1.6 (300,000), 0.7 (a million), two 2.0; an exclusion constraint by GiST
 * 1.8, by a btree 1.1 (1000).  SP-GiST 1.0, GIN 1.0, hash 1.5.
 *
 * So each index lets the table be that many times as large as what is loaded; below the least of
 * these for GiST no table is small enough.
 */
#define LARGER_COLLATED 2.0		/* a btree with a collation */
#define LARGER_BTREE 0.25
#define LARGER_GIST 0.5
#define LEAST_LARGER 0.5

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

/* Those of one index; insertions in order go by rows, too, in GiST. */
static double
larger_by_index(Relation index)
{
	if (index->rd_rel->relam == GIST_AM_OID)
		return LARGER_GIST;
	if (index->rd_rel->relam != BTREE_AM_OID || entries_serves(index))
		return 0;
	return OidIsValid(index->rd_indcollation[0]) ? LARGER_COLLATED : LARGER_BTREE;
}

/*
 * How many times as large as what is loaded the table may be, so that its indexes make the direct
 * writer twice as fast; 0: it never is.
 */
static double
times_larger(Relation rel)
{
	double		times = 0;
	ListCell   *lc;

	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return 0;
	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		times += larger_by_index(index);
		index_close(index, AccessShareLock);
	}
	return times < LEAST_LARGER ? 0 : times;
}

/* The HINT for a reason. */
static int
hint_for(RefusalReason reason)
{
	switch (reason)
	{
		case REFUSAL_NOT_EMPTY:
		case REFUSAL_FEW_ROWS:
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
	double		times;

	if (rows < MIN_ROWS)
		return;
	times = times_larger(target->rel);
	if (times == 0 || table_bytes(target->rel) > bytes * times)
		return;
	ereport(NOTICE,
			(errmsg("indexes of \"%s\" get their entries row by row, as others may write, which may take more than twice as long as with writer \"direct\"",
					target_name(target)),
			 refusal_detail(refusal),
			 hint_for(refusal->reason)));
}
