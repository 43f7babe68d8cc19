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
	return next < end && strchr(*s == '{' ? "\"}" : "{[\"-0123456789tfn]", *next) != NULL &&
		*next != '\0';
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

bool
document_is_one(const char *s, size_t length)
{
	const char *end = s + length;
	const char *after;

	s = skip_blanks(s, end);
	if (!begins_document(s, end))
		return false;
	after = skip_document(s, end);
	return after != NULL && skip_blanks(after, end) == end;
}

/* What lines are; the last one may be cut off, and empty ones are nothing. */
static void
count_lines(const SheetSpan *span, uint32_t *documents, uint32_t *others)
{
	const char *s = span->data;
	const char *end = s + span->length;

	*documents = *others = 0;
	while (s < end)
	{
		const char *next = memchr(s, '\n', end - s);
		const char *line_end = next != NULL ? next : end;

		if (next == NULL && !span->to_end)
			break;
		if (document_is_one(s, line_end - s))
			(*documents)++;
		else if (skip_blanks(s, line_end) < line_end)
			(*others)++;
		s = next != NULL ? next + 1 : end;
	}
}

DocumentKind
document_detect(const SheetSpan *span)
{
	const char *end = span->data + span->length;
	const char *s = skip_blanks(span->data, end);
	uint32_t	documents;
	uint32_t	others;

	if (!begins_document(s, end))
		return DOCUMENT_NONE;
	count_lines(span, &documents, &others);
	if (documents > 0 && others == 0)
		return DOCUMENT_LINES;

	/* lines among which some are broken */
	if (documents > 2 && documents > others)
		return DOCUMENT_NONE;
	s = skip_document(s, end);
	if (s == NULL)
		return span->to_end ? DOCUMENT_NONE : DOCUMENT_WHOLE;
	s = skip_blanks(s, end);
	return s == end || begins_document(s, end) ? DOCUMENT_WHOLE : DOCUMENT_NONE;
}
