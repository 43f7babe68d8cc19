/*
 * progress.h
 *		What others see of a running load.
 *
 * A load shows itself as a COPY, so that pg_stat_progress_copy serves; a few
 * parameters that COPY leaves alone carry what the view bulk_load_progress
 * adds, among them a magic number that tells a load from a COPY.  While an index is
 * built, the process that does it, the load's or a worker, shows a REINDEX in
 * pg_stat_progress_create_index; the load's takes along what bulk_load_progress wants to know.
 *
 * The server forgets a backend's progress when a subtransaction aborts and
 * when a command inside the load (ANALYZE) reports its own.  A Progress
 * therefore remembers everything, and publishes it again where that happened.
 */
#ifndef PGBULK_PROGRESS_H
#define PGBULK_PROGRESS_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "server/estimate.h"
#include "utils/rel.h"

/* Known by number to the view in pgbulk--*.sql. */
typedef enum BulkPhase
{
	BULK_PHASE_STARTING,
	BULK_PHASE_READING,
	BULK_PHASE_INDEXES,
	BULK_PHASE_CONSTRAINTS,
	BULK_PHASE_ANALYZING,
	BULK_PHASE_FINISHING
} BulkPhase;

typedef struct Progress
{
	const char *name;			/* of the table, for people */
	double		interval;		/* seconds between NOTICEs at least; 0: none are wanted */
	Oid			relid;
	bool		from_client;
	TimestampTz started;		/* 0 before the first progress_begin */
	TimestampTz read_end;		/* 0 while not all is read */
	BulkPhase	phase;
	int64		bytes_total;
	int64		bytes;
	int64		loaded;
	int64		excluded;
	int64		rejected;
	Estimate	estimate;
	double		later;			/* seconds that what follows the phase may take */

	/* the last NOTICE, or the beginning */
	TimestampTz last_notice;
	int64		notice_sum;		/* of all that it said, but for times */
	MemoryContextCallback forget;
} Progress;

/*
 * In the context that holds the Progress.  interval: seconds between the NOTICEs that tell of it; 0: there are none.
 */
extern void progress_init(Progress *progress, const char *name, double interval);

/*
 * Begins in phase starting, once more where a load is done again: then its share stays what it
 * was.  bytes_total is 0 where nobody knows it (a FIFO, the client).  Nothing needs to be undone if
 * the load fails.
 */
extern void progress_begin(Progress *progress, Oid relid, int64 bytes_total,
						   bool from_client);

/* The seconds that a phase may take, 0 if nobody knows, and all that follow it. */
extern void progress_phase(Progress *progress, BulkPhase phase, double expected, double later);

/*
 * So much of the phase reading is done, of 1, or ESTIMATE_UNKNOWN.  Cheap: the clock, a few stores in shared memory, and
 * now and then a NOTICE.
 */
extern void progress_update(Progress *progress, double done, int64 bytes, int64 loaded,
							int64 excluded, int64 rejected);
extern void progress_end(Progress *progress);

/* ---- steps of the load of this process; nothing happens where there is none, as in a worker ---- */

/* A part of the phase begins, which may take so many seconds; the phase's others after it: rest. */
extern void progress_step(double expected, double rest);

/* So much of the step is done, from 0 to 1.  As cheap as progress_update. */
extern void progress_done(double done);

/* ---- an index that is built ---- */

/* How far it is.  In shared memory, where several processes build one: each shows what all have done. */
typedef struct ProgressCounts
{
	pg_atomic_uint64 blocks;
	pg_atomic_uint64 rows;
} ProgressCounts;

extern void progress_counts_init(ProgressCounts *counts);

/*
 * From here to progress_index_end this process shows the build of an index, the step that it is in.  together: what all
 * have done, which must stay so long; NULL: this process is the only one.  An error needs no end.
 */
extern void progress_index_begin(Relation heap, Relation index,
								 ProgressCounts *together);
extern void progress_index_end(void);

/*
 * The phases of a btree, and what all of it will be: blocks of the table that are scanned;
 * rows that are sorted, 0 if nobody knows; then rows that go into leaves, with those
 * of an old file of so many blocks, if there is one.  Nothing happens where no build is shown.
 */
extern void progress_index_scan(BlockNumber blocks);
extern void progress_index_sort(uint64 rows);
extern void progress_index_merge(BlockNumber old_blocks);
extern void progress_index_load(void);

/* So many more are done.  As cheap as progress_update: per page or so. */
extern void progress_index_blocks(BlockNumber n);
extern void progress_index_rows(uint64 n);

#endif							/* PGBULK_PROGRESS_H */
