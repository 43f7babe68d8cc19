/*
 * build.h
 *		The entries of one index, from its table.
 */
#ifndef PGBULK_BUILD_H
#define PGBULK_BUILD_H

#include "postgres.h"

#include "compat.h"
#include "index/conflicts.h"
#include "index/plan.h"
#include "storage/block.h"
#include "utils/rel.h"

/* What to do. */
typedef struct BuildTask
{
	IndexMethod method;
	BlockNumber first_block;	/* of the load's rows; nobody else's come behind it */
	int64		rows;			/* of the load, for methods that look at no others */
	RelFileLocator old;			/* file of the entries to merge with */
} BuildTask;

/* What came of it, for pg_class and the result. */
typedef struct BuildResult
{
	double		heap_rows;		/* that were looked at */
	double		index_rows;		/* put into the index */
	int			runs;			/* sorted runs that went to temporary files */
	bool		broken_chains;	/* rows that others may still see stand for newer versions of them alone */
} BuildResult;

/*
 * INDEX_REBUILD: fills an index whose storage is new and empty with all rows of its table, in
 * memory bytes: btrees from presorted keys, others by the access method's own build.
 * INDEX_MERGE, btrees alone: the same with the entries of its old file and the rows of the load (merge.h).
 * INDEX_INSERT: inserts the rows of the load (insert.h).
 * Runs in a parallel worker, too, but for what build_complete does.  conflicts: where
 * rows that must not stand together are noted, by the first two of a btree; or NULL.
 *
 * Errors: build_complete's are 23P01 in INSERT's words for rows that exclude one another.
 */
extern BuildResult build_index(Relation heap, Relation index,
							   const BuildTask *task, Size memory,
							   const ConflictSink *conflicts);

/* What is left to do: checks an exclusion constraint, makes an init fork. */
extern void build_complete(Relation heap, Relation index, const BuildTask *task);

#endif							/* PGBULK_BUILD_H */
