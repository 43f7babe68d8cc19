/*
 * path_glob.h
 *		The files that a pattern means.
 */
#ifndef PGBULK_PATH_GLOB_H
#define PGBULK_PATH_GLOB_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Whether a path has a *, ? or [, and is not the name of a file all the same. */
extern bool path_is_pattern(const char *path);

/*
 * The paths that match, sorted by name, as a List of char * in the current context; NIL: there is
 * none.  A folder that cannot be looked into may have others, which a WARNING says.  Errors: 53200.
 */
extern List *path_glob(const char *pattern);

#endif							/* PGBULK_PATH_GLOB_H */
