/*
 * reject_queue.h
 *		Carries bad rows from a worker to the reject stream, along with the
 *		worker's journal records.
 *
 * Workers may write to no table but the target, and rejects must reach the
 * stream in input order.  So workers put them into a buffer, which the leader
 * empties when all earlier rows have been processed.
 */
#ifndef PGBULK_REJECT_QUEUE_H
#define PGBULK_REJECT_QUEUE_H

#include "postgres.h"

#include "format/journal.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "reject/rejects.h"

/* file: number of the file that the row is from. */
extern void reject_queue_add(StringInfo queue, int file, const Reject *reject);
extern void reject_queue_set_null(StringInfo queue, int file, const Reject *value,
								  const char *raw, Size raw_len);

/* Complete journal records. */
extern void reject_queue_add_records(StringInfo queue, const char *data, Size len);

/* How many rows of the file were read, and excluded by a filter. */
extern void reject_queue_add_rows(StringInfo queue, int file, int64 read, int64 filtered);

/*
 * Passes complete entries to the stream and the journal, and removes them from
 * the queue.  paths: those of the files.  *context_row is set to the bad row
 * while the stream processes it.  counts: as in rejects_open.
 */
extern void reject_queue_drain(StringInfo queue, List *paths,
							   RejectStream *rejects, const Reject **context_row,
							   Journal *journal, FileCounts *counts);

#endif							/* PGBULK_REJECT_QUEUE_H */
