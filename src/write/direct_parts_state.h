/*
 * direct_parts_state.h
 *		State of the direct writer of partitioned tables, private to direct_parts.c and
 *		direct_parts_flush.c.
 */
#ifndef PGBULK_DIRECT_PARTS_STATE_H
#define PGBULK_DIRECT_PARTS_STATE_H

#include "postgres.h"

#include "write/direct.h"
#include "write/dry_run.h"
#include "write/partitions.h"
#include "write/waiting.h"

/* How a leaf takes tuples that the fast path has formed with the target's columns. */
typedef enum TupleFit
{
	FIT_ROW,					/* each row must come in a slot */
	FIT_COLUMNS,				/* its columns are mapped */
	FIT_CHECKS,					/* as they are, once they have been checked */
	FIT_ALL						/* as they are */
} TupleFit;

typedef struct Part
{
	RowQueue	rows;			/* that wait */
	TupleFit	fit;
	struct Part *next;			/* that has rows waiting */

	Oid			relid;
	Relation	rel;			/* opened for registration; NULL: only by routing */
	DirectTable table;			/* without rri: no row has come to this process */
	IndexTable *indexes;		/* NULL in a worker */
	bool		prepared;		/* for rows in its table */
	LeafState  *state;			/* own, or in shared memory */
	LeafState	own;
} Part;

typedef struct PartsWriter
{
	DirectWriter direct;		/* its arena has the rows that wait apart */
	const BulkOptions *options;
	Checks	   *checks;
	PageStamp	stamp;
	DryRun	   *dry;			/* NULL: what is loaded is to stay */
	Partitions *partitions;
	int			nparts;			/* that have got rows from this process */
	List	   *parts;			/* that routing has opened, but for registered ones */
	List	   *registered;		/* every leaf, by OID, once workers were wanted; NIL: none */
	DirectShared *shared;		/* NULL: there are no other processes */

	Waiting		waiting;		/* rows that wait; and how many bytes may: */
	Size		limit;
	Part	   *first;			/* of the leaves that they are for */
	Part	   *last;

	/* the fast path */
	Arena		formed;			/* tuples that it has formed */
	uint32		alone;			/* rows to come one by one before it is tried again */
	uint32		patience;		/* how many it will be the next time */
} PartsWriter;

/* The first rows are about to come to a leaf's table. */
extern void parts_prepare(PartsWriter *writer, Part *part, Relation rel);

/* The leader: counts rows that are new in a leaf's table, whichever process has put them there. */
extern void parts_count(PartsWriter *writer, Part *part, Relation rel, int64 nrows);

/*
 * All rows that wait are in their tables; or, with later, only have their places there.  Beside
 * other processes in one's turn.
 */
extern void parts_flush_all(PartsWriter *writer, bool later);

/* The same at any time; or the rows do not count any more and are forgotten. */
extern void parts_place_waiting(PartsWriter *writer);

/* No row waits any more. */
extern void parts_end_waiting(PartsWriter *writer);

#endif							/* PGBULK_DIRECT_PARTS_STATE_H */
