/*
 * file.h
 *		One file or named pipe of the server, read from its first byte to its last.
 *
 * A file that is written to while it is read ends the load: what was read is
 * neither the old file nor the new one.  A file that another takes the place
 * of, or that is deleted, is read to its end.  A pipe has no end but its last
 * writer's; whoever waits for one can be cancelled.
 */
#ifndef PGBULK_FILE_H
#define PGBULK_FILE_H

#include "postgres.h"

#include <time.h>

#include <sys/types.h>

typedef struct InputFile
{
	const char *path;			/* NULL: none is open */
	int			fd;
	bool		is_pipe;
	bool		had_writer;		/* of a pipe */
	int64		size;			/* when it was opened; -1: a pipe */
	struct timespec modified;	/* the same */
	dev_t		device;			/* the same */
	ino_t		inode;			/* the same */
	int64		bytes_read;
} InputFile;

/*
 * Before anything is said about files: even their names are no one's business.
 * sent: what the client sends would do, too.  Error: 42501 without pg_read_server_files.
 */
extern void file_check_privilege(bool sent);

/*
 * Looks at what would be opened, so that nothing is loaded where it cannot be.
 * Returns its size, -1 for a pipe, which must not be opened just to look: its
 * writer would lose its reader.
 *
 * Errors: 42809 for what is neither a regular file nor a pipe; the file
 * system's.
 */
extern int64 file_look(const char *path);

/* Errors as file_look.  path is not copied. */
extern void file_open(InputFile *file, const char *path);

/*
 * The same file once more, for another process.  Error: 55000 where another
 * has taken its place.
 */
extern void file_open_same(InputFile *file, const InputFile *same,
						   const char *path);

/*
 * Up to size bytes; 0 at the end.  Error: 55000 for a file that has changed;
 * the file system's.
 */
extern Size file_read(InputFile *file, char *to, Size size);

/* Of no pipe: it ends where it did when it was opened.  Error: 55000 where not. */
extern void file_check_end(InputFile *file);

/* Reading goes on there; not in a pipe. */
extern void file_seek(InputFile *file, int64 offset);

extern void file_close(InputFile *file);

#endif							/* PGBULK_FILE_H */
