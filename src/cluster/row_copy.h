/*
 * row_copy.h
 *		A row as a COPY on another node reads it.
 *
 * As it is: the bytes of the file, behind which come the columns that the file
 * does not have.  Or formed: all values as text, by their output functions.
 */
#ifndef PGBULK_ROW_COPY_H
#define PGBULK_ROW_COPY_H

#include "postgres.h"

#include "cluster/placement.h"
#include "format/converter.h"
#include "lib/stringinfo.h"

typedef struct RowCopy RowCopy;

/*
 * For the columns of a file.  why: set to why its rows cannot be sent as they are,
 * or NULL; a sentence for people, never translated.  Memory: the current context.
 */
extern RowCopy *row_copy_open(Relation target, const Converter *conv, const char **why);

/* Whether nodes have to set rows aside, and what they have to tell of these. */
extern BulkRelay row_copy_relay(const BulkOptions *options);

/* For which reasons these may set rows aside, as TOLD_BIT (told.h). */
extern uint32 row_copy_reasons(const BulkOptions *options);

/* The COPY for a shard.  as_is: for rows as they are.  Memory: the current context. */
extern char *row_copy_statement(const RowCopy *copy, const Shard *shard, bool as_is);

/* Whether rows for a shard can be sent as they are as far as its columns go. */
extern bool row_copy_covers(const RowCopy *copy, const Shard *shard);

/* Whether the file has all columns, so that its rows are all that is sent. */
extern bool row_copy_adds_nothing(const RowCopy *copy);

/* Appends the row; the slot has the values of columns that the file does not have. */
extern void row_copy_put_as_is(RowCopy *copy, const char *bytes, Size length,
							   TupleTableSlot *slot, StringInfo to);

/* Appends the row with the values of all columns that the shard has. */
extern void row_copy_put_formed(RowCopy *copy, const Shard *shard, TupleTableSlot *slot,
								StringInfo to);

#endif							/* PGBULK_ROW_COPY_H */
