/*
 * guard.h
 *		Errors thrown by others' code while rows are set aside, not fatal.
 *
 * Input functions without soft errors (all of them on 15), defaults, checks,
 * transform and the where clause can throw.  Under on_error = ignore or set_null such
 * code runs inside an internal subtransaction, the guard.  It is opened when
 * first needed and closed before anything is written to a table, so that it
 * spans a batch of rows, not each: price about 2 microseconds a batch, and
 * about 10 for each error caught.
 *
 * Trap: what guarded code wrote to the database is lost when a later row under
 * the same guard fails.  So volatile expressions and triggers before a row get
 * a guard of their own (close it right after them).  Triggers after rows run
 * with the guard closed: by then the row is in the table.
 */
#ifndef PGBULK_GUARD_H
#define PGBULK_GUARD_H

#include "postgres.h"

#include "port/atomics.h"
#include "utils/resowner.h"

/* What runs: it tells whose fault an error is. */
typedef enum GuardWork
{
	GUARD_OWN_CODE,				/* ours, the server's, or a default: it sees nothing of the row */
	GUARD_ROW_CODE,				/* others' code that is given the row, or a field of it */
	GUARD_NOT_ROW				/* nothing of the row's: errors are thrown on */
} GuardWork;

typedef struct Guard
{
	bool		enabled;		/* off: errors go where they always go */
	bool		forbidden;		/* there can be no subtransaction now */
	bool		refused;		/* one was wanted all the same */
	pg_atomic_uint32 *others_failed;	/* if not NULL and not 0: errors are not the row's */
	bool		open;
	GuardWork	work;
	MemoryContext errors;		/* holds the error caught last */
	MemoryContext context;		/* what was current outside */
	ResourceOwner owner;
} Guard;

/* Memory: a context of its own below the current one. */
extern void guard_enable(Guard *guard);

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
 * Around others' code that is given the row: a type's input function, a CHECK,
 * a generated column, option transform or where, the key of a partition,
 * triggers before the row.  What it throws is the row's fault as far as a WHEN
 * OTHERS of PL/pgSQL would catch it.  The guard stays open behind it, unless
 * what has run is volatile.
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
 * Calls body(arg).  Returns NULL when it came to its end, or the error that
 * was thrown under an open guard (good until the next one), after the guard's
 * subtransaction has been rolled back.  Errors that are not
 * about data (cancel, locks, out of memory, I/O, serialization; of code that does not see
 * the row also internal ones and what its author got wrong) and those thrown with the
 * guard closed are thrown on.
 *
 * Where subtransactions are forbidden (before 17, while parallel workers are
 * about), what wants the guard open ends the body before it has run others'
 * code; guard->refused then says so, and NULL is returned.
 */
extern ErrorData *guard_run(Guard *guard, void (*body) (void *arg), void *arg);

#endif							/* PGBULK_GUARD_H */
