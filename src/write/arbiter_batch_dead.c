/*
 * arbiter_batch_dead.c
 *		See arbiter_batch_dead.h.
 */
#include "postgres.h"

#include "index/huge_array.h"
#include "index/keysort.h"
#include "miscadmin.h"
#include "write/arbiter_batch_dead.h"

void
dead_add(ArbiterBatch *batch, uint32 number, RowId entry)
{
	DeadEntries *dead = &batch->dead;

	dead->list = huge_array_grow(batch->scratch, dead->list, dead->n, &dead->capacity,
								 sizeof(SortItem));
	dead->list[dead->n++] = (SortItem) {
		(uint64) batch->rows[number].found.block << 32 | number, entry
	};
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
	spare = huge_array_alloc(batch->scratch, dead->n * sizeof(SortItem));
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

		if (dead->list[middle].key >> 32 < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int
dead_on_leaf(void *arg, BlockNumber block, XLogRecPtr lsn, ItemPointerData *tids, int max)
{
	const ArbiterBatch *batch = arg;
	const DeadEntries *dead = &batch->dead;
	int			n = 0;

	for (uint32 i = first_of(dead, block); i < dead->n && n < max; i++)
	{
		SortItem	item = dead->list[i];

		if (item.key >> 32 != block)
			break;
		if (batch->rows[(uint32) item.key].found.lsn == lsn)
			row_tid(item.value, &tids[n++]);
	}
	qsort(tids, n, sizeof(ItemPointerData), row_compare_tids);
	return n;
}
