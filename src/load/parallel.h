/*
 * parallel.h
 *		Several processes that load files side by side.
 *
 * The leader and its workers share a cursor over the files (chunks.h).  Each
 * process takes a chunk and with it a ticket; it forms the chunk's rows alone,
 * then waits for its turn, which comes in the order of the tickets.  What must
 * be in input order is done in one's turn: reserving blocks, sending bad rows
 * to the leader, counting.  So the table has the order of the file,
 * and whatever happens to a row happens after all that came before it.
 *
 * A process that meets what it cannot do stops the work at that row, in its
 * turn: later chunks are void, and the leader goes on alone from there.
 *
 * This gives chunks and turns to processes; it knows no format and no table.
 */
#ifndef PGBULK_PARALLEL_H
#define PGBULK_PARALLEL_H

#include "postgres.h"

#include "access/parallel.h"
#include "format/chunks.h"
#include "lib/stringinfo.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"

/* Bytes that may be on their way to the leader. */
#define PIPE_SIZE (1024 * 1024)

/*
 * The leader's, from the start, for rows that it has from before: nobody's
 * turn comes until it has passed this one.
 */
#define PARALLEL_FIRST_TICKET 0

/* In shared memory. */
typedef struct Parallel
{
	ConditionVariable changed;	/* any of what follows */
	pg_atomic_uint32 failed;	/* a worker has thrown an error */

	/* only for who has set reading */
	pg_atomic_uint32 reading;
	ChunkCursor cursor;
	uint64		tickets;		/* given out */
	int64		rows_given;		/* in the chunks of these */
	int64		rows_wanted;	/* rows to read at most; -1: all */

	int64		loaded_wanted;	/* rows to load at most; -1: all */

	/* only for who holds the ticket */
	pg_atomic_uint64 turn;
	bool		stopped;
	int			stop_file;		/* where the leader goes on */
	int64		stop_offset;
	int64		stop_line;
	int64		rows_read;
	int64		rows_loaded;
	int64		rows_filtered;

	/* from workers to the leader, in their turns */
	pg_atomic_uint64 sent;
	pg_atomic_uint64 received;
	pg_atomic_uint64 wal_bytes;
	char		pipe[PIPE_SIZE];
} Parallel;

/*
 * Rows for the leader, where only that can store them, from whoever has the
 * turn: messages, each in one piece.  In shared memory.
 */
typedef struct ParallelRows
{
	pg_atomic_uint64 written;	/* bytes that ever were */
	pg_atomic_uint64 taken;
	Size		size;			/* of data, a multiple of 8 */
	Size		placed;			/* only for who holds the ticket: of the message to be sent */
	char		data[FLEXIBLE_ARRAY_MEMBER];
} ParallelRows;

/* What one takes. */
typedef struct ParallelChunk
{
	uint64		ticket;
	int64		rows_before;	/* in all chunks before it */
	int64		rows_wanted;	/* rows of it to read at most; -1: all */
} ParallelChunk;

/* rows: how many to read at most from the cursor on, or -1 for all. */
extern void parallel_init(Parallel *parallel, const ChunkCursor *cursor,
						  int64 rows);

/*
 * The next chunk, read into the source's window.  False where there is none.
 * prepare(arg, rows) is called before anyone else can take the chunk after it;
 * rows are the row ends that the chunk has, or what is wanted of them.
 */
extern bool parallel_take(Parallel *parallel, ChunkReader *chunks,
						  ParallelChunk *chunk,
						  void (*prepare) (void *arg, uint32 rows), void *arg);

/* Whether there is nothing left to take, as parallel_take would say. */
extern bool parallel_is_over(Parallel *parallel);

/*
 * The same, unless someone else is taking a chunk just now: then *busy is set,
 * and it is false.
 */
extern bool parallel_try_take(Parallel *parallel, ChunkReader *chunks,
							  ParallelChunk *chunk,
							  void (*prepare) (void *arg, uint32 rows), void *arg,
							  bool *busy);

/* Waits a little for something to change. */
extern void parallel_linger(Parallel *parallel);

/* How many tickets there were, once parallel_take has said that there is no more. */
extern uint64 parallel_tickets(Parallel *parallel);

/*
 * Waits for the ticket's turn; calls idle(arg), unless NULL, whenever something
 * has changed meanwhile.  False: the work was stopped before, the chunk is void.
 */
extern bool parallel_await(Parallel *parallel, uint64 ticket,
						   void (*idle) (void *arg), void *arg);

/* In one's turn: nobody is to go on behind this place. */
extern void parallel_stop(Parallel *parallel, int file, int64 offset,
						  int64 line);

/* Ends one's turn. */
extern void parallel_pass(Parallel *parallel, uint64 ticket);

/* A worker is about to end with an error: whoever waits for it must not wait on. */
extern void parallel_fail(Parallel *parallel);

/* A worker, in its turn: bytes for the leader; waits while there is no space. */
extern void parallel_send(Parallel *parallel, const char *data, Size len);

/* The leader: appends what has been sent. */
extern void parallel_receive(Parallel *parallel, StringInfo to);

/* size: of its data, at least twice that of the largest message and its eight bytes of header. */
extern void parallel_rows_init(ParallelRows *rows, Size size);

/* A worker, in its turn: where a message goes, MAXALIGNed; waits while there is no space. */
extern char *parallel_rows_place(Parallel *parallel, ParallelRows *rows, Size size);

/* The message is there. */
extern void parallel_rows_send(Parallel *parallel, ParallelRows *rows);

/* The leader: the next message, or NULL; and that it is not needed any more. */
extern char *parallel_rows_next(ParallelRows *rows);
extern void parallel_rows_release(Parallel *parallel, ParallelRows *rows);

#endif							/* PGBULK_PARALLEL_H */
