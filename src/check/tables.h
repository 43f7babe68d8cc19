/*
 * tables.h
 *		What a table has that is checked at the end; whether it can be, check.h asks.
 */
#ifndef PGBULK_TABLES_H
#define PGBULK_TABLES_H

#include "postgres.h"

#include "nodes/pg_list.h"
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

#endif							/* PGBULK_TABLES_H */
