/*
 * utf16.c
 *		UTF-16 to UTF-8, a piece at a time.
 *
 * What is not valid UTF-16 (half of a surrogate pair, half of a unit at the
 * end) becomes bytes that are invalid UTF-8, so that it is found where all
 * invalid bytes are found, row by row.
 */
#include "scan.h"

#include <string.h>

#define UNIT_AT(s) \
	(big ? (uint32_t) (s)[0] << 8 | (s)[1] : (uint32_t) (s)[1] << 8 | (s)[0])
#define IS_HIGH(unit) (((unit) & 0xfc00) == 0xd800)
#define IS_LOW(unit) (((unit) & 0xfc00) == 0xdc00)

static char *
put_character(char *to, uint32_t c)
{
	if (c < 0x80)
		*to++ = (char) c;
	else if (c < 0x800)
	{
		*to++ = (char) (0xc0 | c >> 6);
		*to++ = (char) (0x80 | (c & 0x3f));
	}
	else if (c < 0x10000)
	{
		/* half of a pair, too: three bytes of invalid UTF-8 */
		*to++ = (char) (0xe0 | c >> 12);
		*to++ = (char) (0x80 | (c >> 6 & 0x3f));
		*to++ = (char) (0x80 | (c & 0x3f));
	}
	else
	{
		*to++ = (char) (0xf0 | c >> 18);
		*to++ = (char) (0x80 | (c >> 12 & 0x3f));
		*to++ = (char) (0x80 | (c >> 6 & 0x3f));
		*to++ = (char) (0x80 | (c & 0x3f));
	}
	return to;
}

size_t
scan_utf16(const unsigned char *s, size_t len, bool big, bool last, char *to,
		   size_t room, size_t *used)
{
	const unsigned char *from = s;
	const unsigned char *end = s + len;
	const char *start = to;
	const char *limit = to + room;

	while (end - from >= 2 && limit - to >= 4)
	{
		uint32_t	unit = UNIT_AT(from);

		if (IS_HIGH(unit))
		{
			if (end - from < 4 && !last)
				break;
			if (end - from >= 4 && IS_LOW(UNIT_AT(from + 2)))
			{
				unit = 0x10000 + ((unit & 0x3ff) << 10) + (UNIT_AT(from + 2) & 0x3ff);
				from += 2;
			}
		}
		to = put_character(to, unit);
		from += 2;
	}
	if (last && end - from == 1 && to < limit)
	{
		*to++ = (char) 0xff;
		from++;
	}
	*used = (size_t) (from - s);
	return (size_t) (to - start);
}
