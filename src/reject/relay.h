/*
 * relay.h
 *		Bad rows of a COPY, told to the pgbulk of another server, which has sent its rows.
 *
 * Each is a message of level INFO, which goes to the client at once, whatever
 * client_min_messages is.  Its SQLSTATE, message and column are those of the
 * row's error; and
 *
 * 		the schema is		RELAY_MARK
 * 		the table			what it tells: the reason of a bad row, or one of the words below
 * 		the constraint		the offset of the row's first byte in the COPY's data, -1 where it has
 * 							none; or a number
 * 		DETAIL				the field's value, or the row that was replaced
 * 		the data type		RELAY_ROW where it is the row
 */
#ifndef PGBULK_RELAY_H
#define PGBULK_RELAY_H

#include "postgres.h"

#include "reject/reject.h"

#define RELAY_MARK "pgbulk"

#define RELAY_ROW "row"

/* A value of a row that is stored was made NULL. */
#define RELAY_SET_NULL "null"

/* All that was told is void: the load begins anew. */
#define RELAY_AGAIN "again"

/* So many more rows were duplicates, or replaced rows. */
#define RELAY_DUPLICATES "duplicates"
#define RELAY_REPLACEMENTS "replacements"

/* The setting pgbulk.relay, a BulkRelay: for COPY FROM STDIN with options of ours. */
extern int	relay_setting;

/* By reason, as in reject tables. */
extern const char *const reject_reason_names[REJECT_NREASONS];

extern void relay_reject(const Reject *reject);
extern void relay_set_null(const Reject *value);
extern void relay_again(void);

/* what: RELAY_DUPLICATES or RELAY_REPLACEMENTS. */
extern void relay_count(const char *what, int64 rows);

#endif							/* PGBULK_RELAY_H */
