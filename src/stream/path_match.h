/*
 * path_match.h
 *		What a path says of a file: by the pattern that it matches, and by its
 *		folders.
 */
#ifndef PGBULK_PATH_MATCH_H
#define PGBULK_PATH_MATCH_H

#include "postgres.h"

/*
 * What the * of that number, from 1, stands for where a pattern matches a path:
 * each of them for as little as possible, from the left.  NULL: the pattern has
 * fewer of them.
 */
extern char *path_wildcard(const char *pattern, const char *path, int number);

/* The value of the last folder of the path that is called name=value; or NULL. */
extern char *path_folder(const char *path, const char *name);

#endif							/* PGBULK_PATH_MATCH_H */
