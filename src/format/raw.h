/*
 * raw.h
 *		A row's bytes, read again long after the row was loaded.
 *
 * Rows that are found to be bad only when they are in the table are read again
 * from their file; a compressed file is decompressed again.  A file that has
 * been replaced or modified since ends the load, as it does while it is read
 * (file.h).  A pipe or the client can be read only once, so their data are
 * copied to a temporary file.
 */
#ifndef PGBULK_RAW_H
#define PGBULK_RAW_H

#include "postgres.h"

#include "format/journal.h"
#include "stream/source.h"
#include "stream/stored.h"

typedef struct Raw Raw;

/*
 * For the files, or the query, of a load into target.  Memory: the current
 * context; copies belong to the current resource owner.
 */
extern Raw *raw_open(int nfiles, const Target *target);

/* For stored rows. */
extern Raw *raw_open_stored(StoredRows *stored);

/*
 * The source has a file open, and its first window: remembers the file, and
 * copies it if necessary.  Not in a subtransaction.
 */
extern void raw_remember(Raw *raw, Source *source);

/* The same for a seekable file that another process had open. */
extern void raw_remember_file(Raw *raw, int number, const char *path,
							  const FileStamp *stamp);

/*
 * The row at a place, as messages and rejects show it: its bytes, unless its
 * format has show_row (format.h).  Valid until the next call.  *length: without
 * its line end, *full_length: with it.  NULL for a file that was not
 * remembered.  Rows must be asked for in the order of the files.  Errors: 55000
 * for a file that changed; those of source_next, window_fill and show_row.
 */
extern const char *raw_read(Raw *raw, const JournalPlace *place, Size *length,
							Size *full_length);

/*
 * The same for the message of an error: returns NULL also where the bytes
 * cannot be read directly, as those of a compressed file, or no longer.
 * *length: how much of the row there is to show.  Errors: only that of a cancel.
 */
extern const char *raw_show(Raw *raw, const JournalPlace *place, Size *length);

/*
 * Whether the source's file, just opened, was remembered by an earlier attempt.
 * Error: 55000 where it has changed since.
 */
extern bool raw_is_remembered(const Raw *raw, const Source *source);

/*
 * For source_rewind: by number, the copies of files that can be read only once,
 * and NULL for the others.  NULL for stored rows, which are not files.  Memory:
 * the current context.
 */
extern BufFile **raw_copies(const Raw *raw);

/* Closes the file that is open; nothing is forgotten. */
extern void raw_rest(Raw *raw);

extern void raw_close(Raw *raw);

#endif							/* PGBULK_RAW_H */
