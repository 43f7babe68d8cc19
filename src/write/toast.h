/*
 * toast.h
 *		Wide values: compressed, or moved to the TOAST table in bulk.
 *
 * Which values are compressed or moved is decided as the server decides
 * (heap_toast_insert_or_update), with its own helpers.  But the chunks of moved values go into
 * private pages (pages.h), and their index entries wait until these are placed.
 *
 * Assumption: nobody else inserts into the table meanwhile, so into its TOAST table neither, but
 * for the workers of the same load.  Nothing here needs the leader of a parallel group.
 *
 * Price: a wide row is formed twice; free space that the TOAST table had is not used.
 *
 * Trap: logical decoding must meet a row's chunks before the row, and forgets chunks at each end of
 * a multi-insert, which is where a batch of rows is placed:
 *
 *		WAL:  chunks of rows 1..9 | rows 1..9, the last page marked | chunks of rows 10..17 | ...
 *
 * So for a table that is decoded all chunks remain private until toast_flush, however many they
 * are, and they must be placed together: the chunks of the rows in the batch, all of them and no
 * others, and right after them the batch.  Between the two no process, worker or leader, may log
 * changes of the same transaction.  toast_is_full says when it is time.
 *
 * Where the table is not decoded, chunks are placed as pages fill, and the order does not matter;
 * unless the caller may discard rows: then it must ask for the same (toast_hold), as VACUUM never
 * finds chunks that no row refers to.
 */
#ifndef PGBULK_TOAST_H
#define PGBULK_TOAST_H

#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "utils/rel.h"
#include "write/pages.h"

typedef struct Toaster Toaster;

/* Whether a row is stored as it is (heap_prepare_insert's test). */
static inline bool
toast_unneeded(HeapTuple tuple)
{
	return tuple->t_len <= TOAST_TUPLE_THRESHOLD && !HeapTupleHasExternal(tuple);
}

/*
 * Before a table's first row: what this session knows of its TOAST table's indexes may be out of
 * date, and is read again.  Locks the TOAST table as an INSERT of a wide value does, so that
 * REINDEX CONCURRENTLY waits from here on.
 */
extern void toast_forget_indexes(Relation rel);

/*
 * rel: the table, not its TOAST table, which it need not have.  Costs little until the first value
 * is moved.  Memory: the current context.
 */
extern Toaster *toast_open(Relation rel, PageStamp stamp);

/*
 * Chunks go into batch, the caller's, on from tail, which it keeps for the table's next toaster.
 * Before the first row; no other table may use the batch until toast_close.
 */
extern void toast_borrow(Toaster *toaster, PageBatch *batch, PageTail *tail);

/*
 * The row as it is to be stored; its header is not stamped.  It is valid until the next call.  Like
 * toast_flush not within a subtransaction of the caller's: it opens the TOAST table and may place
 * pages.  Errors: 54000 for a row that no page can take.
 */
extern HeapTuple toast_shrink(Toaster *toaster, HeapTuple tuple);

/*
 * hold: chunks remain private until toast_flush, as those of a decoded table do.  The leader of a
 * parallel group takes the locks that its workers will need until the transaction ends.  processes:
 * how many share the ring of buffers.
 */
extern void toast_hold(Toaster *toaster, bool hold, int processes);

/* Whether there are so many chunks in memory that it is time to place the rows. */
extern bool toast_is_full(const Toaster *toaster);

/* All chunks and their index entries are in the TOAST table. */
extern void toast_flush(Toaster *toaster);

/* Forgets the chunks in memory; their rows must not be placed either. */
extern void toast_discard(Toaster *toaster);

extern void toast_close(Toaster *toaster);

#endif							/* PGBULK_TOAST_H */
