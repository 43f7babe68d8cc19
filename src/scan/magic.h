/*
 * magic.h
 *		What a file is that is no text, by its first bytes.
 */
#ifndef PGBULK_SCAN_MAGIC_H
#define PGBULK_SCAN_MAGIC_H

#include <stddef.h>

typedef struct ScanMagic
{
	const char *name;			/* one word */
	const char *title;			/* "a zip archive" */
	const char *advice;			/* what to do with it, a sentence */
} ScanMagic;

/*
 * Names what data[0 .. length), the first bytes of a file, begins; NULL for
 * text, and for what is not known.  The first 4 kB are enough.  What begins
 * with letters alone counts only where a byte follows that no text has, so that
 * a line of text is never taken for something else.
 */
extern const ScanMagic *scan_magic(const char *data, size_t length);

#endif							/* PGBULK_SCAN_MAGIC_H */
