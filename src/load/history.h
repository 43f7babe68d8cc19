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
#include "stream/source.h"
#include "utils/rel.h"

typedef struct History History;

/* Setting pgbulk.history: loads of files are remembered unless told otherwise. */
extern bool history_enabled;

/* Setting pgbulk.history_keep: for how many minutes; 0: for ever. */
extern int	history_keep;

/*
 * Before a load: looks at files that are to be remembered.  NULL: none is.
 * With option once, finds those that have been loaded before, and claims the
 * others: whoever wants to load one at the same time waits here for the end of
 * this transaction.  Sets passed_over and more of the result.  Files whose rows
 * a crash has taken are new.
 * Memory: the current context.
 *
 * Errors: those of content_read; with option once 0A000 for what is no file, for
 * temporary tables, and for partitioned ones of which only some partitions are
 * unlogged; 55000 for a file whose known part has changed.
 */
extern History *history_open(const BulkOptions *options, Relation target, List *paths,
							 LoadResult *result);

/* Of a list by number of the files, or NIL, the elements of those that are to be loaded. */
extern List *history_select(const History *history, List *list);

/* Whether these are hashed while they are loaded (source_hash): else they have been read before. */
extern bool history_hashes(const History *history);

/* Their ranges, with option once set to tail or part. */
extern const SourceRange *history_ranges(const History *history);

/*
 * When all rows are in: writes the history's, or completes those of claimed files.  Errors: 55000
 * where a file has changed or been forgotten since; 42P01 where the extension has gone.
 * source: has hashed some of the files, or none.  counts: by number of those that were loaded;
 * NULL: there is one at most, and the result is its.
 */
extern void history_write(History *history, const Source *source, const LoadResult *result,
						  const FileCounts *counts);

/*
 * With what options a file was loaded last, by its content, from its path, or else from whatever
 * path; NULL: it has not been.  pattern and options are those by which it is known now.  unkept:
 * how many of its rows were rejected, and are in no reject table or file.  skipped: each load of
 * it skipped more rows than options say.  same_path: it was loaded from its path.  Errors: those
 * of content_read.
 */
extern const BulkOptions *history_options(Oid target, const char *path, const char *pattern,
										  const BulkOptions *options, int64 *unkept,
										  bool *skipped, bool *same_path);

/*
 * bulk_load_forget: deletes rows about a table, of a path if that is not NULL,
 * and of loads that ended before a time unless that is DT_NOEND.  Returns how
 * many.  Error: 42501 for who does not own the table.
 */
extern int64 history_forget(Oid target, const char *path, TimestampTz before);

#endif							/* PGBULK_HISTORY_H */
