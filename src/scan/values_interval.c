/*
 * values_interval.c
 *		Text to intervals.
 *
 * Only forms that every IntervalStyle reads alike: each number with its unit.
 */
#include "scan/values.h"
#include "scan/values_swar.h"

#define USECS_PER_SEC INT64_C(1000000)

/* Numbers of so many digits never overflow 64 bits, whatever their unit. */
#define MAX_DIGITS 9

typedef enum Unit
{
	UNIT_YEAR,
	UNIT_MONTH,
	UNIT_WEEK,
	UNIT_DAY,
	UNIT_HOUR,
	UNIT_MINUTE,
	UNIT_SECOND
} Unit;

#define UNITS_OF_TIME (1 << UNIT_HOUR | 1 << UNIT_MINUTE | 1 << UNIT_SECOND)

/* Their names, without an s at the end. */
static const struct
{
	const char *name;
	size_t		length;
	Unit		unit;
}			units[] =
{
	{"day", 3, UNIT_DAY},
	{"mon", 3, UNIT_MONTH},
	{"year", 4, UNIT_YEAR},
	{"hour", 4, UNIT_HOUR},
	{"min", 3, UNIT_MINUTE},
	{"sec", 3, UNIT_SECOND},
	{"month", 5, UNIT_MONTH},
	{"minute", 6, UNIT_MINUTE},
	{"second", 6, UNIT_SECOND},
	{"week", 4, UNIT_WEEK},
};

/* What has been read. */
typedef struct Reader
{
	const char *s;
	const char *end;
	unsigned	seen;			/* bit for each unit */
	int			fields;
	bool		first_minus;	/* the first field has one */
	bool		later_sign;		/* another field has a sign */
	int64_t		months;
	int64_t		days;
	int64_t		usec;
} Reader;

static inline bool
read_sign(Reader *reader)
{
	bool		minus = *reader->s == '-';

	if (minus || *reader->s == '+')
	{
		reader->s++;
		reader->first_minus |= minus && reader->fields == 0;
		reader->later_sign |= reader->fields > 0;
	}
	reader->fields++;
	return minus;
}

static inline bool
read_number(Reader *reader, int64_t *value)
{
	const char *start = reader->s;
	const char *s = start;
	int64_t		number = 0;

	while (s < reader->end && ascii_is_digit(*s) && s - start <= MAX_DIGITS)
		number = number * 10 + (*s++ - '0');
	reader->s = s;
	*value = number;
	return s > start && s - start <= MAX_DIGITS;
}

/* Two digits up to 59, after a colon. */
static inline bool
read_sixty(Reader *reader, int64_t *value)
{
	const char *s = reader->s;

	if (reader->end - s < 3 || *s != ':' || s[1] < '0' || s[1] > '5' ||
		!ascii_is_digit(s[2]))
		return false;
	*value = (s[1] - '0') * 10 + (s[2] - '0');
	reader->s += 3;
	return true;
}

/* ".f{1,6}" */
static bool
read_fraction(Reader *reader, int64_t *usec)
{
	const char *s = reader->s + 1;
	int64_t		scale = USECS_PER_SEC;

	for (; s < reader->end && ascii_is_digit(*s) && scale > 1; s++)
	{
		scale /= 10;
		*usec += (*s - '0') * scale;
	}
	reader->s = s;
	return scale < USECS_PER_SEC;
}

/* ":MM[:SS[.f{1,6}]]", which is the rest. */
static bool
read_clock(Reader *reader, bool minus, int64_t hours)
{
	int64_t		minutes;
	int64_t		seconds = 0;
	int64_t		usec = 0;

	if ((reader->seen & UNITS_OF_TIME) != 0 || !read_sixty(reader, &minutes))
		return false;
	if (reader->s < reader->end && !read_sixty(reader, &seconds))
		return false;
	if (reader->s < reader->end && *reader->s == '.' && !read_fraction(reader, &usec))
		return false;
	usec += ((hours * 60 + minutes) * 60 + seconds) * USECS_PER_SEC;
	reader->usec = minus ? -usec : usec;
	return reader->s == reader->end;
}

/* The unit whose name is next, up to a space or the end; -1: there is none. */
static inline int
read_unit(Reader *reader)
{
	const char *s = reader->s;
	const char *end = s;
	size_t		length;

	while (end < reader->end && *end != ' ')
		end++;
	reader->s = end;
	length = (size_t) (end - s);
	if (length > 1 && end[-1] == 's')
		length--;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].length == length && memcmp(units[i].name, s, length) == 0)
			return units[i].unit;
	return -1;
}

/* False: for the server the product is out of range, whatever is added to it. */
static inline bool
add_units(Reader *reader, Unit unit, int64_t number)
{
	switch (unit)
	{
		case UNIT_YEAR:
			reader->months += number * 12;
			break;
		case UNIT_MONTH:
			reader->months += number;
			break;
		case UNIT_WEEK:
			reader->days += number * 7;
			return number * 7 == (int32_t) (number * 7);
		case UNIT_DAY:
			reader->days += number;
			break;
		case UNIT_HOUR:
			reader->usec += number * 3600 * USECS_PER_SEC;
			break;
		case UNIT_MINUTE:
			reader->usec += number * 60 * USECS_PER_SEC;
			break;
		case UNIT_SECOND:
			reader->usec += number * USECS_PER_SEC;
			break;
	}
	return true;
}

/* A number with its unit, or a time. */
static inline bool
read_field(Reader *reader)
{
	bool		minus = read_sign(reader);
	int64_t		number;
	int			unit;

	if (!read_number(reader, &number) || reader->s == reader->end)
		return false;
	if (*reader->s == ':')
		return read_clock(reader, minus, number);
	if (*reader->s++ != ' ')
		return false;
	unit = read_unit(reader);
	if (unit < 0 || (reader->seen & 1u << unit) != 0)
		return false;
	reader->seen |= 1u << unit;
	return add_units(reader, (Unit) unit, minus ? -number : number);
}

ValueResult
value_interval(const char *s, size_t len, ValueInterval *out)
{
	Reader		reader = {.s = s, .end = s + len};

	do
	{
		if (reader.s == reader.end || !read_field(&reader))
			return VALUE_ASK;
	} while (reader.s < reader.end && *reader.s++ == ' ');

	/* style sql_standard applies the only sign to all fields */
	if (reader.first_minus && !reader.later_sign && reader.fields > 1)
		return VALUE_ASK;
	if (reader.s < reader.end || s[len - 1] == ' ' || reader.months != (int32_t) reader.months ||
		reader.days != (int32_t) reader.days)
		return VALUE_ASK;
	out->months = (int32_t) reader.months;
	out->days = (int32_t) reader.days;
	out->usec = reader.usec;
	return VALUE_OK;
}
