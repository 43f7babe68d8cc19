/*
 * reclaim.c
 *		See reclaim.h.
 */
#include "postgres.h"

#include "commands/trigger.h"
#include "index/index.h"
#include "load/reclaim.h"
#include "storage/bufmgr.h"
#include "table/compact.h"

/* Minimum number of blocks to reclaim; they must also be a large enough part of the table. */
#define MIN_BLOCKS 8

/* Why nothing is truncated if pages contain rows of others. */
#define WRITTEN_BY_OTHERS "a function has written to the table, too; VACUUM will give the space back"

/*
 * Whether index entries survive an abort because they are in an index file that
 * other sessions use.  Then no other row may be placed where they point until
 * VACUUM has removed them.
 */
static bool
has_lasting_entries(const IndexTable *table)
{
	ListCell   *lc;

	foreach(lc, table->plans)
		if (((IndexPlan *) lfirst(lc))->method == INDEX_INSERT)
			return true;
	return false;
}

/* Whether most rows of the load have been deleted from a table, and make up much of it. */
static bool
is_worth_reclaiming(const Checks *checks, const IndexTable *table)
{
	IndexPlan  *plan = table->plans == NIL ? NULL : linitial(table->plans);
	int64		taken = checks_deleted(checks, table->relid);
	BlockNumber nblocks;

	if (plan == NULL || !plan->after || taken < table->rows - table->rows / 2)
		return false;
	nblocks = RelationGetNumberOfBlocks(table->heap);
	return nblocks - table->heap_blocks >= Max(MIN_BLOCKS, nblocks / PLAN_LARGE_PART);
}

/* Moves the remaining rows of a table together; false if it stays as it is. */
static bool
shrink(const Checks *checks, IndexTable *table, LoadResult *result)
{
	if (!is_worth_reclaiming(checks, table))
		return false;
	/* queued triggers refer to rows by TID */
	if (checks_queued(checks) || AfterTriggerPendingOnRel(table->relid))
	{
		result->not_freed =
			"deferrable constraints have yet to be checked; VACUUM will give the space back";
		return false;
	}
	if (has_lasting_entries(table))
	{
		result->not_freed = "index entries were inserted; VACUUM will give the space back";
		return false;
	}
	if (!compact_tail(table->heap, table->heap_blocks, table->rows, &table->end))
	{
		result->not_freed = WRITTEN_BY_OTHERS;
		return false;
	}
	return true;
}

/* Truncates the emptied blocks. */
static void
cut_off(IndexTable *table, LoadResult *result)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(table->heap);

	/* functions called by the rebuild of an index may have written rows */
	if (!compact_is_empty(table->heap, table->end))
		result->not_freed = WRITTEN_BY_OTHERS;
	else if (compact_truncate(table->heap, table->end))
	{
		result->blocks_freed += nblocks - table->end;
		index_note_size(table);
	}
	else
		result->not_freed = "others use the table; VACUUM will give the space back";
}

void
reclaim_space(const Checks *checks, int workers, LoadResult *result)
{
	List	   *shrunk = NIL;
	ListCell   *lc;

	foreach(lc, result->tables)
		if (shrink(checks, lfirst(lc), result))
			shrunk = lappend(shrunk, lfirst(lc));
	if (shrunk == NIL)
		return;
	index_run_again(shrunk, workers, "most rows of the load have gone again");
	foreach(lc, shrunk)
		cut_off(lfirst(lc), result);
}
