/*
 * copy_from.h
 *		COPY FROM statements with options of pgbulk.
 *
 * COPY votes (a, b) FROM STDIN WITH (FORMAT csv, ON_DUPLICATE keep_new, REJECT_TABLE rejects)
 * is bulk_load with these options, and with COPY's defaults: format text, and columns, WHERE
 * and the file as the statement has them.
 */
#ifndef PGBULK_COPY_FROM_H
#define PGBULK_COPY_FROM_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "tcop/cmdtag.h"

/*
 * Whether a statement is COPY FROM with an option that pgbulk has and the server's COPY has not,
 * or with a value that only pgbulk knows of one that both have.
 */
extern bool copy_is_ours(const CopyStmt *stmt);

/*
 * Runs such a statement.  completion, if not NULL, gets COPY and the number of rows loaded.
 *
 * Errors: 42601 for options that nobody knows or that are given twice; 0A000 for FROM PROGRAM;
 * 55000 where the extension is not installed in the database; those of load_run.
 */
extern void copy_run(const PlannedStmt *pstmt, const char *query, QueryCompletion *completion);

#endif							/* PGBULK_COPY_FROM_H */
