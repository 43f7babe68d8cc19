/*
 * history.h
 *		What has been loaded: a row of bulk_load_history for each load and file,
 *		in the load's own transaction.
 *
 * The table belongs to the extension, and so do these rows: users see those of
 * tables that they may read, in the view bulk_loads, and change none.
 */
#ifndef PGBULK_HISTORY_H
#define PGBULK_HISTORY_H

#include "postgres.h"

#include "load/result.h"
#include "nodes/pg_list.h"
#include "option/options.h"
#include "utils/rel.h"

typedef struct History History;

/* Setting pgbulk.history: loads of files are remembered unless told otherwise. */
extern bool history_enabled;

/* Setting pgbulk.history_keep: for how many minutes; 0: for ever. */
extern int	history_keep;

/*
 * Before a load: reads what is to be remembered of the files.  NULL: nothing is.
 * Memory: the current context.  Errors: those of content_read.
 */
extern History *history_open(const BulkOptions *options, Relation target, List *paths);

/*
 * When all rows are in.  Errors: 55000 where a file has changed since, or the
 * extension has been dropped.
 */
extern void history_write(History *history, const LoadResult *result);

/*
 * bulk_load_forget: deletes rows about a table, of a path if that is not NULL,
 * and of loads that ended before a time unless that is DT_NOEND.  Returns how
 * many.  Error: 42501 for who does not own the table.
 */
extern int64 history_forget(Oid target, const char *path, TimestampTz before);

#endif							/* PGBULK_HISTORY_H */
