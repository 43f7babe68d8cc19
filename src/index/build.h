/*
 * build.h
 *		The entries of one index, from its table.
 */
#ifndef PGBULK_BUILD_H
#define PGBULK_BUILD_H

#include "postgres.h"

#include "index/build_task.h"
#include "index/conflicts.h"
#include "utils/rel.h"

/*
 * INDEX_REBUILD: fills an index whose storage is new and empty with all rows of its table, in
 * memory bytes: btrees from sorted keys, others by the access method's own build.
 * INDEX_MERGE, btrees alone: the same with the entries of its old file and the rows of the load
 * (merge.h).
 * INDEX_INSERT: inserts the rows of the load (insert.h).
 * Runs in a parallel worker, too, but for what build_complete does.  conflicts: where rows that
 * share a key are recorded; or NULL.
 *
 * Errors: build_complete's are 23P01 in INSERT's words for rows that exclude one another.
 */
extern BuildResult build_index(Relation heap, Relation index,
							   const BuildTask *task, Size memory,
							   const ConflictSink *conflicts);

/* What is left to do: checks an exclusion constraint, makes an init fork. */
extern void build_complete(Relation heap, Relation index, const BuildTask *task);

#endif							/* PGBULK_BUILD_H */
