/*
 * parallel.c
 *		See parallel.h.
 *
 * Every wait can be interrupted: a process that has failed never passes its
 * turn, and the leader hears of the failure while it waits.
 */
#include "postgres.h"

#include "load/parallel.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/s_lock.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* Looks before one sleeps: a turn is short, and waking takes longer. */
#define SPINS 100

#define LINGER_MS 1

/* How long an error may be on its way. */
#define PATIENCE_MS 1000

void
parallel_init(Parallel *parallel, const ChunkCursor *cursor, int64 rows)
{
	memset(parallel, 0, offsetof(Parallel, pipe));
	ConditionVariableInit(&parallel->changed);
	pg_atomic_init_u32(&parallel->failed, 0);
	pg_atomic_init_u32(&parallel->reading, 0);
	pg_atomic_init_u64(&parallel->turn, 0);
	pg_atomic_init_u64(&parallel->sent, 0);
	pg_atomic_init_u64(&parallel->received, 0);
	pg_atomic_init_u64(&parallel->wal_bytes, 0);
	parallel->cursor = *cursor;
	parallel->tickets = PARALLEL_FIRST_TICKET + 1;
	parallel->rows_wanted = rows;
}

void
parallel_fail(Parallel *parallel)
{
	pg_atomic_write_u32(&parallel->failed, 1);
	ConditionVariableBroadcast(&parallel->changed);
}

static void
raise_failure(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("a parallel worker of the load has failed")));
}

/*
 * A worker's error reaches the leader by itself, unless something there has
 * taken it for its own (a function that catches all errors, say).  Workers wait until the
 * leader ends them: it might hear of this error of theirs before that one.
 */
static void
wait_for_change(Parallel *parallel)
{
	bool		failed = pg_atomic_read_u32(&parallel->failed) != 0;

	if (ConditionVariableTimedSleep(&parallel->changed, PATIENCE_MS,
									PG_WAIT_EXTENSION) && failed && !IsParallelWorker())
		raise_failure();
}

/*
 * Nobody waits for a worker that has failed without a ticket: so whoever takes a chunk looks for
 * that.
 */
static void
check_failure(Parallel *parallel)
{
	TimestampTz start;

	CHECK_FOR_INTERRUPTS();
	if (pg_atomic_read_u32(&parallel->failed) == 0)
		return;
	start = GetCurrentTimestamp();
	while (IsParallelWorker() ||
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), PATIENCE_MS))
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LINGER_MS,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	raise_failure();
}

static bool
try_reading(Parallel *parallel)
{
	uint32		free = 0;

	return pg_atomic_read_u32(&parallel->reading) == 0 &&
		pg_atomic_compare_exchange_u32(&parallel->reading, &free, 1);
}

static void
begin_reading(Parallel *parallel)
{
	for (int i = 0; i < SPINS; i++)
	{
		if (try_reading(parallel))
			return;
		SPIN_DELAY();
	}
	ConditionVariablePrepareToSleep(&parallel->changed);
	while (!try_reading(parallel))
		wait_for_change(parallel);
	ConditionVariableCancelSleep();
}

static void
end_reading(Parallel *parallel)
{
	pg_memory_barrier();
	pg_atomic_write_u32(&parallel->reading, 0);
	ConditionVariableBroadcast(&parallel->changed);
}

/* While reading: what the chunk has of the rows that are wanted. */
static uint32
want_rows(Parallel *parallel, ParallelChunk *chunk, uint32 rows)
{
	chunk->rows_before = parallel->rows_given;
	chunk->rows_wanted = -1;
	parallel->rows_given += rows;
	if (parallel->rows_wanted < 0)
		return rows;
	chunk->rows_wanted = parallel->rows_wanted - chunk->rows_before;
	if (chunk->rows_wanted <= rows)
		parallel->cursor.ended = true;
	return Min(rows, chunk->rows_wanted);
}

/* What is to be done between begin_reading and end_reading. */
static bool
take(Parallel *parallel, ChunkReader *chunks, ParallelChunk *chunk,
	 void (*prepare) (void *arg, uint32 rows), void *arg)
{
	uint32		rows;
	bool		found;

	found = chunk_read(chunks, &parallel->cursor, &rows);
	if (found)
	{
		chunk->ticket = parallel->tickets++;
		prepare(arg, want_rows(parallel, chunk, rows));
	}
	return found;
}

bool
parallel_take(Parallel *parallel, ChunkReader *chunks, ParallelChunk *chunk,
			  void (*prepare) (void *arg, uint32 rows), void *arg)
{
	bool		found;

	check_failure(parallel);
	begin_reading(parallel);
	found = take(parallel, chunks, chunk, prepare, arg);
	end_reading(parallel);
	return found;
}

bool
parallel_try_take(Parallel *parallel, ChunkReader *chunks,
				  ParallelChunk *chunk,
				  void (*prepare) (void *arg, uint32 rows), void *arg,
				  bool *busy)
{
	bool		found;

	check_failure(parallel);
	*busy = !try_reading(parallel);
	if (*busy)
		return false;
	found = take(parallel, chunks, chunk, prepare, arg);
	end_reading(parallel);
	return found;
}

void
parallel_linger(Parallel *parallel)
{
	/* or it would only prepare, and not sleep */
	ConditionVariablePrepareToSleep(&parallel->changed);
	if (pg_atomic_read_u32(&parallel->failed) != 0)
		wait_for_change(parallel);
	else
		(void) ConditionVariableTimedSleep(&parallel->changed, LINGER_MS,
										   PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
}

bool
parallel_is_over(Parallel *parallel)
{
	bool		over;

	begin_reading(parallel);
	over = parallel->cursor.ended;
	end_reading(parallel);
	return over;
}

uint64
parallel_tickets(Parallel *parallel)
{
	uint64		tickets;

	begin_reading(parallel);
	Assert(parallel->cursor.ended);
	tickets = parallel->tickets;
	end_reading(parallel);
	return tickets;
}

static inline bool
has_turn(Parallel *parallel, uint64 ticket)
{
	if (pg_atomic_read_u64(&parallel->turn) != ticket)
		return false;
	pg_memory_barrier();
	return true;
}

bool
parallel_await(Parallel *parallel, uint64 ticket, void (*idle) (void *arg),
			   void *arg)
{
	for (int i = 0; i < SPINS && !has_turn(parallel, ticket); i++)
		SPIN_DELAY();
	if (!has_turn(parallel, ticket))
	{
		ConditionVariablePrepareToSleep(&parallel->changed);
		while (!has_turn(parallel, ticket))
		{
			if (idle != NULL)
				idle(arg);
			wait_for_change(parallel);
		}
		ConditionVariableCancelSleep();
	}
	return !parallel->stopped;
}

void
parallel_stop(Parallel *parallel, int file, int64 offset, int64 line)
{
	parallel->stopped = true;
	parallel->stop_file = file;
	parallel->stop_offset = offset;
	parallel->stop_line = line;

	/* what is read from here on would be read in vain */
	begin_reading(parallel);
	parallel->cursor.ended = true;
	end_reading(parallel);
}

void
parallel_pass(Parallel *parallel, uint64 ticket)
{
	Assert(pg_atomic_read_u64(&parallel->turn) == ticket);
	pg_memory_barrier();
	pg_atomic_write_u64(&parallel->turn, ticket + 1);
	ConditionVariableBroadcast(&parallel->changed);
}

static inline Size
pipe_space(Parallel *parallel)
{
	return PIPE_SIZE - (pg_atomic_read_u64(&parallel->sent) -
						pg_atomic_read_u64(&parallel->received));
}

static Size
await_space(Parallel *parallel)
{
	Size		space = pipe_space(parallel);

	if (space == 0)
	{
		ConditionVariablePrepareToSleep(&parallel->changed);
		while ((space = pipe_space(parallel)) == 0)
			wait_for_change(parallel);
		ConditionVariableCancelSleep();
	}
	pg_memory_barrier();
	return space;
}

void
parallel_send(Parallel *parallel, const char *data, Size len)
{
	while (len > 0)
	{
		uint64		sent = pg_atomic_read_u64(&parallel->sent);
		Size		at = sent % PIPE_SIZE;
		Size		space = await_space(parallel);	/* may grow: Min() would look twice */
		Size		n = Min(len, Min(space, PIPE_SIZE - at));

		memcpy(parallel->pipe + at, data, n);
		pg_memory_barrier();
		pg_atomic_write_u64(&parallel->sent, sent + n);
		ConditionVariableBroadcast(&parallel->changed);
		data += n;
		len -= n;
	}
}

void
parallel_receive(Parallel *parallel, StringInfo to)
{
	uint64		received = pg_atomic_read_u64(&parallel->received);
	uint64		sent = pg_atomic_read_u64(&parallel->sent);

	if (received == sent)
		return;
	pg_memory_barrier();
	while (received < sent)
	{
		Size		at = received % PIPE_SIZE;
		Size		n = Min(sent - received, PIPE_SIZE - at);

		appendBinaryStringInfo(to, parallel->pipe + at, n);
		received += n;
	}
	pg_memory_barrier();
	pg_atomic_write_u64(&parallel->received, received);
	ConditionVariableBroadcast(&parallel->changed);
}

/* ---- rows for the leader ---- */

/*
 * Each message follows its size; where there is too little space for it up to
 * the end of the data, zero stands instead, and it is at the beginning.
 */
#define ROWS_HEADER sizeof(uint64)

void
parallel_rows_init(ParallelRows *rows, Size size)
{
	pg_atomic_init_u64(&rows->written, 0);
	pg_atomic_init_u64(&rows->taken, 0);
	rows->size = size;
	rows->placed = 0;
}

static inline bool
has_space(ParallelRows *rows, Size size)
{
	return rows->size - (pg_atomic_read_u64(&rows->written) -
						 pg_atomic_read_u64(&rows->taken)) >= size;
}

char *
parallel_rows_place(Parallel *parallel, ParallelRows *rows, Size size)
{
	Size		needed = ROWS_HEADER + MAXALIGN(size);
	Size		at = pg_atomic_read_u64(&rows->written) % rows->size;
	Size		skipped = rows->size - at < needed ? rows->size - at : 0;

	Assert(2 * needed <= rows->size);
	if (!has_space(rows, skipped + needed))
	{
		ConditionVariablePrepareToSleep(&parallel->changed);
		while (!has_space(rows, skipped + needed))
			wait_for_change(parallel);
		ConditionVariableCancelSleep();
	}
	pg_memory_barrier();
	if (skipped > 0)
	{
		*(uint64 *) (rows->data + at) = 0;
		at = 0;
	}
	*(uint64 *) (rows->data + at) = needed;
	rows->placed = skipped + needed;
	return rows->data + at + ROWS_HEADER;
}

void
parallel_rows_send(Parallel *parallel, ParallelRows *rows)
{
	uint64		written = pg_atomic_read_u64(&rows->written);

	pg_memory_barrier();
	pg_atomic_write_u64(&rows->written, written + rows->placed);
	ConditionVariableBroadcast(&parallel->changed);
}

/* Where the next message is, as an offset in the data; and of how many bytes it is the end. */
static Size
find_message(ParallelRows *rows, uint64 *end)
{
	uint64		taken = pg_atomic_read_u64(&rows->taken);
	Size		at = taken % rows->size;
	uint64		needed = *(uint64 *) (rows->data + at);

	if (needed == 0)
	{
		taken += rows->size - at;
		at = 0;
		needed = *(uint64 *) rows->data;
	}
	*end = taken + needed;
	return at;
}

char *
parallel_rows_next(ParallelRows *rows)
{
	uint64		end;

	if (pg_atomic_read_u64(&rows->taken) == pg_atomic_read_u64(&rows->written))
		return NULL;
	pg_memory_barrier();
	return rows->data + find_message(rows, &end) + ROWS_HEADER;
}

void
parallel_rows_release(Parallel *parallel, ParallelRows *rows)
{
	uint64		end;

	(void) find_message(rows, &end);
	pg_memory_barrier();
	pg_atomic_write_u64(&rows->taken, end);
	ConditionVariableBroadcast(&parallel->changed);
}
