/*
 * nodes_share.h
 *		The writer for tables on other nodes beside other processes (parallel.h): all find rows and
 *		their shards, and the leader, who has the sessions, sends them.
 *
 * Only shards that have got rows before from this file are known to the others.  The first row for
 * another one, and any that has no shard, is for the leader alone.
 */
#ifndef PGBULK_NODES_SHARE_H
#define PGBULK_NODES_SHARE_H

#include "postgres.h"

#include "write/writer.h"

/*
 * The writer of a worker; shared is what WriterRoutine.share has filled.  Memory: the current
 * context.
 */
extern Writer *nodes_join(Target *target, const void *shared, const BulkOptions *options,
						  Guard *guard, Checks *checks);

/* For WriterRoutine. */
extern RefusalReason nodes_share_refusal(Writer *writer);
extern Size nodes_prepare_share(Writer *writer);
extern void nodes_share(Writer *writer, void *memory);
extern void nodes_gather(Writer *writer);
extern void nodes_begin_parallel(Writer *writer, int processes, bool (*await_turn) (void *arg),
								 void *arg);
extern void nodes_end_parallel(Writer *writer);
extern bool nodes_reserve(Writer *writer);
extern void nodes_take_over(Writer *writer, char *message);
extern void nodes_write(Writer *writer);
extern bool nodes_writes_in_turn(Writer *writer);
extern void nodes_discard(Writer *writer);

#endif							/* PGBULK_NODES_SHARE_H */
