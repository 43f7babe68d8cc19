/*
 * remove_duplicates.h
 *		Deletes rows that lost as duplicates.
 *
 * Carries out what duplicates.h decides: rows of the load are deleted and added
 * to the bad rows, or only counted where nobody will see them.  So are rows of
 * the table that a row of the load replaces; their triggers and foreign keys
 * fire as for DELETE, when all old rows are gone and the new ones are in place.
 * Tables are processed one by one: keys of different leaves of a partitioned
 * table do not conflict.
 */
#ifndef PGBULK_REMOVE_DUPLICATES_H
#define PGBULK_REMOVE_DUPLICATES_H

#include "postgres.h"

#include "check/bad_rows.h"
#include "format/journal.h"
#include "index/conflicts.h"
#include "option/options.h"
#include "reject/rejects.h"
#include "utils/rel.h"

typedef struct DuplicateRemoval
{
	/* the loaded table, whose partitions the tables are unless it is plain */
	Relation	target;
	/*
	 * the heap table with this number in the journal and in conflicts; locked
	 * against other writers
	 */
	Relation	(*get_table) (void *arg, int table);
	int			ntables;
	Journal	   *journal;
	Conflicts  *conflicts;
	BulkOnDuplicate policy;
	const char *hint;			/* HINT if duplicates are errors; or NULL */
	bool		all_there;		/* no row of the load has been deleted so far */
	bool		with_texts;		/* keep the text of every removed row, not only of the first */
	bool		only_first;		/* the first removed rows of each table suffice */
	BadRows	   *bad;			/* receives removed rows */
	/* sets the row for CONTEXT; NULL: none */
	void		(*set_context) (void *arg, const JournalPlace *place);
	void		(*count_deleted) (void *arg, int table, int64 nrows);
	/* with only_first: a row that was removed and not added to bad; place as there */
	void		(*count_unseen) (void *arg, const JournalPlace *place, RejectReason reason);
	void	   *arg;
} DuplicateRemoval;

/*
 * Calls count_deleted for each table with the number of deleted rows of the
 * load.  Errors: 40001 for conflicts with a row that the transaction's snapshot
 * does not see, as in INSERT ... ON CONFLICT; 23505 if old rows of the table
 * share a key.
 */
extern void remove_duplicates(const DuplicateRemoval *settlement);

#endif							/* PGBULK_REMOVE_DUPLICATES_H */
