/*
 * direct.h
 *		What the direct writers of plain and of partitioned tables share.
 *
 * Private to the two (direct.c, direct_parts.c); others see writer.h.
 */
#ifndef PGBULK_DIRECT_H
#define PGBULK_DIRECT_H

#include "postgres.h"

#include "access/tupconvert.h"
#include "row/constraints.h"
#include "row/tuple.h"
#include "write/pages.h"
#include "write/toast.h"
#include "write/writer.h"

/* A heap table that takes rows. */
typedef struct DirectTable
{
	ResultRelInfo *rri;
	Constraints *constraints;	/* NULL: none */
	TupleFormer *former;
	TupleConversionMap *map;	/* from the target's form, or NULL */
	bool		generated;		/* has stored generated columns */
	int			checked;		/* number in the checks, or CHECKS_NOTHING */
} DirectTable;

/* What the journal and the index phase need to know of every table. */
#define DIRECT_CHECKS (CHECKS_KEYS | CHECKS_CONFLICTS | CHECKS_PLACES)

/* How far a leaf is.  With workers in shared memory, for whoever has the turn. */
typedef struct LeafState
{
	PageTail	tail;
	PageTail	chunk_tail;		/* of the TOAST table */
	int64		rows;			/* that the load has put there */
} LeafState;

typedef struct SharedLeaf
{
	Oid			relid;
	int			checked;		/* number in the leader's checks */
	LeafState	state;
} SharedLeaf;

/* What a worker must know of the leader's writer, in shared memory. */
typedef struct DirectShared
{
	PageStamp	stamp;
	int			nleaves;		/* of a partitioned table: all that it has */
	SharedLeaf	leaves[FLEXIBLE_ARRAY_MEMBER];	/* by OID */
} DirectShared;

/* Where tuples become pages. */
typedef struct TupleSink
{
	PageBatch  *batch;
	Toaster    *toaster;		/* NULL: no wide rows will come */
	Guard	   *guard;
	void		(*place) (void *arg);	/* the batch, and the chunks before it */
	void	   *arg;
} TupleSink;

/* What every direct writer has; returns the target's result relation. */
extern ResultRelInfo *direct_begin(Writer *writer, Target *target,
								   CommandId cid);

/* AFTER STATEMENT triggers and what else waits for the statement's end. */
extern void direct_fire_after(Writer *writer, ResultRelInfo *root);

/* Lets go of all that direct_begin has made, but for the slots. */
extern void direct_end(Writer *writer);

/* All but checked, which is the caller's.  Memory: the executor state's. */
extern void direct_table_open(DirectTable *table, ResultRelInfo *rri,
							  EState *estate);

/* What a plain table or a leaf has that keeps the direct writer away, or REFUSAL_NONE. */
extern Refusal direct_table_refusal(Relation rel, const BulkOptions *options);

/* Writes down where the rows of the batch, all of one table, are; it is reserved. */
extern void direct_note_places(Journal *journal, const PageBatch *batch, int table);

/*
 * The way out of sink_put for wide rows and full pages.
 */
extern void sink_put_slow(TupleSink *sink, HeapTuple tuple);

/* Puts a tuple into a page. */
static inline void
sink_put(TupleSink *sink, HeapTuple tuple)
{
	if (unlikely(!toast_unneeded(tuple)) ||
		unlikely(!pages_put(sink->batch, tuple)))
		sink_put_slow(sink, tuple);
}

/*
 * After each row, when it is in the journal: places what is too much to hold.
 */
static inline void
sink_relieve(TupleSink *sink)
{
	if (sink->toaster != NULL && toast_is_full(sink->toaster))
		sink->place(sink->arg);
}

/* The writer of partitioned tables. */
extern Writer *direct_parts_open(Target *target, const BulkOptions *options,
								 const PageStamp *stamp, Guard *guard,
								 Checks *checks);

/* The same in a worker. */
extern Writer *direct_parts_join(Target *target, DirectShared *shared,
								 Guard *guard, Checks *checks);

#endif							/* PGBULK_DIRECT_H */
