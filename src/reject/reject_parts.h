/*
 * reject_parts.h
 *		The parts of the reject stream: table, file, summary.
 *
 * Private to rejects.c and its parts.  File names in a Reject have been made
 * valid text in the database encoding.
 */
#ifndef PGBULK_REJECT_PARTS_H
#define PGBULK_REJECT_PARTS_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "option/options.h"
#include "reject/reject.h"
#include "reject/relay.h"
#include "server/compat.h"

/* -- the reject table (reject_table.c) -- */

typedef struct RejectTable RejectTable;

/*
 * Opens or creates the table named by options, in the current memory context.
 * binary: raw is never text.  Errors: see rejects_open.
 */
extern RejectTable *reject_table_open(const BulkOptions *options,
									  Relation target, int64 load_id);

/* Copies a reject into the buffer. */
extern void reject_table_put(RejectTable *table, const Reject *reject);

/* Whether its rows can be written while parallel workers are running. */
extern bool reject_table_parallel_safe(const RejectTable *table);

/* Whether inserting into it has no side effects such as triggers. */
extern bool reject_table_is_plain(const RejectTable *table);

/* Bytes in the buffer. */
extern Size reject_table_buffered(const RejectTable *table);

/*
 * Until reject_table_release, flushed rows are held in a tuplestore that
 * belongs to the current subtransaction, so that they survive the rollback of
 * nested ones.
 */
extern void reject_table_hold(RejectTable *table);
extern void reject_table_release(RejectTable *table);

/*
 * Instead of reject_table_release and reject_table_close: discards all held and
 * buffered rows.
 */
extern void reject_table_abandon(RejectTable *table);

/* Writes the whole buffer to the table. */
extern void reject_table_flush(RejectTable *table);
extern void reject_table_close(RejectTable *table);

/* -- the reject file and its log (reject_file.c) -- */

typedef struct RejectFile RejectFile;

/* Existing contents of the files are kept until the first put, or close. */
extern RejectFile *reject_file_open(const BulkOptions *options, List *inputs);
extern void reject_file_header(RejectFile *file, const char *raw, size_t len);
extern void reject_file_put(RejectFile *file, const Reject *reject);
extern void reject_file_flush(RejectFile *file);
extern void reject_file_close(RejectFile *file);

/* -- counts, kinds, examples (reject_summary.c) -- */

typedef struct RejectSummary RejectSummary;

extern RejectSummary *reject_summary_create(const BulkOptions *options);
extern void reject_summary_add(RejectSummary *summary, const Reject *reject);

/* Whether the first ones are all there that are kept; the same without what they look like. */
extern bool reject_summary_has_first(const RejectSummary *summary);
extern void reject_summary_count_unseen(RejectSummary *summary, RejectReason reason,
										int64 rows);
extern void reject_summary_set_null(RejectSummary *summary, const Reject *value);

/* All but duplicate and replaced rows. */
extern int64 reject_summary_rejected(const RejectSummary *summary);

extern int64 reject_summary_count(const RejectSummary *summary,
								  RejectReason reason);

/*
 * The first five rejects, or the first five duplicate and replaced rows, one
 * per line, for an error's DETAIL.
 */
extern char *reject_summary_first(const RejectSummary *summary,
								  bool duplicates);

/* The closing NOTICEs. */
extern void reject_summary_report(const RejectSummary *summary,
								  const RejectAdviser *adviser);

/* For the result.  all: every example, with texts of any length. */
extern void reject_summary_details(const RejectSummary *summary, bool all,
								   CompatJsonb *state);

/* -- shared helpers (reject_summary.c) -- */

/* SQLSTATE as text; dst must have space for 6 bytes. */
extern void reject_sqlstate(int sqlstate, char *dst);

#endif							/* PGBULK_REJECT_PARTS_H */
