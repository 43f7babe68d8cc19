/*
 * load.h
 *		One load, from its options to its result row.
 */
#ifndef PGBULK_LOAD_H
#define PGBULK_LOAD_H

#include "postgres.h"

#include "input/stored.h"
#include "nodes/pg_list.h"
#include "options.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

typedef struct LoadResult
{
	int64		load_id;
	int64		rows_loaded;
	int64		rows_rejected;
	int64		rows_duplicate;
	int64		rows_replaced;
	int64		rows_filtered;
	int64		rows_read;
	int64		bytes_read;
	const char *writer;
	const char *tried;			/* the writer of a dry run, else NULL */
	int			workers;
	const char *not_direct;		/* why the writer is not, or NULL */
	List	   *tables;			/* IndexTable: the target, or the leaves that have got rows */
	bool		by_leaf;
	int64		blocks_freed;	/* of those that the load has added */
	const char *not_freed;		/* why there are empty ones at the end, or NULL */
	const char *no_workers;		/* why they could not help, or NULL */
	int			attempts;		/* 1, or more where rows had to go without a trace */
	TimestampTz started;
	TimestampTz finished;
	Jsonb	   *details;
} LoadResult;

/*
 * Loads the files that paths (char *) name into relid; or, where stored is not
 * NULL, its rows, which stood in these files.  load_id is what the rejects carry.  Everything that is
 * done belongs to the current (sub)transaction; nothing is caught.  result is
 * allocated in the current context, and so is all that the load needs, below
 * a context of its own.
 */
extern void load_run(Oid relid, List *paths, StoredRows *stored,
					 const BulkOptions *options, int64 load_id,
					 LoadResult *result);

/* Bytes of a window to begin with (setting pgbulk.chunk_size). */
extern int	load_chunk_size;

#endif							/* PGBULK_LOAD_H */
