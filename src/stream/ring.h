/*
 * ring.h
 *		Bytes in shared memory, from one process that has them to others.
 *
 * What can be read only once (a compressed file, a pipe, the client) is read by
 * one process, which feeds the ring; others read in it at any offset that it
 * still holds.  It holds what has not been released: so what was read but not
 * dealt with can be read again.
 */
#ifndef PGBULK_RING_H
#define PGBULK_RING_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "stream/stream.h"

typedef struct Ring
{
	ConditionVariable changed;	/* fed, or ended */
	pg_atomic_uint64 fed;		/* offset behind the last byte */
	pg_atomic_uint64 released;	/* bytes before this offset are not needed */
	pg_atomic_uint32 ended;		/* no more will come */
	Size		size;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} Ring;

/* offset: of the first byte that will be fed. */
extern void ring_init(Ring *ring, Size size, int64 offset);

/* The one who feeds: a place for more bytes, and how many; 0 where it is full. */
extern char *ring_place(Ring *ring, Size *room);

/* So many bytes have been put there. */
extern void ring_feed(Ring *ring, Size length);

/* No more will come, or is wanted. */
extern void ring_end(Ring *ring);

/*
 * Reads it from the offset that it is told to seek.  Waits for bytes, or calls
 * starved(arg), unless NULL, until they are there.  Memory: the current context.
 */
extern Stream *ring_open(Ring *ring, void (*starved) (void *arg), void *arg);

/* Nobody will read before this offset. */
extern void ring_release(Ring *ring, int64 offset);

#endif							/* PGBULK_RING_H */
