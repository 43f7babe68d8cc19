/*
 * general.c
 *		Rows of dialects that masks of single bytes cannot describe: delimiters
 *		of several bytes, comment lines, line ends of every kind.
 *
 * Each row in two passes: the first finds its end, by quotes and escapes alone,
 * the second its fields.  scan_rows and scan_border call this where the dialect
 * needs it; for other dialects the result would be the same.  Price: about 1 ns
 * for each byte.
 */
#include "scan.h"

#include <string.h>

#include "general.h"

/* One row, or a line that is not a row. */
typedef struct RowLine
{
	uint32_t	end;			/* of its data */
	uint32_t	next;
	uint32_t	fault_at;
	uint8_t		fault;
	bool		inner;			/* line ends that are data */
	bool		marker;			/* text: it is the end-of-copy marker */
} RowLine;

typedef enum Found
{
	FOUND_LINE,
	FOUND_UNFINISHED			/* more must be read to decide */
} Found;

typedef struct General
{
	const ScanDialect *dialect;
	const char *window;
	uint32_t	length;
	bool		at_eof;
	bool		markers;		/* text: \. may be a marker */
	ScanEol		eol;

	/* which bytes matter in which state */
	bool		in_lines[256];
	bool		in_fields[256];
	bool		in_comments[256];

	/* the row in progress */
	ScanField  *fields;
	uint32_t	nfields;
	uint32_t	max_fields;
	bool		lax;
	bool		too_long;
	bool		full;
} General;

/* ---- the end of a row ---- */

static void
set_fault(RowLine *line, ScanFault fault, uint32_t at)
{
	if (line->fault == SCAN_FAULT_NONE)
	{
		line->fault = fault;
		line->fault_at = at;
	}
}

/* The first byte from at on that matters. */
static inline uint32_t
next_that_matters(const General *scan, const bool *matters, uint32_t at)
{
	while (at < scan->length && !matters[(unsigned char) scan->window[at]])
		at++;
	return at;
}

/*
 * A CR or LF outside quotes, at line->end.  True: the row ends with it.  *more
 * is set where that depends on bytes not read yet.
 */
static bool
judge_line_end(General *scan, RowLine *line, bool *more)
{
	uint32_t	at = line->end;
	bool		is_last = at + 1 == scan->length;
	bool		pair = !is_last && scan->window[at + 1] == '\n';

	line->next = at + 1;
	if (scan->window[at] == '\n')
	{
		if (scan->eol == SCAN_EOL_UNKNOWN)
			scan->eol = SCAN_EOL_NL;
		else if (scan->eol == SCAN_EOL_CR || scan->eol == SCAN_EOL_CRNL)
			set_fault(line, SCAN_FAULT_NEWLINE, at);
		return true;
	}

	if (scan->eol == SCAN_EOL_CR)
		return true;
	if (scan->eol == SCAN_EOL_NL)
	{
		set_fault(line, SCAN_FAULT_CARRIAGE_RETURN, at);
		return false;
	}
	*more = is_last && !scan->at_eof;
	if (*more)
		return false;
	if (pair)
		line->next++;
	if (scan->eol == SCAN_EOL_UNKNOWN)
		scan->eol = pair ? SCAN_EOL_CRNL : SCAN_EOL_CR;
	else if (scan->eol == SCAN_EOL_CRNL && !pair)
	{
		set_fault(line, SCAN_FAULT_CARRIAGE_RETURN, at);
		return false;
	}
	return true;
}

/* The file ends, or the window does. */
static Found
end_of_window(const General *scan, RowLine *line)
{
	line->end = line->next = scan->length;
	return scan->at_eof ? FOUND_LINE : FOUND_UNFINISHED;
}

static Found
find_csv_line(General *scan, uint32_t at, RowLine *line)
{
	const char	quote = scan->dialect->quote;
	const char	escape = scan->dialect->escape;
	const bool	has_escape = escape != quote;
	bool		inside = false;
	bool		more = false;

	while ((at = next_that_matters(scan, scan->in_lines, at)) < scan->length)
	{
		char		c = scan->window[at];

		if (c == escape && has_escape && inside)
		{
			/* the next byte is data, unless it is a line end */
			if (at + 1 < scan->length &&
				(scan->window[at + 1] == quote || scan->window[at + 1] == escape))
				at++;
		}
		else if (c == quote)
			inside = !inside;
		else if (c == '\n' || c == '\r')
		{
			line->end = at;
			if (inside)
				line->inner = true;
			else if (judge_line_end(scan, line, &more))
				return FOUND_LINE;
			else if (more)
				return FOUND_UNFINISHED;
		}
		at++;
	}
	if (inside && scan->at_eof)
		set_fault(line, SCAN_FAULT_UNTERMINATED_QUOTE, scan->length);
	return end_of_window(scan, line);
}

/*
 * A backslash and a period at `at`.  Sets line->marker where they are the
 * end-of-copy marker, else a fault.  False: more must be read.
 */
static bool
judge_marker(General *scan, uint32_t start, uint32_t at, RowLine *line)
{
	uint32_t	place = at + 2;
	ScanEol		eol = scan->eol;
	ScanFault	fault = SCAN_FAULT_NONE;
	bool		more = false;
	char		c;

	if (place >= scan->length && !scan->at_eof)
		return false;
	c = place < scan->length ? scan->window[place] : '\0';
	if (eol == SCAN_EOL_CRNL)
	{
		if (c == '\n')
			fault = SCAN_FAULT_MARKER_NEWLINE;
		else if (c != '\r')
			fault = SCAN_FAULT_MARKER_NOT_ALONE;
		place++;
		if (fault == SCAN_FAULT_NONE && place >= scan->length && !scan->at_eof)
			return false;
		c = place < scan->length ? scan->window[place] : '\0';
	}
	if (fault == SCAN_FAULT_NONE)
	{
		if (c != '\r' && c != '\n')
			fault = SCAN_FAULT_MARKER_NOT_ALONE;
		else if (eol != SCAN_EOL_UNKNOWN && eol != SCAN_EOL_ANY &&
				 c != (eol == SCAN_EOL_CR ? '\r' : '\n'))
			fault = SCAN_FAULT_MARKER_NEWLINE;
		else if (at != start)
			fault = SCAN_FAULT_MARKER_NOT_ALONE;
	}
	if (fault != SCAN_FAULT_NONE)
	{
		set_fault(line, fault, at);
		return true;
	}
	line->marker = true;
	line->end = eol == SCAN_EOL_CRNL ? place - 1 : place;
	judge_line_end(scan, line, &more);
	return !more;
}

static Found
find_text_line(General *scan, uint32_t at, RowLine *line)
{
	const uint32_t start = at;
	bool		more = false;

	while ((at = next_that_matters(scan, scan->in_lines, at)) < scan->length)
	{
		if (scan->window[at] == '\\')
		{
			if (scan->markers && at + 1 < scan->length &&
				scan->window[at + 1] == '.' && line->fault == SCAN_FAULT_NONE)
			{
				if (!judge_marker(scan, start, at, line))
					return FOUND_UNFINISHED;
				if (line->marker)
					return FOUND_LINE;
			}
			if (at + 1 < scan->length && scan->in_comments[(unsigned char) scan->window[at + 1]])
				line->inner = true;
			at += 2;
			continue;
		}
		line->end = at;
		if (judge_line_end(scan, line, &more))
			return FOUND_LINE;
		if (more)
			return FOUND_UNFINISHED;
		at++;
	}
	return end_of_window(scan, line);
}

/* The line from start on is a comment: it ends at its first line end. */
static Found
find_comment_end(General *scan, uint32_t at, RowLine *line)
{
	bool		more = false;

	while ((at = next_that_matters(scan, scan->in_comments, at)) < scan->length)
	{
		line->end = at;
		if (judge_line_end(scan, line, &more))
			return FOUND_LINE;
		if (more)
			return FOUND_UNFINISHED;
		at++;
	}
	return end_of_window(scan, line);
}

/* Whether a line is a comment; *more is set where that is not known yet. */
static bool
is_comment(const General *scan, uint32_t start, bool *more)
{
	const ScanDialect *dialect = scan->dialect;
	uint32_t	length = dialect->comment_length;

	if (dialect->comment == NULL)
		return false;
	if (scan->length - start < length)
	{
		*more = !scan->at_eof && memcmp(scan->window + start, dialect->comment,
										scan->length - start) == 0;
		return false;
	}
	return memcmp(scan->window + start, dialect->comment, length) == 0;
}

/* The row, or comment, that begins at start. */
static Found
find_line(General *scan, uint32_t start, RowLine *line, bool *comment)
{
	bool		more = false;

	memset(line, 0, sizeof(*line));
	*comment = is_comment(scan, start, &more);
	if (more)
		return FOUND_UNFINISHED;
	if (*comment)
		return find_comment_end(scan, start, line);
	return scan->dialect->format == SCAN_CSV ?
		find_csv_line(scan, start, line) : find_text_line(scan, start, line);
}

/* ---- its fields ---- */

/* The length of a delimiter at `at`; 0: there is none. */
static inline uint32_t
delimiter_at(const General *scan, uint32_t at, uint32_t end)
{
	const ScanDialect *dialect = scan->dialect;

	if (scan->window[at] != dialect->delimiter)
		return 0;
	if (dialect->separator == NULL)
		return 1;
	if (end - at < dialect->separator_length ||
		memcmp(scan->window + at, dialect->separator, dialect->separator_length) != 0)
		return 0;
	return dialect->separator_length;
}

static void
add_field(General *scan, uint32_t start, uint32_t end, bool quoted, bool escaped)
{
	uint32_t	length = end - start;

	if (scan->nfields == scan->max_fields)
	{
		scan->full = true;
		return;
	}
	if (length >= SCAN_MAX_FIELD)
	{
		scan->too_long = true;
		length = SCAN_MAX_FIELD;
	}
	scan->fields[scan->nfields++] = (ScanField) {
		.start = start, .length = length, .quoted = quoted, .escaped = escaped
	};
}

static void
split_text(General *scan, uint32_t start, uint32_t end)
{
	uint32_t	at = start;
	bool		escaped = false;

	while ((at = next_that_matters(scan, scan->in_fields, at)) < end && !scan->full)
	{
		uint32_t	width;

		if (scan->window[at] == '\\')
		{
			escaped = true;

			/* one with nothing after it is not part of the field */
			if (at + 1 >= end)
			{
				end = at;
				break;
			}
			at += 2;
			continue;
		}
		width = delimiter_at(scan, at, end);
		if (width == 0)
		{
			at++;
			continue;
		}
		add_field(scan, start, at, false, escaped);
		start = at += width;
		escaped = false;
	}
	add_field(scan, start, end, false, escaped);
}

/* A csv field from start to end, with that number of quotes and escapes. */
static void
add_csv_field(General *scan, uint32_t start, uint32_t end, bool quoted,
			  bool closed, uint32_t specials)
{
	/* quoted as a whole, and nothing else to process */
	if (quoted && closed && specials == 2 &&
		scan->window[start] == scan->dialect->quote)
		add_field(scan, start + 1, end - 1, true, false);
	else
		add_field(scan, start, end, quoted, quoted);
}

static void
split_csv(General *scan, uint32_t start, uint32_t end)
{
	const char	quote = scan->dialect->quote;
	const char	escape = scan->dialect->escape;
	uint32_t	at = start;
	uint32_t	closed_at = 0;	/* after the quote that closed last; 0: none */
	uint32_t	specials = 0;
	bool		inside = false;
	bool		quoted = false;

	while ((at = next_that_matters(scan, scan->in_fields, at)) < end && !scan->full)
	{
		char		c = scan->window[at];
		uint32_t	width = inside ? 0 : delimiter_at(scan, at, end);

		if (width > 0)
		{
			if (closed_at != 0 && closed_at != at)
				scan->lax = true;
			add_csv_field(scan, start, at, quoted, closed_at == at, specials);
			start = at += width;
			specials = closed_at = 0;
			quoted = false;
			continue;
		}
		specials += c == quote || c == escape;
		if (!inside)
		{
			if (c == quote)
			{
				if (at > start)
					scan->lax = true;
				quoted = inside = true;
			}
		}
		else if (c == escape && at + 1 < end &&
				 (scan->window[at + 1] == escape || scan->window[at + 1] == quote))
		{
			at++;
			specials++;
		}
		else if (c == quote)
		{
			inside = false;
			closed_at = at + 1;
		}
		at++;
	}
	if (closed_at != 0 && closed_at != end && !inside)
		scan->lax = true;
	add_csv_field(scan, start, end, quoted, !inside && closed_at == end, specials);
}

/* ---- windows ---- */

static void
scan_begin(General *scan)
{
	const ScanDialect *dialect = scan->dialect;
	const bool	csv = dialect->format == SCAN_CSV;
	const char	special = csv ? dialect->quote : '\\';
	const char	escape = csv ? dialect->escape : '\\';

	scan->in_comments['\n'] = scan->in_comments['\r'] = true;
	scan->in_lines['\n'] = scan->in_lines['\r'] = true;
	scan->in_lines[(unsigned char) special] = true;
	scan->in_lines[(unsigned char) escape] = true;
	scan->in_fields[(unsigned char) dialect->delimiter] = true;
	scan->in_fields[(unsigned char) special] = true;
	scan->in_fields[(unsigned char) escape] = true;
}

/* Line ends in a row or comment and at its end. */
static uint32_t
lines_of(const General *scan, const RowLine *line, uint32_t start, bool comment)
{
	if (!line->inner && line->fault == SCAN_FAULT_NONE && !comment)
		return line->next > line->end;
	return scan_count_lines(scan->eol, scan->window + start, line->next - start);
}

void
general_rows(const ScanDialect *dialect, ScanEol *eol,
			 const char *window, uint32_t length, bool at_eof,
			 ScanRow *rows, uint32_t max_rows,
			 ScanField *fields, uint32_t max_fields,
			 ScanResult *result)
{
	General		scan = {
		.dialect = dialect, .window = window, .length = length,
		.at_eof = at_eof, .markers = true, .eol = *eol, .fields = fields,
		.max_fields = max_fields
	};

	scan_begin(&scan);
	memset(result, 0, sizeof(*result));
	result->status = at_eof ? SCAN_END : SCAN_MORE;
	while (result->consumed < length)
	{
		uint32_t	start = result->consumed;
		ScanRow    *row = &rows[result->nrows];
		RowLine		line;
		bool		comment;

		if (result->nrows == max_rows)
		{
			result->status = SCAN_FULL;
			break;
		}
		if (find_line(&scan, start, &line, &comment) == FOUND_UNFINISHED)
			break;
		if (!comment && !line.marker)
		{
			scan.lax = scan.too_long = scan.full = false;
			if (dialect->format == SCAN_CSV)
				split_csv(&scan, start, line.end);
			else
				split_text(&scan, start, line.end);
			if (scan.full)
			{
				result->status = SCAN_FULL;
				break;
			}
			if (scan.too_long)
				set_fault(&line, SCAN_FAULT_FIELD_TOO_LONG, start);
			*row = (ScanRow) {
				.start = start, .end = line.end, .next = line.next,
				.line = result->lines, .first_field = result->nfields,
				.nfields = scan.nfields - result->nfields,
				.fault = line.fault,
				.multiline = line.inner && dialect->format == SCAN_CSV,
				.lax = scan.lax
			};
			result->nrows++;
			result->nfields = scan.nfields;
		}
		result->lines += lines_of(&scan, &line, start, comment);
		result->consumed = line.next;
		if (line.marker)
		{
			result->status = SCAN_MARKER;
			break;
		}
	}
	*eol = scan.eol;
}

void
general_border(const ScanDialect *dialect, ScanEol eol, const char *window,
			   uint32_t length, ScanBorder *border)
{
	General		scan = {
		.dialect = dialect, .window = window, .length = length, .eol = eol
	};
	RowLine		line;
	bool		comment;

	scan_begin(&scan);
	border->end = border->rows = border->lines = 0;
	while (border->end < length &&
		   find_line(&scan, border->end, &line, &comment) == FOUND_LINE)
	{
		border->lines += lines_of(&scan, &line, border->end, comment);
		border->rows += !comment;
		border->end = line.next;
	}
}
