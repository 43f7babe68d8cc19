/*
 * constraints.h
 *		Stored generated columns, and NOT NULL and CHECK, tested without
 *		throwing.
 *
 * ExecConstraints can only throw, and catching an error takes a subtransaction.
 * So the same tests are made here first, with the same expressions;
 * ExecConstraints is called only to raise its error, where one is wanted.
 */
#ifndef PGBULK_CONSTRAINTS_H
#define PGBULK_CONSTRAINTS_H

#include "postgres.h"

#include "executor/executor.h"
#include "row/guard.h"
#include "row/row_error.h"

typedef struct Constraints Constraints;

/* NULL where the table has none.  Memory: the executor state's. */
extern Constraints *constraints_open(ResultRelInfo *rri, EState *estate);

/* What is evaluated for each row of a table, whatever the options are: CHECK, generated columns. */
extern List *constraints_expressions(Relation rel);

/*
 * Whether there are none but NOT NULL on stored columns, and CHECKs and stored generated
 * columns that are computations (computation.h), so that rows can be tested many at a time,
 * without a guard.
 */
extern bool constraints_need_no_guard(const Constraints *constraints);

/* Whether there are stored generated columns. */
extern bool constraints_have_generated(const Constraints *constraints);

/* Whether a tuple has a null where NOT NULL forbids it, in a stored column. */
extern bool constraints_forbid_null(const Constraints *constraints, HeapTuple tuple);

/* Whether there are CHECKs. */
extern bool constraints_have_checks(const Constraints *constraints);

/* Where these need no guard: how many rows at the start satisfy them all. */
extern uint32 constraints_count_good(Constraints *constraints, const Guard *guard,
									 HeapTuple *tuples, uint32 n);

/*
 * What computes a stored generated column from a tuple that has the values before it, or NULL:
 * it looks at others.  Memory: the current context.
 */
extern ExprState *constraints_generated(const Constraints *constraints, AttrNumber attnum);

/*
 * Computes the value of a column for such a tuple, whose header is that of the whole row.  It is
 * valid until the next one.  To be called by computation_run.
 */
extern Datum constraints_generate(Constraints *constraints, ExprState *expr, HeapTuple tuple,
								  bool *isnull);

/* Whether a CHECK may look at the table. */
extern bool constraints_volatile(const Constraints *constraints);

/* The same for the domains among the types of columns, and within them. */
extern bool constraints_types_volatile(TupleDesc desc);

/* Whether slot may enter the table; see row_error.h for err. */
extern bool constraints_check(Constraints *constraints, TupleTableSlot *slot,
							  Guard *guard, RowError *err);

/* The same for the table's partition bounds, for a row that was not routed there. */
extern bool constraints_check_bounds(ResultRelInfo *rri, TupleTableSlot *slot,
									 EState *estate, Guard *guard, RowError *err);

/*
 * What every writer does with a row before it is stored: computes stored
 * generated columns, then checks all of the above.  bounds: the row was not
 * routed to the table, or a trigger may have changed it since.
 */
extern bool constraints_complete(ResultRelInfo *rri, Constraints *constraints,
								 bool bounds, TupleTableSlot *slot, EState *estate,
								 Guard *guard, RowError *err);

#endif							/* PGBULK_CONSTRAINTS_H */
