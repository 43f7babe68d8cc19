/*
 * json_made.h
 *		JSON made and spoiled at random, for the unit tests of what reads it.
 */
#ifndef JSON_MADE_H
#define JSON_MADE_H

#include <stdbool.h>

#include "values_help.h"

/* spoil() may make it longer by a few bytes. */
#define MADE_MAX 16384
#define MADE_SPARE 128

static char made[MADE_MAX];
static size_t made_length;
static bool made_in_a_line;		/* no line ends between values */

static inline uint32_t
below(uint32_t n)
{
	return (uint32_t) (next_random() >> 33) % n;
}

/* Where it fits. */
static inline void
put(const char *s)
{
	size_t		len = strlen(s);

	if (made_length + len > MADE_MAX - MADE_SPARE)
		return;
	memcpy(made + made_length, s, len);
	made_length += len;
}

#define PICK(array) array[below(sizeof(array) / sizeof(array[0]))]

static inline void
put_space(void)
{
	static const char *const spaces[] = {"", "", "", "", " ", " ", "\n  ", "\t", "\r\n", "                              "};

	if (made_in_a_line)
		put(below(4) == 0 ? " " : "");
	else
		put(PICK(spaces));
}

static inline void
put_string(void)
{
	static const char *const parts[] = {
		"a", "name", "key ", "{", "}", "[1,2]", ":", ",", "\\\"", "\\\\", "\\/", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\u0000",
		"\303\251", "a longer text of some words ", "\\\\\\\\\\\\", "0", "\177"
	};

	put("\"");
	for (uint32_t n = below(5); n > 0; n--)
		put(PICK(parts));
	put("\"");
}

/* depth: deeper ones are smaller. */
static inline void
put_value(int depth)
{
	static const char *const scalars[] = {
		"null", "true", "false", "0", "-1", "12", "3.25", "-0.0", "1e10", "2.5E-3", "123456789", "99999999999999999999", "123456789.123456789"
	};
	uint32_t	kind = below(depth > 6 ? 4 : 8);
	uint32_t	n = below(below(8) == 0 ? 30 : 5);

	put_space();
	if (kind < 2)
		put(PICK(scalars));
	else if (kind < 4)
		put_string();
	else
	{
		put(kind < 6 ? "{" : "[");
		for (uint32_t i = 0; i < n; i++)
		{
			put(i > 0 ? "," : "");
			if (kind < 6)
			{
				put_space();
				put_string();
				put_space();
				put(":");
			}
			put_value(depth + 1);
		}
		put_space();
		put(kind < 6 ? "}" : "]");
	}
	put_space();
}

/* Changes some bytes. */
static inline void
spoil(void)
{
	static const char bytes[] = "{}[]:,\"\\ \n0.-e19tfnu\x01\x7f\xc3\x00ax/";

	for (uint32_t n = 1 + below(3); n > 0 && made_length > 0; n--)
	{
		uint32_t	at = below((uint32_t) made_length);
		char		byte = bytes[below(sizeof(bytes) - 1)];

		switch (below(4))
		{
			case 0:
				made[at] = byte;
				break;
			case 1:
				memmove(made + at, made + at + 1, made_length - at - 1);
				made_length--;
				break;
			case 2:
				memmove(made + at + 1, made + at, made_length - at);
				made[at] = byte;
				made_length++;
				break;
			case 3:
				made_length = at;
				break;
		}
	}
}

#endif							/* JSON_MADE_H */
