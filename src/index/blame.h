/*
 * blame.h
 *		Which row of a table an error of the index phase is about.
 *
 * A key may be too large for a page, an expression may throw, a row exclude another
 * one.  Whoever meets that knows the row only by its place in the table, and may be a
 * parallel worker.  The place is noted when the error is thrown, and read by
 * the load's process, which can tell from it the line of a file.
 *
 * Errors that are no row's fault (cancellation, a full disk) are not noted.
 */
#ifndef PGBULK_BLAME_H
#define PGBULK_BLAME_H

#include "postgres.h"

#include "storage/itemptr.h"
#include "storage/spin.h"
#include "utils/rel.h"

typedef struct BlamedRow
{
	Oid			table;			/* InvalidOid: none is known */
	ItemPointerData tid;
} BlamedRow;

/* A row in hand. */
typedef struct Blame
{
	ErrorContextCallback callback;
	Oid			table;
	const ItemPointerData *tid;
} Blame;

/* From here to blame_end an error is about the row that is at tid then. */
extern void blame_begin(Blame *blame, Relation table, const ItemPointerData *tid);
extern void blame_end(Blame *blame);

/* An error about this row comes next. */
extern void blame_row(Relation table, const ItemPointerData *tid);

/* Whether an error may be a row's fault at all. */
extern bool blame_is_possible(int sqlerrcode);

/* Nothing is known: a function may have caught an error about the row before. */
extern void blame_forget(void);

/* The row, if one is known. */
extern bool blame_get(BlamedRow *row);

/* ---- between processes ---- */

/* In shared memory: the row of whoever was first. */
typedef struct SharedBlame
{
	slock_t		lock;
	BlamedRow	row;
} SharedBlame;

extern void blame_init(SharedBlame *shared);

/* In a worker that has caught an error and throws it again: its row goes there. */
extern void blame_give(SharedBlame *shared);

/*
 * From here on an error that comes without a row, as those of workers do, gets it from
 * there.  The callback is left by whoever ends the work.
 */
extern void blame_share(ErrorContextCallback *callback, SharedBlame *shared);

#endif							/* PGBULK_BLAME_H */
