/*
 * chunks.h
 *		Files cut into chunks of whole rows, for several readers.
 *
 * The readers share a cursor, the start of the next chunk.  The one that holds
 * it reads from there, finds the last row end in what it has read, and moves
 * the cursor there.  So there is no guessing about quotes: each chunk begins
 * outside them.  Price: readers wait for each other while one of them reads and
 * looks for the end, about a fortieth of what a chunk then takes.
 *
 * At the end of a file the cursor moves to the next one if that is alike: no
 * compression or conversion, the same header, the same line ends.  Otherwise
 * the chunks end there, and the leader opens that file in the ordinary way.
 */
#ifndef PGBULK_CHUNKS_H
#define PGBULK_CHUNKS_H

#include "postgres.h"

#include "format/reader.h"

/* Shared by all readers, in shared memory. */
typedef struct ChunkCursor
{
	int			file;			/* number in the source's list */
	int64		offset;			/* offset of the next row */
	int64		line;			/* line of the next row */
	int64		passed;			/* bytes up to the cursor, files before this one included */
	ScanEol		eol;			/* known */
	bool		ended;			/* no more chunks */
	bool		hashes;			/* files are hashed, whoever reads them: */
	ContentHash hash;			/* of the file so far */
} ChunkCursor;

/* The state of one process. */
typedef struct ChunkReader
{
	Reader	   *reader;			/* its source has the window */
	int			last;			/* the last file that chunks may be of */
	/*
	 * In shared memory: as they were when first opened; size PG_INT64_MAX: not
	 * known until all has been read.
	 */
	FileStamp  *files;
	/*
	 * the header that all but the first begin with, whole lines, and the number
	 * of the line after it
	 */
	const char *header;
	uint32		header_length;
	int64		first_line;
} ChunkReader;

/* Longest chunk; a longer row is left to the leader. */
#define CHUNK_MAX (4 * 1024 * 1024)

/*
 * Reads the next chunk into the source's window and moves the cursor past it.
 * *rows is how many row ends it has.  False, with cursor->ended set: end of the
 * files, or what follows cannot be read in chunks (a row longer than CHUNK_MAX;
 * data in which the format finds no border; a file that is not like the
 * others).
 *
 * Errors: 55000 for a file that changed; the file system's.
 */
extern bool chunk_read(ChunkReader *chunks, ChunkCursor *cursor, uint32 *rows);

#endif							/* PGBULK_CHUNKS_H */
