/*
 * target.h
 *		The table a load goes to: opened, locked, checked, its columns resolved.
 */
#ifndef PGBULK_TARGET_H
#define PGBULK_TARGET_H

#include "postgres.h"

#include "option/options.h"
#include "parser/parse_node.h"
#include "table/refusal.h"
#include "utils/rel.h"

typedef struct Target
{
	Oid			relid;
	Relation	rel;
	char	   *name;
	ParseState *pstate;			/* its range table: the target alone */
	ParseNamespaceItem *nsitem;
	List	   *where;			/* implicitly ANDed qual, or NIL */

	/* the file's columns, in file order */
	int			nfields;
	AttrNumber *attnums;		/* 0: field is not loaded */
	bool		shown;			/* the INSERT that the load stands for ... */
	Bitmapset  *inserted;		/* ... and its columns */

	List	   *locked;			/* by target_try_lock: OIDs */
	struct DryRun *dry;			/* NULL: what is loaded is to stay */
} Target;

/*
 * Opens relid with the lock of a COPY (ROW EXCLUSIVE), or with the one that
 * truncate, the direct writer or a dry run want of it and its partitions, and checks what can be
 * checked before the file is looked at: kind, system catalog, read-only
 * transaction, INSERT privilege on the columns loaded, row-level security,
 * the where clause.
 *
 * Errors: as COPY's; 42809 for what is no table, 42501 for privileges and
 * system catalogs, 0A000 for row-level security and foreign tables, 42703,
 * 42701 and 42P10 for the columns, 55000 for on_duplicate where a constraint is deferrable.
 */
extern Target *target_open(Oid relid, const BulkOptions *options);

/*
 * truncate and freeze; caller: the subtransaction that asked for the load, which is not the current one in a dry run.
 * Errors: as TRUNCATE's and COPY's, 55000 / 25000 for freeze.
 */
extern void target_empty(Target *target, const BulkOptions *options, SubTransactionId caller);

/* Opens a target again that was closed, or whose subtransaction has been rolled back. */
extern void target_reopen(Target *target);

/*
 * The target of a load that this process, a parallel worker, helps with: its
 * leader has checked everything.  where and attnums are the leader's.
 */
extern Target *target_join(Oid relid, List *where, const AttrNumber *attnums,
						   int nfields);

/* transform: the fields are so many arguments of a function, and no columns. */
extern void target_set_arguments(Target *target, int n);

/*
 * header = map: the columns are those that the header names (char *, or NULL
 * for a field to pass over).  Errors as target_open's for columns.
 */
extern void target_set_columns(Target *target, List *names);

/*
 * For writer auto: locks the table, with its partitions, against other writers
 * if that takes no waiting and there are no rows that they could have written.
 * Returns why not: REFUSAL_NONE, REFUSAL_NOT_EMPTY, REFUSAL_NO_LOCK_PRIVILEGE,
 * REFUSAL_IN_USE or REFUSAL_MANY_PARTITIONS.
 */
extern RefusalReason target_try_lock(Target *target, const BulkOptions *options);

/*
 * Cuts off the pages of the table and its partitions, which are locked against writers, where these hold
 * nothing but what transactions that failed have left, and no index may have entries for it.
 */
extern void target_cut_dead(Target *target);

/* Gives these locks back: nothing was done under them. */
extern void target_release_locks(Target *target);

/* The privileges any of which lets a role lock a table so, in words. */
extern const char *target_lock_privileges(void);

/* The table's name as an error message shows it. */
extern const char *target_name(const Target *target);

/* 1-based number of a live, writable column, or 0. */
extern AttrNumber target_find_column(const Target *target, const char *name);

/* The column that may be meant by a name that none has, or NULL. */
extern const char *target_near_column(const Target *target, const char *name);

/* Raises the error for a name that no column has, with the one that may be meant. */
extern void target_refuse_column(const Target *target, const char *name);

/* The column of that name, or else the only one whose name differs in nothing but the case of letters; or 0. */
extern AttrNumber target_match_column(const Target *target, const char *name);

/* The name of a deferrable unique or exclusion constraint of a table, or NULL. */
extern char *target_find_deferrable(Relation rel);

extern void target_close(Target *target);

#endif							/* PGBULK_TARGET_H */
