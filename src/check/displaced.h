/*
 * displaced.h
 *		Rows of the load that later rows of the load have replaced.
 *
 * Their places in the input are looked up in the journal at the end, a few MB
 * of them per pass.
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
	Oid			index;			/* in which its key conflicts */
} DisplacedRow;

typedef struct Displaced Displaced;

/* Memory: the current context. */
extern Displaced *displaced_open(void);

extern void displaced_put(Displaced *displaced, const DisplacedRow *row);

/*
 * Calls found for each row with its place, or NULL if it is not in the journal.
 * Frees everything.
 */
extern void displaced_close(Displaced *displaced, Journal *journal,
							void (*found) (void *arg, const DisplacedRow *row,
										   const JournalPlace *place),
							void *arg);

#endif							/* PGBULK_DISPLACED_H */
