/*
 * values_int.h
 *		Short integers and booleans where a call would cost as much as the work.
 */
#ifndef PGBULK_VALUES_INT_H
#define PGBULK_VALUES_INT_H

#include "scan/values_swar.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* The longest number that value_short_int takes. */
#define SHORT_DIGITS 16

/* The value of n digits, 1 to 16, at s; false where one is none. */
static inline bool
value_digits_portable(const char *s, size_t n, int64_t *out)
{
	uint64_t	head = SWAR_ZEROS;
	uint64_t	tail;

	if (LIKELY(n <= 8))
	{
		tail = swar_pad(swar_load(s), n);
		*out = swar_fold(tail);
	}
	else
	{
		head = swar_pad(swar_load(s), n - 8);
		tail = swar_load(s + n - 8);
		*out = (int64_t) swar_fold(head) * 100000000 + swar_fold(tail);
	}
	return swar_all_digits(tail) && swar_all_digits(head);
}

#if defined(__SSE2__)
/* The same without a branch; a third of the work. */
static inline bool
value_digits_sse2(const char *s, size_t n, int64_t *out)
{
	static const uint8_t last[2 * SHORT_DIGITS] = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		255, 255, 255, 255, 255, 255, 255, 255,
		255, 255, 255, 255, 255, 255, 255, 255
	};
	const __m128i nine = _mm_set1_epi8(9);
	__m128i		digits = _mm_loadu_si128((const __m128i *) (s + n - SHORT_DIGITS));
	__m128i		pairs;
	__m128i		fours;
	uint64_t	eights;

	/* what stands before the number becomes zeroes; then neighbours join */
	digits = _mm_and_si128(_mm_sub_epi8(digits, _mm_set1_epi8('0')),
						   _mm_loadu_si128((const __m128i *) (last + n)));
	pairs = _mm_add_epi16(_mm_mullo_epi16(_mm_and_si128(digits, _mm_set1_epi16(0xff)),
										  _mm_set1_epi16(10)),
						  _mm_srli_epi16(digits, 8));
	fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
	eights = (uint64_t) _mm_cvtsi128_si64(_mm_madd_epi16(_mm_packs_epi32(fours, fours),
														 _mm_set1_epi32(1 << 16 | 10000)));
	*out = (int64_t) ((eights & UINT32_MAX) * 100000000 + (eights >> 32));
	return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(digits, nine), nine)) == 0xffff;
}

#define value_digits value_digits_sse2
#else
#define value_digits value_digits_portable
#endif

/*
 * The number s[0 .. len) if it is a minus sign, perhaps, and 1 to 16 digits;
 * false where it is anything else, and value_int2, 4 and 8 must judge.  Looks
 * at up to 16 bytes before s and after it.
 */
static inline bool
value_short_int(const char *s, size_t len, int64_t *out)
{
	int64_t		negative = *s == '-';
	size_t		n = len - (size_t) negative;
	int64_t		value;

	if (UNLIKELY(n - 1 >= SHORT_DIGITS) || UNLIKELY(!value_digits(s + negative, n, &value)))
		return false;
	*out = (value ^ -negative) + negative;
	return true;
}

/*
 * A boolean of one character, without a branch that depends on which; false
 * where it is none, or longer.
 */
static inline bool
value_short_bool(const char *s, size_t len, bool *out)
{
	char		lower = (char) (*s | 0x20);
	bool		yes = (lower == 't') | (lower == 'y') | (*s == '1');
	bool		no = (lower == 'f') | (lower == 'n') | (*s == '0');

	*out = yes;
	return (len == 1) & (yes | no);
}

#endif							/* PGBULK_VALUES_INT_H */
