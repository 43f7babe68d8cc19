/*
 * duplicates.h
 *		Decides which of several conflicting rows are kept.
 *
 * The result is as if the rows had been inserted one by one in input order,
 * after the rows already in the table.  keep_old: a row that conflicts with a
 * live row in any unique index is dropped; with on_duplicate = error that is
 * the row to report.  keep_new: all rows it conflicts with are removed, and the
 * row is kept.
 *
 * Price: if rows conflict in more than one index they are sorted within
 * maintenance_work_mem, and 16 bytes per conflicting key and one bit per row are
 * kept in memory.
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
	/* Whether a row is still live; others conflict with nothing. */
	bool		(*is_there) (void *arg, RowId row);
	/* Called for a row that is dropped because of another row with the same key in an index. */
	void		(*lost) (void *arg, RowId row, RowId winner, int index);
	void	   *arg;
} DuplicateSink;

/*
 * Decides on all rows noted for the current table, as in TID order: input
 * order, after the table's old rows.
 */
extern void duplicates_decide(Conflicts *conflicts, BulkOnDuplicate policy,
							  const DuplicateSink *sink);

/*
 * The key of a row in an index as "(columns)=(values)"; NULL if the user may
 * not see it.  estate: for expressions.
 */
extern char *duplicates_key(Relation index, IndexInfo *info,
							TupleTableSlot *slot, EState *estate);

/* A row as text in the target's row type.  rel: the target or a partition of it. */
extern char *duplicates_row(Relation target, Relation rel, TupleTableSlot *slot);

/* The message for a dropped row, and its SQLSTATE.  key: its description, or NULL. */
extern char *duplicates_message(Oid index, RejectReason reason,
								BulkOnDuplicate policy, const char *key,
								int *sqlstate);

/* Sends a NOTICE where option on_duplicate is set and no two rows can have the same key. */
extern void duplicates_notice(Relation target, const BulkOptions *options);

/* A hint naming the options that would have avoided the error; NULL if they cannot be used. */
extern const char *duplicates_hint(Relation target, const BulkOptions *options);

#endif							/* PGBULK_DUPLICATES_H */
