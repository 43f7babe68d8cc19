/*
 * recover.c
 *		Where rows parse again after one that is damaged by a misplaced quote.
 *
 * A stray quote makes a row swallow the lines after it up to the next quote,
 * or to the end of the file.  Each of these lines is tried as the start of a
 * record, in the strict form in which programs write them.  Strictness is what
 * distinguishes a record from the tail of a quoted field.
 *
 * Price: nearly linear, since a try ends at the first misplaced quote, and a
 * line that starts with a quote ends the tries of those before.
 */
#include "scan.h"

#include <string.h>

typedef enum Try
{
	TRY_RECORD,					/* well-formed */
	TRY_BROKEN,
	TRY_UNFINISHED				/* needs bytes after the window */
} Try;

typedef enum LineEnd
{
	END_NONE,					/* no line end here */
	END_ROW,
	END_FOREIGN,				/* of another kind */
	END_UNFINISHED
} LineEnd;

/* The line end at s: of the file's kind, of another, or none. */
static LineEnd
line_end_at(ScanEol eol, const char *s, const char *limit, bool at_eof)
{
	if (*s == '\n')
		return eol == SCAN_EOL_NL || eol == SCAN_EOL_UNKNOWN ||
			eol == SCAN_EOL_ANY ? END_ROW : END_FOREIGN;
	if (*s != '\r')
		return END_NONE;
	if (eol == SCAN_EOL_CR || eol == SCAN_EOL_UNKNOWN || eol == SCAN_EOL_ANY)
		return END_ROW;
	if (eol == SCAN_EOL_NL)
		return END_FOREIGN;
	if (s + 1 == limit)
		return at_eof ? END_FOREIGN : END_UNFINISHED;
	return s[1] == '\n' ? END_ROW : END_FOREIGN;
}

/*
 * Skips a quoted field, from after its opening quote to after its closing one.
 * NULL if that is not in the window.
 */
static const char *
skip_quoted(const ScanDialect *dialect, const char *s, const char *limit)
{
	while (s < limit)
	{
		char		c = *s++;

		if (c == dialect->escape && s < limit &&
			(*s == dialect->escape || *s == dialect->quote))
			s++;
		else if (c == dialect->quote)
			return s;
	}
	return NULL;
}

/* The length of a delimiter at s; 0: there is none. */
static inline uint32_t
delimiter_at(const ScanDialect *dialect, const char *s, const char *limit)
{
	if (*s != dialect->delimiter)
		return 0;
	if (dialect->separator == NULL)
		return 1;
	return limit - s >= (ptrdiff_t) dialect->separator_length &&
		memcmp(s, dialect->separator, dialect->separator_length) == 0 ?
		dialect->separator_length : 0;
}

static Try
try_record(const ScanDialect *dialect, ScanEol eol, const char *s,
		   const char *limit, bool at_eof, uint32_t nfields)
{
	const char *start = s;
	const Try	at_limit = at_eof ? TRY_RECORD : TRY_UNFINISHED;
	uint32_t	count = 1;
	Try			outcome = at_limit;

	while (s < limit)
	{
		LineEnd		line_end = END_NONE;

		if (*s == dialect->quote)
		{
			s = skip_quoted(dialect, s + 1, limit);
			if (s == NULL)
				return at_eof ? TRY_BROKEN : TRY_UNFINISHED;

			/* what looks closed may be half of a doubled quote */
			if (s == limit)
				break;
			line_end = line_end_at(eol, s, limit, at_eof);
			if (line_end == END_NONE && delimiter_at(dialect, s, limit) == 0)
				return TRY_BROKEN;
		}
		else
		{
			for (; s < limit && delimiter_at(dialect, s, limit) == 0; s++)
			{
				if (*s == dialect->quote)
					return TRY_BROKEN;
				line_end = line_end_at(eol, s, limit, at_eof);
				if (line_end != END_NONE)
					break;
			}
		}
		if (line_end == END_FOREIGN)
			return TRY_BROKEN;
		if (line_end == END_UNFINISHED)
			return TRY_UNFINISHED;
		if (line_end == END_ROW)
		{
			outcome = TRY_RECORD;
			break;
		}
		if (s == limit)
			break;

		/* a delimiter: another field, which may be empty and the last */
		s += delimiter_at(dialect, s, limit);
		count++;
		if (nfields != 0 && count > nfields)
			return TRY_BROKEN;
	}

	if (outcome == TRY_UNFINISHED)
		return outcome;
	if (nfields != 0 ? count == nfields : count > 1 || s > start)
		return TRY_RECORD;
	return TRY_BROKEN;
}

/* The last byte of the next line end in s .. stop. */
static const char *
find_line_end(ScanEol eol, char byte, const char *s, const char *stop)
{
	if (eol != SCAN_EOL_ANY)
		return memchr(s, byte, (size_t) (stop - s));
	for (; s < stop; s++)
		if (*s == '\n' || (*s == '\r' && (s + 1 == stop || s[1] != '\n')))
			return s;
	return NULL;
}

ScanRecovery
scan_recover(const ScanDialect *dialect, ScanEol eol,
			 const char *window, uint32_t length,
			 bool at_eof, uint32_t row_start,
			 uint32_t row_end, uint32_t nfields,
			 uint32_t *resume)
{
	const char *limit = window + length;
	const char *stop = window + row_end;
	const char *s = window + row_start;
	char		line_end = eol == SCAN_EOL_CR ? '\r' : '\n';

	/* the first row has swallowed the line end that determines the file's kind */
	if (eol == SCAN_EOL_UNKNOWN && memchr(s, '\n', (size_t) (stop - s)) == NULL)
		line_end = '\r';

	while ((s = find_line_end(eol, line_end, s, stop)) != NULL)
	{
		s++;
		if (s >= stop)
			break;
		switch (try_record(dialect, eol, s, limit, at_eof, nfields))
		{
			case TRY_RECORD:
				*resume = (uint32_t) (s - window);
				return SCAN_RESUME;
			case TRY_UNFINISHED:
				return SCAN_UNDECIDED;
			case TRY_BROKEN:
				break;
		}
	}
	return SCAN_NO_RESUME;
}
