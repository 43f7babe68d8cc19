/*
 * buffered_flush.h
 *		What waits in the leaves of the buffered writer: rows, index entries, rows that are to ask
 *		for their keys.  Those of all leaves together stay within the memory.
 */
#ifndef PGBULK_BUFFERED_FLUSH_H
#define PGBULK_BUFFERED_FLUSH_H

#include "postgres.h"

#include "write/buffered_state.h"

/*
 * A leaf of many was written to: it keeps its slots and its buffer pin, and
 * the one that had its turn longest ago releases its own.
 */
extern void buffered_keep_warm(BufferedWriter *writer, Leaf *leaf);

/* Takes a row, in the leaf's form, into its batch. */
extern void buffered_put_slot(BufferedWriter *writer, Leaf *leaf, TupleTableSlot *slot,
							  uint32 number);

/* The same for a tuple, which stays where it is. */
extern void buffered_put_tuple(BufferedWriter *writer, Leaf *leaf, HeapTuple tuple, uint32 number);

/* The leaf's batch is full: its rows go to the table. */
extern void buffered_flush_leaf(BufferedWriter *writer, Leaf *leaf);

/* Afterwards the rows of all batches are in their tables, or wait to ask for their keys. */
extern void buffered_flush_all(BufferedWriter *writer);

/*
 * The index entries that wait for all partitions stay within the memory: of
 * the one that has most of them they go in first.
 */
extern void buffered_bound_entries(BufferedWriter *writer);

/* Whether so many wait that they are to be inserted, once not in parallel mode. */
extern bool buffered_entries_wait(const BufferedWriter *writer);

/* Inserts all of them. */
extern void buffered_flush_entries(BufferedWriter *writer);

/* Those of all partitions stay within the memory: most of one are settled first. */
extern void buffered_bound_keys(BufferedWriter *writer, Leaf *leaf);

/* Whether they are all that may wait. */
extern bool buffered_keys_wait(const BufferedWriter *writer);

/* Settles all rows that wait to ask for their keys. */
extern void buffered_settle_keys(BufferedWriter *writer);

#endif							/* PGBULK_BUFFERED_FLUSH_H */
