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

/* Bytes that have one of the kinds. */
static inline uint64_t
kind_bits(const uint8x16_t *kinds, uint8_t wanted)
{
	uint8x16_t	others[4];		/* 0 for those */

	for (int i = 0; i < 4; i++)
		others[i] = vceqzq_u8(vandq_u8(kinds[i], vdupq_n_u8(wanted)));
	return match_bits(others, vdupq_n_u8(0));
}

static void
neon_classify_json(const char *data, uint32_t nblocks, ScanJsonMasks *masks)
{
	const uint8x16_t by_low = vld1q_u8(scan_json_by_low);
	const uint8x16_t by_high = vld1q_u8(scan_json_by_high);

	for (uint32_t i = 0; i < nblocks; i++, data += 64)
	{
		uint8x16_t	block[4];
		uint8x16_t	kinds[4];
		uint8x16_t	low[4];		/* 0 for control characters */

		for (int j = 0; j < 4; j++)
		{
			block[j] = vld1q_u8((const uint8_t *) data + 16 * j);
			kinds[j] = vandq_u8(vqtbl1q_u8(by_low, vandq_u8(block[j], vdupq_n_u8(0x0f))),
								vqtbl1q_u8(by_high, vshrq_n_u8(block[j], 4)));
			low[j] = vandq_u8(block[j], vdupq_n_u8(0xe0));
		}

		masks[i].quote = match_bits(block, vdupq_n_u8('"'));
		masks[i].backslash = match_bits(block, vdupq_n_u8('\\'));
		masks[i].punctuation = kind_bits(kinds, SCAN_JSON_PUNCTUATION);
		masks[i].space = kind_bits(kinds, SCAN_JSON_SPACE);
		masks[i].control = match_bits(low, vdupq_n_u8(0));
	}
}

static void
neon_sum_block(const unsigned char *block, uint64_t *sums)
{
	const uint32x4_t row_key = vreinterpretq_u32_u64(vdupq_n_u64(HASH_ROW_KEY));
	uint32x4_t	keys[HASH_LANES / 2];
	uint64x2_t	total[HASH_LANES / 2];

	for (int i = 0; i < HASH_LANES / 2; i++)
	{
		uint64_t	both[2] = {HASH_LANE_KEY * (2 * i + 1), HASH_LANE_KEY * (2 * i + 2)};

		keys[i] = vreinterpretq_u32_u64(vld1q_u64(both));
		total[i] = vdupq_n_u64(0);
	}
	for (int row = 0; row < HASH_ROWS; row++)
		for (int i = 0; i < HASH_LANES / 2; i++, block += 16)
		{
			uint64x2_t	words = vreinterpretq_u64_u8(vld1q_u8(block));
			uint64x2_t	keyed = vreinterpretq_u64_u32(vaddq_u32(vreinterpretq_u32_u64(words),
																keys[i]));

			total[i] = vmlal_u32(total[i], vmovn_u64(keyed), vshrn_n_u64(keyed, 32));
			total[i] = vaddq_u64(total[i], vextq_u64(words, words, 1));
			keys[i] = vaddq_u32(keys[i], row_key);
		}
	for (int i = 0; i < HASH_LANES / 2; i++)
		vst1q_u64(&sums[2 * i], total[i]);
}

const ScanKernel scan_kernel_neon = {
	"neon", neon_supported, neon_classify, neon_classify_json, neon_sum_block
};

#endif							/* __aarch64__ */
