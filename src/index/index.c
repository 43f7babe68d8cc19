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
#include "index/team.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/relcache.h"
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
 * From here to the end of the transaction nobody reads the index.  What
 * serializable transactions have seen of the old one is what they have seen of the
 * table.
 */
static void
swap(Relation index)
{
	LockRelation(index, AccessExclusiveLock);
	TransferPredicateLocksToHeapRelation(index);
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

	foreach(lc, plans)
		shared += ((IndexPlan *) lfirst(lc))->shareable;
	if (workers < 0)
		workers = workers_for_bytes(heap, (int64) RelationGetNumberOfBlocks(heap) * BLCKSZ);
	team_build(heap, indexes, shared, workers, conflicts);
	foreach(lc, plans)
	{
		if (n >= shared)
			team_build_one(heap, &indexes[n], (Size) maintenance_work_mem * 1024,
						   conflicts);
		n++;
	}
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
	plan->seconds = built->seconds;
	plan->runs = built->result.runs;
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
 * As the plans say; rows: of the load, for those that do not rebuild.  Returns how many rows
 * were counted, -1: nobody has.
 */
static double
run_plans(Relation heap, List *plans, int64 rows, int workers,
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

	foreach(lc, plans)
	{
		const IndexPlan *plan = lfirst(lc);
		Relation	index;

		if (plan->method == INDEX_INSERT || plan->dry)
			continue;
		index = index_open(plan->relid, NoLock);
		swap(index);
		index_close(index, NoLock);
	}
	CheckForSerializableConflictIn(heap, NULL, InvalidBlockNumber);
	CommandCounterIncrement();
	return rows_counted;
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
	(void) run_plans(heap, plans, rows, workers, conflicts);
}

double
index_run_again(Relation heap, List *plans, int workers, const char *reason)
{
	List	   *seconds = NIL;
	ListCell   *lc;
	ListCell   *before;
	double		rows;

	foreach(lc, plans)
	{
		IndexPlan  *plan = lfirst(lc);

		seconds = lappend(seconds, memcpy(palloc(sizeof(double)), &plan->seconds,
										  sizeof(double)));
		plan->method = INDEX_REBUILD;
		plan->reason = reason;
	}
	rows = run_plans(heap, plans, 0, workers, NULL);
	forboth(lc, plans, before, seconds)
		((IndexPlan *) lfirst(lc))->seconds += *(double *) lfirst(before);
	list_free_deep(seconds);
	return rows;
}

void
index_note_size(Relation heap, double rows)
{
	update_heap_statistics(heap, rows);
}
