/*
 * route.h
 *		Whether a partitioned table has a partition for a row.
 *
 * ExecFindPartition throws where there is none.  Asking here first lets such
 * a row be set aside without a subtransaction.  Price: rows of a load that
 * sets bad rows aside are routed twice.
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

/* False: there is no partition, and err says so. */
extern bool route_exists(Router *router, TupleTableSlot *slot, RowError *err);

extern void route_close(Router *router);

#endif							/* PGBULK_ROUTE_H */
