/*
 * brin_pass.c
 *		See brin_pass.h.
 */
#include "postgres.h"

#include "access/brin.h"
#include "access/genam.h"
#include "access/xact.h"
#include "catalog/pg_am_d.h"
#include "index/brin_pass.h"
#include "storage/bufmgr.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/relcache.h"

/* Bytes for an index, in a worker's shared memory and in all; beyond that it is scanned for. */
#define SHARED_BYTES (2 * 1024 * 1024)
#define LOCAL_BYTES (32 * 1024 * 1024)

#define FIRST_RANGES 64

/* What there is to say of all pages. */
typedef struct PassCount
{
	bool		failed;			/* too many ranges */
	int64		npages;
	int64		nrows;
} PassCount;

/* In shared memory: pages of all workers. */
typedef struct SharedPass
{
	slock_t		lock;
	BlockNumber first;			/* that workers may write */
	int			nindexes;
	PassCount	count;
} SharedPass;

struct BrinPass
{
	MemoryContext context;
	CommandId	cid;			/* of the rows */
	SharedPass *shared;			/* a worker's; NULL: the memory is its own */
	PassCount	count;
	int			nindexes;
	BrinPassed *indexes;
};

/* ---- begin ---- */

static bool
serves(Relation index)
{
	if (index->rd_rel->relam != BRIN_AM_OID)
		return false;
	for (int i = 0; i < RelationGetDescr(index)->natts; i++)
	{
		MinmaxKind	kind = minmax_kind(index, i);

		/* of zeroes and NaNs that are equal and yet differ, the first one counts */
		if (kind == MINMAX_OTHER || kind == MINMAX_FLOAT4 || kind == MINMAX_FLOAT8)
			return false;
	}
	return true;
}

static void
add_index(BrinPass *pass, Relation heap, Relation index)
{
	BrinPage   *reader = serves(index) ? brin_page_open(heap, index) : NULL;

	if (reader == NULL)
		return;
	pass->indexes[pass->nindexes++] = (BrinPassed) {
		.relid = RelationGetRelid(index),
		.ncolumns = RelationGetDescr(index)->natts,
		.blocks = BrinGetPagesPerRange(index),
		.reader = reader
	};
}

BrinPass *
brin_pass_open(Relation heap)
{
	List	   *relids = RelationGetIndexList(heap);
	BrinPass   *pass;
	ListCell   *lc;

	if (relids == NIL)
		return NULL;
	pass = palloc0(sizeof(BrinPass));
	pass->context = CurrentMemoryContext;
	pass->cid = GetCurrentCommandId(false);
	pass->indexes = palloc0(list_length(relids) * sizeof(BrinPassed));
	foreach(lc, relids)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		add_index(pass, heap, index);
		index_close(index, AccessShareLock);
	}
	list_free(relids);
	return pass->nindexes > 0 ? pass : NULL;
}

/* ---- pages ---- */

static inline Size
range_bytes(const BrinPassed *index)
{
	return index->ncolumns * sizeof(MinmaxColumn);
}

/* Space for a range, with others behind it; false: that are too many. */
static bool
grow(BrinPass *pass, BrinPassed *index, uint32 range)
{
	uint64		nranges = Max(FIRST_RANGES, 2 * ((uint64) range + 1));
	MinmaxColumn *columns;

	if (pass->shared != NULL || nranges * range_bytes(index) > LOCAL_BYTES)
		return false;
	columns = MemoryContextAllocZero(pass->context, nranges * range_bytes(index));
	if (index->nranges > 0)
	{
		memcpy(columns, index->columns, index->nranges * range_bytes(index));
		pfree(index->columns);
	}
	index->columns = columns;
	index->nranges = nranges;
	return true;
}

static void
unite(MinmaxColumn *to, const MinmaxColumn *from)
{
	to->has_nulls |= from->has_nulls;
	if (!from->has_values)
		return;
	if (!to->has_values || from->least_number < to->least_number)
	{
		to->least_number = from->least_number;
		to->least = from->least;
	}
	if (!to->has_values || from->greatest_number > to->greatest_number)
	{
		to->greatest_number = from->greatest_number;
		to->greatest = from->greatest;
	}
	to->has_values = true;
}

/* Adds to a range of blocks; false: there is no space for it. */
static bool
add_to_range(BrinPass *pass, BrinPassed *index, uint32 range, const MinmaxColumn *columns)
{
	Assert(range >= index->first);
	range -= index->first;
	if (range >= index->nranges && !grow(pass, index, range))
		return false;
	for (int i = 0; i < index->ncolumns; i++)
		unite(&index->columns[(Size) range * index->ncolumns + i], &columns[i]);
	return true;
}

void
brin_pass_add(BrinPass *pass, BlockNumber block, Page page)
{
	PassCount  *count = pass->shared != NULL ? &pass->shared->count : &pass->count;
	int			nrows = 0;

	for (int i = 0; i < pass->nindexes; i++)
	{
		BrinPassed *index = &pass->indexes[i];
		const MinmaxColumn *columns = brin_page_read(index->reader, page, &nrows);

		if (pass->shared != NULL)
			SpinLockAcquire(&pass->shared->lock);
		if (!add_to_range(pass, index, block / index->blocks, columns))
			count->failed = true;
		if (i == 0)
		{
			count->npages++;
			count->nrows += nrows;
		}
		if (pass->shared != NULL)
			SpinLockRelease(&pass->shared->lock);
	}
}

/* ---- beside other processes ---- */

Size
brin_pass_share_size(const BrinPass *pass)
{
	return pass == NULL ? 0 : MAXALIGN(sizeof(SharedPass)) + pass->nindexes * SHARED_BYTES;
}

void
brin_pass_share(BrinPass *pass, void *shared, Relation heap)
{
	SharedPass *to = shared;

	memset(shared, 0, brin_pass_share_size(pass));
	SpinLockInit(&to->lock);
	to->first = RelationGetNumberOfBlocks(heap);
	to->nindexes = pass->nindexes;
}

/* Where the ranges of an index are in shared memory. */
static void
place_shared(BrinPassed *index, int number, const SharedPass *shared)
{
	index->first = shared->first / index->blocks;
	index->nranges = SHARED_BYTES / range_bytes(index);
	index->columns = (MinmaxColumn *) ((char *) shared + MAXALIGN(sizeof(SharedPass)) +
									   (Size) number * SHARED_BYTES);
}

BrinPass *
brin_pass_join(Relation heap, void *shared)
{
	BrinPass   *pass = brin_pass_open(heap);

	/* the leader has locked the indexes */
	if (pass == NULL || pass->nindexes != ((SharedPass *) shared)->nindexes)
		elog(ERROR, "indexes of \"%s\" are not the leader's", RelationGetRelationName(heap));
	pass->shared = shared;
	for (int i = 0; i < pass->nindexes; i++)
		place_shared(&pass->indexes[i], i, shared);
	return pass;
}

void
brin_pass_gather(BrinPass *pass, void *shared)
{
	SharedPass *from = shared;

	SpinLockAcquire(&from->lock);
	pass->count.failed |= from->count.failed;
	pass->count.npages += from->count.npages;
	pass->count.nrows += from->count.nrows;
	SpinLockRelease(&from->lock);
	for (int i = 0; i < pass->nindexes; i++)
	{
		BrinPassed	others = pass->indexes[i];
		uint32		used;

		place_shared(&others, i, from);
		for (used = others.nranges; used > 0; used--)
		{
			/* every row has a value or a null in the first column */
			const MinmaxColumn *last = &others.columns[(Size) (used - 1) * others.ncolumns];

			if (last->has_values || last->has_nulls)
				break;
		}
		for (uint32 range = 0; range < used; range++)
			if (!add_to_range(pass, &pass->indexes[i], others.first + range,
							  &others.columns[(Size) range * others.ncolumns]))
				pass->count.failed = true;
	}
}

/* ---- end ---- */

/*
 * A function that writes to the table while it is loaded, whatever it says of itself, does so by a
 * command of its own.
 */
bool
brin_pass_is_complete(const BrinPass *pass, Relation heap, int64 rows)
{
	return !pass->count.failed && pass->count.nrows == rows &&
		pass->count.npages == RelationGetNumberOfBlocks(heap) &&
		pass->cid == GetCurrentCommandId(false);
}

const BrinPassed *
brin_pass_find(const BrinPass *pass, Oid relid)
{
	for (int i = 0; i < pass->nindexes; i++)
		if (pass->indexes[i].relid == relid)
			return &pass->indexes[i];
	return NULL;
}
