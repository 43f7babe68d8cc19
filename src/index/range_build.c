/*
 * range_build.c
 *		See range_build.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "index/btree_load.h"
#include "index/conflict_file.h"
#include "index/heap_scan.h"
#include "index/index_sort.h"
#include "index/range_build.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "server/compat.h"
#include "server/progress.h"
#include "storage/buffile.h"
#include "storage/condition_variable.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

/*
 * Of a process's memory: for leaves that wait for their blocks; and what it may have beside the
 * keys.
 */
#define LEAVES_SHARE 16
#define MIN_LEAVES 4
#define MAX_LEAVES 128

typedef struct RangeBuildRange
{
	double		rows;
	int			runs;
	uint32		ngroups;		/* of rows that must not stand together; 0: there is no file */
} RangeBuildRange;

struct RangeBuild
{
	Oid			index;
	int			number;
	BlockNumber nblocks;		/* of the table */
	Size		memory;			/* for each process */
	bool		noted;
	int			nshares;
	int			nranges;
	double		heap_rows[RANGE_BUILD_MAX_PROCESSES];
	bool		broken_chains[RANGE_BUILD_MAX_PROCESSES];
	RowOrder	row_order[RANGE_BUILD_MAX_PROCESSES]; /* in the files of each share */
	uint64		partitioned[RANGE_BUILD_MAX_PROCESSES];	/* rows in the files of each share */
	RangeBuildRange ranges[SPLIT_MAX_RANGES];

	pg_atomic_uint32 processes; /* that have taken part */
	pg_atomic_uint32 next_share;
	pg_atomic_uint32 shares_done;
	pg_atomic_uint32 next_range;
	pg_atomic_uint32 ranges_done;
	pg_atomic_uint32 next_block;
	pg_atomic_uint32 key_order; /* of all ranges; KEYS_BY_OPERATOR: they cannot be chained */
	ConditionVariable changed;	/* shares_done or ranges_done */
	ProgressCounts progress;
	SplitKeys	keys;
};

/* What one process has of it. */
typedef struct RangeBuildPart
{
	RangeBuild *build;
	SharedFileSet *files;
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	KeyShape	   *shape;
	Split	   *split;
	MemoryContext context;		/* of a share or a range */

	/* a share that is partitioned */
	int			share;
	IndexSort  *sort;

	/* a range that is sorted */
	BtreeLoad	load;
	int			range;
} RangeBuildPart;

/* ---- shared memory ---- */

Size
range_build_size(const SplitKeys *keys)
{
	return offsetof(RangeBuild, keys) + split_keys_size(keys);
}

void
range_build_init(RangeBuild *build, Oid index, int number, const SplitKeys *keys,
				 BlockNumber nblocks, int processes, Size memory, bool noted)
{
	memset(build, 0, offsetof(RangeBuild, keys));
	memcpy(&build->keys, keys, split_keys_size(keys));
	build->index = index;
	build->number = number;
	build->nblocks = nblocks;
	build->memory = memory;
	build->noted = noted;
	build->nshares = processes;
	build->nranges = keys->nborders + 1;
	pg_atomic_init_u32(&build->processes, 0);
	pg_atomic_init_u32(&build->next_share, 0);
	pg_atomic_init_u32(&build->shares_done, 0);
	pg_atomic_init_u32(&build->next_range, 0);
	pg_atomic_init_u32(&build->ranges_done, 0);
	pg_atomic_init_u32(&build->next_block, BTREE_FIRST_BLOCK);
	pg_atomic_init_u32(&build->key_order, KEYS_BY_STRING);
	ConditionVariableInit(&build->changed);
	progress_counts_init(&build->progress);
}

/* Shows what the others have done, too. */
static void
show_progress(void)
{
	progress_index_blocks(0);
	progress_index_rows(0);
}

static void
await_count(RangeBuild *build, pg_atomic_uint32 *count, int wanted)
{
	ConditionVariablePrepareToSleep(&build->changed);
	while (pg_atomic_read_u32(count) < wanted)
	{
		show_progress();
		ConditionVariableSleep(&build->changed, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	/* what they have counted is read after the count */
	pg_read_barrier();
	show_progress();
}

static void
count_one(RangeBuild *build, pg_atomic_uint32 *count)
{
	pg_atomic_fetch_add_u32(count, 1);
	ConditionVariableBroadcast(&build->changed);
}

/* ---- files ---- */

static void
name_keys(char *name, const RangeBuild *build, int share, int range)
{
	snprintf(name, MAXPGPATH, "keys%d.%d.%d", build->number, share, range);
}

static void
name_file(char *name, const char *what, const RangeBuild *build, int range)
{
	snprintf(name, MAXPGPATH, "%s%d.%d", what, build->number, range);
}

static void
finish_file(BufFile *file)
{
	BufFileExportFileSet(file);
	BufFileClose(file);
}

/* ---- partitioning a share ---- */

static BufFile *
create_keys(void *arg, int range)
{
	RangeBuildPart *part = arg;
	char		name[MAXPGPATH];

	name_keys(name, part->build, part->share, range);
	return BufFileCreateFileSet(&part->files->fs, name);
}

static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *state)
{
	RangeBuildPart *part = state;

	index_sort_put(part->sort, tid, values, isnull, alive);
}

static void
partition_share(RangeBuildPart *part, int share)
{
	RangeBuild *build = part->build;
	BlockNumber first = (uint64) build->nblocks * share / build->nshares;
	BlockNumber end = (uint64) build->nblocks * (share + 1) / build->nshares;
	SortPartitioned partitioned;

	part->share = share;
	part->sort = index_sort_open_partition(part->shape, part->split, create_keys, part,
										   build->memory);
	progress_index_scan(build->nblocks);
	build->heap_rows[share] = heap_scan_rows(part->heap, part->index, part->info, first,
											 end - first, put_row, part);
	build->broken_chains[share] = part->info->ii_BrokenHotChain;
	partitioned = index_sort_finish_partition(part->sort);
	build->row_order[share] = partitioned.rows;
	build->partitioned[share] = partitioned.nrows;
	for (int range = 0; range < build->nranges; range++)
	{
		BufFile	   *file = index_sort_take_file(part->sort, range);

		if (file != NULL)
			finish_file(file);
	}
	index_sort_close(part->sort);
}

/* ---- sorting a range ---- */

/* Rows that are in files, once all shares are partitioned. */
static uint64
count_partitioned(const RangeBuild *build)
{
	uint64		partitioned = 0;

	for (int i = 0; i < build->nshares; i++)
		partitioned += build->partitioned[i];
	return partitioned;
}

/* In which order rows of a key are in the files, those of the shares one after the other. */
static RowOrder
partitioned_order(const RangeBuild *build)
{
	RowOrder	rows = ROWS_BY_TID;

	for (int i = 0; i < build->nshares; i++)
		rows = Max(rows, build->row_order[i]);
	return rows;
}

/*
 * What all shares have for a range, whose files go.  Rows of a key are in the order of the
 * shares.
 */
static void
collect_range(RangeBuildPart *part, IndexSort *sort)
{
	RangeBuild *build = part->build;

	for (int share = 0; share < build->nshares; share++)
	{
		char		name[MAXPGPATH];
		BufFile	   *file;

		name_keys(name, build, share, part->range);
		file = BufFileOpenFileSet(&part->files->fs, name, O_RDONLY, true);
		if (file == NULL)
			continue;
		index_sort_read(sort, file);
		BufFileClose(file);
		BufFileDeleteFileSet(&part->files->fs, name, false);
	}
}

/* The bound above a range, or NULL. */
static IndexTuple
form_bound(KeyShape *shape, const Split *split, int range)
{
	return range == split->nborders ? NULL :
		shape_tuple(shape, split->borders[range].image);
}

/* Sorts what was collected into leaves. */
static void
build_leaves(RangeBuildPart *part, IndexSort *sort, int npages)
{
	RangeBuild *build = part->build;
	RangeBuildRange *range = &build->ranges[part->range];
	ConflictFile conflicts;
	KeySink		sink;
	char		name[MAXPGPATH];
	BufFile	   *list;

	name_file(name, "leaves", build, part->range);
	list = BufFileCreateFileSet(&part->files->fs, name);
	name_file(name, "duplicates", build, part->range);
	conflict_file_begin(&conflicts, &part->files->fs, name);
	btree_load_init(&part->load, part->index, part->info, part->shape,
					build->noted ? &conflicts.sink : NULL);
	sink = btree_load_sink(&part->load);
	part->load.btree = btree_open_range(part->heap, part->index, &build->next_block,
										npages, list);
	if (!index_sort_finish(sort, &sink))
		pg_atomic_write_u32(&build->key_order, KEYS_BY_OPERATOR);
	btree_end_key(part->load.btree);
	range->rows = btree_close_range(part->load.btree,
									form_bound(part->shape, part->split, part->range));
	range->runs = index_sort_parts(sort);
	range->ngroups = part->load.ngroups;
	finish_file(list);
	(void) conflict_file_end(&conflicts);
}

static void
build_range(RangeBuildPart *part, int range)
{
	Size		memory = part->build->memory;
	Size		npages = memory / LEAVES_SHARE / BLCKSZ;
	IndexSort  *sort;

	if (pg_atomic_read_u32(&part->build->key_order) == KEYS_BY_OPERATOR)
		return;
	npages = Min(Max(npages, MIN_LEAVES), MAX_LEAVES);
	part->range = range;
	sort = index_sort_open_range(part->shape, part->split, range, partitioned_order(part->build),
								 memory - npages * BLCKSZ);
	progress_index_sort(count_partitioned(part->build));
	collect_range(part, sort);
	build_leaves(part, sort, npages);
	index_sort_close(sort);
}

/* ---- the whole ---- */

/* Does something with what nobody has taken yet, in a context of its own, until nothing is left. */
static void
take_all(RangeBuildPart *part, pg_atomic_uint32 *next, int n,
		 void (*work) (RangeBuildPart *part, int number), pg_atomic_uint32 *done)
{
	for (;;)
	{
		uint32		number = pg_atomic_fetch_add_u32(next, 1);
		MemoryContext old;

		if (number >= n)
			break;
		old = MemoryContextSwitchTo(part->context);
		work(part, number);
		MemoryContextSwitchTo(old);
		MemoryContextReset(part->context);
		count_one(part->build, done);
	}
}

void
range_build_help(RangeBuild *build, Relation heap, LOCKMODE index_lock, SharedFileSet *files)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "range build",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	RangeBuildPart *part = palloc0(sizeof(RangeBuildPart));

	if (pg_atomic_read_u32(&build->next_range) < build->nranges)
	{
		part->build = build;
		part->files = files;
		part->heap = heap;
		part->index = index_open(build->index, index_lock);
		progress_index_begin(heap, part->index, &build->progress);
		part->info = BuildIndexInfo(part->index);
		part->shape = shape_open(part->index);
		part->split = split_open(part->shape, &build->keys);
		part->context = AllocSetContextCreate(context, "range build part",
											  ALLOCSET_DEFAULT_SIZES);
		pg_atomic_fetch_add_u32(&build->processes, 1);
		take_all(part, &build->next_share, build->nshares, partition_share, &build->shares_done);
		await_count(build, &build->shares_done, build->nshares);
		take_all(part, &build->next_range, build->nranges, build_range, &build->ranges_done);
		index_close(part->index, NoLock);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
take_ranges(RangeBuild *build, SharedFileSet *files, const ConflictSink *conflicts,
			Btree *btree, KeyShape *shape)
{
	Split	   *split = split_open(shape, &build->keys);
	uint32		ngroups = 0;

	for (int range = 0; range < build->nranges; range++)
	{
		char		name[MAXPGPATH];
		BufFile	   *list;

		name_file(name, "leaves", build, range);
		list = BufFileOpenFileSet(&files->fs, name, O_RDONLY, false);
		btree_take_range(btree, list, form_bound(shape, split, range),
						 build->ranges[range].rows);
		BufFileClose(list);
		if (build->ranges[range].ngroups > 0)
		{
			name_file(name, "duplicates", build, range);
			conflict_file_read(&files->fs, name, ngroups, conflicts);
		}
		ngroups += build->ranges[range].ngroups;
	}
}

/* Every row that was partitioned is in a leaf: a file that went would go unnoticed else. */
static void
check_rows(const RangeBuild *build)
{
	uint64		partitioned = count_partitioned(build);
	double		built = 0;

	for (int i = 0; i < build->nranges; i++)
		built += build->ranges[i].rows;
	if (built != partitioned)
		elog(ERROR, "%.0f of %llu rows are in the leaves of index %u",
			 built, (unsigned long long) partitioned, build->index);
}

bool
range_build_finish(RangeBuild *build, Relation heap, SharedFileSet *files,
				   const ConflictSink *conflicts, BuildResult *result, int *processes)
{
	Relation	index;
	Btree	   *btree;

	await_count(build, &build->ranges_done, build->nranges);
	if (pg_atomic_read_u32(&build->key_order) == KEYS_BY_OPERATOR)
		return false;
	check_rows(build);
	index = index_open(build->index, NoLock);
	btree = btree_open_above(heap, index, pg_atomic_read_u32(&build->next_block));
	take_ranges(build, files, conflicts, btree, shape_open(index));
	memset(result, 0, sizeof(BuildResult));
	result->index_rows = btree_close(btree);
	for (int i = 0; i < build->nshares; i++)
	{
		result->heap_rows += build->heap_rows[i];
		result->broken_chains |= build->broken_chains[i];
	}
	for (int i = 0; i < build->nranges; i++)
		result->runs += build->ranges[i].runs;
	*processes = pg_atomic_read_u32(&build->processes);
	index_close(index, NoLock);
	return true;
}
