/*
 * objects.c
 *		See objects.h.
 */
#include "inspect/objects.h"

#include <stddef.h>
#include <string.h>

#include "scan/json.h"

/* How often the bytes of a span may be read again, as rows after a broken quote are. */
#define MAX_REREADS 16

/* Objects of a piece that must look right. */
#define ALIGN_ROWS 4

/* ---- rows ---- */

/* A walk that goes on where a load would; *eol as in scan_json_rows. */
static bool
walk_span(const ScanJson *json, ScanEol *eol, const SheetSpan *span,
		  SheetSpace *space, SheetVisit visit, void *arg)
{
	const char *s = span->data;
	const char *end = s + span->length;
	uint64_t	again = 0;		/* bytes read without result */
	ScanResult	result;

	do
	{
		sheet_pause(space);
		scan_json_rows(json, eol, s, s, (uint32_t) (end - s), span->to_end, space->rows,
					   SHEET_ROWS, space->fields, SHEET_FIELDS, &result);
		for (uint32_t i = 0; i < result.nrows; i++)
		{
			const ScanRow *row = &space->rows[i];
			uint32_t	resume;

			if (!visit(arg, s, row, space->fields + row->first_field))
				return false;
			if (row->lax &&
				scan_json_recover(*eol, s, (uint32_t) (end - s), span->to_end, row->start,
								  row->end, NULL, &resume) == SCAN_RESUME)
			{
				again += result.consumed - resume;
				result.consumed = resume;
			}
		}
		s += result.consumed;
	} while (result.status == SCAN_FULL &&
			 again <= (uint64_t) span->length * MAX_REREADS);
	return true;
}

bool
objects_walk(const Objects *objects, const SheetSpan *span, SheetVisit visit,
			 void *arg)
{
	ScanEol		eol = span->begins ? SCAN_EOL_UNKNOWN : objects->eol;

	return walk_span(&objects->scan, &eol, span, objects->space, visit, arg);
}

/* ---- keys ---- */

static void
index_keys(Objects *objects)
{
	objects->scan.nslots = scan_json_nslots(objects->scan.nkeys);
	scan_json_index(&objects->scan);
}

/* What follows the string that begins at s, of a text that is sound. */
static const char *
skip_string(const char *s)
{
	for (s++; *s != '"'; s++)
		if (*s == '\\')
			s++;
	return s + 1;
}

/*
 * The next key of a sound object, of which s .. end is the rest, from a bracket or
 * a comma on.  Returns where its value ends, or NULL where there is no other key.
 */
static const char *
next_key(const char *s, const char *end, const char **key, uint32_t *length)
{
	uint32_t	depth = 0;

	s = memchr(s, '"', (size_t) (end - s));
	if (s == NULL)
		return NULL;
	*key = s + 1;
	s = skip_string(s);
	*length = (uint32_t) (s - 1 - *key);
	for (;; s++)
	{
		if (*s == '"')
			s = skip_string(s) - 1;
		else if (*s == '{' || *s == '[')
			depth++;
		else if (depth == 0 && (*s == ',' || *s == '}'))
			return s;
		else if (*s == '}' || *s == ']')
			depth--;
	}
}

/* One that cannot be the name of a column. */
static void
note_unnamed(Objects *objects, const char *s, uint32_t length)
{
	if (length > SCAN_JSON_MAX_NAME)
		length = SCAN_JSON_MAX_NAME;
	if (!objects->unnamed)
		memcpy(objects->unnamed_key, s, length);
	objects->unnamed = true;
}

/*
 * Finds a key among those that are there, or adds it.  Returns its number, or
 * JSON_NO_KEY if it is not to be one.
 */
static uint32_t
take_key(Objects *objects, const char *s, uint32_t length)
{
	ScanJson   *scan = &objects->scan;
	bool		escaped = memchr(s, '\\', length) != NULL;
	JsonMeaning meaning = json_find_key(scan, s, length, escaped);
	char	   *name = objects->names + scan->nkeys * SCAN_JSON_MAX_NAME;
	size_t		size = length;

	if (meaning.exact)
		return meaning.key;
	if (escaped)
		size = length > SCAN_JSON_MAX_KEY ? JSON_NO_TEXT :
			json_unescape(s, length, objects->ascii, objects->text);
	if (size == 0 || size > SCAN_JSON_MAX_NAME)
	{
		note_unnamed(objects, s, length);
		return JSON_NO_KEY;
	}
	if (scan->nkeys == COLUMNS_MAX)
	{
		objects->too_many = true;
		return JSON_NO_KEY;
	}
	memcpy(name, escaped ? objects->text : s, size);
	if (meaning.key != JSON_NO_KEY && objects->alike[0] == objects->alike[1])
	{
		objects->alike[0] = meaning.key;
		objects->alike[1] = scan->nkeys;
	}
	objects->last_row[scan->nkeys] = 0;
	objects->keys[scan->nkeys++] = (ScanJsonKey) {.name = name, .length = (uint32_t) size};
	index_keys(objects);
	return scan->nkeys - 1;
}

/* Takes the keys of an object; returns how many are those of columns. */
static uint32_t
take_keys(Objects *objects, const char *s, const char *end)
{
	uint32_t	n = 0;
	bool		repeating = false;
	const char *key;
	uint32_t	length;

	objects->rows++;
	while ((s = next_key(s, end, &key, &length)) != NULL)
	{
		uint32_t	number = take_key(objects, key, length);

		if (number == JSON_NO_KEY)
			continue;
		if (objects->last_row[number] == objects->rows)
			repeating = true;
		else
			n++;
		objects->last_row[number] = objects->rows;
	}
	objects->repeating += repeating;
	return n;
}

/* ---- whether a file is made of objects ---- */

typedef struct Look
{
	Objects    *objects;
	const SheetSpan *span;
} Look;

static bool
look_at_row(void *arg, const char *data, const ScanRow *row, const ScanField *fields)
{
	Look	   *look = arg;
	Objects    *objects = look->objects;
	const char *end = data + row->end;
	uint32_t	nkeys;

	(void) fields;
	if (row->fault == SCAN_FAULT_NONE)
	{
		nkeys = take_keys(objects, data + row->start, end);
		if (objects->good++ == 0 || nkeys < objects->fewest)
			objects->fewest = nkeys;
	}
	else if (row->fault == SCAN_FAULT_JSON_BEHIND ||
			 end < look->span->data + look->span->length)
		objects->bad++;
	return true;
}

/* Walks without asking for any key. */
static void
look_at_span(Objects *objects, ScanEol *eol, const SheetSpan *span)
{
	uint32_t	slots[8];
	ScanJson	none = {
		.nslots = scan_json_nslots(0), .slots = slots, .ignore_extra = true
	};
	Look		look = {.objects = objects, .span = span};

	scan_json_index(&none);
	walk_span(&none, eol, span, objects->space, look_at_row, &look);
}

static ScanEol
find_newline(const SheetSpan *span)
{
	const char *s = span->data;
	const char *end = s + span->length;
	ScanEol		newline = SCAN_EOL_UNKNOWN;

	for (; (s = memchr(s, '\n', (size_t) (end - s))) != NULL; s++)
	{
		ScanEol		kind = s > span->data && s[-1] == '\r' ? SCAN_EOL_CRNL : SCAN_EOL_NL;

		if (newline != SCAN_EOL_UNKNOWN && newline != kind)
			return SCAN_EOL_ANY;
		newline = kind;
	}
	return newline;
}

void
objects_begin(Objects *objects, SheetSpace *space, bool ascii)
{
	memset(objects, 0, offsetof(Objects, scan));
	objects->space = space;
	objects->ascii = ascii;
	objects->scan = (ScanJson) {
		.keys = objects->keys, .slots = objects->slots, .ascii = ascii
	};
	index_keys(objects);
}

bool
objects_detect(Objects *objects, const SheetSpan *span)
{
	uint64_t	all;

	objects->newline = find_newline(span);
	look_at_span(objects, &objects->eol, span);
	all = objects->good + objects->bad;
	return objects->scan.nkeys > 0 && !objects->too_many &&
		(objects->bad == 1 ? all > 6 : objects->bad * 10 <= all);
}

void
objects_add(Objects *objects, const SheetSpan *span)
{
	ScanEol		eol = span->begins ? SCAN_EOL_UNKNOWN : objects->eol;

	look_at_span(objects, &eol, span);
}

void
objects_drop_key(Objects *objects, uint32_t key)
{
	ScanJson   *scan = &objects->scan;

	note_unnamed(objects, scan->keys[key].name, scan->keys[key].length);
	if (key == objects->alike[0] || key == objects->alike[1])
		objects->alike[0] = objects->alike[1] = 0;
	for (int i = 0; i < 2; i++)
		objects->alike[i] -= objects->alike[i] > key;
	scan->nkeys--;
	memmove(objects->keys + key, objects->keys + key + 1,
			(scan->nkeys - key) * sizeof(ScanJsonKey));
	index_keys(objects);
}

/* ---- where an object begins ---- */

static SheetSpan
span_from(const SheetSpan *span, const char *s)
{
	SheetSpan	rest = *span;

	rest.data = s;
	rest.length -= (uint32_t) (s - span->data);
	return rest;
}

/*
 * The first of the outermost objects that begin in a span: those within others
 * are deeper.  inside: the span begins within a string.  NULL: none begins.
 */
static const char *
find_outermost(const SheetSpan *span, bool inside)
{
	const char *first = NULL;
	int64_t		least = 0;
	int64_t		depth = 0;

	for (const char *s = span->data; s < span->data + span->length; s++)
	{
		if (inside && *s == '\\')
			s++;
		else if (*s == '"')
			inside = !inside;
		else if (!inside && (*s == '{' || *s == '['))
		{
			if (*s == '{' && (first == NULL || depth < least))
			{
				first = s;
				least = depth;
			}
			depth++;
		}
		else if (!inside && (*s == '}' || *s == ']'))
			depth--;
	}
	return first;
}

typedef struct Alignment
{
	const Objects *objects;
	int			rows;
	bool		good;
} Alignment;

/* An object of the file has some of the keys that others have. */
static bool
check_row(void *arg, const char *data, const ScanRow *row, const ScanField *fields)
{
	Alignment  *alignment = arg;
	uint32_t	found = 0;

	(void) data;
	for (uint32_t i = 0; row->fault == SCAN_FAULT_NONE && i < alignment->objects->scan.nkeys; i++)
		found += !SCAN_JSON_IS_MISSING(&fields[i]);
	alignment->good = row->fault == SCAN_FAULT_NONE && found * 2 >= alignment->objects->fewest;
	return alignment->good && ++alignment->rows < ALIGN_ROWS;
}

bool
objects_align(const Objects *objects, SheetSpan *span)
{
	if (span->begins)
	{
		/* its byte order mark */
		if (span->length >= 3 && memcmp(span->data, "\xef\xbb\xbf", 3) == 0)
			*span = span_from(span, span->data + 3);
		return true;
	}
	if (objects->eol == SCAN_EOL_NL)
	{
		const char *line = memchr(span->data, '\n', span->length);

		if (line != NULL)
			*span = span_from(span, line + 1);
		return line != NULL;
	}
	for (int inside = 0; inside < 2 && objects->eol != SCAN_EOL_JSON_END; inside++)
	{
		const char *first = find_outermost(span, inside);
		Alignment	alignment = {.objects = objects};
		SheetSpan	rest;

		if (first == NULL)
			continue;
		rest = span_from(span, first);
		objects_walk(objects, &rest, check_row, &alignment);
		if (alignment.good)
		{
			*span = rest;
			return true;
		}
	}
	return false;
}
