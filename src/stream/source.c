/*
 * source.c
 *		See source.h.
 */
#include "postgres.h"

#include <glob.h>
#include <unistd.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "scan/magic.h"
#include "scan/scan.h"
#include "stream/source.h"
#include "utils/memutils.h"

int			source_chunk_size = 256 * 1024;

#define WINDOW_FRONT 16			/* readable bytes before the window */
static const char byte_order_mark[] = {'\xef', '\xbb', '\xbf'};

#define READ_MOST (32 * 1024 * 1024)	/* at a time: a read cannot be cancelled */

List *
source_expand(const char *path, bool sent)
{
	List	   *volatile paths = NIL;
	glob_t		found;
	int			rc;

	if (sent && strcmp(path, SOURCE_CLIENT) == 0)
		return list_make1(pstrdup(path));
	path_check(path, sent);
	file_check_privilege(sent);
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

static void
init_window(Window *window, Size size)
{
	window->capacity = size;
	window->data = WINDOW_FRONT +
		(char *) palloc0(WINDOW_FRONT + size + SCAN_PADDING);
}

Source *
source_open(List *paths, const BulkOptions *options, Size window_size)
{
	Source	   *source = palloc0(sizeof(Source));
	bool		known = true;
	ListCell   *lc;

	source->sizes = palloc(sizeof(int64) * list_length(paths));
	foreach(lc, paths)
	{
		int64		size = -1;

		if (strcmp(lfirst(lc), SOURCE_CLIENT) != 0)
		{
			file_check_privilege(true);
			size = file_look(lfirst(lc));
		}
		else if (source->from_client)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("path \"%s\" can be given only once",
							SOURCE_CLIENT)));
		else
		{
			source->from_client = true;
			source->portal = client_check();
		}
		source->sizes[foreach_current_index(lc)] = size;
		known &= size >= 0;
		source->bytes_total += size;
	}
	if (!known)
		source->bytes_total = 0;

	source->paths = paths;
	source->options = options;
	source->current = -1;
	source->context = AllocSetContextCreate(CurrentMemoryContext,
											"bulk_load source",
											ALLOCSET_DEFAULT_SIZES);
	init_window(&source->window, window_size);
	return source;
}

Source *
source_open_stored(StoredRows *stored, const BulkOptions *options,
				   Size window_size)
{
	Source	   *source = palloc0(sizeof(Source));

	source->stored = stored;
	source->paths = stored_rows_paths(stored);
	source->options = options;
	source->bytes_total = stored_rows_bytes(stored);
	source->current = -1;
	init_window(&source->window, window_size);
	return source;
}

Source *
source_open_query(QueryRows *rows, const BulkOptions *options, Size window_size)
{
	Source	   *source = palloc0(sizeof(Source));

	source->rows = rows;
	source->paths = list_make1(SOURCE_QUERY);
	source->options = options;
	source->current = -1;
	init_window(&source->window, window_size);
	return source;
}

Source *
source_share(List *paths, const BulkOptions *options, Size window_size)
{
	Source	   *source = palloc0(sizeof(Source));

	source->paths = paths;
	source->options = options;
	source->current = -1;
	init_window(&source->window, window_size);
	return source;
}

Source *
source_tap(Ring *ring, List *paths, int number, Size window_size)
{
	Source	   *source = palloc0(sizeof(Source));

	source->ring = ring;
	source->paths = paths;
	source->current = number;
	source->path = list_nth(paths, number);
	init_window(&source->window, window_size);
	return source;
}

void
source_close(Source *source)
{
	if (source->client != NULL)
		client_finish(source->client);
	source->client = NULL;
	if (source->rows != NULL)
		query_close(source->rows);
	source->rows = NULL;
	file_close(&source->file);
	source->bytes_before += source->bytes_read;
	source->bytes_read = 0;
	if (source->context != NULL)
		MemoryContextReset(source->context);
	source->decompressor = NULL;
	source->utf16 = NULL;
	source->kept = NULL;
	source->kept_length = source->kept_done = 0;
	source->ended = false;
	source->copy = source->replayed = NULL;
	source->path = NULL;
}

void
source_rewind(Source *source, BufFile **copies)
{
	source->copies = copies;
	source->current = -1;
	source->bytes_before = 0;
}

int64
source_bytes(const Source *source)
{
	return source->bytes_before + source->bytes_read;
}

/* Up to size bytes as they lie in the file; 0 at its end. */
static Size
read_raw(void *arg, char *to, Size size)
{
	Source	   *source = arg;

	/* a pipe may get another writer */
	if (source->ended)
		return 0;
	if (source->replayed != NULL)
		size = BufFileRead(source->replayed, to, size);
	else if (source->client != NULL)
		size = client_read(source->client, to, size);
	else if (source->rows != NULL)
		size = query_read(source->rows, to, size);
	else
		size = file_read(&source->file, to, size);
	source->bytes_read += size;
	source->ended = size == 0;
	return size;
}

/* The same, decompressed. */
static Size
read_bytes(void *arg, char *to, Size size)
{
	Source	   *source = arg;

	return source->decompressor != NULL ?
		decompress_read(source->decompressor, to, size) :
		read_raw(source, to, size);
}

static Size
read_ring(Source *source, char *to, Size size)
{
	size = ring_read(source->ring, source->ring_offset, to, size,
					 source->starved, source->starved_arg);
	source->ring_offset += size;
	return size;
}

static Size
read_kept(Source *source, char *to, Size size)
{
	size = Min(size, source->kept_length - source->kept_done);
	memcpy(to, source->kept + source->kept_done, size);
	source->kept_done += size;
	return size;
}

Size
source_read(Source *source, char *to, Size size)
{
	size = Min(size, READ_MOST);
	if (source->ring != NULL)
		return read_ring(source, to, size);
	if (source->kept_done < source->kept_length)
		return read_kept(source, to, size);
	size = source->utf16 != NULL ? utf16_read(source->utf16, to, size) :
		read_bytes(source, to, size);
	if (source->copy != NULL)
		BufFileWrite(source->copy, to, size);
	return size;
}

char *
source_put_back(Source *source, Size length)
{
	Size		rest = source->kept_length - source->kept_done;
	char	   *kept = MemoryContextAllocHuge(source->context, length + rest + 1);

	if (source->kept != NULL)
	{
		memcpy(kept + length, source->kept + source->kept_done, rest);
		pfree(source->kept);
	}
	source->kept = kept;
	source->kept_length = length + rest;
	source->kept_done = 0;
	return kept;
}

int64
source_following(const Source *source)
{
	int64		bytes = 0;

	for (int i = source->current + 1;
		 i < list_length(source->paths) && source->sizes[i] >= 0; i++)
		bytes += source->sizes[i];
	return bytes;
}

int64
source_left(const Source *source, int64 offset)
{
	int64		read = source->window.offset + source->window.length +
		source->kept_length - source->kept_done;
	int64		used;

	if (source->rereadable)
		return source->file.size - offset;
	if (source->client != NULL || source->rows != NULL || source->replayed != NULL ||
		source->file.is_pipe)
		return offset;
	used = source->decompressor != NULL ?
		decompress_used(source->decompressor) : source->bytes_read;
	return read - offset +
		(double) (source->file.size - used) * read / Max(used, 1);
}

/*
 * Reads so much that the file tells how it is compressed; what is not
 * compressed stays in the window.
 */
static void
begin_bytes(Source *source)
{
	Window	   *window = &source->window;
	BulkCompression compression = source->options->compression;

	while (!window->at_eof && window->length < DECOMPRESS_MAGIC)
	{
		Size		n = read_raw(source, window->data + window->length,
								 DECOMPRESS_MAGIC - window->length);

		window->length += n;
		window->at_eof = n == 0;
	}
	if (compression == BULK_COMPRESSION_AUTO)
		compression = decompress_detect(window->data, window->length);
	if (compression != BULK_COMPRESSION_NONE)
	{
		MemoryContext caller = MemoryContextSwitchTo(source->context);

		source->decompressor = decompress_open(compression, source->path,
											   window->data, window->length,
											   read_raw, source);
		MemoryContextSwitchTo(caller);
		window->length = 0;
		window->at_eof = false;
	}
}

/*
 * Finds out whether the file is in UTF-16; what is read for that stays in the
 * window, unless it is.
 */
static void
begin_text(Source *source)
{
	const BulkOptions *options = source->options;
	Window	   *window = &source->window;
	BulkUtf16	utf16;
	MemoryContext caller;

	if (options_is_raw(options) || options->encoding != PG_UTF8)
		return;
	while (!window->at_eof && window->length < UTF16_MARK)
	{
		Size		n = read_bytes(source, window->data + window->length,
								   UTF16_MARK - window->length);

		window->length += n;
		window->at_eof = n == 0;
	}
	utf16 = utf16_detect(window->data, window->length);
	if (utf16 == BULK_UTF16_NONE)
		utf16 = options->utf16;
	if (utf16 == BULK_UTF16_NONE || window->length == 0)
		return;
	if (utf16 == BULK_UTF16_MARKED)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("file \"%s\" has no byte order mark of UTF-16",
						source->path),
				 errhint("Set option \"encoding\" to \"UTF16LE\" or \"UTF16BE\".")));

	caller = MemoryContextSwitchTo(source->context);
	source->utf16 = utf16_open(utf16 == BULK_UTF16_BIG, window->data,
							   window->length, read_bytes, source);
	MemoryContextSwitchTo(caller);
	window->length = 0;
	window->at_eof = false;
}

/*
 * A client that is told to send bytes as they are does so; psql takes what it
 * is to send for text else, which a compressed file does not survive.
 */
static void
open_client(Source *source)
{
	const BulkOptions *options = source->options;
	bool		binary = options_is_raw(options) ||
		options->utf16 != BULK_UTF16_NONE ||
		(options->compression != BULK_COMPRESSION_NONE &&
		 options->compression != BULK_COMPRESSION_AUTO);
	MemoryContext caller = MemoryContextSwitchTo(source->context);

	source->client = client_open(binary, source->client_marker);
	MemoryContextSwitchTo(caller);
}

/* The window holds the row, and there is no more. */
static void
open_stored(Source *source)
{
	Window	   *window = &source->window;
	StoredRow	row;

	stored_rows_read(source->stored, source->current, &row);
	window->length = 0;
	while (window->capacity <= row.length)
		source_grow(source);
	memcpy(window->data, row.data, row.length);
	window->length = row.length;
	/* an empty line is a row, too */
	if (row.length == 0)
		window->data[window->length++] = '\n';
	window->at_eof = true;
	window->offset = row.offset;
	window->line = row.line;
	source->bytes_read = row.length;
}

static void
begin_window(Window *window)
{
	window->length = 0;
	window->at_eof = false;
	window->offset = 0;
	window->line = 1;
}

void
source_go(Source *source, int number, const InputFile *files)
{
	if (source->path != NULL && source->current == number)
		return;
	if (source->path != NULL)
	{
		source->bytes_read = 0;
		for (int i = source->current; i < number; i++)
			source->bytes_read += files[i].size;
		source_close(source);
	}
	source->current = number;
	source->path = list_nth(source->paths, number);
	file_open_same(&source->file, &files[number], source->path);
	source->rereadable = true;
	begin_window(&source->window);
}

bool
source_open_plain(Source *source, int number)
{
	const BulkOptions *options = source->options;
	const char *path = list_nth(source->paths, number);
	const Window *window = &source->window;

	source_close(source);
	source->current = -1;
	if (strcmp(path, SOURCE_CLIENT) == 0 || file_look(path) < 0)
		return false;

	file_open(&source->file, path);
	source->current = number;
	source->path = path;
	source->rereadable = true;
	begin_window(&source->window);
	window_fill(source, 0, 0);
	if ((options->compression == BULK_COMPRESSION_AUTO &&
		 decompress_detect(window->data, window->length) != BULK_COMPRESSION_NONE) ||
		(!options_is_raw(options) && options->encoding == PG_UTF8 &&
		 utf16_detect(window->data, window->length) != BULK_UTF16_NONE) ||
		(options_is_text(options) && scan_magic(window->data, window->length) != NULL))
	{
		source_close(source);
		source->current = -1;
		return false;
	}
	return true;
}

/* The open file's bytes come from the copy that was made of them. */
static void
begin_replay(Source *source)
{
	source->replayed = source->copies[source->current];
	if (BufFileSeek(source->replayed, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
	source->rereadable = false;
	begin_window(&source->window);
}

uint32
source_mark(const Source *source)
{
	const Window *window = &source->window;

	return !options_is_raw(source->options) &&
		source->options->encoding == PG_UTF8 &&
		window->length >= sizeof(byte_order_mark) &&
		memcmp(window->data, byte_order_mark, sizeof(byte_order_mark)) == 0 ?
		sizeof(byte_order_mark) : 0;
}

bool
source_next(Source *source)
{
	Window	   *window = &source->window;

	if (source->current >= 0)
		source_close(source);
	if (++source->current >= list_length(source->paths))
		return false;

	source->path = list_nth(source->paths, source->current);
	if (source->stored != NULL)
	{
		open_stored(source);
		return true;
	}
	if (source->copies != NULL && source->copies[source->current] != NULL)
	{
		begin_replay(source);
		return true;
	}
	if (source->rows != NULL)
		source->file = (InputFile) {0};
	else if (strcmp(source->path, SOURCE_CLIENT) == 0)
		open_client(source);
	else
		file_open(&source->file, source->path);
	begin_window(window);
	if (source->options->compression != BULK_COMPRESSION_NONE)
		begin_bytes(source);
	if (source->rows == NULL)
		begin_text(source);
	source->rereadable = source->client == NULL && source->rows == NULL &&
		!source->file.is_pipe &&
		source->decompressor == NULL && source->utf16 == NULL;
	return true;
}

void
source_seek(Source *source, int64 offset, int64 line)
{
	Window	   *window = &source->window;

	if (source->ring != NULL)
		source->ring_offset = offset;
	else if (source->rereadable)
	{
		file_seek(&source->file, offset);
		source->bytes_read = offset;
		source->ended = false;
	}
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

int64
source_rest(Source *source, int64 offset)
{
	Window	   *window = &source->window;
	int64		end = window->offset + window->length;
	Size		n;
	char		dropped[8192];

	if (source->rereadable)
		return source->file.size - offset;
	if (!window->at_eof)
		while ((n = source_read(source, dropped, sizeof(dropped))) > 0)
		{
			CHECK_FOR_INTERRUPTS();
			end += n;
		}
	return end - offset;
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
		if (source->rows != NULL && query_pauses(source->rows))
			break;
	}
}

void
source_complete(Source *source, int64 rows)
{
	if (source->from_client)
		client_complete(source->portal, rows);
}
