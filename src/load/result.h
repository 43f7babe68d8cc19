/*
 * result.h
 *		The result of a load, and the details column of its result row.
 */
#ifndef PGBULK_RESULT_H
#define PGBULK_RESULT_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "reject/rejects.h"
#include "server/usage.h"
#include "table/refusal.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

/* The last row of a file that grows, of which more may be written. */
typedef struct IncompleteRow
{
	const char *path;
	int64		line;			/* where it begins */
	int64		lines;			/* line ends in it so far */
	int64		bytes;
	bool		quoted;			/* a quote in it is not closed */
} IncompleteRow;

typedef struct LoadResult
{
	int64		load_id;
	int64		rows_loaded;
	int64		rows_rejected;
	int64		rows_duplicate;
	int64		rows_replaced;
	int64		rows_deleted;
	int64		rows_filtered;
	int64		rows_in_batches;	/* that were merged by the batch */
	int64		rows_read;
	int64		bytes_read;
	const char *writer;
	const char *tried;			/* the writer of a dry run, or NULL */
	int			workers;
	Refusal		not_direct;		/* why the writer is not "direct" */
	const char *direct;			/* why it is; or NULL */
	List	   *tables;			/* IndexTable: the target, or the leaves that got rows */
	bool		by_leaf;
	int64		blocks_freed;	/* blocks truncated, of those the load has added */
	const char *not_freed;		/* why empty blocks at the end remain, or NULL */
	Refusal		no_workers;		/* why there were no workers */
	Jsonb	   *nodes;			/* what other servers got; NULL: nothing */
	Jsonb	   *detected;		/* options detected in the files; or NULL */
	List	   *passed_over;	/* of char *: files that were loaded before */
	List	   *incomplete;		/* of IncompleteRow *: left for when there is more of them */
	bool		more;			/* of a file that is loaded in parts, some are left */
	int64		bytes_unread;	/* behind end-of-copy markers */
	int			attempts;		/* 1, or more if the load had to be repeated */
	Oid			user;			/* who has called it, whoever triggers have made of it since */
	TimestampTz started;
	TimestampTz finished;
	Jsonb	   *details;
} LoadResult;

/* The time spent until each phase of a load ends, and the WAL before the first. */
typedef struct LoadTimes
{
	uint64		wal_before;
	Usage		start;
	Usage		reading;
	Usage		ending;
	Usage		indexed;
	Usage		done;
} LoadTimes;

/*
 * Keeps a result for result_last, which returns that of the session's last load that ended
 * without an error: what SQL can see of it.  NULL: there was none, or the current user may
 * not act as the one who loaded, as it has values of rejected rows.
 */
extern void result_keep(const LoadResult *result);
extern const LoadResult *result_last(void);

/* As if there had been no load yet. */
extern void result_forget(void);

/*
 * load_id, time of each phase, files, WAL bytes of this backend, rejects.
 * Memory: the current context.
 */
extern Jsonb *result_details(const LoadResult *result, const LoadTimes *times,
							 List *paths, const RejectStream *rejects);

#endif							/* PGBULK_RESULT_H */
