/*
 * workers.h
 *		How many parallel workers, with what, where their code lies, and how they
 *		come and go.
 *
 * A worker loads the libraries of the session before it begins, which may take
 * longer than the work.  So none is started for work that is done sooner, as far as can be foreseen, and
 * one that has not begun when the work is done returns at once.
 *
 * Trap: it must be waited for all the same, as the server does it.  It is given the transaction's state, combo
 * command IDs among it, as that was when it was launched; if the backend went on, it would meet catalog
 * rows whose command IDs it has never heard of.
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

/* Whether work that takes this backend so many seconds is worth the start of workers. */
extern bool workers_pay(double seconds);

/* Room in shared memory for what follows, before it is made. */
extern void workers_estimate(ParallelContext *pcxt);

/* Starts them; all that they are to find in shared memory is there. */
extern void workers_launch(ParallelContext *pcxt);

/*
 * When the work is done: waits for all workers to end, and counts what they used as this backend's.  Those that
 * have not begun find nothing to do.
 */
extern void workers_finish(ParallelContext *pcxt);

/* In a worker, before all else; false: the work is done, it is to return at once. */
extern bool workers_begin(shm_toc *toc);

/* In a worker that has begun and ends well, after all else. */
extern void workers_end(shm_toc *toc);

#endif							/* PGBULK_WORKERS_H */
