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
	Oid			relid;
	bool		from_client;
	TimestampTz started;
	TimestampTz read_end;		/* 0 while not all is read */
	BulkPhase	phase;
	int64		bytes_total;
	int64		bytes;
	int64		loaded;
	int64		excluded;
	int64		rejected;
} Progress;

/*
 * Begins in phase starting.  bytes_total is 0 where nobody knows it (a FIFO,
 * the client).  Nothing needs to be undone if the load fails.
 */
extern void progress_begin(Progress *progress, Oid relid, int64 bytes_total,
						   bool from_client);
extern void progress_phase(Progress *progress, BulkPhase phase);

/* Cheap: a few stores in shared memory.  Meant to be called per window. */
extern void progress_update(Progress *progress, int64 bytes, int64 loaded,
							int64 excluded, int64 rejected);
extern void progress_end(Progress *progress);

/* ---- an index that is built ---- */

/* How far it is.  In shared memory, where several processes build one: each shows what all have done. */
typedef struct ProgressCounts
{
	pg_atomic_uint64 blocks;
	pg_atomic_uint64 rows;
} ProgressCounts;

extern void progress_counts_init(ProgressCounts *counts);

/*
 * From here to progress_index_end this process shows the build of an index.  together: what all
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
