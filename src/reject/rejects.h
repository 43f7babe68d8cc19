/*
 * rejects.h
 *		The reject stream: counters, reject table, reject file, notices.
 *
 * Only this module knows what happens to a bad row.  Under on_error = stop
 * rejects_add raises the error instead.
 */
#ifndef PGBULK_REJECTS_H
#define PGBULK_REJECTS_H

#include "postgres.h"

#include "option/options.h"
#include "reject/file_counts.h"
#include "reject/reject.h"
#include "server/compat.h"
#include "utils/rel.h"

typedef struct RejectStream RejectStream;

/*
 * Opens what options name.  Call it when the target is open and locked, before
 * anything is read.  inputs are the paths being read (a reject file must be none
 * of them).  Creates a child of the current memory context, whose size does not
 * depend on the number of rejects.
 *
 * Errors: 42501 without pg_write_server_files for reject_file, or without
 * INSERT on an existing reject_table (or CREATE on its schema); 42804 for a
 * reject table with other columns, 42809 if it is not a table, 22023 for the
 * target itself and for a reject file that is an input or its own log; file
 * system errors.
 *
 * counts: by number of the file, where all that is counted is added; or NULL.
 */
extern RejectStream *rejects_open(const BulkOptions *options, Relation target,
								  int64 load_id, List *inputs, FileCounts *counts);

/* The header lines of an input file, line ends included, which a reject file starts with. */
extern void rejects_header(RejectStream *rejects, const char *raw, size_t len);

/* Whether bad rows are rejected (on_error is not stop). */
extern bool rejects_accepting(const RejectStream *rejects);

/* Whether rejects_add and rejects_flush may be called in parallel mode. */
extern bool rejects_parallel_safe(const RejectStream *rejects);

/*
 * Whether rejecting a row may have side effects, because the reject table has
 * triggers or the like.
 */
extern bool rejects_have_effects(const RejectStream *rejects);

/*
 * Adds a bad row.  Raises the error for an exceeded reject_limit
 * (ERRCODE_INVALID_TEXT_REPRESENTATION as in COPY, with the first rejects in
 * DETAIL) or duplicate_limit (23505).  Under on_error = stop it must be called
 * only for duplicate and replaced rows.
 */
extern void rejects_add(RejectStream *rejects, const Reject *reject);

/* How many more rows may be rejected for such a reason before a limit ends the load. */
extern int64 rejects_room(const RejectStream *rejects, RejectReason reason);

/*
 * How many duplicates nobody will see that come next: they need not be added, but only
 * counted, which costs nothing.  Then comes one that must be added: it is shown
 * somewhere, among the first, or the one too many.
 */
extern int64 rejects_unseen_duplicates(const RejectStream *rejects);
extern void rejects_count_duplicates(RejectStream *rejects, int file, RejectReason reason,
									 int64 rows);

/*
 * Counts bad rows of an earlier load that stay where they are, untried, as rejected.
 * Raises the error for an exceeded reject_limit.
 */
extern void rejects_count_left(RejectStream *rejects, RejectReason reason, int64 rows);

/* on_error = set_null: this value of a column, of which no more is known, was made NULL. */
extern void rejects_set_null(RejectStream *rejects, const Reject *value);

/*
 * Writes what rejects_add has buffered to the reject table.  The load calls it
 * after each window (about 1 MB of input), when it has no subtransaction open;
 * small amounts stay buffered until rejects_close.  rejects_add appends to the
 * file and otherwise only buffers, unless 8 MB are waiting because a window is
 * full of bad rows, and the current subtransaction is that of rejects_open.
 */
extern void rejects_flush(RejectStream *rejects);

/*
 * Between these two, rejects survive subtransactions that are rolled back: they
 * are written to the table by rejects_release.
 */
extern void rejects_hold(RejectStream *rejects);
extern void rejects_release(RejectStream *rejects);

/*
 * Instead of rejects_close, while rejects are held: discards everything.  The
 * load will be repeated, and the next stream need not send NOTICEs about single
 * rows again (rejects_suppress_row_notices).
 */
extern void rejects_abandon(RejectStream *rejects);
extern void rejects_suppress_row_notices(RejectStream *rejects);

/* Whether every reject is shown somewhere, not only the first ones. */
extern bool rejects_shown(const RejectStream *rejects);

/* rows_rejected: all but duplicate, replaced */
extern int64 rejects_total(const RejectStream *rejects);

/* rows_duplicate and rows_replaced */
extern int64 rejects_count(const RejectStream *rejects, RejectReason reason);

/*
 * Ends the stream: writes buffered rows to the table, checks percentage limits
 * against rows_read, sends NOTICEs.  The adviser may start and end
 * subtransactions.
 */
extern void rejects_close(RejectStream *rejects, int64 rows_read,
						  const RejectAdviser *adviser);

/*
 * To be called when nothing of the load can fail any more: empties an existing
 * reject file even if there were no bad rows.
 */
extern void rejects_end(RejectStream *rejects);

/*
 * Pushes the keys "rejects" (counts by reason, and "first": up to ten rejects)
 * and "values_set_null" (counts by column) into an open object, each only if
 * there is something to report.  Works after rejects_close too.
 */
extern void rejects_details(const RejectStream *rejects, CompatJsonb *state);

#endif							/* PGBULK_REJECTS_H */
