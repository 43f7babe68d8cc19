/*
 * build_task.h
 *		What is to be done for one index, and what came of it.
 */
#ifndef PGBULK_BUILD_TASK_H
#define PGBULK_BUILD_TASK_H

#include "postgres.h"

#include "index/brin_pass.h"
#include "index/plan.h"
#include "server/compat.h"
#include "storage/block.h"

/* What to do. */
typedef struct BuildTask
{
	IndexMethod method;
	BlockNumber first_block;	/* of the load's rows; nobody else's come behind it */
	int64		rows;			/* of the load, for methods that look at no others */
	RelFileLocator old;			/* file of the entries to merge with */
	const BrinPassed *passed;	/* all that a BRIN index will have; or NULL, as in a worker */
} BuildTask;

/* What came of it, for pg_class and the result. */
typedef struct BuildResult
{
	double		heap_rows;		/* that were looked at */
	double		index_rows;		/* put into the index */
	int			runs;			/* sorted runs that went to temporary files */
	bool		broken_chains;	/* others may still see versions without an entry */
} BuildResult;

#endif							/* PGBULK_BUILD_TASK_H */
