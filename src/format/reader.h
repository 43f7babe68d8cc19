/*
 * reader.h
 *		Files to batches of rows: the window of source.h, scanned.
 *
 * A batch is the rows found in (part of) a window; offsets in its rows and
 * fields are relative to reader->data.  It is valid until the next call of
 * reader_rows.
 */
#ifndef PGBULK_READER_H
#define PGBULK_READER_H

#include "postgres.h"

#include "format/encoding.h"
#include "format/format.h"
#include "stream/source.h"

struct Reader
{
	Source	   *source;
	const BulkOptions *options;
	const FormatRoutine *routine;
	void	   *format_state;	/* private to the routine */
	ScanDialect dialect;
	int			(*shape_mblen) (const unsigned char *);
	MemoryContext context;

	/* the open file */
	bool		chunked;		/* nothing but the window is to be read */
	ScanEol		eol;
	bool		ended;			/* an end marker was read */
	int64		trailing;		/* bytes after it */
	int			joined;			/* READER_JOINED_*: rows of all files that were recovered */

	/* the batch */
	const char *data;			/* rows and fields point into this */
	int64		offset;			/* of data[0] in the file */
	int64		line;			/* of data[0], from 1; binary: row number */
	ScanRow    *rows;
	uint32		max_rows;
	uint32		batch_rows;		/* rows to find at a time; few after a recovery */
	ScanField  *fields;
	uint32		max_fields;
	ScanResult	result;

	/* end of the batches so far, in the window */
	uint32		done;
	uint32		done_lines;
	char	   *shape;
	Size		shape_size;
};

/* Memory: the current context. */
extern Reader *reader_open(Source *source, const BulkOptions *options);

/*
 * Opens the next file and skips its byte order mark or binary header.  False
 * after the last file.  Error: 22P04 for a file that is not binary, or not
 * text.
 */
extern bool reader_next_file(Reader *reader);

/* The columns of the open file are known (target->attnums). */
extern void reader_begin_columns(Reader *reader, const Target *target);

/*
 * The next batch, of at most max_rows rows.  False at the end of the file.
 * forgiving: a row that exceeds the largest window gets a fault and is cut
 * there, instead of an error.
 */
extern bool reader_rows(Reader *reader, uint32 max_rows, bool forgiving);

/*
 * For chunks of a file (chunks.h): the next batches are those of the source's
 * current window; after them reader_rows returns false.
 */
extern void reader_take_chunk(Reader *reader, ScanEol eol);

/*
 * Whether the file whose first window has been read has line ends of that kind,
 * by its first row from offset begin.  The reader's batch is lost.
 */
extern bool reader_begins_with(Reader *reader, uint32 begin, ScanEol eol);

/*
 * The reader's position: the first row after all batches, or an end-of-copy
 * marker.
 */
extern void reader_place(const Reader *reader, int64 *offset, int64 *line);

/* Continues there, in the open file. */
extern void reader_seek(Reader *reader, int64 offset, int64 line);

/*
 * Bits of what rows were to which a misplaced quote had joined others, and which were bad for
 * that: another option may make good ones of them.
 */
#define READER_JOINED_SHORT	1	/* too few fields */
#define READER_JOINED_LONG	2	/* too many */
#define READER_JOINED_FULL	4	/* as many as there should be */

typedef enum ReaderRecovery
{
	READER_NOTHING,				/* the row is unchanged */
	READER_RECOVERED,			/* the row now ends where rows parse again */
	READER_AGAIN				/* more must be read: the next batch has the row again */
} ReaderRecovery;

/*
 * Searches row number index of the batch, which is damaged by a misplaced
 * quote, for a place where rows of nfields fields parse again.  Unless nothing
 * is found the batch ends with (or before) this row, and the next batch
 * continues there.
 */
extern ReaderRecovery reader_recover(Reader *reader, uint32 index, int nfields);

/*
 * Makes the first row of the batch, which spans several lines, end with its
 * first line; the next batch begins after that.  False: it has no line end.
 */
extern bool reader_cut(Reader *reader);

/* Line number and offset of a row of the batch. */
extern int64 reader_line(const Reader *reader, uint32 index);
extern int64 reader_offset(const Reader *reader, uint32 index);

#endif							/* PGBULK_READER_H */
