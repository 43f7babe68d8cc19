/*
 * ring.c
 *		See ring.h.
 */
#include "postgres.h"

#include "stream/ring.h"
#include "utils/wait_event.h"

typedef struct RingStream
{
	Stream		stream;
	Ring	   *ring;
	void		(*starved) (void *arg); /* NULL: waits */
	void	   *starved_arg;
} RingStream;

void
ring_init(Ring *ring, Size size, int64 offset)
{
	ConditionVariableInit(&ring->changed);
	pg_atomic_init_u64(&ring->written, offset);
	pg_atomic_init_u64(&ring->released, offset);
	pg_atomic_init_u32(&ring->ended, 0);
	ring->size = size;
}

char *
ring_place(Ring *ring, Size *space)
{
	uint64		written = pg_atomic_read_u64(&ring->written);
	Size		at = written % ring->size;
	Size		held = written - pg_atomic_read_u64(&ring->released);

	/* bytes are overwritten only after they have been released */
	pg_memory_barrier();
	*space = Min(ring->size - held, ring->size - at);
	return ring->data + at;
}

void
ring_advance(Ring *ring, Size length)
{
	pg_memory_barrier();
	pg_atomic_write_u64(&ring->written, pg_atomic_read_u64(&ring->written) + length);
	ConditionVariableBroadcast(&ring->changed);
}

void
ring_end(Ring *ring)
{
	pg_memory_barrier();
	pg_atomic_write_u32(&ring->ended, 1);
	ConditionVariableBroadcast(&ring->changed);
}

/* Whether something can be said of that offset: there are bytes, or no more. */
static bool
has_news(Ring *ring, uint64 offset)
{
	return pg_atomic_read_u64(&ring->written) > offset ||
		pg_atomic_read_u32(&ring->ended) != 0;
}

static void
await_news(const RingStream *reader, uint64 offset)
{
	Ring	   *ring = reader->ring;

	if (has_news(ring, offset))
		return;
	if (reader->starved != NULL)
	{
		while (!has_news(ring, offset))
			reader->starved(reader->starved_arg);
		return;
	}
	ConditionVariablePrepareToSleep(&ring->changed);
	while (!has_news(ring, offset))
		ConditionVariableSleep(&ring->changed, PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
}

static Size
read_ring(Stream *stream, char *to, Size size)
{
	RingStream *reader = (RingStream *) stream;
	Ring	   *ring = reader->ring;
	int64		offset = stream->bytes_read;
	Size		at = offset % ring->size;
	Size		available;

	Assert(offset >= pg_atomic_read_u64(&ring->released));
	await_news(reader, offset);

	/* in this order, so that what was written before the end is seen */
	pg_memory_barrier();
	available = pg_atomic_read_u64(&ring->written) - offset;
	size = Min(size, available);	/* Min() would look twice at what grows */
	pg_memory_barrier();
	if (at + size > ring->size)
	{
		Size		first = ring->size - at;

		memcpy(to, ring->data + at, first);
		memcpy(to + first, ring->data, size - first);
	}
	else
		memcpy(to, ring->data + at, size);
	return size;
}

/* That is where reading goes on by itself. */
static void
seek_in_ring(Stream *stream, int64 offset)
{
}

static const StreamRoutine ring_routine = {
	.read = read_ring,
	.seek = seek_in_ring
};

Stream *
ring_open(Ring *ring, void (*starved) (void *arg), void *arg)
{
	RingStream *reader = palloc(sizeof(RingStream));

	stream_init(&reader->stream, &ring_routine, NULL);
	reader->ring = ring;
	reader->starved = starved;
	reader->starved_arg = arg;
	return &reader->stream;
}

void
ring_release(Ring *ring, int64 offset)
{
	pg_memory_barrier();
	pg_atomic_write_u64(&ring->released, offset);
}
