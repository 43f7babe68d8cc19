/*
 * computation.h
 *		Expressions that only compute a value from values.
 *
 * Such an expression reads no table and no catalog, takes no lock and keeps
 * nothing open.  So what it throws leaves nothing to undo: the error can be
 * caught without a subtransaction, even where none is possible (guard.h).
 */
#ifndef PGBULK_COMPUTATION_H
#define PGBULK_COMPUTATION_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "row/guard.h"

/* Whether expr, as the planner has left it, is one. */
extern bool computation_is(Node *expr);

/* Whether a call of this function is one. */
extern bool computation_calls(Oid function);

/* Whether all of these are, as the catalog has them. */
extern bool computation_are_all(List *exprs);

/*
 * Calls body(arg), which evaluates such expressions and changes nothing else
 * that would have to be undone.  False: it has thrown an error that is about a
 * row; err, if not NULL, says which, in the current memory context.  Other
 * errors, as a cancel, or that of another process, are rethrown.
 */
extern bool computation_run(const Guard *guard, void (*body) (void *arg), void *arg,
							RowError *err);

#endif							/* PGBULK_COMPUTATION_H */
