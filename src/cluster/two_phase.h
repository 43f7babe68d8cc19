/*
 * two_phase.h
 *		The transactions of a load on other nodes, ended as its own is.
 *
 * Before the transaction commits, each node prepares its own; after it has, each
 * commits that.  Whether to commit is decided by the local commit record alone,
 * so what a crash, or a node out of reach, leaves prepared can be settled later
 * (settle.h).
 */
#ifndef PGBULK_TWO_PHASE_H
#define PGBULK_TWO_PHASE_H

#include "postgres.h"

#include "access/transam.h"
#include "access/xlogdefs.h"
#include "cluster/node.h"

/* The setting pgbulk.debug_two_phase: where tests stop until the load is cancelled, or "". */
extern char *two_phase_stop;

/*
 * What the identifiers of all transactions that this database has prepared on
 * other nodes begin with:
 *
 *		pgbulk_<system identifier>_<database>_<transaction here>_<node>_<timeline>_<LSN>_<random>
 *
 * The LSN is that of a record here, on the timeline, with the transaction's number.
 * Nobody can guess the random number, and so take the identifier beforehand.
 * Memory: the current context.
 */
extern char *two_phase_prefix(void);

/* What such an identifier says of the transaction here. */
typedef struct TwoPhaseOrigin
{
	FullTransactionId xid;
	TimeLineID	timeline;
	XLogRecPtr	lsn;
} TwoPhaseOrigin;

/* False: it is none. */
extern bool two_phase_parse(const char *gid, TwoPhaseOrigin *origin);

/* Whether the transaction has sent rows to other nodes. */
extern bool two_phase_is_begun(void);

/* The node has begun a transaction for the current one. */
extern void two_phase_join(RemoteNode *node);

/*
 * Prepares the transactions of all nodes, which may fail, and rolls them back: for a dry run.  It
 * must be in a subtransaction that is rolled back, as that says how what a crash, or a node out of
 * reach, leaves prepared is to end.
 */
extern void two_phase_try(void);

/* Watches transactions end; called once. */
extern void two_phase_install(void);

#endif							/* PGBULK_TWO_PHASE_H */
