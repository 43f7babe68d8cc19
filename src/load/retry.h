/*
 * retry.h
 *		The bad rows of an earlier load, once more.
 */
#ifndef PGBULK_RETRY_H
#define PGBULK_RETRY_H

#include "postgres.h"

#include "load/load.h"
#include "utils/jsonb.h"

/*
 * Takes the bad rows of load load_id out of the reject table and loads them into
 * target.  What is bad again goes back, with the reason that it is now and the
 * place that it always had.  json may be NULL; on_error is ignore unless it says otherwise.
 *
 * The reject table has no say in where its rows go, as others may write to it; but rows that
 * are for another table are refused.
 *
 * Errors: 22023 where there are no such rows, or not all are for target, and for options that mean
 * nothing here; 42804 for what is no reject table; 42501 without SELECT and DELETE on it;
 * 22004 for a row without its line; those of a load.
 */
extern void retry_run(Oid target, Oid reject_table, int64 load_id,
					  Jsonb *json, LoadResult *result);

#endif							/* PGBULK_RETRY_H */
