/*
 * dry_run.h
 *		A load that leaves nothing behind.
 *
 * It is done for real, in a subtransaction that is rolled back at its end, so
 * that rows are checked exactly as in a load.  A rollback alone leaves dead
 * rows, index entries that point to them, and sequences that have advanced.  So
 * before the first row of a table is inserted, its indexes and sequences get
 * files that are dropped with the subtransaction (index/private.h), and rows go
 * only to new pages, which are truncated afterwards.
 *
 * Nobody else may write to the tables meanwhile: SHARE ROW EXCLUSIVE, which the
 * caller's transaction keeps.  Rows that triggers and functions write, to other
 * tables or to old pages of these, are rolled back as usual; so are deletions
 * of old rows, which clear bits of the visibility map.  Statistics counters are
 * not undone.
 */
#ifndef PGBULK_DRY_RUN_H
#define PGBULK_DRY_RUN_H

#include "postgres.h"

#include "utils/rel.h"

typedef struct DryRun DryRun;

/* Memory: the current context. */
extern DryRun *dry_run_create(void);

/*
 * Calls body(arg) in a subtransaction, fires triggers that are deferred to the
 * end of the transaction, and rolls all back, also after an error, which is
 * rethrown.  What the body has opened is closed then.  A NOTICE reports pages
 * that remain because others use a table.
 */
extern void dry_run(DryRun *dry, void (*body) (void *arg), void *arg);

/* The subtransaction that has called dry_run. */
extern SubTransactionId dry_run_caller(const DryRun *dry);

/*
 * To be called before rows are inserted into a table.  by_page: to new pages
 * only; else the target block of the table becomes a new page, and rows must be
 * inserted with TABLE_INSERT_SKIP_FSM.  To be called in the subtransaction
 * itself, not in a nested one; opened: how often the caller has opened each
 * index. Error: 55006 where a query of this session uses an index.
 */
extern void dry_run_prepare(DryRun *dry, Relation rel, bool by_page, int opened);

/* To be called before values are taken from the sequences of a table's columns. */
extern void dry_run_sequences(Relation rel);

#endif							/* PGBULK_DRY_RUN_H */
