/*
 * source.c
 *		See source.h.
 */
#include "postgres.h"

#include "common/string.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "scan/magic.h"
#include "scan/scan.h"
#include "storage/fd.h"
#include "stream/copy.h"
#include "stream/decompress.h"
#include "stream/file.h"
#include "stream/path_glob.h"
#include "stream/source.h"
#include "stream/stdin.h"
#include "stream/utf16.h"
#include "utils/memutils.h"

int			source_chunk_size = 256 * 1024;

/* The smallest window, for small files, which may be compressed. */
#define MIN_WINDOW (16 * 1024)

#define WINDOW_FRONT 16			/* readable bytes before the window */
static const char byte_order_mark[] = {'\xef', '\xbb', '\xbf'};

#define MAX_READ_SIZE (32 * 1024 * 1024)	/* at a time: a read cannot be cancelled */

List *
source_expand(const char *path, bool sent)
{
	List	   *paths;

	if (sent && strcmp(path, SOURCE_CLIENT) == 0)
		return list_make1(pstrdup(path));
	path_check(path, sent);
	file_check_privilege(sent);
	if (!path_is_pattern(path))
		return list_make1(pstrdup(path));
	paths = path_glob(path);
	if (paths == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("no file matches \"%s\"", path)));
	return paths;
}

/* ---- streams of files ---- */

/* The compression of the open file. */
static BulkCompression
find_compression(Source *source)
{
	BulkCompression compression = source->options->compression;
	char		magic[DECOMPRESS_MAGIC];

	if (compression != BULK_COMPRESSION_AUTO)
		return compression;
	return decompress_detect(magic, stream_peek(source->stream, magic, DECOMPRESS_MAGIC));
}

/* Whether it may have a byte order mark. */
static bool
may_be_marked(const BulkOptions *options)
{
	return !options_is_raw(options) && options->encoding == PG_UTF8 && !options->plain &&
		options->relay == BULK_RELAY_OFF;
}

/* Whether it is UTF-16, and of which byte order. */
static BulkUtf16
find_utf16(Source *source)
{
	char		mark[UTF16_MARK];
	Size		length;
	BulkUtf16	utf16;

	if (!may_be_marked(source->options))
		return BULK_UTF16_NONE;
	length = stream_peek(source->stream, mark, UTF16_MARK);
	utf16 = utf16_detect(mark, length);
	if (utf16 != BULK_UTF16_NONE || length == 0)
		return utf16;
	if (source->options->utf16 == BULK_UTF16_MARKED)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("file \"%s\" has no byte order mark of UTF-16",
						source->path),
				 errhint("Set option \"encoding\" to \"UTF16LE\" or \"UTF16BE\".")));
	return source->options->utf16;
}

/*
 * A client sends bytes unchanged if it is told that they are binary; else psql
 * takes them for text, which corrupts a compressed file.
 */
static Stream *
open_client(Source *source)
{
	const BulkOptions *options = source->options;
	bool		binary = options_is_raw(options) ||
		options->utf16 != BULK_UTF16_NONE ||
		(options->compression != BULK_COMPRESSION_NONE &&
		 options->compression != BULK_COMPRESSION_AUTO);

	source->asked = true;
	return client_open(binary, source->client_columns, source->client_marker);
}

/* The file that source_open may have kept open. */
static Stream *
open_path(Source *source)
{
	int			kept = source->kept;

	source->kept = -1;
	return kept >= 0 ? file_open_kept(kept, source->path) : file_open(source->path);
}

/* The open file's bytes, which are below any filter, are hashed as they are read. */
static void
begin_hash(Source *source, int number)
{
	if (source->hashed == NULL || source->stream->stamp.size < 0 ||
		source->hashed[number].hashed)
		return;
	source->hashed[number] = source->stream->stamp;
	content_hash_begin(&source->hash);
	source->stream->hash = &source->hash;
}

/* What is open already is closed with the source if a filter above it fails. */
static Stream *
open_file(void *arg, int number)
{
	Source	   *source = arg;
	BulkCompression compression;
	BulkUtf16	utf16;

	source->stream = strcmp(source->path, SOURCE_CLIENT) == 0 ? open_client(source) :
		open_path(source);
	begin_hash(source, number);
	if (source->ranges != NULL)
		file_set_end(source->stream, source->ranges[number].end);
	compression = find_compression(source);
	if (compression != BULK_COMPRESSION_NONE)
		source->stream = decompress_open(source->stream, compression, source->path);
	utf16 = find_utf16(source);
	if (utf16 != BULK_UTF16_NONE)
		source->stream = utf16_open(source->stream, utf16 == BULK_UTF16_BIG);
	return source->stream;
}

/* ---- opening ---- */

static void
make_window(Source *source, Size size)
{
	Window	   *window = &source->window;

	/* bytes around those that were read may be loaded, but are never used */
	window->capacity = size;
	window->data = WINDOW_FRONT + (char *) palloc(WINDOW_FRONT + size + SCAN_PADDING);
}

/* Without a window. */
static Source *
create(List *paths, StreamOpener open, void *arg, const BulkOptions *options)
{
	Source	   *source = palloc0(sizeof(Source));

	source->paths = paths;
	source->options = options;
	source->open = open;
	source->open_arg = arg;
	source->current = -1;
	source->kept = -1;
	source->context = AllocSetContextCreate(CurrentMemoryContext,
											"bulk_load source",
											ALLOCSET_DEFAULT_SIZES);
	return source;
}

static Source *
create_files(List *paths, const BulkOptions *options)
{
	Source	   *source = create(paths, open_file, NULL, options);

	source->open_arg = source;
	return source;
}

Source *
source_share(List *paths, const BulkOptions *options, Size window_size)
{
	Source	   *source = create_files(paths, options);

	make_window(source, window_size);
	return source;
}

Source *
source_open(List *paths, const BulkOptions *options, Size window_size)
{
	Source	   *source = create_files(paths, options);
	bool		known = true;
	ListCell   *lc;

	source->sizes = palloc(sizeof(int64) * list_length(paths));
	foreach(lc, paths)
	{
		int64		size = -1;

		if (strcmp(lfirst(lc), SOURCE_CLIENT) != 0)
		{
			file_check_privilege(true);
			size = file_look(lfirst(lc), list_length(paths) == 1 ? &source->kept : NULL);
		}
		else if (source->from_client)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("path \"%s\" can be given only once",
							SOURCE_CLIENT)));
		else
		{
			source->from_client = true;
			source->portal = client_check(options->by_copy);
		}
		source->sizes[foreach_current_index(lc)] = size;
		known &= size >= 0;
		source->bytes_total += size;
	}
	if (!known)
		source->bytes_total = 0;
	/* allocating costs more than reading a small file; one more byte to find its end */
	if (known && source->bytes_total < window_size)
		window_size = Min(window_size, Max(source->bytes_total + 1, MIN_WINDOW));
	make_window(source, window_size);
	return source;
}

int64
source_plain_bytes(const Source *source)
{
	static const char *const names[] = {".gz", ".lz4", ".zst"};
	BulkCompression compression = source->options->compression;
	ListCell   *lc;

	if (compression != BULK_COMPRESSION_AUTO)
		return compression == BULK_COMPRESSION_NONE ? source->bytes_total : 0;
	foreach(lc, source->paths)
		for (int i = 0; i < lengthof(names); i++)
			if (pg_str_endswith(lfirst(lc), names[i]))
				return 0;
	return source->bytes_total;
}

void
source_set_ranges(Source *source, const SourceRange *ranges)
{
	source->ranges = ranges;
	source->bytes_total = 0;
	for (int i = 0; i < list_length(source->paths); i++)
	{
		source->sizes[i] = ranges[i].end;
		source->bytes_total += ranges[i].end - ranges[i].begin;
	}
}

Source *
source_open_list(List *paths, StreamOpener open, void *arg, int64 bytes_total,
				 const BulkOptions *options, Size window_size)
{
	Source	   *source = create(paths, open, arg, options);

	make_window(source, window_size);
	source->bare = true;
	source->bytes_total = bytes_total;
	return source;
}

Source *
source_open_stream(Stream *stream, List *paths, int number, const BulkOptions *options,
				   Size window_size)
{
	Source	   *source = source_open_list(paths, NULL, NULL, 0, options, window_size);

	source->stream = stream;
	source->current = number - 1;
	return source;
}

static void
begin_window(Source *source)
{
	Window	   *window = &source->window;

	window->length = 0;
	window->at_eof = false;
	window->offset = source->stream->first_offset;
	window->line = source->stream->first_line;
}

static void
note_begin(Source *source, int number, int64 bytes)
{
	if (source->begins != NULL && source->begins[number] < 0)
		source->begins[number] = bytes;
}

/* A stream that was given is open before it is begun. */
static void
open_current(Source *source)
{
	MemoryContext caller = MemoryContextSwitchTo(source->context);
	int			number = source->current;

	source->path = list_nth(source->paths, number);
	note_begin(source, number, source->bytes_before);
	if (source->copies != NULL && source->copies[number] != NULL)
		source->stream = copy_replay(source->copies[number]);
	else if (source->stream == NULL)
		source->stream = source->open(source->open_arg, number);
	MemoryContextSwitchTo(caller);
	begin_window(source);
}

bool
source_next(Source *source)
{
	if (source->path != NULL)
		source_close(source);
	if (++source->current >= list_length(source->paths))
		return false;
	open_current(source);
	return true;
}

/* The file of that number, without filters. */
static void
open_plain(Source *source, int number, const FileStamp *same)
{
	MemoryContext caller = MemoryContextSwitchTo(source->context);

	source->current = number;
	source->path = list_nth(source->paths, number);
	note_begin(source, number, source->bytes_before);
	source->stream = same != NULL ? file_open_same(same, source->path) :
		file_open(source->path);
	MemoryContextSwitchTo(caller);
	begin_window(source);
}

void
source_go(Source *source, int number, const FileStamp *files)
{
	if (source->path != NULL && source->current == number)
		return;
	if (source->path != NULL)
	{
		int64		bytes = source->bytes_before;

		for (int i = source->current; i < number; i++)
		{
			note_begin(source, i, bytes);
			bytes += files[i].size;
		}
		source_close(source);
		source->bytes_before = bytes;
	}
	open_plain(source, number, &files[number]);
}

/* Whether the file, by its first bytes in the window, needs no filter. */
static bool
is_plain(const Source *source)
{
	const BulkOptions *options = source->options;
	const Window *window = &source->window;

	return (options->compression != BULK_COMPRESSION_AUTO ||
			decompress_detect(window->data, window->length) == BULK_COMPRESSION_NONE) &&
		(!may_be_marked(options) ||
		 utf16_detect(window->data, window->length) == BULK_UTF16_NONE) &&
		(!options_is_text(options) || scan_magic(window->data, window->length) == NULL);
}

bool
source_open_plain(Source *source, int number)
{
	const char *path = list_nth(source->paths, number);

	source_close(source);
	source->current = -1;
	if (strcmp(path, SOURCE_CLIENT) == 0 || file_look(path, NULL) < 0)
		return false;

	open_plain(source, number, NULL);
	window_fill(source, 0, 0);
	if (is_plain(source))
		return true;
	source_close(source);
	source->current = -1;
	return false;
}

static void
end_hash(Source *source)
{
	const Stream *file = source->stream;

	while (file->below != NULL)
		file = file->below;
	if (file->hash != NULL)
		source_take_hash(source, source->current, &file->stamp, file->hash);
}

void
source_close(Source *source)
{
	source->bytes_before = source_bytes(source);
	if (source->stream != NULL && source->hashed != NULL)
		end_hash(source);
	if (source->stream != NULL)
		stream_close(source->stream);
	if (source->kept >= 0)
		CloseTransientFile(source->kept);
	source->kept = -1;
	source->stream = NULL;
	source->path = NULL;
	MemoryContextReset(source->context);
}

/* It sends its data, whether or not a row of them was wanted. */
static void
drop_client(Source *source)
{
	MemoryContext caller = MemoryContextSwitchTo(source->context);

	stream_close(open_client(source));
	MemoryContextSwitchTo(caller);
	MemoryContextReset(source->context);
}

void
source_drain(Source *source)
{
	if (source->from_client && !source->asked)
		drop_client(source);
}

void
source_complete(const Source *source, int64 rows)
{
	if (source->from_client)
		client_complete(source->portal, rows);
}

/* ---- once more ---- */

void
source_copy(Source *source, BufFile *copy)
{
	MemoryContext caller = MemoryContextSwitchTo(source->context);

	Assert(source->window.offset == 0);
	source->stream = copy_open(source->stream, copy);
	MemoryContextSwitchTo(caller);
	BufFileWrite(copy, source->window.data, source->window.length);
}

void
source_rewind(Source *source, BufFile **copies)
{
	source->copies = copies;
	source->current = -1;
	source->bytes_before = 0;
}

/* ---- bytes ---- */

Size
source_read(Source *source, char *to, Size size)
{
	return stream_read(source->stream, to, Min(size, MAX_READ_SIZE));
}

char *
source_put_back(Source *source, Size length)
{
	return stream_put_back(source->stream, length);
}

bool
source_can_seek(const Source *source)
{
	return source->stream != NULL && stream_can_seek(source->stream);
}

void
source_seek(Source *source, int64 offset, int64 line)
{
	Window	   *window = &source->window;

	if (source_can_seek(source))
		stream_seek(source->stream, offset);
	window->length = 0;
	window->at_eof = false;
	window->offset = offset;
	window->line = line;
}

int64
source_bytes(const Source *source)
{
	return source->bytes_before +
		(source->stream != NULL ? stream_bytes(source->stream) : 0);
}

int64
source_passed(const Source *source)
{
	int			opened = Min(source->current + 1, list_length(source->paths));
	int64		passed = 0;

	for (int i = 0; i < opened && source->ranges != NULL; i++)
		passed += source->ranges[i].begin;
	return passed;
}

void
source_hash(Source *source)
{
	source->hashed = palloc0(sizeof(FileStamp) * list_length(source->paths));
}

void
source_take_hash(Source *source, int number, const FileStamp *stamp, const ContentHash *hash)
{
	FileStamp  *hashed = &source->hashed[number];

	if (hashed->hashed)
		return;
	*hashed = *stamp;
	if (stamp->hashed)
		return;
	if (hash->length == (uint64) stamp->size)
	{
		hashed->hashed = true;
		hashed->key = content_hash_key(hash);
	}
	else if (source->stream != NULL && source->current == number)
	{
		/* it goes on from there */
		source->hash = *hash;
		source->stream->hash = &source->hash;
	}
}

void
source_note_begins(Source *source)
{
	int			nfiles = list_length(source->paths);

	source->begins = palloc(sizeof(int64) * nfiles);
	for (int i = 0; i < nfiles; i++)
		source->begins[i] = -1;
}

int64
source_left(const Source *source, int64 offset)
{
	int64		left = stream_left(source->stream);

	return left < 0 ? offset : source->window.offset + source->window.length - offset + left;
}

int64
source_rest(Source *source, int64 offset)
{
	Window	   *window = &source->window;
	int64		end = window->offset + window->length;
	Size		n;
	char		dropped[8192];

	if (source_can_seek(source))
		return source_left(source, offset);
	if (!window->at_eof)
		while ((n = source_read(source, dropped, sizeof(dropped))) > 0)
		{
			CHECK_FOR_INTERRUPTS();
			end += n;
		}
	return end - offset;
}

int64
source_following(const Source *source)
{
	const SourceRange *ranges = source->ranges;
	int64		bytes = 0;

	for (int i = source->current + 1;
		 i < list_length(source->paths) && source->sizes[i] >= 0; i++)
		bytes += source->sizes[i] - (ranges != NULL ? ranges[i].begin : 0);
	return bytes;
}

uint32
source_mark(const Source *source)
{
	const Window *window = &source->window;

	return may_be_marked(source->options) &&
		window->length >= sizeof(byte_order_mark) &&
		memcmp(window->data, byte_order_mark, sizeof(byte_order_mark)) == 0 ?
		sizeof(byte_order_mark) : 0;
}

/* ---- the window ---- */

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

/*
 * Bytes behind a window decide nothing.  Where there are assertions, they are such as would change
 * rows if they did.
 */
static void
spoil_padding(Window *window)
{
#ifdef USE_ASSERT_CHECKING
	static const char marks[] = "\"\n,\\\t\r}\xff'x";

	memset(window->data + window->length, marks[window->length % (sizeof(marks) - 1)],
		   SCAN_PADDING);
#endif
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
		Size		n;

		CHECK_FOR_INTERRUPTS();
		n = source_read(source, window->data + window->length,
					   window->capacity - window->length);
		window->length += n;
		window->at_eof = n == 0;
		if (source->stream->pauses)
			break;
	}
	spoil_padding(window);
}
