/*
 * route.h
 *		The partition for a row, found without an error.
 *
 * ExecFindPartition throws where there is none.  Asking here first lets such
 * a row be set aside without a subtransaction.  With each leaf the caller may
 * keep what it knows of it, so that the server is asked once for a leaf, and
 * not for each row.
 *
 * Trap: the server checks the bounds of a default partition for each row, as
 * others may have attached partitions since.  For these it must be asked.
 */
#ifndef PGBULK_ROUTE_H
#define PGBULK_ROUTE_H

#include "postgres.h"

#include "executor/executor.h"
#include "row/guard.h"
#include "row/row_error.h"

typedef struct Router Router;

/* root stays the caller's.  Memory: the executor state's. */
extern Router *route_open(Relation root, EState *estate, Guard *guard);

/*
 * False: there is no partition, and err, unless NULL, says so.  *place is where the caller keeps a
 * pointer for the leaf, NULL at first; or NULL: the server is to be asked for each row.
 */
extern bool route_find(Router *router, TupleTableSlot *slot, void ***place, RowError *err);

extern void route_close(Router *router);

#endif							/* PGBULK_ROUTE_H */
