/*
 * path.h
 *		Whether a path can be that of a file on the server, and which one it is.
 */
#ifndef PGBULK_PATH_H
#define PGBULK_PATH_H

#include "postgres.h"

/* This path stands for what the client sends. */
#define SOURCE_CLIENT "stdin"

/*
 * Raises an error for a path that is not absolute, which says what it seems to
 * be: a URL, a file on the client, an array, another name for the client's
 * data.  sent: data from the client would do, too.
 */
extern void path_check(const char *path, bool sent);

/* Whether it looks like a URL, which path_check refuses. */
extern bool path_is_url(const char *path);

/*
 * A copy without slashes and dots that lead nowhere.  Links stay, and so does .., which may lead
 * out of what a link leads to.
 */
extern char *path_tidy(const char *path);

#endif							/* PGBULK_PATH_H */
