/*
 * stored.h
 *		Rows that no file has any more, one by one, as a stream each.
 *
 * They were set aside by an earlier load and have kept the place where they
 * stood.  Each is read for itself: a quote that one of them leaves open takes
 * nothing from the next. They wait in a temporary file; memory: 8 bytes a row,
 * and the names of the files.
 */
#ifndef PGBULK_STORED_H
#define PGBULK_STORED_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "stream/stream.h"

typedef struct StoredRows StoredRows;

typedef struct StoredRow
{
	const char *path;			/* the file that it stood in */
	int64		line;			/* of its first byte, from 1 */
	int64		offset;			/* of its first byte, from 0 */
	const char *data;
	uint32		length;
} StoredRow;

/* Memory: a context of its own below the current one. */
extern StoredRows *stored_rows_create(void);

/* Gives the temporary file back; only where the transaction goes on. */
extern void stored_rows_close(StoredRows *rows);

/* Takes a copy of a row. */
extern void stored_rows_add(StoredRows *rows, const StoredRow *row);

/* Bytes of all rows. */
extern int64 stored_rows_bytes(const StoredRows *rows);

/* The files that they stood in, each once, in the order of their first row. */
extern List *stored_rows_files(const StoredRows *rows);

/* The file that each row stood in, by its number. */
extern List *stored_rows_paths(StoredRows *rows);

/* Row number `number`, from 0; its data is good until the next call. */
extern void stored_rows_read(StoredRows *rows, int number, StoredRow *row);

/* The same row of StoredRows as a stream, as source_open_list wants it; it is good as long. */
extern Stream *stored_rows_open(void *rows, int number);

#endif							/* PGBULK_STORED_H */
