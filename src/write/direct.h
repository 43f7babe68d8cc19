/*
 * direct.h
 *		What the direct writers of plain and of partitioned tables share.
 *
 * Private to the two (direct.c, direct_parts.c with its parts); others see writer.h.  Both form
 * rows, put them into private pages, place these and say where the rows are.  They differ in when
 * a row comes to a page: in a plain table at once, most rows by the fast path, which forms them
 * there; in a partitioned one only when many rows wait for their leaves, which may be thousands,
 * too many for pages of their own.  So there are two writers that begin with the same struct, and
 * not one.
 */
#ifndef PGBULK_DIRECT_H
#define PGBULK_DIRECT_H

#include "postgres.h"

#include "access/tupconvert.h"
#include "row/constraints.h"
#include "row/tuple.h"
#include "write/pages.h"
#include "write/partitions.h"
#include "write/toast.h"
#include "write/writer.h"

/* A heap table that takes rows. */
typedef struct DirectTable
{
	ResultRelInfo *rri;
	Constraints *constraints;	/* NULL: none */
	TupleFormer *former;
	TupleConversionMap *map;	/* from the target's form, or NULL */
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
	Size		pass;			/* offset of brin_pass_share's memory, or 0 */
	int			nleaves;		/* of a partitioned table: all that it has */
	SharedLeaf	leaves[FLEXIBLE_ARRAY_MEMBER];	/* by OID */
} DirectShared;

/* What the writers of both kinds begin with. */
typedef struct DirectWriter
{
	Writer		base;
	Guard	   *guard;
	Journal    *journal;		/* NULL: nobody wants to know */
	ResultRelInfo *root;		/* the target */
	Arena		arena;			/* rows that are in no page yet */

	/* where tuples become pages */
	PageBatch  *batch;
	DirectTable *table;			/* that they are for */
	Toaster    *toaster;		/* its own; NULL: no wide rows will come */
	PageBatch  *chunks;			/* of leaves' TOAST tables; NULL: none was needed yet */

	/* beside other processes */
	bool		worker;
	int			processes;
	bool		(*await_turn) (void *arg);	/* NULL: there are no others */
	void	   *await_arg;
} DirectWriter;

/* Begins what every direct writer has: the executor's state and the batch, of rel unless NULL. */
extern void direct_begin(DirectWriter *writer, const WriterRoutine *routine, Target *target,
						 Relation rel, const PageStamp *stamp, Guard *guard, Journal *journal);

/* BEFORE STATEMENT triggers, in the leader. */
extern void direct_fire_before(DirectWriter *writer);

/*
 * AFTER STATEMENT triggers, in the leader, and the end of all that direct_begin has made.
 * partitions may be NULL.
 */
extern void direct_end(DirectWriter *writer, Partitions *partitions);

/* All but checked, which is the caller's.  Memory: the executor state's. */
extern void direct_table_open(DirectTable *table, ResultRelInfo *rri,
							  EState *estate);

/* What a plain table or a leaf has that keeps the direct writer away, or REFUSAL_NONE. */
extern Refusal direct_table_refusal(Relation rel, const BulkOptions *options);

/* The rows in the batch get their places in writer->table, and the journal learns of these. */
extern void direct_reserve_rows(DirectWriter *writer);

/*
 * The rows in the batch are in writer->table, and before them the chunks that they refer to.
 * Beside other processes that takes one's turn; rows that do not count any more are forgotten.
 */
extern void direct_place(DirectWriter *writer);

/* Of a writer's routine, the same for both. */
extern void direct_begin_parallel(Writer *base, int processes,
								  bool (*await_turn) (void *arg), void *arg);
extern void direct_end_parallel(Writer *base);
extern void direct_write(Writer *base);

/* For wide rows and full pages, see direct_put_tuple. */
extern void direct_put_slow(DirectWriter *writer, HeapTuple tuple);

/* Puts a tuple into a page. */
static inline void
direct_put_tuple(DirectWriter *writer, HeapTuple tuple)
{
	if (unlikely(!toast_unneeded(tuple)) ||
		unlikely(!pages_put(writer->batch, tuple)))
		direct_put_slow(writer, tuple);
}

/* After each row, when it is in the journal: places rows whose chunks are too many to hold. */
static inline void
direct_relieve(DirectWriter *writer)
{
	if (writer->toaster != NULL && toast_is_full(writer->toaster))
		direct_place(writer);
}

/* The writer of partitioned tables. */
extern Writer *direct_parts_open(Target *target, const BulkOptions *options,
								 const PageStamp *stamp, Guard *guard,
								 Checks *checks);

/* The same in a worker. */
extern Writer *direct_parts_join(Target *target, DirectShared *shared,
								 Guard *guard, Checks *checks);

#endif							/* PGBULK_DIRECT_H */
