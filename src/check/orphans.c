/*
 * orphans.c
 *		See orphans.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "check/orphan_search.h"
#include "check/orphans.h"
#include "index/leaf_search.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "parser/parse_coerce.h"
#include "port/atomics.h"
#include "server/workers.h"
#include "storage/bufmgr.h"
#include "storage/shm_toc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

/*
 * With more referenced rows, or pages, for each one of the table the server's query may look keys
 * up by the index, or read them from it.  Few take no time in either way.
 */
#define MAX_REFERENCED 4
#define FEW_ROWS 3000
#define FEW_PAGES 100

/* ---- which keys ---- */

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static Form_pg_attribute
column(Relation rel, AttrNumber attnum)
{
	return TupleDescAttr(RelationGetDescr(rel), attnum - 1);
}

/* Whether values of the two columns are equal where they have the same bytes, or the same value. */
static bool
is_same_kind(const OrphanKey *key, int i)
{
	Oid			type = getBaseType(column(key->rel, key->atts[i])->atttypid);
	Oid			referenced = getBaseType(column(key->referenced,
												key->referenced_atts[i])->atttypid);
	Oid			left;
	Oid			right;

	op_input_types(key->operators[i], &left, &right);
	return type == referenced || (is_integer(type) && is_integer(referenced)) ||
		(left == right && !IsPolymorphicType(left) && IsBinaryCoercible(type, left) &&
		 IsBinaryCoercible(referenced, left));
}

/* Whether keys that are equal have the same bytes, so that what is not found is an orphan. */
static bool
is_bytewise(const OrphanKey *key)
{
	Relation	index = index_open(key->index, AccessShareLock);
	bool		bytewise = index->rd_rel->relam == BTREE_AM_OID &&
		leaf_search_is_bytewise(index, _bt_allequalimage(index, false));

	index_close(index, NoLock);
	return bytewise;
}

static bool
is_plain(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_RELATION &&
		rel->rd_tableam == GetHeapamTableAmRoutine();
}

const char *
orphans_obstacle(const OrphanKey *key)
{
	BlockNumber pages;
	BlockNumber referenced_pages;
	double		rows;
	double		referenced_rows;
	double		visible;

	if (!is_plain(key->rel) || !is_plain(key->referenced))
		return "A table is partitioned, or has another access method.";
	if (key->rel->rd_rel->relrowsecurity || key->referenced->rd_rel->relrowsecurity)
		return "A table has row-level security.";
	for (int i = 0; i < key->natts; i++)
		if (!is_same_kind(key, i))
			return "The columns have different types.";
	if (!is_bytewise(key))
		return "Keys may be equal without the same bytes.";
	estimate_rel_size(key->rel, NULL, &pages, &rows, &visible);
	estimate_rel_size(key->referenced, NULL, &referenced_pages, &referenced_rows, &visible);
	if (referenced_rows > rows * MAX_REFERENCED + FEW_ROWS ||
		referenced_pages > (double) pages * MAX_REFERENCED + FEW_PAGES)
		return "The referenced table is much larger.";
	if (orphan_search_bytes(key, referenced_rows) > maintenance_work_mem * 1024.0)
		return "The keys do not fit into maintenance_work_mem.";
	return NULL;
}

/* ---- the search, by this process and workers ---- */

#define KEY_SEARCH UINT64CONST(1)

/* Blocks that a process takes at a time. */
#define CHUNK_BLOCKS 128

/* Seconds that a row takes. */
#define ROW_SECONDS 50e-9

/* Milliseconds that workers get for all of the search, in tests. */
#define BY_WORKERS_MS 10000

bool		orphans_by_workers = false;

typedef enum SearchState
{
	SEARCH_GOES_ON,
	SEARCH_HAS_DOUBT,			/* a row may refer to none */
	SEARCH_NEEDS_MEMORY
} SearchState;

/* In shared memory, if there are workers.  Each process reads the referenced keys by itself. */
typedef struct SharedSearch
{
	OrphanKey	key;			/* with the leader's relations */
	Oid			relid;
	Oid			referenced;
	Size		memory;			/* of each process */
	BlockNumber nblocks;
	BlockNumber chunk;			/* blocks that a process takes at a time */
	pg_atomic_uint64 next;		/* block that nobody has taken */
	pg_atomic_uint32 state;
} SharedSearch;

PGDLLEXPORT void orphans_worker_main(dsm_segment *segment, shm_toc *toc);

/* How many workers pay, each of which takes as long and as much memory for the referenced keys. */
static int
choose_workers(const OrphanKey *key)
{
	BlockNumber pages;
	BlockNumber referenced_pages;
	double		rows;
	double		referenced_rows;
	double		visible;
	int			workers;

	if (RelationUsesLocalBuffers(key->rel) || RelationUsesLocalBuffers(key->referenced))
		return 0;
	if (orphans_by_workers)
		return max_parallel_maintenance_workers;
	estimate_rel_size(key->rel, NULL, &pages, &rows, &visible);
	estimate_rel_size(key->referenced, NULL, &referenced_pages, &referenced_rows, &visible);
	if (pages <= referenced_pages || !workers_pay((rows - referenced_rows) * ROW_SECONDS))
		return 0;
	workers = workers_for_bytes(key->rel, (int64) (pages - referenced_pages) * BLCKSZ);
	while (workers > 0 && orphan_search_bytes(key, referenced_rows) * 2 * (workers + 1) >
		   maintenance_work_mem * 1024.0)
		workers--;
	return workers;
}

static bool
goes_on(SharedSearch *shared)
{
	return pg_atomic_read_u32(&shared->state) == SEARCH_GOES_ON;
}

/* Whether there are rows that nobody has taken: else what others took is their answer. */
static bool
is_wanted(void *arg)
{
	SharedSearch *shared = arg;

	return goes_on(shared) && pg_atomic_read_u64(&shared->next) < shared->nblocks;
}

/* One process's part. */
static void
search_chunks(SharedSearch *shared, const OrphanKey *key, Snapshot snapshot)
{
	OrphanSearch *search = orphan_search_open(key, snapshot, shared->memory, is_wanted, shared);

	if (search == NULL)
	{
		if (is_wanted(shared))
			pg_atomic_write_u32(&shared->state, SEARCH_NEEDS_MEMORY);
		return;
	}
	while (goes_on(shared))
	{
		uint64		first = pg_atomic_fetch_add_u64(&shared->next, shared->chunk);

		if (first >= shared->nblocks)
			break;
		if (!orphan_search_blocks(search, first, Min(shared->chunk, shared->nblocks - first)))
			pg_atomic_write_u32(&shared->state, SEARCH_HAS_DOUBT);
	}
	orphan_search_close(search);
}

void
orphans_worker_main(dsm_segment *segment, shm_toc *toc)
{
	SharedSearch *shared;
	OrphanKey	key;

	if (!workers_begin(toc))
		return;
	shared = shm_toc_lookup(toc, KEY_SEARCH, false);
	key = shared->key;
	key.rel = table_open(shared->relid, AccessShareLock);
	key.referenced = table_open(shared->referenced, AccessShareLock);
	search_chunks(shared, &key, GetActiveSnapshot());
	table_close(key.referenced, AccessShareLock);
	table_close(key.rel, AccessShareLock);
	workers_end(toc);
}

/* Returns what they share in *shared; NULL: there is no room for them. */
static ParallelContext *
start_workers(int workers, SharedSearch **shared)
{
	ParallelContext *pcxt = CreateParallelContext(workers_library(), "orphans_worker_main",
												  workers);
	SharedSearch *copy;

	shm_toc_estimate_chunk(&pcxt->estimator, sizeof(SharedSearch));
	shm_toc_estimate_keys(&pcxt->estimator, 1);
	workers_estimate(pcxt);
	if (!workers_initialize(pcxt))
		return NULL;
	copy = shm_toc_allocate(pcxt->toc, sizeof(SharedSearch));
	memcpy(copy, *shared, sizeof(SharedSearch));
	shm_toc_insert(pcxt->toc, KEY_SEARCH, copy);
	*shared = copy;
	workers_launch(pcxt);
	return pcxt;
}

/* For tests: lets workers do what there is. */
static void
leave_to_workers(SharedSearch *shared)
{
	for (int i = 0; i < BY_WORKERS_MS && is_wanted(shared); i++)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
}

/* Searches with so many workers, if they can be had. */
static SearchState
search_with(int workers, const OrphanKey *key, Snapshot snapshot)
{
	SharedSearch own = {
		.key = *key,
		.relid = RelationGetRelid(key->rel),
		.referenced = RelationGetRelid(key->referenced),
		.memory = (Size) maintenance_work_mem * 1024 / (workers + 1),
		.nblocks = RelationGetNumberOfBlocks(key->rel),
		.chunk = orphans_by_workers ? 1 : CHUNK_BLOCKS
	};
	SharedSearch *shared = &own;
	ParallelContext *pcxt = NULL;
	SearchState state;

	pg_atomic_init_u64(&own.next, 0);
	pg_atomic_init_u32(&own.state, SEARCH_GOES_ON);
	if (workers > 0)
	{
		EnterParallelMode();
		/* workers get it as theirs */
		PushActiveSnapshot(snapshot);
		pcxt = start_workers(workers, &shared);
		PopActiveSnapshot();
	}
	if (orphans_by_workers && pcxt != NULL && pcxt->nworkers_launched > 0)
		leave_to_workers(shared);
	search_chunks(shared, key, snapshot);
	if (pcxt != NULL)
		workers_finish(pcxt);
	state = pg_atomic_read_u32(&shared->state);
	if (pcxt != NULL)
		DestroyParallelContext(pcxt);
	if (workers > 0)
		ExitParallelMode();
	return state;
}

const char *
orphans_doubt(const OrphanKey *key, Snapshot snapshot)
{
	int			workers = choose_workers(key);
	SearchState state = search_with(workers, key, snapshot);

	/* the memory for all of them may suffice for one */
	if (state == SEARCH_NEEDS_MEMORY && workers > 0)
		state = search_with(0, key, snapshot);
	switch (state)
	{
		case SEARCH_GOES_ON:
			return NULL;
		case SEARCH_HAS_DOUBT:
			return "a row that may refer to none";
		case SEARCH_NEEDS_MEMORY:
			break;
	}
	return "The keys do not fit into maintenance_work_mem.";
}
