/*
 * swap.c
 *		See swap.h.
 *
 * Who plans a query locks all indexes of its tables by OID, but a cached plan locks those that it
 * scans, as it comes to them, and a transaction of several such queries has them in any order.
 * So no index is held here while another is waited for: the one that was waited for is
 * kept if the others can be had at once.  Where readers come so thick that this does not
 * come true, the table itself is waited for, which all of them have locked before their indexes.
 */
#include "postgres.h"

#include "index/swap.h"
#include "storage/lmgr.h"

/* How often an index is waited for. */
#define ATTEMPTS 20

/*
 * Without waiting, all but the one that is locked already.  Else none is, nor is
 * that; returns the one that somebody uses.
 */
static Oid
try_lock_others(List *indexes, Oid locked)
{
	Oid			busy = InvalidOid;
	ListCell   *lc;

	foreach(lc, indexes)
		if (lfirst_oid(lc) != locked &&
			!ConditionalLockRelationOid(lfirst_oid(lc), AccessExclusiveLock))
		{
			busy = lfirst_oid(lc);
			break;
		}
	if (!OidIsValid(busy))
		return InvalidOid;

	foreach(lc, indexes)
	{
		if (lfirst_oid(lc) == busy)
			break;
		if (lfirst_oid(lc) != locked)
			UnlockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
	}
	UnlockRelationOid(locked, AccessExclusiveLock);
	return busy;
}

void
swap_lock(Relation heap, List *indexes)
{
	Oid			next = indexes == NIL ? InvalidOid : linitial_oid(indexes);
	ListCell   *lc;

	for (int i = 0; i < ATTEMPTS && OidIsValid(next); i++)
	{
		LockRelationOid(next, AccessExclusiveLock);
		next = try_lock_others(indexes, next);
	}
	if (!OidIsValid(next))
		return;

	LockRelation(heap, AccessExclusiveLock);
	foreach(lc, indexes)
		LockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
	UnlockRelation(heap, AccessExclusiveLock);
}
