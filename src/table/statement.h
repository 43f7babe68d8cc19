/*
 * statement.h
 *		The statements that a load is equivalent to, as other extensions see
 *		them.
 *
 * Extensions watch, forbid and replace statements by hooks: of the planner and
 * the executor for INSERT, UPDATE and DELETE, of ProcessUtility for the rest.  A load
 * stores its rows without any of them.  So the equivalent INSERT is
 * planned: the result must be the server's own plan for that very table, or an
 * extension would have stored the rows elsewhere.  The plan is then started and
 * ended without being run, as EXPLAIN does: so its privileges are checked, and
 * extensions that audit or forbid writes see one statement per load.  Commands
 * are really run as such.  Where no extension has such a hook, the plan is known
 * beforehand, and only the privileges are checked.
 *
 * No user-defined function is run or folded: the statement's values are
 * parameters, columns that it does not name get no default, and rules are
 * ignored, as in COPY.
 *
 * Price with a hook: about 10 microseconds for a table, and 30 for one of 200
 * columns.
 */
#ifndef PGBULK_STATEMENT_H
#define PGBULK_STATEMENT_H

#include "postgres.h"

#include "nodes/plannodes.h"
#include "table/refusal.h"
#include "utils/rel.h"

/*
 * Why rows must not go into rel past the executor, or REFUSAL_NONE.  rel has at
 * least ROW EXCLUSIVE.
 */
extern Refusal statement_refusal(Relation rel);

/* Raises that (0A000). */
extern void statement_check(Relation rel);

/*
 * INSERT INTO rel (columns), which also reads the columns of selected (both
 * offset as in RTEPermissionInfo).  Without columns, INSERT on any of them
 * suffices.
 *
 * Errors: 42501 without the privileges; as statement_check; whatever a hook
 * raises.
 */
extern void statement_insert(Relation rel, Bitmapset *columns, Bitmapset *selected);

/* DELETE FROM ONLY rel, reading its rows.  Errors likewise. */
extern void statement_delete(Relation rel);

/*
 * The privileges for these alone, where the rows go to the tables in which another extension
 * keeps those of rel.
 */
extern void statement_check_insert(Relation rel, Bitmapset *columns, Bitmapset *selected);
extern void statement_check_delete(Relation rel);

/* UPDATE ONLY rel SET columns, which also reads those of selected.  Errors likewise. */
extern void statement_update(Relation rel, Bitmapset *columns, Bitmapset *selected);

/* A table's schema-qualified name, as in reject tables; NULL if there is no such table. */
extern char *statement_table(Oid relid);

/*
 * A utility command for ProcessUtility, with the query identifier by which pg_stat_statements and
 * others recognize it.
 */
extern PlannedStmt *statement_plan(const char *command);

/* Runs a utility command; it counts as part of the calling statement. */
extern void statement_run(const char *command);

/*
 * A call of a function of the extension, which is in that schema, for users to run.  Each
 * argument is there and has its type: whatever others have created under the function's name,
 * in that schema or in one of the search path, fits no better.
 */
extern char *statement_call(const char *schema, const char *function, const char *target,
							const char *source, const char *options);

#endif							/* PGBULK_STATEMENT_H */
