/*
 * key_set.h
 *		A set of keys that have been looked up, or seen.
 *
 * It stays within a given amount of memory: when that is full it is emptied and
 * starts over, since what has been forgotten is merely looked up, or taken, once more.
 *
 * Keys that are to be looked up together are in it from the moment that they are
 * asked for, but seen only by who wants to see those, too, until they are found.
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
	uint32		hash;			/* this and slot: set by key_set_has_many */
	uint32		slot;
} KeySetItem;

/* Which of n keys are in the set, asked: or asked for; faster than one by one. */
extern void key_set_has_many(const KeySet *set, KeySetItem *items, int n, bool asked,
							 bool *found);

/* Whether the key is in the set, asked: or asked for.  *hash is to be passed to those that add. */
extern bool key_set_has(const KeySet *set, const char *key, Size len, bool asked,
						uint32 *hash);

/*
 * Adds a key that is not in the set.  False: the memory was full, and the keys before are
 * forgotten.
 */
extern bool key_set_add(KeySet *set, const char *key, Size len, uint32 hash);

/*
 * Adds a key that is asked for; *number tells it, above those before, until the set is cleared.
 * False: there is no room, and nothing has been done.
 */
extern bool key_set_ask(KeySet *set, const char *key, Size len, uint32 hash, uint32 *number);

/* It has been found.  False: it was so before. */
extern bool key_set_found(KeySet *set, uint32 number);

extern void key_set_clear(KeySet *set);

/* From here on this is its maximum size in bytes; a set that is larger is emptied. */
extern void key_set_limit(KeySet *set, Size memory);

#endif							/* PGBULK_KEY_SET_H */
