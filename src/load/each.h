/*
 * each.h
 *		The files that a path means, each loaded in a transaction of its own.
 */
#ifndef PGBULK_EACH_H
#define PGBULK_EACH_H

#include "postgres.h"

#include "utils/jsonb.h"

typedef struct EachResult
{
	int64		files_loaded;
	int64		files_passed_over;
	int64		rows_loaded;
	int64		rows_rejected;
} EachResult;

/*
 * Loads file after file by bulk_load of that schema, and commits after each, or
 * after each part, if option commit_every says so; then does with the file what
 * option after says.  bulk_load does not have these two.  Option once is true
 * unless given, so that what an error or a crash has left can be loaded by the
 * same call.  To be called where a transaction may end; memory: a context that
 * outlives it.
 *
 * Errors: those of bulk_load, which end the call, but not what was committed;
 * 42501 without pg_write_server_files, which after needs.
 */
extern void each_run(Oid schema, Oid target, const char *path, Jsonb *json, EachResult *result);

#endif							/* PGBULK_EACH_H */
