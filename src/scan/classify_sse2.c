/*
 * classify_sse2.c
 *		Masks of a block on any x86-64.
 */
#include "scan.h"

#if defined(__x86_64__)

#include <emmintrin.h>

#include "kernels.h"

static inline uint64_t
match_bits(const __m128i *block, __m128i pattern)
{
	uint64_t	bits = 0;

	for (int i = 0; i < 4; i++)
	{
		uint32_t	part = _mm_movemask_epi8(_mm_cmpeq_epi8(block[i], pattern));

		bits |= (uint64_t) part << (16 * i);
	}
	return bits;
}

static bool
sse2_supported(void)
{
	return true;
}

static void
sse2_classify(const char *data, uint32_t nblocks,
			  const ScanDialect *dialect, ScanMasks *masks)
{
	const __m128i delimiter = _mm_set1_epi8(dialect->delimiter);
	const __m128i special = _mm_set1_epi8(dialect_special(dialect));
	const __m128i escape = _mm_set1_epi8(dialect->escape);
	const __m128i newline = _mm_set1_epi8('\n');
	const __m128i carriage = _mm_set1_epi8('\r');
	const bool	has_escape = dialect_has_escape(dialect);

	for (uint32_t i = 0; i < nblocks; i++, data += 64)
	{
		__m128i		block[4];

		for (int j = 0; j < 4; j++)
			block[j] = _mm_loadu_si128((const __m128i *) (data + 16 * j));

		masks[i].delimiter = match_bits(block, delimiter);
		masks[i].special = match_bits(block, special);
		masks[i].escape = has_escape ? match_bits(block, escape) : 0;
		masks[i].newline = match_bits(block, newline);
		masks[i].carriage = match_bits(block, carriage);
	}
}

/* Of two patterns at once. */
static inline uint64_t
match_either(const __m128i *block, __m128i pattern, __m128i other)
{
	uint64_t	bits = 0;

	for (int i = 0; i < 4; i++)
	{
		__m128i		match = _mm_or_si128(_mm_cmpeq_epi8(block[i], pattern),
										 _mm_cmpeq_epi8(block[i], other));
		uint32_t	part = _mm_movemask_epi8(match);

		bits |= (uint64_t) part << (16 * i);
	}
	return bits;
}

static void
sse2_classify_json(const char *data, uint32_t nblocks, ScanJsonMasks *masks)
{
	const __m128i to_brace = _mm_set1_epi8(0x20);

	for (uint32_t i = 0; i < nblocks; i++, data += 64)
	{
		__m128i		block[4];
		__m128i		brace[4];	/* brackets are braces here */
		__m128i		low[4];		/* 0 for control characters */

		for (int j = 0; j < 4; j++)
		{
			block[j] = _mm_loadu_si128((const __m128i *) (data + 16 * j));
			brace[j] = _mm_or_si128(block[j], to_brace);
			low[j] = _mm_and_si128(block[j], _mm_set1_epi8((char) 0xe0));
		}

		masks[i].quote = match_bits(block, _mm_set1_epi8('"'));
		masks[i].backslash = match_bits(block, _mm_set1_epi8('\\'));
		masks[i].punctuation =
			match_either(brace, _mm_set1_epi8('{'), _mm_set1_epi8('}')) |
			match_either(block, _mm_set1_epi8(':'), _mm_set1_epi8(','));
		masks[i].space =
			match_either(block, _mm_set1_epi8(' '), _mm_set1_epi8('\t')) |
			match_either(block, _mm_set1_epi8('\n'), _mm_set1_epi8('\r'));
		masks[i].control = match_bits(low, _mm_setzero_si128());
	}
}

static void
sse2_sum_block(const unsigned char *block, uint64_t *sums)
{
	const __m128i row_key = _mm_set1_epi64x((int64_t) HASH_ROW_KEY);
	__m128i		keys[HASH_LANES / 2];
	__m128i		total[HASH_LANES / 2];

	for (int i = 0; i < HASH_LANES / 2; i++)
	{
		keys[i] = _mm_set_epi64x((int64_t) (HASH_LANE_KEY * (2 * i + 2)),
								 (int64_t) (HASH_LANE_KEY * (2 * i + 1)));
		total[i] = _mm_setzero_si128();
	}
	for (int row = 0; row < HASH_ROWS; row++)
		for (int i = 0; i < HASH_LANES / 2; i++, block += 16)
		{
			__m128i		words = _mm_loadu_si128((const __m128i *) block);
			__m128i		keyed = _mm_add_epi32(words, keys[i]);
			__m128i		product = _mm_mul_epu32(keyed, _mm_srli_epi64(keyed, 32));

			total[i] = _mm_add_epi64(total[i], product);
			total[i] = _mm_add_epi64(total[i], _mm_shuffle_epi32(words, _MM_SHUFFLE(1, 0, 3, 2)));
			keys[i] = _mm_add_epi32(keys[i], row_key);
		}
	for (int i = 0; i < HASH_LANES / 2; i++)
		_mm_storeu_si128((__m128i *) &sums[2 * i], total[i]);
}

const ScanKernel scan_kernel_sse2 = {
	"sse2", sse2_supported, sse2_classify, sse2_classify_json, sse2_sum_block
};

#endif							/* __x86_64__ */
