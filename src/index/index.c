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
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/relcache.h"

/*
 * Gives an index a new file, which is its own for this transaction alone
 * until that commits.  The lock keeps ALTER INDEX away; readers do not mind.
 */
static Relation
begin_rebuild(Oid relid)
{
	Relation	index = index_open(relid, ShareUpdateExclusiveLock);

	CheckTableNotInUse(index, "bulk_load");
	RelationSetNewRelfilenumber(index, index->rd_rel->relpersistence);
	return index;
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

static void
run_plan(Relation heap, IndexPlan *plan)
{
	Relation	index = begin_rebuild(plan->relid);
	instr_time	start;
	instr_time	end;
	BuildResult result;

	INSTR_TIME_SET_CURRENT(start);
	result = build_index(heap, index, (Size) maintenance_work_mem * 1024);
	/* as CREATE INDEX and REINDEX leave them */
	compat_update_relstats(index, RelationGetNumberOfBlocks(index),
						   result.index_rows, 0, 0, false);
	update_heap_statistics(heap, result.heap_rows);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	plan->seconds = INSTR_TIME_GET_DOUBLE(end);
	plan->runs = result.runs;
	index_close(index, NoLock);
}

void
index_run(Relation heap, List *plans, int64 rows)
{
	ListCell   *lc;

	if (plans == NIL || ((IndexPlan *) linitial(plans))->method == INDEX_INSERT)
		return;
	/* some methods lay out their index for so many rows */
	if (((IndexPlan *) linitial(plans))->heap_blocks == 0)
		update_heap_statistics(heap, rows);
	foreach(lc, plans)
		run_plan(heap, lfirst(lc));
	foreach(lc, plans)
	{
		Relation	index = index_open(((IndexPlan *) lfirst(lc))->relid, NoLock);

		swap(index);
		index_close(index, NoLock);
	}
	CheckForSerializableConflictIn(heap, NULL, InvalidBlockNumber);
	CommandCounterIncrement();
}
