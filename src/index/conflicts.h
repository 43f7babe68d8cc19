/*
 * conflicts.h
 *		Rows that have the same key where keys are to be unique.
 *
 * A unique index gets the entries of all live rows, and whoever makes them records
 * each group of rows that must not stand together.  Which of them go, or which one is
 * the error, is decided when all indexes are there (check/duplicates.h); their
 * entries stay behind, as those of any row that is deleted.
 *
 * So a method of making entries has to do this for a unique index: take a
 * ConflictSink, NULL where duplicates are known already or cannot be, and call
 * its add for every live row of a key that more than one live row has, old rows
 * included, by their index TIDs, in any order.  NULLs are equal only with NULLS NOT
 * DISTINCT, and equal is what the operator class calls equal.
 */
#ifndef PGBULK_CONFLICTS_H
#define PGBULK_CONFLICTS_H

#include "postgres.h"

#include "index/row_id.h"

typedef struct ConflictSink
{
	/* group: the key, by a number that the index counts from 0 */
	void		(*add) (void *arg, uint32 group, RowId row);
	void	   *arg;
} ConflictSink;

typedef struct Conflicts Conflicts;

/* Of all indexes of some tables.  Memory: below the current context. */
extern Conflicts *conflicts_open(void);

/*
 * The next table, which others know by a number; numbers ascend.  first_only: all but the one
 * that comes to light first in it, if rows are put in the order of their TIDs, is forgotten; its
 * group is 0.
 */
extern void conflicts_add_table(Conflicts *conflicts, int table, bool first_only);

/*
 * The next unique index of that table, by OID: these are asked in this order.  elsewhere: where
 * what it finds goes instead, as it is nobody's business here; or NULL.
 */
extern void conflicts_add_index(Conflicts *conflicts, Oid index,
								const ConflictSink *elsewhere);

/* Where that index puts what it finds; NULL: duplicates cannot be. */
extern const ConflictSink *conflicts_sink(Conflicts *conflicts, Oid index);

/* Whether anything was noted. */
extern bool conflicts_any(const Conflicts *conflicts);

/* No more will come. */
extern void conflicts_sort(Conflicts *conflicts);

/*
 * The number of the next table of which something was noted; -1 after the last.  All that
 * follows is about that table.
 */
extern int	conflicts_next_table(Conflicts *conflicts);

extern int	conflicts_nindexes(const Conflicts *conflicts);
extern Oid	conflicts_index(const Conflicts *conflicts, int number);

/* Keys that rows of an index share. */
extern uint32 conflicts_groups(const Conflicts *conflicts, int number);

/* Rows that were noted, by each index. */
extern int64 conflicts_count(const Conflicts *conflicts);

/* What was noted, sorted by index, group and row. */
extern bool conflicts_next(Conflicts *conflicts, RowId *row, int *number,
						   uint32 *group);

extern void conflicts_close(Conflicts *conflicts);

#endif							/* PGBULK_CONFLICTS_H */
