/*
 * content.h
 *		The key of a file's content: a hash of its bytes as they lie on disk.
 *
 * A file is read for it once more, before it is loaded.  So whether it has been
 * loaded before is known before rows are stored, whatever reads it then, from
 * wherever and in which order: workers, a filter, a load that is repeated.
 * Price: copying the bytes from the system's cache, where they stay for the
 * load, and hashing them.
 */
#ifndef PGBULK_CONTENT_H
#define PGBULK_CONTENT_H

#include "postgres.h"

#include "scan/content_hash.h"
#include "scan/row_ends.h"
#include "stream/stream.h"

/*
 * Reads a regular file.  False: it is none.  Errors: those of files; 55000 where
 * it changes meanwhile.
 */
extern bool content_read(const char *path, FileStamp *stamp, ContentKey *key);

/* A file that others write to, at its end. */
typedef struct ContentTail
{
	int64		begin;			/* set by the caller: how much of it is known */
	RowEnds		ends;			/* the same: with its quotes; what follows is set here, */
	ContentKey	before;			/* of the bytes before begin */
	int64		begin_lines;	/* line ends in these */
	int64		end;			/* of the last complete row behind begin; else begin */
	ContentKey	key;			/* of the bytes before end */
} ContentTail;

/*
 * The same for such a file, with the bytes that it has now.  Error also: 0A000
 * where it is compressed or UTF-16.  False: it is no
 * regular file, or has no bytes behind begin and less before (tail->end = -1).
 */
extern bool content_read_tail(const char *path, FileStamp *stamp, ContentTail *tail);

/* How a file is now.  False: it is no regular one.  Errors: those of files. */
extern bool content_stamp(const char *path, FileStamp *stamp);

/* After the load: raises an error where the file is not what was read then. */
extern void content_check(const char *path, const FileStamp *stamp);

#endif							/* PGBULK_CONTENT_H */
