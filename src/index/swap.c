/*
 * swap.c
 *		See swap.h.
 *
 * Who plans a query locks all indexes of its tables by OID, but a cached plan locks those that it
 * scans, as it comes to them, and a transaction of several such queries has them in any order.
 * So no index is held here while another is waited for: the one that was waited for is
 * kept if the others can be had at once.  Where readers come so thick that this does not
 * come true, the tables themselves are waited for, in the same way, which all of them have locked before
 * their indexes; in the end one after the other, as LOCK TABLE does.
 */
#include "postgres.h"

#include "index/swap.h"
#include "storage/lmgr.h"

/* How often a relation is waited for. */
#define ATTEMPTS 20

/*
 * Without waiting, all but the one that is locked already.  Else none is, nor is
 * that; returns the one that somebody uses.
 */
static Oid
try_lock_others(List *relids, Oid locked)
{
	Oid			busy = InvalidOid;
	ListCell   *lc;

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
	return busy;
}

/* Whether all have been locked, after some waiting; else none is. */
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

static void
lock_each(List *relids)
{
	ListCell   *lc;

	foreach(lc, relids)
		LockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
}

void
swap_lock(List *heaps, List *indexes)
{
	List	   *tables = NIL;
	ListCell   *lc;

	if (indexes == NIL || lock_at_once(indexes))
		return;
	foreach(lc, heaps)
		tables = lappend_oid(tables, RelationGetRelid((Relation) lfirst(lc)));
	if (list_length(tables) == 1 || !lock_at_once(tables))
		lock_each(tables);
	lock_each(indexes);
	foreach(lc, tables)
		UnlockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
	list_free(tables);
}
