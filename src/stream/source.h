/*
 * source.h
 *		The files of a load, and the window of bytes through which they are read.
 *
 * One of them at a time is open, as a stream (stream.h), decompressed where it
 * is compressed, and converted where it is UTF-16.  Its bytes go into one
 * buffer, the window, which begins at the first byte of a row.  window_fill
 * moves what is left of the last row to the front and reads more after it; a
 * row that is longer than the window makes the window grow.  Offsets are those
 * of the decompressed and converted bytes.
 */
#ifndef PGBULK_SOURCE_H
#define PGBULK_SOURCE_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "option/options.h"
#include "storage/buffile.h"
#include "stream/path.h"
#include "stream/stream.h"
#include "utils/portal.h"

typedef struct Window
{
	char	   *data;			/* readable from 16 bytes before to 64 after */
	uint32		length;
	uint32		capacity;
	bool		at_eof;			/* the file has no byte after the window */
	int64		offset;			/* of data[0] in the file */
	int64		line;			/* number of the line of data[0] */
} Window;

/* Opens stream `number` of a list, in the current context. */
typedef Stream *(*StreamOpener) (void *arg, int number);

/* What is read of a file, behind its header. */
typedef struct SourceRange
{
	int64		begin;			/* 0: all from the start */
	int64		begin_line;		/* the number of its line */
	int64		end;
} SourceRange;

typedef struct Source
{
	List	   *paths;			/* of char *: the files, or names for messages */
	const BulkOptions *options;
	StreamOpener open;			/* opens one of the list */
	void	   *open_arg;
	bool		bare;			/* rows alone, lines ending in LF: no byte order mark, no header */
	bool		from_client;	/* "stdin" is one of the paths */
	bool		asked;			/* the client has been, for its data */
	Portal		portal;			/* of the client's statement; see client_check */
	bool		client_marker;	/* these two: see client_open; for the caller to set */
	int			client_columns;
	int64	   *sizes;			/* of the files, as found at the start; -1: not known */
	int64		bytes_total;	/* of all, or of their ranges; 0: not known */
	const SourceRange *ranges;	/* of the files, by number; NULL: all that they have */
	int			kept;			/* the only file, open since it was looked at; or -1 */
	BufFile   **copies;			/* by number, of what cannot be read again; or NULL */
	int64		bytes_before;	/* of the files before the open one */
	int64	   *begins;			/* by number, of those before each; -1: not opened; or NULL */
	FileStamp  *hashed;			/* by number, files as they were opened, and their keys; or NULL */
	ContentHash hash;			/* of the open one, as far as it has been read */
	int			current;		/* index in paths of the open file, -1 before the first */
	const char *path;			/* NULL: none is open */
	Stream	   *stream;
	MemoryContext context;		/* of the stream */
	Window		window;
} Source;

/*
 * The files that a path means: itself; the client for "stdin", if sent; for a
 * glob (a path with *, ? or [) all that match, sorted by name. Returns a List
 * of char * in the current context.
 *
 * Errors: 22023 for a path that is not absolute; 42501 without
 * pg_read_server_files; 58P01 for a glob without a match.
 */
extern List *source_expand(const char *path, bool sent);

/* Sets source->ranges, before the first file is opened. */
extern void source_set_ranges(Source *source, const SourceRange *ranges);

/* Initial size of a window (setting pgbulk.chunk_size). */
extern int	source_chunk_size;

/*
 * Prepares to read paths with windows of window_size bytes at first.  Checks
 * every file, so that nothing is loaded where one is missing. Memory: the
 * current context.
 *
 * Errors: 42501 without pg_read_server_files, which only files need; 22023 for
 * more than one "stdin"; those of file_look and client_check.
 */
extern Source *source_open(List *paths, const BulkOptions *options,
						   Size window_size);

/*
 * Bytes of all files together if none is compressed, as far as options and names tell before they
 * are opened; 0: not known.
 */
extern int64 source_plain_bytes(const Source *source);

/* The name that the rows of a query have in messages. */
#define SOURCE_QUERY "query"

/*
 * A source of bare rows: a stream for each of the paths, which are only names
 * for messages.  bytes_total may be 0, not known.
 */
extern Source *source_open_list(List *paths, StreamOpener open, void *arg, int64 bytes_total,
								const BulkOptions *options, Size window_size);

/*
 * The same for one stream, number `number` of the paths, which is open already.
 * It is closed with the source, whether or not source_next has been called.
 */
extern Source *source_open_stream(Stream *stream, List *paths, int number,
								  const BulkOptions *options, Size window_size);

/*
 * Opens the next file.  False after the last.  Errors: 22P04 for a file
 * declared as UTF-16 that lacks the mark; those of file_open and
 * decompress_open.
 */
extern bool source_next(Source *source);

/* Whether the open file is seekable. */
extern bool source_can_seek(const Source *source);

/* Length of the UTF-8 byte order mark that the window begins with, at the file's first byte. */
extern uint32 source_mark(const Source *source);

/* Bytes read so far, as they lie in the files. */
extern int64 source_bytes(const Source *source);

/* Those of them that are before the ranges of files. */
extern int64 source_passed(const Source *source);

/*
 * Has files hashed while they are read, before the first one is opened: source->hashed is
 * filled.  What is read in part, or not in order, has no key in the end.
 */
extern void source_hash(Source *source);

/* A file was read by others, up to where hash is, or to its end, as the stamp says. */
extern void source_take_hash(Source *source, int number, const FileStamp *stamp,
							 const ContentHash *hash);

/*
 * Has source->begins filled, before the first file is opened; those that are read again keep
 * theirs.
 */
extern void source_note_begins(Source *source);

/*
 * Drops the first `consumed` bytes and the `lines` line ends in them, and reads
 * more.  Where nothing was consumed the window grows, up to 2 GB.
 *
 * Errors: 54000 for a row longer than that; those of the stream.
 */
extern void window_fill(Source *source, uint32 consumed, uint32 lines);

/* Doubles the window, empty or not.  Error: 54000 at 2 GB. */
extern void source_grow(Source *source);

/*
 * Continues reading at offset of the open file, in that line; the window is
 * empty.  Where the file is not seekable, the bytes from there on must have
 * been put back.
 */
extern void source_seek(Source *source, int64 offset, int64 line);

/* Makes space for length bytes that will be read (again) before all others. */
extern char *source_put_back(Source *source, Size length);

/* Up to size bytes, past the window; 0 at the end.  Errors as window_fill. */
extern Size source_read(Source *source, char *to, Size size);

/*
 * About how many bytes there are from offset on, which lies in the window.
 * Where that is not known, as many as there were before.
 */
extern int64 source_left(const Source *source, int64 offset);

/*
 * How many bytes the open file has from offset, which lies in the window, to
 * its end.  Where that is not known they are read.
 */
extern int64 source_rest(Source *source, int64 offset);

/*
 * How many bytes the files after the open one have, up to the first that
 * is read only once.  Whether they are compressed is not known yet.
 */
extern int64 source_following(const Source *source);

/*
 * A source of the seekable files of paths, for another process; none is open.
 * window_size as in source_open.
 */
extern Source *source_share(List *paths, const BulkOptions *options,
							Size window_size);

/*
 * Opens the file of that number, which must be the seekable file that
 * files[number] was of.  What was open is not read to its end; files from there
 * on count as read.  Error: 55000 where it has been replaced.
 */
extern void source_go(Source *source, int number, const FileStamp *files);

/*
 * Opens the file of that number, if it is a regular file that needs no filter,
 * and fills the window with its first bytes.  False: it is not, and none is
 * open.
 */
extern bool source_open_plain(Source *source, int number);

/*
 * Copies what is in the window, and all that is read from here to the file's
 * end, to copy.
 */
extern void source_copy(Source *source, BufFile *copy);

/*
 * Starts again with the first file.  What can be read only once comes from its
 * copy (raw.h): bytes as they were read before, decompressed and converted.
 * None is open.
 */
extern void source_rewind(Source *source, BufFile **copies);

extern void source_close(Source *source);

/*
 * A client that has not been asked for data, as other files had enough rows, is asked, and what it
 * sends is dropped.  Errors: those of client_open.
 */
extern void source_drain(Source *source);

/* Called last, when the load has succeeded: completes the client's COPY. */
extern void source_complete(const Source *source, int64 rows);

#endif							/* PGBULK_SOURCE_H */
