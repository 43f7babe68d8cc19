/*
 * content.h
 *		The key of a file's content: a hash of its bytes as they lie on disk.
 *
 * Where that is to be known before rows are stored, as by it a file is
 * recognized that has been loaded before, the file is read once more.  Price:
 * copying the bytes from the system's cache, where they stay for the load, which
 * is three quarters of it, and hashing them.  Else files are hashed while they
 * are loaded (source_hash), and read once more only if parts of them were not,
 * as with option limit.
 */
#ifndef PGBULK_CONTENT_H
#define PGBULK_CONTENT_H

#include "postgres.h"

#include "scan/content_hash.h"
#include "scan/row_ends.h"
#include "scan/scan.h"
#include "stream/stream.h"

/*
 * Reads a regular file.  False: it is none.  Errors: those of files; 55000 where
 * it changes meanwhile.
 */
extern bool content_read(const char *path, FileStamp *stamp, ContentKey *key);

/* The key of its first bytes; false: it has not so many.  It may change meanwhile. */
extern bool content_read_start(const char *path, int64 length, ContentKey *key);

/* Line ends in the bytes so far. */
typedef struct LineCount
{
	ScanEol		eol;			/* set by the caller: SCAN_EOL_NL or SCAN_EOL_ANY */
	bool		returned;		/* the last byte is a CR: what follows says whether that is one */
	int64		lines;
} LineCount;

/* A file that others write to, at its end. */
typedef struct ContentTail
{
	int64		begin;			/* set by the caller: how much of it is known, */
	bool		complete;		/* whether that ends with a row, */
	RowEnds		ends;			/* with its quotes, */
	LineCount	lines;			/* and its line ends; what follows is set here, */
	ContentKey	before;			/* of the bytes before begin */
	int64		rows_begin;		/* begin, or behind a line end that the last row lacked; -1: it
								 * ended within a row */
	int64		begin_lines;	/* line ends in these */
	int64		end;			/* of the last complete row behind begin; else begin */
	int64		end_lines;		/* line ends before it */
	ContentKey	key;			/* of the bytes before end */
	int64		rest_bytes;		/* behind end, of a row that is not complete; 0: there is none */
	int64		rest_lines;		/* line ends in these */
	int64		rest_line;		/* where that row begins */
} ContentTail;

/*
 * The same for such a file, with the bytes that it has now.  Error also: 0A000
 * where it is compressed or UTF-16.  False: it is no
 * regular file, or has no bytes behind begin and less before (tail->end = -1).
 */
extern bool content_read_tail(const char *path, FileStamp *stamp, ContentTail *tail);

/* A file that is loaded part by part, and does not change meanwhile. */
typedef struct ContentPart
{
	FileStamp	stamp;
	ContentKey	whole;			/* of all its bytes */
	int64		begin;			/* what follows is of the part */
	LineCount	begin_lines;	/* before it */
	int64		end;			/* of its last row; of the file's last part, the end of the file */
	LineCount	end_lines;
	ContentKey	key;			/* of the bytes before end */
	ContentHash begin_hash;		/* these two: to go on from */
	ContentHash end_hash;
} ContentPart;

/*
 * Reads a regular file that is to be loaded in parts; NULL: it is none.  What
 * was found out about the last one is kept for as long as the session, so that
 * the next part costs what it has, if the file is still the same.  Errors: those
 * of content_read.
 */
extern ContentPart *content_part_open(const char *path);

/* The same file has to be read again. */
extern void content_part_forget(void);

/* Goes to where a row begins, and counts lines by eol.  Returns the key of the bytes before it. */
extern ContentKey content_part_seek(ContentPart *part, const char *path, int64 begin, ScanEol eol);

/*
 * Finds the end of the part that begins there: ends has the quotes, and where to
 * stop.  Errors: 0A000 for compressed files, UTF-16, and lines that end in CR;
 * 55000 where the file has changed.
 */
extern void content_part_find(ContentPart *part, const char *path, RowEnds ends);

/* How a file is now.  False: it is no regular one.  Errors: those of files. */
extern bool content_stamp(const char *path, FileStamp *stamp);

/* Raises the error, 55000, for a file that is not what was read before. */
extern void content_refuse_changed(const char *path);

/* After the load: raises it where the file is not what was read then. */
extern void content_check(const char *path, const FileStamp *stamp);

#endif							/* PGBULK_CONTENT_H */
