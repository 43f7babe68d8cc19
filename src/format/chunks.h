/*
 * chunks.h
 *		Files cut into chunks of whole rows, for several readers.
 *
 * Where the next chunk begins is a cursor that the readers share; whoever
 * holds it reads at it, finds the last row end in what was read, and moves
 * it there.  Quotes need no guessing so: each chunk begins outside them.
 * Price: readers wait for each other while one of them reads and looks for
 * the end, about a fortieth of what a chunk then takes.
 *
 * At the end of a file the cursor moves on to the next one, where that is
 * alike: bytes to be taken as they are, the same header, the same line ends.
 * Where it is not the work ends, and whoever opens that file finds out what it
 * is.
 */
#ifndef PGBULK_CHUNKS_H
#define PGBULK_CHUNKS_H

#include "postgres.h"

#include "format/reader.h"

/* The same for all readers, in shared memory. */
typedef struct ChunkCursor
{
	int			file;			/* number in the source's list */
	int64		offset;			/* of the next row */
	int64		line;			/* the one it begins in */
	int64		passed;			/* bytes of this file and those before it */
	ScanEol		eol;			/* known */
	bool		ended;			/* nothing more can be had here */
} ChunkCursor;

/* One process's part. */
typedef struct ChunkReader
{
	Reader	   *reader;			/* its source has the window */
	int			last;			/* no chunk is of a file after this one */
	/*
	 * In shared memory: as they were when somebody opened them first; size
	 * PG_INT64_MAX: known only when all has been read.
	 */
	FileStamp  *files;
	/* what all but the first begin with, whole lines, and the line behind it */
	const char *header;
	uint32		header_length;
	int64		first_line;
} ChunkReader;

/* Longest chunk; a row that is longer is not for here. */
#define CHUNK_MAX (4 * 1024 * 1024)

/*
 * Reads the next chunk into the source's window and moves the cursor behind
 * it.  *rows is how many row ends it has.  False, with cursor->ended set: end
 * of the files, or what is not for here begins at the cursor or in the file
 * after it (a row longer than CHUNK_MAX; what the format finds no border
 * behind; a file that is not like the others).
 *
 * Errors: 55000 for a file that changed; the file system's.
 */
extern bool chunk_read(ChunkReader *chunks, ChunkCursor *cursor, uint32 *rows);

#endif							/* PGBULK_CHUNKS_H */
