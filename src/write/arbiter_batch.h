/*
 * arbiter_batch.h
 *		Rows whose keys others may have taken, by the batch.
 *
 * The outcome is arbiter.h's, and so are the guarantees, under ROW EXCLUSIVE.
 * Rows wait, longer than their window, until their memory is full.  Then their
 * keys are sorted, and looked up in the index leaf by leaf (index/lookup.h).
 * Each row then has one of three fates:
 *
 * duplicate: another row of the batch has its key, an earlier one with keep_old
 * and a later one with keep_new.  Or, with keep_old, a row of the table that
 * stands for certain: everyone sees it, or it was fetched, in the order of the
 * heap, is committed (or of this transaction), and still has the key, as by
 * then its TID might be another row's.
 *
 * new: the index has no entry with the key, or, with keep_new, only one of a
 * row that stood for certain and was deleted, with the page pinned since it
 * was fetched, so that its place could not become another row's.  Such rows go
 * to the table by table_multi_insert, and their keys into the index leaf by
 * leaf (index/entries.h), in the order of the lookup, which also tells where: a leaf that has
 * the LSN that it had then has no key more.  Nobody can have met them before: who looks for a
 * key finds a row by its entry.  That nobody else has the key is decided under
 * the lock of the leaf that the entry goes to, as in any INSERT, and as nobody
 * can have entered it in between; entries of rows deleted here do not count,
 * as nobody can bring these back while this transaction runs.  Who turns out
 * to have been faster keeps the key: our row is deleted, and becomes one to be
 * asked about.  It has no entry then, so that nobody waits for us because of
 * it; but where the server had to split the page, and so has found the other
 * one only when our entry was in, others wait for the end of this transaction
 * as for that of any row of it.
 *
 * to be asked about: everything else; an entry whose row is dead, or in the hands of a
 * transaction that is running, or unseen by this one's snapshot.  These go
 * through the arbiter one by one, which waits and raises errors as INSERT ...
 * ON CONFLICT does.  They come before the new rows, when the fewest keys are in
 * our hands, and in the order of the input; with keep_new all rows with such a key.
 *
 * With keep_new a row that stands, is none of the load, and whose page has room for the new one is
 * not deleted but updated, if no column of an index changes: then the new row has its entries
 * already (HOT).  Whoever waits for it goes on with the new row.
 *
 * That with keep_old the batch's earlier row has a key and the later one is a duplicate does
 * not depend on what becomes of the first: it is stored, or another row has
 * the key.
 *
 * That does not hold where several indexes judge.  Then all are looked up, one after the
 * other, and rows are decided in the order of the input (fates.h): new is a row none of whose
 * keys is taken, and all its entries are on trial.  If one turns out to be taken the row
 * goes, as above; its other keys keep others waiting until this transaction ends, as those of
 * an entry that was found too late.  The rows that were duplicates of it are asked about.
 *
 * Rows that are merged have the same fates, which arbiter_batch_merge.h gives.
 *
 * Served is what needs nothing at its turn (arbiter_batch_open): unique btrees
 * that judge, with keep_new one, no triggers on rows, no foreign keys from the
 * table, nor to it with keep_new, a heap table that is not logically decoded, as
 * subscribers would get rows that are taken back.  Each partition is a table with
 * a batch of its own, as nothing but its own indexes judges its rows.
 *
 * Price: the rows are in memory until then, those of all partitions in three eighths of
 * maintenance_work_mem, or with the rows of the table that they are merged with in half of it; the
 * rest is for the keys of one batch.  An error that a row raises by then
 * is told with its line, but not with its text.
 */
#ifndef PGBULK_ARBITER_BATCH_H
#define PGBULK_ARBITER_BATCH_H

#include "postgres.h"

#include "write/leaf_state.h"

/*
 * For a leaf whose rows may wait as far as its table goes; NULL: they cannot.
 * Memory: the executor state's.
 */
extern ArbiterBatch *arbiter_batch_open(LeafContext *context, Leaf *leaf);

/* Where the tuples of rows that will be put are formed. */
extern Arena *arbiter_batch_arena(ArbiterBatch *batch);

/* Takes a tuple that lies there; raw: the row's bytes where they may be shown, or NULL. */
extern void arbiter_batch_put(ArbiterBatch *batch, HeapTuple tuple, const JournalPlace *place,
							  const char *raw);

/* The same; number: of the row in the window. */
extern void arbiter_batch_put_number(ArbiterBatch *batch, HeapTuple tuple, uint32 number);

/* The same for a row that is merged: it is to delete the one that has its key. */
extern void arbiter_batch_put_deleting(ArbiterBatch *batch, HeapTuple tuple, uint32 number);

/* Whether it takes rows of the current file; else those that wait must be settled first. */
extern bool arbiter_batch_accepts(const ArbiterBatch *batch);

/* How many rows may wait, if they are like those so far; 0: there were none. */
extern double arbiter_batch_rows(const ArbiterBatch *batch);

/* Its part of what the rows of all leaves take that wait. */
extern Size arbiter_batch_memory(const ArbiterBatch *batch);

/* Whether that is all that may. */
extern bool arbiter_batch_full(const ArbiterBatch *batch);

/*
 * Settles all rows that wait.  Errors: those of arbiter_insert, row_merge_put and leaf_flush,
 * duplicate_limit.
 */
extern void arbiter_batch_flush(ArbiterBatch *batch);

extern void arbiter_batch_close(ArbiterBatch *batch);

#endif							/* PGBULK_ARBITER_BATCH_H */
