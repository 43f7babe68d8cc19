/*
 * classify_portable.c
 *		Masks of a block without SIMD: eight bytes at a time in a register.
 */
#include <string.h>

#include "scan.h"

#include "kernels.h"

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (uint8_t) (b))

static inline uint64_t
load_word(const char *data)
{
	uint64_t	word;

	memcpy(&word, data, sizeof(word));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

/* Eight bits that say which bytes of word are those of pattern. */
static inline uint64_t
match_bits(uint64_t word, uint64_t pattern)
{
	uint64_t	x = word ^ pattern;
	uint64_t	low = (x & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f);
	uint64_t	zero = ~(low | x) & EACH_BYTE(0x80);

	/* gathers the high bit of each byte, that of byte 0 lowest */
	return ((zero >> 7) * UINT64_C(0x0102040810204080)) >> 56;
}

static bool
portable_supported(void)
{
	return true;
}

static void
portable_classify(const char *data, uint32_t nblocks,
				  const ScanDialect *dialect, ScanMasks *masks)
{
	uint64_t	delimiter = EACH_BYTE(dialect->delimiter);
	uint64_t	special = EACH_BYTE(dialect_special(dialect));
	uint64_t	escape = EACH_BYTE(dialect->escape);
	bool		has_escape = dialect_has_escape(dialect);

	for (uint32_t block = 0; block < nblocks; block++, data += 64)
	{
		ScanMasks	m = {0};

		for (int shift = 0; shift < 64; shift += 8)
		{
			uint64_t	word = load_word(data + shift);

			m.delimiter |= match_bits(word, delimiter) << shift;
			m.special |= match_bits(word, special) << shift;
			if (has_escape)
				m.escape |= match_bits(word, escape) << shift;
			m.newline |= match_bits(word, EACH_BYTE('\n')) << shift;
			m.carriage |= match_bits(word, EACH_BYTE('\r')) << shift;
		}
		masks[block] = m;
	}
}

static void
portable_classify_json(const char *data, uint32_t nblocks, ScanJsonMasks *masks)
{
	for (uint32_t block = 0; block < nblocks; block++, data += 64)
	{
		ScanJsonMasks m = {0};

		for (int shift = 0; shift < 64; shift += 8)
		{
			uint64_t	word = load_word(data + shift);
			uint64_t	brace = word | EACH_BYTE(0x20);	/* of a bracket, too */

			m.quote |= match_bits(word, EACH_BYTE('"')) << shift;
			m.backslash |= match_bits(word, EACH_BYTE('\\')) << shift;
			m.punctuation |= (match_bits(brace, EACH_BYTE('{')) |
							  match_bits(brace, EACH_BYTE('}')) |
							  match_bits(word, EACH_BYTE(':')) |
							  match_bits(word, EACH_BYTE(','))) << shift;
			m.space |= (match_bits(word, EACH_BYTE(' ')) |
						match_bits(word, EACH_BYTE('\t')) |
						match_bits(word, EACH_BYTE('\n')) |
						match_bits(word, EACH_BYTE('\r'))) << shift;
			m.control |= match_bits(word & EACH_BYTE(0xe0), 0) << shift;
		}
		masks[block] = m;
	}
}

static void
portable_sum_block(const unsigned char *block, uint64_t *sums)
{
	const char *word_bytes = (const char *) block;

	memset(sums, 0, sizeof(uint64_t) * HASH_LANES);
	for (uint32_t row = 0; row < HASH_ROWS; row++)
		for (int lane = 0; lane < HASH_LANES; lane++, word_bytes += 8)
		{
			uint64_t	word = load_word(word_bytes);
			uint64_t	key = HASH_LANE_KEY * (uint64_t) (lane + 1);
			uint32_t	low = (uint32_t) word + (uint32_t) key + row * (uint32_t) HASH_ROW_KEY;
			uint32_t	high = (uint32_t) (word >> 32) + (uint32_t) (key >> 32) +
				row * (uint32_t) (HASH_ROW_KEY >> 32);

			sums[lane] += (uint64_t) low * high;
			sums[lane ^ 1] += word;
		}
}

const ScanKernel scan_kernel_portable = {
	"portable", portable_supported, portable_classify, portable_classify_json,
	portable_sum_block
};
