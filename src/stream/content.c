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
#include "stream/decompress.h"
#include "stream/file.h"
#include "stream/utf16.h"
#include "utils/wait_event.h"

/* As much as stays in the caches until it is hashed. */
#define PIECE (256 * 1024)

void
content_refuse_changed(const char *path)
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
		content_refuse_changed(path);
	pfree(piece);
	CloseTransientFile(fd);
	return true;
}

bool
content_read_start(const char *path, int64 length, ContentKey *key)
{
	int			fd = open_file(path);
	char	   *piece = palloc(PIECE);
	ContentHash hash;
	Size		n;

	content_hash_begin(&hash);
	while (hash.length < (uint64) length && (n = read_piece(fd, path, piece)) > 0)
		content_hash_add(&hash, piece, Min((uint64) n, (uint64) length - hash.length));
	*key = content_hash_key(&hash);
	pfree(piece);
	CloseTransientFile(fd);
	return hash.length == (uint64) length;
}

static void
count_lines(LineCount *count, const char *piece, Size length)
{
	if (length == 0)
		return;
	count->lines += scan_count_lines(count->eol, piece, length);
	if (count->eol != SCAN_EOL_ANY)
		return;
	if (count->returned && piece[0] != '\n')
		count->lines++;
	count->returned = piece[length - 1] == '\r';
	if (count->returned)
		count->lines--;
}

/* Bytes behind it; hash is of all before. */
static void
add_tail(ContentTail *tail, ContentHash *hash, const char *piece, Size length)
{
	int64		start = tail->begin + tail->ends.bytes;
	Size		complete;

	row_ends_add(&tail->ends, piece, length);
	if (tail->begin + tail->ends.end <= start)
	{
		content_hash_add(hash, piece, length);
		count_lines(&tail->lines, piece, length);
		return;
	}
	tail->end = tail->begin + tail->ends.end;
	complete = tail->end - start;
	content_hash_add(hash, piece, complete);
	tail->key = content_hash_key(hash);
	content_hash_add(hash, piece + complete, length - complete);
	count_lines(&tail->lines, piece, complete);
	tail->end_lines = tail->lines.lines;
	count_lines(&tail->lines, piece + complete, length - complete);
}

/* Rows end where bytes say so only in a file that is read as it is. */
static void
check_plain(const char *path, const char *start, Size length)
{
	if (decompress_detect(start, length) == BULK_COMPRESSION_NONE &&
		utf16_detect(start, length) == BULK_UTF16_NONE)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("file \"%s\" cannot be loaded in parts", path),
			 errdetail("It is compressed, or UTF-16.")));
}

/* Where rows begin behind a known part whose last row may have had no line end; see content.h. */
static int64
find_rows(int fd, const char *path, const RowEnds *known)
{
	char		next[2] = {0};

	if (known->end == known->bytes)
		return known->bytes;
	if (known->quoted || known->escaped)
		return -1;
	if (pread(fd, next, sizeof(next), known->bytes) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from file \"%s\": %m", path)));
	if (next[0] == '\n')
		return known->bytes + 1;
	return next[0] == '\r' && next[1] == '\n' ? known->bytes + 2 : -1;
}

/* The row at the end that is not complete, which may have begun in the known part. */
static void
find_rest(ContentTail *tail, const FileStamp *stamp, const RowEnds *known)
{
	tail->rest_bytes = stamp->size - tail->end;
	tail->rest_lines = tail->ends.lines - tail->ends.end_lines;
	tail->rest_line = 1 + (tail->rows_begin < 0 && tail->ends.end == 0 ? known->end_lines :
						   tail->end_lines);
}

bool
content_read_tail(const char *path, FileStamp *stamp, ContentTail *tail)
{
	ContentHash hash;
	RowEnds		before = tail->ends;
	char	   *piece;
	int64		left;
	int			fd;

	if (!stamp_file(-1, path, stamp))
		return false;
	fd = open_file(path);
	(void) stamp_file(fd, path, stamp);
	stamp->growing = true;
	if (stamp->size < tail->begin)
	{
		tail->end = -1;
		CloseTransientFile(fd);
		return false;
	}
	piece = palloc(PIECE);
	content_hash_begin(&hash);
	tail->begin_lines = tail->end_lines = 0;
	tail->end = tail->rows_begin = tail->begin;
	if (tail->begin == 0)
		tail->before = tail->key = content_hash_key(&hash);
	for (left = stamp->size; left > 0;)
	{
		Size		n = read_piece(fd, path, piece);
		Size		known = Min((int64) n, Max(tail->begin - (int64) hash.length, 0));

		n = Min((int64) n, left);
		if (n == 0)
			content_refuse_changed(path);
		if (left == stamp->size)
			check_plain(path, piece, n);
		left -= n;
		if (known > 0)
		{
			content_hash_add(&hash, piece, known);
			count_lines(&tail->lines, piece, known);
			tail->begin_lines = tail->end_lines = tail->lines.lines;
			if (!tail->complete)
				row_ends_add(&before, piece, known);
			if (hash.length == (uint64) tail->begin)
			{
				tail->before = tail->key = content_hash_key(&hash);
				tail->ends.quoted = before.quoted;
				tail->ends.escaped = before.escaped;
			}
		}
		if (n > known)
			add_tail(tail, &hash, piece + known, n - known);
	}
	if (!tail->complete)
		tail->rows_begin = find_rows(fd, path, &before);
	find_rest(tail, stamp, &before);
	pfree(piece);
	CloseTransientFile(fd);
	return true;
}

/* ---- in parts ---- */

/* Opens the file at a place; it must be as it was. */
static int
open_part(const ContentPart *part, const char *path, int64 offset)
{
	int			fd = open_file(path);
	FileStamp	now;

	if (!stamp_file(fd, path, &now) || !file_is_same(&part->stamp, &now))
		content_refuse_changed(path);
	if (lseek(fd, offset, SEEK_SET) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in file \"%s\": %m", path)));
	return fd;
}

static void
begin_at_start(ContentPart *part, ScanEol eol)
{
	part->begin = 0;
	part->begin_lines = (LineCount) {.eol = eol};
	content_hash_begin(&part->begin_hash);
}

/* The last one of this session; stamp.inode is 0 if it is none. */
static ContentPart last_part;

void
content_part_forget(void)
{
	last_part.stamp.inode = 0;
}

ContentPart *
content_part_open(const char *path)
{
	FileStamp	now;

	if (!stamp_file(-1, path, &now))
		return NULL;
	if (last_part.stamp.inode != 0 && file_is_same(&last_part.stamp, &now))
		return &last_part;
	last_part.stamp.inode = 0;
	if (!content_read(path, &now, &last_part.whole))
		return NULL;
	last_part.end = 0;
	begin_at_start(&last_part, SCAN_EOL_NL);
	last_part.stamp = now;
	return &last_part;
}

ContentKey
content_part_seek(ContentPart *part, const char *path, int64 begin, ScanEol eol)
{
	char	   *piece;
	int			fd;

	if (part->begin_lines.eol != eol)
		begin_at_start(part, eol);
	else if (begin == part->end && begin > 0)
	{
		part->begin = begin;
		part->begin_lines = part->end_lines;
		part->begin_hash = part->end_hash;
	}
	else if (begin < part->begin)
		begin_at_start(part, eol);
	/* what is known of an end is of another part */
	part->end = 0;
	if (begin == part->begin)
		return content_hash_key(&part->begin_hash);

	fd = open_part(part, path, part->begin);
	piece = palloc(PIECE);
	while (part->begin < begin)
	{
		Size		n = read_piece(fd, path, piece);

		n = Min((int64) n, begin - part->begin);
		if (n == 0)
			content_refuse_changed(path);
		content_hash_add(&part->begin_hash, piece, n);
		count_lines(&part->begin_lines, piece, n);
		part->begin += n;
	}
	pfree(piece);
	CloseTransientFile(fd);
	return content_hash_key(&part->begin_hash);
}

/* A part that is all of the file for want of line ends is not what was asked for. */
static void
check_line_ends(const char *path, const RowEnds *ends, bool has_cr)
{
	if (ends->lines == 0 && has_cr)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file \"%s\" cannot be loaded in parts", path),
				 errdetail("Its lines do not end in LF.")));
}

void
content_part_find(ContentPart *part, const char *path, RowEnds ends)
{
	int			fd = open_part(part, path, part->begin);
	char	   *piece = palloc(PIECE);
	bool		has_cr = false;
	Size		n;

	part->end_hash = part->begin_hash;
	part->end_lines = part->begin_lines;
	while (!ends.stopped && (n = read_piece(fd, path, piece)) > 0)
	{
		int64		start = ends.bytes;
		Size		complete;

		if (part->begin == 0 && start == 0)
			check_plain(path, piece, n);
		has_cr = has_cr || memchr(piece, '\r', n) != NULL;
		row_ends_add(&ends, piece, n);
		complete = ends.stopped ? ends.end - start : n;
		content_hash_add(&part->end_hash, piece, complete);
		count_lines(&part->end_lines, piece, complete);
	}
	if (!ends.stopped)
	{
		check_line_ends(path, &ends, has_cr);
		ends.end = ends.bytes;
		if (part->begin + ends.end != part->stamp.size)
			content_refuse_changed(path);
	}
	part->end = part->begin + ends.end;
	part->key = content_hash_key(&part->end_hash);
	if (part->end == part->stamp.size &&
		!content_key_equal(&part->key, &part->whole))
		content_refuse_changed(path);
	pfree(piece);
	CloseTransientFile(fd);
}

bool
content_stamp(const char *path, FileStamp *stamp)
{
	return stamp_file(-1, path, stamp);
}

void
content_check(const char *path, const FileStamp *stamp)
{
	FileStamp	now;

	if (!stamp_file(-1, path, &now) || !file_is_same(stamp, &now))
		content_refuse_changed(path);
}
