/*
 * waiting.h
 *		Rows that wait until they are put into their tables' pages.
 *
 * Each table's rows are together, in the order in which they came, in chunks of memory that the
 * tables of a load share: so they are written to few places, and read one after the other, however
 * many tables there are.
 *
 *		queue of a table:	chunk [row row row ...] -> chunk [row row ...] <- at
 *
 * Price: each row is copied once more.
 */
#ifndef PGBULK_WAITING_H
#define PGBULK_WAITING_H

#include "postgres.h"

#include "access/htup_details.h"
#include "format/journal.h"
#include "row/arena.h"

/* Rows longer than this should wait where they have been formed. */
#define WAITING_APART (16 * 1024)

/* Some rows of a table. */
typedef struct RowChunk
{
	struct RowChunk *next;		/* those that came after them, or NULL */
	char	   *end;			/* of the rows, once there is a next one */
	char		rows[FLEXIBLE_ARRAY_MEMBER];
} RowChunk;

/*
 * One of them, MAXALIGNed.  Its place follows, if the queue has places, then the tuple from its
 * header on, with zeroes up to its MAXALIGNed length; or a pointer to it.
 */
typedef struct WaitingRow
{
	uint32		length;			/* of the tuple */
	bool		apart;			/* the tuple is elsewhere */
} WaitingRow;

/* The rows of a table. */
typedef struct RowQueue
{
	char	   *at;				/* where the next one goes */
	char	   *end;			/* of that chunk */
	bool		placed;			/* with each row's place in the input */
	RowChunk   *first;			/* NULL: none waits */
	RowChunk   *last;
} RowQueue;

/* What all tables share. */
typedef struct Waiting
{
	Arena		chunks;
	Size		bytes;			/* of rows that wait */
	Size		chunk_size;		/* as waiting_bound says */
} Waiting;

extern void waiting_init(Waiting *waiting, MemoryContext context);

/* About how much will wait for each table at most. */
extern void waiting_bound(Waiting *waiting, Size bytes);

/* The queue gets a chunk with space for a row of that size. */
extern void waiting_extend(Waiting *waiting, RowQueue *queue, Size row);

/* No row waits; the queues, too, must be made empty. */
extern void waiting_reset(Waiting *waiting);

static inline JournalPlace *
waiting_place(const WaitingRow *row)
{
	return (JournalPlace *) ((char *) row + MAXALIGN(sizeof(WaitingRow)));
}

static inline Size
waiting_head(const RowQueue *queue)
{
	return MAXALIGN(sizeof(WaitingRow)) + (queue->placed ? MAXALIGN(sizeof(JournalPlace)) : 0);
}

/* The tuple, or the pointer to it. */
static inline char *
waiting_data(const RowQueue *queue, const WaitingRow *row)
{
	return (char *) row + waiting_head(queue);
}

/* Adds a row, whose tuple has so many bytes: the caller fills in its place and its data. */
static inline WaitingRow *
waiting_add(Waiting *waiting, RowQueue *queue, uint32 length, bool apart)
{
	Size		size = waiting_head(queue) + (apart ? sizeof(HeapTupleHeader) : MAXALIGN(length));
	WaitingRow *row;

	if (unlikely(size > (Size) (queue->end - queue->at)))
		waiting_extend(waiting, queue, size);
	row = (WaitingRow *) queue->at;
	queue->at += size;
	row->length = length;
	row->apart = apart;
	if (apart)
		waiting->bytes += length;
	return row;
}

/* The first row of a chunk, and the one after another; NULL: there is none. */
static inline WaitingRow *
waiting_first(const RowChunk *chunk)
{
	return (WaitingRow *) chunk->rows;
}

static inline WaitingRow *
waiting_next(const RowQueue *queue, const RowChunk *chunk, const WaitingRow *row)
{
	char	   *end = chunk->next == NULL ? queue->at : chunk->end;
	char	   *next = waiting_data(queue, row) +
		(row->apart ? sizeof(HeapTupleHeader) : MAXALIGN(row->length));

	return next < end ? (WaitingRow *) next : NULL;
}

static inline void
waiting_forget(RowQueue *queue)
{
	queue->first = queue->last = NULL;
	queue->at = queue->end = NULL;
}

#endif							/* PGBULK_WAITING_H */
