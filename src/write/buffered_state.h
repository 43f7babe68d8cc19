/*
 * buffered_state.h
 *		What the buffered writer knows.  Private to buffered*.c.
 */
#ifndef PGBULK_BUFFERED_STATE_H
#define PGBULK_BUFFERED_STATE_H

#include "postgres.h"

#include "write/handover.h"
#include "write/leaf_state.h"
#include "write/partitions.h"
#include "write/writer.h"

typedef struct BufferedWriter
{
	Writer		base;
	LeafContext context;
	Guard	   *guard;
	ResultRelInfo *root;
	Partitions *partitions;		/* NULL: not partitioned */
	bool		batches;		/* leaves may batch, as far as the root goes */
	bool		replaces;		/* rows may be deleted: keep_new, or merging */
	bool		updates;		/* rows may be updated: merging */
	Leaf	   *leaf;			/* the only one, or the latest; NULL: rows are elsewhere */
	List	   *leaves;			/* all, for the close */
	List	   *waiting;		/* those with rows in their batches */
	List	   *warm;			/* those flushed last, oldest first */

	/* beside other processes */
	HeldRows	held;			/* rows that wait for their turn */
	bool		holds;
	Leaf	  **shared;			/* partitions whose rows workers may form, by number */
	int			nshared;
	JournalPlace *places;		/* of others' rows in the batches */
	uint32		nplaces;
	uint32		places_capacity;
	Size		pending;		/* bytes of these, where partitions have them beyond a message */
} BufferedWriter;

#endif							/* PGBULK_BUFFERED_STATE_H */
