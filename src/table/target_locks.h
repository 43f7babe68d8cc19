/*
 * target_locks.h
 *		The locks that writer auto takes unasked, to load a table directly.
 *
 * It must have no rows that others have written, nor may others write any meanwhile, and so each
 * partition is locked, whether it gets rows or not.  Price: 50 microseconds a partition, of which a
 * COPY saves those that get no rows, and an entry each of the lock table that all sessions share.
 */
#ifndef PGBULK_TARGET_LOCKS_H
#define PGBULK_TARGET_LOCKS_H

#include "table/target.h"

/*
 * Locks the table, with its partitions, against other writers if that takes no waiting, is worth
 * its time and there are no rows that they could have written.  bytes: of all files that will be
 * loaded, 0 if that is not known.  Returns why not: REFUSAL_NONE, REFUSAL_NOT_EMPTY,
 * REFUSAL_NO_LOCK_PRIVILEGE, REFUSAL_IN_USE, REFUSAL_FEW_ROWS or REFUSAL_MANY_PARTITIONS.
 */
extern RefusalReason target_locks_take(Target *target, const BulkOptions *options, int64 bytes);

/* Releases these locks, under which nothing was done. */
extern void target_locks_release(Target *target);

#endif							/* PGBULK_TARGET_LOCKS_H */
