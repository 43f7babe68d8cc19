/*
 * handover.h
 *		Rows that workers form and the leader stores.
 *
 * The server refuses to insert rows in a parallel worker.  So beside other
 * processes those with concurrent writers (buffered.c) are read, converted,
 * checked and formed by whoever has their chunk, and wait there for its turn.
 * A worker then copies them to shared memory, as messages of about a batch
 * each, and the leader stores them from there, in the order of the input, as
 * it would its own.
 *
 * A row for a partition that the leader does not know yet, or for which workers cannot form rows,
 * is for the leader alone, too: what a worker has checked must still hold when the row is stored,
 * so the leader has the partition locked since before.
 *
 * A message is of one file: where its first row begins, then for each row a
 * HandedRow, its tuple and, where rows that are set aside are shown, its bytes.
 *
 * Memory: HELD_MAX for each process; a chunk whose rows take more, or a row
 * that no message can have, is for the leader alone.
 */
#ifndef PGBULK_HANDOVER_H
#define PGBULK_HANDOVER_H

#include "postgres.h"

#include "access/htup.h"
#include "format/journal.h"
#include "row/arena.h"
#include "write/writer.h"

/* A row that waits for its turn. */
typedef struct HeldRow
{
	HeapTuple	tuple;
	const char *raw;			/* its bytes, or NULL */
	uint32		leaf;			/* where it belongs, as in HandoverShared */
	JournalPlace place;
} HeldRow;

/* Those of one process. */
typedef struct HeldRows
{
	MemoryContext context;
	const Journal *journal;		/* knows their places */
	bool		shows;			/* they go with their bytes */
	Arena		arena;			/* their tuples, and bytes */
	HeldRow    *rows;
	uint32		nrows;
	uint32		capacity;
	Size		bytes;
} HeldRows;

/* shows: a row that is set aside when it is stored will be shown. */
extern void held_init(HeldRows *held, MemoryContext context, const Journal *journal, bool shows);

/*
 * Takes a tuple of that leaf that lies in the arena; number: of the row in the reader's batch.
 * False: there is no room for it.
 */
extern bool held_put(HeldRows *held, uint32 leaf, HeapTuple tuple, uint32 number);

/*
 * Takes up to n rows from first on, as WriterRoutine.put_rows does.
 */
extern uint32 held_form_rows(HeldRows *held, RowFormer *former, const char *data,
							 const ScanRow *rows, const ScanField *fields, uint32 first,
							 uint32 n);

/* Forgets them. */
extern void held_reset(HeldRows *held);

/* Copies them to the channel. */
extern void held_send(const HeldRows *held, const RowChannel *channel);

/* A message that is being read. */
typedef struct HandedRows
{
	const char *next;
	uint32		nrows;			/* left */
	bool		shows;
	JournalPlace base;
} HandedRows;

extern void handed_begin(HandedRows *rows, const char *message);

/* The next row; its tuple and bytes are where the message is.  False: no more. */
extern bool handed_next(HandedRows *rows, HeapTuple tuple, HeldRow *row);

/* A copy of a tuple that another batch keeps. */
extern HeapTuple handed_copy(HeapTuple tuple, Arena *arena);

/*
 * Partitions that the leader has opened, and so has locked before any worker looks at them; and of
 * which it knows that workers may form their rows.  A row's leaf is its number here, and 0 where
 * the table is not partitioned.
 */
typedef struct HandoverShared
{
	int			nleaves;
	Oid			leaves[FLEXIBLE_ARRAY_MEMBER];
} HandoverShared;

/* The writer of a worker.  Memory: the current context. */
extern Writer *handover_join(Target *target, const HandoverShared *shared,
							 const BulkOptions *options, Guard *guard, Checks *checks);

#endif							/* PGBULK_HANDOVER_H */
