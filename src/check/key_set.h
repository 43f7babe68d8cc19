/*
 * key_set.h
 *		Keys that have been looked up already.
 *
 * A set of byte strings within a given memory: when that is full it forgets
 * all and starts anew, for to forget a key only costs another look.
 */
#ifndef PGBULK_KEY_SET_H
#define PGBULK_KEY_SET_H

#include "postgres.h"

typedef struct KeySet KeySet;

/* memory: bytes at most.  Lives in a context of its own below the current one. */
extern KeySet *key_set_create(Size memory);

/* A key to be looked up. */
typedef struct KeySetItem
{
	const char *key;
	Size		len;
	uint32		hash;			/* set by key_set_has_many */
} KeySetItem;

/* Which of n keys are in the set: faster than one by one. */
extern void key_set_has_many(const KeySet *set, KeySetItem *items, int n, bool *found);

/* Whether the key is in the set; *hash is for key_set_add. */
extern bool key_set_has(const KeySet *set, const char *key, Size len,
						uint32 *hash);

/* Adds a key that is not in the set. */
extern void key_set_add(KeySet *set, const char *key, Size len, uint32 hash);

extern void key_set_clear(KeySet *set);

#endif							/* PGBULK_KEY_SET_H */
