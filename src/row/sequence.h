/*
 * sequence.h
 *		Values of sequences, a range at a time.
 *
 * A range is reserved under the lock of the sequence's page, as nextval does
 * it, so no value is given out twice whoever else asks for values meanwhile.
 * What is left of it when the load ends is a gap.  setval races with a range
 * as it races with nextval; ALTER SEQUENCE waits for the end of the
 * transaction.
 *
 * Unless in parallel mode, where nextval is forbidden, the session takes part:
 * the first value, and the last one that was expected, come from nextval
 * itself, so that currval and lastval know a value of the load; and what
 * earlier calls have left in the session (CACHE) is used up first.
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
	int64		next;			/* the range: left values from next on */
	int64		left;
	int64		increment;
	int64		expected;		/* values that will be asked for beyond these */
	int			columns;		/* that take a value in every row */

	int64		taken;			/* values so far */
	bool		locked;
	bool		begun;			/* nextval was called */
	bool		drained;		/* the session has no values left */
	int64		cache;			/* the sequence's CACHE */
	int64		cached_calls;	/* calls of nextval without an end to it */
} SequenceRange;

/*
 * Nothing is looked at or locked yet: what is wrong shows with the first
 * value, as with nextval.  Memory: the current context.
 */
extern SequenceRange *sequence_open(Oid relid, bool check_privileges);

/*
 * Up to wanted (> 0) consecutive values: *first, and on by range->increment.
 * Returns how many, at least one; fewer where the sequence ends or turns
 * round.  Nothing of the range itself is used, and nothing happens that a
 * parallel worker may not do, but the sequence cannot be a temporary one there.
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

/* The value that was taken last is not needed after all. */
static inline void
sequence_return(SequenceRange *range)
{
	range->next = (int64) ((uint64) range->next - (uint64) range->increment);
	range->left++;
}

/* Whether so many values are sure to come one after the other, but for others' calls. */
extern bool sequence_has(SequenceRange *range, int64 wanted);

/* Says that n values will be asked for: no more than these are reserved. */
static inline void
sequence_expect(SequenceRange *range, int64 n)
{
	range->expected = Max(n - range->left, 0);
}

/* ---- columns whose default is the next value of a sequence ---- */

typedef struct SequenceDefault
{
	SequenceRange *range;		/* NULL: the default is something else */
	Oid			type;			/* int2, int4 or int8 */
	PGFunction	cast;			/* to type; NULL: too large a value is cut off */
} SequenceDefault;

/*
 * Whether a planned default is nextval of one sequence, as serial (perhaps
 * below a cast to a smaller integer) or identity columns have it.  Fills
 * *def, with a range out of *ranges, which grows.
 */
extern bool sequence_recognize(Expr *expr, List **ranges, SequenceDefault *def);

/*
 * Whether an expression can see when values are taken: one that asks for
 * currval or nextval, or runs volatile functions that are not the server's.
 */
extern bool sequence_is_watched(Node *expr);

/*
 * The sequences that a table's columns own, or whose next value they name in their defaults: OIDs, sorted,
 * so that nobody who locks them in this order waits for another one who does.
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
