/*
 * fates.c
 *		See fates.h.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "write/fates.h"

/* A key that no row has taken; one that it is not known of; no key.  Others: the row with it. */
#define FREE PG_UINT32_MAX
#define DOUBTFUL (PG_UINT32_MAX - 1)
#define NO_KEY PG_UINT32_MAX

typedef struct IndexKeys
{
	uint32	   *leaders;		/* by row: the first row with its key, or NO_KEY */
	uint32	   *takers;			/* by leader: who has the key */
} IndexKeys;

struct Fates
{
	int			nindexes;
	IndexKeys	indexes[FLEXIBLE_ARRAY_MEMBER];
};

static uint32 *
make_rows(uint32 nrows)
{
	Size		size = nrows * sizeof(uint32);

	return memset(MemoryContextAllocHuge(CurrentMemoryContext, size), 0xFF, size);
}

Fates *
fates_open(int nindexes, uint32 nrows)
{
	Fates	   *fates = palloc(offsetof(Fates, indexes) + nindexes * sizeof(IndexKeys));

	fates->nindexes = nindexes;
	for (int i = 0; i < nindexes; i++)
		fates->indexes[i] = (IndexKeys) {make_rows(nrows), make_rows(nrows)};
	return fates;
}

void
fates_put(Fates *fates, int index, uint32 row, uint32 leader, Fate key)
{
	IndexKeys  *keys = &fates->indexes[index];

	Assert(key == FATE_NEW || key == FATE_ASK);
	keys->leaders[row] = leader;
	if (row == leader)
		keys->takers[leader] = key == FATE_ASK ? DOUBTFUL : FREE;
}

/* Who has the row's key in an index, or NULL: it has none. */
static uint32 *
find_taker(const Fates *fates, int index, uint32 row)
{
	const IndexKeys *keys = &fates->indexes[index];

	return keys->leaders[row] == NO_KEY ? NULL : &keys->takers[keys->leaders[row]];
}

Fate
fates_decide(Fates *fates, uint32 row, int *index, uint32 *because)
{
	bool		doubtful = false;

	for (int i = 0; i < fates->nindexes; i++)
	{
		const uint32 *taker = find_taker(fates, i, row);

		if (taker == NULL || *taker == FREE)
			continue;
		if (*taker != DOUBTFUL)
		{
			*index = i;
			*because = *taker;
			return FATE_DUPLICATE;
		}
		doubtful = true;
	}
	for (int i = 0; i < fates->nindexes; i++)
	{
		uint32	   *taker = find_taker(fates, i, row);

		if (taker != NULL)
			*taker = doubtful ? DOUBTFUL : row;
	}
	return doubtful ? FATE_ASK : FATE_NEW;
}
