/*
 * batch.h
 *		What a batch of index entries is: for access methods other than btree.
 *
 * Entries of many rows wait in memory, and are inserted in the order that suits
 * the access method, by rules of its own: see brin_batch.c and so on.  It
 * gets what it would get from its own insertion, row by row.
 *
 * Assumption: the index neither makes rows unique nor excludes any.
 */
#ifndef PGBULK_BATCH_H
#define PGBULK_BATCH_H

#include "postgres.h"

#include "access/gin.h"
#include "index/brin_pass.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

typedef struct Batch Batch;

typedef struct BatchRoutine
{
	/* budget: bytes that are likely to wait.  Memory: the current context. */
	Batch	   *(*open) (Relation heap, Relation index, Size budget);

	/*
	 * Takes a row's entries; the current context is for one row.  Errors: those of
	 * the operator class, and 54000 for a key that is too large.
	 */
	void		(*put) (Batch *batch, const ItemPointerData *tid, const Datum *values,
						const bool *isnull);

	/*
	 * NULL where no batch takes_pages.  Takes the entries of all rows of a page of the table, none
	 * of which is dead.  Returns how many rows these are.
	 */
	int			(*put_page) (Batch *batch, BlockNumber block, Page page);

	/* Bytes that wait, with what their insertion takes. */
	Size		(*memory) (const Batch *batch);

	/*
	 * Inserts all that waits.  Errors: those of the access method, about a row
	 * (failed_row.h); 40001 where a serializable transaction has read what is changed.
	 */
	void		(*insert) (Batch *batch);
} BatchRoutine;

struct Batch
{
	const BatchRoutine *routine;
	Relation	heap;
	Relation	index;
	bool		takes_pages;	/* by put_page */
};

extern const BatchRoutine brin_batch;
extern const BatchRoutine gin_batch;
extern const BatchRoutine hash_batch;
extern const BatchRoutine ordered_batch;

/* What becomes of a GIN index that is built. */
typedef struct GinBuildStats
{
	GinStatsData pages;			/* but the root of its tree */
	double		entries;
} GinBuildStats;

/*
 * From here on the index is one that the server builds and writes to the WAL in the end, and
 * this is counted.
 */
extern void gin_batch_build(Batch *batch, GinBuildStats *build);

/* Whether summaries of a BRIN index can be united. */
extern bool brin_batch_serves(Relation index);

/* Whether ordered_batch has an order for the keys of a GiST or SP-GiST index. */
extern bool ordered_batch_serves(Relation index);

/* For an index that is open and locked as for INSERT; NULL: its entries do not wait. */
extern const BatchRoutine *batch_routine(Relation index);

/*
 * A BRIN index may have summaries of ranges of blocks that had none: all rows in
 * blocks from first to before end are of this transaction, and come to this batch.
 */
extern void brin_batch_complete(Batch *batch, BlockNumber first, BlockNumber end);

/*
 * Takes what is known of ranges of blocks, of which there are nblocks; put nothing for these.
 * False: its own ranges are others.
 */
extern bool brin_batch_put_passed(Batch *batch, const BrinPassed *passed, BlockNumber nblocks);

/*
 * When nothing waits: ranges of so many blocks that still have no summary get that of no rows.
 * Returns the number of ranges.
 */
extern double brin_batch_fill(Batch *batch, BlockNumber nblocks);

/* What a presort takes beside its keys: contexts, the first blocks. */
#define BATCH_PRESORT_OVERHEAD (32 * 1024)

#endif							/* PGBULK_BATCH_H */
