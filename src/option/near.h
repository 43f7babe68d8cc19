/*
 * near.h
 *		Finds the intended word for a misspelled one.
 */
#ifndef PGBULK_NEAR_H
#define PGBULK_NEAR_H

#include "postgres.h"

/*
 * Of NULL-terminated names, the one the user may have meant: it starts with the
 * given word, or differs in few letters, ignoring case; or NULL.
 */
extern const char *near_find(const char *const *names, const char *given);

#endif							/* PGBULK_NEAR_H */
