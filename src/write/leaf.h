/*
 * leaf.h
 *		One table that rows are written to: the target, or a partition of it.
 *
 * Rows wait in a batch and go in by table_multi_insert.  For heap tables the
 * tuples are formed here, in the writer's arena, and lent to the slots that
 * table_multi_insert wants; it then finds them materialized and copies each
 * only once, to its page.  Other access methods get slots of their own kind.
 */
#ifndef PGBULK_LEAF_H
#define PGBULK_LEAF_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "row/arena.h"
#include "row/constraints.h"
#include "row/tuple.h"
#include "write/writer.h"

/* COPY's measures for a batch (copyfrom.c): larger ones were not faster. */
#define LEAF_BATCH_ROWS 1000
#define LEAF_BATCH_BYTES (64 * 1024)

typedef struct Arbiter Arbiter;

typedef struct Leaf
{
	ResultRelInfo *rri;
	Arbiter    *arbiter;		/* NULL: rows need not ask who has their keys */
	Constraints *constraints;	/* NULL: none */
	TupleFormer *former;		/* NULL: not a heap table */
	TupleConversionMap *map;	/* from the target's form, or NULL */
	bool		generated;		/* has stored generated columns */
	bool		before_row;		/* BEFORE ROW INSERT trigger */
	bool		instead_row;	/* INSTEAD OF INSERT trigger */
	bool		after_row;		/* AFTER ROW trigger or transition table */
	int			checked;		/* number in the checks, or CHECKS_NOTHING */
	bool		keys_first;		/* foreign keys, before a row may displace others */
	bool		batches;		/* rows may wait */
	bool		prepared;		/* for a dry run */

	/* the batch */
	int			nrows;
	int			capacity;		/* of the arrays */
	Size		nbytes;
	HeapTuple  *tuples;			/* with former */
	uint32	   *numbers;		/* the rows' places in the window */
	TupleTableSlot **slots;
	int			nslots;			/* made so far */
	BulkInsertState bistate;
} Leaf;

/* What all leaves of a writer share. */
typedef struct LeafContext
{
	Writer	   *writer;
	Guard	   *guard;
	CommandId	cid;
	int			insert_options;	/* TABLE_INSERT_* */
	Arena		arena;			/* tuples of all batches */
	MemoryContext batch_context;	/* what table_multi_insert leaks */
	ExprContext *flush_econtext;	/* what a flush evaluates, row by row */
	struct TransitionCaptureState *transition_capture;
	struct TransitionCaptureState *delete_capture;	/* for rows that are replaced */
	const BulkOptions *options;
	DryRun	   *dry;			/* NULL: what is loaded is to stay */
	Checks	   *checks;
	Journal    *journal;
} LeafContext;

/* Memory: the executor state's. */
extern Leaf *leaf_open(LeafContext *context, ResultRelInfo *rri, bool batches);

extern void leaf_prepare_dry(LeafContext *context, Leaf *leaf);

/*
 * Before the first row comes, also one that a trigger brings: a dry run needs to know.  Outside the
 * guard; flush and insert do it themselves.
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

/* Writes the batch: heap, index entries, AFTER ROW triggers. */
extern void leaf_flush(LeafContext *context, Leaf *leaf);

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
