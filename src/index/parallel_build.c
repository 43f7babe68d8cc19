/*
 * parallel_build.c
 *		See parallel_build.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/storage.h"
#include "index/bulk.h"
#include "index/conflict_file.h"
#include "index/failed_row.h"
#include "index/parallel_build.h"
#include "index/range_build.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "portability/instr_time.h"
#include "server/compat.h"
#include "server/progress.h"
#include "server/workers.h"
#include "storage/bufmgr.h"
#include "storage/sharedfileset.h"
#include "storage/shm_toc.h"

#define KEY_PARALLEL_BUILD UINT64CONST(1)
#define KEY_RANGE_BUILDS UINT64CONST(100)	/* and those that follow */

/* In shared memory. */
typedef struct ParallelBuild
{
	Size		memory;			/* for each process */
	SharedFileSet files;		/* what workers have noted; only with workers */
	SharedFailedRow failed_row;
	bool		is_shown;		/* by a statement of the server */
	pg_atomic_uint32 next;		/* index that nobody has taken */
	uint32		n;
	int			nrange_builds;
	ParallelIndex indexes[FLEXIBLE_ARRAY_MEMBER];
} ParallelBuild;

/* An index that all processes build together, for the leader. */
typedef struct ParallelRangeBuild
{
	int			number;			/* of the index */
	SplitKeys  *keys;
	RangeBuild *build;
	Relation	heap;
	Relation	index;
	BulkPages  *pages;			/* open while others put theirs */
} ParallelRangeBuild;

typedef struct ParallelLeader
{
	ParallelBuild *build;
	Conflicts  *conflicts;
	int			workers;		/* that are wanted */
	int			nrange_builds;
	ParallelRangeBuild *range_builds;
	ParallelContext *pcxt;		/* NULL: there are no workers */
} ParallelLeader;

PGDLLEXPORT void parallel_build_worker_main(dsm_segment *segment, shm_toc *toc);

/* The lock is the leader's, too; in a worker the parallel group makes the two one. */
static Relation
open_heap(const ParallelIndex *index)
{
	return table_open(index->heap, index->heap_lock);
}

static void
build_one(ParallelIndex *index, Size memory, const ConflictSink *sink)
{
	Relation	heap = open_heap(index);
	Relation	rel = index_open(index->relid, index->index_lock);
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
	progress_step(index->expected, index->after);
	if (index->task.method != INDEX_INSERT)
		progress_index_begin(heap, rel, NULL);
	index->result = build_index(heap, rel, &index->task, memory, sink);
	if (index->task.method != INDEX_INSERT)
		progress_index_end();
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	index->seconds = INSTR_TIME_GET_DOUBLE(end);
	index->processes = 1;
	index_close(rel, NoLock);
	table_close(heap, NoLock);
}

void
parallel_build_one(ParallelIndex *index, Size memory, Conflicts *conflicts)
{
	build_one(index, memory, conflicts_sink(conflicts, index->relid));
}

/* Next index for this process alone, or -1. */
static int
take_next(ParallelBuild *build)
{
	for (;;)
	{
		uint32		i = pg_atomic_fetch_add_u32(&build->next, 1);

		if (i >= build->n)
			return -1;
		if (!build->indexes[i].together)
			return i;
	}
}

static void
name_conflicts(char *name, int number)
{
	snprintf(name, CONFLICT_FILE_NAME, "conflicts%d", number);
}

/* The same as parallel_build_one in a worker, which records conflicts in a file for the leader. */
static void
build_in_worker(ParallelBuild *build, int number)
{
	ParallelIndex *index = &build->indexes[number];
	char		name[CONFLICT_FILE_NAME];
	ConflictFile file;

	name_conflicts(name, number);
	conflict_file_begin(&file, &build->files.fs, name);
	build_one(index, build->memory, index->noted ? &file.sink : NULL);
	index->in_file = conflict_file_end(&file);
}

/* In the leader: what a worker has noted. */
static void
read_conflicts(ParallelBuild *build, int number, const ConflictSink *sink)
{
	char		name[CONFLICT_FILE_NAME];

	name_conflicts(name, number);
	conflict_file_read(&build->files.fs, name, 0, sink);
}

static void *
reserve(shm_toc *toc, uint64 key, Size size)
{
	void	   *address = shm_toc_allocate(toc, size);

	shm_toc_insert(toc, key, address);
	return address;
}

/* ---- indexes that all processes build together ---- */

/* Splits the keys of an index, or says why it is built by one process. */
static SplitKeys *
choose_split(ParallelIndex *index, int processes, Size memory)
{
	Relation	heap = open_heap(index);
	Relation	rel = index_open(index->relid, index->index_lock);
	SplitKeys  *keys = split_choose(heap, rel, BuildIndexInfo(rel),
									RelationGetNumberOfBlocks(heap), processes,
									memory, &index->one_process);

	index_close(rel, NoLock);
	table_close(heap, NoLock);
	return keys;
}

/* All that can be said of them before there are workers. */
static void
prepare_range_builds(ParallelLeader *leader)
{
	ParallelBuild *build = leader->build;

	leader->range_builds = palloc0(build->n * sizeof(ParallelRangeBuild));
	for (int i = 0; i < build->n; i++)
	{
		ParallelIndex *index = &build->indexes[i];
		SplitKeys  *keys = NULL;

		if (index->together && leader->workers > 0)
			keys = choose_split(index, leader->workers + 1, build->memory);
		index->together = keys != NULL;
		if (keys == NULL)
			continue;
		leader->range_builds[leader->nrange_builds].number = i;
		leader->range_builds[leader->nrange_builds++].keys = keys;
	}
	build->nrange_builds = leader->nrange_builds;
}

static void
begin_range_build(ParallelLeader *leader, ParallelRangeBuild *range_build, shm_toc *toc, int number)
{
	const ParallelIndex *index = &leader->build->indexes[range_build->number];

	range_build->build = reserve(toc, KEY_RANGE_BUILDS + number,
								 range_build_size(range_build->keys));
	range_build->heap = open_heap(index);
	range_build_init(range_build->build, index->relid, number, range_build->keys,
					 RelationGetNumberOfBlocks(range_build->heap), leader->workers + 1,
					 leader->build->memory, index->noted);
	range_build->index = index_open(index->relid, index->index_lock);
	range_build->pages = bulk_open(range_build->index);
}

/* Whatever became of it, nobody else puts pages any more. */
static void
end_range_build(ParallelRangeBuild *range_build)
{
	bulk_close(range_build->pages);
	index_close(range_build->index, NoLock);
	table_close(range_build->heap, NoLock);
}

static void
build_by_ranges(ParallelLeader *leader, ParallelRangeBuild *range_build)
{
	ParallelBuild *build = leader->build;
	ParallelIndex *index = &build->indexes[range_build->number];
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "range build end",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
	progress_step(index->expected, index->after);
	range_build_help(range_build->build, range_build->heap, index->index_lock, &build->files);
	if (!range_build_finish(range_build->build, range_build->heap, &build->files,
							conflicts_sink(leader->conflicts, index->relid), &index->result,
							&index->processes))
		index->one_process = "sort strings of its collation do not come in its order";
	progress_index_end();
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	index->seconds = INSTR_TIME_GET_DOUBLE(end);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Built together in vain: once more, by this process alone, from the first block on. */
static void
build_again(ParallelLeader *leader, ParallelIndex *index)
{
	Relation	rel = index_open(index->relid, NoLock);
	double		seconds = index->seconds;

	RelationTruncate(rel, 0);
	index_close(rel, NoLock);
	parallel_build_one(index, (Size) maintenance_work_mem * 1024, leader->conflicts);
	index->seconds += seconds;
}

/* ---- all indexes ---- */

/* Starts workers, if any can be had. */
static void
start_workers(ParallelLeader *leader, Size build_size)
{
	ParallelContext *pcxt;
	ParallelBuild *build;

	pcxt = CreateParallelContext(workers_library(), "parallel_build_worker_main", leader->workers);
	shm_toc_estimate_chunk(&pcxt->estimator, build_size);
	workers_estimate(pcxt);
	for (int i = 0; i < leader->nrange_builds; i++)
		shm_toc_estimate_chunk(&pcxt->estimator, range_build_size(leader->range_builds[i].keys));
	shm_toc_estimate_keys(&pcxt->estimator, 1 + leader->nrange_builds);
	if (!workers_initialize(pcxt))
		return;
	build = reserve(pcxt->toc, KEY_PARALLEL_BUILD, build_size);
	memcpy(build, leader->build, build_size);
	leader->build = build;
	leader->pcxt = pcxt;
	SharedFileSetInit(&build->files, pcxt->seg);
	failed_row_receive(pcxt, &build->failed_row);
	for (int i = 0; i < leader->nrange_builds; i++)
		begin_range_build(leader, &leader->range_builds[i], pcxt->toc, i);
	workers_launch(pcxt);
}

/* The leader's part of the work. */
static void
build_all(ParallelLeader *leader)
{
	ParallelBuild *build = leader->build;
	bool		has_help = leader->pcxt != NULL && leader->pcxt->nworkers_launched > 0;
	int			next;

	for (int i = 0; i < leader->nrange_builds; i++)
	{
		ParallelIndex *index = &build->indexes[leader->range_builds[i].number];

		if (has_help)
			build_by_ranges(leader, &leader->range_builds[i]);
		else
			index->one_process = "no worker was free";
	}
	while ((next = take_next(build)) >= 0)
		parallel_build_one(&build->indexes[next], build->memory, leader->conflicts);
}

/* The leader has no more to do: how long workers may still take for what they have begun. */
static void
expect_workers(const ParallelLeader *leader)
{
	const ParallelBuild *build = leader->build;
	double		longest = 0;
	double		after = 0;

	for (int i = 0; i < build->n; i++)
	{
		if (build->indexes[i].processes == 0)
			longest = Max(longest, build->indexes[i].expected);
		after = build->indexes[i].after;
	}
	/* half of it is done, for all that is known */
	if (longest > 0)
		progress_step(longest / 2, after);
}

/* The same, and the workers' part. */
static void
build_with_workers(ParallelLeader *leader)
{
	PG_TRY();
	{
		build_all(leader);
		expect_workers(leader);
		workers_finish(leader->pcxt);
	}
	PG_CATCH();
	{
		workers_abandon(leader->pcxt);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* After the workers: what they have noted, and what could not be done together. */
static void
finish(ParallelLeader *leader)
{
	ParallelBuild *build = leader->build;

	for (int i = 0; i < leader->nrange_builds; i++)
		if (leader->range_builds[i].index != NULL)
			end_range_build(&leader->range_builds[i]);
	for (int i = 0; i < build->n; i++)
	{
		ParallelIndex *index = &build->indexes[i];

		if (index->in_file)
			read_conflicts(build, i, conflicts_sink(leader->conflicts, index->relid));
	}
}

void
parallel_build_all(ParallelIndex *indexes, int n, int workers, Conflicts *conflicts)
{
	Size		size = offsetof(ParallelBuild, indexes) + n * sizeof(ParallelIndex);
	ParallelBuild *build = palloc0(size);
	ParallelLeader leader = {
		.build = build,
		.conflicts = conflicts,
		.workers = Max(workers, 0)
	};

	for (int i = 0; i < n; i++)
		indexes[i].noted = conflicts_sink(conflicts, indexes[i].relid) != NULL;
	build->n = n;
	build->is_shown = progress_index_is_shown();
	failed_row_init(&build->failed_row);
	build->memory = (Size) maintenance_work_mem * 1024 / (leader.workers + 1);
	pg_atomic_init_u32(&build->next, 0);
	memcpy(build->indexes, indexes, n * sizeof(ParallelIndex));
	prepare_range_builds(&leader);
	if (leader.nrange_builds == 0)
		leader.workers = Max(Min(workers, n - 1), 0);
	/* fewer may come, but those that do begin at once */
	build->memory = (Size) maintenance_work_mem * 1024 / (leader.workers + 1);

	if (leader.workers > 0)
	{
		EnterParallelMode();
		start_workers(&leader, size);
	}
	if (leader.pcxt != NULL)
		build_with_workers(&leader);
	else
		build_all(&leader);
	finish(&leader);
	memcpy(indexes, leader.build->indexes, n * sizeof(ParallelIndex));
	if (leader.pcxt != NULL)
		DestroyParallelContext(leader.pcxt);
	if (leader.workers > 0)
		ExitParallelMode();
	for (int i = 0; i < n; i++)
		if (indexes[i].together && indexes[i].processes == 0)
			build_again(&leader, &indexes[i]);
	pfree(build);
}

/* In a worker: those that are built together, in the leader's order. */
static void
help_range_builds(ParallelBuild *build, shm_toc *toc)
{
	int			number = 0;

	for (int i = 0; number < build->nrange_builds; i++)
	{
		Relation	heap;

		if (!build->indexes[i].together)
			continue;
		heap = open_heap(&build->indexes[i]);
		range_build_help(shm_toc_lookup(toc, KEY_RANGE_BUILDS + number++, false), heap,
						 build->indexes[i].index_lock, &build->files);
		progress_index_end();
		table_close(heap, NoLock);
	}
}

static void
help(ParallelBuild *build, shm_toc *toc)
{
	int			next;

	help_range_builds(build, toc);
	while ((next = take_next(build)) >= 0)
		build_in_worker(build, next);
}

void
parallel_build_worker_main(dsm_segment *segment, shm_toc *toc)
{
	ParallelBuild *build;

	if (!workers_begin(toc))
		return;
	build = shm_toc_lookup(toc, KEY_PARALLEL_BUILD, false);
	SharedFileSetAttach(&build->files, segment);
	progress_index_shown(build->is_shown);
	PG_TRY();
	{
		help(build, toc);
	}
	PG_CATCH();
	{
		failed_row_send(&build->failed_row);
		PG_RE_THROW();
	}
	PG_END_TRY();
	workers_end(toc);
}
