/*
 * begin.h
 *		The transaction of a load on another node, before its first row.
 */
#ifndef PGBULK_BEGIN_H
#define PGBULK_BEGIN_H

#include "postgres.h"

#include "cluster/node.h"
#include "option/bulk_options.h"

/*
 * Begins it, with the settings that give values their meaning here.  Returns the
 * version of pgbulk that runs its COPYs, or why it does not.  relay: what pgbulk there
 * is to tell of rows that it sets aside.  Error: 55000 where the node cannot prepare
 * transactions, or set rows aside.  Memory: the current context.
 */
extern char *begin_transaction(RemoteNode *node, BulkRelay relay);

/* Has a setting of the node be as it is here, for its transaction. */
extern void begin_pass_setting(RemoteNode *node, const char *name);

#endif							/* PGBULK_BEGIN_H */
