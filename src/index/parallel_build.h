/*
 * parallel_build.h
 *		Indexes of a table, or of several, built side by side.
 *
 * Those that the plan says are built by all processes together, one after the other
 * (range_build.h).  Then each process takes the index with the most work that nobody has begun,
 * until none is left.  They share the memory.
 */
#ifndef PGBULK_PARALLEL_BUILD_H
#define PGBULK_PARALLEL_BUILD_H

#include "postgres.h"

#include "index/build.h"
#include "utils/rel.h"

/* An index to build, and what came of it. */
typedef struct ParallelIndex
{
	Oid			heap;
	LOCKMODE	heap_lock;		/* that this transaction has; workers take it, too */
	Oid			relid;
	LOCKMODE	index_lock;		/* the same */
	BuildTask	task;
	double		expected;		/* seconds that it may take, */
	double		after;			/* and all that follow it */
	bool		together;		/* by all processes, if they can */
	bool		noted;			/* rows that must not stand together are, */
	bool		in_file;		/* by a worker, in a file */
	BuildResult result;
	double		seconds;
	int			processes;		/* that have built it */
	const char *one_process;	/* why it was one, where there were more; or NULL */
} ParallelIndex;

/* Builds one, in memory bytes.  conflicts: of the tables, or NULL. */
extern void parallel_build_one(ParallelIndex *index, Size memory, Conflicts *conflicts);

/*
 * Builds n indexes, the first ones first, with up to so many workers, where they
 * can be had.  All have new storage.
 */
extern void parallel_build_all(ParallelIndex *indexes, int n, int workers, Conflicts *conflicts);

#endif							/* PGBULK_PARALLEL_BUILD_H */
