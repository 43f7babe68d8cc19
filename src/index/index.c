/*
 * index.c
 *		See index.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "commands/tablecmds.h"
#include "index/build.h"
#include "index/horizon.h"
#include "index/index.h"
#include "index/parallel_build.h"
#include "index/private.h"
#include "index/range_build.h"
#include "index/swap.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/workers.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/relcache.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

/*
 * Of thousands of indexes so many tell enough of the time that all will take; and what another
 * process adds.
 */
#define LOOK_MAX 50
#define SPEEDUP 0.6

/*
 * Gives an index a new file, which is its own for this transaction alone
 * until that commits.  The lock keeps ALTER INDEX away; readers do not mind.
 */
static void
begin_file(IndexPlan *plan)
{
	Relation	index = index_open(plan->relid, ShareUpdateExclusiveLock);

	CheckTableNotInUse(index, "bulk_load");
	plan->old = index->rd_locator;
	if (plan->method == INDEX_REBUILD)
		horizon_note(plan->table);
	RelationSetNewRelfilenumber(index, index->rd_rel->relpersistence);
	if (plan->dry)
		private_mark(index);
	index_close(index, NoLock);
}

/* Whether an index has a new file that is to stay. */
static inline bool
is_swapped(const IndexPlan *plan)
{
	return plan->method != INDEX_INSERT && !plan->dry;
}

/*
 * From here to the end of the transaction nobody else reads the indexes that have new files.
 * What serializable transactions have seen of the old ones is what they have seen of the
 * tables.
 */
static void
swap(List *plans)
{
	List	   *heaps = NIL;
	List	   *relids = NIL;
	ListCell   *lc;

	foreach(lc, plans)
	{
		const IndexPlan *plan = lfirst(lc);

		if (!is_swapped(plan))
			continue;
		relids = lappend_oid(relids, plan->relid);
		if (heaps == NIL || llast(heaps) != plan->table->heap)
			heaps = lappend(heaps, plan->table->heap);
	}
	compat_injection_point("pgbulk-indexes-built");
	swap_lock(heaps, relids);
	foreach(lc, relids)
	{
		Relation	index = index_open(lfirst_oid(lc), NoLock);

		TransferPredicateLocksToHeapRelation(index);
		index_close(index, NoLock);
	}
	foreach(lc, heaps)
		CheckForSerializableConflictIn(lfirst(lc), NULL, InvalidBlockNumber);
	CommandCounterIncrement();
	compat_injection_point("pgbulk-indexes-swapped");
	list_free(heaps);
	list_free(relids);
}

static void
update_heap_statistics(Relation heap, double rows)
{
	BlockNumber visible;
	BlockNumber frozen;

	visibilitymap_count(heap, &visible, &frozen);
	compat_update_relstats(heap, RelationGetNumberOfBlocks(heap), rows, visible,
						   frozen, true);
}

/* Those that can be shared first, and of them those with the most work. */
static int
compare_plans(const ListCell *a, const ListCell *b)
{
	const IndexPlan *plan_a = lfirst(a);
	const IndexPlan *plan_b = lfirst(b);

	if (plan_a->shareable != plan_b->shareable)
		return plan_a->shareable ? -1 : 1;
	return (plan_a->weight < plan_b->weight) - (plan_a->weight > plan_b->weight);
}

/*
 * As many as the server's settings want for all tables together, as if they were the largest one;
 * none for what is done before they come.
 */
static int
choose_workers(List *plans)
{
	const IndexTable *before = NULL;
	Relation	largest = NULL;
	double		seconds = 0;
	BlockNumber most = 0;
	int64		bytes = 0;
	ListCell   *lc;

	/* those of a table follow one another */
	foreach(lc, plans)
	{
		const IndexPlan *plan = lfirst(lc);
		const IndexTable *table = plan->table;
		BlockNumber nblocks;

		if (plan->shareable)
			seconds += plan->weight / 1000000;
		if (table == before)
			continue;
		before = table;
		nblocks = RelationGetNumberOfBlocks(table->heap);
		bytes += (int64) nblocks * BLCKSZ;
		if (largest == NULL || nblocks > most)
		{
			largest = table->heap;
			most = nblocks;
		}
	}
	return largest != NULL && workers_pay(seconds) ? workers_for_bytes(largest, bytes) : 0;
}

/*
 * How long each may take, and what follows it: those that may be shared are as if all took part
 * in each.
 */
static void
expect(List *plans, ParallelIndex *indexes, int workers)
{
	double		after = 0;

	for (int i = list_length(plans) - 1; i >= 0; i--)
	{
		const IndexPlan *plan = list_nth(plans, i);
		double		seconds = plan->weight / 1000000;
		double		shared = plan->shareable ? seconds / (1 + SPEEDUP * workers) : seconds;

		indexes[i].expected = plan->together ? shared : seconds;
		indexes[i].after = after;
		after += shared;
	}
}

/* Builds what may be built side by side, then the rest. */
static void
build_all(List *plans, ParallelIndex *indexes, int workers, Conflicts *conflicts)
{
	int			shared = 0;
	int			n = 0;
	ListCell   *lc;

	plan_share(plans, workers + 1);
	foreach(lc, plans)
	{
		const IndexPlan *plan = lfirst(lc);

		indexes[n].together = plan->together;
		indexes[n++].one_process = plan->one_process;
		shared += plan->shareable;
	}
	expect(plans, indexes, workers);
	parallel_build_all(indexes, shared, workers, conflicts);
	for (int i = shared; i < n; i++)
		parallel_build_one(&indexes[i], (Size) maintenance_work_mem * 1024, conflicts);
}

/*
 * Keeps snapshots from before this transaction from using an index, here and on standbys: as
 * after CREATE INDEX.  A later REINDEX takes that back.
 */
static void
hide_from_old_snapshots(Relation index)
{
	Relation	catalog = table_open(IndexRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(INDEXRELID,
											ObjectIdGetDatum(RelationGetRelid(index)));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", RelationGetRelid(index));
	((Form_pg_index) GETSTRUCT(tuple))->indcheckxmin = true;
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	heap_freetuple(tuple);
	table_close(catalog, RowExclusiveLock);
}

/* What only this process can do for a new index. */
static void
complete(IndexPlan *plan, const ParallelIndex *built)
{
	Relation	index = index_open(plan->relid, NoLock);

	if (plan->method != INDEX_INSERT)
		compat_update_relstats(index, RelationGetNumberOfBlocks(index),
							   built->result.index_rows, 0, 0, false);
	/* all versions in a chain have the same key, unless the index only summarizes blocks */
	if (built->result.broken_chains && COMPAT_IS_SUMMARIZING(index))
		hide_from_old_snapshots(index);
	/* an exclusion constraint is checked by scans of the index */
	CommandCounterIncrement();
	build_complete(plan->table->heap, index, &built->task);
	plan->seconds += built->seconds;
	plan->runs = built->result.runs;
	plan->processes = built->processes;
	plan->one_process = built->one_process;
	if (plan->method == INDEX_REBUILD)
		plan->table->live_rows = built->result.heap_rows;
	index_close(index, NoLock);
}

/* Nothing but this process has what is known of the pages. */
static void
choose_passed(List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		IndexPlan  *plan = lfirst(lc);
		const IndexTable *table = plan->table;

		if (plan->method != INDEX_REBUILD || table->pass == NULL ||
			!brin_pass_is_complete(table->pass, table->heap, table->rows))
			continue;
		plan->passed = brin_pass_find(table->pass, plan->relid);
		if (plan->passed == NULL)
			continue;
		plan->shareable = false;
		plan->weight = 0;
	}
}

/* What is to be done for each plan. */
static ParallelIndex *
make_tasks(List *order)
{
	ParallelIndex *indexes = palloc0(list_length(order) * sizeof(ParallelIndex));
	ListCell   *lc;
	int			i = 0;

	foreach(lc, order)
	{
		const IndexPlan *plan = lfirst(lc);

		indexes[i].heap = plan->table->relid;
		indexes[i].heap_lock = RowExclusiveLock;
		indexes[i].relid = plan->relid;
		indexes[i].index_lock = ShareUpdateExclusiveLock;
		indexes[i].task.method = plan->method;
		indexes[i].task.old = plan->old;
		indexes[i].task.passed = plan->passed;
		indexes[i].task.rows = plan->table->rows;
		indexes[i++].task.first_block = plan->table->heap_blocks;
	}
	return indexes;
}

/* Those of a table follow one another in plans. */
static void
note_live_rows(List *plans)
{
	const IndexTable *before = NULL;
	ListCell   *lc;

	foreach(lc, plans)
	{
		const IndexTable *table = ((IndexPlan *) lfirst(lc))->table;

		if (table != before && table->live_rows >= 0)
			update_heap_statistics(table->heap, table->live_rows);
		before = table;
	}
}

/* Those of a table follow one another in plans. */
static void
tell_standbys(List *plans)
{
	const IndexTable *told = NULL;
	ListCell   *lc;

	foreach(lc, plans)
	{
		const IndexPlan *plan = lfirst(lc);

		if (plan->method != INDEX_REBUILD || !is_swapped(plan) || plan->table == told)
			continue;
		horizon_tell(plan->table);
		told = plan->table;
	}
}

static int
compare_relids(const ListCell *a, const ListCell *b)
{
	Oid			relid_a = ((IndexPlan *) lfirst(a))->relid;
	Oid			relid_b = ((IndexPlan *) lfirst(b))->relid;

	return (relid_a > relid_b) - (relid_a < relid_b);
}

/* Entries as the plans say, some in new files. */
static void
make_entries(List *plans, int workers, Conflicts *conflicts)
{
	List	   *order = list_copy(plans);
	ParallelIndex *indexes;
	ListCell   *lc;
	int			i = 0;

	if (workers < 0)
		workers = choose_workers(plans);
	workers = Min(workers, RANGE_BUILD_MAX_PROCESSES - 1);

	/* in the order of their OIDs, as everyone locks them */
	list_sort(order, compare_relids);
	foreach(lc, order)
		if (((IndexPlan *) lfirst(lc))->method != INDEX_INSERT)
			begin_file(lfirst(lc));

	list_sort(order, compare_plans);
	indexes = make_tasks(order);
	build_all(order, indexes, workers, conflicts);
	foreach(lc, order)
		complete(lfirst(lc), &indexes[i++]);
	tell_standbys(plans);
	note_live_rows(plans);
	pfree(indexes);
	list_free(order);
}

/* ---- when others who use the indexes are not done in time ---- */

/* Whether it may come to that, and matters not to the user. */
static bool
may_give_up_files(List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		const IndexPlan *plan = lfirst(lc);

		if (is_swapped(plan) && plan->wanted == BULK_INDEXES_AUTO &&
			!RELATION_IS_LOCAL(plan->table->heap))
			return true;
	}
	return false;
}

/* Whoever uses the indexes waits for this load, or longer than lock_timeout allows. */
static bool
is_waiting_in_vain(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_T_R_DEADLOCK_DETECTED ||
		sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE;
}

/*
 * Makes entries in a subtransaction: false if it was undone because new files cannot
 * be put in place of the old ones.  What was inserted into old ones is there, and
 * rows with the same key are noted, all the same.
 */
static bool
try_plans(List *plans, int workers, Conflicts *conflicts)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool swapping = false;
	volatile bool done = true;

	/* a subtransaction must not begin while others are to be told of changes */
	CommandCounterIncrement();
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		make_entries(plans, workers, conflicts);
		swapping = true;
		swap(plans);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (!swapping || !is_waiting_in_vain(edata->sqlerrcode))
			ReThrowError(edata);
		FreeErrorData(edata);
		done = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return done;
}

/* For indexes that were to have new files. */
static void
insert_instead(List *plans, int workers)
{
	List	   *left = NIL;
	ListCell   *lc;

	foreach(lc, plans)
	{
		IndexPlan  *plan = lfirst(lc);

		if (plan->method == INDEX_INSERT)
			continue;
		plan->method = INDEX_INSERT;
		plan->reason = "others who use it are not done in time";
		left = lappend(left, plan);
	}
	make_entries(left, workers, NULL);
	CommandCounterIncrement();
}

/* All that get their entries after the rows, by table. */
static List *
collect_plans(List *tables)
{
	List	   *plans = NIL;
	ListCell   *lc;

	foreach(lc, tables)
	{
		const IndexTable *table = lfirst(lc);

		if (table->plans != NIL && ((IndexPlan *) linitial(table->plans))->after)
			plans = list_concat(plans, table->plans);
	}
	return plans;
}

void
index_run(List *tables, int workers, Conflicts *conflicts)
{
	List	   *plans = collect_plans(tables);
	ListCell   *lc;

	if (plans == NIL)
		return;
	foreach(lc, plans)
		plan_choose(lfirst(lc));
	choose_passed(plans);
	/* some methods lay out their index for so many rows */
	foreach(lc, tables)
	{
		const IndexTable *table = lfirst(lc);

		if (table->plans != NIL && table->heap_blocks == 0)
			update_heap_statistics(table->heap, table->rows);
	}
	if (!may_give_up_files(plans))
	{
		make_entries(plans, workers, conflicts);
		swap(plans);
	}
	else if (!try_plans(plans, workers, conflicts))
		insert_instead(plans, workers);
}

void
index_run_again(List *tables, int workers, const char *reason)
{
	List	   *plans = collect_plans(tables);
	ListCell   *lc;

	foreach(lc, plans)
	{
		IndexPlan  *plan = lfirst(lc);

		plan->method = INDEX_REBUILD;
		plan->reason = reason;
		plan->passed = NULL;
	}
	make_entries(plans, workers, NULL);
	swap(plans);
}

double
index_seconds(List *tables, double rows, int workers)
{
	List	   *plans = collect_plans(tables);
	int			looked_at = Min(list_length(plans), LOOK_MAX);
	double		seconds = 0;
	bool		shareable = false;

	for (int i = 0; i < looked_at; i++)
	{
		const IndexPlan *plan = list_nth(plans, i);

		seconds += plan_seconds(plan, rows < 0 ? plan->table->rows : rows / list_length(tables));
		shareable |= plan->shareable;
	}
	if (looked_at == 0)
		return 0;
	seconds *= (double) list_length(plans) / looked_at;
	if (workers < 0)
		workers = workers_pay(seconds) ? max_parallel_maintenance_workers : 0;
	/* they get in each other's way */
	return shareable ? seconds / (1 + SPEEDUP * workers) : seconds;
}

void
index_note_size(const IndexTable *table)
{
	update_heap_statistics(table->heap, table->live_rows);
}
