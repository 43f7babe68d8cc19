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
				 errhint("To load all files of a directory, use a pattern such as \"%s/*\".",
						 path)));
	if (!S_ISREG(mode) && !S_ISFIFO(mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is neither a regular file nor a named pipe", path)));
}

int64
file_look(const char *path)
{
	InputFile	file;
	struct stat st;

	if (stat(path, &st) != 0)
		report_open(path);
	check_kind(path, st.st_mode);
	if (!S_ISFIFO(st.st_mode))
	{
		file_open(&file, path);
		file_close(&file);
		return file.size;
	}
	if (access(path, R_OK) != 0)
		report_open(path);
	return -1;
}

void
file_open(InputFile *file, const char *path)
{
	struct stat st;

	/* a pipe's writer is waited for where that can be cancelled */
	memset(file, 0, sizeof(*file));
	file->fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (file->fd < 0)
		report_open(path);
	if (fstat(file->fd, &st) != 0)
		report_stat(path);
	check_kind(path, st.st_mode);

	file->path = path;
	file->is_pipe = S_ISFIFO(st.st_mode);
	file->size = file->is_pipe ? -1 : st.st_size;
	file->modified = st.st_mtim;
	file->device = st.st_dev;
	file->inode = st.st_ino;
#if defined(POSIX_FADV_SEQUENTIAL)
	if (!file->is_pipe)
		(void) posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
}

void
file_open_same(InputFile *file, const InputFile *same, const char *path)
{
	file_open(file, path);
	if (file->device != same->device || file->inode != same->inode)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read", path),
				 errdetail("There is another file of that name now."),
				 errhint("Load the file again when nobody writes to it.")));
	file->size = same->size;
	file->modified = same->modified;
}

/* At its end the file must be the one that was opened. */
static void
check_unchanged(const InputFile *file)
{
	struct stat st;

	if (fstat(file->fd, &st) != 0)
		report_stat(file->path);
	if (file->bytes_read != file->size || st.st_size != file->size)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read", file->path),
				 errdetail("It had %lld bytes when it was opened, %lld were read, and it has %lld now.",
						   (long long) file->size,
						   (long long) file->bytes_read,
						   (long long) st.st_size),
				 errhint("Load the file again when nobody writes to it.")));
	if (st.st_mtim.tv_sec != file->modified.tv_sec ||
		st.st_mtim.tv_nsec != file->modified.tv_nsec)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read", file->path),
				 errdetail("It has as many bytes as when it was opened, but it was written to."),
				 errhint("Load the file again when nobody writes to it.")));
}

/* Until the pipe has bytes, or the last of its writers has gone. */
static void
await_pipe(InputFile *file)
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

Size
file_read(InputFile *file, char *to, Size size)
{
	for (;;)
	{
		ssize_t		n;

		CHECK_FOR_INTERRUPTS();
		pgstat_report_wait_start(WAIT_EVENT_COPY_FILE_READ);
		n = read(file->fd, to, size);
		pgstat_report_wait_end();

		if (n > 0)
			file->bytes_read += n;
		else if (n < 0 && errno == EINTR)
			continue;
		else if (file->is_pipe &&
				 (n == 0 ? !file->had_writer : errno == EAGAIN || errno == EWOULDBLOCK))
		{
			await_pipe(file);
			continue;
		}
		else if (n < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read from file \"%s\": %m",
							file->path)));

		/* a file that has grown past its first size is found out at once */
		if (!file->is_pipe && (n == 0 || file->bytes_read > file->size))
			check_unchanged(file);
		file->had_writer = true;
		return n;
	}
}

void
file_seek(InputFile *file, int64 offset)
{
	Assert(!file->is_pipe);
	if (lseek(file->fd, offset, SEEK_SET) != offset)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in file \"%s\": %m", file->path)));
	file->bytes_read = offset;
}

void
file_check_end(InputFile *file)
{
	file_seek(file, file->size);
	check_unchanged(file);
}

void
file_close(InputFile *file)
{
	if (file->path != NULL)
		CloseTransientFile(file->fd);
	file->path = NULL;
}
