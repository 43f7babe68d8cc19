/*
 * content.c
 *		See content.h.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "stream/content.h"
#include "stream/file.h"
#include "utils/wait_event.h"

/* As much as stays in the nearest caches until it is hashed. */
#define PIECE (64 * 1024)

static void
refuse_changed(const char *path)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("file \"%s\" changed while it was read", path),
			 errhint("Load the file again when nobody writes to it.")));
}

static int
open_file(const char *path)
{
	int			fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);

	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", path)));
	return fd;
}

/* False: it is no regular file. */
static bool
stamp_file(int fd, const char *path, FileStamp *stamp)
{
	struct stat st;

	if (fd >= 0 ? fstat(fd, &st) != 0 : stat(path, &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	*stamp = (FileStamp) {
		.size = st.st_size,
		.modified = st.st_mtim,
		.device = st.st_dev,
		.inode = st.st_ino
	};
	return S_ISREG(st.st_mode);
}

static Size
read_piece(int fd, const char *path, char *piece)
{
	ssize_t		n;

	do
	{
		CHECK_FOR_INTERRUPTS();
		pgstat_report_wait_start(WAIT_EVENT_COPY_FILE_READ);
		n = read(fd, piece, PIECE);
		pgstat_report_wait_end();
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from file \"%s\": %m", path)));
	return n;
}

bool
content_read(const char *path, FileStamp *stamp, ContentKey *key)
{
	ContentHash hash;
	FileStamp	after;
	char	   *piece;
	Size		n;
	int			fd;

	/* a pipe must not be opened twice: its writer would take that for the reader */
	if (!stamp_file(-1, path, stamp))
		return false;
	fd = open_file(path);
	(void) stamp_file(fd, path, stamp);
	piece = palloc(PIECE);
	content_hash_begin(&hash);
	while ((n = read_piece(fd, path, piece)) > 0)
		content_hash_add(&hash, piece, n);
	*key = content_hash_key(&hash);
	if (!stamp_file(fd, path, &after) || !file_is_same(stamp, &after) ||
		hash.length != (uint64) stamp->size)
		refuse_changed(path);
	pfree(piece);
	CloseTransientFile(fd);
	return true;
}

void
content_check(const char *path, const FileStamp *stamp)
{
	FileStamp	now;

	if (!stamp_file(-1, path, &now) || !file_is_same(stamp, &now))
		refuse_changed(path);
}
