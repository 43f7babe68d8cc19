/*
 * remove_duplicates.h
 *		Rows that lose as duplicates leave their table.
 *
 * What duplicates.h decides is carried out: rows of the load are deleted and
 * wait among the bad ones; so are those of the table that one of the load
 * replaces, and triggers and foreign keys hear of it as of a DELETE, when all
 * are gone and the new ones stand.  One table after the other: what the leaves of a partitioned one
 * have does not meet.
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
	Relation	target;			/* that was loaded: the table, or of which the tables are partitions */
	/* the heap table of a number in the journal and in conflicts; it is locked against other writers */
	Relation	(*get_table) (void *arg, int table);
	int			ntables;
	Journal	   *journal;
	Conflicts  *conflicts;
	BulkOnDuplicate policy;
	const char *hint;			/* where duplicates are errors, what would help; or NULL */
	bool		all_there;		/* no row of the load has been deleted */
	bool		with_texts;		/* of all rows that go, not only the first ones */
	BadRows	   *bad;			/* where they go */
	void		(*set_context) (void *arg, const JournalPlace *place);	/* for CONTEXT; NULL: nothing */
	void		(*count_deleted) (void *arg, int table, int64 nrows);
	void	   *arg;
} DuplicateRemoval;

/*
 * Calls count_deleted for each table with how many rows of the load were deleted.  Errors: 40001 where a row
 * that the transaction's snapshot does not see is met, as in INSERT ... ON
 * CONFLICT; 23505 where rows of the table share a key without the load.
 */
extern void remove_duplicates(const DuplicateRemoval *settlement);

#endif							/* PGBULK_REMOVE_DUPLICATES_H */
