/*
 * notes.h
 *		Conflicts (conflicts.h) that one process finds, in a temporary file for another.
 */
#ifndef PGBULK_NOTES_H
#define PGBULK_NOTES_H

#include "postgres.h"

#include "index/conflicts.h"
#include "storage/buffile.h"
#include "storage/fileset.h"

#define NOTES_NAME 64

typedef struct Notes
{
	ConflictSink sink;			/* where conflicts go */
	FileSet    *files;
	char		name[NOTES_NAME];
	MemoryContext context;
	BufFile    *file;			/* NULL: nothing was noted */
} Notes;

/* The file is made when it is needed.  Memory: the current context. */
extern void notes_begin(Notes *notes, FileSet *files, const char *name);

/* False: nothing was noted, and there is no file. */
extern bool notes_end(Notes *notes);

/* Passes on what is in a file, of whose groups so many have come before. */
extern void notes_read(FileSet *files, const char *name, uint32 before,
					   const ConflictSink *sink);

#endif							/* PGBULK_NOTES_H */
