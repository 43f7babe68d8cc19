/*
 * chunks.c
 *		See chunks.h.
 */
#include "postgres.h"

#include "input/chunks.h"

bool
chunk_read(Source *source, const ScanDialect *dialect, ChunkCursor *cursor,
		   uint32 *rows)
{
	Window	   *window = &source->window;

	if (cursor->ended || cursor->offset >= source->file.size)
	{
		cursor->ended = true;
		return false;
	}

	source_seek(source, cursor->offset, cursor->line);
	for (;;)
	{
		ScanBorder	border;

		window_fill(source, 0, 0);
		scan_border(dialect, cursor->eol, window->data, window->length,
					&border);
		*rows = border.rows;
		if (window->at_eof)
		{
			cursor->offset += window->length;
			cursor->ended = true;
			*rows += border.end < window->length;
			return window->length > 0;
		}
		if (border.end > 0)
		{
			window->length = border.end;
			cursor->offset += border.end;
			cursor->line += border.lines;
			return true;
		}
		if (window->length >= CHUNK_MAX)
		{
			cursor->ended = true;
			return false;
		}
	}
}
