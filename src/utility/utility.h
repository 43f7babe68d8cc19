/*
 * utility.h
 *		The utility statements that pgbulk runs instead of the server.
 *
 * Once the library is loaded, a hook sees each utility statement.  It runs COPY FROM
 * statements with options that only pgbulk has, or where a setting says so all that it can
 * (plain_copy.h), and passes all others on.  The check of a foreign key by ALTER TABLE may be
 * taken from the server (foreign_keys.h).  After DISCARD ALL the result of the last load is
 * forgotten.
 *
 * Trap: extensions whose own hook was installed before do not see a statement that is run
 * here, as the rest of the chain is not called.  Where pgbulk is the first of
 * shared_preload_libraries, its hook comes last, and they see all.
 */
#ifndef PGBULK_UTILITY_H
#define PGBULK_UTILITY_H

#include "postgres.h"

#include "utils/jsonb.h"

/*
 * Runs a load by a function.  Where other extensions have hooked utility statements since pgbulk
 * did, they see the COPY statement that
 * does the same (copy_text.h, also for source and lead), and the load is run in its
 * stead.  run returns the number of rows that the statement tells.
 *
 * Error: 0A000 where one of them has not let the statement through.
 */
extern void utility_run_load(Oid relid, const char *source, const char *lead, Jsonb *options,
							 int64 (*run) (void *arg), void *arg);

/* Installs the hook: for _PG_init. */
extern void utility_install(void);

#endif							/* PGBULK_UTILITY_H */
