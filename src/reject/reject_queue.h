/*
 * reject_queue.h
 *		Bad rows on their way from a worker to the reject stream, and what it has
 *		written in its journal.
 *
 * Workers may write to no table but the target, and what they find must come
 * to the stream in the order of the input.  So they put it into a buffer, and
 * the leader takes it out when the rows before are done with.
 */
#ifndef PGBULK_REJECT_QUEUE_H
#define PGBULK_REJECT_QUEUE_H

#include "postgres.h"

#include "format/journal.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "reject/rejects.h"

/* file is the number of the file that the row is from. */
extern void reject_queue_add(StringInfo queue, int file, const Reject *reject);
extern void reject_queue_set_null(StringInfo queue, int file,
								  const char *column, const char *value,
								  int64 line, const char *raw, Size raw_len);

/* Records of a journal, whole ones. */
extern void reject_queue_add_records(StringInfo queue, const char *data, Size len);

/*
 * Gives what is whole in the queue to the stream and drops it there.  paths
 * are those of the files.  *telling is set to the bad row while
 * the stream deals with it.  Records go to the journal.
 */
extern void reject_queue_drain(StringInfo queue, List *paths,
							   RejectStream *rejects, const Reject **context_row,
							   Journal *journal);

#endif							/* PGBULK_REJECT_QUEUE_H */
