/*
 * chunks.c
 *		See chunks.h.
 */
#include "postgres.h"

#include "format/chunks.h"

/* A first row of more fields is not looked at. */
#define FIELDS_MOST 4096

/* Whether what the file ends with, from there on, is a row without a line end. */
static bool
has_last_row(const ScanDialect *dialect, const Window *window, uint32 start)
{
	uint32		length = window->length - start;

	return length > 0 &&
		(dialect->comment == NULL || length < dialect->comment_length ||
		 memcmp(window->data + start, dialect->comment, dialect->comment_length) != 0);
}

/* Where the window ends as a chunk; true: nothing comes after it. */
static bool
find_border(const ChunkReader *chunks, const ChunkCursor *cursor,
			ScanBorder *border)
{
	const Window *window = &chunks->source->window;

	if (cursor->binary)
		return !scan_binary_border(window->data, window->length, border) ||
			window->at_eof;

	scan_border(&chunks->dialect, cursor->eol, window->data, window->length, border);
	if (!window->at_eof)
		return false;
	border->rows += has_last_row(&chunks->dialect, window, border->end);
	border->end = window->length;
	return true;
}

/* Whether the rows that the window begins with have line ends of that kind. */
static bool
has_line_ends(const ChunkReader *chunks, const Window *window, uint32 begin,
			  ScanEol eol)
{
	const ScanFixed *fixed = chunks->dialect.fixed;
	ScanEol		found = eol == SCAN_EOL_ANY ? SCAN_EOL_ANY : SCAN_EOL_UNKNOWN;
	ScanField  *fields;
	ScanRow		row;
	ScanResult	result;

	if (fixed != NULL && fixed->record_length > 0)
		return true;
	fields = palloc(sizeof(ScanField) * FIELDS_MOST);
	scan_rows(&chunks->dialect, &found, window->data + begin,
			  window->length - begin, window->at_eof, &row, 1, fields,
			  FIELDS_MOST, &result);
	pfree(fields);
	return found == eol;
}

/* Whether the window, of a file's first bytes, begins as the other files do. */
static bool
begins_alike(const ChunkReader *chunks, const Window *window, uint32 mark,
			 ScanEol eol)
{
	uint32		begin = mark + chunks->header_length;

	if (window->length < begin ||
		memcmp(window->data + mark, chunks->header, chunks->header_length) != 0)
		return false;
	if (chunks->header_length == 0)
		return window->length == begin ||
			has_line_ends(chunks, window, begin, eol);
	return window->length == begin || window->data[begin] != '\n' ||
		window->data[begin - 1] != '\r';
}

/* The cursor moves from the end of its file into the next one; false: it cannot. */
static bool
move_on(ChunkReader *chunks, ChunkCursor *cursor)
{
	Source	   *source = chunks->source;
	int			next = cursor->file + 1;
	uint32		mark;

	if (next > chunks->last)
		return false;
	/* at its end it is found out whether it is still what it was when it was opened */
	source_go(source, cursor->file, chunks->files);
	source_seek(source, cursor->offset, cursor->line);
	window_fill(source, 0, 0);
	if (!source_open_plain(source, next))
		return false;
	mark = source_mark(source);
	if (!begins_alike(chunks, &source->window, mark, cursor->eol))
		return false;

	chunks->files[next] = source->stream->stamp;
	cursor->file = next;
	cursor->offset = mark + chunks->header_length;
	cursor->line = chunks->first_line;
	cursor->passed += cursor->offset;
	return true;
}

bool
chunk_read(ChunkReader *chunks, ChunkCursor *cursor, uint32 *rows)
{
	Source	   *source = chunks->source;
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
		last = find_border(chunks, cursor, &border);
	} while (border.end == 0 && !last && window->length < CHUNK_MAX);

	cursor->ended = border.end == 0 || (last && cursor->binary);
	cursor->offset += border.end;
	cursor->passed += border.end;
	cursor->line += border.lines;
	window->length = border.end;
	*rows = border.rows;
	return border.end > 0;
}
