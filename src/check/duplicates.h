/*
 * duplicates.h
 *		Of rows that must not stand together, which ones go.
 *
 * As if rows had come one by one in the order of the input, those of the table
 * before the first one.  keep_old: a row that meets one with its key, in any unique index, is
 * not there at all; for error, that one is it.  keep_new: all rows that it meets go, then it stands.
 *
 * Price: the rows are sorted within maintenance_work_mem, twice.  Where they share keys in more
 * than one index, once, but then 16 bytes for each such key, and a bit for each such
 * row, are in memory.
 */
#ifndef PGBULK_DUPLICATES_H
#define PGBULK_DUPLICATES_H

#include "postgres.h"

#include "index/conflicts.h"
#include "nodes/execnodes.h"
#include "option/options.h"
#include "reject/rejects.h"

typedef struct DuplicateSink
{
	/* Whether a row is still there; rows that are not meet nobody. */
	bool		(*is_there) (void *arg, RowId row);
	/* A row goes because of another one, with which it shares its key in an index. */
	void		(*lost) (void *arg, RowId row, RowId winner, int index);
	void	   *arg;
} DuplicateSink;

/* All rows that were noted of the table in hand, by TID: the order of the input, behind the table's. */
extern void duplicates_decide(Conflicts *conflicts, BulkOnDuplicate policy,
							  const DuplicateSink *sink);

/*
 * The key of a row in an index as "(columns)=(values)"; NULL where the user may not
 * see it.  estate: for expressions.
 */
extern char *duplicates_key(Relation index, IndexInfo *info,
							TupleTableSlot *slot, EState *estate);

/* A row of a table, as text in the form of the target, of which that is a partition or the table itself. */
extern char *duplicates_row(Relation target, Relation rel, TupleTableSlot *slot);

/* What is said of a row that goes, and the SQLSTATE; key: its description, or NULL. */
extern char *duplicates_message(Oid index, RejectReason reason,
								BulkOnDuplicate policy, const char *key,
								int *sqlstate);

/* The options that would have kept a duplicate from being an error; NULL where they cannot be used. */
extern const char *duplicates_hint(Relation target, const BulkOptions *options);

#endif							/* PGBULK_DUPLICATES_H */
