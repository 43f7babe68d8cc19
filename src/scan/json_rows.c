/*
 * json_rows.c
 *		See json_rows.h.
 *
 * One walk along the marks of the window (json_marks.h) finds the rows and what
 * their keys have.  It stops at the first mark that the grammar does not allow;
 * where that row ends is found by its line end, or by brackets alone.
 */
#include "scan/json_rows.h"

#include "scan/json_keys.h"
#include "scan/json_marks.h"

/* Pairs of an object whose keys are remembered for the next one. */
#define MAX_REMEMBERED 64

typedef enum Walk
{
	WALK_OBJECT,
	WALK_BROKEN,
	WALK_UNFINISHED,			/* sound as far as the window goes */
	WALK_DEEP
} Walk;

/* What the key of an object's n'th pair was, and what it meant. */
typedef struct Remembered
{
	uint32_t	start;
	uint32_t	length;
	JsonMeaning meaning;
} Remembered;

typedef struct RowScan
{
	JsonScan	marks;
	ScanEol		eol;
	bool		at_eof;
	uint32_t	lines;			/* line ends up to the mark that is next, in text passed over */
	uint32_t	row_start;
	uint32_t	row_next;		/* where what follows the row begins */
	Walk		outcome;		/* of a walk that has come to an end */

	const ScanJson *json;		/* NULL: what the keys have is not asked for */
	ScanField  *fields;			/* of the row */
	ScanField	extra;			/* its first key that was not asked for */
	uint32_t	nfound;			/* keys that were */
	uint32_t	npairs;
	bool		too_long;		/* a value is */
	uint32_t	nremembered;
	Remembered	remembered[MAX_REMEMBERED];
} RowScan;

static void
begin_scan(RowScan *scan, ScanEol eol, const char *window, uint32_t start,
		   uint32_t length, bool at_eof)
{
	begin_marks(&scan->marks, window, start, length, true);
	scan->eol = eol;
	scan->at_eof = at_eof;
	scan->lines = 0;
	scan->json = NULL;
	scan->nremembered = 0;
}

/* Whether each line is a row. */
static inline bool
is_by_lines(ScanEol eol)
{
	return eol == SCAN_EOL_NL || eol == SCAN_EOL_JSON_END;
}

/* ---- the grammar ---- */

/*
 * The mark of the next token within a row, or of what cannot be there: an end of
 * the line, if rows are lines, or of the text.
 */
static inline uint32_t
next_token(RowScan *scan)
{
	for (;;)
	{
		uint32_t	mark = next_mark(&scan->marks);
		char		c = byte_at(&scan->marks, mark);

		if (LIKELY((unsigned char) c > ' ') || !is_json_space(c))
			return mark;
		if (c == '\n')
		{
			if (is_by_lines(scan->eol))
				return mark;
			scan->lines++;
		}
	}
}

/* The walk ends at this mark, or because of this many bytes from there on; always false. */
static bool
stop_walk(RowScan *scan, uint32_t mark, uint32_t bytes)
{
	bool		cut = scan->marks.length - mark < bytes;

	scan->outcome = cut && !scan->at_eof ? WALK_UNFINISHED : WALK_BROKEN;
	return false;
}

static inline bool
walk_string(RowScan *scan, uint32_t mark, JsonNode *node)
{
	const char *text = scan->marks.text;
	uint32_t	end = next_mark(&scan->marks);
	bool		escaped = false;

	while (UNLIKELY(byte_at(&scan->marks, end) == '\\'))
	{
		if (!is_escape(text + end, scan->marks.length - end - 1))
			return stop_walk(scan, end, 6);
		escaped = true;
		end = next_mark(&scan->marks);
	}
	if (UNLIKELY(byte_at(&scan->marks, end) != '"'))
		return stop_walk(scan, end, 1);
	*node = (JsonNode) {
		.start = mark + 1, .length = end - mark - 1, .kind = JSON_STRING,
		.escaped = escaped
	};
	return true;
}

static inline bool
walk_scalar(RowScan *scan, uint32_t mark, JsonNode *node)
{
	if (UNLIKELY((unsigned char) byte_at(&scan->marks, mark) <= ' '))
		return stop_walk(scan, mark, 1);
	*node = (JsonNode) {.start = mark};
	if (UNLIKELY(!scan_scalar(&scan->marks, mark, node)))
	{
		/* there may be more of it */
		if (peek_mark(&scan->marks) == scan->marks.length)
			mark = scan->marks.length;
		return stop_walk(scan, mark, 1);
	}
	return true;
}

/* One more object or array is open. */
static inline bool
push_container(RowScan *scan, uint64_t *objects, uint32_t depth, bool object)
{
	const uint64_t bit = UINT64_C(1) << depth % 64;

	if (UNLIKELY(depth == SCAN_JSON_MAX_DEPTH))
	{
		scan->outcome = WALK_DEEP;
		return false;
	}
	if (object)
		objects[depth / 64] |= bit;
	else
		objects[depth / 64] &= ~bit;
	return true;
}

/* The container that opens at a mark; what is in it is only looked at. */
static bool
walk_container(RowScan *scan, uint32_t mark, JsonNode *node)
{
	uint64_t	objects[SCAN_JSON_MAX_DEPTH / 64];	/* which of those that are open are objects */
	const JsonScan *marks = &scan->marks;
	const uint32_t start = mark;
	uint32_t	depth = 0;
	bool		object;
	JsonNode	child;
	char		c = byte_at(marks, mark);

	objects[0] = 0;

open:
	object = c == '{';
	if (!push_container(scan, objects, depth, object))
		return false;
	depth++;
	mark = next_token(scan);
	c = byte_at(marks, mark);
	if (c == (object ? '}' : ']'))
		goto close;
	if (object)
		goto key;

value:
	if (c == '{' || c == '[')
		goto open;
	if (!(c == '"' ? walk_string(scan, mark, &child) : walk_scalar(scan, mark, &child)))
		return false;

after_value:
	mark = next_token(scan);
	c = byte_at(marks, mark);
	if (c == ',')
	{
		mark = next_token(scan);
		c = byte_at(marks, mark);
		if (object)
			goto key;
		goto value;
	}
	if (c != (object ? '}' : ']'))
		return stop_walk(scan, mark, 1);

close:
	if (--depth > 0)
	{
		object = (objects[(depth - 1) / 64] >> (depth - 1) % 64 & 1) != 0;
		goto after_value;
	}
	*node = (JsonNode) {
		.start = start, .length = mark + 1 - start,
		.kind = marks->text[start] == '{' ? JSON_OBJECT : JSON_ARRAY
	};
	return true;

key:
	if (c != '"')
		return stop_walk(scan, mark, 1);
	if (!walk_string(scan, mark, &child))
		return false;
	mark = next_token(scan);
	if (byte_at(marks, mark) != ':')
		return stop_walk(scan, mark, 1);
	mark = next_token(scan);
	c = byte_at(marks, mark);
	goto value;
}

static inline bool
walk_value(RowScan *scan, uint32_t mark, JsonNode *node)
{
	switch (byte_at(&scan->marks, mark))
	{
		case '"':
			return walk_string(scan, mark, node);
		case '{':
		case '[':
			return walk_container(scan, mark, node);
		default:
			return walk_scalar(scan, mark, node);
	}
}

/* ---- what the keys have ---- */

/* Up to 16 bytes are compared at once; at least so many after both are readable. */
static inline bool
equal_texts(const char *a, const char *b, uint32_t length)
{
	uint64_t	differs;

	if (UNLIKELY(length > 16))
		return memcmp(a, b, length) == 0;
	differs = length == 0 ? 0 :
		(swar_load(a) ^ swar_load(b)) << (length < 8 ? 64 - 8 * length : 0);
	if (length > 8)
		differs |= (swar_load(a + 8) ^ swar_load(b + 8)) << (128 - 8 * length);
	return differs == 0;
}

/* Objects mostly have the same keys in the same order. */
static inline JsonMeaning
find_meaning(RowScan *scan, const JsonNode *key)
{
	const char *text = scan->marks.text;
	uint32_t	n = scan->npairs;
	Remembered *remembered = &scan->remembered[n];
	JsonMeaning meaning;

	if (n < scan->nremembered && key->length == remembered->length &&
		LIKELY(equal_texts(text + key->start, text + remembered->start, key->length)))
		return remembered->meaning;
	meaning = json_find_key(scan->json, text + key->start, key->length, key->escaped);
	if (n <= scan->nremembered && n < MAX_REMEMBERED)
	{
		*remembered = (Remembered) {
			.start = key->start, .length = key->length, .meaning = meaning
		};
		if (n == scan->nremembered)
			scan->nremembered++;
	}
	return meaning;
}

/* Until a key comes its field begins with the row, where no value does. */
static inline bool
is_unset(const RowScan *scan, const ScanField *field)
{
	return field->start == scan->row_start;
}

static void
begin_fields(RowScan *scan)
{
	const ScanField unset = {
		.start = scan->row_start, .escaped = !scan->json->missing_is_null
	};

	for (uint32_t i = 0; i < scan->json->nkeys; i++)
		scan->fields[i] = unset;
	scan->extra = unset;
	scan->nfound = scan->npairs = 0;
	scan->too_long = false;
}

static void
note_extra(RowScan *scan, const ScanField *key)
{
	if (is_unset(scan, &scan->extra))
		scan->extra = *key;
}

/*
 * A key that means what an earlier one has meant: whether its value counts.  It does if it is the
 * name itself, or the same as the earlier one.  Of others that are as good none is meant.
 *
 * Of the earlier one: "escaped", it was the name itself; not "quoted", none was meant.
 */
static bool
takes_over(RowScan *scan, uint32_t key, const ScanField *name)
{
	ScanField  *earlier = &scan->fields[scan->json->nkeys + 1 + key];
	ScanField  *field = &scan->fields[key];
	const char *text = scan->marks.text;

	if (name->escaped)
	{
		if (!earlier->escaped)
			note_extra(scan, earlier);
		scan->nfound += !earlier->quoted;
		return true;
	}
	if (!earlier->escaped && earlier->length == name->length &&
		memcmp(text + earlier->start, text + name->start, name->length) == 0)
		return earlier->quoted;
	note_extra(scan, name);
	if (!earlier->escaped && earlier->quoted)
	{
		scan->nfound--;
		earlier->quoted = 0;
		field->length = field->quoted = 0;
		field->escaped = !scan->json->missing_is_null;
	}
	return false;
}

static inline void
put_pair(RowScan *scan, const JsonNode *key, const JsonNode *value)
{
	const ScanJson *json = scan->json;
	JsonMeaning meaning = find_meaning(scan, key);
	ScanField	name = {
		.start = key->start, .length = key->length < SCAN_MAX_FIELD ? key->length : 0,
		.quoted = 1, .escaped = meaning.exact
	};
	ScanField  *field;
	bool		whole;

	scan->npairs++;
	if (meaning.key == JSON_NO_KEY)
	{
		note_extra(scan, &name);
		return;
	}
	field = &scan->fields[meaning.key];
	if (LIKELY(is_unset(scan, field)))
		scan->nfound++;
	else if (!takes_over(scan, meaning.key, &name))
		return;
	if (UNLIKELY(value->length >= SCAN_MAX_FIELD - 2))
		scan->too_long = true;

	scan->fields[json->nkeys + 1 + meaning.key] = name;
	whole = json->keys[meaning.key].whole && value->kind == JSON_STRING;
	*field = (ScanField) {
		.start = value->start - whole,
		.length = value->kind == JSON_NULL ? 0 : value->length + 2 * whole,
		.quoted = value->kind == JSON_STRING,
		.escaped = value->escaped && !whole
	};
}

/* The object that opens at a mark. */
static Walk
walk_object(RowScan *scan, uint32_t mark)
{
	JsonNode	key = {0};
	JsonNode	value = {0};
	char		c;

	mark = next_token(scan);
	c = byte_at(&scan->marks, mark);
	if (c == '}')
		return WALK_OBJECT;
	for (;;)
	{
		if (c != '"')
			break;
		if (!walk_string(scan, mark, &key))
			return scan->outcome;
		mark = next_token(scan);
		if (byte_at(&scan->marks, mark) != ':')
			break;
		mark = next_token(scan);
		if (!walk_value(scan, mark, &value))
			return scan->outcome;
		if (scan->json != NULL)
			put_pair(scan, &key, &value);

		mark = next_token(scan);
		c = byte_at(&scan->marks, mark);
		if (c == '}')
			return WALK_OBJECT;
		if (c != ',')
			break;
		mark = next_token(scan);
		c = byte_at(&scan->marks, mark);
	}
	stop_walk(scan, mark, 1);
	return scan->outcome;
}

/* ---- where rows end ---- */

/* The token that is next, which stays so. */
static inline uint32_t
peek_token(RowScan *scan)
{
	uint32_t	mark = next_token(scan);

	scan->marks.at--;
	return mark;
}

/*
 * Passes over an element of an array or a series whose first token has been
 * taken, by brackets and quotes.  Returns where it ends; *finished: before the
 * text does.
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
 * that begins, or the text ends; *comma: there is one.
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

/* What is behind a sound object: WALK_OBJECT if it may be there. */
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
 * The ends of a row that is no object, from row->start on, and of what belongs to
 * it.  False: the window ends before it does.
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
		scan->lines += scan_count_lines(SCAN_EOL_NL, text + row->start, scan->row_next - row->start);
		begin_marks(marks, text, scan->row_next, marks->length, true);
	}
	while (row->end > row->start && is_json_space(text[row->end - 1]))
		row->end--;
	return finished || scan->at_eof;
}

/* ---- rows ---- */

/*
 * How the rows of a file stand, from its first bytes: SCAN_EOL_UNKNOWN if these
 * do not say.  *begin: where the first one may be.
 */
static ScanEol
find_kind(const char *window, uint32_t length, bool at_eof, uint32_t *begin)
{
	RowScan		scan;
	uint32_t	mark;

	*begin = 0;
	begin_scan(&scan, SCAN_EOL_JSON_SERIES, window, 0, length, at_eof);
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
	switch (walk_object(&scan, mark))
	{
		case WALK_OBJECT:
			return scan.lines > 0 ? SCAN_EOL_JSON_SERIES : SCAN_EOL_NL;
		case WALK_UNFINISHED:
			return SCAN_EOL_UNKNOWN;
		default:
			return SCAN_EOL_NL;
	}
}

/* The row is sound; its fields are there. */
static void
finish_fields(const RowScan *scan, ScanRow *row)
{
	const ScanJson *json = scan->json;
	bool		missing = scan->nfound < json->nkeys && !json->missing_is_null;
	bool		extra = !is_unset(scan, &scan->extra) && !json->ignore_extra;

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
	JsonNode	value;

	*row = (ScanRow) {.start = mark, .line = scan->lines};
	scan->row_start = mark;
	if (scan->eol == SCAN_EOL_JSON_END)
		row->fault = SCAN_FAULT_JSON_BEHIND;
	else if (byte_at(&scan->marks, mark) != '{')
	{
		if (walk_value(scan, mark, &value))
			row->fault = SCAN_FAULT_JSON_KIND;
	}
	else
	{
		begin_fields(scan);
		walk = walk_object(scan, mark);
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

/* Whether a file ends with a row for what it lacks. */
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
			/* commas belong to no row, line ends do */
			row->next = is_by_lines(scan->eol) ? scan->row_next : row->end;
			row->first_field = result->nfields;
			result->nfields += row->nfields;
			result->nrows++;
			result->consumed = scan->row_next;
			result->lines = scan->lines;

			/* it may end elsewhere, and all that follows be something else */
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
			   uint32_t length, bool at_eof, ScanRow *rows, uint32_t max_rows,
			   ScanField *fields, uint32_t max_fields, ScanResult *result)
{
	RowScan		scan;
	uint32_t	begin = 0;

	memset(result, 0, sizeof(*result));
	result->status = SCAN_MORE;
	if (*eol == SCAN_EOL_UNKNOWN)
		*eol = find_kind(window, length, at_eof, &begin);
	if (*eol == SCAN_EOL_UNKNOWN || (*eol == SCAN_EOL_JSON_WHOLE && !at_eof))
		return;

	begin_scan(&scan, *eol, window, begin, length, at_eof);
	scan.json = json;
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
	begin_scan(&scan, eol, window, 0, length, at_eof);
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

/* What an object's line has before it: brackets and commas that others end with, and blanks. */
static bool
is_lead(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == ',' || *s == '[' || *s == '}'))
		s++;
	return s == end;
}

/* The object that a line may begin with, in that column or, where such an array begins, at once. */
static const char *
find_object(const char *s, const char *end, uint32_t column, bool begins_array)
{
	const char *brace = memchr(s, '{', (size_t) (end - s));

	if (brace == NULL || !is_lead(s, brace) ||
		(brace - s != column && !(begins_array && brace == s)))
		return NULL;
	return brace;
}

ScanRecovery
scan_json_recover(ScanEol eol, const char *window, uint32_t length, bool at_eof,
				  uint32_t row_start, uint32_t row_end, uint32_t *resume)
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
		begin_scan(&scan, SCAN_EOL_JSON_SERIES, window, (uint32_t) (object - window),
				   length, at_eof);
		switch (walk_object(&scan, next_token(&scan)))
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
