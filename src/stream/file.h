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

#include "stream/stream.h"

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

/*
 * A regular file, in which reading can go on anywhere, or a pipe.  path is not
 * copied.  Memory: the current context.
 *
 * Errors as file_look; when it is read: 55000 for a file that has changed, the
 * file system's.
 */
extern Stream *file_open(const char *path);

/*
 * The same file once more, for another process.  Error: 55000 where another
 * has taken its place.
 */
extern Stream *file_open_same(const FileStamp *same, const char *path);

/* Whether two files are the same one, which has not been written to in between. */
extern bool file_is_same(const FileStamp *a, const FileStamp *b);

#endif							/* PGBULK_FILE_H */
