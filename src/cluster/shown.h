/*
 * shown.h
 *		What each session with another server has got of a load, for other processes to see.
 *
 * It is in shared memory of the load, whose handle is among what progress.h publishes, until the
 * transaction ends: what comes last is that the nodes prepare and commit.
 */
#ifndef PGBULK_SHOWN_H
#define PGBULK_SHOWN_H

#include "postgres.h"

#include "utils/tuplestore.h"

/* What a node does; the words are in shown.c. */
typedef enum ShownState
{
	SHOWN_IDLE,
	SHOWN_STARTING,
	SHOWN_COPYING,
	SHOWN_ENDING,
	SHOWN_PREPARING,
	SHOWN_PREPARED,
	SHOWN_COMMITTING,
	SHOWN_COMMITTED
} ShownState;

/*
 * One more session, with a backend of that PID there.  Returns its number; SHOWN_NOT where there
 * are too many, or no shared memory, which the other functions then ignore.
 */
#define SHOWN_NOT (-1)
extern int	shown_add(const char *server, int pid);

extern void shown_state(int number, ShownState state);

/* How much it has got so far, and what waits for it. */
extern void shown_rows(int number, int64 rows, int64 bytes, int64 waiting);

/* The load was rolled back, as it is a dry run: its sessions are not shown any more. */
extern void shown_undo(void);

/* The transaction has ended: there is nothing to see any more. */
extern void shown_end(void);

/* The rows of bulk_load_progress_nodes: of all loads that the user may see. */
extern void shown_list(Tuplestorestate *store, TupleDesc desc);

#endif							/* PGBULK_SHOWN_H */
