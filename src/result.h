/*
 * result.h
 *		The details column of the result row.
 */
#ifndef PGBULK_RESULT_H
#define PGBULK_RESULT_H

#include "postgres.h"

#include "load.h"
#include "portability/instr_time.h"
#include "rejects.h"

/* Moments of a load, and the WAL counter at its start. */
typedef struct LoadTimes
{
	uint64		wal_before;
	instr_time	start;
	instr_time	reading;
	instr_time	ending;
	instr_time	indexed;
	instr_time	done;
} LoadTimes;

/*
 * load_id, seconds of each phase, files, WAL bytes of this backend, rejects.
 * Memory: the current context.
 */
extern Jsonb *result_details(const LoadResult *result, const LoadTimes *times,
							 List *paths, const RejectStream *rejects);

#endif							/* PGBULK_RESULT_H */
