/*
 * classify_avx2.c
 *		Masks of a block on x86-64 with AVX2, found at run time.
 */
#include "scan.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels.h"

#define AVX2 __attribute__((target("avx2")))

typedef struct Block
{
	__m256i		low;
	__m256i		high;
} Block;

AVX2 static inline uint64_t
match_bits(const Block *block, __m256i pattern)
{
	uint32_t	low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(block->low, pattern));
	uint32_t	high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(block->high, pattern));

	return low | ((uint64_t) high << 32);
}

static bool
avx2_supported(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
		__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

AVX2 static void
avx2_classify(const char *data, uint32_t nblocks,
			  const ScanDialect *dialect, ScanMasks *masks)
{
	const __m256i delimiter = _mm256_set1_epi8(dialect->delimiter);
	const __m256i special = _mm256_set1_epi8(dialect_special(dialect));
	const __m256i escape = _mm256_set1_epi8(dialect->escape);
	const __m256i newline = _mm256_set1_epi8('\n');
	const __m256i carriage = _mm256_set1_epi8('\r');
	const bool	has_escape = dialect_has_escape(dialect);

	for (uint32_t i = 0; i < nblocks; i++, data += 64)
	{
		Block		block;

		block.low = _mm256_loadu_si256((const __m256i *) data);
		block.high = _mm256_loadu_si256((const __m256i *) (data + 32));

		masks[i].delimiter = match_bits(&block, delimiter);
		masks[i].special = match_bits(&block, special);
		masks[i].escape = has_escape ? match_bits(&block, escape) : 0;
		masks[i].newline = match_bits(&block, newline);
		masks[i].carriage = match_bits(&block, carriage);
	}
}

/* The kinds of 32 bytes; see kernels.h. */
AVX2 static inline __m256i
json_kinds(__m256i bytes)
{
	const __m256i by_low = _mm256_broadcastsi128_si256(
		_mm_loadu_si128((const __m128i *) scan_json_by_low));
	const __m256i by_high = _mm256_broadcastsi128_si256(
		_mm_loadu_si128((const __m128i *) scan_json_by_high));
	__m256i		high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4),
										_mm256_set1_epi8(0x0f));

	/* a byte with the high bit has no kind: the shuffle gives 0 */
	return _mm256_and_si256(_mm256_shuffle_epi8(by_low, bytes),
							_mm256_shuffle_epi8(by_high, high));
}

/* Bytes that have one of the kinds. */
AVX2 static inline uint64_t
kind_bits(const Block *kinds, uint8_t wanted)
{
	const __m256i mask = _mm256_set1_epi8((char) wanted);
	Block		of_them = {
		_mm256_and_si256(kinds->low, mask), _mm256_and_si256(kinds->high, mask)
	};

	return ~match_bits(&of_them, _mm256_setzero_si256());
}

AVX2 static void
avx2_classify_json(const char *data, uint32_t nblocks, ScanJsonMasks *masks)
{
	const __m256i quote = _mm256_set1_epi8('"');
	const __m256i backslash = _mm256_set1_epi8('\\');
	const __m256i not_control = _mm256_set1_epi8((char) 0xe0);

	for (uint32_t i = 0; i < nblocks; i++, data += 64)
	{
		Block		block;
		Block		kinds;
		Block		low;		/* 0 for control characters */

		block.low = _mm256_loadu_si256((const __m256i *) data);
		block.high = _mm256_loadu_si256((const __m256i *) (data + 32));
		kinds.low = json_kinds(block.low);
		kinds.high = json_kinds(block.high);
		low.low = _mm256_and_si256(block.low, not_control);
		low.high = _mm256_and_si256(block.high, not_control);

		masks[i].quote = match_bits(&block, quote);
		masks[i].backslash = match_bits(&block, backslash);
		masks[i].punctuation = kind_bits(&kinds, SCAN_JSON_PUNCTUATION);
		masks[i].space = kind_bits(&kinds, SCAN_JSON_SPACE);
		masks[i].control = match_bits(&low, _mm256_setzero_si256());
	}
}

/* Four words of each row. */
AVX2 static inline void
add_words(__m256i *total, __m256i words, __m256i key)
{
	__m256i		keyed = _mm256_add_epi32(words, key);
	__m256i		product = _mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32));

	*total = _mm256_add_epi64(*total, product);
	*total = _mm256_add_epi64(*total, _mm256_shuffle_epi32(words, _MM_SHUFFLE(1, 0, 3, 2)));
}

AVX2 static void
avx2_sum_block(const unsigned char *block, uint64_t *sums)
{
	const __m256i row_key = _mm256_set1_epi64x((int64_t) HASH_ROW_KEY);
	__m256i		left_key = _mm256_set_epi64x((int64_t) (HASH_LANE_KEY * 4),
											 (int64_t) (HASH_LANE_KEY * 3),
											 (int64_t) (HASH_LANE_KEY * 2),
											 (int64_t) HASH_LANE_KEY);
	__m256i		right_key = _mm256_set_epi64x((int64_t) (HASH_LANE_KEY * 8),
											  (int64_t) (HASH_LANE_KEY * 7),
											  (int64_t) (HASH_LANE_KEY * 6),
											  (int64_t) (HASH_LANE_KEY * 5));
	__m256i		left = _mm256_setzero_si256();
	__m256i		right = _mm256_setzero_si256();

	for (int row = 0; row < HASH_ROWS; row++, block += 64)
	{
		add_words(&left, _mm256_loadu_si256((const __m256i *) block), left_key);
		add_words(&right, _mm256_loadu_si256((const __m256i *) (block + 32)), right_key);
		left_key = _mm256_add_epi32(left_key, row_key);
		right_key = _mm256_add_epi32(right_key, row_key);
	}
	_mm256_storeu_si256((__m256i *) sums, left);
	_mm256_storeu_si256((__m256i *) (sums + 4), right);
}

const ScanKernel scan_kernel_avx2 = {
	"avx2", avx2_supported, avx2_classify, avx2_classify_json, avx2_sum_block
};

#endif							/* __x86_64__ */
