/*
 * progress.h
 *		Publishes the progress of a load.
 *
 * A load is shown as a COPY, so that pg_stat_progress_copy works; a few
 * parameters that COPY does not use hold what the view bulk_load_progress adds,
 * among them a magic number that distinguishes a load from a COPY.  While an
 * index is being built, the process that builds it, leader or worker, shows a
 * REINDEX in pg_stat_progress_create_index; the leader adds what
 * bulk_load_progress needs.
 *
 * The server resets a backend's progress when a subtransaction aborts and when
 * a command inside the load (ANALYZE) reports its own.  So a Progress holds all
 * values, and publishes them again after that.
 */
#ifndef PGBULK_PROGRESS_H
#define PGBULK_PROGRESS_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "server/estimate.h"
#include "utils/rel.h"

/* The view in pgbulk--*.sql uses these numbers. */
typedef enum BulkPhase
{
	BULK_PHASE_STARTING,
	BULK_PHASE_READING,
	BULK_PHASE_INDEXES,
	BULK_PHASE_CONSTRAINTS,
	BULK_PHASE_ANALYZING,
	BULK_PHASE_FINISHING
} BulkPhase;

/*
 * Index entries that are inserted many at a time, while rows are still read or after all have
 * been.  Those of a batch have waited together.
 */
typedef struct ProgressEntries
{
	uint64		taken;			/* of all rows so far */
	uint64		inserted;		/* of them, by the batches before */
	double		seconds;		/* that these have taken */

	/* the batch that is being inserted; total 0: none is */
	uint64		total;
	uint64		done;
	Oid			index;
	TimestampTz begun;
	BulkPhase	phase;			/* of the load before and afterwards */
} ProgressEntries;

typedef struct Progress
{
	const char *name;			/* of the table, for messages */
	double		interval;		/* minimum seconds between NOTICEs; 0: none */
	Oid			relid;
	bool		from_client;
	TimestampTz started;		/* 0 before the first progress_begin */
	TimestampTz read_end;		/* 0 until all input is read */
	BulkPhase	phase;
	int64		bytes_total;
	int64		bytes;
	int64		loaded;
	int64		excluded;
	int64		rejected;
	Estimate	estimate;
	double		later;			/* estimated seconds of all later phases */
	double		read;			/* fraction of the input that is read, or ESTIMATE_UNKNOWN */
	ProgressEntries entries;

	/* time of the last NOTICE, or the start */
	TimestampTz last_notice;
	int64		notice_sum;		/* checksum of its values except times */
	MemoryContextCallback forget;
} Progress;

/*
 * To be called in the context that holds the Progress.  interval: seconds
 * between NOTICEs; 0: none.
 */
extern void progress_init(Progress *progress, const char *name, double interval);

/*
 * Starts in phase starting; again if a load is repeated, whose share then stays
 * as it was.  bytes_total is 0 if unknown (a FIFO, the client).  Nothing needs
 * to be undone if the load fails.
 */
extern void progress_begin(Progress *progress, Oid relid, int64 bytes_total,
						   bool from_client);

/* Starts a phase, with its expected seconds, 0 if unknown, and those of all later phases. */
extern void progress_phase(Progress *progress, BulkPhase phase, double expected, double later);

/*
 * Reports the fraction of phase reading that is done, 0 to 1, or
 * ESTIMATE_UNKNOWN.  Cheap: a clock call, a few stores in shared memory, and
 * occasionally a NOTICE.
 */
extern void progress_update(Progress *progress, double done, int64 bytes, int64 loaded,
							int64 excluded, int64 rejected);
extern void progress_end(Progress *progress);

/* ---- other servers (cluster/shown.h) ---- */

/*
 * Others find shared memory with that handle, until it is 0, or progress_leave: until then the load
 * is shown, as it has not ended before other servers have.
 */
extern void progress_nodes(uint32 handle);
extern void progress_leave(void);

/* The query by which they find it: the PIDs of loads and the handles. */
extern const char *const progress_nodes_query;

/* ---- steps of this process's load; no-ops if there is none, as in a worker ---- */

/*
 * Starts a step of the phase, with its expected seconds and those of the
 * phase's remaining steps.
 */
extern void progress_step(double expected, double rest);

/* Reports the fraction of the step that is done, 0 to 1.  As cheap as progress_update. */
extern void progress_done(double done);

/* ---- index entries that wait (index/entries.h); no-ops if this process has no load ---- */

/* So many more wait: they are part of the work of reading. */
extern void progress_entries_wait(uint64 n);

/*
 * From here to progress_entries_end so many of them are inserted, and the phase
 * shown is that of indexes.  Not needed after an error.
 */
extern void progress_entries_begin(uint64 n);
extern void progress_entries_end(void);

/* From here on it is that index's turn. */
extern void progress_entries_index(Oid index);

/*
 * From here on this process inserts them together with others: all of them count there, and the
 * load shows the sum.  Returns what was there before, NULL for none, and must be called with that
 * before the memory goes, also after an error.
 */
extern pg_atomic_uint64 *progress_entries_together(pg_atomic_uint64 *inserted);

/* So many, of all of the batch, are inserted.  As cheap as progress_update; no lock may be held. */
extern void progress_entries_done(uint64 n);

/* ---- index builds ---- */

/*
 * Progress of an index build.  In shared memory if several processes build one
 * index: each shows the sum.
 */
typedef struct ProgressCounts
{
	pg_atomic_uint64 blocks;
	pg_atomic_uint64 rows;
} ProgressCounts;

extern void progress_counts_init(ProgressCounts *counts);

/*
 * Until progress_index_end this process shows the build of an index, which is
 * the current step.  together: counts of all processes, which must live as
 * long; NULL: this is the only process.  Not needed after an error.
 */
extern void progress_index_begin(Relation heap, Relation index,
								 ProgressCounts *together);
extern void progress_index_end(void);

/*
 * From here on, or no more, index builds of this process are part of a statement of the server that
 * shows them: what was said above only adds to that.
 */
extern void progress_index_shown(bool shown);
extern bool progress_index_is_shown(void);

/*
 * Starts the phases of a btree build and sets their totals: blocks of the table
 * to scan; rows to sort, 0 if unknown; rows to write to leaves, with those of
 * an old file of so many blocks, if there is one.  No-ops if no build is shown.
 */
extern void progress_index_scan(BlockNumber blocks);
extern void progress_index_sort(uint64 rows);
extern void progress_index_merge(BlockNumber old_blocks);
extern void progress_index_load(void);

/* Begins the heap scan of an access method that reports its phases itself. */
extern void progress_index_scan_other(BlockNumber blocks);

/* Adds to what is done.  As cheap as progress_update: call it per page or so. */
extern void progress_index_blocks(BlockNumber n);
extern void progress_index_rows(uint64 n);

#endif							/* PGBULK_PROGRESS_H */
