/*
 * tables.h
 *		What a table has that is checked at the end; whether it can be, check.h asks.
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

/* Indexes in which no two rows may have the same key, or exclude one another.  Memory: the current context. */
extern List *tables_unique_indexes(Relation rel);

/* Whether one of its indexes may not be able to take a row: by its size, or by an error of an expression. */
extern bool tables_may_refuse(Relation rel);

/*
 * Whether rows that this transaction has stored may refer to rows of the table, by foreign keys: no other
 * transaction knows rows of it that are new.
 */
extern bool tables_may_be_referred_to(Relation rel);

/*
 * Why the row triggers of a table cannot be left to checks_run, or REFUSAL_NONE
 * where they can, or where there is none.  For a partitioned table: of itself, not its leaves.
 */
extern RefusalReason tables_refusal(Relation rel, const BulkOptions *options);

/* Why rows of a table cannot be replaced after the load if they are to be, or REFUSAL_NONE. */
extern RefusalReason tables_replacement_refusal(Relation rel, const BulkOptions *options);

/*
 * Why duplicates of a plain table cannot be left to checks_run, as on_duplicate says
 * what becomes of them, or REFUSAL_NONE.
 */
extern RefusalReason tables_duplicates_refusal(Relation rel, const BulkOptions *options);

/*
 * Whether rows of a table may refer to others of the same load, in it or in another partition: then it
 * is known only at the end which are good.
 */
extern bool tables_refers_to_itself(Relation rel);

/*
 * Before the load: whether it may come to checks_must_repeat, for the target or a partition.
 */
extern bool tables_may_repeat(Relation rel, const BulkOptions *options);

#endif							/* PGBULK_TABLES_H */
