/*
 * json_walk.h
 *		A walk along the marks of a window: the grammar of JSON, and the values
 *		of the keys of each object (private to this folder).
 */
#ifndef PGBULK_JSON_WALK_H
#define PGBULK_JSON_WALK_H

#include "scan/json_keys.h"
#include "scan/json_marks.h"
#include "scan/scan.h"

/* Pairs of an object whose keys are remembered for the next one. */
#define MAX_REMEMBERED 64

typedef enum Walk
{
	WALK_OBJECT,
	WALK_BROKEN,
	WALK_UNFINISHED,			/* valid as far as the window goes */
	WALK_DEEP
} Walk;

/* The key of an object's n'th pair, and its meaning. */
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
	uint32_t	lines;			/* line ends before the next mark, in text that was skipped */
	uint32_t	row_start;
	uint32_t	row_next;		/* where the text after the row begins */
	Walk		outcome;		/* of a walk that has ended */

	const ScanJson *json;		/* NULL: values of keys are not wanted */
	const char *bytes;			/* of the window, where the text of keys is */
	ScanField  *fields;			/* of the row */
	ScanField	extra;			/* its first unwanted key */
	uint32_t	nfound;			/* keys that were wanted */
	uint32_t	npairs;
	bool		too_long;		/* a value is */
	uint32_t	nremembered;
	Remembered	remembered[MAX_REMEMBERED];
} RowScan;

/* Whether each line is a row. */
static inline bool
is_by_lines(ScanEol eol)
{
	return eol == SCAN_EOL_NL || eol == SCAN_EOL_JSON_END;
}

/*
 * The mark of the next token within a row, or of its premature end: the end of
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

/* Begins at an offset of the window. */
extern void json_begin_walk(RowScan *scan, ScanEol eol, const char *window,
							uint32_t start, uint32_t length, bool at_eof);

/*
 * The object whose opening brace, at a mark, has been taken.  The values of its
 * keys go to scan->fields, if scan->json has the keys that are wanted: a field
 * for each key, one that is not used here, and one more for the text of each
 * key.
 */
extern Walk json_walk_object(RowScan *scan, uint32_t mark);

/* Any value, likewise, which is only checked; false: scan->outcome says why. */
extern bool json_walk_value(RowScan *scan, uint32_t mark);

/* Whether a field has no key so far: it begins where the row does, which no value can. */
static inline bool
json_is_unset(const RowScan *scan, const ScanField *field)
{
	return field->start == scan->row_start;
}

#endif							/* PGBULK_JSON_WALK_H */
