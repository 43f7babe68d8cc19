/*
 * candidates.c
 *		See candidates.h.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "write/candidates.h"

#define FIRST_CAPACITY 1024

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

static int
compare_candidates(const void *a, const void *b)
{
	RowId		row_a = ((const Candidate *) a)->standing;
	RowId		row_b = ((const Candidate *) b)->standing;

	return (row_a > row_b) - (row_a < row_b);
}

void
candidates_sort(Candidates *candidates)
{
	qsort(candidates->list, candidates->n, sizeof(Candidate), compare_candidates);
}

void
candidates_read_ahead(Candidates *candidates, Relation heap, uint32 i)
{
	uint32		end = Min(candidates->n, i + maintenance_io_concurrency);

	for (; candidates->ahead < end; candidates->ahead++)
	{
		uint32		ahead = candidates->ahead;
		BlockNumber block = row_block(candidates->list[ahead].standing);

		if (ahead == 0 || block != row_block(candidates->list[ahead - 1].standing))
			PrefetchBuffer(heap, MAIN_FORKNUM, block);
	}
}
