/*
 * content_hash.c
 *		See content_hash.h.
 *
 * A block of 1 kB is 16 rows of 8 words of 64 bits.  Each lane adds up, over
 * the rows, the product of the two halves of its word plus a key that differs
 * from word to word: a hash that is known to spread well, and that SIMD
 * instructions compute 8 words at a time.  A product says nothing of one half
 * where the other is zero, so the neighbouring lane gets the word itself, too.
 * The 8 sums then go into the state, in which the order of blocks matters.
 * Price: a nanosecond for 7 bytes or more, in the cache.
 */
#include "scan/content_hash.h"
#include "scan/wide.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LANES CONTENT_HASH_LANES
#define ROWS (CONTENT_HASH_BLOCK / (8 * LANES))

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

/*
 * The sums of the lanes of a block.  The key of a word is that of its lane plus
 * the row's number times a constant, half by half.
 */
#if defined(__SSE2__)

static void
sum_block(const unsigned char *block, uint64_t *sums)
{
	const __m128i step = _mm_set1_epi64x((int64_t) PRIME_4);
	__m128i		keys[LANES / 2];
	__m128i		total[LANES / 2];

	for (int i = 0; i < LANES / 2; i++)
	{
		keys[i] = _mm_set_epi64x((int64_t) (PRIME_3 * (2 * i + 2)),
								 (int64_t) (PRIME_3 * (2 * i + 1)));
		total[i] = _mm_setzero_si128();
	}
	for (int row = 0; row < ROWS; row++)
		for (int i = 0; i < LANES / 2; i++, block += 16)
		{
			__m128i		words = _mm_loadu_si128((const __m128i *) block);
			__m128i		keyed = _mm_add_epi32(words, keys[i]);
			__m128i		product = _mm_mul_epu32(keyed, _mm_srli_epi64(keyed, 32));

			total[i] = _mm_add_epi64(total[i], product);
			total[i] = _mm_add_epi64(total[i], _mm_shuffle_epi32(words, _MM_SHUFFLE(1, 0, 3, 2)));
			keys[i] = _mm_add_epi32(keys[i], step);
		}
	for (int i = 0; i < LANES / 2; i++)
		_mm_storeu_si128((__m128i *) &sums[2 * i], total[i]);
}

#else

static inline uint64_t
load_word(const unsigned char *p)
{
	uint64_t	word;

	memcpy(&word, p, sizeof(word));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

static void
sum_block(const unsigned char *block, uint64_t *sums)
{
	memset(sums, 0, sizeof(uint64_t) * LANES);
	for (uint32_t row = 0; row < ROWS; row++)
		for (int lane = 0; lane < LANES; lane++, block += 8)
		{
			uint64_t	word = load_word(block);
			uint64_t	key = PRIME_3 * (uint64_t) (lane + 1);
			uint32_t	low = (uint32_t) word + (uint32_t) key + row * (uint32_t) PRIME_4;
			uint32_t	high = (uint32_t) (word >> 32) + (uint32_t) (key >> 32) +
				row * (uint32_t) (PRIME_4 >> 32);

			sums[lane] += (uint64_t) low * high;
			sums[lane ^ 1] += word;
		}
}

#endif

/* The state after one more block. */
static ContentKey
mix_block(ContentKey state, const unsigned char *block)
{
	uint64_t	sums[LANES];

	sum_block(block, sums);
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
