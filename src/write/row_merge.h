/*
 * row_merge.h
 *		Rows that are merged with those that have their key.
 *
 * As INSERT ... ON CONFLICT DO UPDATE executed for one row after the other, in the order of the
 * input: so a key may come several times.  A new row whose key nobody has is inserted.  Else the
 * row that is there is locked and, if the condition holds for both, gets new values: with the
 * triggers, generated columns, constraints and index entries of an UPDATE.  A new row may also
 * say that the other is to be deleted; it is inserted nowhere.
 *
 * Price: rows go one by one, each with a descent of every index; what the expressions throw costs
 * a subtransaction for each row where on_error is other than stop.  arbiter_batch_merge.h does the
 * same for many rows at a time, where nobody can tell.
 */
#ifndef PGBULK_ROW_MERGE_H
#define PGBULK_ROW_MERGE_H

#include "postgres.h"

#include "write/leaf_state.h"

/* NULL: rows are not merged.  Memory: the executor state's. */
extern RowMerge *row_merge_open(const LeafContext *context, Leaf *leaf);

/* Whether the row in the slot is to delete the one with its key. */
extern bool row_merge_deletes(LeafContext *context, Leaf *leaf, TupleTableSlot *slot);

/*
 * Deletes it.  The verdict is WRITER_DELETED, WRITER_FILTERED where there is none or a trigger
 * keeps it, or WRITER_DUPLICATE where the condition does not hold.
 */
extern WriterVerdict row_merge_delete(LeafContext *context, Leaf *leaf, TupleTableSlot *slot);

/*
 * Inserts the row in the slot, or merges it, with the guard closed.  The verdict is WRITER_TAKEN,
 * WRITER_FILTERED where a trigger suppresses the update, WRITER_DUPLICATE where the condition does
 * not hold, or WRITER_BAD where the result violates a constraint.
 *
 * Errors: 40001 where the transaction's snapshot does not see the row that is there; 23505 for
 * another unique index; 27000 where a trigger has changed the row.
 */
extern WriterVerdict row_merge_put(LeafContext *context, Leaf *leaf, TupleTableSlot *slot,
							   RowError *err);

/*
 * The same in memory, for arbiter_batch_merge.c: two rows in slots of the leaf's form, with no
 * triggers.  Errors: those of the expressions and, with err NULL, of constraints.
 */
extern bool row_merge_passes(LeafContext *context, Leaf *leaf, TupleTableSlot *standing,
							 TupleTableSlot *slot);

/* The verdict is WRITER_TAKEN, with the new version, WRITER_DUPLICATE or WRITER_BAD. */
extern WriterVerdict row_merge_fold(LeafContext *context, Leaf *leaf, TupleTableSlot *standing,
									TupleTableSlot *slot, TupleTableSlot **merged,
									RowError *err);

/*
 * Where "all" are set: the columns that the current file has, or NULL.  give: rows that follow are
 * those of a file with these; NULL: of the current one.
 */
extern const Bitmapset *row_merge_columns(const RowMerge *merge);
extern void row_merge_give_columns(RowMerge *merge, const Bitmapset *columns);

extern void row_merge_close(RowMerge *merge);

#endif							/* PGBULK_ROW_MERGE_H */
