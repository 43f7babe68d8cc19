/*
 * arbiter.h
 *		Rows one by one into a table whose keys others may have taken.
 *
 * What INSERT ... ON CONFLICT does: look whether a key is taken, else insert as if on trial,
 * and look again what others have done meanwhile.  keep_old sets the new row aside;
 * keep_new deletes each row that is in its way, with triggers and all, before.
 * Exclusion constraints count as unique indexes do.
 */
#ifndef PGBULK_ARBITER_H
#define PGBULK_ARBITER_H

#include "postgres.h"

#include "write/leaf_state.h"

/*
 * NULL where no index of the leaf can have duplicates, or they are errors.
 * Memory: the current context, which must be the executor state's.
 */
extern Arbiter *arbiter_open(const LeafContext *context, ResultRelInfo *rri);

/*
 * Stores the row in the slot with its index entries.  False: it is a duplicate, and the
 * writer's error says so.  recheck: as ExecInsertIndexTuples.
 *
 * Errors: 40001 where the transaction's snapshot does not see the row that is
 * in the way; 55000 where a constraint is deferrable; 23505 where a trigger
 * keeps a row from being deleted.
 */
extern bool arbiter_insert(LeafContext *context, Leaf *leaf,
						   TupleTableSlot *slot, List **recheck);

/*
 * The steps of that, for row_merge.c.  find: whether a row has the key of the one in the slot, by
 * the index by which rows are merged.
 */
extern bool arbiter_find(LeafContext *context, Leaf *leaf, TupleTableSlot *slot, ItemPointer tid);

/* Locks that row and fetches it.  False: it has changed meanwhile; look again.  Errors: 40001. */
extern bool arbiter_lock(LeafContext *context, Leaf *leaf, ItemPointer tid, LockTupleMode mode);

/* The row that was locked last. */
extern TupleTableSlot *arbiter_standing(const Arbiter *arbiter);

/* Deletes it, as DELETE would.  False: a trigger keeps it. */
extern bool arbiter_delete(LeafContext *context, Leaf *leaf, ItemPointer tid);

/* Inserts the row in the slot.  False: somebody was faster; look again. */
extern bool arbiter_try(LeafContext *context, Leaf *leaf, TupleTableSlot *slot, List **recheck);

/* For arbiter_batch.c: how many indexes judge, and each of them. */
extern int	arbiter_count(const Arbiter *arbiter);
extern void arbiter_index(const Arbiter *arbiter, int judge, Relation *index, IndexInfo **info);

/* By which of them the latest row was a duplicate. */
extern int	arbiter_judge(const Arbiter *arbiter);

/* The row in the slot is a duplicate by that index: has the writer's error say so. */
extern void arbiter_set_aside(LeafContext *context, const Arbiter *arbiter, int judge,
							  TupleTableSlot *slot);

/* Whether a row that is in the way is one of the load. */
extern bool arbiter_is_from_load(const Arbiter *arbiter, TupleTableSlot *standing);

/* The table that is loaded. */
extern Relation arbiter_root(const ResultRelInfo *rri);

/* Whoever goes by its snapshot must not act upon what that does not show. */
extern bool arbiter_may_see(Relation rel, TupleTableSlot *standing);

/* A serializable transaction has read that row, in the way: whoever changes it conflicts. */
extern void arbiter_note_read(Relation rel, const ItemPointerData *tid);

/* From here on the load's rows so far are earlier ones. */
extern void arbiter_advance_command(LeafContext *context);

extern void arbiter_close(Arbiter *arbiter);

#endif							/* PGBULK_ARBITER_H */
