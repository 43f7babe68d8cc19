/*
 * settle.h
 *		Transactions that a load has left prepared on other nodes.
 *
 * A crash between the two phases, or a node out of reach, leaves them.  Each is
 * to end as the load's own transaction has ended here, as its commit record says.
 */
#ifndef PGBULK_SETTLE_H
#define PGBULK_SETTLE_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "cluster/node.h"
#include "utils/tuplestore.h"

/*
 * Ends those of this database on a node, where that is known how, with a WARNING
 * for those that are left.  The session must not be in a transaction.
 */
extern void settle_node(RemoteNode *node);

/*
 * The same for all servers that the current user can use, or with ends false
 * only a look: a row (server, gid, prepared, state) for each transaction, and for each server
 * that cannot be reached.  Error: 25006 on a standby, where nothing is to be ended.
 */
extern void settle_all(bool ends, Tuplestorestate *rows, TupleDesc desc);

#endif							/* PGBULK_SETTLE_H */
