/*
 * insert.h
 *		Insertion of many rows into an index by its access method, in the order of the keys.
 *
 * A btree takes sorted keys (index_sort.h): each page is found warm, split and
 * written once, while rows in the order of the table would come back to it.  Other methods take the
 * rows as the table has them.
 *
 * Where duplicates are noted (conflicts.h), the access method is asked as for a deferrable
 * constraint, and for a key that it finds to be there already, a scan says whose.  Else nobody
 * looks for them.
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
