/*
 * swap.c
 *		See swap.h.
 *
 * A load has built new files for some indexes.  pg_class points to them, in rows that only this
 * transaction sees, and others go on scanning the old files.  What is left to do:
 *
 *		1. lock all these indexes ACCESS EXCLUSIVE        here
 *		2. commit: the new rows of pg_class are valid,    the server
 *		   relcache invalidations are sent, the old
 *		   files are removed, the locks are released
 *
 * An error or a crash before 2 leaves the old files valid; the new ones are removed by the abort,
 * or remain unused after a crash, as with CREATE INDEX.  Without step 1 a scan that has opened an
 * index before the commit would read a file that is gone.
 *
 * Deadlocks.  Whoever plans a query locks all indexes of its tables in the order of their OIDs,
 * but a cached plan locks those that it scans, as it comes to them, and a transaction of several
 * such queries locks them in any order:
 *
 *		reader:  locks i2 (shared) . . . . . . . . wants i1: waits for us
 *		we:                 lock i1 . . . wants i2: waits for the reader
 *
 * So no index stays locked here while another is waited for.  The one that was waited for is kept
 * if all others can be locked without waiting; else all are released, and the one that somebody
 * uses is waited for next:
 *
 *		wait for i1   try i2: used   release i1   wait for i2   try i1 ...   ATTEMPTS times
 *
 * Where readers follow each other so closely that this never succeeds, the tables are locked, in
 * the same way: all readers have locked these before their indexes, so no new ones come.  In the
 * end the tables are locked one after the other, as LOCK TABLE does, and the server resolves what
 * deadlocks there are.  The tables' locks are released once the indexes are locked: readers of the
 * tables then wait for the indexes only.
 */
#include "postgres.h"

#include "index/swap.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

/* How often a relation is waited for. */
#define ATTEMPTS 20

/*
 * Locks all but one, which is locked already, without waiting: all or none, that one included.
 * Returns one that somebody uses; InvalidOid: all are locked.
 */
static Oid
try_lock_others(List *relids, Oid locked)
{
	Oid			busy = InvalidOid;
	ListCell   *lc;

	Assert(list_member_oid(relids, locked));
	Assert(CheckRelationOidLockedByMe(locked, AccessExclusiveLock, false));
	foreach(lc, relids)
		if (lfirst_oid(lc) != locked &&
			!ConditionalLockRelationOid(lfirst_oid(lc), AccessExclusiveLock))
		{
			busy = lfirst_oid(lc);
			break;
		}
	if (!OidIsValid(busy))
		return InvalidOid;

	foreach(lc, relids)
	{
		if (lfirst_oid(lc) == busy)
			break;
		if (lfirst_oid(lc) != locked)
			UnlockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
	}
	UnlockRelationOid(locked, AccessExclusiveLock);
	Assert(busy != locked);
	return busy;
}

/* Whether all have been locked, waiting for one at a time; else none is. */
static bool
lock_at_once(List *relids)
{
	Oid			next = linitial_oid(relids);

	for (int i = 0; i < ATTEMPTS && OidIsValid(next); i++)
	{
		LockRelationOid(next, AccessExclusiveLock);
		next = try_lock_others(relids, next);
	}
	return !OidIsValid(next);
}

/* One after the other, in the order of the list: deadlocks are for the server to resolve. */
static void
lock_each(List *relids)
{
	ListCell   *lc;

	foreach(lc, relids)
		LockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
}

#ifdef USE_ASSERT_CHECKING

/* What swap_lock promises, of each index: it is locked against all others. */
static void
assert_locked(List *relids)
{
	ListCell   *lc;

	foreach(lc, relids)
		Assert(get_rel_relkind(lfirst_oid(lc)) == RELKIND_INDEX &&
			   CheckRelationOidLockedByMe(lfirst_oid(lc), AccessExclusiveLock, false));
}

#else
#define assert_locked(relids) ((void) 0)
#endif

void
swap_lock(List *heaps, List *indexes)
{
	List	   *tables = NIL;
	ListCell   *lc;

	if (indexes == NIL)
		return;
	/* writers are kept out, so nobody upgrades a lock that he has on the table */
	foreach(lc, heaps)
		Assert(CheckRelationLockedByMe(lfirst(lc), ShareRowExclusiveLock, true));
	if (lock_at_once(indexes))
	{
		assert_locked(indexes);
		return;
	}
	foreach(lc, heaps)
		tables = lappend_oid(tables, RelationGetRelid((Relation) lfirst(lc)));
	if (list_length(tables) == 1 || !lock_at_once(tables))
		lock_each(tables);
	lock_each(indexes);
	assert_locked(indexes);
	foreach(lc, tables)
		UnlockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
	list_free(tables);
}
