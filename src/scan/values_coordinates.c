/*
 * values_coordinates.c
 *		Text to the numbers of points and other geometric types.
 */
#include "scan/values.h"

/* Whether a number ends here at the latest. */
static inline bool
is_bracket(char c)
{
	return c == ',' || c == ')' || c == ']' || c == '>' || c == '}';
}

ValueResult
value_coordinates(const char *s, size_t len, const char *pattern, double *out)
{
	const char *end = s + len;

	for (; *pattern != '\0'; pattern++)
	{
		const char *start = s;

		if (*pattern != '#')
		{
			if (s == end || *s++ != *pattern)
				return VALUE_ASK;
			continue;
		}
		while (s < end && !is_bracket(*s))
			s++;
		if (value_float8(start, (size_t) (s - start), out++) != VALUE_OK)
			return VALUE_ASK;
	}
	return s == end ? VALUE_OK : VALUE_ASK;
}
