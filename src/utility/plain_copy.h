/*
 * plain_copy.h
 *		COPY FROM statements without an option of pgbulk, run here all the same (pgbulk.copy).
 *
 * The outcome is that of the server's COPY: its rows, its errors, its messages.  Nothing is
 * detected, advised or told that COPY would not.  So a statement is taken only where that holds;
 * all others are left to the server before a byte is read or a message sent, and counted with
 * the reason (statements.h).
 *
 * With `on` a statement has COPY's locks; a table that was created or truncated in the same
 * transaction, which nobody else can use, gets whole pages, and its indexes are built.  With
 * `exclusive` that is done for any table without rows whose lock against other writers is free
 * at once.
 *
 * Small inputs are left to the server, too, as beginning a load takes longer than all of COPY
 * there.  How much a client sends is known only when it has sent it: the server gets the bytes
 * from here then.
 *
 * Price of a statement that is left: a look at its options and at its table, a few microseconds.
 * Trap: of two faults in one file another one may be told than by COPY, as keys are looked up for
 * more rows at a time.
 */
#ifndef PGBULK_PLAIN_COPY_H
#define PGBULK_PLAIN_COPY_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "tcop/cmdtag.h"

typedef enum PlainCopy
{
	PLAIN_COPY_OFF,
	PLAIN_COPY_ON,
	PLAIN_COPY_EXCLUSIVE
} PlainCopy;

/* The setting pgbulk.copy, a PlainCopy. */
extern int	plain_copy_setting;

/* The setting pgbulk.copy_min_size: bytes of input below which the server does it. */
extern int	plain_copy_min_size;

/*
 * The table of such a statement, locked ROW EXCLUSIVE, if plain_copy_run is to run it; else
 * InvalidOid, and the statement is counted as left.  Only while the setting is not off.
 */
extern Oid	plain_copy_table(const CopyStmt *stmt);

/* Runs it.  completion, if not NULL, gets COPY and the number of rows.  Errors: those of COPY. */
extern void plain_copy_run(const PlannedStmt *pstmt, const char *query, Oid relid,
						   QueryCompletion *completion);

#endif							/* PGBULK_PLAIN_COPY_H */
