/*
 * index.c
 *		See index.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "commands/tablecmds.h"
#include "compat.h"
#include "index/build.h"
#include "index/index.h"
#include "index/private.h"
#include "index/span.h"
#include "index/swap.h"
#include "index/team.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/relcache.h"
#include "utils/resowner.h"
#include "workers.h"

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
	RelationSetNewRelfilenumber(index, index->rd_rel->relpersistence);
	if (plan->dry)
		private_mark(index);
	index_close(index, NoLock);
}

/*
 * From here to the end of the transaction nobody else reads the indexes that have new files.
 * What serializable transactions have seen of the old ones is what they have seen of the
 * table.
 */
static void
swap(Relation heap, List *plans)
{
	List	   *relids = NIL;
	ListCell   *lc;

	foreach(lc, plans)
	{
		const IndexPlan *plan = lfirst(lc);

		if (plan->method != INDEX_INSERT && !plan->dry)
			relids = lappend_oid(relids, plan->relid);
	}
	swap_lock(heap, relids);
	foreach(lc, relids)
	{
		Relation	index = index_open(lfirst_oid(lc), NoLock);

		TransferPredicateLocksToHeapRelation(index);
		index_close(index, NoLock);
	}
	CheckForSerializableConflictIn(heap, NULL, InvalidBlockNumber);
	CommandCounterIncrement();
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

/* Builds what may be built side by side, then the rest. */
static void
build_all(Relation heap, List *plans, TeamIndex *indexes, int workers,
		  Conflicts *conflicts)
{
	int			shared = 0;
	int			n = 0;
	ListCell   *lc;

	if (workers < 0)
		workers = workers_for_bytes(heap, (int64) RelationGetNumberOfBlocks(heap) * BLCKSZ);
	workers = Min(workers, SPAN_PROCESSES_MOST - 1);
	plan_share(plans, heap, workers + 1);
	foreach(lc, plans)
	{
		const IndexPlan *plan = lfirst(lc);

		indexes[n].together = plan->together;
		indexes[n++].one_process = plan->one_process;
		shared += plan->shareable;
	}
	team_build(heap, indexes, shared, workers, conflicts);
	for (int i = shared; i < n; i++)
		team_build_one(heap, &indexes[i], (Size) maintenance_work_mem * 1024, conflicts);
}

/* What only this process can do for a new index. */
static void
complete(Relation heap, IndexPlan *plan, const TeamIndex *built)
{
	Relation	index = index_open(plan->relid, NoLock);

	if (plan->method != INDEX_INSERT)
		compat_update_relstats(index, RelationGetNumberOfBlocks(index),
							   built->result.index_rows, 0, 0, false);
	/* an exclusion constraint is checked by scans of the index */
	CommandCounterIncrement();
	build_complete(heap, index, &built->task);
	plan->seconds += built->seconds;
	plan->runs = built->result.runs;
	plan->processes = built->processes;
	plan->one_process = built->one_process;
	index_close(index, NoLock);
}

/* What is to be done for each plan. */
static TeamIndex *
make_tasks(List *order, int64 rows)
{
	TeamIndex  *indexes = palloc0(list_length(order) * sizeof(TeamIndex));
	ListCell   *lc;
	int			i = 0;

	foreach(lc, order)
	{
		const IndexPlan *plan = lfirst(lc);

		indexes[i].relid = plan->relid;
		indexes[i].task.method = plan->method;
		indexes[i].task.old = plan->old;
		indexes[i].task.rows = rows;
		indexes[i++].task.first_block = plan->heap_blocks;
	}
	return indexes;
}

/*
 * Entries as the plans say, some in new files; rows: of the load, for those that do not rebuild.
 * Returns how many rows were counted, -1: nobody has.
 */
static double
make_entries(Relation heap, List *plans, int64 rows, int workers,
			 Conflicts *conflicts)
{
	List	   *order = NIL;
	TeamIndex  *indexes;
	ListCell   *lc;
	double		rows_counted = -1;
	int			i = 0;

	/* in the order of their OIDs, as everyone locks them */
	foreach(lc, plans)
		if (((IndexPlan *) lfirst(lc))->method != INDEX_INSERT)
			begin_file(lfirst(lc));

	order = list_copy(plans);
	list_sort(order, compare_plans);
	indexes = make_tasks(order, rows);
	build_all(heap, order, indexes, workers, conflicts);
	foreach(lc, order)
	{
		const IndexPlan *plan = lfirst(lc);

		complete(heap, lfirst(lc), &indexes[i]);
		if (plan->method == INDEX_REBUILD)
			rows_counted = indexes[i].result.heap_rows;
		i++;
	}
	if (rows_counted >= 0)
		update_heap_statistics(heap, rows_counted);
	return rows_counted;
}

/* ---- when others who use the indexes wait for this load ---- */

/* Whether it may come to that, and matters not to the user. */
static bool
may_give_up_files(Relation heap, List *plans)
{
	ListCell   *lc;

	if (RELATION_IS_LOCAL(heap))
		return false;
	foreach(lc, plans)
	{
		const IndexPlan *plan = lfirst(lc);

		if (plan->method != INDEX_INSERT && plan->wanted == BULK_INDEXES_AUTO && !plan->dry)
			return true;
	}
	return false;
}

/*
 * Makes entries in a subtransaction: false if it was undone because new files cannot
 * be put in place of the old ones.  What was inserted into old ones is there, and
 * rows with the same key are noted, all the same.
 */
static bool
try_plans(Relation heap, List *plans, int64 rows, int workers, Conflicts *conflicts)
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
		(void) make_entries(heap, plans, rows, workers, conflicts);
		swapping = true;
		swap(heap, plans);
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
		if (!swapping || edata->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
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
insert_instead(Relation heap, List *plans, int64 rows, int workers)
{
	List	   *left = NIL;
	ListCell   *lc;

	foreach(lc, plans)
	{
		IndexPlan  *plan = lfirst(lc);

		if (plan->method == INDEX_INSERT)
			continue;
		plan->method = INDEX_INSERT;
		plan->reason = "others who use it wait for this load";
		left = lappend(left, plan);
	}
	(void) make_entries(heap, left, rows, workers, NULL);
	CommandCounterIncrement();
}

void
index_run(Relation heap, List *plans, int64 rows, int workers,
		  Conflicts *conflicts)
{
	ListCell   *lc;

	if (plans == NIL || !((IndexPlan *) linitial(plans))->after)
		return;
	foreach(lc, plans)
		plan_choose(lfirst(lc), heap, rows);
	/* some methods lay out their index for so many rows */
	if (((IndexPlan *) linitial(plans))->heap_blocks == 0)
		update_heap_statistics(heap, rows);
	if (!may_give_up_files(heap, plans))
	{
		(void) make_entries(heap, plans, rows, workers, conflicts);
		swap(heap, plans);
	}
	else if (!try_plans(heap, plans, rows, workers, conflicts))
		insert_instead(heap, plans, rows, workers);
}

double
index_run_again(Relation heap, List *plans, int workers, const char *reason)
{
	ListCell   *lc;
	double		rows;

	foreach(lc, plans)
	{
		IndexPlan  *plan = lfirst(lc);

		plan->method = INDEX_REBUILD;
		plan->reason = reason;
	}
	rows = make_entries(heap, plans, 0, workers, NULL);
	swap(heap, plans);
	return rows;
}

void
index_note_size(Relation heap, double rows)
{
	update_heap_statistics(heap, rows);
}
