/*
 * utility.h
 *		The utility statements that pgbulk runs instead of the server.
 *
 * Once the library is loaded, a hook sees each utility statement.  It runs COPY FROM
 * statements with options that only pgbulk has, and passes all others on.  The check of a
 * foreign key by ALTER TABLE may be taken from the server (foreign_keys.h).  After DISCARD ALL
 * the result of the last load is forgotten.
 *
 * Trap: extensions whose own hook was installed before do not see a statement that is run
 * here, as the rest of the chain is not called.  Where pgbulk is the first of
 * shared_preload_libraries, its hook comes last, and they see all.
 */
#ifndef PGBULK_UTILITY_H
#define PGBULK_UTILITY_H

#include "postgres.h"

/* Installs the hook: for _PG_init. */
extern void utility_install(void);

#endif							/* PGBULK_UTILITY_H */
