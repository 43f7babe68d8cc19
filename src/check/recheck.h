/*
 * recheck.h
 *		Rows whose keys the server checks at the end of the statement or of the
 *		transaction, as their constraints are deferrable.
 *
 * INSERT makes the entry of such a row whatever else has its key, and where
 * something has, queues a trigger that looks again at the constraint's time: SET
 * CONSTRAINTS says which that is, and tells nobody.  Here whoever makes the
 * entries notes rows that share a key (conflicts.h), and all but the first of
 * each key are queued, in the order of the input.
 *
 * Price: 24 bytes for each such row in a sort within maintenance_work_mem, then what
 * the server keeps of a trigger.
 */
#ifndef PGBULK_RECHECK_H
#define PGBULK_RECHECK_H

#include "postgres.h"

#include "format/journal.h"
#include "index/conflicts.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

typedef struct Rechecks Rechecks;

/* Whether it is what checks a deferrable key: then it is fired here for the rows of a load. */
extern bool recheck_is_trigger(const Trigger *trigger);

/* Memory: the current context. */
extern Rechecks *rechecks_open(void);

/* Where an index of a table, by its number in the journal, puts what it finds. */
extern const ConflictSink *rechecks_add_index(Rechecks *rechecks, int table, Oid index);

/* What is known of the tables. */
typedef struct RecheckTables
{
	Relation	(*get) (void *arg, int table);	/* open, with all entries in its indexes */
	void		(*set_context) (void *arg, const JournalPlace *place);	/* for CONTEXT; NULL: nothing */
	void	   *arg;
} RecheckTables;

/*
 * Queues the triggers of all rows that were noted.  Returns how many rows they are.
 * Errors: what is not deferred is checked at once, 23505.
 */
extern int64 rechecks_queue(Rechecks *rechecks, Journal *journal,
							const RecheckTables *tables);

extern void rechecks_close(Rechecks *rechecks);

#endif							/* PGBULK_RECHECK_H */
