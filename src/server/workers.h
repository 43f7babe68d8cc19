/*
 * workers.h
 *		Parallel workers: how many, whether they can evaluate expressions,
 *		and how they start and finish.
 *
 * A worker loads the session's libraries before it begins, which may take
 * longer than the work.  So none is started for work that is expected to be
 * done sooner, and one that has not begun when the work is done returns at
 * once.
 *
 * Trap: it must be waited for all the same, as the server does.  It gets the
 * transaction state as of its launch, including combo command IDs; if the
 * leader went on, the worker could see catalog rows with command IDs unknown to
 * it.
 */
#ifndef PGBULK_WORKERS_H
#define PGBULK_WORKERS_H

#include "postgres.h"

#include "access/parallel.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

/*
 * How many of so many workers have a CPU, besides this session, others that load, copy or build an
 * index now, and others' workers: more would cost them more of their time than they save of it.
 */
extern int	workers_with_cpu(int most);

/*
 * How many workers the server's settings allow for this many bytes of a table:
 * one from 8 MB on, another for every factor of three, as far as they have a CPU.
 */
extern int	workers_for_bytes(Relation rel, int64 bytes);

/* Whether expressions are parallel safe. */
extern bool workers_can_evaluate(List *expressions);

/* This library's name for CreateParallelContext. */
extern const char *workers_library(void);

/* Whether work that takes this process so many seconds is worth starting workers. */
extern bool workers_pay(double seconds);

/* Estimates the shared memory for what follows, before it is created. */
extern void workers_estimate(ParallelContext *pcxt);

/*
 * InitializeParallelDSM.  False: the system has no room for what they share, and there is no
 * context any more.
 */
extern bool workers_initialize(ParallelContext *pcxt);

/*
 * Calls callback(arg) for each error of a worker that comes to this process, also of one that has
 * not begun, before anything here can catch it.
 */
extern void workers_on_error(ParallelContext *pcxt, void (*callback) (void *arg), void *arg);

/* Starts them; everything they need in shared memory must be there. */
extern void workers_launch(ParallelContext *pcxt);

/*
 * To be called when the work is done: waits for all workers to exit, and adds
 * their usage to this backend's.  Those that have not begun find nothing to do.
 */
extern void workers_finish(ParallelContext *pcxt);

/*
 * To be called where an error that ends the work is caught, before it goes up: ends the workers, of
 * whose errors nothing is heard any more.  What gives these their CONTEXT is on the stack.  The
 * abort waits for the workers.
 */
extern void workers_abandon(ParallelContext *pcxt);

/*
 * In a worker, first of all; false: the work is done, or the leader's library is another one, so
 * that nothing that they share may be touched: return at once.
 */
extern bool workers_begin(shm_toc *toc);

/* In a worker that has begun and succeeded, last of all. */
extern void workers_end(shm_toc *toc);

#endif							/* PGBULK_WORKERS_H */
