/*
 * rejects.h
 *		Where bad rows go: counters, reject table, reject file, notices.
 *
 * The only room that knows what becomes of a bad row.  Under on_error = stop
 * rejects_add raises the error instead.
 */
#ifndef PGBULK_REJECTS_H
#define PGBULK_REJECTS_H

#include "postgres.h"

#include "option/options.h"
#include "reject/reject.h"
#include "server/compat.h"
#include "utils/rel.h"

typedef struct RejectStream RejectStream;

/*
 * Opens what options name.  Call after the target is open and locked and
 * before anything is read.  target_name is for the reject table's column, so
 * it names its schema; file_encoding is that of raw; inputs are the paths being read (a reject
 * file must be none of them).  Memory: a context of its own below the
 * current one, flat however many rows are rejected.
 *
 * Errors: 42501 without pg_write_server_files for reject_file, or without
 * INSERT on an existing reject_table (or CREATE on its schema); 42804 for a
 * reject table of another shape, 42809 for what is no table, 22023 for the
 * target itself and for a reject file that is an input, or its own log; the file system's.
 */
extern RejectStream *rejects_open(const BulkOptions *options, Relation target,
								  const char *target_name, int64 load_id,
								  List *inputs);

/* The header line(s) of an input file, line ends included: a reject file starts with them. */
extern void rejects_header(RejectStream *rejects, const char *raw, size_t len);

/* Whether bad rows are set aside (on_error is not stop). */
extern bool rejects_accepting(const RejectStream *rejects);

/* Whether rejects_add and rejects_flush may be called in parallel mode. */
extern bool rejects_parallel_safe(const RejectStream *rejects);

/* Whether a rejected row may have effects: the reject table has triggers, or more. */
extern bool rejects_have_effects(const RejectStream *rejects);

/*
 * Takes a bad row.  Raises the reject_limit error where it is one too many
 * (22P02's class as COPY: ERRCODE_INVALID_TEXT_REPRESENTATION, DETAIL with
 * the first rejects), and the duplicate_limit error (23505) likewise.  Under on_error =
 * stop only for duplicate and replaced rows.
 */
extern void rejects_add(RejectStream *rejects, const Reject *reject);

/* on_error = set_null: a value of this column was made NULL. */
extern void rejects_set_null(RejectStream *rejects, const char *column,
							 const char *value, const char *file, int64 line);

/*
 * Writes what rejects_add has buffered to the reject table.  The load calls
 * it after each window (about 1 MB of input), when no subtransaction of its
 * own is open; small amounts stay buffered until rejects_close.  rejects_add
 * appends to the file and else only buffers, unless a window is so full of
 * bad rows that 8 MB are waiting and the subtransaction is that of
 * rejects_open.
 */
extern void rejects_flush(RejectStream *rejects);

/*
 * Between these two, rejects outlive a subtransaction that may be rolled back: they are written to the
 * table only when rejects_release is called.
 */
extern void rejects_hold(RejectStream *rejects);
extern void rejects_release(RejectStream *rejects);

/*
 * Instead of rejects_close, while held: nothing of it stays.  The load is to be done again; what was said of single rows
 * need not be said again (rejects_suppress_row_notices, of the next stream).
 */
extern void rejects_abandon(RejectStream *rejects);
extern void rejects_suppress_row_notices(RejectStream *rejects);

/* Whether every reject is shown somewhere, not only the first ones. */
extern bool rejects_shown(const RejectStream *rejects);

extern int64 rejects_total(const RejectStream *rejects);	/* rows_rejected: all but duplicate, replaced */

/* rows_duplicate and rows_replaced */
extern int64 rejects_count(const RejectStream *rejects, RejectReason reason);

/*
 * There are no more bad rows: what is buffered goes to the table, the
 * percent limits are judged against rows_read, NOTICEs are sent.  The adviser
 * may open and close subtransactions.
 */
extern void rejects_close(RejectStream *rejects, int64 rows_read,
						  const RejectAdviser *adviser);

/*
 * The load has ended well, and nothing of it is left to fail: now a reject file
 * loses what stood in it before even if there are no bad rows.
 */
extern void rejects_end(RejectStream *rejects);

/*
 * For details: pushes into an open object the keys "rejects" (counts by
 * reason, and "first": up to ten rejects) and "values_set_null" (counts by
 * column), each only where there is something to tell.  Works after
 * rejects_close too.
 */
extern void rejects_details(const RejectStream *rejects, CompatJsonb *state);

#endif							/* PGBULK_REJECTS_H */
