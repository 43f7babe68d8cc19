/*
 * ring.h
 *		Bytes in shared memory, from the process that reads them to others.
 *
 * What can be read only once (a compressed file, a pipe, the client) is read by
 * one process, which writes it to the ring; others read from the ring, at any
 * offset that has not been released.  So what was read but not processed can be
 * read again.
 */
#ifndef PGBULK_RING_H
#define PGBULK_RING_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "stream/stream.h"

typedef struct Ring
{
	ConditionVariable changed;	/* bytes written, or ended */
	pg_atomic_uint64 written;	/* offset behind the last byte */
	pg_atomic_uint64 released;	/* bytes before this offset are not needed */
	pg_atomic_uint32 ended;		/* no more will come */
	Size		size;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} Ring;

/* offset: of the first byte that will be written. */
extern void ring_init(Ring *ring, Size size, int64 offset);

/*
 * For the writer: where the next bytes go, and how many fit there; 0 where the
 * ring is full.
 */
extern char *ring_place(Ring *ring, Size *space);

/* The writer has put length bytes there. */
extern void ring_advance(Ring *ring, Size length);

/* No more bytes will come, or none are wanted. */
extern void ring_end(Ring *ring);

/*
 * A stream that reads from the ring, from the offset that it is told to seek.
 * Waits for bytes, or calls starved(arg), unless NULL, until they are there.
 * Memory: the current context.
 */
extern Stream *ring_open(Ring *ring, void (*starved) (void *arg), void *arg);

/* Nobody will read before this offset. */
extern void ring_release(Ring *ring, int64 offset);

#endif							/* PGBULK_RING_H */
