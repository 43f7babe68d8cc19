/*
 * leaf_state.h
 *		What leaf.c and the arbiters know of a table that rows are written to, and of the writer.
 */
#ifndef PGBULK_LEAF_STATE_H
#define PGBULK_LEAF_STATE_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "index/entries.h"
#include "row/arena.h"
#include "row/constraints.h"
#include "row/tuple.h"
#include "write/dry_run.h"
#include "write/writer.h"

typedef struct Arbiter Arbiter;
typedef struct ArbiterBatch ArbiterBatch;
typedef struct RowMerge RowMerge;

typedef struct Leaf
{
	ResultRelInfo *rri;
	Arbiter    *arbiter;		/* NULL: rows need not ask who has their keys */
	RowMerge   *merge;			/* how rows are merged with those that have their keys, or NULL */
	ArbiterBatch *keys;			/* where rows wait to ask for that; or NULL */
	Constraints *constraints;	/* NULL: none */
	TupleFormer *former;		/* NULL: not a heap table */
	TupleConversionMap *map;	/* from the target's form, or NULL */
	bool		before_row;		/* BEFORE ROW INSERT trigger */
	bool		instead_row;	/* INSTEAD OF INSERT trigger */
	bool		after_row;		/* AFTER ROW trigger or transition table */
	int			checked;		/* number in the checks, or CHECKS_NOTHING */
	bool		keys_first;		/* foreign keys, before a row may displace others */
	bool		batches;		/* rows may wait */
	bool		looks;			/* functions that its rows call may look at what is loaded */
	bool		prepared;		/* for a dry run */
	bool		judged;			/* whether workers may form its rows */
	int			shared;			/* its number for these, or -1: they may not */
	bool		collects;		/* index entries may come later than their rows */
	Entries    *entries;		/* those that wait; NULL: none yet, or never */

	/* the batch */
	int			nrows;
	int			capacity;		/* of the arrays */
	Size		nbytes;
	HeapTuple  *tuples;			/* with former */
	uint32	   *numbers;		/* the rows' places in the window */
	TupleTableSlot **slots;
	int			nslots;			/* made so far */
	TupleDesc	desc;			/* theirs, with former */
	BulkInsertState bistate;
	uint64		nwritten;		/* rows of batches */
	ItemPointerData *tids;		/* by number, where rows of batches are then; NULL: nobody asks */
} Leaf;

/* What all leaves of a writer share. */
typedef struct LeafContext
{
	Writer	   *writer;
	Guard	   *guard;
	CommandId	cid;
	int			insert_options;	/* TABLE_INSERT_* */
	Size		entries_budget; /* bytes of index entries that may wait, of all; 0: none may */
	Size		asking;			/* bytes of rows that wait to ask who has their keys, of all */
	uint64		nwritten;		/* rows of batches, of all leaves */
	Arena		arena;			/* tuples of all batches */
	MemoryContext batch_context;	/* what table_multi_insert leaks */
	ExprContext *flush_econtext;	/* what a flush evaluates, row by row */
	struct TransitionCaptureState *transition_capture;
	struct TransitionCaptureState *delete_capture;	/* for rows that are replaced, or deleted */
	struct TransitionCaptureState *update_capture;	/* for rows that are merged */
	const Target *target;
	const BulkOptions *options;
	DryRun	   *dry;			/* NULL: what is loaded is to stay */
	Checks	   *checks;
	Journal    *journal;
} LeafContext;

#endif							/* PGBULK_LEAF_STATE_H */
