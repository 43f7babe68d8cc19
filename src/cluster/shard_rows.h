/*
 * shard_rows.h
 *		Rows of a chunk by their shards, until the turn of the process that has it (parallel.h).
 *
 * Beside other processes each collects the rows of its chunk in buffers like those that are sent,
 * with their places in the input.  In its turn a worker copies them to shared memory, a message for
 * each buffer; the leader adds them to what goes to their shards (sinks.h), and so its own.
 */
#ifndef PGBULK_SHARD_ROWS_H
#define PGBULK_SHARD_ROWS_H

#include "postgres.h"

#include "cluster/row_copy.h"
#include "write/writer.h"

typedef struct ShardRows ShardRows;

/*
 * For shards with numbers up to that, and rows that are sent as they are.  Memory: the current
 * context.
 */
extern ShardRows *shard_rows_open(int nshards, const Journal *journal, RowCopy *copy);

/*
 * Takes a row of the batch for a shard, with the slot as row_copy_add wants it.  False: that is for
 * a process that is alone, as the shard has no number, or the row is larger than messages are.
 */
extern bool shard_rows_put(ShardRows *rows, const Shard *shard, uint32 number,
						   TupleTableSlot *slot);

/* The same in the quick way of row_copy_add_line.  False: nothing was done. */
extern bool shard_rows_put_line(ShardRows *rows, const Shard *shard, uint32 number);

/* Passes them on, shard by shard; then there are none. */
extern void shard_rows_take(ShardRows *rows,
							void (*take) (void *arg, int number, RowBuffer *buffer), void *arg);

/* Copies them to the channel; then there are none. */
extern void shard_rows_send(ShardRows *rows, const RowChannel *channel);

/* The shard's number and the rows of such a message, where they are. */
extern int	shard_rows_receive(char *message, RowBuffer *buffer);

/* Forgets them. */
extern void shard_rows_reset(ShardRows *rows);

#endif							/* PGBULK_SHARD_ROWS_H */
