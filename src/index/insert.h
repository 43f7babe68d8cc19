/*
 * insert.h
 *		Insertion of many rows into an index that has entries.
 *
 * A btree gets its entries leaf by leaf, in the order of the keys (sorted_insert.h), where rows in
 * the order of the table would come back to each leaf; duplicates are noted where that is wanted
 * (conflicts.h).  Other methods take the rows as the table has them, one by one, or many at a time
 * where there is a way for them (batch.h).
 */
#ifndef PGBULK_INSERT_H
#define PGBULK_INSERT_H

#include "postgres.h"

#include "index/build_task.h"
#include "index/conflicts.h"
#include "nodes/execnodes.h"

/*
 * Inserts the rows from a block of the table on, as many as said, which have no entries, in memory
 * bytes.  Nobody else inserts.  Runs in a parallel worker, too.
 *
 * Errors: those of the access method and of expressions.
 */
extern BuildResult insert_index(Relation heap, Relation index, IndexInfo *info,
								BlockNumber first, int64 rows, Size memory,
								const ConflictSink *conflicts);

#endif							/* PGBULK_INSERT_H */
