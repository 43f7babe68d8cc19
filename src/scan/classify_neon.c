/*
 * classify_neon.c
 *		Masks of a block on arm64.
 */
#include "scan.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernels.h"

static inline uint64_t
match_bits(const uint8x16_t *block, uint8x16_t pattern)
{
	static const uint8_t place[16] = {
		1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128
	};
	const uint8x16_t places = vld1q_u8(place);
	uint8x16_t	bits[4];
	uint8x16_t	sum;

	for (int i = 0; i < 4; i++)
		bits[i] = vandq_u8(vceqq_u8(block[i], pattern), places);

	/* three rounds of pairwise sums bring 64 bytes down to 8 */
	sum = vpaddq_u8(vpaddq_u8(bits[0], bits[1]), vpaddq_u8(bits[2], bits[3]));
	sum = vpaddq_u8(sum, sum);
	return vgetq_lane_u64(vreinterpretq_u64_u8(sum), 0);
}

static bool
neon_supported(void)
{
	return true;
}

static void
neon_classify(const char *data, uint32_t nblocks,
			  const ScanDialect *dialect, ScanMasks *masks)
{
	const uint8x16_t delimiter = vdupq_n_u8((uint8_t) dialect->delimiter);
	const uint8x16_t special = vdupq_n_u8((uint8_t) dialect_special(dialect));
	const uint8x16_t escape = vdupq_n_u8((uint8_t) dialect->escape);
	const uint8x16_t newline = vdupq_n_u8('\n');
	const uint8x16_t carriage = vdupq_n_u8('\r');
	const bool	has_escape = dialect_has_escape(dialect);

	for (uint32_t i = 0; i < nblocks; i++, data += 64)
	{
		uint8x16_t	block[4];

		for (int j = 0; j < 4; j++)
			block[j] = vld1q_u8((const uint8_t *) data + 16 * j);

		masks[i].delimiter = match_bits(block, delimiter);
		masks[i].special = match_bits(block, special);
		masks[i].escape = has_escape ? match_bits(block, escape) : 0;
		masks[i].newline = match_bits(block, newline);
		masks[i].carriage = match_bits(block, carriage);
	}
}

const ScanKernel scan_kernel_neon = {
	"neon", neon_supported, neon_classify
};

#endif							/* __aarch64__ */
