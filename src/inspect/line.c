/*
 * line.c
 *		See line.h.
 */
#include "inspect/line.h"

#include <string.h>

#include "inspect/document.h"
#include "inspect/value_shape.h"

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
is_letter(char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* scheme://host..., or a path that begins with the letter of a drive. */
static bool
is_location(const char *s, size_t length)
{
	size_t		n = 0;

	while (n < length && (is_letter(s[n]) || is_digit(s[n]) || s[n] == '+' ||
						  s[n] == '-' || s[n] == '.'))
		n++;
	if (n == 0 || n + 2 >= length || s[n] != ':')
		return false;
	if (n == 1)
		return is_letter(s[0]) && (s[2] == '\\' || s[2] == '/');
	if (s[n + 1] != '/' || s[n + 2] != '/')
		return false;
	for (size_t i = n; i < length; i++)
		if (strchr(" ,;|\t\"", s[i]) != NULL)
			return false;
	return true;
}

/* Pairs of hexadecimal digits with colons between them. */
static bool
is_hardware_address(const char *s, size_t length)
{
	if (length < 11 || length % 3 != 2)
		return false;
	for (size_t i = 0; i < length; i++)
		if (i % 3 == 2 ? s[i] != ':' :
			!is_digit(s[i]) && ((s[i] | 0x20) < 'a' || (s[i] | 0x20) > 'f'))
			return false;
	return true;
}

/* 1,234,567.89: without the point it might be several numbers. */
static bool
is_grouped_number(const char *s, size_t length)
{
	size_t		digits = 0;
	size_t		i = s[0] == '-' || s[0] == '+' ? 1 : 0;
	bool		comma = false;

	for (; i < length && s[i] != '.'; i++)
	{
		if (is_digit(s[i]))
			digits++;
		else if (s[i] == ',' && (comma ? digits == 3 : digits >= 1 && digits <= 3))
		{
			comma = true;
			digits = 0;
		}
		else
			return false;
	}
	if (!comma || digits != 3 || i == length)
		return false;
	while (++i < length)
		if (!is_digit(s[i]))
			return false;
	return true;
}

static bool
has_twice(const char *s, size_t length, const char *pair)
{
	int			n = 0;

	for (size_t i = 0; i + 1 < length; i++)
		n += memcmp(s + i, pair, 2) == 0 ? 1 : 0;
	return n > 1;
}

bool
line_is_value(const char *s, size_t length)
{
	ValueShape	shape;

	if (length == 0)
		return false;
	if (s[0] == '{' || s[0] == '[')
		return document_is_one(s, length);
	if (is_location(s, length) || is_hardware_address(s, length) ||
		is_grouped_number(s, length))
		return true;
	if (length > 64)
		return false;
	shape_of(s, length, &shape);

	/* an address has two colons side by side once */
	if ((shape.types & SHAPE_BIT(SHAPE_INET)) && has_twice(s, length, "::"))
		return false;
	return !shape.comma && ((shape.types | shape.types_comma) &
							~(SHAPE_BIT(SHAPE_TEXT) | SHAPE_BIT(SHAPE_BOOL))) != 0;
}
