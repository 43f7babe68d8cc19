/*
 * values_number.c
 *		Text to float4, float8 and numeric.
 *
 * All three begin alike: digits and a point become one integer of up to 19
 * digits and a power of ten.  Floats are then rounded exactly, so that the
 * result is what strtod and strtof give; numerics are cut to base 10000.
 */
#include "scan/values.h"
#include "scan/values_swar.h"
#include "scan/wide.h"

/* mantissa * 10^exponent; scale is the number of digits after the point. */
typedef struct Decimal
{
	bool		negative;
	uint64_t	mantissa;
	int			scale;
	int			exponent;		/* as written after the e, less the scale */
} Decimal;

/* Longest text for the fast path: 16 digits and a point. */
#define SHORT_TEXT 16

/* Exponents beyond these are left to the server. */
#define EXPONENT_LIMIT 1000

static const uint64_t power_of_10[20] = {
	UINT64_C(1), UINT64_C(10), UINT64_C(100), UINT64_C(1000),
	UINT64_C(10000), UINT64_C(100000), UINT64_C(1000000),
	UINT64_C(10000000), UINT64_C(100000000), UINT64_C(1000000000),
	UINT64_C(10000000000), UINT64_C(100000000000),
	UINT64_C(1000000000000), UINT64_C(10000000000000),
	UINT64_C(100000000000000), UINT64_C(1000000000000000),
	UINT64_C(10000000000000000), UINT64_C(100000000000000000),
	UINT64_C(1000000000000000000), UINT64_C(10000000000000000000)
};

/* Position of the first point in word, 8 if there is none. */
static inline size_t
find_point(uint64_t word)
{
	uint64_t	x = word ^ (SWAR_ONES * '.');
	uint64_t	zero = (x - SWAR_ONES) & ~x & SWAR_HIGHS;

	return zero ? (size_t) __builtin_ctzll(zero) >> 3 : 8;
}

/*
 * The fast path: n (1 to 16) bytes, digits with at most one point in or around
 * them.  False for anything else.
 */
static inline bool
decimal_short(const char *s, size_t n, Decimal *out)
{
	uint64_t	low = swar_load(s);
	size_t		point = find_point(low);
	scan_uint128 text;
	uint64_t	head;
	uint64_t	tail;
	unsigned	drop;

	out->scale = 0;
	if (n <= 8)
	{
		if (point < n)
		{
			uint64_t	after = ~UINT64_C(0) << (point * 8);

			low = (low & ~after) | ((low >> 8) & after);
			out->scale = (int) (n - 1 - point);
			if (--n == 0)
				return false;
		}
		tail = swar_pad(low, n);
		out->mantissa = swar_fold(tail);
		out->exponent = -out->scale;
		return swar_all_digits(tail);
	}

	text = (scan_uint128) swar_load(s + 8) << 64 | low;
	if (point == 8)
		point += find_point((uint64_t) (text >> 64));
	if (point < n)
	{
		scan_uint128 after = ~(scan_uint128) 0 << (point * 8);

		text = (text & ~after) | ((text >> 8) & after);
		out->scale = (int) (n - 1 - point);
		n--;
	}
	drop = (unsigned) (16 - n) * 8;
	text <<= drop;
	head = (uint64_t) text;
	tail = (uint64_t) (text >> 64);
	if (drop < 64)
		head |= SWAR_ZEROS & ~(~UINT64_C(0) << drop);
	else
		head = SWAR_ZEROS;
	out->mantissa = (uint64_t) swar_fold(head) * 100000000 + swar_fold(tail);
	out->exponent = -out->scale;
	return swar_all_digits(head) && swar_all_digits(tail);
}

/* The first byte from s on that is not a digit, or end. */
static inline const char *
skip_digits(const char *s, const char *end)
{
	while (end - s >= 8 && swar_all_digits(swar_load(s)))
		s += 8;
	while (s < end && ascii_is_digit(*s))
		s++;
	return s;
}

/* The parts of a number in its text. */
typedef struct DecimalParts
{
	bool		negative;
	const char *whole;			/* digits before the point */
	size_t		nwhole;
	const char *fraction;		/* digits after it; NULL without a point */
	size_t		nfraction;
	int			exponent;		/* as written after the e */
} DecimalParts;

/*
 * The slow path, byte by byte: sign, point, exponent, surrounding white space.
 * BAD_SYNTAX only without an exponent, which could overflow before a server
 * sees what follows.
 */
static ValueResult
decimal_parts(const char *s, size_t len, DecimalParts *out)
{
	const char *end;

	memset(out, 0, sizeof(*out));
	ascii_trim(&s, &len);
	end = s + len;
	if (s < end && (*s == '-' || *s == '+'))
		out->negative = *s++ == '-';
	if (s == end)
		return VALUE_BAD_SYNTAX;

	out->whole = s;
	s = skip_digits(s, end);
	out->nwhole = (size_t) (s - out->whole);
	if (s < end && *s == '.')
	{
		out->fraction = ++s;
		s = skip_digits(s, end);
		out->nfraction = (size_t) (s - out->fraction);
	}
	if (out->nwhole + out->nfraction == 0)
	{
		/* no number: NaN, infinity, nan(...), or nothing a server knows */
		if (ascii_is_junk(*out->whole) && *out->whole != '.' &&
			(*out->whole | 0x20) != 'n' && (*out->whole | 0x20) != 'i')
			return VALUE_BAD_SYNTAX;
		return VALUE_ASK;
	}
	if (s == end)
		return VALUE_OK;

	if (*s == 'e' || *s == 'E')
	{
		bool		negative = false;

		s++;
		if (s < end && (*s == '-' || *s == '+'))
			negative = *s++ == '-';
		if (s == end)
			return VALUE_ASK;
		for (; s < end && ascii_is_digit(*s); s++)
		{
			out->exponent = out->exponent * 10 + (*s - '0');
			if (out->exponent > EXPONENT_LIMIT)
				return VALUE_ASK;
		}
		if (negative)
			out->exponent = -out->exponent;
		return s == end ? VALUE_OK : VALUE_ASK;
	}

	/*
	 * A letter after a lone zero may be a prefix: 0x 0o 0b.  With more digits
	 * than that a float4 could be out of range before it is found bad.
	 */
	if ((out->nwhole == 1 && *out->whole == '0' && out->fraction == NULL) ||
		out->nwhole + out->nfraction > 30 ||
		!ascii_is_bad_tail(s, (size_t) (end - s)))
		return VALUE_ASK;
	return VALUE_BAD_SYNTAX;
}

/* Cuts zeros before the first significant digit, wherever that is. */
static void
skip_zeros(DecimalParts *parts)
{
	while (parts->nwhole > 0 && *parts->whole == '0')
	{
		parts->whole++;
		parts->nwhole--;
	}
	if (parts->nwhole > 0)
		return;
	while (parts->nfraction > 0 && *parts->fraction == '0')
	{
		parts->fraction++;
		parts->nfraction--;
		parts->exponent--;
	}
}

/* A number of up to 19 significant digits, for floats; more is VALUE_ASK. */
static ValueResult
decimal_long(const char *s, size_t len, Decimal *out)
{
	DecimalParts parts;
	ValueResult result = decimal_parts(s, len, &parts);
	uint64_t	fraction = 0;

	if (result != VALUE_OK)
		return result;
	if (parts.nfraction > EXPONENT_LIMIT)
		return VALUE_ASK;
	out->negative = parts.negative;
	out->scale = (int) parts.nfraction;
	out->exponent = parts.exponent - out->scale;
	out->mantissa = 0;
	skip_zeros(&parts);
	if (parts.nwhole + parts.nfraction > 19)
		return VALUE_ASK;
	if (parts.nwhole > 0)
		(void) swar_fold_digits(parts.whole, parts.nwhole, &out->mantissa);
	if (parts.nfraction > 0)
	{
		(void) swar_fold_digits(parts.fraction, parts.nfraction, &fraction);
		out->mantissa = out->mantissa * power_of_10[parts.nfraction] + fraction;
	}
	return VALUE_OK;
}

static inline ValueResult
decimal_read(const char *s, size_t len, Decimal *out)
{
	out->negative = len > 0 && *s == '-';
	if (LIKELY(len - out->negative - 1 < SHORT_TEXT &&
			   decimal_short(s + out->negative, len - out->negative, out)))
		return VALUE_OK;
	return decimal_long(s, len, out);
}

/*
 * mantissa * 10^exponent, rounded half to even to nbits (at most 62) binary
 * digits: *bits * 2^*power.  mantissa is not 0 and |exponent| <= 19, so that
 * the product or the quotient is exact except for a remainder, which is all
 * that rounding needs.
 */
static void
round_to_binary(uint64_t mantissa, int exponent, int nbits,
				uint64_t *bits, int *power)
{
	uint64_t	top;			/* 64 bits, the highest one set */
	bool		rest;			/* something follows them */
	int			drop = 64 - nbits;
	uint64_t	half = UINT64_C(1) << (drop - 1);
	uint64_t	tail;

	if (exponent >= 0)
	{
		scan_uint128 product = (scan_uint128) mantissa * power_of_10[exponent];
		uint64_t	high = (uint64_t) (product >> 64);
		int			shift;

		shift = high ? __builtin_clzll(high) :
			64 + __builtin_clzll((uint64_t) product);
		product <<= shift;
		top = (uint64_t) (product >> 64);
		rest = (uint64_t) product != 0;
		*power = 64 - shift;
	}
	else
	{
		uint64_t	divisor = power_of_10[-exponent];
		int			m_shift = __builtin_clzll(mantissa);
		int			d_shift = __builtin_clzll(divisor);
		scan_uint128 dividend;
		int			lift;

		mantissa <<= m_shift;
		divisor <<= d_shift;
		lift = mantissa < divisor ? 64 : 63;
		dividend = (scan_uint128) mantissa << lift;
		top = (uint64_t) (dividend / divisor);
		rest = (scan_uint128) top * divisor != dividend;
		*power = d_shift - m_shift - lift;
	}

	tail = top & ((half << 1) - 1);
	top >>= drop;
	*power += drop;
	if (tail > half || (tail == half && (rest || (top & 1))))
		top++;
	if (top >> nbits)
	{
		top >>= 1;
		(*power)++;
	}
	*bits = top;
}

ValueResult
value_float8(const char *s, size_t len, double *out)
{
	static const double exact_power[] = {
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
		1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22
	};
	Decimal		decimal;
	ValueResult result = decimal_read(s, len, &decimal);
	double		value;

	if (result != VALUE_OK)
		return result;
	if (LIKELY(decimal.mantissa <= (UINT64_C(1) << 53) &&
			   decimal.exponent >= -22 && decimal.exponent <= 22))
	{
		/* both operands are exact, so one correctly rounded operation is */
		value = (double) decimal.mantissa;
		if (decimal.exponent < 0)
			value /= exact_power[-decimal.exponent];
		else
			value *= exact_power[decimal.exponent];
	}
	else if (decimal.mantissa == 0)
		value = 0;
	else if (decimal.exponent >= -19 && decimal.exponent <= 19)
	{
		uint64_t	bits;
		int			power;

		round_to_binary(decimal.mantissa, decimal.exponent, 53, &bits, &power);
		bits = (bits & ((UINT64_C(1) << 52) - 1)) |
			(uint64_t) (power + 52 + 1023) << 52;
		memcpy(&value, &bits, sizeof(value));
	}
	else
		return VALUE_ASK;
	*out = decimal.negative ? -value : value;
	return VALUE_OK;
}

ValueResult
value_float4(const char *s, size_t len, float *out)
{
	static const float exact_power[] = {
		1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f
	};
	Decimal		decimal;
	ValueResult result = decimal_read(s, len, &decimal);
	float		value;

	if (result != VALUE_OK)
		return result;
	if (LIKELY(decimal.mantissa <= (UINT64_C(1) << 24) &&
			   decimal.exponent >= -10 && decimal.exponent <= 10))
	{
		value = (float) decimal.mantissa;
		if (decimal.exponent < 0)
			value /= exact_power[-decimal.exponent];
		else
			value *= exact_power[decimal.exponent];
	}
	else if (decimal.mantissa == 0)
		value = 0;
	else if (decimal.exponent >= -19 && decimal.exponent <= 19)
	{
		/* from 1e-19 to 1.9e38: always a normal float4 */
		uint64_t	bits;
		uint32_t	word;
		int			power;

		round_to_binary(decimal.mantissa, decimal.exponent, 24, &bits, &power);
		word = ((uint32_t) bits & ((UINT32_C(1) << 23) - 1)) |
			(uint32_t) (power + 23 + 127) << 23;
		memcpy(&value, &word, sizeof(value));
	}
	else
		return VALUE_ASK;
	*out = decimal.negative ? -value : value;
	return VALUE_OK;
}

/* Drops trailing zero digits and fills in what depends on the digits. */
static inline void
numeric_finish(ValueNumeric *out)
{
	while (out->ndigits > 0 && out->digits[out->ndigits - 1] == 0)
		out->ndigits--;
	if (out->ndigits == 0)
	{
		out->weight = 0;
		out->negative = false;
		out->int_digits = 0;
		return;
	}
	out->int_digits = 0;
	if (out->weight >= 0)
	{
		int			first = out->digits[0];

		out->int_digits = out->weight * 4 + 1 + (first >= 10) +
			(first >= 100) + (first >= 1000);
	}
}

/*
 * Any number of digits that fits: they are copied together behind as many
 * zeros as put the point between two groups of four.
 */
static ValueResult
numeric_long(const char *s, size_t len, ValueNumeric *out)
{
	char		text[VALUE_NUMERIC_DIGITS * 4 + 8];
	DecimalParts parts;
	ValueResult result = decimal_parts(s, len, &parts);
	size_t		total;
	size_t		lead;			/* zeros before the first digit */
	int			place;			/* power of ten of the first digit */
	int			dscale;

	if (result != VALUE_OK)
		return result;
	if (parts.nfraction > EXPONENT_LIMIT)
		return VALUE_ASK;
	dscale = (int) parts.nfraction - parts.exponent;
	out->negative = parts.negative;
	out->dscale = dscale > 0 ? dscale : 0;
	skip_zeros(&parts);
	total = parts.nwhole + parts.nfraction;
	if (total > VALUE_NUMERIC_DIGITS * 4 - 3)
		return VALUE_ASK;

	/* floor division: all places lie above -4 * EXPONENT_LIMIT */
	place = (int) parts.nwhole - 1 + parts.exponent;
	out->weight = (place + 4 * EXPONENT_LIMIT) / 4 - EXPONENT_LIMIT;
	lead = (size_t) (out->weight * 4 + 3 - place);
	out->ndigits = (int) (lead + total + 3) / 4;

	memset(text, '0', 4);
	if (parts.nwhole > 0)
		memcpy(text + lead, parts.whole, parts.nwhole);
	if (parts.nfraction > 0)
		memcpy(text + lead + parts.nwhole, parts.fraction, parts.nfraction);
	memset(text + lead + total, '0', 4);
	for (int i = 0; i < out->ndigits; i++)
	{
		const char *group = text + i * 4;

		out->digits[i] = (int16_t) ((group[0] - '0') * 1000 +
									(group[1] - '0') * 100 +
									(group[2] - '0') * 10 + (group[3] - '0'));
	}
	numeric_finish(out);
	return VALUE_OK;
}

ValueResult
value_numeric(const char *s, size_t len, ValueNumeric *out)
{
	bool		negative = len > 0 && *s == '-';
	Decimal		decimal;
	uint64_t	rest;
	unsigned	align;			/* zeros to append */
	int			after;			/* groups after the point */

	if (UNLIKELY(len - negative - 1 >= SHORT_TEXT ||
				 !decimal_short(s + negative, len - negative, &decimal)))
		return numeric_long(s, len, out);

	/* at most 16 digits, and 3 more to align the point: fits 64 bits */
	align = (unsigned) -decimal.scale & 3;
	rest = decimal.mantissa * power_of_10[align];
	after = (decimal.scale + (int) align) / 4;
	out->negative = negative;
	out->dscale = decimal.scale;

	if (LIKELY(rest < 100000000))
	{
		/* one or two groups, which of them is not worth a branch */
		unsigned	high = (unsigned) rest / 10000;
		unsigned	low = (unsigned) rest % 10000;

		out->digits[0] = (int16_t) (high != 0 ? high : low);
		out->digits[1] = (int16_t) low;
		out->weight = (high != 0) - after;
		out->ndigits = (high != 0) + (low != 0);
	}
	else
	{
		int16_t		reversed[5];
		int			groups = 0;

		do
		{
			reversed[groups++] = (int16_t) (rest % 10000);
			rest /= 10000;
		} while (rest != 0);
		for (int i = 0; i < groups; i++)
			out->digits[i] = reversed[groups - 1 - i];
		out->weight = groups - 1 - after;
		out->ndigits = groups;
	}
	numeric_finish(out);
	return VALUE_OK;
}
