/*
 * chunks.c
 *		See chunks.h.
 */
#include "postgres.h"

#include "format/chunks.h"
#include "port/atomics.h"

/* Whether the file, by its first bytes in the window, begins as the other files do. */
static bool
begins_alike(const ChunkReader *chunks, uint32 mark, ScanEol eol)
{
	const Window *window = &chunks->reader->source->window;
	uint32		begin = mark + chunks->header_length;

	if (window->length < begin ||
		memcmp(window->data + mark, chunks->header, chunks->header_length) != 0)
		return false;
	if (chunks->header_length == 0)
		return window->length == begin ||
			reader_begins_with(chunks->reader, begin, eol);
	return window->length == begin || window->data[begin] != '\n' ||
		window->data[begin - 1] != '\r';
}

/* The window begins at an offset of the cursor's file. */
static void
hash_window(const ChunkReader *chunks, ChunkCursor *cursor)
{
	const Window *window = &chunks->reader->source->window;

	if (cursor->hashes)
		content_hash_follow(&cursor->hash, window->offset, window->data, window->length);
}

/* All chunks of the cursor's file have been taken. */
static void
end_hash(ChunkReader *chunks, ChunkCursor *cursor)
{
	FileStamp  *file = &chunks->files[cursor->file];

	if (!cursor->hashes || cursor->hash.length != (uint64) file->size)
		return;
	file->hashed = true;
	file->key = content_hash_key(&cursor->hash);
}

/* The cursor moves from the end of its file into the next one; false: it cannot. */
static bool
move_on(ChunkReader *chunks, ChunkCursor *cursor)
{
	Source	   *source = chunks->reader->source;
	int			next = cursor->file + 1;
	uint32		mark;

	/* the end of an array is left to the leader: this file is cut off within one */
	if (next > chunks->last || cursor->eol == SCAN_EOL_JSON_ARRAY)
		return false;
	/* reaching its end checks that it has not changed since it was opened */
	source_go(source, cursor->file, chunks->files);
	source_seek(source, cursor->offset, cursor->line);
	window_fill(source, 0, 0);
	end_hash(chunks, cursor);
	if (!source_open_plain(source, next))
		return false;
	mark = source_mark(source);
	if (!begins_alike(chunks, mark, cursor->eol))
		return false;

	chunks->files[next] = source->stream->stamp;
	content_hash_begin(&cursor->hash);
	hash_window(chunks, cursor);
	/* the leader looks at files without a lock */
	pg_write_barrier();
	cursor->file = next;
	cursor->offset = mark + chunks->header_length;
	cursor->line = chunks->first_line;
	cursor->passed += cursor->offset;
	return true;
}

bool
chunk_read(ChunkReader *chunks, ChunkCursor *cursor, uint32 *rows)
{
	Reader	   *reader = chunks->reader;
	Source	   *source = reader->source;
	Window	   *window = &source->window;
	ScanBorder	border;
	bool		last;

	while (!cursor->ended && cursor->offset >= chunks->files[cursor->file].size)
		cursor->ended = !move_on(chunks, cursor);
	if (cursor->ended)
		return false;

	source_go(source, cursor->file, chunks->files);
	source_seek(source, cursor->offset, cursor->line);
	do
	{
		window_fill(source, 0, 0);
		last = reader->routine->find_border(reader, cursor->eol, &border);
	} while (border.end == 0 && !last && window->length < CHUNK_MAX);
	hash_window(chunks, cursor);

	cursor->ended = border.end == 0;
	cursor->offset += border.end;
	cursor->passed += border.end;
	cursor->line += border.lines;
	window->length = border.end;
	*rows = border.rows;
	return border.end > 0;
}
