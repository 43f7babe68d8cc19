/*
 * merge_clause.h
 *		How rows are merged with those that have their key, for a table.
 *
 * Expressions refer to the row that is there as varno 1 (old), and to the new one as INNER_VAR
 * (new), both in the form of the target.  Their names and types are resolved when the table is
 * opened, before any file is.
 */
#ifndef PGBULK_MERGE_CLAUSE_H
#define PGBULK_MERGE_CLAUSE_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "option/bulk_options.h"
#include "utils/rel.h"

typedef struct MergeClause
{
	Oid			key;			/* the unique index by which rows are the same */
	bool		all;			/* set the columns that the file has */
	List	   *set;			/* TargetEntry: columns and their new values */
	List	   *where;			/* implicitly ANDed, or NIL */
	bool		removes;		/* new rows may delete the other ... */
	List	   *remove;			/* ... if this holds, which refers to the new row alone */
	bool		is_volatile;	/* any of these expressions */
	bool		keeps_key;		/* a merged row has the key of both */
	Bitmapset  *updated;		/* columns of set, offset as in RTEPermissionInfo ... */
	Bitmapset  *read;			/* ... and those of the old row that are read */
} MergeClause;

/*
 * Errors: 42601, 42703, 42702, 42804 and others for the expressions, with the option as CONTEXT;
 * 42P10 where no unique index fits; 55000 for one that is deferrable; 428C9 for generated columns;
 * 0A000 for views.  Memory: the current context.
 */
extern MergeClause *merge_clause_open(Relation rel, const BulkMerge *merge);

#endif							/* PGBULK_MERGE_CLAUSE_H */
