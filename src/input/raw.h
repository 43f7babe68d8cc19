/*
 * raw.h
 *		A row's bytes once more, long after it was read.
 *
 * Rows that turn out bad only when they are in the table are read again where
 * they stood; a compressed file is decompressed again.  A file that is not the
 * one that was read, or has changed since, ends the load, as it does while it
 * is read (file.h).  What comes through a pipe or from the client can be had
 * only once, so it is copied to a temporary file.
 */
#ifndef PGBULK_RAW_H
#define PGBULK_RAW_H

#include "postgres.h"

#include "input/source.h"

typedef struct Raw Raw;

/* For the files of a load.  Memory: the current context. */
extern Raw *raw_open(int nfiles);

/* For the files that stored rows are. */
extern Raw *raw_open_stored(StoredRows *stored);

/*
 * The source has a file open, and its first window: what it is, is
 * remembered, and copied if that is necessary.  Not in a subtransaction.
 */
extern void raw_remember(Raw *raw, Source *source);

/* The same for a file that can be read again, which another process had open. */
extern void raw_remember_file(Raw *raw, int number, const char *path,
							  const InputFile *file);

/*
 * The bytes of file number `file` from offset on; good until the next call.
 * NULL for a file that was not remembered.  Rows must be asked for in the
 * order of the files.  Errors: 55000 for a file that changed; those of
 * source_next and window_fill.
 */
extern const char *raw_read(Raw *raw, int file, int64 offset, Size length);

extern void raw_close(Raw *raw);

#endif							/* PGBULK_RAW_H */
