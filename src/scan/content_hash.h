/*
 * content_hash.h
 *		A fast hash of 128 bits of a file's bytes, by which the same bytes are
 *		recognized.
 *
 * It tells files apart that differ by chance or by edits; it is no protection
 * against someone who makes two files with one hash on purpose.  The hash of
 * the first n bytes can be had on the way to that of all.  It is stored in
 * tables, and so never changes: test/unit/content_hash.c has known answers.
 */
#ifndef PGBULK_CONTENT_HASH_H
#define PGBULK_CONTENT_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTENT_HASH_BLOCK 1024	/* bytes */

typedef struct ContentKey
{
	uint64_t	high;
	uint64_t	low;
} ContentKey;

static inline bool
content_key_equal(const ContentKey *a, const ContentKey *b)
{
	return a->high == b->high && a->low == b->low;
}

typedef struct ContentHash
{
	uint64_t	length;
	ContentKey	state;			/* of the whole blocks so far */
	size_t		waiting;		/* bytes in block */
	unsigned char block[CONTENT_HASH_BLOCK];
} ContentHash;

extern void content_hash_begin(ContentHash *hash);
extern void content_hash_add(ContentHash *hash, const void *bytes, size_t length);

/*
 * Adds those of the bytes at an offset that come next; where there is a gap, nothing.  So whoever
 * reads a file from start to end, some of it twice, has its hash in the end.
 */
extern void content_hash_follow(ContentHash *hash, uint64_t offset, const void *bytes,
								size_t length);

/* That of all bytes so far; more may follow. */
extern ContentKey content_hash_key(const ContentHash *hash);

#endif							/* PGBULK_CONTENT_HASH_H */
