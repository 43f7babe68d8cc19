/*
 * guard.h
 *		Catches errors thrown by user-defined code, so that the row is set
 *		aside.
 *
 * Input functions without soft errors (all of them on 15), defaults, checks,
 * transform and the where clause can throw.  Under on_error = ignore or
 * set_null such code runs within an internal subtransaction, the guard.  It is
 * opened when first needed and closed before anything is written to a table, so
 * that there is one for a batch of rows, not for each row.  Price: about 2
 * microseconds a batch, and about 10 for each error caught.
 *
 * Trap: what guarded code has written to the database is rolled back when a
 * later row under the same guard fails.  So volatile expressions and triggers
 * before a row get a guard of their own (close it right after them).  Triggers
 * after rows run with the guard closed: by then the row is in the table.
 */
#ifndef PGBULK_GUARD_H
#define PGBULK_GUARD_H

#include "postgres.h"

#include "port/atomics.h"
#include "row/row_error.h"
#include "server/compat.h"
#include "utils/resowner.h"

/* Whether there can be a guard while parallel workers are running. */
#ifdef COMPAT_PARALLEL_SUBTRANSACTIONS
#define GUARD_IN_PARALLEL_MODE true
#else
#define GUARD_IN_PARALLEL_MODE false
#endif

/* What code is running, which decides whose fault an error is. */
typedef enum GuardWork
{
	GUARD_OWN_CODE,				/* ours, the server's, or a default: it does not see the row */
	GUARD_ROW_CODE,				/* user-defined code or input function, given the row or a field */
	GUARD_NOT_ROW				/* not about the row: errors are rethrown */
} GuardWork;

typedef struct Guard
{
	bool		enabled;		/* off: errors are not caught */
	bool		forbidden;		/* no subtransaction is possible now */
	bool		refused;		/* one was needed all the same */
	bool		discards;		/* what guarded code writes is rolled back: a trial's */
	pg_atomic_uint32 *others_failed;	/* if not NULL and not 0: errors are not the row's */
	bool		open;
	GuardWork	work;
	MemoryContext errors;		/* holds the error caught last */
	MemoryContext context;		/* the one to return to */
	ResourceOwner owner;
} Guard;

/* Memory: a context of its own below the current one. */
extern void guard_enable(Guard *guard);

/* Whether an error is not a row's fault, whatever code has thrown it. */
extern bool guard_is_about_others(const Guard *guard, int sqlerrcode);

/* Why a row with an error of its own is rejected. */
extern RejectReason guard_reject_reason(int sqlerrcode);

extern void guard_open_slow(Guard *guard);
extern void guard_close_slow(Guard *guard);

static inline void
guard_open(Guard *guard)
{
	if (guard->enabled && !guard->open)
		guard_open_slow(guard);
}

static inline void
guard_close(Guard *guard)
{
	if (guard->open)
		guard_close_slow(guard);
}

/*
 * Around code that is given the row: a type's input function, a CHECK,
 * a generated column, option transform or where, the key of a partition,
 * triggers before the row.  What it throws is the row's fault as far as a WHEN
 * OTHERS of PL/pgSQL would catch it.  The guard then stays open, unless the
 * code is volatile.
 */
static inline void
guard_enter(Guard *guard)
{
	guard_open(guard);
	guard->work = GUARD_ROW_CODE;
}

static inline void
guard_leave(Guard *guard, bool is_volatile)
{
	guard->work = GUARD_OWN_CODE;
	if (is_volatile)
		guard_close(guard);
}

/*
 * What is opened from here on belongs to the resource owner around the guard,
 * so that it outlives the guard's subtransaction.  Returns the owner to go back
 * to by setting CurrentResourceOwner.
 */
static inline ResourceOwner
guard_owner_enter(const Guard *guard)
{
	ResourceOwner owner = CurrentResourceOwner;

	if (guard->open)
		CurrentResourceOwner = guard->owner;
	return owner;
}

/*
 * Calls body(arg).  Returns NULL when it has returned, or the error that was
 * thrown under an open guard (valid until the next one), after the guard's
 * subtransaction has been rolled back.  Errors that are not about data (cancel,
 * locks, out of memory, I/O, serialization; from code that does not see the row
 * also internal errors and programming errors) and those thrown with the guard
 * closed are rethrown.
 *
 * Where subtransactions are forbidden (before 17, in parallel mode), code that
 * needs the guard is not run: the body is left, guard->refused is set, and NULL
 * is returned.
 */
extern ErrorData *guard_run(Guard *guard, void (*body) (void *arg), void *arg);

/*
 * Calls body(arg), which may leave the guard open between calls of guard_run.  An error ends it
 * before it goes on: whoever catches it, as PL/pgSQL does, rolls one subtransaction back, which
 * must be its own.
 */
extern void guard_protect(Guard *guard, void (*body) (void *arg), void *arg);

#endif							/* PGBULK_GUARD_H */
