/*
 * recover.c
 *		Where rows parse again after one that broken quoting has spoiled.
 *
 * A stray quote makes a row swallow the lines after it up to the next quote,
 * or to the end of the file.  The lines are still there; each is tried as
 * the start of a record, in the strict sense in which a file that a program
 * wrote would have it.  Strictness is what tells a record from the tail of a
 * quoted field.
 *
 * Price: near to linear, since a try ends at the first quote that is out of
 * place, and a line that starts with a quote ends the tries of those before.
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

/* What stands at s: a line end of the file's kind, of another, or none. */
static LineEnd
line_end_at(ScanEol eol, const char *s, const char *limit, bool at_eof)
{
	if (*s == '\n')
		return eol == SCAN_EOL_NL || eol == SCAN_EOL_UNKNOWN ?
			END_ROW : END_FOREIGN;
	if (*s != '\r')
		return END_NONE;
	if (eol == SCAN_EOL_CR || eol == SCAN_EOL_UNKNOWN)
		return END_ROW;
	if (eol == SCAN_EOL_NL)
		return END_FOREIGN;
	if (s + 1 == limit)
		return at_eof ? END_FOREIGN : END_UNFINISHED;
	return s[1] == '\n' ? END_ROW : END_FOREIGN;
}

/*
 * Passes over a quoted field, from after its opening quote to after its
 * closing one.  NULL if that does not stand in the window.
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
			if (*s != dialect->delimiter && line_end == END_NONE)
				return TRY_BROKEN;
		}
		else
		{
			for (; s < limit && *s != dialect->delimiter; s++)
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
		s++;
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

	/* the first row has swallowed the line end that tells the file's kind */
	if (eol == SCAN_EOL_UNKNOWN && memchr(s, '\n', (size_t) (stop - s)) == NULL)
		line_end = '\r';

	while ((s = memchr(s, line_end, (size_t) (stop - s))) != NULL)
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
