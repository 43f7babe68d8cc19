/*
 * reader.h
 *		Files to batches of rows: the window of source.h, scanned.
 *
 * A batch is the rows found in (part of) a window; offsets in its rows and
 * fields are relative to reader->data.  It stays good until the next call of
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
	void	   *format_state;	/* the routine's own */
	ScanDialect dialect;
	int			(*shape_mblen) (const unsigned char *);
	MemoryContext context;

	/* the open file */
	bool		chunked;		/* what the window holds is all there is to read */
	ScanEol		eol;
	bool		ended;			/* an end marker was read */
	int64		trailing;		/* bytes after it */

	/* the batch */
	const char *data;			/* rows and fields point into this */
	int64		offset;			/* of data[0] in the file */
	int64		line;			/* of data[0], from 1; binary: row number */
	ScanRow    *rows;
	uint32		max_rows;
	uint32		batch_rows;		/* rows to look for at a time; few after a recovery */
	ScanField  *fields;
	uint32		max_fields;
	ScanResult	result;

	/* how far into the window the batches have come */
	uint32		done;
	uint32		done_lines;
	char	   *shape;
	Size		shape_size;
};

/* Memory: the current context. */
extern Reader *reader_open(Source *source, const BulkOptions *options);

/*
 * Opens the next file and passes over its byte order mark or binary header.
 * False after the last file.  Error: 22P04 for what is no binary file, or no text.
 */
extern bool reader_next_file(Reader *reader);

/* The columns of the open file are known (target->attnums). */
extern void reader_begin_columns(Reader *reader, const Target *target);

/*
 * The next batch, of at most max_rows rows.  False at the end of the file.
 * forgiving: a row that fills the largest window possible is broken off with
 * a fault instead of raising an error.
 */
extern bool reader_rows(Reader *reader, uint32 max_rows, bool forgiving);

/*
 * For chunks of a file (chunks.h): the batches to come are those of the
 * source's window as it is.  Where they end, reader_rows says false.
 */
extern void reader_take_chunk(Reader *reader, ScanEol eol);

/*
 * Whether the file whose first window is there has line ends of that kind, by
 * its first row from a place on.  What the reader had is gone.
 */
extern bool reader_begins_with(Reader *reader, uint32 begin, ScanEol eol);

/*
 * Where the reader stands: at the first row that no batch has had, or at an
 * end-of-copy marker.
 */
extern void reader_place(const Reader *reader, int64 *offset, int64 *line);

/* Reads on there, in the open file. */
extern void reader_seek(Reader *reader, int64 offset, int64 line);

typedef enum ReaderRecovery
{
	READER_NOTHING,				/* the row stays as it is */
	READER_RECOVERED,			/* the row now ends where rows parse again */
	READER_AGAIN				/* more must be read: the row comes once more */
} ReaderRecovery;

/*
 * Looks into row number index of the batch, which broken quoting has
 * spoiled, for a place where rows of nfields fields parse again.  Unless
 * nothing is found the batch ends with (or before) this row, and the next
 * batch goes on from there.
 */
extern ReaderRecovery reader_recover(Reader *reader, uint32 index, int nfields);

/*
 * Makes the first row of the batch, which goes over several lines, end with its
 * first line; the next batch goes on behind it.  False: there is no line end in
 * it.
 */
extern bool reader_cut(Reader *reader);

/* Number of the line that a row of the batch begins in, and its offset. */
extern int64 reader_line(const Reader *reader, uint32 index);
extern int64 reader_offset(const Reader *reader, uint32 index);

#endif							/* PGBULK_READER_H */
