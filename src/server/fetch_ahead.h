/*
 * fetch_ahead.h
 *		Has memory fetched into the cache that will be looked at soon.
 */
#ifndef PGBULK_FETCH_AHEAD_H
#define PGBULK_FETCH_AHEAD_H

#if defined(__GNUC__) || defined(__clang__)
#define fetch_ahead(address) __builtin_prefetch(address)
#else
#define fetch_ahead(address) ((void) (address))
#endif

/* How much is fetched at once, where it is not more. */
#define FETCHED_BYTES 64

#endif							/* PGBULK_FETCH_AHEAD_H */
