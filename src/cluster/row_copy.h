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
#include "cluster/row_buffer.h"
#include "format/converter.h"
#include "format/journal.h"

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

/* Whether rows are sent as they are, as far as the file goes; and whether they are all that is. */
extern bool row_copy_is_as_is(const RowCopy *copy);
extern bool row_copy_adds_nothing(const RowCopy *copy);

/* Whether its rows may be set aside, so that their places must be exact. */
extern bool row_copy_is_exact(const RowCopy *copy);

/*
 * Whether lines of the file may be all that is sent of a row: where rows may be set aside, or have
 * columns that the file has not, there is more to do.
 */
extern bool row_copy_takes_lines(const RowCopy *copy);

/*
 * Adds a row of the batch of the journal's reader to a buffer for a shard: as it is, where the
 * slot has the values of columns that the file does not have; or with those of all columns that
 * the shard has.
 */
extern void row_copy_add(RowCopy *copy, const Shard *shard, bool as_is, const Journal *journal,
						 uint32 number, TupleTableSlot *slot, RowBuffer *buffer);

/*
 * The same for a row that is one line of the file, where lines are taken, and for a buffer that has
 * such rows, in the quick way.  False: nothing was done, and it is for row_copy_add.
 */
static inline bool
row_copy_add_line(const Reader *reader, uint32 number, RowBuffer *buffer)
{
	const ScanRow *row = &reader->rows[number];
	const char *bytes = reader->data + row->start;
	uint32		length = row->end - row->start;

	/* one that is \., or ends with a backslash, may mean something else to COPY */
	return !row->multiline && length > 2 && bytes[length - 1] != '\\' &&
		row_buffer_add_line(buffer, bytes, length, reader->line + row->line);
}

#endif							/* PGBULK_ROW_COPY_H */
