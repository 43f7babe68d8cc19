/*
 * target.h
 *		The target table of a load: opened, locked, checked, its columns
 *		resolved.
 */
#ifndef PGBULK_TARGET_H
#define PGBULK_TARGET_H

#include "postgres.h"

#include "option/options.h"
#include "parser/parse_node.h"
#include "table/merge_clause.h"
#include "table/refusal.h"
#include "utils/rel.h"

typedef struct Target
{
	Oid			relid;
	Relation	rel;
	char	   *name;
	bool		sent;			/* its rows are in tables of Citus, to which they are sent */
	ParseState *pstate;			/* its range table has only the target */
	ParseNamespaceItem *nsitem;
	List	   *where;			/* implicitly ANDed qual, or NIL */
	MergeClause *merge;			/* how rows are merged with others, or NULL */

	/* the file's columns, in file order */
	int			nfields;
	AttrNumber *attnums;		/* 0: field is not loaded */
	int			nextras;		/* columns that option extra fills, in its order */
	AttrNumber *extras;
	struct QueryFields *query;	/* of a query; NULL: they are those of a file */
	bool		shown;			/* other extensions have been shown the INSERT ... */
	Bitmapset  *inserted;		/* ... and its columns */

	bool		on_nodes;		/* rows of foreign tables are sent to their servers */
	Refusal		no_nodes;		/* why rows cannot be sent to other servers, if some are there */
	List	   *locked;			/* by target_locks_take: OIDs */
	struct DryRun *dry;			/* NULL: not a dry run */
	bool		knows_below;	/* the next has been found out */
	bool		watched_below;	/* code of partitions may call currval for each row */
} Target;

/* Any of these privileges permits LOCK TABLE in a mode that blocks writers. */
#define TARGET_LOCK_PRIVILEGES (ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE | COMPAT_ACL_MAINTAIN)

/*
 * Opens relid with the lock of a COPY (ROW EXCLUSIVE), or with the one that
 * truncate, the direct writer or a dry run require for it and its partitions,
 * and checks what can be checked before any file is opened: kind, system
 * catalog, read-only transaction, INSERT privilege on the columns loaded,
 * row-level security, the where clause.
 *
 * Errors: as COPY's; 42809 if it is not a table, 42501 for privileges and
 * system catalogs, 0A000 for row-level security and foreign tables, 42703,
 * 42701 and 42P10 for the columns, 55000 for on_duplicate with a deferrable
 * constraint.
 */
extern Target *target_open(Oid relid, const BulkOptions *options);

/*
 * Performs truncate and freeze.  caller: the subtransaction that called for the
 * load, which is not the current one in a dry run.  Errors: as TRUNCATE's and
 * COPY's, 55000 / 25000 for freeze.
 */
extern void target_empty(Target *target, const BulkOptions *options, SubTransactionId caller);

/* Reopens a target that was closed, or whose subtransaction was rolled back. */
extern void target_reopen(Target *target);

/* Whether another extension has the rows in tables of which some are on other servers. */
extern bool target_is_sent(Relation rel);

/*
 * Opens the target in a parallel worker; the leader has checked everything.
 * where and attnums are the leader's.
 */
extern Target *target_join(Oid relid, List *where, const AttrNumber *attnums,
						   int nfields);

/* transform: the fields are arguments of a function, not columns. */
extern void target_set_arguments(Target *target, int n);

/*
 * header = map: the columns are those that the header names (char *, or NULL
 * for a field to ignore).  Errors: as target_open's for columns.
 */
extern void target_set_columns(Target *target, List *names);

/* Finds the columns that option extra fills, which must come first.  Errors as above. */
extern void target_set_extras(Target *target, const BulkOptions *options);

/* Whether a column is one of those. */
extern bool target_is_extra(const Target *target, AttrNumber attnum);

/*
 * Truncates the table and its partitions, which are locked against writers, if
 * they contain only rows of failed transactions, and no index may have entries
 * for these.
 */
extern void target_cut_dead(Target *target);

/* The privileges any of which permit a lock against other writers, as text. */
extern const char *target_lock_privileges(void);

/* The table's name as shown in messages. */
extern const char *target_name(const Target *target);

/* Attribute number of an existing, writable column, or 0. */
extern AttrNumber target_find_column(const Target *target, const char *name);

/* The column a misspelled name may refer to, or NULL. */
extern const char *target_near_column(const Target *target, const char *name);

/* Raises the error for an unknown column name, suggesting a similar one. */
extern void target_refuse_column(const Target *target, const char *name);

/*
 * The column of each name, some of which may be NULL: the one with that name, or else the only one
 * whose name differs merely in case; or 0.
 */
extern AttrNumber *target_match_columns(const Target *target, const List *names);

/* The name of a deferrable unique or exclusion constraint of a table, or NULL. */
extern char *target_find_deferrable(Relation rel);

extern void target_close(Target *target);

#endif							/* PGBULK_TARGET_H */
