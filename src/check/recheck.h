/*
 * recheck.h
 *		Rows whose unique or exclusion constraints are deferrable, so that
 *		the server checks them at the end of the statement or transaction.
 *
 * INSERT makes the index entry of such a row even if there are conflicting
 * rows, and if there are, queues a trigger that rechecks the constraint at its
 * time.  When that is depends on SET CONSTRAINTS, whose state cannot be
 * queried.  Here the code that builds the index notes rows with the same key
 * (conflicts.h), and all but the first of each key are queued, in input order.
 *
 * Price: 24 bytes per such row in a sort within maintenance_work_mem, and what
 * the server keeps per queued trigger.
 */
#ifndef PGBULK_RECHECK_H
#define PGBULK_RECHECK_H

#include "postgres.h"

#include "format/journal.h"
#include "index/conflicts.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

typedef struct Rechecks Rechecks;

/*
 * Whether a trigger rechecks a deferrable key; if so it is queued here for the
 * rows of a load.
 */
extern bool recheck_is_trigger(const Trigger *trigger);

/* Memory: the current context. */
extern Rechecks *rechecks_open(void);

/*
 * Returns the sink for conflicting rows of an index of a table, given by its
 * number in the journal.
 */
extern const ConflictSink *rechecks_add_index(Rechecks *rechecks, int table, Oid index);

/* Access to the tables. */
typedef struct RecheckTables
{
	Relation	(*get) (void *arg, int table);	/* open, all index entries made */
	/* sets the row for CONTEXT; NULL: none */
	void		(*set_context) (void *arg, const JournalPlace *place);
	void	   *arg;
} RecheckTables;

/*
 * Queues the triggers of all noted rows; returns the number of rows.  Errors:
 * constraints that are not deferred are checked at once, 23505.
 */
extern int64 rechecks_queue(Rechecks *rechecks, Journal *journal,
							const RecheckTables *tables);

extern void rechecks_close(Rechecks *rechecks);

#endif							/* PGBULK_RECHECK_H */
