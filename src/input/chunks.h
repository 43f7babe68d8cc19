/*
 * chunks.h
 *		A file cut into chunks of whole rows, for several readers.
 *
 * Where the next chunk begins is a cursor that the readers share; whoever
 * holds it reads at it, finds the last row end in what was read, and moves
 * it there.  Quotes need no guessing so: each chunk begins outside them.
 * Price: readers wait for each other while one of them reads and looks for
 * the end, about a fortieth of what a chunk then takes.
 */
#ifndef PGBULK_CHUNKS_H
#define PGBULK_CHUNKS_H

#include "postgres.h"

#include "input/source.h"
#include "scan/scan.h"

typedef struct ChunkCursor
{
	int64		offset;			/* of the next row */
	int64		line;			/* the one it begins in */
	bool		binary;			/* the format */
	ScanEol		eol;			/* known, in the others */
	bool		ended;			/* nothing more can be had here */
} ChunkCursor;

/* Longest chunk; a row that is longer is not for here. */
#define CHUNK_MAX (4 * 1024 * 1024)

/*
 * Reads the next chunk into the source's window and moves the cursor behind
 * it.  *rows is how many row ends it has.  False, with cursor->ended set: end
 * of file, or what is not for here begins at the cursor (a row longer than
 * CHUNK_MAX; in the binary format what is no whole row).
 *
 * Errors: 55000 for a file that changed; the file system's.
 */
extern bool chunk_read(Source *source, const ScanDialect *dialect,
					   ChunkCursor *cursor, uint32 *rows);

#endif							/* PGBULK_CHUNKS_H */
