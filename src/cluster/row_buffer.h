/*
 * row_buffer.h
 *		Rows for a table of another node, and where in the input they come from.
 *
 * The places outlive the rows: a node may tell what is wrong with one after all have
 * been sent.  They take a byte or two for each, and where rows may be set aside,
 * so that their bytes are wanted, a few more.
 */
#ifndef PGBULK_ROW_BUFFER_H
#define PGBULK_ROW_BUFFER_H

#include "postgres.h"

#include "format/journal.h"
#include "format/varbyte.h"
#include "lib/ilist.h"
#include "lib/stringinfo.h"
#include "scan/scan.h"
#include "storage/buffile.h"

/* Rows for one table, as its COPY reads them; all are from one file. */
typedef struct RowBuffer
{
	dlist_node	link;
	const char *statement;		/* of the COPY; a table has one string for those that are equal */
	bool		filtered;		/* a trigger there may keep rows out; else each must be stored */
	bool		exact;			/* rows may be set aside */
	void	   *sender;			/* whoever is told of these */
	StringInfoData data;
	int64		nrows;			/* that were noted */

	/* private to row_buffer.c */
	int			file;
	int64		line;			/* of the last row */
	int64		end;			/* its end in the file, */
	int64		data_end;		/* and in the data; what is behind it is no whole row */
	StringInfoData places;
} RowBuffer;

/* Without rows, with space for so many bytes.  Memory: the context. */
extern RowBuffer *row_buffer_create(MemoryContext context, Size bytes);

/* The file of its rows. */
static inline int
row_buffer_file(const RowBuffer *buffer)
{
	return buffer->file;
}

/* Whether its rows are for a COPY by that statement, for rows of that file; -1: of all files. */
static inline bool
row_buffer_is_of(const RowBuffer *buffer, const char *statement, int file)
{
	return buffer->statement == statement && (file < 0 || file == buffer->file);
}

/* Notes the row whose data were added last: its place, and the line ends within it. */
extern void row_buffer_note(RowBuffer *buffer, const JournalPlace *place, int64 inner_lines);

/* Bytes that are copied at a time: most rows of few columns at once. */
#define ROW_OVERCOPY 32

StaticAssertDecl(ROW_OVERCOPY <= SCAN_PADDING, "as many can be read behind a window");

/*
 * Adds a row of one line and notes it: the quick way for most rows, where the buffer has others and
 * is not exact; row_buffer_cut is to be called before the data are used.  ROW_OVERCOPY bytes behind
 * the row must be readable.  False: nothing was added, as there is no space.
 */
static inline bool
row_buffer_add_line(RowBuffer *buffer, const char *bytes, uint32 length, int64 line)
{
	StringInfo	places = &buffer->places;
	uint64		lines = line - buffer->line;
	char	   *to = buffer->data.data + buffer->data_end;

	if (unlikely(buffer->data_end + length + ROW_OVERCOPY >= buffer->data.maxlen ||
				 places->len + VARBYTE_MAX_LENGTH >= places->maxlen))
		return false;
	for (uint32 i = 0; i < length; i += ROW_OVERCOPY)
		memcpy(to + i, bytes + i, ROW_OVERCOPY);
	to[length] = '\n';
	buffer->data_end += length + 1;
	places->len = varbyte_put((uint8 *) places->data + places->len, lines << 1) -
		(uint8 *) places->data;
	buffer->nrows++;
	buffer->line = line;
	return true;
}

/* Drops the data of a row that was not noted: an error was in the way. */
extern void row_buffer_cut(RowBuffer *buffer);

/* Without rows again, for those of any file. */
extern void row_buffer_reset(RowBuffer *buffer);

/* The bytes of a copy of its rows and places, a multiple of MAXIMUM_ALIGNOF; and makes it there. */
extern Size row_buffer_copy_size(const RowBuffer *buffer);
extern void row_buffer_copy(RowBuffer *buffer, char *to);

/* The rows of a copy, whose data and places stay where that is. */
extern void row_buffer_show(RowBuffer *rows, char *copy);

/* Adds the rows of another one, of the same file and behind those that it has. */
extern void row_buffer_append(RowBuffer *buffer, const RowBuffer *rows);

/* Gives back the space of data that has no rows, if that is most of it: no more rows will come. */
extern void row_buffer_trim(RowBuffer *buffer);

/* The bytes that it takes. */
extern Size row_buffer_memory(const RowBuffer *buffer);

/* The data were sent. */
extern void row_buffer_free_data(RowBuffer *buffer);

extern void row_buffer_free(RowBuffer *buffer);

/*
 * Appends it to a temporary file, for this process, and frees it; where its data were sent,
 * the places alone.
 */
extern void row_buffer_write(RowBuffer *buffer, BufFile *file);

/* Goes to the begin of the file. */
extern void row_buffer_rewind(BufFile *file);

/* The next one of the file; NULL: there is none.  Memory: the context. */
extern RowBuffer *row_buffer_read(MemoryContext context, BufFile *file);

/* The rows of buffers of a COPY, one after the other. */
typedef struct RowPlaces
{
	const RowBuffer *buffer;
	const uint8 *next;
	int64		left;			/* rows of the buffer */

	/* of the current row: its place in the input, offset and length only where they are exact; */
	JournalPlace place;
	/* and in the COPY */
	int64		last_line;
	int64		offset;
	int64		end;
} RowPlaces;

/* Zeroed before the first buffer. */
extern void row_places_begin(RowPlaces *places, const RowBuffer *buffer);
extern bool row_places_next(RowPlaces *places);

#endif							/* PGBULK_ROW_BUFFER_H */
