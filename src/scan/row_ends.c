/*
 * row_ends.c
 *		See row_ends.h.
 */
#include "scan/row_ends.h"

void
row_ends_add(RowEnds *ends, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
	{
		char		c = bytes[i];
		bool		escaped = ends->escaped;

		ends->escaped = false;
		ends->lines += c == '\n';
		if (ends->quote == '\0')
		{
			if (c == ends->escape)
				ends->escaped = !escaped;
		}
		else if (ends->quoted && ends->escape != ends->quote && c == ends->escape)
			ends->escaped = !escaped;
		else if (c == ends->quote && !escaped)
			ends->quoted = !ends->quoted;
		if (c == '\n' && !ends->quoted && (ends->quote != '\0' || !escaped))
		{
			ends->end = ends->bytes + (int64_t) i + 1;
			ends->end_lines = ends->lines;
		}
	}
	ends->bytes += (int64_t) length;
}
