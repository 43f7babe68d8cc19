/*
 * source.c
 *		Files, globs, and the window over the file being read.
 */
#include "postgres.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/pg_authid.h"
#include "input/source.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "scan/scan.h"
#include "storage/fd.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#define WINDOW_FRONT 16			/* readable bytes before the window */
#define READ_MOST (32 * 1024 * 1024)	/* at a time: a read cannot be cancelled */

/* Before anything is said about files: even their names are no one's business. */
static void
check_privilege(void)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to load from a file"),
				 errdetail("Only roles with privileges of the \"%s\" role may load from a file.",
						   "pg_read_server_files"),
				 errhint("psql's \\copy command works for anyone.")));
}

List *
source_expand(const char *path)
{
	List	   *volatile paths = NIL;
	glob_t		found;
	int			rc;

	if (!is_absolute_path(path))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("relative path not allowed: \"%s\"", path),
				 errhint("Give the absolute path of a file on the server.")));

	check_privilege();
	if (strpbrk(path, "*?[") == NULL || access(path, F_OK) == 0)
		return list_make1(pstrdup(path));

	rc = glob(path, 0, NULL, &found);
	if (rc != 0)
	{
		globfree(&found);
		if (rc == GLOB_NOSPACE)
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory")));
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("no file matches \"%s\"", path)));
	}

	/* not to leak what glob has allocated, should a palloc fail */
	PG_TRY();
	{
		for (size_t i = 0; i < found.gl_pathc; i++)
			paths = lappend(paths, pstrdup(found.gl_pathv[i]));
	}
	PG_FINALLY();
	{
		globfree(&found);
	}
	PG_END_TRY();

	return paths;
}

/* Opens a regular file; *st tells about it. */
static int
open_file(const char *path, struct stat *st)
{
	int			fd;

	/* not to wait for a writer, should it be a FIFO */
	fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (fd < 0)
	{
		int			save_errno = errno;

		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", path),
				 (save_errno == ENOENT || save_errno == EACCES) ?
				 errhint("The PostgreSQL server process reads the file: it must lie on the server and be readable by the server's user.") : 0));
	}
	if (fstat(fd, st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	if (S_ISDIR(st->st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a directory", path),
				 errhint("To load all files of a directory, use a pattern such as \"%s/*\".",
						 path)));
	if (!S_ISREG(st->st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", path)));

	return fd;
}

static void
init_window(Window *window, Size size)
{
	window->capacity = size;
	window->data = WINDOW_FRONT +
		(char *) palloc0(WINDOW_FRONT + size + SCAN_PADDING);
}

Source *
source_open(List *paths, Size window_size)
{
	Source	   *source = palloc0(sizeof(Source));
	ListCell   *lc;

	check_privilege();
	foreach(lc, paths)
	{
		struct stat st;

		CloseTransientFile(open_file(lfirst(lc), &st));
		source->bytes_total += st.st_size;
	}

	source->paths = paths;
	source->current = -1;
	source->fd = -1;
	init_window(&source->window, window_size);
	return source;
}

Source *
source_share(const Source *open, Size window_size)
{
	Source	   *source = palloc0(sizeof(Source));
	struct stat st;

	source->fd = open_file(open->path, &st);
	if (st.st_dev != open->device || st.st_ino != open->inode)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read", open->path),
				 errdetail("There is another file of that name now."),
				 errhint("Load the file again when nobody writes to it.")));
	source->path = open->path;
	source->size = open->size;
	source->modified = open->modified;
	init_window(&source->window, window_size);
	return source;
}

void
source_close(Source *source)
{
	if (source->fd >= 0)
		CloseTransientFile(source->fd);
	source->fd = -1;
	source->path = NULL;
}

bool
source_next(Source *source)
{
	Window	   *window = &source->window;
	struct stat st;

	source_close(source);
	if (++source->current >= list_length(source->paths))
		return false;

	source->path = list_nth(source->paths, source->current);
	source->fd = open_file(source->path, &st);
	source->size = st.st_size;
	source->modified = st.st_mtim;
	source->device = st.st_dev;
	source->inode = st.st_ino;
#if defined(POSIX_FADV_SEQUENTIAL)
	(void) posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
	source->bytes_read = 0;
	window->length = 0;
	window->at_eof = false;
	window->offset = 0;
	window->line = 1;
	return true;
}

void
source_seek(Source *source, int64 offset, int64 line)
{
	Window	   *window = &source->window;

	if (lseek(source->fd, offset, SEEK_SET) != offset)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in file \"%s\": %m", source->path)));
	source->bytes_done += offset - source->bytes_read;
	source->bytes_read = offset;
	window->length = 0;
	window->at_eof = false;
	window->offset = offset;
	window->line = line;
}

void
source_grow(Source *source)
{
	Window	   *window = &source->window;
	Size		capacity = Min((Size) window->capacity * 2, SCAN_MAX_WINDOW);
	char	   *base;

	if (window->capacity >= SCAN_MAX_WINDOW)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is longer than 2 GB"),
				 errhint("An unclosed quote may have swallowed the rows after it.")));

	base = repalloc_huge(window->data - WINDOW_FRONT,
						 WINDOW_FRONT + capacity + SCAN_PADDING);
	window->data = base + WINDOW_FRONT;
	window->capacity = capacity;
}

/* At its end the file must be the one that was opened. */
static void
check_unchanged(Source *source)
{
	struct stat st;

	if (fstat(source->fd, &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", source->path)));
	if (source->bytes_read != source->size || st.st_size != source->size)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read", source->path),
				 errdetail("It had %lld bytes when it was opened, %lld were read, and it has %lld now.",
						   (long long) source->size,
						   (long long) source->bytes_read,
						   (long long) st.st_size),
				 errhint("Load the file again when nobody writes to it.")));
	if (st.st_mtim.tv_sec != source->modified.tv_sec ||
		st.st_mtim.tv_nsec != source->modified.tv_nsec)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read", source->path),
				 errdetail("It has as many bytes as when it was opened, but it was written to."),
				 errhint("Load the file again when nobody writes to it.")));
}

void
window_fill(Source *source, uint32 consumed, uint32 lines)
{
	Window	   *window = &source->window;

	Assert(consumed <= window->length);

	window->offset += consumed;
	window->line += lines;
	window->length -= consumed;
	if (consumed > 0)
		memmove(window->data, window->data + consumed, window->length);
	else if (window->length == window->capacity)
		source_grow(source);

	while (!window->at_eof && window->length < window->capacity)
	{
		ssize_t		n;

		CHECK_FOR_INTERRUPTS();

		pgstat_report_wait_start(WAIT_EVENT_COPY_FILE_READ);
		n = read(source->fd, window->data + window->length,
				 Min(window->capacity - window->length, READ_MOST));
		pgstat_report_wait_end();

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read from file \"%s\": %m",
							source->path)));
		source->bytes_read += n;
		source->bytes_done += n;
		window->length += n;

		/* a file that has grown past its first size is found out at once */
		if (n == 0 || source->bytes_read > source->size)
		{
			check_unchanged(source);
			window->at_eof = true;
		}
	}
}
