/*
 * workers.h
 *		How many parallel workers, with what, and where their code lies.
 */
#ifndef PGBULK_WORKERS_H
#define PGBULK_WORKERS_H

#include "postgres.h"

#include "access/parallel.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

/*
 * How many the server's settings want for so many bytes of a table: one from
 * 8 MB on, another for each three times as much.
 */
extern int	workers_for_bytes(Relation rel, int64 bytes);

/* Whether expressions may be evaluated in one. */
extern bool workers_can_evaluate(List *expressions);

/* This library, as CreateParallelContext wants it. */
extern const char *workers_library(void);

/*
 * Waits for workers to end and counts what they used as this backend's; the keys are
 * those of their arrays of BufferUsage and WalUsage.
 */
extern void workers_finish(ParallelContext *pcxt, uint64 buffer_usage_key,
						   uint64 wal_usage_key);

#endif							/* PGBULK_WORKERS_H */
