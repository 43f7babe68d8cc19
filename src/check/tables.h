/*
 * tables.h
 *		Which checks a table needs at the end; check.h decides whether they
 *		are possible.
 */
#ifndef PGBULK_TABLES_H
#define PGBULK_TABLES_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "option/options.h"
#include "table/refusal.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

/* Whether a trigger checks a foreign key of rows that are inserted. */
extern bool tables_is_key(const Trigger *trigger);

/* The next such trigger that fires, from number *next on, which becomes that behind it; or NULL. */
extern const Trigger *tables_next_key(const TriggerDesc *triggers, int *next);

/* OIDs of the indexes that enforce uniqueness or exclusion, in the current context. */
extern List *tables_unique_indexes(Relation rel);

/* Whether an index may reject a row, because of its size or an error in an expression. */
extern bool tables_may_refuse(Relation rel);

/*
 * Whether this transaction may have stored rows that refer to new rows of the
 * table by foreign keys; other transactions cannot see these.
 */
extern bool tables_may_be_referred_to(Relation rel);

/*
 * Why the row triggers of a table cannot be left to checks_run, or REFUSAL_NONE
 * if they can or there are none.  A partitioned table is judged without its
 * leaves.
 */
extern RefusalReason tables_refusal(Relation rel, const BulkOptions *options);

/*
 * Why rows of a table cannot be replaced after the load, or REFUSAL_NONE if they
 * can or none will be.
 */
extern RefusalReason tables_replacement_refusal(Relation rel, const BulkOptions *options);

/*
 * Why duplicates of a plain table cannot be handled by checks_run as
 * on_duplicate says, or REFUSAL_NONE.
 */
extern RefusalReason tables_duplicates_refusal(Relation rel, const BulkOptions *options);

/*
 * Whether rows of a table may refer to other rows of the same load, in the
 * table or another partition, so that only the end shows which are good.
 */
extern bool tables_refers_to_itself(Relation rel);

/*
 * Before the load: whether checks_must_repeat may become true, for the target
 * or a partition.
 */
extern bool tables_may_repeat(Relation rel, const BulkOptions *options);

#endif							/* PGBULK_TABLES_H */
