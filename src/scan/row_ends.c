/*
 * row_ends.c
 *		See row_ends.h.
 */
#include "scan/row_ends.h"

#include <string.h>

/* Bytes without a quote or an escape, from `offset` on; open: LFs among them end rows. */
static void
add_span(RowEnds *ends, const char *span, size_t length, int64_t offset, bool open)
{
	const char *end = span + length;
	const char *lf = span;

	while ((lf = memchr(lf, '\n', end - lf)) != NULL)
	{
		lf++;
		ends->lines++;
		if (!open || ends->stopped)
			continue;
		ends->end = offset + (lf - span);
		ends->end_lines = ends->lines;
		ends->end_rows++;
		ends->stopped = (ends->stop_bytes > 0 && ends->end >= ends->stop_bytes) ||
			(ends->stop_rows > 0 && ends->end_rows >= ends->stop_rows);
	}
}

/* Quotes that are their own escape: only how many there were counts. */
static void
add_doubled(RowEnds *ends, const char *bytes, size_t length)
{
	const char *p = bytes;
	const char *end = bytes + length;

	for (;;)
	{
		const char *quote = memchr(p, ends->quote, end - p);

		add_span(ends, p, (quote == NULL ? end : quote) - p, ends->bytes + (p - bytes),
				 !ends->quoted);
		if (quote == NULL)
			break;
		ends->quoted = !ends->quoted;
		p = quote + 1;
	}
}

/* No quotes: the byte behind an escape ends nothing. */
static void
add_escaped(RowEnds *ends, const char *bytes, size_t length)
{
	const char *p = bytes;
	const char *end = bytes + length;

	while (p < end)
	{
		const char *escape;

		if (ends->escaped)
		{
			add_span(ends, p, 1, ends->bytes + (p - bytes), false);
			ends->escaped = false;
			p++;
			continue;
		}
		escape = memchr(p, ends->escape, end - p);
		add_span(ends, p, (escape == NULL ? end : escape) - p, ends->bytes + (p - bytes), true);
		if (escape == NULL)
			break;
		ends->escaped = true;
		p = escape + 1;
	}
}

/* Quotes in which another byte escapes. */
static void
add_quoted(RowEnds *ends, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
	{
		char		c = bytes[i];
		bool		escaped = ends->escaped;

		ends->escaped = false;
		if (ends->quoted && c == ends->escape)
			ends->escaped = !escaped;
		else if (c == ends->quote && !escaped)
			ends->quoted = !ends->quoted;
		else if (c == '\n')
			add_span(ends, bytes + i, 1, ends->bytes + (int64_t) i, !ends->quoted);
	}
}

void
row_ends_add(RowEnds *ends, const char *bytes, size_t length)
{
	if (ends->quote == '\0')
		add_escaped(ends, bytes, length);
	else if (ends->quote == ends->escape)
		add_doubled(ends, bytes, length);
	else
		add_quoted(ends, bytes, length);
	ends->bytes += (int64_t) length;
}
