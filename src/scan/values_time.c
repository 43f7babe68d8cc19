/*
 * values_time.c
 *		Text to dates and times, in ISO 8601's order of fields.
 *
 * Only forms that every DateStyle reads alike: four digits of year, then
 * month and day with two digits each, hyphens between.
 */
#include "scan/values.h"
#include "scan/values_swar.h"

#define USECS_PER_SEC INT64_C(1000000)

/* Days before each month of a year that is not a leap year. */
static const int16_t days_before_month[14] = {
	0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365
};

/* A word that differs from a template by digits 0 to 9 only. */
static inline bool
swar_is_digits(uint64_t x)
{
	return ((x | (x + UINT64_C(0x7676767676767676))) & SWAR_HIGHS) == 0;
}

/* In each byte: the digit there times ten, plus the digit after it. */
static inline uint64_t
swar_pairs(uint64_t x)
{
	return x * 10 + (x >> 8);
}

/*
 * Ten bytes, YYYY-MM-DD.  BAD_RANGE for a year, month or day that is not in
 * the calendar; year, month and day are set then, too.
 */
static inline ValueResult
read_date(const char *s, ValueTime *out)
{
	/* "0000-00-" with the first byte low */
	uint64_t	x = swar_load(s) ^ UINT64_C(0x2d30302d30303030);
	unsigned	tens = (unsigned char) s[8] - (unsigned) '0';
	unsigned	ones = (unsigned char) s[9] - (unsigned) '0';
	uint64_t	pairs;
	int			year;
	int			month;
	int			day;
	int			before;
	bool		leap;

	if (UNLIKELY(!swar_is_digits(x) ||
				 (x & UINT64_C(0xff0000ff00000000)) != 0 ||
				 tens > 9 || ones > 9))
		return VALUE_ASK;
	pairs = swar_pairs(x);
	year = (int) (pairs & 0xff) * 100 + (int) (pairs >> 16 & 0xff);
	month = (int) (pairs >> 40 & 0xff);
	day = (int) (tens * 10 + ones);
	out->year = year;
	out->month = month;
	out->day = day;

	if (UNLIKELY(year < 1 || month < 1 || month > 12 || day < 1))
		return VALUE_BAD_RANGE;
	leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	if (UNLIKELY(day > days_before_month[month + 1] -
				 days_before_month[month] + (leap && month == 2)))
		return VALUE_BAD_RANGE;

	/* 730119 days from 0001-01-01 to 2000-01-01 */
	before = year - 1;
	out->days = before * 365 + before / 4 - before / 100 + before / 400 +
		days_before_month[month] + (leap && month > 2) + day - 1 - 730119;
	return VALUE_OK;
}

/*
 * HH:MM[:SS[.f{1,6}]] at s, before end.  Returns the first byte after it,
 * or NULL where it is anything else.
 */
static inline const char *
read_time(const char *s, const char *end, ValueTime *out)
{
	uint64_t	x;
	uint64_t	pairs;
	size_t		n;

	if (end - s < 5)
		return NULL;
	/* "00:00:00" with the first byte low */
	x = swar_load(s) ^ UINT64_C(0x30303a30303a3030);
	n = 8;
	if (end - s < 8 || s[5] != ':')
	{
		x &= UINT64_C(0xffffffffff);
		n = 5;
	}
	if (UNLIKELY(!swar_is_digits(x) ||
				 (x & UINT64_C(0x0000ff0000ff0000)) != 0))
		return NULL;
	pairs = swar_pairs(x);
	out->hour = (int) (pairs & 0xff);
	out->minute = (int) (pairs >> 24 & 0xff);
	out->second = (int) (pairs >> 48 & 0xff);
	out->fraction = 0;
	if (UNLIKELY(out->hour > 23 || out->minute > 59 || out->second > 59))
		return NULL;

	s += n;
	if (n == 8 && s < end && *s == '.')
	{
		uint64_t	word = swar_load(++s) ^ SWAR_ZEROS;
		uint64_t	stop;
		uint64_t	keep;
		size_t		digits;

		/* high bit of each byte that is not a digit; bit 56 is always set */
		stop = ((word | ((word & ~SWAR_HIGHS) +
						 UINT64_C(0x7676767676767676))) & SWAR_HIGHS) |
			UINT64_C(1) << 63;
		digits = (size_t) __builtin_ctzll(stop) >> 3;
		if ((size_t) (end - s) < digits)
			digits = (size_t) (end - s);
		if (UNLIKELY(digits < 1 || digits > 6))
			return NULL;
		keep = ~(~UINT64_C(0) << (digits * 8));
		out->fraction = (int) (swar_fold((word & keep) | SWAR_ZEROS) / 100);
		s += digits;
	}
	out->usec = (int64_t) (out->hour * 3600 + out->minute * 60 +
						   out->second) * USECS_PER_SEC + out->fraction;
	return s;
}

/* The value of two digits at s; -1: they are not digits. */
static inline int
read_pair(const char *s)
{
	if (!ascii_is_digit(s[0]) || !ascii_is_digit(s[1]))
		return -1;
	return (s[0] - '0') * 10 + (s[1] - '0');
}

/*
 * All of s[0 .. len) as a zone: Z, or +HH, +HHMM, +HH:MM, +HH:MM:SS and the
 * same with a minus, up to 15:59:59.
 */
static bool
read_zone(const char *s, size_t len, ValueTime *out)
{
	int			hours;
	int			minutes = 0;
	int			seconds = 0;

	if (len == 1 && (*s == 'Z' || *s == 'z'))
	{
		out->zone = VALUE_ZONE_Z;
		return true;
	}
	if (len < 3 || (*s != '+' && *s != '-'))
		return false;
	hours = read_pair(s + 1);
	if (len == 5)
		minutes = read_pair(s + 3);
	else if (len == 6 && s[3] == ':')
		minutes = read_pair(s + 4);
	else if (len == 9 && s[3] == ':' && s[6] == ':')
	{
		minutes = read_pair(s + 4);
		seconds = read_pair(s + 7);
	}
	else if (len != 3)
		return false;
	if (hours < 0 || hours > 15 || minutes < 0 || minutes > 59 ||
		seconds < 0 || seconds > 59)
		return false;
	out->zone = VALUE_ZONE_OFFSET;
	out->offset = hours * 3600 + minutes * 60 + seconds;
	if (*s == '-')
		out->offset = -out->offset;
	return true;
}

ValueResult
value_date(const char *s, size_t len, int32_t *out)
{
	ValueTime	time;
	ValueResult result;

	if (UNLIKELY(len != 10))
		return len == 0 ? VALUE_BAD_SYNTAX : VALUE_ASK;
	result = read_date(s, &time);
	if (LIKELY(result == VALUE_OK))
		*out = time.days;
	return result;
}

ValueResult
value_timestamp(const char *s, size_t len, ValueTime *out)
{
	const char *end = s + len;
	ValueResult result;

	if (UNLIKELY(len < 10))
		return len == 0 ? VALUE_BAD_SYNTAX : VALUE_ASK;
	result = read_date(s, out);
	if (UNLIKELY(result == VALUE_ASK))
		return result;
	out->zone = VALUE_ZONE_NONE;
	out->offset = 0;
	s += 10;
	if (s == end)
	{
		out->usec = 0;
		out->hour = out->minute = out->second = out->fraction = 0;
		return result;
	}
	if (*s != ' ' && *s != 'T')
		return VALUE_ASK;
	s = read_time(s + 1, end, out);
	if (s == NULL)
		return VALUE_ASK;
	if (s < end)
	{
		if (*s == ' ')
			s++;
		if (!read_zone(s, (size_t) (end - s), out))
			return VALUE_ASK;
	}
	return result;
}

ValueResult
value_time(const char *s, size_t len, int64_t *out)
{
	ValueTime	time;

	if (UNLIKELY(len == 0))
		return VALUE_BAD_SYNTAX;
	if (UNLIKELY(read_time(s, s + len, &time) != s + len))
		return VALUE_ASK;
	*out = time.usec;
	return VALUE_OK;
}
