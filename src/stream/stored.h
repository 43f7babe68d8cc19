/*
 * stored.h
 *		Rows of a reject table, each as a stream of its own.
 *
 * They were rejected by an earlier load, and have the place in the input where
 * they were read.  Each is read separately: a quote that one of them leaves
 * open does not affect the next.  They are kept in a temporary file; memory: 8
 * bytes a row, and the names of the files.
 */
#ifndef PGBULK_STORED_H
#define PGBULK_STORED_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "stream/stream.h"

typedef struct StoredRows StoredRows;

typedef struct StoredRow
{
	const char *path;			/* the file that it was read from */
	int64		line;			/* of its first byte, from 1 */
	int64		offset;			/* of its first byte, from 0 */
	const char *data;
	uint32		length;
} StoredRow;

/* Memory: a context of its own below the current one. */
extern StoredRows *stored_rows_create(void);

/* Closes the temporary file; needed only where the transaction continues. */
extern void stored_rows_close(StoredRows *rows);

/* Adds a copy of a row; those of one file come one after the other. */
extern void stored_rows_add(StoredRows *rows, const StoredRow *row);

/*
 * Counts a row that is not added, as it stays where it is for one of so many
 * reasons; those that were counted for one.
 */
#define STORED_REASONS 8
extern void stored_rows_leave(StoredRows *rows, int reason);
extern int64 stored_rows_left(const StoredRows *rows, int reason);

/* Size of all rows, in bytes. */
extern int64 stored_rows_bytes(const StoredRows *rows);

/* The files that they were read from, each once, in the order of their first row. */
extern List *stored_rows_files(const StoredRows *rows);

/* The file of each row, as an index in that list. */
extern List *stored_rows_paths(StoredRows *rows);

/*
 * Row number `number`, from 0, as its stream has it: an empty one is a line end.
 * Its data are valid until the next call.
 */
extern void stored_rows_read(StoredRows *rows, int number, StoredRow *row);

/*
 * The same row of StoredRows as a stream, as source_open_list wants it; it is
 * valid as long.
 */
extern Stream *stored_rows_open(void *rows, int number);

#endif							/* PGBULK_STORED_H */
