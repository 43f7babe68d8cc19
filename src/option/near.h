/*
 * near.h
 *		The word that was meant.
 */
#ifndef PGBULK_NEAR_H
#define PGBULK_NEAR_H

#include "postgres.h"

/*
 * Of some names, ended by NULL, the one that the user may have meant by another: it begins
 * like that, or few letters are different, whose case counts for nothing; or NULL.
 */
extern const char *near_find(const char *const *names, const char *given);

#endif							/* PGBULK_NEAR_H */
