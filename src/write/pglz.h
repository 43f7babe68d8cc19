/*
 * pglz.h
 *		The server's own compression for wide values, in less time.
 *
 * The result is byte for byte that of pglz_compress (pg_lzcompress.c,
 * PostgreSQL 18) with its default strategy: so a table is as large as after
 * COPY.  What differs is how the history is kept: the server links each byte
 * into a list and out of it again, and clears the lists for each value; here
 * the places of each hash are a chain of positions that grow from value to
 * value, and a position too far back ends the chain.  A position in the history
 * is compared only where it could give a longer match than the best so far.
 *
 * Pure C: no server header, no allocation.
 */
#ifndef PGBULK_PGLZ_H
#define PGBULK_PGLZ_H

#include <stdint.h>

#define PGLZ_HEADS 8192			/* hash values, at most */
#define PGLZ_SPAN 4096			/* how far back a match may be */

/* Zeroes at first; may be used for any number of values, one after the other. */
typedef struct PglzHistory
{
	uint32_t	base;			/* position of the value's first byte */
	uint32_t	heads[PGLZ_HEADS];	/* of each hash, the latest position */
	uint32_t	links[PGLZ_SPAN];	/* of each position, the one before it */
} PglzHistory;

/* Upper bound of the result's size. */
#define PGLZ_BOUND(length) ((length) + 4)

/*
 * Compresses source[0 .. length) to dest, which has space for
 * PGLZ_BOUND(length) bytes.  Returns the result's length, or -1 where the
 * server would not compress: the value is shorter than 32 bytes, saves less
 * than a quarter, or has no match within what gives the first 1024 bytes.
 */
extern int32_t pglz_compact(PglzHistory *history, const char *source,
							int32_t length, char *dest);

#endif							/* PGBULK_PGLZ_H */
