/*
 * toast.h
 *		Wide values: compressed, or moved to the TOAST table in bulk.
 *
 * Which values are compressed or moved is decided as the server decides
 * (heap_toast_insert_or_update), with its own helpers.  But the chunks of what
 * is moved go into private pages (pages.h), and their index entries wait until
 * these are placed.
 *
 * Assumption: nobody else inserts into the table meanwhile, so into its TOAST
 * table neither, but for the workers of the same load.  Nothing here needs
 * the leader of a parallel group.
 *
 * Trap: logical decoding must meet a row's chunks before the row, and forgets
 * chunks at each end of a multi-insert, the placing of a batch of rows.  So of
 * a table that is decoded all chunks stay private until toast_flush, however
 * many they are, and these must go out together: the chunks of the rows in
 * the batch, all of them and no others, and right after them the batch.
 * Between the two nobody, nor another worker, may log changes of the same
 * transaction.  toast_is_full says when it is time.  Where the table is not
 * decoded, chunks are placed as pages fill, and the order does not matter;
 * unless the caller may yet forget rows: then it must ask for the same
 * (toast_hold), for chunks without a row are never found by VACUUM.
 */
#ifndef PGBULK_TOAST_H
#define PGBULK_TOAST_H

#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "utils/rel.h"
#include "write/pages.h"

typedef struct Toaster Toaster;

/* Rows that are stored as they are. */
static inline bool
toast_unneeded(HeapTuple tuple)
{
	return tuple->t_len <= TOAST_TUPLE_THRESHOLD && !HeapTupleHasExternal(tuple);
}

/*
 * Before a table's first row: what this session knows of its TOAST table's indexes may be out of date, and is
 * read anew.  Locks the TOAST table as an INSERT of a wide value does, so that REINDEX CONCURRENTLY waits
 * from here on.
 */
extern void toast_forget_indexes(Relation rel);

/*
 * rel: the table, not its TOAST table, which it need not have.  Costs little
 * until the first value is moved.  Memory: the current context.
 */
extern Toaster *toast_open(Relation rel, PageStamp stamp);

/*
 * Chunks go into batch, the caller's, on from tail, which it keeps for the
 * table's next toaster.  Before the first row; no other table may use the
 * batch until toast_close.
 */
extern void toast_borrow(Toaster *toaster, PageBatch *batch, PageTail *tail);

/*
 * The row as it is to be stored; its header is not stamped.  It lives until
 * the next call.  Like toast_flush not within a subtransaction of the
 * caller's: it opens the TOAST table and may place pages.
 */
extern HeapTuple toast_shrink(Toaster *toaster, HeapTuple tuple);

/*
 * Chunks stay private until toast_flush, as those of a decoded table do.  The leader of a parallel
 * group takes the locks that are to outlive its workers.
 */
extern void toast_hold(Toaster *toaster, bool hold, int processes);

/* So many chunks are held that it is time to place the rows. */
extern bool toast_is_full(const Toaster *toaster);

/* All chunks and their index entries are in the TOAST table. */
extern void toast_flush(Toaster *toaster);

/* Forgets the chunks that are held; their rows must not be placed either. */
extern void toast_discard(Toaster *toaster);

extern void toast_close(Toaster *toaster);

#endif							/* PGBULK_TOAST_H */
