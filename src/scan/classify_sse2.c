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

const ScanKernel scan_kernel_sse2 = {
	"sse2", sse2_supported, sse2_classify
};

#endif							/* __x86_64__ */
