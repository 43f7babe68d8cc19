/*
 * document.c
 *		See document.h.
 */
#include "inspect/document.h"

#include <string.h>

static const char *
skip_blanks(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n'))
		s++;
	return s;
}

/* Whether an object or an array begins here: an array of Postgres' own, {1,2}, is none. */
static bool
begins_document(const char *s, const char *end)
{
	const char *next;

	if (s >= end || (*s != '{' && *s != '['))
		return false;
	next = skip_blanks(s + 1, end);
	return next < end && strchr(*s == '{' ? "\"}" : "{[\"-0123456789tfn]", *next) != NULL && *next != '\0';
}

/* What follows the object or array that begins here; NULL where its end is not there. */
static const char *
skip_document(const char *s, const char *end)
{
	int			depth = 0;
	bool		quoted = false;

	for (; s < end; s++)
	{
		if (quoted && *s == '\\')
			s++;
		else if (*s == '"')
			quoted = !quoted;
		else if (!quoted && (*s == '{' || *s == '['))
			depth++;
		else if (!quoted && (*s == '}' || *s == ']') && --depth == 0)
			return s + 1;
	}
	return NULL;
}

/* Whether each line is a document; the last one may be cut off. */
static bool
are_lines(const SheetSpan *span)
{
	const char *s = span->data;
	const char *end = s + span->length;
	bool		any = false;

	while (s < end)
	{
		const char *next = memchr(s, '\n', end - s);
		const char *line_end = next != NULL ? next : end;
		const char *after;

		if (next == NULL && !span->to_end)
			break;
		s = skip_blanks(s, line_end);
		if (s < line_end)
		{
			if (!begins_document(s, line_end))
				return false;
			after = skip_document(s, line_end);
			if (after == NULL || skip_blanks(after, line_end) < line_end)
				return false;
			any = true;
		}
		s = next != NULL ? next + 1 : end;
	}
	return any;
}

DocumentKind
document_detect(const SheetSpan *span)
{
	const char *end = span->data + span->length;
	const char *s = skip_blanks(span->data, end);

	if (!begins_document(s, end))
		return DOCUMENT_NONE;
	if (are_lines(span))
		return DOCUMENT_LINES;
	s = skip_document(s, end);
	if (s == NULL)
		return span->to_end ? DOCUMENT_NONE : DOCUMENT_WHOLE;
	s = skip_blanks(s, end);
	return s == end || begins_document(s, end) ? DOCUMENT_WHOLE : DOCUMENT_NONE;
}
