/*
 * json_rows.c
 *		See json_rows.h.
 *
 * The walk (json_walk.h) stops at the first mark that the grammar does not
 * allow; where that row ends is found by its line end, or by brackets alone.
 */
#include "scan/json_rows.h"

#include "scan/json_walk.h"

/* ---- where rows end ---- */

/* Peeks at the next token. */
static inline uint32_t
peek_token(RowScan *scan)
{
	uint32_t	mark = next_token(scan);

	scan->marks.at--;
	return mark;
}

/*
 * Skips an element of an array or a series whose first token has been taken, by
 * brackets and quotes.  Returns where it ends; *finished: that is before the
 * end of the text.
 */
static uint32_t
pass_element(RowScan *scan, uint32_t mark, bool *finished)
{
	JsonScan   *marks = &scan->marks;
	char		c = byte_at(marks, mark);
	bool		inside = c == '"';
	uint32_t	depth = c == '{' || c == '[' ? 1 : 0;
	const bool	bracketed = depth > 0;

	*finished = true;
	if (c == '}' || c == ']' || (c == ',' && scan->eol == SCAN_EOL_JSON_SERIES))
		return mark + 1;
	if (c == ',')
	{
		marks->at--;
		return mark;
	}
	for (;;)
	{
		mark = next_mark(marks);
		if (mark == marks->length)
			break;
		c = marks->text[mark];
		if (c == '\n')
			scan->lines++;
		else if (c == '"')
			inside = !inside;
		else if (!inside && (c == '{' || c == '[' || c == '}' || c == ']' || c == ','))
		{
			if (!bracketed)
			{
				marks->at--;
				return mark;
			}
			depth += c == '{' || c == '[';
			depth -= c == '}' || c == ']';
			if (depth == 0)
				return mark + 1;
		}
	}
	*finished = false;
	return mark;
}

/*
 * Takes what is between an element of an array and the next one.  Returns where
 * that begins, or the text ends; *comma: there is a comma.
 */
static uint32_t
take_comma(RowScan *scan, bool *comma)
{
	uint32_t	mark = peek_token(scan);

	*comma = byte_at(&scan->marks, mark) == ',';
	if (!*comma)
		return mark;
	scan->marks.at++;
	return mark + 1;
}

/* Checks what follows a valid object: WALK_OBJECT if that is allowed. */
static Walk
take_row_end(RowScan *scan, uint32_t end)
{
	JsonScan   *marks = &scan->marks;
	uint32_t	mark;
	bool		comma;

	switch (scan->eol)
	{
		case SCAN_EOL_JSON_ARRAY:
			scan->row_next = take_comma(scan, &comma);
			return scan->row_next == marks->length && !comma && !scan->at_eof ?
				WALK_UNFINISHED : WALK_OBJECT;
		case SCAN_EOL_JSON_SERIES:
			scan->row_next = end;
			return WALK_OBJECT;
		default:
			mark = next_token(scan);
			scan->row_next = mark;
			if (mark == marks->length)
				return scan->at_eof ? WALK_OBJECT : WALK_UNFINISHED;
			if (byte_at(marks, mark) != '\n' || scan->eol == SCAN_EOL_JSON_WHOLE)
				return WALK_BROKEN;
			scan->row_next = mark + 1;
			scan->lines++;
			return WALK_OBJECT;
	}
}

/*
 * The end of a row that is not an object, which begins at row->start, and of
 * what belongs to it.  False: the window ends before it does.
 */
static bool
find_broken_end(RowScan *scan, ScanRow *row)
{
	JsonScan   *marks = &scan->marks;
	const char *text = marks->text;
	const char *line_end;
	bool		finished = false;
	bool		comma;

	begin_marks(marks, text, row->start, marks->length, true);
	scan->lines = row->line;
	if (scan->eol == SCAN_EOL_JSON_ARRAY || scan->eol == SCAN_EOL_JSON_SERIES)
	{
		row->end = pass_element(scan, next_token(scan), &finished);
		row->multiline = row->lax = scan->lines > row->line;
		scan->row_next = row->end;
		if (finished && scan->eol == SCAN_EOL_JSON_ARRAY)
		{
			scan->row_next = take_comma(scan, &comma);
			finished = comma || scan->row_next < marks->length;
		}
	}
	else
	{
		line_end = scan->eol == SCAN_EOL_JSON_WHOLE ? NULL :
			memchr(text + row->start, '\n', marks->length - row->start);
		finished = line_end != NULL;
		row->end = finished ? (uint32_t) (line_end - text) : marks->length;
		scan->row_next = row->end + finished;
		scan->lines += scan_count_lines(SCAN_EOL_NL, text + row->start,
										scan->row_next - row->start);
		begin_marks(marks, text, scan->row_next, marks->length, true);
	}
	while (row->end > row->start && is_json_space(text[row->end - 1]))
		row->end--;
	return finished || scan->at_eof;
}

/* ---- rows ---- */

/*
 * The layout of rows (ScanEol) where the first one, at s, is damaged.  If its
 * line ends within brackets, and not within a string, and the next line does
 * not begin with an object, the lines belong together: taken one by one, an
 * object within the damaged one could pass for a row.
 */
static ScanEol
find_damaged_kind(const char *s, const char *end, bool at_eof)
{
	bool		inside = false;
	int64_t		depth = 0;

	for (; s < end && *s != '\n'; s++)
	{
		if (*s == '"')
			inside = !inside;
		else if (inside && *s == '\\' && s + 1 < end)
			s++;
		else if (!inside && (*s == '{' || *s == '['))
			depth++;
		else if (!inside && (*s == '}' || *s == ']'))
			depth--;
	}
	if (end - s < 2)
		return at_eof ? SCAN_EOL_NL : SCAN_EOL_UNKNOWN;
	return depth > 0 && !inside && s[1] != '{' && s[1] != '\n' && s[1] != '\r' ?
		SCAN_EOL_JSON_SERIES : SCAN_EOL_NL;
}

/*
 * The layout of the rows of a file, from its first bytes: SCAN_EOL_UNKNOWN if
 * these do not show it.  *begin: where the first one may be.
 */
static ScanEol
find_kind(const char *window, uint32_t length, bool at_eof, uint32_t *begin)
{
	RowScan		scan;
	uint32_t	mark;

	*begin = 0;
	json_begin_walk(&scan, SCAN_EOL_JSON_SERIES, window, 0, length, at_eof);
	mark = next_token(&scan);
	if (mark == length)
		return at_eof ? SCAN_EOL_NL : SCAN_EOL_UNKNOWN;
	if (window[mark] == '[')
	{
		*begin = mark + 1;
		return SCAN_EOL_JSON_ARRAY;
	}
	if (window[mark] != '{')
		return SCAN_EOL_NL;
	scan.lines = 0;
	switch (json_walk_object(&scan, mark))
	{
		case WALK_OBJECT:
			return scan.lines > 0 ? SCAN_EOL_JSON_SERIES : SCAN_EOL_NL;
		case WALK_UNFINISHED:
			return SCAN_EOL_UNKNOWN;
		default:
			return find_damaged_kind(window + mark, window + length, at_eof);
	}
}

/* The row is valid, and its fields have been filled. */
static void
finish_fields(const RowScan *scan, ScanRow *row)
{
	const ScanJson *json = scan->json;
	bool		missing = scan->nfound < json->nkeys && !json->missing_is_null;
	bool		extra = !json_is_unset(scan, &scan->extra) && !json->ignore_extra;

	row->nfields = json->nkeys;
	if (scan->nfound == 0 && scan->npairs > 0 && json->nkeys > 0 && !extra)
		row->fault = SCAN_FAULT_JSON_NO_KEY;
	if (missing || extra)
	{
		scan->fields[json->nkeys] = scan->extra;
		if (!extra)
			scan->fields[json->nkeys] = (ScanField) {.start = scan->row_start};
		row->nfields++;
	}
	if (scan->too_long)
		row->fault = SCAN_FAULT_FIELD_TOO_LONG;
}

/*
 * The row whose first token is at a mark, and taken.  False: the window ends
 * before it does.
 */
static bool
scan_row(RowScan *scan, uint32_t mark, ScanRow *row)
{
	Walk		walk = WALK_BROKEN;

	*row = (ScanRow) {.start = mark, .line = scan->lines};
	if (scan->eol == SCAN_EOL_JSON_END)
		row->fault = SCAN_FAULT_JSON_BEHIND;
	else if (byte_at(&scan->marks, mark) != '{')
	{
		if (json_walk_value(scan, mark))
			row->fault = SCAN_FAULT_JSON_KIND;
	}
	else
	{
		walk = json_walk_object(scan, mark);
		if (walk == WALK_OBJECT)
		{
			row->end = scan->marks.marks[scan->marks.at - 1] + 1;
			walk = take_row_end(scan, row->end);
		}
		if (walk == WALK_UNFINISHED)
			return false;
	}
	if (walk == WALK_OBJECT)
	{
		finish_fields(scan, row);
		return true;
	}
	if (row->fault == SCAN_FAULT_NONE)
		row->fault = walk == WALK_DEEP ? SCAN_FAULT_JSON_DEPTH : SCAN_FAULT_JSON;
	return find_broken_end(scan, row);
}

/* Whether a file ends with a row for an unclosed array, or for a missing document. */
static inline bool
lacks_end(const RowScan *scan)
{
	return scan->at_eof &&
		(scan->eol == SCAN_EOL_JSON_ARRAY || scan->eol == SCAN_EOL_JSON_WHOLE);
}

static void
add_end_row(RowScan *scan, ScanRow *row)
{
	const uint32_t end = scan->marks.length;

	if (scan->eol == SCAN_EOL_JSON_ARRAY)
		*row = (ScanRow) {
			.start = end, .end = end, .line = scan->lines,
			.fault = SCAN_FAULT_JSON_UNCLOSED
		};
	else
		*row = (ScanRow) {.fault = SCAN_FAULT_JSON};
	scan->row_next = end;
	scan->eol = SCAN_EOL_JSON_END;
}

/* The next row; false: there is none, or the window ends before it does. */
static bool
next_row(RowScan *scan, uint32_t mark, ScanRow *row)
{
	if (mark == scan->marks.length)
	{
		add_end_row(scan, row);
		return true;
	}
	if (!scan_row(scan, mark, row))
		return false;

	if (scan->eol == SCAN_EOL_JSON_WHOLE)
		scan->eol = SCAN_EOL_JSON_END;
	return true;
}

static void
find_rows(RowScan *scan, ScanRow *rows, uint32_t max_rows, ScanField *fields,
		  uint32_t max_fields, ScanResult *result)
{
	const uint32_t length = scan->marks.length;
	const uint32_t room = SCAN_JSON_FIELDS(scan->json->nkeys);

	for (;;)
	{
		uint32_t	mark = next_token(scan);
		char		c = byte_at(&scan->marks, mark);
		ScanRow    *row = &rows[result->nrows];

		if (c == '\n')
			scan->lines++;
		else if (c == ']' && scan->eol == SCAN_EOL_JSON_ARRAY)
			scan->eol = SCAN_EOL_JSON_END;
		else if (mark == length && !lacks_end(scan))
			return;
		else if (result->nrows == max_rows || max_fields - result->nfields < room)
		{
			result->status = SCAN_FULL;
			return;
		}
		else
		{
			scan->fields = fields + result->nfields;
			if (!next_row(scan, mark, row))
				return;
			/* commas do not belong to a row, line ends do */
			row->next = is_by_lines(scan->eol) ? scan->row_next : row->end;
			row->first_field = result->nfields;
			result->nfields += row->nfields;
			result->nrows++;
			result->consumed = scan->row_next;
			result->lines = scan->lines;

			/* it may end elsewhere, which would change everything after it */
			if (row->lax)
			{
				result->status = SCAN_FULL;
				return;
			}
			continue;
		}
		result->consumed = mark + 1;
		result->lines = scan->lines;
	}
}

void
scan_json_rows(const ScanJson *json, ScanEol *eol, const char *window,
			   const char *bytes, uint32_t length, bool at_eof, ScanRow *rows,
			   uint32_t max_rows, ScanField *fields, uint32_t max_fields, ScanResult *result)
{
	RowScan		scan;
	uint32_t	begin = 0;

	memset(result, 0, sizeof(*result));
	result->status = SCAN_MORE;
	if (*eol == SCAN_EOL_UNKNOWN)
		*eol = find_kind(window, length, at_eof, &begin);
	if (*eol == SCAN_EOL_UNKNOWN || (*eol == SCAN_EOL_JSON_WHOLE && !at_eof))
		return;

	json_begin_walk(&scan, *eol, window, begin, length, at_eof);
	scan.json = json;
	scan.bytes = bytes;
	scan.lines = scan_count_lines(SCAN_EOL_NL, window, begin);
	result->consumed = begin;
	result->lines = scan.lines;
	find_rows(&scan, rows, max_rows, fields, max_fields, result);
	*eol = scan.eol;
	if (at_eof && result->status == SCAN_MORE)
	{
		result->consumed = length;
		result->lines = scan.lines;
		result->status = SCAN_END;
	}
}

/* ---- borders ---- */

static bool
is_blank(const char *s, const char *end)
{
	while (s < end && is_json_space(*s))
		s++;
	return s == end;
}

static void
line_border(const char *window, uint32_t length, bool at_eof, ScanBorder *border)
{
	const char *s = window;
	const char *end = window + length;
	const char *next;

	while (s < end && (next = memchr(s, '\n', (size_t) (end - s))) != NULL)
	{
		border->rows += !is_blank(s, next);
		border->lines++;
		s = next + 1;
	}
	border->end = (uint32_t) (s - window);
	if (at_eof)
	{
		border->rows += !is_blank(s, end);
		border->end = length;
	}
}

bool
scan_json_border(ScanEol eol, const char *window, uint32_t length, bool at_eof,
				 ScanBorder *border)
{
	const bool	series = eol == SCAN_EOL_JSON_SERIES;
	RowScan		scan;
	uint32_t	rows = 0;

	*border = (ScanBorder) {0};
	if (eol != SCAN_EOL_JSON_ARRAY && !series)
	{
		line_border(window, length, at_eof, border);
		return true;
	}
	json_begin_walk(&scan, eol, window, 0, length, at_eof);
	for (;;)
	{
		uint32_t	mark = next_token(&scan);
		bool		finished;
		bool		comma = false;
		uint32_t	end;

		if (mark == length)
			break;
		if (!series && window[mark] == ']')
			return false;
		end = pass_element(&scan, mark, &finished);
		rows += finished || at_eof;
		if (!finished)
			break;
		if (!series)
			end = take_comma(&scan, &comma);
		if (series || comma)
			*border = (ScanBorder) {.end = end, .rows = rows, .lines = scan.lines};
	}
	if (series && at_eof)
		*border = (ScanBorder) {.end = length, .rows = rows, .lines = scan.lines};
	return series || !at_eof;
}

/* ---- recovery ---- */

/*
 * The object that a line begins with, in that column; at its start, if the
 * broken row's line begins the array.  Before it there may be brackets and
 * commas that end others, and blanks.
 */
static const char *
find_object(const char *s, const char *end, uint32_t column, bool begins_array)
{
	const char *brace = s;

	while (brace < end &&
		   (*brace == ' ' || *brace == '\t' || *brace == ',' || *brace == '[' || *brace == '}'))
		brace++;
	if (brace == end || *brace != '{' ||
		(brace - s != column && !(begins_array && brace == s)))
		return NULL;
	return brace;
}

ScanRecovery
scan_json_recover(ScanEol eol, const char *window, uint32_t length, bool at_eof,
				  uint32_t row_start, uint32_t row_end, void (*poll) (void),
				  uint32_t *resume)
{
	const char *line = window + row_start;
	const char *stop = window + row_end;
	bool		begins_array;
	uint32_t	column;

	if (eol != SCAN_EOL_JSON_ARRAY && eol != SCAN_EOL_JSON_SERIES)
		return SCAN_NO_RESUME;
	while (line > window && line[-1] != '\n')
		line--;
	column = (uint32_t) (window + row_start - line);
	begins_array = column > 0 && *line == '[';

	line = window + row_start;
	while ((line = memchr(line, '\n', (size_t) (stop - line))) != NULL)
	{
		const char *object = find_object(++line, stop, column, begins_array);
		RowScan		scan;

		if (object == NULL)
			continue;
		if (poll != NULL)
			poll();
		json_begin_walk(&scan, SCAN_EOL_JSON_SERIES, window, (uint32_t) (object - window),
				   length, at_eof);
		switch (json_walk_object(&scan, next_token(&scan)))
		{
			case WALK_OBJECT:
				*resume = (uint32_t) (object - window);
				return SCAN_RESUME;
			case WALK_UNFINISHED:
				return SCAN_UNDECIDED;
			default:
				break;
		}
	}
	return SCAN_NO_RESUME;
}
