/*
 * wal_written.h
 *		What is due when a process of a load has written WAL.
 *
 * The WAL writer is woken, as by transactions that commit asynchronously, and writes
 * many pages at a time.  Left to itself it sleeps while WAL buffers fill up; then each
 * process that needs one has to write one page, and wait for the disk at the end of each
 * segment, and all others wait for it.
 *
 * Price: two comparisons, and that the WAL writer flushes what it has written, in the
 * portions of wal_writer_flush_after.  Assumption: as throttle_wait's.
 */
#ifndef PGBULK_WAL_WRITTEN_H
#define PGBULK_WAL_WRITTEN_H

#include "postgres.h"

#include "executor/instrument.h"
#include "server/throttle.h"

/* Bytes of WAL of a process for which the WAL writer is woken: it flushes each MB by default. */
#define WAL_TO_WAKE (512 * 1024)

/* Those of pgWalUsage for which it was. */
extern uint64 wal_woken_at;
extern void wal_wake_writer(void);

/* To be called after each piece of WAL; waits if the load is to be slowed down. */
static inline void
wal_written(void)
{
	if (unlikely(pgWalUsage.wal_bytes - wal_woken_at >= WAL_TO_WAKE))
		wal_wake_writer();
	throttle_wait();
}

#endif							/* PGBULK_WAL_WRITTEN_H */
