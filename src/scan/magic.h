/*
 * magic.h
 *		Recognizes files that are not text by their first bytes.
 */
#ifndef PGBULK_SCAN_MAGIC_H
#define PGBULK_SCAN_MAGIC_H

#include <stddef.h>

typedef struct ScanMagic
{
	const char *name;			/* one word */
	const char *title;			/* "a zip archive" */
	const char *advice;			/* what to do about it, a sentence */
} ScanMagic;

/*
 * The kind of a file that begins with data[0 .. length); NULL for text, and for
 * unknown files.  The first 4 kB are enough.  A kind whose magic consists of
 * letters counts only where a byte follows that no text has, so that a line of
 * text is never taken for something else.
 */
extern const ScanMagic *scan_magic(const char *data, size_t length);

#endif							/* PGBULK_SCAN_MAGIC_H */
