/*
 * values_money.c
 *		Text to amounts of money.
 */
#include "scan/values.h"
#include "scan/values_swar.h"

/* So many digits before the point never overflow. */
#define MAX_DIGITS 15
#define PLACES 2

/*
 * The digits from *s on, with commas between them, into *value; returns how
 * many these are, at most one more than MAX_DIGITS.
 */
static size_t
take_digits(const char **s, const char *end, uint64_t *value)
{
	size_t		digits = 0;
	const char *p = *s;

	while (p < end && digits <= MAX_DIGITS)
	{
		if (*p == ',' && digits > 0 && end - p > 1 && ascii_is_digit(p[1]))
			p++;
		if (!ascii_is_digit(*p))
			break;
		*value = *value * 10 + (uint64_t) (*p++ - '0');
		digits++;
	}
	*s = p;
	return digits;
}

ValueResult
value_money(const char *s, size_t len, int64_t *out)
{
	const char *end = s + len;
	bool		negative = s < end && *s == '-';
	uint64_t	value = 0;
	size_t		digits;
	size_t		places = 0;

	s += negative;
	if (s < end && *s == '$')
		s++;
	digits = take_digits(&s, end, &value);
	if (digits == 0 || digits > MAX_DIGITS)
		return VALUE_ASK;
	if (s < end && *s == '.')
	{
		for (s++; s < end && places < PLACES && ascii_is_digit(*s); s++, places++)
			value = value * 10 + (uint64_t) (*s - '0');
		if (places == 0)
			return VALUE_ASK;
	}
	if (s != end)
		return VALUE_ASK;
	for (; places < PLACES; places++)
		value *= 10;
	*out = negative ? -(int64_t) value : (int64_t) value;
	return VALUE_OK;
}
