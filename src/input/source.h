/*
 * source.h
 *		The files of a load, and the window of bytes through which they are read.
 *
 * Files are read with plain reads into one buffer, the window, which begins
 * at the first byte of a row.  window_fill moves what is left of the last
 * row to the front and reads on behind it; a row that is longer than the
 * window makes the window grow.
 *
 * A file that is written to while it is read ends the load: what was read is
 * neither the old file nor the new one.  A file that another takes the place
 * of, or that is deleted, is read to its end.
 */
#ifndef PGBULK_SOURCE_H
#define PGBULK_SOURCE_H

#include "postgres.h"

#include <time.h>

#include <sys/types.h>
#include <time.h>

#include "nodes/pg_list.h"

typedef struct Window
{
	char	   *data;			/* readable from 16 bytes before to 64 after */
	uint32		length;
	uint32		capacity;
	bool		at_eof;			/* the file has no byte after the window */
	int64		offset;			/* of data[0] in the file */
	int64		line;			/* number of the line that data[0] is in */
} Window;

typedef struct Source
{
	List	   *paths;			/* of char * */
	int64		bytes_total;	/* of all files, as found at the start */
	int64		bytes_done;		/* read so far */
	/* the open file */
	int			current;		/* index in paths, -1 before the first */
	const char *path;			/* NULL: none is open */
	int			fd;
	int64		size;			/* when it was opened */
	struct timespec modified;	/* the same */
	dev_t		device;			/* the same */
	ino_t		inode;			/* the same */
	int64		bytes_read;
	Window		window;
} Source;

/*
 * The files that a path means: itself, or for a glob (a path with *, ? or
 * [) all that match, sorted by name.  Returns a List of char * in the
 * current context.
 *
 * Errors: 22023 for a relative path; 42501 without pg_read_server_files;
 * 58P01 for a glob without a match.
 */
extern List *source_expand(const char *path);

/*
 * Prepares to read paths with windows of window_size bytes to begin with.
 * Looks at every file so that nothing is loaded where one is missing.
 * Memory: the current context.
 *
 * Errors: 42501 without pg_read_server_files; 42809 for what is not a
 * regular file; the file system's.
 */
extern Source *source_open(List *paths, Size window_size);

/* Opens the next file, its window empty.  False after the last. */
extern bool source_next(Source *source);

/*
 * Drops the first `consumed` bytes and the `lines` line ends in them, and
 * reads on.  Where nothing was consumed the window grows, up to 2 GB.
 *
 * Errors: 54000 for a row longer than that; 55000 for a file that changed;
 * the file system's.
 */
extern void window_fill(Source *source, uint32 consumed, uint32 lines);

/* The window becomes twice as large, while it is empty or not.  Error: 54000 at 2 GB. */
extern void source_grow(Source *source);

/* Reading goes on at offset of the open file, in that line; the window is empty. */
extern void source_seek(Source *source, int64 offset, int64 line);

/*
 * A source of the one file that `open` has open, for another process: which
 * must find the same file under the same name.  window_size as in source_open.
 * Error: 55000 where it does not.
 */
extern Source *source_share(const Source *open, Size window_size);

extern void source_close(Source *source);

#endif							/* PGBULK_SOURCE_H */
