/*
 * sequence.h
 *		Values of sequences, a range at a time.
 *
 * A range is reserved under the lock of the sequence's page, as by nextval, so
 * no value is used twice, whatever other sessions do.
 *
 * The session's state is updated, too, except in parallel mode, where nextval
 * is forbidden: the first value, and the last one that was expected, come from
 * nextval itself, so that currval and lastval return a value of the load; and
 * values that earlier calls have left in the session's cache (CACHE) are used
 * first.
 *
 * Assumption: only sequences' own tuples are changed here, under their buffer's lock; ALTER
 * SEQUENCE waits for the end of the transaction.  Price: a WAL record for each range; values of a
 * range that are not used when the load ends are a gap.  Trap: setval during a load may repeat
 * values, as it may with nextval.
 */
#ifndef PGBULK_SEQUENCE_H
#define PGBULK_SEQUENCE_H

#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "row/guard.h"
#include "utils/rel.h"

typedef struct SequenceRange
{
	Oid			relid;
	bool		check_privileges;
	int64		next;			/* next value of the range, */
	int64		left;			/* how many are left, */
	int64		increment;		/* and the step between them */
	int64		expected;		/* values that will be needed beyond these */
	int			columns;		/* columns that take a value in every row */

	int64		taken;			/* values so far */
	bool		locked;
	bool		begun;			/* nextval was called */
	bool		drained;		/* the session's cache has no values left */
	int64		cache;			/* the sequence's CACHE; 0: not looked up yet */
	int64		cached_calls;	/* of nextval, since the cache was known to be empty */
} SequenceRange;

/*
 * The sequence is not opened or locked yet: errors are raised at the first
 * value, as with nextval.  Memory: the current context.
 */
extern SequenceRange *sequence_open(Oid relid, bool check_privileges);

/*
 * Reserves up to wanted (> 0) consecutive values: from *first, in steps of
 * range->increment.  Returns how many, at least one; fewer where the sequence
 * ends or cycles.  Does not touch the range's own values.  A parallel worker
 * may call it, but not for a temporary sequence.
 *
 * Errors are nextval's: 42501, 25006, 2200H.
 */
extern int64 sequence_reserve(SequenceRange *range, int64 wanted, int64 *first);

extern int64 sequence_next_slow(SequenceRange *range);

/* The next value.  Errors as sequence_reserve's. */
static inline int64
sequence_next(SequenceRange *range)
{
	int64		value = range->next;

	if (unlikely(range->left == 0))
		return sequence_next_slow(range);
	range->left--;
	range->next = (int64) ((uint64) value + (uint64) range->increment);
	return value;
}

/* Returns the value that was taken last to the range. */
static inline void
sequence_return(SequenceRange *range)
{
	Assert(range->increment != 0 && range->left >= 0);
	range->next = (int64) ((uint64) range->next - (uint64) range->increment);
	range->left++;
}

/* Whether the next `wanted` values are consecutive, but for other sessions' calls. */
extern bool sequence_has(SequenceRange *range, int64 wanted);

/* n values will be needed: no more than these are reserved. */
static inline void
sequence_expect(SequenceRange *range, int64 n)
{
	Assert(n >= 0);
	range->expected = Max(n - range->left, 0);
}

/* ---- columns whose default is the next value of a sequence ---- */

typedef struct SequenceDefault
{
	SequenceRange *range;		/* NULL: the default is something else */
	Oid			type;			/* int2, int4 or int8 */
	PGFunction	cast;			/* to type; NULL: too large a value is truncated */
} SequenceDefault;

/*
 * Whether a planned default is nextval of one sequence, as serial (perhaps below a cast to a
 * smaller integer) or identity columns have it.  Fills *def, with a range out of *ranges, to which
 * a new one is added.
 */
extern bool sequence_recognize(Expr *expr, List **ranges, SequenceDefault *def);

/*
 * Whether an expression depends on when values are taken: it calls currval or
 * nextval, or volatile functions that are not the server's.
 */
extern bool sequence_is_watched(Node *expr);

/*
 * The sequences that a table's columns own, or whose next value they name in their defaults: OIDs,
 * sorted, so that processes that lock them in this order don't deadlock.
 */
extern List *sequence_list(Relation rel);

/* The server's own cast, to throw its error under the guard. */
extern Datum sequence_cast(const SequenceDefault *def, int64 value, Guard *guard);

/* The default's value for a row.  Errors: also 22003, under the guard. */
static inline Datum
sequence_default(const SequenceDefault *def, Guard *guard)
{
	int64		value = sequence_next(def->range);

	switch (def->type)
	{
		case INT8OID:
			return Int64GetDatum(value);
		case INT4OID:
			if (unlikely(value != (int32) value))
				return sequence_cast(def, value, guard);
			return Int32GetDatum((int32) value);
		default:
			if (unlikely(value != (int16) value))
				return sequence_cast(def, value, guard);
			return Int16GetDatum((int16) value);
	}
}

#endif							/* PGBULK_SEQUENCE_H */
