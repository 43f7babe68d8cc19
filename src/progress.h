/*
 * progress.h
 *		What others see of a running load.
 *
 * A load shows itself as a COPY, so that pg_stat_progress_copy serves; a few
 * parameters that COPY leaves alone carry what the view bulk_load_progress
 * adds, among them a magic number that tells a load from a COPY.
 *
 * The server forgets a backend's progress when a subtransaction aborts and
 * when a command inside the load (ANALYZE) reports its own.  A Progress
 * therefore remembers everything, and publishes it again where that happened.
 */
#ifndef PGBULK_PROGRESS_H
#define PGBULK_PROGRESS_H

#include "postgres.h"

#include "datatype/timestamp.h"

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

#endif							/* PGBULK_PROGRESS_H */
