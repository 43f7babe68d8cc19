/*
 * route.h
 *		The partition for a row, found without an error.
 *
 * ExecFindPartition throws where there is none.  Searching here first lets such
 * a row be set aside without a subtransaction.  The caller may keep a pointer
 * with each leaf, so that ExecFindPartition is called once for a leaf, and not
 * for each row.
 *
 * Trap: the server checks the bounds of a default partition for each row, as
 * other sessions may have attached partitions since.  For these it must be
 * called.
 */
#ifndef PGBULK_ROUTE_H
#define PGBULK_ROUTE_H

#include "postgres.h"

#include "executor/executor.h"
#include "row/guard.h"
#include "row/row_error.h"

typedef struct Router Router;

/* root still belongs to the caller.  Memory: the executor state's. */
extern Router *route_open(Relation root, EState *estate, Guard *guard);

/*
 * False: there is no partition, and err, unless NULL, is filled.  *place is the
 * caller's pointer for the leaf, NULL at first; or NULL: ExecFindPartition must
 * be called for each row.
 */
extern bool route_find(Router *router, TupleTableSlot *slot, void ***place, RowError *err);

/*
 * The same for a caller who keeps others from attaching partitions where it
 * matters: *place is never NULL, *relid is the leaf, and *by_default whether the
 * row is there because no other partition takes it.
 */
extern bool route_find_leaf(Router *router, TupleTableSlot *slot, void ***place, Oid *relid,
							bool *by_default);

/*
 * Whether the key is a column alone, its functions only compute, and there are leaves that
 * route_find_by_value finds.
 */
extern bool route_is_by_value(const Router *router);

/*
 * The caller's pointer for the leaf of a row with that value of such a key, not NULL.  NULL: there
 * is none, or it is the default one, or one of a partition that is partitioned again.
 */
extern void **route_find_by_value(Router *router, Datum value);

/*
 * As route_find for tuples with the root's columns: *places[i] is NULL, too, where the tuple is for
 * route_find.  Returns for how many there is a place: the next one has no partition, or its key
 * does more than compute.
 */
extern uint32 route_find_tuples(Router *router, HeapTuple *tuples, uint32 n, void ***places);

/* One of these in a slot, until the next one. */
extern TupleTableSlot *route_show_tuple(Router *router, HeapTuple tuple);

extern void route_close(Router *router);

#endif							/* PGBULK_ROUTE_H */
