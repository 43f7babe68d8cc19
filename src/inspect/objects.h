/*
 * objects.h
 *		Rows of a sample that are objects of JSON, and their keys.  Pure C.
 *
 * Objects stand in lines, in an array or one after the other, as format json has
 * them (scan/json_rows.h); each of their keys is to be a column of that very name.
 */
#ifndef PGBULK_OBJECTS_H
#define PGBULK_OBJECTS_H

#include "inspect/sheet.h"
#include "scan/json_rows.h"

typedef struct Objects
{
	/* given */
	SheetSpace *space;
	bool		ascii;			/* the file is not in UTF-8; as ScanJson has it */

	/* of the beginning of the file */
	ScanEol		eol;			/* how the objects stand */
	ScanEol		newline;		/* _NL, _CRNL, both: _ANY; none: _UNKNOWN */
	uint64_t	good;
	uint64_t	bad;			/* but for a last one that was cut off */
	uint32_t	fewest;			/* keys that an object has */

	/* of all spans that were looked at */
	uint64_t	rows;			/* objects ... */
	uint64_t	repeating;		/* ... with a key that comes twice */
	bool		too_many;		/* there are more than COLUMNS_MAX keys */
	bool		unnamed;		/* there are keys that cannot be the name of a column */
	char		unnamed_key[SCAN_JSON_MAX_NAME + 1];	/* the first of them, or its beginning */
	uint32_t	alike[2];		/* keys that differ in the case of letters alone; equal: none */
	ScanJson	scan;			/* all others, in the order in which they came */
	ScanJsonKey keys[COLUMNS_MAX];
	uint64_t	last_row[COLUMNS_MAX];	/* that had the key */
	uint32_t	slots[4 * COLUMNS_MAX];
	char		text[SCAN_JSON_MAX_KEY];	/* of a key that had escapes */
	char		names[COLUMNS_MAX * SCAN_JSON_MAX_NAME + SCAN_PADDING];
} Objects;

/* Begins with no key. */
extern void objects_begin(Objects *objects, SheetSpace *space, bool ascii);

/*
 * Looks at a span that begins a file, and takes its keys.  Whether it is made of
 * objects with keys: all of them, but for as few as there may be broken rows in
 * any file.
 */
extern bool objects_detect(Objects *objects, const SheetSpan *span);

/* Takes the keys of another span, one that begins a file or with an object. */
extern void objects_add(Objects *objects, const SheetSpan *span);

/* Takes a key away, which cannot be the name of a column; none is added afterwards. */
extern void objects_drop_key(Objects *objects, uint32_t key);

/*
 * Lets a span that begins anywhere in the file begin with an object.  False: none
 * was found that is one of the file's, and not one within another.
 */
extern bool objects_align(const Objects *objects, SheetSpan *span);

/*
 * Shows the rows of a span, good and bad, to visit: fields as scan_json_rows has
 * them.  Returns whether it wanted all.
 */
extern bool objects_walk(const Objects *objects, const SheetSpan *span,
						 SheetVisit visit, void *arg);

#endif							/* PGBULK_OBJECTS_H */
