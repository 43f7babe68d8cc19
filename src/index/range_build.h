/*
 * range_build.h
 *		One btree, built by several processes.
 *
 * Each process takes a share of the table's blocks, groups the rows of the same key, where many
 * have one, and partitions the groups, unsorted, by the ranges of keys that split.h has chosen
 * (partition.h).
 * When that is done with all shares, each process takes one range after the other, sorts it
 * (presort.h) and makes its leaves (btree.h).  One of them makes the levels above.
 *
 * A range is small and so sorted in the caches of the CPU, which makes up for the way through the
 * files: what sorts a large index as a whole mostly waits for memory.
 *
 * Memory: what was said, for each process.
 */
#ifndef PGBULK_RANGE_BUILD_H
#define PGBULK_RANGE_BUILD_H

#include "postgres.h"

#include "index/build_task.h"
#include "index/conflicts.h"
#include "index/split.h"
#include "storage/sharedfileset.h"

#define RANGE_BUILD_MAX_PROCESSES 32

typedef struct RangeBuild RangeBuild;	/* in shared memory */

extern Size range_build_size(const SplitKeys *keys);

/*
 * For an index whose storage is new and empty; number: names its files.  noted: duplicates are
 * noted, and not errors.
 */
extern void range_build_init(RangeBuild *build, Oid index, int number, const SplitKeys *keys,
							 BlockNumber nblocks, int processes, Size memory, bool noted);

/*
 * Takes part, until nothing is left to take.  Any number of processes may.  The build is shown
 * from here on; that is for the caller to end (progress_index_end).  Errors: as build_index; all
 * processes have to end with one of them.
 */
extern void range_build_help(RangeBuild *build, Relation heap, LOCKMODE index_lock,
							 SharedFileSet *files);

/*
 * One process, after that: waits for the others and makes the upper levels.  False: the sort
 * strings were misleading, and the index has to be built otherwise, in new storage.  *processes:
 * how many took part.
 */
extern bool range_build_finish(RangeBuild *build, Relation heap, SharedFileSet *files,
							   const ConflictSink *conflicts, BuildResult *result,
							   int *processes);

#endif							/* PGBULK_RANGE_BUILD_H */
