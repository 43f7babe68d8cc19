/*
 * throttle.h
 *		Slows a load down: to a rate of WAL, and to the pace of standbys.
 *
 * Rate: the processes of a load together write no more WAL per second than
 * that.  Each pays for the WAL that it has written, as pgWalUsage tells, by
 * advancing one time in shared memory, and waits until that time has come.
 *
 * Lag: a process that has written WAL waits while a standby has not replayed
 * WAL that was flushed longer ago than that.  It is measured here, as
 * pg_stat_replication's replay_lag stays as it was while a standby does not
 * replay anything at all.
 *
 * A process that waits shows the wait event BaseBackupThrottle for the rate and
 * SyncRep for a standby, which the view bulk_load_progress shows as waiting.
 *
 * Price: unless the load is to be slowed down, one comparison.  Assumption:
 * whoever calls throttle_wait holds no buffer lock and no LWLock, and is not in
 * a critical section.  Trap: what it has locked otherwise stays locked.
 */
#ifndef PGBULK_THROTTLE_H
#define PGBULK_THROTTLE_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef enum ThrottleStandbys
{
	THROTTLE_STREAMING,			/* all that stream WAL */
	THROTTLE_SYNCHRONOUS,		/* those of synchronous_standby_names */
	THROTTLE_NAMED				/* by application_name */
} ThrottleStandbys;

typedef struct ThrottleLimits
{
	double		max_rate;		/* bytes of WAL per second; 0: no limit */
	int64		max_lag;		/* microseconds; 0: no limit */
	ThrottleStandbys standbys;
	List	   *names;			/* of char *; NIL unless THROTTLE_NAMED */
} ThrottleLimits;

/* Microseconds for which this process has waited. */
typedef struct ThrottleWaits
{
	int64		rate;
	int64		lag;
} ThrottleWaits;

typedef struct Throttle Throttle;

/*
 * From here on until the current memory context is reset this process's load is
 * slowed down.  NOTICE where no standby that the limits name is connected.
 */
extern void throttle_begin(const ThrottleLimits *limits);

extern ThrottleWaits throttle_waits(void);

extern Throttle *throttle_active;
extern void throttle_check(void);

/* Waits if that is due: to be called after WAL has been written. */
static inline void
throttle_wait(void)
{
	if (unlikely(throttle_active != NULL))
		throttle_check();
}

/* ---- between processes, for workers.c ---- */

/* Bytes in shared memory; 0: this process is not slowed down. */
extern Size throttle_size(void);

/* The leader's state goes there, until throttle_unshare or an error. */
extern void throttle_share(Throttle *shared);
extern void throttle_unshare(void);

/* In a worker: it is slowed down together with the leader. */
extern void throttle_attach(Throttle *shared);

#endif							/* PGBULK_THROTTLE_H */
