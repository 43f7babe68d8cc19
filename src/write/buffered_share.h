/*
 * buffered_share.h
 *		The buffered writer beside other processes (parallel.h): it alone stores rows, and its own
 *		wait until those of earlier chunks are stored (handover.h).
 */
#ifndef PGBULK_BUFFERED_SHARE_H
#define PGBULK_BUFFERED_SHARE_H

#include "postgres.h"

#include "write/buffered_state.h"

/* The row waits for the turn of this process. */
extern WriterVerdict buffered_hold(BufferedWriter *writer, Leaf *leaf, TupleTableSlot *slot,
								   uint32 number);

/* For WriterRoutine. */
extern RefusalReason buffered_share_refusal(Writer *base);
extern Size buffered_prepare_share(Writer *base);
extern void buffered_share(Writer *base, void *memory);
extern void buffered_gather(Writer *base);
extern void buffered_begin_parallel(Writer *base, int processes, bool (*await_turn) (void *arg),
									void *arg);
extern void buffered_end_parallel(Writer *base);
extern bool buffered_reserve(Writer *base);
extern void buffered_take_over(Writer *base, char *message);
extern void buffered_write(Writer *base);
extern bool buffered_writes_in_turn(Writer *base);
extern void buffered_discard(Writer *base);
extern bool buffered_wants_alone(Writer *base);
extern double buffered_rows_until_alone(Writer *base);

#endif							/* PGBULK_BUFFERED_SHARE_H */
