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

#include "format/journal.h"
#include "stream/source.h"
#include "stream/stored.h"

typedef struct Raw Raw;

/*
 * For the files, or the query, of a load into target.  Memory: the current
 * context; copies are the current resource owner's.
 */
extern Raw *raw_open(int nfiles, const Target *target);

/* For the files that stored rows are. */
extern Raw *raw_open_stored(StoredRows *stored);

/*
 * The source has a file open, and its first window: what it is, is
 * remembered, and copied if that is necessary.  Not in a subtransaction.
 */
extern void raw_remember(Raw *raw, Source *source);

/* The same for a file that can be read again, which another process had open. */
extern void raw_remember_file(Raw *raw, int number, const char *path,
							  const FileStamp *stamp);

/*
 * The row at a place, as it is shown: its bytes, unless its format shows others
 * (show_row of format.h); good until the next call.  *length: without its line
 * end, *full_length: with it.  NULL for a file that was not remembered.  Rows
 * must be asked for in the order of the files.  Errors: 55000 for a file that
 * changed; those of source_next, window_fill and show_row.
 */
extern const char *raw_read(Raw *raw, const JournalPlace *place, Size *length,
							Size *full_length);

/*
 * The same for a message, where an error is known already: NULL, too, where the
 * bytes cannot be had at once, as those of a compressed file, or not any more.
 * *length: what of the row there is to be shown.  No errors.
 */
extern const char *raw_show(Raw *raw, const JournalPlace *place, Size *length);

/*
 * Whether the source's file, just opened, was remembered by an earlier attempt.  Error:
 * 55000 where it is not the same any more.
 */
extern bool raw_is_remembered(const Raw *raw, const Source *source);

/*
 * For source_rewind: by number, the copies of files that can be read only once,
 * and NULL for the others.  NULL for stored rows, which are not files.  Memory:
 * the current context.
 */
extern BufFile **raw_copies(const Raw *raw);

/* Lets go of the file that is open; what is remembered stays. */
extern void raw_rest(Raw *raw);

extern void raw_close(Raw *raw);

#endif							/* PGBULK_RAW_H */
