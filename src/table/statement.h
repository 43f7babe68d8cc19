/*
 * statement.h
 *		The statements that a load stands for, as others see them.
 *
 * Extensions watch, forbid and replace statements by hooks: of the planner and
 * the executor for INSERT and DELETE, of ProcessUtility for the rest.  A load puts its rows
 * into the table past all of them.  So the INSERT that it stands for is planned: what comes
 * out must be the server's own plan for that very table, or somebody else would have
 * put the rows elsewhere.  The plan is then started and ended without being
 * run, as EXPLAIN does it: so its privileges are checked, and whoever audits or forbids
 * writes meets one for each load.  Commands are really run as such.
 *
 * Nothing that a user has defined is run or folded: the statement's values are
 * parameters, columns that it does not name get no default, and rules are left out, as in COPY.
 *
 * Price: about 10 microseconds for a table, and 30 for one of 200 columns.
 */
#ifndef PGBULK_STATEMENT_H
#define PGBULK_STATEMENT_H

#include "postgres.h"

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
 * offset as in RTEPermissionInfo).  No columns: the right to insert any of them will do.
 *
 * Errors: 42501 without the privileges; as statement_check; whatever a hook raises.
 */
extern void statement_insert(Relation rel, Bitmapset *columns, Bitmapset *selected);

/* DELETE FROM ONLY rel, of rows that are looked at.  Errors likewise. */
extern void statement_delete(Relation rel);

/*
 * A table's name as any search path finds it, and as reject tables have it; NULL where there is
 * no such table.
 */
extern char *statement_table(Oid relid);

/* Runs a command of SQL that is no query; counts as one of the statement that called us. */
extern void statement_run(const char *command);

#endif							/* PGBULK_STATEMENT_H */
