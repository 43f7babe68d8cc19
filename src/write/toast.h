/*
 * toast.h
 *		Wide values: compressed, or moved to the TOAST table in bulk.
 *
 * Which values are compressed or moved is decided as the server decides
 * (heap_toast_insert_or_update), with its own helpers.  But the chunks of moved
 * values go into private pages (pages.h), and their index entries are kept
 * until these are placed.
 *
 * Assumption: nobody else inserts into the table meanwhile, and so into its
 * TOAST table, except workers of the same load.  Workers of a parallel group
 * may call all of this.
 *
 * Price: a wide row is formed twice; free space that the TOAST table had is not used.
 *
 * Trap: logical decoding must see a row's chunks before the row, and forgets chunks at each end of
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

/* Whether a row is stored unchanged (heap_prepare_insert's test). */
static inline bool
toast_unneeded(HeapTuple tuple)
{
	return tuple->t_len <= TOAST_TUPLE_THRESHOLD && !HeapTupleHasExternal(tuple);
}

/*
 * Before a table's first row: reloads the relcache entries of its TOAST table's
 * indexes, which may be out of date.  Locks the TOAST table as an INSERT of a
 * wide value does, so that REINDEX CONCURRENTLY waits from here on.
 */
extern void toast_forget_indexes(Relation rel);

/*
 * rel: the table, which need not have a TOAST table.  Costs little until the
 * first value is moved.  Memory: the current context.
 */
extern Toaster *toast_open(Relation rel, PageStamp stamp);

/*
 * Chunks go into the caller's batch, after tail, which the caller keeps for the
 * table's next toaster.  To be called before the first row; no other table may
 * use the batch until toast_close.
 */
extern void toast_borrow(Toaster *toaster, PageBatch *batch, PageTail *tail);

/*
 * The row as it must be stored; its header is not stamped.  Valid until the
 * next call.  Like toast_flush not to be called within a subtransaction of the
 * caller: it opens the TOAST table and may place pages.  Errors: 54000 for a
 * row that does not fit a page.
 */
extern HeapTuple toast_shrink(Toaster *toaster, HeapTuple tuple);

/*
 * hold: chunks remain private until toast_flush, as those of a decoded table do.  The leader of a
 * parallel group takes the locks that its workers will need until the transaction ends.  processes:
 * how many share the ring of buffers.
 */
extern void toast_hold(Toaster *toaster, bool hold, int processes);

/* Whether enough chunks are in memory to place the rows now. */
extern bool toast_is_full(const Toaster *toaster);

/* Puts all chunks and their index entries into the TOAST table. */
extern void toast_flush(Toaster *toaster);

/* Discards the chunks in memory; their rows must not be placed either. */
extern void toast_discard(Toaster *toaster);

extern void toast_close(Toaster *toaster);

#endif							/* PGBULK_TOAST_H */
