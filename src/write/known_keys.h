/*
 * known_keys.h
 *		Rows whose keys the table has already, found before they are stored.
 *
 * For the direct writer with keep_old.  Such rows are found when the index gets
 * its entries, too; but then they have been stored, must be deleted, and have
 * cost the index a new file.  So rows wait here until their memory is full;
 * their keys are sorted and looked up leaf by leaf (index/lookup.h), and only
 * those that the table does not have are passed on, in the order of the input.
 * Rows of the load that share a key are left for later.
 *
 * The table is locked against other writers, and against VACUUM: a row that
 * stands stays, and no TID becomes another row's.  With keep_old a row that was
 * there before the load stays, whatever else the load brings.
 *
 * Looking up pays where at least every fourth row is known.  A few rows are
 * looked up at the beginning, and again from time to time; as long as hardly any
 * of them is known, all others go past.
 *
 * Served is a plain table with one unique index on plain columns, without
 * foreign keys, whose violation counts before a duplicate, under READ COMMITTED.
 *
 * Price: the memory of maintenance_work_mem, and no workers meanwhile.  Once there are workers,
 * keys are not looked up any more: known rows that come then are found by the index.
 */
#ifndef PGBULK_KNOWN_KEYS_H
#define PGBULK_KNOWN_KEYS_H

#include "postgres.h"

#include "row/arena.h"
#include "write/writer.h"

typedef struct KnownKeys KnownKeys;

/* Takes a row that is to be stored. */
typedef void (*KnownKeysPut) (Writer *writer, HeapTuple tuple, const JournalPlace *place);

/*
 * writer: whose rows they are.  Those with known keys are set aside by the checks, where the
 * table has the number `checked`, or counted.  NULL: no rows of this table are looked up.  Memory:
 * the current context.
 */
extern KnownKeys *known_keys_open(Writer *writer, KnownKeysPut put, Relation rel,
								  const BulkOptions *options, Checks *checks, int checked);

/* Whether the next row should be put here. */
extern bool known_keys_wanted(const KnownKeys *known);

/* So many rows went past. */
extern void known_keys_passed(KnownKeys *known, uint32 nrows);

/* Where the tuples of rows that will be put are formed. */
extern Arena *known_keys_arena(KnownKeys *known);

/* Takes a tuple that lies there; number: of the row in the window. */
extern void known_keys_put(KnownKeys *known, HeapTuple tuple, uint32 number);

/* Whether enough rows wait. */
extern bool known_keys_full(const KnownKeys *known);

/* No row waits afterwards.  Not in a subtransaction.  Errors: those of indexes. */
extern void known_keys_flush(KnownKeys *known);

extern void known_keys_close(KnownKeys *known);

#endif							/* PGBULK_KNOWN_KEYS_H */
