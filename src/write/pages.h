/*
 * pages.h
 *		Heap pages formed privately and then placed at the end of a table.
 *
 * Tuples are put into pages in private memory; when a number of pages is
 * full, the table is extended by as many blocks at once, and each page is
 * copied into its buffer and logged under the buffer's lock, as one
 * multi-insert record that initialises its page.  That form of WAL (and not
 * full-page images) is what logical decoding reads.
 *
 * Assumption: nobody else inserts into the table meanwhile (SHARE ROW
 * EXCLUSIVE lock).  Price: the free space that the table had is not used.
 * Trap: everything goes through shared buffers, for others can read the
 * table; pages written past them could be hidden by zero pages that a
 * reader has cached, or be lost to a checkpoint in between.
 *
 * What a tuple's header holds is heap_prepare_insert's doing, and the WAL
 * record is heap_multi_insert's (heapam.c, PostgreSQL 18).
 */
#ifndef PGBULK_PAGES_H
#define PGBULK_PAGES_H

#include "postgres.h"

#include "access/htup.h"
#include "storage/buf.h"
#include "utils/rel.h"

/* Blocks that a table is extended by: fewer cost time, more do not save any. */
#define PAGES_BATCH 64

typedef struct PageBatch
{
	Relation	rel;
	TransactionId xid;
	CommandId	cid;
	Size		reserve;		/* bytes to leave free in a page (fillfactor) */
	bool		logged;
	bool		decoded;		/* WAL must carry the tuples for logical decoding */
	BufferAccessStrategy strategy;
	char	   *pages;			/* PAGES_BATCH of them */
	int			npages;			/* begun; all but the last are full */
	char	   *record;			/* room for a page's WAL record */
} PageBatch;

/* Assigns a transaction id.  Memory: the current context. */
extern PageBatch *pages_open(Relation rel, CommandId cid);

/*
 * Puts a tuple, whose header is finished here; it must fit a page.  False:
 * the batch is full and must be placed first.
 */
extern bool pages_put(PageBatch *batch, HeapTuple tuple);

/*
 * Places all pages, the last one as full as it is.  Not within a
 * subtransaction of the one that opened the batch: the WAL records would
 * bear the wrong transaction id.
 */
extern void pages_place(PageBatch *batch);

extern void pages_close(PageBatch *batch);

#endif							/* PGBULK_PAGES_H */
