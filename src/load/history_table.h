/*
 * history_table.h
 *		Statements about the tables bulk_load_history and bulk_load_unlogged.
 *
 * Privileges on them are checked as their owner, as for a view, since users have none; but all
 * runs as whoever loads: nobody's rights are taken.  So a table, a trigger or a rule that somebody
 * puts in their place while a statement waits gets nothing that its author has not.  A statement
 * that has come to other tables than these is an error.
 */
#ifndef PGBULK_HISTORY_TABLE_H
#define PGBULK_HISTORY_TABLE_H

#include "postgres.h"

#define HISTORY_TABLE "bulk_load_history"
#define UNLOGGED_TABLE "bulk_load_unlogged"

typedef struct HistoryTable
{
	Oid			relid;
	Oid			owner;
	char	   *name;			/* with its schema */
	Oid			unlogged_relid;	/* these two: the same of UNLOGGED_TABLE */
	char	   *unlogged_name;
} HistoryTable;

/* Error: 42P01 where the extension does not have them.  Memory: the current context. */
extern HistoryTable history_table_find(void);

/*
 * Runs a statement, which names operators and tables with their schema; nulls may be NULL.
 * Returns the number of its rows; the first nresults values of the first one are stored in
 * results, of types passed by reference in the current context.  Error: 55000 where it has come to
 * another table.
 */
extern uint64 history_table_run(const HistoryTable *table, const char *sql, int n, Oid *types,
								Datum *values, const char *nulls, Datum *results, int nresults);

#endif							/* PGBULK_HISTORY_TABLE_H */
