/*
 * usage.h
 *		The time that this process, and the workers that it has had, have spent.
 *
 * What a process spends on no CPU it has waited for: the disk, a lock, its turn,
 * or a CPU that others keep busy.  The price is a system call each time.
 */
#ifndef PGBULK_USAGE_H
#define PGBULK_USAGE_H

#include "postgres.h"

#include "portability/instr_time.h"

/* Microseconds. */
typedef struct Usage
{
	int64		elapsed;		/* of this process */
	int64		processes;		/* of all processes together */
	int64		cpu;			/* the same on a CPU */
} Usage;

/* Since some time in the past: only differences mean something. */
extern Usage usage_now(void);

/* What has been spent from one time to another. */
static inline Usage
usage_between(Usage from, Usage to)
{
	return (Usage) {
		.elapsed = to.elapsed - from.elapsed,
		.processes = to.processes - from.processes,
		.cpu = to.cpu - from.cpu
	};
}

/* Seconds from a time of this process until now. */
static inline double
seconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_DOUBLE(now);
}

/* Adds that of a worker that has ended to this process's. */
extern void usage_add(Usage worker);

#endif							/* PGBULK_USAGE_H */
