/*
 * input.h
 *		From the paths that are given to the files of a load.
 */
#ifndef PGBULK_INPUT_H
#define PGBULK_INPUT_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "option/options.h"

/*
 * Sets files (of char *) to those that the paths mean: by patterns, if these
 * are allowed, or by manifests, with option manifest.  Returns the options of
 * the load, with what was detected in the files, and what is known of each.
 * Errors: those of source_expand, manifest_read and detect_options.
 */
extern BulkOptions *input_expand(Oid relid, List *paths, bool patterns,
								 BulkOptions *options, List **files);

/*
 * What has led to a path, if that is not itself: bulk_load_each has found it before bulk_load of
 * it is called, in SQL.  NULL: nothing.  Both are to last until that is said.
 */
extern void input_set_found(const char *path, const char *pattern);

#endif							/* PGBULK_INPUT_H */
