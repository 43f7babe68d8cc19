/*
 * arbiter_batch_dead.c
 *		See arbiter_batch_dead.h.
 */
#include "postgres.h"

#include "index/keysort.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "write/arbiter_batch_dead.h"

#define FIRST_CAPACITY 1024

void
dead_add(ArbiterBatch *batch, uint32 number)
{
	DeadEntries *dead = &batch->dead;

	if (dead->n == dead->capacity)
	{
		dead->capacity = Max(2 * dead->capacity, FIRST_CAPACITY);
		dead->list = dead->list == NULL ?
			MemoryContextAlloc(batch->scratch, dead->capacity * sizeof(SortItem)) :
			repalloc_huge(dead->list, dead->capacity * sizeof(SortItem));
	}
	dead->list[dead->n++] = (SortItem) {batch->rows[number].found.block, number};
}

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

void
dead_sort(ArbiterBatch *batch)
{
	DeadEntries *dead = &batch->dead;
	SortItem   *spare;

	if (dead->n == 0)
		return;
	spare = MemoryContextAllocHuge(batch->scratch, dead->n * sizeof(SortItem));
	keysort_integers(dead->list, spare, dead->n, poll_interrupts);
	pfree(spare);
}

/* The first one of a block, or of one after it. */
static uint32
first_of(const DeadEntries *dead, BlockNumber block)
{
	uint32		low = 0;
	uint32		high = dead->n;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (dead->list[middle].key < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int
compare_tids(const void *a, const void *b)
{
	return ItemPointerCompare(unconstify(ItemPointerData *, (const ItemPointerData *) a),
							  unconstify(ItemPointerData *, (const ItemPointerData *) b));
}

int
dead_on_leaf(void *arg, BlockNumber block, XLogRecPtr lsn, ItemPointerData *tids, int max)
{
	const ArbiterBatch *batch = arg;
	const DeadEntries *dead = &batch->dead;
	int			n = 0;

	for (uint32 i = first_of(dead, block); i < dead->n && dead->list[i].key == block && n < max; i++)
	{
		const WaitingRow *row = &batch->rows[dead->list[i].value];

		if (row->found.lsn == lsn)
			row_tid(row->dead, &tids[n++]);
	}
	qsort(tids, n, sizeof(ItemPointerData), compare_tids);
	return n;
}
