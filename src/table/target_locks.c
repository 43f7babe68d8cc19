/*
 * target_locks.c
 *		The locks that writer auto takes unasked, to load a table directly.
 */
#include "postgres.h"

#include <math.h>

#include "access/table.h"
#include "access/tableam.h"
#include "access/twophase.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "table/dead_rows.h"
#include "table/target_locks.h"
#include "utils/acl.h"

/*
 * The part of the server's lock table that may be filled with locks of partitions and their
 * indexes.  COPY locks only partitions that get rows, which of a table that has none will be most
 * of them; the rest is for others, and for another load at the same time.  Where others have few
 * locks at the moment it may be more, theirs included.
 */
#define LOCKS_LEAST (1.0 / 3)
#define LOCKS_MOST (2.0 / 3)

/*
 * Below so many bytes of a file for each partition the locks, and files opened to see that the
 * partitions are empty, take longer than the direct writer saves.  Measured with 5,000 partitions
 * and rows of 40 bytes: as long with ten rows each, with none four times as long.  A few
 * partitions cost nothing that anybody would notice.
 */
#define BYTES_PER_PARTITION 400
#define FEW_PARTITIONS 100

/* Whether a table has rows that others may have written, judging by a few pages. */
static bool
has_rows(Relation rel)
{
	return RELKIND_HAS_STORAGE(rel->rd_rel->relkind) &&
		!RELATION_IS_LOCAL(rel) &&
		rel->rd_newRelfilelocatorSubid == InvalidSubTransactionId &&
		(rel->rd_tableam == GetHeapamTableAmRoutine() ? !dead_rows_only(rel) :
		 RelationGetNumberOfBlocks(rel) > 0);
}

/* Locks one table and checks it for rows.  *locks: how many it takes to load it, added. */
static RefusalReason
take_one(Target *target, Oid relid, double *locks)
{
	Relation	rel;
	RefusalReason refusal = REFUSAL_NONE;

	if (!ConditionalLockRelationOid(relid, ShareRowExclusiveLock))
		return REFUSAL_IN_USE;
	target->locked = lappend_oid(target->locked, relid);
	rel = try_table_open(relid, NoLock);
	if (rel == NULL)
		return REFUSAL_IN_USE;
	if (has_rows(rel))
		refusal = REFUSAL_NOT_EMPTY;
	*locks += 1 + list_length(RelationGetIndexList(rel));
	table_close(rel, NoLock);
	return refusal;
}

/* How many locks the server's lock table has room for, as lock.c has it. */
static double
lock_table_size(void)
{
	return (double) max_locks_per_xact * (MaxBackends + max_prepared_xacts);
}

/* How many locks others have, and this transaction besides those of the target. */
static double
other_locks(const Target *target)
{
	LockData   *data = GetLockStatusData();
	double		locks = 0;

	for (int i = 0; i < data->nelements; i++)
	{
		if (!data->locks[i].fastpath)
			locks++;
	}
	pfree(data->locks);
	pfree(data);
	return Max(locks - list_length(target->locked), 0);
}

/* Whether so many locks may be taken for the target.  *most: known to be allowed, and raised. */
static bool
locks_allowed(const Target *target, double locks, double *most)
{
	double		size = lock_table_size();

	if (locks > *most && locks <= LOCKS_MOST * size)
		*most = Max(*most, LOCKS_MOST * size - other_locks(target));
	return locks <= *most;
}

/* Whether a file of so many bytes, 0 if not known, has few rows for so many partitions. */
static bool
is_small_for(int64 bytes, int npartitions)
{
	return bytes > 0 && npartitions > FEW_PARTITIONS &&
		bytes < (int64) npartitions * BYTES_PER_PARTITION;
}

/* Locks and checks the partitions of the locked target, at all levels. */
static RefusalReason
take_partitions(Target *target, const BulkOptions *options, int64 bytes, double locks)
{
	List	   *relids = find_all_inheritors(target->relid, NoLock, NULL);
	/* a new or truncated table is locked already */
	bool		unlocked = !options->truncate && !RELATION_IS_LOCAL(target->rel);
	double		most = unlocked ? LOCKS_LEAST * lock_table_size() : INFINITY;
	ListCell   *lc;

	if (unlocked && is_small_for(bytes, list_length(relids)))
		return REFUSAL_FEW_ROWS;
	/* before any is taken */
	if (!locks_allowed(target, list_length(relids), &most))
		return REFUSAL_MANY_PARTITIONS;
	foreach(lc, relids)
	{
		RefusalReason refusal = REFUSAL_NONE;

		CHECK_FOR_INTERRUPTS();
		if (lfirst_oid(lc) != target->relid)
			refusal = take_one(target, lfirst_oid(lc), &locks);
		if (refusal == REFUSAL_NONE && !locks_allowed(target, locks, &most))
			refusal = REFUSAL_MANY_PARTITIONS;
		if (refusal != REFUSAL_NONE)
			return refusal;
	}
	/* a partition may have gained partitions before it was locked */
	return equal(relids, find_all_inheritors(target->relid, NoLock, NULL)) ?
		REFUSAL_NONE : REFUSAL_IN_USE;
}

RefusalReason
target_locks_take(Target *target, const BulkOptions *options, int64 bytes)
{
	Relation	rel = target->rel;
	double		locks = 0;
	RefusalReason refusal;

	/* those of an attempt that was undone have gone with its subtransaction */
	target->locked = NIL;
	/* check first, to avoid a needless lock */
	if (has_rows(rel))
		return REFUSAL_NOT_EMPTY;
	if (!RELATION_IS_LOCAL(rel) &&
		rel->rd_newRelfilelocatorSubid == InvalidSubTransactionId &&
		pg_class_aclcheck(RelationGetRelid(rel), GetUserId(),
						  TARGET_LOCK_PRIVILEGES) != ACLCHECK_OK)
		return REFUSAL_NO_LOCK_PRIVILEGE;

	refusal = take_one(target, RelationGetRelid(rel), &locks);
	if (refusal == REFUSAL_NONE && rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		refusal = take_partitions(target, options, bytes, locks);
	if (refusal != REFUSAL_NONE)
		target_locks_release(target);
	return refusal;
}

void
target_locks_release(Target *target)
{
	ListCell   *lc;

	foreach(lc, target->locked)
		UnlockRelationOid(lfirst_oid(lc), ShareRowExclusiveLock);
	list_free(target->locked);
	target->locked = NIL;
}
