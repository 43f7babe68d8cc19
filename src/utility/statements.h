/*
 * statements.h
 *		The server's statements that were run here, and those that were left to it, in this session.
 */
#ifndef PGBULK_STATEMENTS_H
#define PGBULK_STATEMENTS_H

#include "postgres.h"

#include "utils/tuplestore.h"

typedef enum StatementKind
{
	STATEMENT_COPY,
	STATEMENT_CREATE_INDEX,		/* each index of it; REINDEX and constraints, too */
	STATEMENT_FOREIGN_KEY
} StatementKind;

/* One that is run here, which a message at level DEBUG1 tells; it counts even if it fails. */
extern void statements_take(StatementKind kind);

/*
 * One that its setting is on for, but that the server runs.  reason: a text that stays, one of a
 * few; name: of what it is about, for the message at level DEBUG1.
 */
extern void statements_leave(StatementKind kind, const char *reason, const char *name);

/* The rows of bulk_load_statements: statement, whether taken, reason or null, count. */
extern void statements_tell(Tuplestorestate *rows, TupleDesc desc);

#endif							/* PGBULK_STATEMENTS_H */
