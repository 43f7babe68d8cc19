/*
 * runs.h
 *		Sorted runs of keys in temporary files, and their merge.
 *
 * Runs are numbered as they were written; the rows of a run come before those of the next one,
 * unless rows interleave (order.h).  When there are many, some are merged into one, so that the
 * memory for reading them stays within bounds.
 */
#ifndef PGBULK_RUNS_H
#define PGBULK_RUNS_H

#include "postgres.h"

#include "index/key_sink.h"
#include "index/order.h"

typedef struct Runs Runs;

/* A budget for runs that are to be chained: their files' buffers are all that counts. */
#define RUNS_ALL_AT_ONCE ((Size) PG_INT32_MAX)

/*
 * Memory: the current context; budget in bytes bounds how many runs are read at once.  order: the
 * caller's, of what each run gets; must stay.  Where rows interleave, each is written with its
 * key.
 */
extern Runs *runs_open(KeyShape *shape, Size budget, Order *order);

/* Begins a run; what goes into the sink until runs_end is the run. */
extern KeySink runs_begin(Runs *runs);
extern void runs_end(Runs *runs);

extern int	runs_count(const Runs *runs);

/* Emits all runs as one; says in the order if that took the operator class. */
extern void runs_merge(Runs *runs, const KeySink *sink);

/*
 * The same where no key of a run is above one of the next, or equal to it.  Each goes when it has
 * been read.
 */
extern void runs_chain(Runs *runs, const KeySink *sink);

extern void runs_close(Runs *runs);

#endif							/* PGBULK_RUNS_H */
