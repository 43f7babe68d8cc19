/*
 * arbiter_batch_merge.h
 *		Rows of a batch merged with those that have their keys.
 *
 * The outcome is row_merge.h's, row by row in the order of the input.  Rows of the table are
 * fetched in the order of the heap and copied.  Then the rows of the batch are taken in their own
 * order, in memory: what the first of a key makes of the row that is there is what the next one
 * finds.  So expressions are evaluated as often and in the same order as one by one, and an error
 * is about the same row.  At last each key's outcome is written once, in the order of the heap
 * again: an UPDATE of the row (HOT where the server can), a DELETE, or both where it was deleted
 * in between; or the row is locked, as it is where "where" does not hold.  Rows of new keys are
 * stored like those of keep_new.
 *
 * Nothing is locked between the fetch and the write.  So a row is written only if it is still the
 * one that was fetched, by its transaction and its bytes; whoever else has changed it, or is about
 * to, makes its key one to be asked about, which goes the way of row_merge.h with all its rows.  So
 * does a key that somebody was faster to enter.
 *
 * Served are tables where nobody can tell the difference (arbiter_batch_merges): no triggers on
 * rows for INSERT, UPDATE or DELETE, so no foreign keys from or to the table either, no transition
 * tables, no volatile expressions, no other unique index whose keys a row might set or make free
 * for another one of the batch, and a key that no merged row leaves.
 *
 * Price: a copy of each row that is there, and of its new version; they and the rows that wait take
 * half of maintenance_work_mem.  Where rows of the table turn out to be longer than was expected,
 * half as many of the batch are looked up again; new versions that take more than a quarter go one
 * by one.  Rows are locked in the order of the heap, so that who locks them in that of the input
 * may deadlock with the load.  Of several bad rows with on_error = stop one that does not convert
 * is told first, although it may be the later one.
 */
#ifndef PGBULK_ARBITER_BATCH_MERGE_H
#define PGBULK_ARBITER_BATCH_MERGE_H

#include "postgres.h"

#include "write/arbiter_batch_state.h"

/* Whether rows that are merged into the leaf may wait. */
extern bool arbiter_batch_merges(const LeafContext *context, const Leaf *leaf);

/* Memory: the current context, which must be the executor state's. */
extern BatchMerge *batch_merge_open(const Leaf *leaf);

/* Tells the leaf's entries in which indexes merged rows keep their keys. */
extern void batch_merge_keep_keys(const LeafContext *context, const Leaf *leaf);

/* For rows that wait and those that have their keys, of budget bytes. */
extern Size batch_merge_memory(Size budget);

/* A row comes to wait: what the one of the table will take that has its key, about. */
extern Size batch_merge_expect(ArbiterBatch *batch, HeapTuple tuple);

/*
 * The first row is about to wait: notes which columns its file has.  changed: whether the current
 * file has others.
 */
extern void batch_merge_begin(ArbiterBatch *batch);
extern bool batch_merge_changed(const ArbiterBatch *batch);

/* Around a flush: what waits is of the file of which that was noted. */
extern void batch_merge_enter(ArbiterBatch *batch);
extern void batch_merge_leave(ArbiterBatch *batch);

/*
 * The row in the standing slot has the key.  False: it is to be asked about, or there are too many
 * (batch_merge_exceeds).
 */
extern bool batch_merge_take(ArbiterBatch *batch, const Candidate *candidate);

/* Whether such rows exceed the memory: no more of them need be found. */
extern bool batch_merge_exceeds(const ArbiterBatch *batch);

/*
 * When all have been found: merges rows [first, first + n), and gives them their fates.  False:
 * nothing is done, as they exceed the memory; fewer are to be looked up again.
 */
extern bool batch_merge_settle(ArbiterBatch *batch, uint32 first, uint32 n);

/* Merges a row one by one. */
extern void batch_merge_ask(ArbiterBatch *batch, uint32 number);

/* The key that is inserted, as its row has it; NULL: as it was looked up. */
extern const InserterKey *batch_merge_own_key(const ArbiterBatch *batch);

/* Whether the row of the table with the key that is inserted has a new version. */
extern bool batch_merge_stays(const ArbiterBatch *batch);

/* Others were faster to enter the key of a row: all rows with it are to be asked about. */
extern void batch_merge_lose(ArbiterBatch *batch, uint32 number);
extern void batch_merge_ask_lost(ArbiterBatch *batch, uint32 first, uint32 n);

/* Tells of rows what became of them, but that they were loaded. */
extern void batch_merge_tell(ArbiterBatch *batch, uint32 first, uint32 n);

extern void batch_merge_close(BatchMerge *merge);

#endif							/* PGBULK_ARBITER_BATCH_MERGE_H */
