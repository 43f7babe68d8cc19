/*
 * candidates.c
 *		See candidates.h.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "index/candidates.h"
#include "index/keysort.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#define FIRST_CAPACITY 1024

/* Pages are read ahead while some had to be read lately, else one of so many is tried. */
#define MAX_READS 64
#define TRY_ONE_OF 16

/* Rows between two checks for interrupts. */
#define ROWS_AT_ONCE 1024

void
candidates_add(Candidates *candidates, MemoryContext context, const ItemPointerData *tid,
			   uint32 number)
{
	if (candidates->n == candidates->capacity)
	{
		candidates->capacity = Max(2 * candidates->capacity, FIRST_CAPACITY);
		candidates->list = candidates->list == NULL ?
			MemoryContextAlloc(context, candidates->capacity * sizeof(Candidate)) :
			repalloc_huge(candidates->list, candidates->capacity * sizeof(Candidate));
	}
	candidates->list[candidates->n++] = (Candidate) {row_id(tid, true), number};
}

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

void
candidates_sort(Candidates *candidates)
{
	Size		size = candidates->n * sizeof(SortItem);
	SortItem   *items = MemoryContextAllocHuge(CurrentMemoryContext, 2 * size);

	for (uint32 i = 0; i < candidates->n; i++)
		items[i] = (SortItem) {candidates->list[i].standing, candidates->list[i].number};
	keysort_integers(items, items + candidates->n, candidates->n, poll_interrupts);
	for (uint32 i = 0; i < candidates->n; i++)
		candidates->list[i] = (Candidate) {items[i].key, items[i].value};
	pfree(items);
}

void
candidates_read_ahead(Candidates *candidates, Relation heap, uint32 i)
{
	uint32		end = Min(candidates->n, i + maintenance_io_concurrency);

	for (; candidates->ahead < end; candidates->ahead++)
	{
		uint32		ahead = candidates->ahead;
		BlockNumber block = row_block(candidates->list[ahead].standing);

		if (ahead > 0 && block == row_block(candidates->list[ahead - 1].standing))
			continue;
		if (candidates->reads == 0 && candidates->tries++ % TRY_ONE_OF != 0)
			continue;
		if (PrefetchBuffer(heap, MAIN_FORKNUM, block).initiated_io)
			candidates->reads = MAX_READS;
		else if (candidates->reads > 0)
			candidates->reads--;
	}
}

void
candidates_ask(Candidates *candidates, Relation heap, Snapshot snapshot,
			   const CandidatesAsker *asker)
{
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;

	if (candidates->n == 0)
		return;
	candidates_sort(candidates);
	slot = table_slot_create(heap, NULL);
	fetch = compat_table_index_fetch_begin(heap);
	for (uint32 i = 0; i < candidates->n; i++)
	{
		const Candidate *candidate = &candidates->list[i];
		bool		again = false;
		ItemPointerData tid;

		if (i % ROWS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		candidates_read_ahead(candidates, heap, i);
		if (asker->is_answered(asker->arg, candidate->number))
			continue;
		row_tid(candidate->standing, &tid);
		if (table_index_fetch_tuple(fetch, &tid, snapshot, slot, &again, NULL))
			asker->stands(asker->arg, candidate->number, candidate->standing);
	}
	table_index_fetch_end(fetch);
	ExecDropSingleTupleTableSlot(slot);
	candidates->n = candidates->ahead = 0;
}
