/*
 * duplicates.h
 *		Of rows that must not stand together, which ones go.
 *
 * As if rows had come one by one in the order of the input, those of the table
 * before the first one.  keep_old: a row that meets one with its key, in any unique index, is
 * not there at all.  keep_new: all rows that it meets go, then it stands.
 *
 * Price: 16 bytes for each key that several rows have, and a bit for each such
 * row; the rows themselves are sorted within maintenance_work_mem.
 */
#ifndef PGBULK_DUPLICATES_H
#define PGBULK_DUPLICATES_H

#include "postgres.h"

#include "index/conflicts.h"
#include "options.h"

typedef struct DuplicateSink
{
	/* Whether a row is still there; rows that are not meet nobody. */
	bool		(*is_there) (void *arg, RowId row);
	/* A row goes because of another one, with which it shares its key in an index. */
	void		(*lost) (void *arg, RowId row, RowId winner, int index);
	void	   *arg;
} DuplicateSink;

/* All rows that were noted, by TID: the order of the input, behind the table's. */
extern void duplicates_decide(Conflicts *conflicts, BulkOnDuplicate policy,
							  const DuplicateSink *sink);

#endif							/* PGBULK_DUPLICATES_H */
