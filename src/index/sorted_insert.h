/*
 * sorted_insert.h
 *		Keys in order put into a btree that others read, and nobody else writes to.
 *
 * Takes keys from a sort of any size.  As that may read files, and no leaf may be locked
 * meanwhile, keys are copied until their share of the memory is full, and then put in leaf by leaf
 * (inserter.h).
 *
 * Where duplicates are noted (conflicts.h), these keys are looked up before, leaf by leaf as well
 * (lookup.h), and the table is asked about the rows of all entries that were found together, in
 * its own order.  Entries go in whatever comes of that.
 *
 * Price: a copy of each key; where duplicates are noted, a second look at leaves that are cached.
 */
#ifndef PGBULK_SORTED_INSERT_H
#define PGBULK_SORTED_INSERT_H

#include "postgres.h"

#include "index/conflicts.h"
#include "index/key_shape.h"
#include "index/key_sink.h"
#include "utils/rel.h"

typedef struct SortedInsert SortedInsert;

/*
 * Whose keys they are, and what is to be done.  first: the first block of the table with rows that
 * have no entries yet.  rows: how many may come, for progress.  memory: bytes for keys that wait.
 * conflicts: NULL where duplicates are known already, or cannot be.
 */
typedef struct SortedInsertion
{
	Relation	heap;
	Relation	index;
	KeyShape   *shape;
	BlockNumber first;
	double		rows;
	Size		memory;
	const ConflictSink *conflicts;
} SortedInsertion;

/* Memory: the current context. */
extern SortedInsert *sorted_insert_open(const SortedInsertion *insertion);

/*
 * Where the keys go, from the first to the last in order.  Errors: those of the access method,
 * about a row (failed_row.h).
 */
extern KeySink sorted_insert_keys(SortedInsert *insert);

/* Inserts what waits; returns how many rows have got an entry. */
extern double sorted_insert_close(SortedInsert *insert);

#endif							/* PGBULK_SORTED_INSERT_H */
