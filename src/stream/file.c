/*
 * file.c
 *		See file.h.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "stream/file.h"
#include "utils/acl.h"
#include "utils/wait_event.h"

/* A file of this size is read ahead by the system as a whole. */
#define READ_AHEAD (128 * 1024)

typedef struct FileStream
{
	Stream		stream;
	const char *path;
	int			fd;
	bool		had_writer;		/* of a pipe */
} FileStream;

void
file_check_privilege(bool sent)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to load from a file"),
				 errdetail("Only roles with privileges of the \"%s\" role may load from a file.",
						   "pg_read_server_files"),
				 sent ? errhint("Anyone may load what the client sends, with path \"stdin\".") : 0));
}

static void
report_open(const char *path)
{
	int			save_errno = errno;

	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not open file \"%s\" for reading: %m", path),
			 save_errno == ENOENT && strpbrk(path, "*?[") != NULL ?
			 errhint("For all files that match a pattern, call bulk_load.") :
			 (save_errno == ENOENT || save_errno == EACCES) ?
			 errhint("The PostgreSQL server process reads the file: it must lie on the server and be readable by the server's user.") : 0));
}

static void
report_stat(const char *path)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not stat file \"%s\": %m", path)));
}

static void
check_kind(const char *path, mode_t mode)
{
	if (S_ISDIR(mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a directory", path),
				 errhint("To load all files of a directory, call bulk_load with a pattern such as \"%s/*\".",
						 path)));
	if (!S_ISREG(mode) && !S_ISFIFO(mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is neither a regular file nor a named pipe", path)));
}

/* Waiting for a pipe's writer is left to where it can be cancelled. */
static int
open_fd(const char *path)
{
	int			fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);

	if (fd < 0)
		report_open(path);
	return fd;
}

int64
file_look(const char *path, int *kept)
{
	struct stat st;
	int			fd;

	if (stat(path, &st) != 0)
		report_open(path);
	check_kind(path, st.st_mode);
	if (S_ISFIFO(st.st_mode))
	{
		if (access(path, R_OK) != 0)
			report_open(path);
		return -1;
	}
	fd = open_fd(path);
	if (kept != NULL)
		*kept = fd;
	else
		CloseTransientFile(fd);
	return st.st_size;
}

bool
file_is_same(const FileStamp *a, const FileStamp *b)
{
	if (a->growing)
		return a->device == b->device && a->inode == b->inode && a->size <= b->size;
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
		a->modified.tv_sec == b->modified.tv_sec &&
		a->modified.tv_nsec == b->modified.tv_nsec;
}

/* At its end the file must be the one that was opened. */
static void
check_unchanged(const FileStream *file, int64 bytes_read)
{
	const FileStamp *stamp = &file->stream.stamp;
	struct stat st;

	if (fstat(file->fd, &st) != 0)
		report_stat(file->path);
	if (bytes_read != stamp->size || st.st_size != stamp->size)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read", file->path),
				 errdetail("It had %lld bytes when it was opened, %lld were read, and it has %lld now.",
						   (long long) stamp->size,
						   (long long) bytes_read,
						   (long long) st.st_size),
				 errhint("Load the file again when nobody writes to it.")));
	if (st.st_mtim.tv_sec != stamp->modified.tv_sec ||
		st.st_mtim.tv_nsec != stamp->modified.tv_nsec)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read", file->path),
				 errdetail("It has as many bytes as when it was opened, but it was written to."),
				 errhint("Load the file again when nobody writes to it.")));
}

static void
report_read(const FileStream *file)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not read from file \"%s\": %m", file->path)));
}

/* read(2), retried after a signal. */
static ssize_t
read_some(const FileStream *file, char *to, Size size)
{
	ssize_t		n;

	do
	{
		CHECK_FOR_INTERRUPTS();
		pgstat_report_wait_start(WAIT_EVENT_COPY_FILE_READ);
		n = read(file->fd, to, size);
		pgstat_report_wait_end();
	} while (n < 0 && errno == EINTR);
	return n;
}

/* ---- regular files ---- */

static Size
read_file(Stream *stream, char *to, Size size)
{
	FileStream *file = (FileStream *) stream;
	ssize_t		n;

	if (stream->stamp.growing)
	{
		size = Min(size, stream->stamp.size - stream->bytes_read);
		if (size == 0)
			return 0;
	}
	n = read_some(file, to, size);
	if (n < 0)
		report_read(file);
	/* notice at once that a file has grown past its first size */
	if (n == 0 || stream->bytes_read + n > stream->stamp.size)
		check_unchanged(file, stream->bytes_read + n);
	if (stream->hash != NULL)
		content_hash_follow(stream->hash, stream->bytes_read, to, n);
	return n;
}

static int64
left_in_file(const Stream *stream)
{
	return stream->stamp.size - stream->bytes_read;
}

static void
seek_in_file(Stream *stream, int64 offset)
{
	FileStream *file = (FileStream *) stream;

	if (lseek(file->fd, offset, SEEK_SET) != offset)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in file \"%s\": %m", file->path)));
}

static void
close_file(Stream *stream)
{
	CloseTransientFile(((FileStream *) stream)->fd);
}

static const StreamRoutine file_routine = {
	.read = read_file,
	.left = left_in_file,
	.seek = seek_in_file,
	.close = close_file
};

/* ---- pipes ---- */

/* Waits until the pipe has bytes, or its last writer has closed it. */
static void
await_pipe(FileStream *file)
{
	int			events;

	events = WaitLatchOrSocket(MyLatch,
							   WL_LATCH_SET | WL_SOCKET_READABLE | WL_EXIT_ON_PM_DEATH,
							   file->fd, -1, WAIT_EVENT_COPY_FILE_READ);
	if (events & WL_LATCH_SET)
		ResetLatch(MyLatch);
	if (events & WL_SOCKET_READABLE)
		file->had_writer = true;
}

static Size
read_pipe(Stream *stream, char *to, Size size)
{
	FileStream *file = (FileStream *) stream;
	ssize_t		n;

	while ((n = read_some(file, to, size)) < 0 || (n == 0 && !file->had_writer))
	{
		if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			report_read(file);
		await_pipe(file);
	}
	file->had_writer = true;
	return n;
}

static const StreamRoutine pipe_routine = {
	.read = read_pipe,
	.close = close_file
};

/* ---- both ---- */

Stream *
file_open_kept(int fd, const char *path)
{
	FileStream *file = palloc0(sizeof(FileStream));
	Stream	   *stream = &file->stream;
	struct stat st;
	bool		is_pipe;

	file->path = path;
	file->fd = fd;
	if (fstat(fd, &st) != 0)
		report_stat(path);
	check_kind(path, st.st_mode);

	is_pipe = S_ISFIFO(st.st_mode);
	stream_init(stream, is_pipe ? &pipe_routine : &file_routine, NULL);
	stream->once = is_pipe;
	stream->stamp = (FileStamp) {
		.size = is_pipe ? -1 : st.st_size,
		.modified = st.st_mtim,
		.device = st.st_dev,
		.inode = st.st_ino
	};
#if defined(POSIX_FADV_SEQUENTIAL)
	if (!is_pipe && st.st_size > READ_AHEAD)
		(void) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
	return stream;
}

Stream *
file_open(const char *path)
{
	return file_open_kept(open_fd(path), path);
}

void
file_set_end(Stream *stream, int64 end)
{
	if (end > stream->stamp.size)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read",
						((const FileStream *) stream)->path),
				 errhint("Load the file again when nobody writes to it but at its end.")));
	stream->stamp.size = end;
	stream->stamp.growing = true;
}

Stream *
file_open_same(const FileStamp *same, const char *path)
{
	Stream	   *stream = file_open(path);

	if (stream->stamp.device != same->device || stream->stamp.inode != same->inode)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read", path),
				 errdetail("There is another file of that name now."),
				 errhint("Load the file again when nobody writes to it.")));
	stream->stamp.size = same->size;
	stream->stamp.growing = same->growing;
	stream->stamp.modified = same->modified;
	return stream;
}
