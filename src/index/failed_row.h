/*
 * failed_row.h
 *		Which row of a table an error of the index phase is about.
 *
 * A key may be too large for a page, an expression may throw, a row exclude another
 * one.  Whoever meets that knows the row only by its place in the table, and may be a
 * parallel worker.  The place is noted when the error is thrown, and read by
 * the load's process, which can tell from it the line of a file.
 *
 * Errors that are no row's fault (cancellation, a full disk) are not noted.
 */
#ifndef PGBULK_FAILED_ROW_H
#define PGBULK_FAILED_ROW_H

#include "postgres.h"

#include "access/parallel.h"
#include "storage/itemptr.h"
#include "storage/spin.h"
#include "utils/rel.h"

typedef struct FailedRow
{
	Oid			table;			/* InvalidOid: none is known */
	ItemPointerData tid;
} FailedRow;

/* The current row. */
typedef struct FailedRowContext
{
	ErrorContextCallback callback;
	Oid			table;
	const ItemPointerData *tid;
} FailedRowContext;

/* From here to failed_row_end an error is about the row that is at tid then. */
extern void failed_row_begin(FailedRowContext *context, Relation table, const ItemPointerData *tid);
extern void failed_row_end(FailedRowContext *context);

/* An error about this row comes next. */
extern void failed_row_set(Relation table, const ItemPointerData *tid);

/* Whether an error may be a row's fault at all. */
extern bool failed_row_is_possible(int sqlerrcode);

/* Nothing is known: a function may have caught an error about the row before. */
extern void failed_row_reset(void);

/* The row, if one is known. */
extern bool failed_row_get(FailedRow *row);

/* ---- between processes ---- */

/* In shared memory: the row of whoever was first. */
typedef struct SharedFailedRow
{
	slock_t		lock;
	FailedRow	row;
} SharedFailedRow;

extern void failed_row_init(SharedFailedRow *shared);

/* In a worker that has caught an error and throws it again: its row goes there. */
extern void failed_row_send(SharedFailedRow *shared);

/* An error of a worker, which comes without a row, gets it from there. */
extern void failed_row_receive(ParallelContext *pcxt, SharedFailedRow *shared);

#endif							/* PGBULK_FAILED_ROW_H */
