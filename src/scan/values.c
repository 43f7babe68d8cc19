/*
 * values.c
 *		Text to integers, booleans, UUIDs, bit strings and byte strings.
 *
 * Each integer function has a fast path for what files contain (a sign, some
 * digits, nothing else) and a common slow one, integer_slow, that also handles
 * white space and classifies errors.  The slow path returns BAD_SYNTAX only if
 * no server can find an overflow first: 15 and 18 notice an overflow at
 * different digits.
 */
#include "scan/values.h"
#include "scan/values_swar.h"

/*
 * The general case of integers.  limit is the largest positive value,
 * safe_digits how many digits can never overflow.  Non-decimal prefixes and
 * underscores (servers from 16 on) are left to the server.
 */
static ValueResult
integer_slow(const char *s, size_t len, uint64_t limit, size_t safe_digits,
			 int64_t *out)
{
	bool		negative = false;
	uint64_t	value = 0;
	size_t		digits = 0;
	size_t		zeros = 0;

	ascii_trim(&s, &len);
	if (len > 0 && (*s == '-' || *s == '+'))
	{
		negative = *s == '-';
		s++;
		len--;
	}
	if (len == 0)
		return VALUE_BAD_SYNTAX;
	while (zeros < len && s[zeros] == '0')
		zeros++;
	while (zeros + digits < len && ascii_is_digit(s[zeros + digits]))
		digits++;

	if (zeros + digits < len)
	{
		char		next = s[zeros + digits];
		char		lower = (char) (next | 0x20);

		/* 0x, 0o and 0b are prefixes from 16 on */
		if (zeros == 1 && digits == 0 &&
			(lower == 'x' || lower == 'o' || lower == 'b'))
			return VALUE_ASK;
		if (digits <= safe_digits &&
			ascii_is_bad_tail(s + zeros + digits, len - zeros - digits))
			return VALUE_BAD_SYNTAX;
		return VALUE_ASK;
	}
	if (digits > 19)
		return VALUE_BAD_RANGE;
	if (digits > 0)
		(void) swar_fold_digits(s + zeros, digits, &value);
	if (value > limit + negative)
		return VALUE_BAD_RANGE;
	*out = (int64_t) (negative ? -value : value);
	return VALUE_OK;
}

ValueResult
value_int2(const char *s, size_t len, int16_t *out)
{
	bool		negative = len > 0 && *s == '-';
	size_t		n = len - negative;
	int64_t		slow = 0;
	ValueResult result;

	if (LIKELY(n - 1 < 8))
	{
		uint64_t	word = swar_pad(swar_load(s + negative), n);
		uint32_t	value = swar_fold(word);

		if (LIKELY(swar_all_digits(word)))
		{
			if (UNLIKELY(value > (uint32_t) INT16_MAX + negative))
				return VALUE_BAD_RANGE;
			*out = (int16_t) (negative ? -(int32_t) value : (int32_t) value);
			return VALUE_OK;
		}
	}
	result = integer_slow(s, len, INT16_MAX, 4, &slow);
	*out = (int16_t) slow;
	return result;
}

ValueResult
value_int4(const char *s, size_t len, int32_t *out)
{
	bool		negative = len > 0 && *s == '-';
	size_t		n = len - negative;
	int64_t		slow = 0;
	ValueResult result;

	if (LIKELY(n - 1 < 16))
	{
		uint64_t	value;

		if (LIKELY(swar_fold_digits(s + negative, n, &value)))
		{
			if (UNLIKELY(value > (uint64_t) INT32_MAX + negative))
				return VALUE_BAD_RANGE;
			*out = (int32_t) (negative ? -(int64_t) value : (int64_t) value);
			return VALUE_OK;
		}
	}
	result = integer_slow(s, len, INT32_MAX, 9, &slow);
	*out = (int32_t) slow;
	return result;
}

ValueResult
value_int8(const char *s, size_t len, int64_t *out)
{
	bool		negative = len > 0 && *s == '-';
	size_t		n = len - negative;

	if (LIKELY(n - 1 < 19))
	{
		uint64_t	value;

		if (LIKELY(swar_fold_digits(s + negative, n, &value)))
		{
			if (UNLIKELY(value > (uint64_t) INT64_MAX + negative))
				return VALUE_BAD_RANGE;
			*out = (int64_t) (negative ? -value : value);
			return VALUE_OK;
		}
	}
	return integer_slow(s, len, INT64_MAX, 18, out);
}

/*
 * oidin is strtoul: a minus sign wraps, and from 16 on a leading zero makes
 * the number octal, so both are the server's.
 */
ValueResult
value_oid(const char *s, size_t len, uint32_t *out)
{
	uint64_t	value;

	if (LIKELY(len - 1 < 19 && (*s != '0' || len == 1) &&
			   swar_fold_digits(s, len, &value)))
	{
		if (UNLIKELY(value > UINT32_MAX))
			return VALUE_BAD_RANGE;
		*out = (uint32_t) value;
		return VALUE_OK;
	}
	ascii_trim(&s, &len);
	if (len == 0)
		return VALUE_BAD_SYNTAX;
	if (ascii_is_junk(*s) && !ascii_is_digit(*s) && *s != '-' && *s != '+')
		return VALUE_BAD_SYNTAX;
	return VALUE_ASK;
}

/* Whether s is a prefix, of at least least characters, of a lower-case word. */
static bool
is_prefix_of(const char *s, size_t len, const char *word, size_t least)
{
	if (len < least || len > strlen(word))
		return false;
	for (size_t i = 0; i < len; i++)
	{
		char		c = s[i];

		if (c >= 'A' && c <= 'Z')
			c = (char) (c | 0x20);
		if (c != word[i])
			return false;
	}
	return true;
}

ValueResult
value_bool(const char *s, size_t len, bool *out)
{
	if (LIKELY(len == 1))
	{
		switch (*s)
		{
			case 't':
			case 'T':
			case '1':
			case 'y':
			case 'Y':
				*out = true;
				return VALUE_OK;
			case 'f':
			case 'F':
			case '0':
			case 'n':
			case 'N':
				*out = false;
				return VALUE_OK;
		}
	}
	ascii_trim(&s, &len);
	if (is_prefix_of(s, len, "true", 1) || is_prefix_of(s, len, "yes", 1) ||
		is_prefix_of(s, len, "on", 2) || (len == 1 && *s == '1'))
	{
		*out = true;
		return VALUE_OK;
	}
	if (is_prefix_of(s, len, "false", 1) || is_prefix_of(s, len, "no", 1) ||
		is_prefix_of(s, len, "off", 2) || (len == 1 && *s == '0'))
	{
		*out = false;
		return VALUE_OK;
	}
	/* high bytes may be white space to some locale, a zero byte ends early */
	for (size_t i = 0; i < len; i++)
	{
		if (!ascii_is_plain(s[i]))
			return VALUE_ASK;
	}
	return VALUE_BAD_SYNTAX;
}

/*
 * Eight hex digits to four bytes, first in the low byte of the result.
 * *bad collects high bits where a byte is not a hex digit.
 */
static inline uint32_t
swar_unhex(uint64_t word, uint64_t *bad)
{
	uint64_t	low = word & ~SWAR_HIGHS;
	uint64_t	lower = low | (SWAR_ONES * 0x20);
	uint64_t	digit = (low + SWAR_ONES * (0x80 - '0')) &
		~(low + SWAR_ONES * (0x7f - '9'));
	uint64_t	letter = (lower + SWAR_ONES * (0x80 - 'a')) &
		~(lower + SWAR_ONES * (0x7f - 'f'));
	uint64_t	nibbles;

	*bad |= (word | ~(digit | letter)) & SWAR_HIGHS;
	nibbles = (word & (SWAR_ONES * 0x0f)) +
		((word >> 6) & SWAR_ONES) * 9;
	/* join nibble pairs, then close the gaps */
	word = ((nibbles << 4) | (nibbles >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	word = (word | (word >> 8)) & UINT64_C(0x0000ffff0000ffff);
	return (uint32_t) (word | (word >> 16));
}

static inline void
store_low_first(uint8_t *out, uint32_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value = __builtin_bswap32(value);
#endif
	memcpy(out, &value, sizeof(value));
}

ValueResult
value_uuid(const char *s, size_t len, uint8_t out[16])
{
	const uint64_t half = UINT64_C(0xffffffff);
	uint64_t	bad = 0;

	if (LIKELY(len == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' &&
			   s[23] == '-'))
	{
		store_low_first(out, swar_unhex(swar_load(s), &bad));
		store_low_first(out + 4, swar_unhex((swar_load(s + 9) & half) |
											swar_load(s + 14) << 32, &bad));
		store_low_first(out + 8, swar_unhex((swar_load(s + 19) & half) |
											swar_load(s + 24) << 32, &bad));
		store_low_first(out + 12, swar_unhex(swar_load(s + 28), &bad));
		if (LIKELY(bad == 0))
			return VALUE_OK;
	}
	else if (len == 32)
	{
		for (int i = 0; i < 4; i++)
			store_low_first(out + 4 * i, swar_unhex(swar_load(s + 8 * i), &bad));
		if (LIKELY(bad == 0))
			return VALUE_OK;
	}

	/* other forms have braces and hyphens elsewhere, but only these */
	for (size_t i = 0; i < len; i++)
	{
		char		c = s[i];
		char		lower = (char) (c | 0x20);

		if (!ascii_is_plain(c))
			return VALUE_ASK;
		if (!ascii_is_digit(c) && (lower < 'a' || lower > 'f') &&
			c != '-' && c != '{' && c != '}')
			return VALUE_BAD_SYNTAX;
	}
	return len == 0 ? VALUE_BAD_SYNTAX : VALUE_ASK;
}

ValueResult
value_bits(const char *s, size_t len, uint8_t *out)
{
	uint64_t	bad = 0;

	while (len > 0)
	{
		size_t		n = len < 8 ? len : 8;
		uint64_t	word = swar_load(s);

		if (n < 8)
		{
			uint64_t	keep = ~(~UINT64_C(0) << (n * 8));

			word = (word & keep) | (SWAR_ZEROS & ~keep);
		}
		bad |= word ^ SWAR_ZEROS;
		/* bit 8i moves to bit 63 - i of the product, without carries */
		*out++ = (uint8_t) (((word & SWAR_ONES) *
							 UINT64_C(0x8040201008040201)) >> 56);
		s += n;
		len -= n;
	}
	return (bad & ~SWAR_ONES) == 0 ? VALUE_OK : VALUE_ASK;
}

ValueResult
value_bytea_hex(const char *s, size_t len, uint8_t *out, size_t *outlen)
{
	uint64_t	bad = 0;

	if (len < 2 || len % 2 != 0 || s[0] != '\\' || s[1] != 'x')
		return VALUE_ASK;
	s += 2;
	len -= 2;
	*outlen = len / 2;
	for (; len >= 8; len -= 8, s += 8, out += 4)
		store_low_first(out, swar_unhex(swar_load(s), &bad));
	if (len > 0)
	{
		uint32_t	bytes = swar_unhex(swar_pad(swar_load(s), len), &bad);

		for (size_t i = 4 - len / 2; i < 4; i++)
			*out++ = (uint8_t) (bytes >> (8 * i));
	}
	return bad == 0 ? VALUE_OK : VALUE_ASK;
}

size_t
value_utf8_length(const char *s, size_t len)
{
	size_t		trailing = 0;
	size_t		i = 0;

	/* a trailing byte has bit 7 set and bit 6 clear */
	while (i + 8 <= len)
	{
		uint64_t	sums = 0;
		size_t		stop = len - i > 255 * 8 ? i + 255 * 8 : len;

		for (; i + 8 <= stop; i += 8)
		{
			uint64_t	word;

			memcpy(&word, s + i, sizeof(word));
			sums += (word >> 7) & ~(word >> 6) & SWAR_ONES;
		}
		/* eight counters of up to 255 */
		sums = (sums & UINT64_C(0x00ff00ff00ff00ff)) +
			((sums >> 8) & UINT64_C(0x00ff00ff00ff00ff));
		trailing += (sums * UINT64_C(0x0001000100010001)) >> 48;
	}
	if (i < len)
	{
		uint64_t	word = swar_load(s + i) & ((UINT64_C(1) << (len - i) * 8) - 1);

		trailing += (((word >> 7) & ~(word >> 6) & SWAR_ONES) * SWAR_ONES) >> 56;
	}
	return len - trailing;
}
