/*
 * inserter_type.h
 *		What an inserter asks of its owner.
 */
#ifndef PGBULK_INSERTER_TYPE_H
#define PGBULK_INSERTER_TYPE_H

#include "postgres.h"

#include "index/row_id.h"
#include "storage/itemptr.h"

typedef struct Inserter Inserter;

/*
 * Takes a row that needs the server's judgement; a leaf may be locked.  entered: its entry is in
 * already.
 */
typedef void (*InserterDoubt) (void *arg, RowId row, const char *image, Size size,
							   bool entered);

/* What is known of the row of an entry with the current key. */
typedef enum InserterKnown
{
	INSERTER_UNKNOWN,
	INSERTER_GONE,				/* this transaction has deleted it */
	INSERTER_DEAD				/* it was dead to everyone after the key had been looked up */
} InserterKnown;

typedef InserterKnown (*InserterKnows) (void *arg, const ItemPointerData *tid);

/*
 * Entries of a leaf whose rows were dead to everyone after keys had been looked up on it: their
 * TIDs in order, at most max.  lsn: only those that were found when the leaf had it.  Returns how
 * many.  The leaf is locked.
 */
typedef int (*InserterDead) (void *arg, BlockNumber block, XLogRecPtr lsn, ItemPointerData *tids,
							 int max);

#endif							/* PGBULK_INSERTER_TYPE_H */
