/*
 * utf16.h
 *		UTF-16 to UTF-8, as a filter (stream.h).
 */
#ifndef PGBULK_UTF16_H
#define PGBULK_UTF16_H

#include "postgres.h"

#include "option/options.h"
#include "stream/stream.h"

/* Bytes of a file that utf16_detect needs. */
#define UTF16_MARK 2

/*
 * The byte order of a file that begins with data: BULK_UTF16_LITTLE or
 * BULK_UTF16_BIG where it has a byte order mark, else BULK_UTF16_NONE.
 */
extern BulkUtf16 utf16_detect(const char *data, Size length);

/*
 * A byte order mark that the stream below begins with is dropped.  Memory: the
 * current context; everything is freed with it.
 */
extern Stream *utf16_open(Stream *below, bool big);

#endif							/* PGBULK_UTF16_H */
