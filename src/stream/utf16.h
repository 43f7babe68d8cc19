/*
 * utf16.h
 *		A stream of UTF-16 as one of UTF-8.
 */
#ifndef PGBULK_UTF16_H
#define PGBULK_UTF16_H

#include "postgres.h"

#include "option/options.h"

typedef struct Utf16 Utf16;

/* Bytes of a file that utf16_detect wants to see. */
#define UTF16_MARK 2

/*
 * What a file is that begins so: BULK_UTF16_LITTLE or BULK_UTF16_BIG where it
 * has a byte order mark, else BULK_UTF16_NONE.
 */
extern BulkUtf16 utf16_detect(const char *data, Size length);

/*
 * Begins a stream whose first bytes have been read already; pull reads on, 0
 * being the end.  A byte order mark is dropped.  Memory: the current context,
 * with which all ends.
 */
extern Utf16 *utf16_open(bool big, const char *head, Size length,
						 Size (*pull) (void *arg, char *to, Size size),
						 void *arg);

/* Up to size bytes; 0 at the end.  Errors: those of pull. */
extern Size utf16_read(Utf16 *utf16, char *to, Size size);

#endif							/* PGBULK_UTF16_H */
