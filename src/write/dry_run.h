/*
 * dry_run.h
 *		A load of which nothing stays.
 *
 * It is done for real, in a subtransaction that is rolled back at its end, so
 * that whatever checks its rows is what would check them.  A roll-back alone
 * leaves dead rows, index entries that point to them, and sequences that have
 * moved on.  So before the first row comes to a table, its indexes and
 * sequences get files that go with the subtransaction (index/private.h), and
 * rows lie only on new pages, which are cut off afterwards.
 *
 * Nobody else may write to the tables meanwhile: SHARE ROW EXCLUSIVE, which the
 * caller's transaction keeps. Rows that triggers and functions write, to other
 * tables or on old pages of these, are rolled back as they always are; so are
 * deletions of old rows, which clear bits of the visibility map.  Counts of
 * statistics stay, too.
 */
#ifndef PGBULK_DRY_RUN_H
#define PGBULK_DRY_RUN_H

#include "postgres.h"

#include "utils/rel.h"

typedef struct DryRun DryRun;

/* Memory: the current context. */
extern DryRun *dry_run_create(void);

/*
 * Calls body(arg) in a subtransaction, fires what has been deferred to the end
 * of the transaction, and rolls all back, as it does with an error, which is
 * thrown on.  What the body has opened is closed then.  A NOTICE tells of pages
 * that stay as others use a table.
 */
extern void dry_run(DryRun *dry, void (*body) (void *arg), void *arg);

/* The subtransaction that has called dry_run. */
extern SubTransactionId dry_run_caller(const DryRun *dry);

/*
 * Rows are about to come to a table.  by_page: to new pages only; else the
 * target block of the table is a new page now, and rows are to be inserted with
 * TABLE_INSERT_SKIP_FSM.  To be called in the subtransaction itself, not in one
 * below; opened: how often the caller has opened each index. Error: 55006 where
 * a query of this session uses an index.
 */
extern void dry_run_prepare(DryRun *dry, Relation rel, bool by_page, int opened);

/* Values are about to be taken from the sequences of a table's columns. */
extern void dry_run_sequences(Relation rel);

#endif							/* PGBULK_DRY_RUN_H */
