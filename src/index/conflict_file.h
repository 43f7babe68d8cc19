/*
 * conflict_file.h
 *		Conflicts (conflicts.h) that one process finds, in a temporary file for another.
 */
#ifndef PGBULK_CONFLICT_FILE_H
#define PGBULK_CONFLICT_FILE_H

#include "postgres.h"

#include "index/conflicts.h"
#include "storage/buffile.h"
#include "storage/fileset.h"

#define CONFLICT_FILE_NAME 64

typedef struct ConflictFile
{
	ConflictSink sink;			/* where conflicts go */
	FileSet    *files;
	char		name[CONFLICT_FILE_NAME];
	MemoryContext context;
	BufFile    *file;			/* NULL: there were none */
} ConflictFile;

/* The file is made when it is needed.  Memory: the current context. */
extern void conflict_file_begin(ConflictFile *conflicts, FileSet *files, const char *name);

/* False: there were none, and there is no file. */
extern bool conflict_file_end(ConflictFile *conflicts);

/* Passes on what is in a file, of whose groups so many have come before. */
extern void conflict_file_read(FileSet *files, const char *name, uint32 before,
							   const ConflictSink *sink);

#endif							/* PGBULK_CONFLICT_FILE_H */
