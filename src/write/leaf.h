/*
 * leaf.h
 *		One table that rows are written to: the target, or a partition of it.
 *
 * Rows wait in a batch and go in by table_multi_insert.  For heap tables the
 * tuples are formed here, in the writer's arena, and lent to the slots that
 * table_multi_insert wants; it then finds them materialized and copies each
 * only once, to its page.  Other access methods get slots of their own kind.
 *
 * Their index entries follow at once, or, where there are many rows, wait in
 * turn (index/entries.h).
 */
#ifndef PGBULK_LEAF_H
#define PGBULK_LEAF_H

#include "postgres.h"

#include "table/refusal.h"
#include "write/leaf_state.h"

/* COPY's measures for a batch (copyfrom.c): larger ones were not faster. */
#define LEAF_BATCH_ROWS 1000
#define LEAF_BATCH_BYTES (64 * 1024)

/* Memory: the executor state's. */
extern Leaf *leaf_open(LeafContext *context, ResultRelInfo *rri, bool batches);

extern void leaf_prepare_dry(LeafContext *context, Leaf *leaf);

/*
 * Before the first row comes, also one that a trigger brings: a dry run needs
 * to know.  Outside the guard; flush and insert do it themselves.
 */
static inline void
leaf_prepare(LeafContext *context, Leaf *leaf)
{
	if (unlikely(context->dry != NULL && !leaf->prepared))
		leaf_prepare_dry(context, leaf);
}

/* Takes slot (in the leaf's form) into the batch. */
extern void leaf_put(LeafContext *context, Leaf *leaf, TupleTableSlot *slot,
					 uint32 number);

/* Takes a tuple that lies in the context's arena. */
extern void leaf_put_tuple(LeafContext *context, Leaf *leaf, HeapTuple tuple,
						   uint32 number);

static inline bool
leaf_is_full(const Leaf *leaf)
{
	return leaf->nrows >= LEAF_BATCH_ROWS || leaf->nbytes >= LEAF_BATCH_BYTES;
}

/* Writes the batch: heap, index entries unless these wait, AFTER ROW triggers. */
extern void leaf_flush(LeafContext *context, Leaf *leaf);

/* Why workers may not form rows for it while this process stores them, or REFUSAL_NONE. */
extern RefusalReason leaf_share_refusal(const Leaf *leaf);

/* Whether so many index entries wait that they are to be inserted, once not in parallel mode. */
extern bool leaf_entries_wait(const Leaf *leaf);

/* Notes for checks at the end where the current row, in the slot, has got its place. */
extern void leaf_note_place(LeafContext *context, Leaf *leaf, TupleTableSlot *slot);

/*
 * Makes the index entries of a row that is stored, in the slot, and fires its AFTER ROW triggers.
 * entries: takes those that may wait, or NULL.
 */
extern void leaf_follow_up(LeafContext *context, Leaf *leaf, TupleTableSlot *slot,
						   Entries *entries);

/* Fires AFTER ROW triggers for the row in the slot, which is in the table; frees recheck. */
extern void leaf_fire(LeafContext *context, Leaf *leaf, TupleTableSlot *slot, List *recheck);

/* Inserts the index entries that wait. */
extern void leaf_flush_entries(LeafContext *context, Leaf *leaf);

/* The same for some of those of a leaf that has many (entries_make_room). */
extern void leaf_make_room(LeafContext *context, Leaf *leaf);

/*
 * Writes one row, past the (empty) batch.  False: it is a duplicate, and the writer's
 * error says so.
 */
extern bool leaf_insert(LeafContext *context, Leaf *leaf, TupleTableSlot *slot);

/* Gives back what a leaf without rows holds: arrays, slots, the buffer pin. */
extern void leaf_rest(Leaf *leaf);

/* rest, and the end of the bulk insert. */
extern void leaf_close(LeafContext *context, Leaf *leaf);

#endif							/* PGBULK_LEAF_H */
