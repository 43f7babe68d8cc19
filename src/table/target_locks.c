/*
 * target_locks.c
 *		The locks that writer auto takes unasked, to load a table directly.
 */
#include "postgres.h"

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
#include "utils/builtins.h"

/*
 * The parts of the server's lock table that may be filled with locks of partitions and their
 * indexes.  COPY locks only partitions that get rows, which of a table that has none will be most
 * of them; the rest is for others, and for another load at the same time.  Up to the first part
 * others need not be looked at.  Up to the second one they must leave some of the table, as the
 * last one says, and beyond it all locks together, those of TOAST tables included, which are taken
 * where values are wide, must stay below the third.
 */
#define LOCKS_UNSEEN (1.0 / 10)
#define LOCKS_BESIDE (1.0 / 3)
#define LOCKS_MOST (2.0 / 3)
#define LOCKS_ALL (9.0 / 10)

/*
 * Below so many bytes of a file for each partition the locks, and files opened to see that the
 * partitions are empty, take longer than the direct writer saves.  Measured with 5,000 partitions
 * and rows of 40 bytes: as long with ten rows each, with none four times as long.  A few
 * partitions cost nothing that anybody would notice.
 */
#define BYTES_PER_PARTITION 400
#define ROWS_PER_PARTITION 10
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

/* What the locks of a table with its partitions mean to the server's lock table. */
typedef struct LockNeeds
{
	List	   *relids;			/* of all */
	double		locks;			/* theirs, and of the indexes that are known so far */
	double		toast_locks;	/* that may have to be taken besides */
	double		others;			/* locks that are there already; -1: not counted */
} LockNeeds;

/* Whether it is a lock of this transaction on one of n tables, sorted: it needs no other entry. */
static bool
is_own(const LockInstanceData *lock, const Oid *tables, int n)
{
	Oid			relid = lock->locktag.locktag_field2;

	return lock->pid == MyProcPid && lock->locktag.locktag_type == LOCKTAG_RELATION &&
		lock->locktag.locktag_field1 == MyDatabaseId &&
		bsearch(&relid, tables, n, sizeof(Oid), oid_cmp) != NULL;
}

static double
count_others(List *relids)
{
	LockData   *data = GetLockStatusData();
	int			n = list_length(relids);
	Oid		   *tables = palloc(sizeof(Oid) * n);
	double		locks = 0;

	for (int i = 0; i < n; i++)
		tables[i] = list_nth_oid(relids, i);
	qsort(tables, n, sizeof(Oid), oid_cmp);
	for (int i = 0; i < data->nelements; i++)
	{
		if (!data->locks[i].fastpath && !is_own(&data->locks[i], tables, n))
			locks++;
	}
	pfree(tables);
	pfree(data->locks);
	pfree(data);
	return locks;
}

/* Whether the locks may be taken. */
static bool
are_allowed(LockNeeds *needs)
{
	/* how many it has room for, as lock.c has it */
	double		size = (double) max_locks_per_xact * (MaxBackends + max_prepared_xacts);

	if (needs->locks <= LOCKS_UNSEEN * size)
		return true;
	if (needs->others < 0)
		needs->others = count_others(needs->relids);
	if (needs->locks <= LOCKS_BESIDE * size && needs->locks + needs->others <= LOCKS_ALL * size)
		return true;
	return needs->locks + needs->toast_locks + needs->others <= LOCKS_MOST * size;
}

/* Locks one table and checks it for rows.  needs: NULL, or what else it takes is added. */
static RefusalReason
take_one(Target *target, Oid relid, LockNeeds *needs)
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
	if (needs != NULL)
	{
		needs->locks += list_length(RelationGetIndexList(rel));
		/* and its index */
		needs->toast_locks += OidIsValid(rel->rd_rel->reltoastrelid) ? 2 : 0;
	}
	table_close(rel, NoLock);
	return refusal;
}

/* Whether a file of so many bytes, 0 if not known, has few rows for so many partitions. */
static bool
has_few_rows(const BulkOptions *options, int64 bytes, int npartitions)
{
	return npartitions > FEW_PARTITIONS &&
		((bytes > 0 && bytes < (int64) npartitions * BYTES_PER_PARTITION) ||
		 (options->limit >= 0 && options->limit < (int64) npartitions * ROWS_PER_PARTITION));
}

/* Locks and checks the partitions of the locked target, at all levels. */
static RefusalReason
take_partitions(Target *target, const BulkOptions *options, int64 bytes)
{
	List	   *relids = find_all_inheritors(target->relid, NoLock, NULL);
	LockNeeds	needs = {.relids = relids,.locks = list_length(relids),.others = -1};
	/* a new or truncated table is locked already */
	bool		unlocked = !options->truncate && !RELATION_IS_LOCAL(target->rel);
	ListCell   *lc;

	if (unlocked && has_few_rows(options, bytes, list_length(relids)))
		return REFUSAL_FEW_ROWS;
	/* before any is taken */
	if (unlocked && !are_allowed(&needs))
		return REFUSAL_MANY_PARTITIONS;
	foreach(lc, relids)
	{
		RefusalReason refusal = REFUSAL_NONE;

		CHECK_FOR_INTERRUPTS();
		if (lfirst_oid(lc) != target->relid)
			refusal = take_one(target, lfirst_oid(lc), &needs);
		if (refusal == REFUSAL_NONE && unlocked && !are_allowed(&needs))
			refusal = REFUSAL_MANY_PARTITIONS;
		if (refusal != REFUSAL_NONE)
			return refusal;
	}
	/* others may have begun to take as many at the same time */
	needs.others = -1;
	if (unlocked && !are_allowed(&needs))
		return REFUSAL_MANY_PARTITIONS;
	/* a partition may have gained partitions before it was locked */
	return equal(relids, find_all_inheritors(target->relid, NoLock, NULL)) ?
		REFUSAL_NONE : REFUSAL_IN_USE;
}

RefusalReason
target_locks_take(Target *target, const BulkOptions *options, int64 bytes)
{
	Relation	rel = target->rel;
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

	refusal = take_one(target, RelationGetRelid(rel), NULL);
	if (refusal == REFUSAL_NONE && rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		refusal = take_partitions(target, options, bytes);
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
