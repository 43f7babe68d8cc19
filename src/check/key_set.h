/*
 * key_set.h
 *		A set of keys that have been looked up.
 *
 * It stays within a given amount of memory: when that is full it is emptied and
 * starts over, since forgetting a key only costs another lookup.
 */
#ifndef PGBULK_KEY_SET_H
#define PGBULK_KEY_SET_H

#include "postgres.h"

typedef struct KeySet KeySet;

/* memory: maximum size in bytes.  Creates a child of the current context. */
extern KeySet *key_set_create(Size memory);

/* A key to be looked up. */
typedef struct KeySetItem
{
	const char *key;
	Size		len;
	uint32		hash;			/* set by key_set_has_many */
} KeySetItem;

/* Which of n keys are in the set; faster than one by one. */
extern void key_set_has_many(const KeySet *set, KeySetItem *items, int n, bool *found);

/* Whether the key is in the set.  *hash is to be passed to key_set_add. */
extern bool key_set_has(const KeySet *set, const char *key, Size len,
						uint32 *hash);

/*
 * Adds a key that is not in the set.  False: the memory was full, and the keys before are
 * forgotten.
 */
extern bool key_set_add(KeySet *set, const char *key, Size len, uint32 hash);

extern void key_set_clear(KeySet *set);

#endif							/* PGBULK_KEY_SET_H */
