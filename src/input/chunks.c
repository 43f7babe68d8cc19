/*
 * chunks.c
 *		See chunks.h.
 */
#include "postgres.h"

#include "input/chunks.h"

/* Where the window ends as a chunk; true: it is the last one. */
static bool
find_border(const Window *window, const ScanDialect *dialect,
			const ChunkCursor *cursor, ScanBorder *border)
{
	if (cursor->binary)
		return !scan_binary_border(window->data, window->length, border) ||
			window->at_eof;

	scan_border(dialect, cursor->eol, window->data, window->length, border);
	if (!window->at_eof)
		return false;
	border->rows += border->end < window->length;
	border->end = window->length;
	return true;
}

bool
chunk_read(Source *source, const ScanDialect *dialect, ChunkCursor *cursor,
		   uint32 *rows)
{
	Window	   *window = &source->window;
	ScanBorder	border;

	cursor->ended |= source->ring == NULL &&
		cursor->offset >= source->file.size;
	if (cursor->ended)
		return false;

	source_seek(source, cursor->offset, cursor->line);
	do
	{
		window_fill(source, 0, 0);
		cursor->ended = find_border(window, dialect, cursor, &border);
	} while (border.end == 0 && !cursor->ended && window->length < CHUNK_MAX);

	cursor->ended |= border.end == 0;
	cursor->offset += border.end;
	cursor->line += border.lines;
	window->length = border.end;
	*rows = border.rows;
	return border.end > 0;
}
