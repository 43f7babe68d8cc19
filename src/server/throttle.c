/*
 * throttle.c
 *		See throttle.h.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "replication/walsender_private.h"
#include "server/compat.h"
#include "server/throttle.h"
#include "storage/latch.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* A process that has not used its share of the rate may make up for this much time. */
#define BURST (100 * INT64CONST(1000))

/* How often a second a process pays, and the least that it pays for. */
#define PAYMENTS_PER_SECOND 50
#define MIN_PAYMENT BLCKSZ

/* Places in the WAL that are remembered for max_lag, and the least time between two. */
#define SAMPLES 64
#define SAMPLE_INTERVAL (20 * INT64CONST(1000))

/* How often a process that waits looks at the standbys, in milliseconds. */
#define LAG_POLL 50

/* Where the WAL was flushed up to at that time. */
typedef struct Sample
{
	TimestampTz time;
	XLogRecPtr	flushed;
} Sample;

/* In shared memory while there are workers. */
struct Throttle
{
	double		max_rate;
	int64		max_lag;
	ThrottleStandbys standbys;
	pg_atomic_uint64 paid_until;	/* time up to which WAL has been paid for */
	Size		size;			/* bytes of all of this */
	char		names[FLEXIBLE_ARRAY_MEMBER];	/* each with a zero byte, and an empty one */
};

/* Of this process's load, which is not slowed down if NULL. */
Throttle   *throttle_active;
static Throttle *own;			/* what throttle_active was before throttle_share */

/* What this process has done so far. */
static uint64 bytes_paid;		/* of pgWalUsage */
static Sample samples[SAMPLES];
static uint32 nsamples;			/* ever taken; sample i is in samples[i % SAMPLES] */
static ThrottleWaits waited;

/* What is undone when a load's context is reset: a load that a trigger of another one runs. */
typedef struct Scope
{
	MemoryContextCallback callback;
	struct Scope *enclosing;	/* that of the other one */
	Throttle   *made;			/* NULL: none, so that the outer one holds */
	Throttle   *outer;
	ThrottleWaits waited;		/* by the other one, until then */
} Scope;

static Scope *innermost;

/*
 * An error may take the memory of the other load first: what is within it must not go back to
 * what is gone.
 */
static void
forget_scope(const Scope *scope)
{
	Scope	   *inner = innermost;

	if (scope->made != NULL)
	{
		for (Scope *s = innermost; s != scope; s = s->enclosing)
			if (s->outer == scope->made)
				s->outer = scope->outer;
		if (own == scope->made)
			throttle_active = own = scope->outer;
	}
	while (inner->enclosing != scope)
		inner = inner->enclosing;
	inner->enclosing = scope->enclosing;
}

/* For which it has waited, the other one has waited, too. */
static void
end_scope(void *arg)
{
	const Scope *scope = arg;

	if (scope != innermost)
	{
		forget_scope(scope);
		return;
	}
	innermost = scope->enclosing;
	throttle_active = own = scope->outer;
	waited.rate += scope->waited.rate;
	waited.lag += scope->waited.lag;
}

/* WAL that has been written before is not this load's, or has been paid for by workers. */
static void
pay_from_here(void)
{
	bytes_paid = pgWalUsage.wal_bytes;
}

/* ---- standbys ---- */

/* Whether a WAL sender's standby calls itself one of the names. */
static bool
has_name(const Throttle *throttle, int pid)
{
	char		application[NAMEDATALEN];

	if (!compat_application_name(pid, application))
		return false;
	for (const char *name = throttle->names; *name != '\0'; name += strlen(name) + 1)
		if (strcmp(name, application) == 0)
			return true;
	return false;
}

/*
 * How far the standby has replayed that is behind all others, or
 * InvalidXLogRecPtr if there is none that counts.
 */
static XLogRecPtr
replayed_by_all(const Throttle *throttle)
{
	XLogRecPtr	least = InvalidXLogRecPtr;

	for (int i = 0; i < max_wal_senders; i++)
	{
		WalSnd	   *sender = &WalSndCtl->walsnds[i];
		bool		counts;
		int			pid;
		XLogRecPtr	applied;

		SpinLockAcquire(&sender->mutex);
		pid = sender->pid;
		applied = sender->apply;
		counts = pid != 0 && !XLogRecPtrIsInvalid(applied) &&
			(sender->state == WALSNDSTATE_STREAMING || sender->state == WALSNDSTATE_CATCHUP) &&
			(throttle->standbys != THROTTLE_SYNCHRONOUS || sender->sync_standby_priority > 0);
		SpinLockRelease(&sender->mutex);

		if (!counts || !compat_is_physical_sender(sender, pid))
			continue;
		if (throttle->standbys == THROTTLE_NAMED && !has_name(throttle, pid))
			continue;
		if (XLogRecPtrIsInvalid(least) || applied < least)
			least = applied;
	}
	return least;
}

static int64
sample_interval(const Throttle *throttle)
{
	return Max(throttle->max_lag / (SAMPLES - 2), SAMPLE_INTERVAL);
}

/* Remembers where the WAL is flushed up to; false: that was done a moment ago. */
static bool
take_sample(const Throttle *throttle, TimestampTz now)
{
	if (nsamples > 0 && now - samples[(nsamples - 1) % SAMPLES].time < sample_interval(throttle))
		return false;
	samples[nsamples++ % SAMPLES] = (Sample) {now, GetFlushRecPtr(NULL)};
	return true;
}

/* What must have been replayed by now; InvalidXLogRecPtr: nothing. */
static XLogRecPtr
flushed_before(const Throttle *throttle, TimestampTz now)
{
	uint32		oldest = nsamples > SAMPLES ? nsamples - SAMPLES : 0;

	for (uint32 i = nsamples; i > oldest; i--)
	{
		const Sample *sample = &samples[(i - 1) % SAMPLES];

		if (now - sample->time > throttle->max_lag)
			return sample->flushed;
	}
	return InvalidXLogRecPtr;
}

static bool
is_lagging(const Throttle *throttle, TimestampTz now)
{
	XLogRecPtr	due = flushed_before(throttle, now);
	XLogRecPtr	replayed;

	if (XLogRecPtrIsInvalid(due))
		return false;
	replayed = replayed_by_all(throttle);
	return !XLogRecPtrIsInvalid(replayed) && replayed < due;
}

/* ---- waiting ---- */

static void
sleep_for(long milliseconds, uint32 wait_event)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds,
					 wait_event);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

static void
wait_for_standbys(const Throttle *throttle)
{
	TimestampTz start = GetCurrentTimestamp();
	TimestampTz now = start;

	if (!take_sample(throttle, now))
		return;
	while (is_lagging(throttle, now))
	{
		sleep_for(LAG_POLL, WAIT_EVENT_SYNC_REP);
		now = GetCurrentTimestamp();
	}
	waited.lag += now - start;
}

/* Pays for bytes of WAL; returns the time until which to wait. */
static TimestampTz
pay(Throttle *throttle, uint64 bytes, TimestampTz now)
{
	uint64		price = (uint64) (bytes * (double) USECS_PER_SEC / throttle->max_rate);
	uint64		before = pg_atomic_read_u64(&throttle->paid_until);
	uint64		after;

	do
		after = Max(before, (uint64) (now - BURST)) + price;
	while (!pg_atomic_compare_exchange_u64(&throttle->paid_until, &before, after));
	return (TimestampTz) after;
}

static void
wait_for_rate(Throttle *throttle)
{
	uint64		bytes = pgWalUsage.wal_bytes - bytes_paid;
	TimestampTz start;
	TimestampTz now;
	TimestampTz until;

	if (bytes < Max(throttle->max_rate / PAYMENTS_PER_SECOND, MIN_PAYMENT))
		return;
	bytes_paid += bytes;
	now = start = GetCurrentTimestamp();
	until = pay(throttle, bytes, start);
	while (now < until)
	{
		sleep_for((until - now) / 1000 + 1, WAIT_EVENT_BASE_BACKUP_THROTTLE);
		now = GetCurrentTimestamp();
	}
	waited.rate += now - start;
}

void
throttle_check(void)
{
	if (throttle_active->max_rate > 0)
		wait_for_rate(throttle_active);
	if (throttle_active->max_lag > 0)
		wait_for_standbys(throttle_active);
}

/* ---- a load ---- */

static Throttle *
make_throttle(const ThrottleLimits *limits)
{
	Size		size = offsetof(Throttle, names) + 1;
	Throttle   *throttle;
	char	   *name;
	ListCell   *lc;

	foreach(lc, limits->names)
		size += strlen(lfirst(lc)) + 1;
	throttle = palloc0(size);
	throttle->max_rate = limits->max_rate;
	throttle->max_lag = limits->max_lag;
	throttle->standbys = limits->standbys;
	throttle->size = size;
	name = throttle->names;
	foreach(lc, limits->names)
		name = stpcpy(name, lfirst(lc)) + 1;
	pg_atomic_init_u64(&throttle->paid_until, 0);
	return throttle;
}

void
throttle_begin(const ThrottleLimits *limits)
{
	Scope	   *scope;

	scope = palloc0(sizeof(Scope));
	scope->enclosing = innermost;
	scope->outer = own;
	scope->waited = waited;
	scope->callback.func = end_scope;
	scope->callback.arg = scope;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &scope->callback);
	innermost = scope;
	if (own == NULL)
		scope->waited = (ThrottleWaits) {0};
	waited = (ThrottleWaits) {0};
	if (limits->max_rate <= 0 && limits->max_lag <= 0)
		return;
	throttle_active = own = scope->made = make_throttle(limits);
	nsamples = 0;
	pay_from_here();
	if (limits->max_lag > 0 && XLogRecPtrIsInvalid(replayed_by_all(own)))
		ereport(NOTICE,
				(errmsg("option \"max_lag\" has no effect at present"),
				 errdetail("None of the standbys that option \"lag_standbys\" selects is connected."),
				 errhint("See pg_stat_replication for the standbys of this server.")));
}

ThrottleWaits
throttle_waits(void)
{
	return waited;
}

/* ---- between processes ---- */

Size
throttle_size(void)
{
	return own == NULL ? 0 : own->size;
}

void
throttle_share(Throttle *shared)
{
	memcpy(shared, own, own->size);
	pg_atomic_init_u64(&shared->paid_until, pg_atomic_read_u64(&own->paid_until));
	throttle_active = shared;
}

void
throttle_unshare(void)
{
	if (own == NULL)
		return;
	if (throttle_active != own)
		pg_atomic_write_u64(&own->paid_until, pg_atomic_read_u64(&throttle_active->paid_until));
	throttle_active = own;
	/* what workers have written has come to this process's sum, too */
	pay_from_here();
}

void
throttle_attach(Throttle *shared)
{
	throttle_active = shared;
	nsamples = 0;
	pay_from_here();
}
