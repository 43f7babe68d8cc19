/*
 * content_hash.c
 *		See content_hash.h.
 *
 * A block of 1 kB is 16 rows of 8 words of 64 bits.  Each lane adds up, over
 * the rows, the product of the two halves of its word plus a key that differs
 * from word to word: a hash that is known to spread well, and that SIMD
 * instructions compute several words at a time (kernels.h).  A product says
 * nothing of one half where the other is zero, so the neighbouring lane gets the
 * word itself, too.  The 8 sums then go into the state, in which the order of
 * blocks matters.
 */
#include "scan/content_hash.h"
#include "scan/kernels.h"
#include "scan/wide.h"

#include <string.h>

/* Odd numbers without a pattern: the first digits of square roots' fractions. */
#define PRIME_1 UINT64_C(0x9e3779b97f4a7c15)
#define PRIME_2 UINT64_C(0x6a09e667f3bcc909)
#define PRIME_3 UINT64_C(0xbb67ae8584caa73b)
#define PRIME_4 UINT64_C(0x3c6ef372fe94f82b)

/* The high and the low half of a product, one on the other. */
static inline uint64_t
fold(uint64_t a, uint64_t b)
{
	scan_uint128 product = (scan_uint128) a * b;

	return (uint64_t) (product >> 64) ^ (uint64_t) product;
}

/* Every bit of the result depends on every bit of the number. */
static inline uint64_t
scatter(uint64_t x)
{
	x = (x ^ (x >> 32)) * PRIME_1;
	x = (x ^ (x >> 29)) * PRIME_2;
	return x ^ (x >> 32);
}

/* The state after one more block. */
static ContentKey
mix_block(ContentKey state, const unsigned char *block)
{
	uint64_t	sums[HASH_LANES];

	scan_kernel()->sum_block(block, sums);
	state.high = fold(state.high ^ sums[0] ^ PRIME_1, sums[1] ^ PRIME_2) +
		fold(sums[2] ^ PRIME_3, sums[3] ^ state.low) + scatter(state.high);
	state.low = fold(state.low ^ sums[4] ^ PRIME_4, sums[5] ^ PRIME_1) +
		fold(sums[6] ^ PRIME_2, sums[7] ^ state.high) + scatter(state.low);
	return state;
}

void
content_hash_begin(ContentHash *hash)
{
	memset(hash, 0, sizeof(*hash));
	hash->state.high = PRIME_2;
	hash->state.low = PRIME_3;
}

void
content_hash_add(ContentHash *hash, const void *bytes, size_t length)
{
	const unsigned char *p = bytes;

	hash->length += length;
	if (hash->waiting > 0)
	{
		size_t		n = CONTENT_HASH_BLOCK - hash->waiting;

		if (n > length)
			n = length;
		memcpy(hash->block + hash->waiting, p, n);
		hash->waiting += n;
		p += n;
		length -= n;
		if (hash->waiting < CONTENT_HASH_BLOCK)
			return;
		hash->state = mix_block(hash->state, hash->block);
		hash->waiting = 0;
	}
	for (; length >= CONTENT_HASH_BLOCK; length -= CONTENT_HASH_BLOCK, p += CONTENT_HASH_BLOCK)
		hash->state = mix_block(hash->state, p);
	memcpy(hash->block, p, length);
	hash->waiting = length;
}

void
content_hash_follow(ContentHash *hash, uint64_t offset, const void *bytes, size_t length)
{
	uint64_t	known = hash->length - offset;

	if (offset > hash->length || known >= length)
		return;
	content_hash_add(hash, (const unsigned char *) bytes + known, length - known);
}

ContentKey
content_hash_key(const ContentHash *hash)
{
	ContentKey	state = hash->state;
	unsigned char last[CONTENT_HASH_BLOCK] = {0};

	/* zeroes behind the end differ from those in the file by the length */
	if (hash->waiting > 0)
	{
		memcpy(last, hash->block, hash->waiting);
		state = mix_block(state, last);
	}
	state.high ^= scatter(hash->length ^ PRIME_4);
	state.low += fold(state.high ^ PRIME_1, hash->length ^ PRIME_3);
	state.high = scatter(state.high ^ fold(state.low ^ PRIME_2, state.high ^ PRIME_4));
	state.low = scatter(state.low ^ fold(state.high ^ PRIME_3, PRIME_1));
	return state;
}
