/*
 * displaced.h
 *		Rows of the load that later ones have displaced while they came.
 *
 * Their places in the input are known again when the journal is read at the end: as
 * often as it takes, for some MB of such rows at a time.
 */
#ifndef PGBULK_DISPLACED_H
#define PGBULK_DISPLACED_H

#include "postgres.h"

#include "format/journal.h"
#include "storage/itemptr.h"

typedef struct DisplacedRow
{
	int			table;
	ItemPointerData tid;
	Oid			index;			/* in which its key came again */
} DisplacedRow;

typedef struct Displaced Displaced;

/* Memory: the current context. */
extern Displaced *displaced_open(void);

extern void displaced_put(Displaced *displaced, const DisplacedRow *row);

/*
 * Calls found for each row, with its place; NULL for one that is not in the
 * journal.  Lets go of everything.
 */
extern void displaced_close(Displaced *displaced, Journal *journal,
							void (*found) (void *arg, const DisplacedRow *row,
										   const JournalPlace *place),
							void *arg);

#endif							/* PGBULK_DISPLACED_H */
