/*
 * check_state.h
 *		State shared by check_run.c and check_keys.c.  Private to these two.
 */
#ifndef PGBULK_CHECK_STATE_H
#define PGBULK_CHECK_STATE_H

#include "postgres.h"

#include "access/htup_details.h"
#include "check/bad_rows.h"
#include "check/check.h"
#include "check/displaced.h"
#include "check/foreign_key.h"
#include "check/key_pass.h"
#include "check/recheck.h"
#include "commands/trigger.h"

typedef struct CheckedTable
{
	Relation	rel;
	TriggerDesc *triggers;
	TupleTableSlot *slot;
	int			nkeys;
	ForeignKey **keys;
	bool		may_replace;	/* rows that are in it already, or came before */
	bool	   *refers_to_loaded;	/* the key refers to a table that is being loaded */
	bool	  **good;			/* which rows of the current page are good, by key */
	int64		ndeleted;		/* rows of the load that were deleted again */
	int64		displaced;		/* rows of the load that later rows replaced, as DELETE does */
} CheckedTable;

/* Known values of a constraint and all its partition constraints. */
typedef struct GoodKeys
{
	Oid			constraint;
	KeyValues  *values;
} GoodKeys;

struct Checks
{
	const BulkOptions *options;
	Relation	target;			/* the table being loaded */
	MemoryContext context;
	Journal    *journal;
	Conflicts  *conflicts;		/* for tables without index entries; NULL: none */
	Rechecks   *rechecks;		/* for deferrable keys; NULL: none */
	int64		nrechecks;		/* rows queued for them */
	bool		bad_expected;	/* bad rows are possible without ending the load */
	int			role;			/* session_replication_role when keys were counted; -1: no keys */
	CommandId	cid;			/* current command before the first row */
	bool		user_code_ran;	/* functions or triggers ran commands while rows came */
	int			ntables;
	int			capacity;
	CheckedTable *tables;
	KeyPass    *pass;			/* of the only one; NULL: none */

	/* state of checks_run */
	const CheckReport *report;
	MemoryContext row_context;
	List	   *good;			/* of GoodKeys */
	HeapTupleData *tuples;		/* of the current page */
	JournalPlace *places;
	bool		doubtful;		/* rows whose keys were looked up together may be bad */
	bool		repeating;		/* check only keys that refer to a loaded table */
	int64		deleted;		/* in this pass */
	BadRows    *bad;			/* deleted rows; NULL: none */
	Displaced  *displaced;		/* replaced rows whose places are not known yet */

	/* on_error = stop: the first bad row in the order of the input */
	bool		has_first;
	JournalPlace first;
	CheckedTable *first_table;
	ForeignKey *first_key;
	ItemPointerData first_tid;

	Reject		context_row;	/* row shown by CONTEXT */
	int64		ndisplaced;		/* found so far */
	int64		nunseen;		/* removed duplicates that were only counted */
};

/*
 * Error 55000 if session_replication_role has changed since the keys were
 * counted: the server decides row by row whether key triggers fire.
 */
extern void checks_check_role(const Checks *checks);

/* Makes checks->bad ready for bad rows. */
extern void checks_open_bad(Checks *checks);

/* ---- the row shown by CONTEXT (check_run.c) ---- */

/* A bad row at this place. */
extern void checks_set_context_place(const Checks *checks, Reject *reject,
									 const JournalPlace *place);

/* A row of which only the place is known.  Stays in effect until replaced or reset. */
extern void checks_set_context(Checks *checks, const JournalPlace *place);

/* The same with the row's bytes, for rows about which the server itself may raise an error. */
extern void checks_set_context_with_bytes(Checks *checks, const JournalPlace *place);

/* ---- foreign keys (check_keys.c) ---- */

/* Passes over all rows until no more are removed. */
extern void checks_check_keys(Checks *checks);

/*
 * Whether rows were deleted that other rows of the load may refer to, so that
 * another pass is needed.
 */
extern bool checks_must_recheck(Checks *checks);

extern void checks_close_keys(CheckedTable *table);

#endif							/* PGBULK_CHECK_STATE_H */
