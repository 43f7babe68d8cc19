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

const ScanKernel scan_kernel_avx2 = {
	"avx2", avx2_supported, avx2_classify
};

#endif							/* __x86_64__ */
