/*
 * usage.c
 *		See usage.h.
 */
#include "postgres.h"

#include <sys/resource.h>
#include <sys/time.h>

#include "portability/instr_time.h"
#include "server/usage.h"

/* Of workers that have ended. */
static Usage ended;

static inline int64
microseconds(struct timeval time)
{
	return time.tv_sec * INT64CONST(1000000) + time.tv_usec;
}

Usage
usage_now(void)
{
	instr_time	now;
	struct rusage self;
	int64		elapsed;

	INSTR_TIME_SET_CURRENT(now);
	elapsed = INSTR_TIME_GET_MICROSEC(now);
	getrusage(RUSAGE_SELF, &self);
	return (Usage) {
		.elapsed = elapsed,
		.processes = elapsed + ended.processes,
		.cpu = microseconds(self.ru_utime) + microseconds(self.ru_stime) + ended.cpu
	};
}

void
usage_add(Usage worker)
{
	ended.processes += worker.processes;
	ended.cpu += worker.cpu;
}
