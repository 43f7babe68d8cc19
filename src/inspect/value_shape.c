/*
 * value_shape.c
 *		See value_shape.h.
 */
#include "inspect/value_shape.h"

#include <string.h>

const char *const shape_type_names[SHAPE_TYPES] = {
	[SHAPE_BOOL] = "boolean", [SHAPE_INT4] = "integer",
	[SHAPE_INT8] = "bigint", [SHAPE_NUMERIC] = "numeric",
	[SHAPE_FLOAT8] = "double precision", [SHAPE_DATE] = "date",
	[SHAPE_TIMESTAMP] = "timestamp", [SHAPE_TIMESTAMPTZ] = "timestamptz",
	[SHAPE_TIME] = "time", [SHAPE_UUID] = "uuid", [SHAPE_INET] = "inet",
	[SHAPE_JSONB] = "jsonb", [SHAPE_TEXT] = "text"
};

const char *const shape_nulls[SHAPE_NULLS] = {
	"\\N", "NULL", "null", "Null", "NA", "N/A", "n/a", "na", "#N/A", "nil",
	"None", "none", "(null)", "<null>", "-", "--", "?", ".", "missing"
};

#define NUMBERS (SHAPE_BIT(SHAPE_NUMERIC) | SHAPE_BIT(SHAPE_FLOAT8))
#define INTEGERS (SHAPE_BIT(SHAPE_INT4) | SHAPE_BIT(SHAPE_INT8))
#define TIMESTAMPS (SHAPE_BIT(SHAPE_TIMESTAMP) | SHAPE_BIT(SHAPE_TIMESTAMPTZ))

/* ---- the alphabet ---- */

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static inline bool
is_letter(char c)
{
	c = lower(c);
	return c >= 'a' && c <= 'z';
}

static inline bool
is_hex(char c)
{
	c = lower(c);
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Whether s is word, which is in lower case, but for case. */
static bool
is_word(const char *s, size_t len, const char *word)
{
	if (strlen(word) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (lower(s[i]) != word[i])
			return false;
	return true;
}

static size_t
count_digits(const char *s, size_t len)
{
	size_t		n = 0;

	while (n < len && is_digit(s[n]))
		n++;
	return n;
}

int
shape_null(const char *s, size_t len)
{
	if (len == 0 || len > 7)
		return -1;
	for (int i = 0; i < SHAPE_NULLS; i++)
		if (strlen(shape_nulls[i]) == len && memcmp(shape_nulls[i], s, len) == 0)
			return i;
	return -1;
}

/* ---- numbers ---- */

/*
 * A number's digits before the point.  Those of a code (007), or of a number to
 * dial, are not.
 */
static bool
is_integer_part(const char *s, size_t digits, bool plus, bool whole)
{
	if (digits > 1 && s[0] == '0')
		return false;
	return !(plus && whole && digits >= 6);
}

/* Which integer types hold so many digits, of which the first is not 0. */
static uint32_t
integer_types(const char *s, size_t digits, bool negative)
{
	static const char most4[] = "2147483647";
	static const char least4[] = "2147483648";
	static const char most8[] = "9223372036854775807";
	static const char least8[] = "9223372036854775808";

	if (digits < 10 ||
		(digits == 10 && memcmp(s, negative ? least4 : most4, 10) <= 0))
		return INTEGERS;
	if (digits < 19 ||
		(digits == 19 && memcmp(s, negative ? least8 : most8, 19) <= 0))
		return SHAPE_BIT(SHAPE_INT8);
	return 0;
}

/* Digits of a number but for the zeros that it begins with. */
static size_t
significant_digits(const char *s, size_t len)
{
	size_t		n = 0;

	for (size_t i = 0; i < len; i++)
		if (is_digit(s[i]) && (n > 0 || s[i] != '0'))
			n++;
	return n;
}

static uint32_t
number_types(const char *s, size_t len, char mark)
{
	bool		plus = len > 0 && s[0] == '+';
	bool		negative = len > 0 && s[0] == '-';
	size_t		at = plus || negative ? 1 : 0;
	size_t		whole = count_digits(s + at, len - at);
	size_t		start = at;
	size_t		decimals = 0;
	uint32_t	types;

	at += whole;
	if (at < len && s[at] == mark)
	{
		decimals = count_digits(s + at + 1, len - at - 1);
		at += 1 + decimals;

		/* 12. is a number, "12," hardly */
		if (decimals == 0 && mark == ',')
			return 0;
	}
	if (whole + decimals == 0 ||
		!is_integer_part(s + start, whole, plus, at == len && decimals == 0))
		return 0;

	/* as many digits as a double may have when it is written */
	types = SHAPE_BIT(SHAPE_NUMERIC);
	if (significant_digits(s + start, at - start) <= 17)
		types |= SHAPE_BIT(SHAPE_FLOAT8);
	if (at == len)
		return at > start + whole ? types :
			types | integer_types(s + start, whole, negative);

	if (lower(s[at++]) != 'e')
		return 0;
	if (at < len && (s[at] == '+' || s[at] == '-'))
		at++;
	decimals = count_digits(s + at, len - at);
	if (decimals == 0 || decimals > 3 || at + decimals != len)
		return 0;
	return SHAPE_BIT(SHAPE_FLOAT8);
}

static bool
is_special_number(const char *s, size_t len)
{
	if (len > 0 && (s[0] == '-' || s[0] == '+'))
		return is_word(s + 1, len - 1, "inf") || is_word(s + 1, len - 1, "infinity");
	return is_word(s, len, "nan") || is_word(s, len, "inf") ||
		is_word(s, len, "infinity");
}

static void
find_number(const char *s, size_t len, ValueShape *shape)
{
	const char *comma = memchr(s, ',', len);

	if (is_special_number(s, len))
	{
		shape->special = true;
		shape->types |= NUMBERS;
		shape->types_comma |= NUMBERS;
		return;
	}
	shape->types |= number_types(s, len, '.');
	shape->types_comma |= number_types(s, len, ',');
	shape->comma = comma != NULL && (shape->types_comma & NUMBERS) != 0;
	shape->thousand = shape->comma && s + len - comma == 4;
}

/* ---- dates and times ---- */

/* "HH:MM[:SS[.ffffff]]", hours of one digit included.  Returns its length or 0. */
static size_t
clock_length(const char *s, size_t len)
{
	size_t		hour = count_digits(s, len);
	size_t		at = hour;

	if (hour < 1 || hour > 2)
		return 0;
	for (int part = 0; part < 2; part++)
	{
		if (len - at < 3 || s[at] != ':' || count_digits(s + at + 1, len - at - 1) != 2)
			return part == 0 ? 0 : at;
		at += 3;
	}
	if (at < len && s[at] == '.')
	{
		size_t		fraction = count_digits(s + at + 1, len - at - 1);

		if (fraction > 0)
			at += 1 + fraction;
	}
	return at;
}

/* A zone behind a time: Z, UTC, GMT, or an offset. */
static bool
is_zone(const char *s, size_t len)
{
	size_t		digits;

	if (len > 0 && s[0] == ' ')
		s++, len--;
	if (is_word(s, len, "z") || is_word(s, len, "utc") || is_word(s, len, "gmt"))
		return true;
	if (len < 3 || (s[0] != '+' && s[0] != '-'))
		return false;
	digits = count_digits(s + 1, len - 1);
	if (digits == 4 || digits == 2)
		return len == digits + 1 ||
			(digits == 2 && len == 6 && s[3] == ':' && count_digits(s + 4, 2) == 2);
	return false;
}

/* A number of one or two digits, from 1 to max.  Returns its length or 0. */
static size_t
small_number(const char *s, size_t len, int max)
{
	size_t		n = count_digits(s, len);
	int			number = 0;

	if (n < 1 || n > 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		number = number * 10 + (s[i] - '0');
	return number >= 1 && number <= max ? n : 0;
}

/*
 * "YYYY-MM-DD" or "YYYY/MM/DD", which the server reads in every DateStyle.
 * Returns its length or 0.
 */
static size_t
iso_length(const char *s, size_t len)
{
	size_t		month;
	size_t		day;

	if (len < 8 || count_digits(s, len) != 4 || memcmp(s, "0000", 4) == 0 ||
		(s[4] != '-' && s[4] != '/'))
		return 0;
	month = small_number(s + 5, len - 5, 12);
	if (month == 0 || 6 + month > len || s[5 + month] != s[4])
		return 0;
	day = small_number(s + 6 + month, len - 6 - month, 31);
	return day == 0 ? 0 : 6 + month + day;
}

/* What stands behind a date that needs no template. */
static uint32_t
timestamp_types(const char *s, size_t len)
{
	size_t		clock;

	if (len == 0)
		return SHAPE_BIT(SHAPE_DATE) | TIMESTAMPS;
	if (s[0] != ' ' && s[0] != 'T')
		return 0;
	clock = clock_length(s + 1, len - 1);
	if (clock < 5)
		return 0;
	if (1 + clock == len)
		return TIMESTAMPS;
	return is_zone(s + 1 + clock, len - 1 - clock) ? SHAPE_BIT(SHAPE_TIMESTAMPTZ) : 0;
}

static bool
is_meridiem(const char *s, size_t len)
{
	if (len > 0 && s[0] == ' ')
		s++, len--;
	return is_word(s, len, "am") || is_word(s, len, "pm");
}

/* Layouts of the time behind a date, by what stands in it. */
static const struct TimeLayout
{
	const char *template;
	int			colons;
	bool		fraction;
	int			meridiem;		/* 0: none; 1: behind a blank; 2: close by */
} time_layouts[] = {
	{"", 0, false, 0},
	{" HH24:MI", 1, false, 0},
	{" HH24:MI:SS", 2, false, 0},
	{" HH24:MI:SS.US", 2, true, 0},
	{" HH12:MI AM", 1, false, 1},
	{" HH12:MI:SS AM", 2, false, 1},
	{" HH12:MIAM", 1, false, 2},
	{" HH12:MI:SSAM", 2, false, 2},
};

#define TIME_LAYOUTS (sizeof(time_layouts) / sizeof(time_layouts[0]))

/* Index of the layout of what stands behind a date; -1: none. */
static int
find_time_layout(const char *s, size_t len)
{
	size_t		clock;
	int			colons = 1;
	int			meridiem = 0;

	if (len == 0)
		return 0;
	if (s[0] != ' ')
		return -1;
	s++, len--;
	clock = clock_length(s, len);
	if (clock == 0)
		return -1;
	for (size_t i = 0; i < clock; i++)
		colons += s[i] == ':' ? 1 : 0;
	if (clock < len)
	{
		if (!is_meridiem(s + clock, len - clock))
			return -1;
		meridiem = s[clock] == ' ' ? 1 : 2;
	}
	for (size_t i = 1; i < TIME_LAYOUTS; i++)
		if (time_layouts[i].colons == colons - 1 &&
			time_layouts[i].fraction == (memchr(s, '.', clock) != NULL) &&
			time_layouts[i].meridiem == meridiem)
			return i;
	return -1;
}

static const char *const month_names[] = {
	"january", "february", "march", "april", "may", "june", "july",
	"august", "september", "october", "november", "december"
};

/* Length of the English name of a month, or 0. */
static size_t
find_month(const char *s, size_t len, uint8_t *month)
{
	size_t		letters = 0;

	while (letters < len && is_letter(s[letters]))
		letters++;
	for (int i = 0; i < 12; i++)
	{
		if (letters == 3 && is_word(s, 3, "may"))
			*month = SHAPE_MONTH_MAY;
		else if (is_word(s, letters, month_names[i]))
			*month = SHAPE_MONTH_LONG;
		else if (letters == 3 && lower(s[0]) == month_names[i][0] &&
				 lower(s[1]) == month_names[i][1] &&
				 lower(s[2]) == month_names[i][2])
			*month = SHAPE_MONTH_SHORT;
		else
			continue;
		return letters;
	}
	return 0;
}

typedef struct DatePart
{
	bool		name;			/* of a month */
	size_t		digits;
	int			number;
} DatePart;

/* Three parts with separators between them.  Returns the length, or 0. */
static size_t
split_date(const char *s, size_t len, DatePart *parts, ShapeDate *date)
{
	size_t		at = 0;

	for (int i = 0; i < 3; i++)
	{
		size_t		n = count_digits(s + at, len - at);

		parts[i].digits = n;
		parts[i].name = n == 0;
		parts[i].number = 0;
		if (n > 4)
			return 0;
		for (size_t k = 0; k < n; k++)
			parts[i].number = parts[i].number * 10 + (s[at + k] - '0');
		if (n == 0)
			n = find_month(s + at, len - at, &date->month);
		if (n == 0)
			return 0;
		at += n;
		if (i == 2)
			break;
		if (at >= len || strchr("/-., ", s[at]) == NULL || s[at] == '\0')
			return 0;
		date->separators[i] = s[at];
		if (s[at] == ',' && (at + 1 >= len || s[++at] != ' '))
			return 0;
		at++;
	}
	return at;
}

/* Which part is which, where that can be told. */
static bool
order_date(const DatePart *parts, ShapeDate *date)
{
	int			year = parts[0].digits == 4 ? 0 : 2;
	const DatePart *first = &parts[year == 0 ? 1 : 0];
	const DatePart *second = &parts[year == 0 ? 2 : 1];

	if (parts[year].name || (parts[year].digits != 4 && parts[year].digits != 2) ||
		parts[year].number == 0 || first->digits > 2 || second->digits > 2)
		return false;
	date->year_first = year == 0;
	date->short_year = parts[year].digits == 2;
	if (first->name && second->name)
		return false;
	if (first->name || second->name)
	{
		const DatePart *day = first->name ? second : first;

		date->orders = first->name ? SHAPE_MONTH_FIRST : SHAPE_DAY_FIRST;
		return day->number >= 1 && day->number <= 31;
	}

	/* numbers alone: one separator, so that 1.2-3 is none */
	if (date->separators[0] != date->separators[1] ||
		strchr("/-.", date->separators[0]) == NULL)
		return false;
	if (first->number < 1 || second->number < 1 ||
		first->number > 31 || second->number > 31)
		return false;
	if (second->number <= 12 && !date->year_first)
		date->orders |= SHAPE_DAY_FIRST;
	if (first->number <= 12)
		date->orders |= SHAPE_MONTH_FIRST;
	return date->orders != 0;
}

static void
find_template(const char *s, size_t len, ValueShape *shape)
{
	ShapeDate	date = {0};
	DatePart	parts[3];
	size_t		end = split_date(s, len, parts, &date);
	int			time;

	if (end == 0 || !order_date(parts, &date))
		return;
	time = find_time_layout(s + end, len - end);
	if (time < 0)
		return;
	date.time = time;
	shape->date = date;
	shape->types |= time == 0 ? SHAPE_BIT(SHAPE_DATE) | SHAPE_BIT(SHAPE_TIMESTAMP) :
		SHAPE_BIT(SHAPE_TIMESTAMP);
}

static void
find_date(const char *s, size_t len, ValueShape *shape)
{
	size_t		clock = clock_length(s, len);
	size_t		iso = iso_length(s, len);

	if (iso > 0)
		shape->types |= timestamp_types(s + iso, len - iso);
	else if (clock == len || (clock > 0 && is_meridiem(s + clock, len - clock)))
		shape->types |= SHAPE_BIT(SHAPE_TIME);
	else
		find_template(s, len, shape);
}

bool
shape_merge_dates(ShapeDate *date, const ShapeDate *other)
{
	if (memcmp(date->separators, other->separators, sizeof(date->separators)) != 0 ||
		date->year_first != other->year_first ||
		date->short_year != other->short_year || date->time != other->time)
		return false;
	if (date->month == SHAPE_MONTH_MAY && other->month != SHAPE_MONTH_NUMBER)
		date->month = other->month;
	else if (date->month != other->month &&
			 !(other->month == SHAPE_MONTH_MAY && date->month != SHAPE_MONTH_NUMBER))
		return false;
	date->orders &= other->orders;
	return date->orders != 0;
}

void
shape_template(const ShapeDate *date, int order, char *template)
{
	const char *month = date->month == SHAPE_MONTH_NUMBER ? "MM" :
		date->month == SHAPE_MONTH_LONG ? "Month" : "Mon";
	const char *year = date->short_year ? "YY" : "YYYY";
	const char *first = order == SHAPE_MONTH_FIRST ? month : "DD";
	const char *second = order == SHAPE_MONTH_FIRST ? "DD" : month;
	const char *parts[3] = {first, second, year};
	char	   *to = template;

	if (date->year_first)
	{
		parts[0] = year;
		parts[1] = first;
		parts[2] = second;
	}
	for (int i = 0; i < 3; i++)
	{
		to = stpcpy(to, parts[i]);
		if (i == 2)
			break;
		*to++ = date->separators[i];
		if (date->separators[i] == ',')
			*to++ = ' ';
	}
	strcpy(to, time_layouts[date->time].template);
}

/* ---- the rest ---- */

static bool
is_bool(const char *s, size_t len)
{
	static const char *const words[] = {
		"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is_word(s, len, words[i]))
			return true;
	return false;
}

static bool
is_uuid(const char *s, size_t len)
{
	if (len != 36)
		return false;
	for (size_t i = 0; i < len; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? s[i] != '-' : !is_hex(s[i]))
			return false;
	return true;
}

/* Numbers up to 255 with points between them. */
static bool
is_ipv4(const char *s, size_t len)
{
	for (size_t at = 0; at <= len;)
	{
		size_t		n = count_digits(s + at, len - at);

		if (n < 1 || n > 3 || (n == 3 && memcmp(s + at, "255", 3) > 0) ||
			(at + n < len && s[at + n] != '.'))
			return false;
		at += n + 1;
	}
	return true;
}

/* Four numbers, or groups of IPv6, and perhaps the length of a network. */
static bool
is_inet(const char *s, size_t len)
{
	const char *slash = memchr(s, '/', len);
	size_t		end = slash != NULL ? (size_t) (slash - s) : len;
	int			points = 0;
	int			colons = 0;

	if (slash != NULL && (len - end < 2 || len - end > 4 ||
						  count_digits(slash + 1, len - end - 1) != len - end - 1))
		return false;
	if (end < 2 || end > 45)
		return false;
	for (size_t i = 0; i < end; i++)
	{
		points += s[i] == '.' ? 1 : 0;
		colons += s[i] == ':' ? 1 : 0;
		if (!is_hex(s[i]) && s[i] != '.' && s[i] != ':')
			return false;
	}
	if (colons == 0)
		return points == 3 && is_ipv4(s, end);
	for (size_t i = 0; i + 1 < end; i++)
		if (s[i] == ':' && s[i + 1] == ':')
			return colons <= 8;
	return colons == 7;
}

static bool
is_json(const char *s, size_t len)
{
	return len >= 2 && ((s[0] == '{' && s[len - 1] == '}') ||
						(s[0] == '[' && s[len - 1] == ']'));
}

void
shape_of(const char *s, size_t len, ValueShape *shape)
{
	memset(shape, 0, sizeof(*shape));
	if (len == 0)
		return;
	if (is_json(s, len))
		shape->types = SHAPE_BIT(SHAPE_JSONB);
	else if (len <= 64)
	{
		if (is_bool(s, len))
			shape->types |= SHAPE_BIT(SHAPE_BOOL);
		if (is_uuid(s, len))
			shape->types |= SHAPE_BIT(SHAPE_UUID);
		if (is_inet(s, len))
			shape->types |= SHAPE_BIT(SHAPE_INET);
		find_date(s, len, shape);
		shape->types_comma = shape->types;
	}
	if (len <= 1000)
		find_number(s, len, shape);
	shape->types |= SHAPE_BIT(SHAPE_TEXT);
	shape->types_comma |= SHAPE_BIT(SHAPE_TEXT);
	if (shape->types & SHAPE_BIT(SHAPE_JSONB))
		shape->types_comma = shape->types;
}

double
shape_cleanness(const char *s, size_t len)
{
	ValueShape	shape;
	size_t		shown = len < 400 ? len : 400;
	int			strange = 0;
	int			spaces = 0;

	if (len == 0)
		return 0.9;
	shape_of(s, len, &shape);
	if ((shape.types | shape.types_comma) != SHAPE_BIT(SHAPE_TEXT) &&
		!(shape.types & SHAPE_BIT(SHAPE_JSONB)))
		return 1.0;
	if (s[0] == '"' || s[len - 1] == '"')
		return s[0] == s[len - 1] && len > 1 ? 0.2 : 0.4;
	if (s[0] == '\'' && s[len - 1] == '\'')
		return 0.6;
	if (shape_null(s, len) >= 0)
		return 1.0;
	for (size_t i = 0; i < shown; i++)
	{
		if (s[i] == ' ')
			spaces++;
		else if (s[i] == '\t' || s[i] == '|' || s[i] == ';' || s[i] == '\001')
			strange += 2;
		else if (s[i] == ',' || s[i] == '"')
			strange++;
		else if ((unsigned char) s[i] < ' ' || strchr("%^~{}[]", s[i]) != NULL)
			strange++;
	}
	if (strange > 0)
		return strange > 3 ? 0.2 : 0.6 - 0.13 * strange;
	if (s[0] == ' ' || s[len - 1] == ' ')
		return 0.8;
	return spaces > 0 ? 0.85 : 0.95;
}

bool
shape_is_typed(const char *s, size_t len)
{
	ValueShape	shape;

	if (len == 0 || len > 64 || (len == 1 && !is_digit(s[0])))
		return false;
	shape_of(s, len, &shape);
	return (shape.types | shape.types_comma) != SHAPE_BIT(SHAPE_TEXT);
}
