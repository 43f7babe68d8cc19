/*
 * foreign_keys.h
 *		The check of the rows that a table has when a foreign key is added or validated.
 *
 * ALTER TABLE checks them by a query for rows that refer to none (RI_Initial_Check of
 * ri_triggers.c).  Where pgbulk.foreign_keys is on, that query is recognized by its whole
 * text when it is about to run, its privileges checked and its snapshot taken.  Both tables
 * are searched under that snapshot instead (check/orphans.h).  Without an orphan the query
 * returns no row without being run; in all other cases it runs, so that errors are the
 * server's.
 *
 * Price: for other queries a test of a variable.
 */
#ifndef PGBULK_FOREIGN_KEYS_H
#define PGBULK_FOREIGN_KEYS_H

#include "postgres.h"

/* The setting pgbulk.foreign_keys. */
extern bool foreign_keys_enabled;

/*
 * Whether queries are to be recognized, as an ALTER TABLE statement is running.  Returns what was
 * set before, to be set again in any case.
 */
extern bool foreign_keys_watch(bool watch);

/* Installs the hook: for _PG_init. */
extern void foreign_keys_install(void);

#endif							/* PGBULK_FOREIGN_KEYS_H */
