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

/* Whether the row of an entry has been deleted by this transaction. */
typedef bool (*InserterGone) (void *arg, const ItemPointerData *tid);

#endif							/* PGBULK_INSERTER_TYPE_H */
