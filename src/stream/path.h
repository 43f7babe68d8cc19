/*
 * path.h
 *		Whether a path may be one of a file on the server.
 */
#ifndef PGBULK_PATH_H
#define PGBULK_PATH_H

#include "postgres.h"

/* A path with this name stands for what the client sends. */
#define SOURCE_CLIENT "stdin"

/*
 * Raises the error for a path that is not absolute, which says what it seems to
 * be: a URL, a file of the client, an array, the client's data by another
 * name.  sent: what the client sends would do, too.
 */
extern void path_check(const char *path, bool sent);

#endif							/* PGBULK_PATH_H */
