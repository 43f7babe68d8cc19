/*
 * file.h
 *		A file or named pipe on the server, read from its first byte to its last.
 *
 * A file that is modified while it is read ends the load: what was read is
 * neither the old file nor the new one.  A file that is replaced by another
 * one, or deleted, is read to its end.  A pipe ends when its last writer closes
 * it; waiting for a writer can be cancelled.
 */
#ifndef PGBULK_FILE_H
#define PGBULK_FILE_H

#include "postgres.h"

#include "stream/stream.h"

/*
 * To be called before any message about files: even their names must not be
 * revealed.  sent: data from the client would do, too.  Error: 42501 without
 * pg_read_server_files.
 */
extern void file_check_privilege(bool sent);

/*
 * Checks that a file can be opened, before anything is loaded.  Returns its
 * size, or -1 for a pipe, which must not be opened just for a check: its writer
 * would lose its reader.  With kept != NULL a regular file stays open, as the
 * transient file *kept.
 *
 * Errors: 42809 for anything but a regular file or a pipe; the file system's.
 */
extern int64 file_look(const char *path, int *kept);

/*
 * A regular file, which is seekable, or a pipe.  path is not
 * copied.  Memory: the current context.
 *
 * Errors as file_look; when it is read: 55000 for a file that has changed, the
 * file system's.
 */
extern Stream *file_open(const char *path);

/* The same with what file_look has kept open.  It is read as it is now. */
extern Stream *file_open_kept(int fd, const char *path);

/*
 * Others may write behind that offset: it is the end of what is read.  Error:
 * 55000 where the file is shorter.
 */
extern void file_set_end(Stream *stream, int64 end);

/*
 * The same file, opened by another process.  Error: 55000 where it has been
 * replaced.
 */
extern Stream *file_open_same(const FileStamp *same, const char *path);

/* Whether two stamps are of one file, not modified in between. */
extern bool file_is_same(const FileStamp *a, const FileStamp *b);

#endif							/* PGBULK_FILE_H */
