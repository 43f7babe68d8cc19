/*
 * span.c
 *		See span.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "index/feed.h"
#include "index/heap_scan.h"
#include "index/index_sort.h"
#include "index/notes.h"
#include "index/span.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "server/compat.h"
#include "server/progress.h"
#include "storage/buffile.h"
#include "storage/condition_variable.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

/* Of a process's memory: for leaves that wait for their blocks; and what it may have beside the keys. */
#define LEAVES_SHARE 16
#define MIN_LEAVES 4
#define MAX_LEAVES 128

typedef struct SpanRange
{
	double		rows;
	int			runs;
	uint32		ngroups;		/* of rows that must not stand together; 0: there is no file */
} SpanRange;

struct Span
{
	Oid			index;
	int			number;
	BlockNumber nblocks;		/* of the table */
	Size		memory;			/* for each process */
	bool		noted;
	int			nshares;
	int			nranges;
	double		heap_rows[SPAN_MAX_PROCESSES];
	RowOrder	row_order[SPAN_MAX_PROCESSES]; /* in the files of each share */
	uint64		partitioned[SPAN_MAX_PROCESSES];	/* rows that are in the files of each share */
	SpanRange	ranges[SPLIT_MAX_RANGES];

	pg_atomic_uint32 processes; /* that have taken part */
	pg_atomic_uint32 next_share;
	pg_atomic_uint32 shares_done;
	pg_atomic_uint32 next_range;
	pg_atomic_uint32 ranges_done;
	pg_atomic_uint32 next_block;
	pg_atomic_uint32 key_order; /* of all ranges, one after the other; KEYS_BY_OPERATOR: they cannot be chained */
	ConditionVariable changed;	/* shares_done or ranges_done */
	ProgressCounts progress;
	SplitKeys	keys;
};

/* What one process has of it. */
typedef struct SpanPart
{
	Span	   *span;
	SharedFileSet *files;
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	Shape	   *shape;
	Split	   *split;
	MemoryContext context;		/* of a share or a range */

	/* a share that is partitioned */
	int			share;
	IndexSort  *sort;

	/* a range that is sorted */
	Feed		feed;
	int			range;
} SpanPart;

/* ---- shared memory ---- */

Size
span_size(const SplitKeys *keys)
{
	return offsetof(Span, keys) + split_keys_size(keys);
}

void
span_init(Span *span, Oid index, int number, const SplitKeys *keys,
		  BlockNumber nblocks, int processes, Size memory, bool noted)
{
	memset(span, 0, offsetof(Span, keys));
	memcpy(&span->keys, keys, split_keys_size(keys));
	span->index = index;
	span->number = number;
	span->nblocks = nblocks;
	span->memory = memory;
	span->noted = noted;
	span->nshares = processes;
	span->nranges = keys->nborders + 1;
	pg_atomic_init_u32(&span->processes, 0);
	pg_atomic_init_u32(&span->next_share, 0);
	pg_atomic_init_u32(&span->shares_done, 0);
	pg_atomic_init_u32(&span->next_range, 0);
	pg_atomic_init_u32(&span->ranges_done, 0);
	pg_atomic_init_u32(&span->next_block, BTREE_FIRST_BLOCK);
	pg_atomic_init_u32(&span->key_order, KEYS_BY_STRING);
	ConditionVariableInit(&span->changed);
	progress_counts_init(&span->progress);
}

/* Shows what the others have done, too. */
static void
show_progress(void)
{
	progress_index_blocks(0);
	progress_index_rows(0);
}

static void
await_count(Span *span, pg_atomic_uint32 *count, int wanted)
{
	ConditionVariablePrepareToSleep(&span->changed);
	while (pg_atomic_read_u32(count) < wanted)
	{
		show_progress();
		ConditionVariableSleep(&span->changed, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	show_progress();
}

static void
count_one(Span *span, pg_atomic_uint32 *count)
{
	pg_atomic_fetch_add_u32(count, 1);
	ConditionVariableBroadcast(&span->changed);
}

/* ---- files ---- */

static void
name_keys(char *name, const Span *span, int share, int range)
{
	snprintf(name, MAXPGPATH, "keys%d.%d.%d", span->number, share, range);
}

static void
name_file(char *name, const char *what, const Span *span, int range)
{
	snprintf(name, MAXPGPATH, "%s%d.%d", what, span->number, range);
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
	SpanPart   *part = arg;
	char		name[MAXPGPATH];

	name_keys(name, part->span, part->share, range);
	return BufFileCreateFileSet(&part->files->fs, name);
}

static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool alive, void *state)
{
	SpanPart   *part = state;

	index_sort_put(part->sort, tid, values, isnull, alive);
}

static void
partition_share(SpanPart *part, int share)
{
	Span	   *span = part->span;
	BlockNumber first = (uint64) span->nblocks * share / span->nshares;
	BlockNumber end = (uint64) span->nblocks * (share + 1) / span->nshares;
	SortPartitioned partitioned;

	part->share = share;
	part->sort = index_sort_open_partition(part->shape, part->split, create_keys, part,
										   span->memory);
	progress_index_scan(span->nblocks);
	span->heap_rows[share] = heap_scan_rows(part->heap, part->index, part->info, first,
											end - first, put_row, part);
	partitioned = index_sort_finish_partition(part->sort);
	span->row_order[share] = partitioned.rows;
	span->partitioned[share] = partitioned.nrows;
	for (int range = 0; range < span->nranges; range++)
	{
		BufFile    *file = index_sort_take_file(part->sort, range);

		if (file != NULL)
			finish_file(file);
	}
	index_sort_close(part->sort);
}

/* ---- sorting a range ---- */

/* Rows that are in files, once all shares are partitioned. */
static uint64
count_partitioned(const Span *span)
{
	uint64		partitioned = 0;

	for (int i = 0; i < span->nshares; i++)
		partitioned += span->partitioned[i];
	return partitioned;
}

/* In which order rows of a key are in the files, those of the shares one after the other. */
static RowOrder
partitioned_order(const Span *span)
{
	RowOrder	rows = ROWS_BY_TID;

	for (int i = 0; i < span->nshares; i++)
		rows = Max(rows, span->row_order[i]);
	return rows;
}

/* What all shares have for a range, whose files go.  Rows of a key are in the order of the shares. */
static void
collect_range(SpanPart *part, IndexSort *sort)
{
	Span	   *span = part->span;

	for (int share = 0; share < span->nshares; share++)
	{
		char		name[MAXPGPATH];
		BufFile    *file;

		name_keys(name, span, share, part->range);
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
form_bound(Shape *shape, const Split *split, int range)
{
	return range == split->nborders ? NULL :
		shape_tuple(shape, split->borders[range].image);
}

/* Sorts what was collected into leaves. */
static void
build_leaves(SpanPart *part, IndexSort *sort, int npages)
{
	Span	   *span = part->span;
	SpanRange  *range = &span->ranges[part->range];
	Notes		notes;
	KeySink		sink;
	char		name[MAXPGPATH];
	BufFile    *list;

	name_file(name, "leaves", span, part->range);
	list = BufFileCreateFileSet(&part->files->fs, name);
	name_file(name, "notes", span, part->range);
	notes_begin(&notes, &part->files->fs, name);
	feed_init(&part->feed, part->index, part->info, part->shape,
			  span->noted ? &notes.sink : NULL);
	sink = feed_sink(&part->feed);
	part->feed.btree = btree_open_range(part->heap, part->index, &span->next_block,
										npages, list);
	if (!index_sort_finish(sort, &sink))
		pg_atomic_write_u32(&span->key_order, KEYS_BY_OPERATOR);
	btree_end_key(part->feed.btree);
	range->rows = btree_close_range(part->feed.btree,
									form_bound(part->shape, part->split, part->range));
	range->runs = index_sort_parts(sort);
	range->ngroups = part->feed.ngroups;
	finish_file(list);
	(void) notes_end(&notes);
}

static void
build_range(SpanPart *part, int range)
{
	Size		memory = part->span->memory;
	Size		npages = memory / LEAVES_SHARE / BLCKSZ;
	IndexSort  *sort;

	if (pg_atomic_read_u32(&part->span->key_order) == KEYS_BY_OPERATOR)
		return;
	npages = Min(Max(npages, MIN_LEAVES), MAX_LEAVES);
	part->range = range;
	sort = index_sort_open_range(part->shape, part->split, range, partitioned_order(part->span),
								 memory - npages * BLCKSZ);
	progress_index_sort(count_partitioned(part->span));
	collect_range(part, sort);
	build_leaves(part, sort, npages);
	index_sort_close(sort);
}

/* ---- the whole ---- */

/* Does something with what nobody has taken yet, in a context of its own, until nothing is left. */
static void
take_all(SpanPart *part, pg_atomic_uint32 *next, int n,
		 void (*work) (SpanPart *part, int number), pg_atomic_uint32 *done)
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
		count_one(part->span, done);
	}
}

void
span_help(Span *span, Relation heap, SharedFileSet *files)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "span",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SpanPart   *part = palloc0(sizeof(SpanPart));

	if (pg_atomic_read_u32(&span->next_range) < span->nranges)
	{
		part->span = span;
		part->files = files;
		part->heap = heap;
		part->index = index_open(span->index, ShareUpdateExclusiveLock);
		progress_index_begin(heap, part->index, &span->progress);
		part->info = BuildIndexInfo(part->index);
		part->shape = shape_open(part->index);
		part->split = split_open(part->shape, &span->keys);
		part->context = AllocSetContextCreate(context, "span part",
											  ALLOCSET_DEFAULT_SIZES);
		pg_atomic_fetch_add_u32(&span->processes, 1);
		take_all(part, &span->next_share, span->nshares, partition_share, &span->shares_done);
		await_count(span, &span->shares_done, span->nshares);
		take_all(part, &span->next_range, span->nranges, build_range, &span->ranges_done);
		index_close(part->index, NoLock);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
take_ranges(Span *span, SharedFileSet *files, const ConflictSink *conflicts,
			Btree *btree, Shape *shape)
{
	Split	   *split = split_open(shape, &span->keys);
	uint32		ngroups = 0;

	for (int range = 0; range < span->nranges; range++)
	{
		char		name[MAXPGPATH];
		BufFile    *list;

		name_file(name, "leaves", span, range);
		list = BufFileOpenFileSet(&files->fs, name, O_RDONLY, false);
		btree_take_range(btree, list, form_bound(shape, split, range),
						 span->ranges[range].rows);
		BufFileClose(list);
		if (span->ranges[range].ngroups > 0)
		{
			name_file(name, "notes", span, range);
			notes_read(&files->fs, name, ngroups, conflicts);
		}
		ngroups += span->ranges[range].ngroups;
	}
}

/* Every row that was partitioned is in a leaf: a file that went would go unnoticed else. */
static void
check_rows(const Span *span)
{
	uint64		partitioned = count_partitioned(span);
	double		built = 0;

	for (int i = 0; i < span->nranges; i++)
		built += span->ranges[i].rows;
	if (built != partitioned)
		elog(ERROR, "%.0f of %llu rows are in the leaves of index %u",
			 built, (unsigned long long) partitioned, span->index);
}

bool
span_finish(Span *span, Relation heap, SharedFileSet *files,
			const ConflictSink *conflicts, BuildResult *result, int *processes)
{
	Relation	index;
	Btree	   *btree;

	await_count(span, &span->ranges_done, span->nranges);
	if (pg_atomic_read_u32(&span->key_order) == KEYS_BY_OPERATOR)
		return false;
	check_rows(span);
	index = index_open(span->index, NoLock);
	btree = btree_open_above(heap, index, pg_atomic_read_u32(&span->next_block));
	take_ranges(span, files, conflicts, btree, shape_open(index));
	memset(result, 0, sizeof(BuildResult));
	result->index_rows = btree_close(btree);
	for (int i = 0; i < span->nshares; i++)
		result->heap_rows += span->heap_rows[i];
	for (int i = 0; i < span->nranges; i++)
		result->runs += span->ranges[i].runs;
	*processes = pg_atomic_read_u32(&span->processes);
	index_close(index, NoLock);
	return true;
}
