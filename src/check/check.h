/*
 * check.h
 *		Checks that run when all rows are in their tables.
 *
 * Writers register the tables that need checking and record in the journal
 * which rows they store.  At the end, checks_run examines these rows; a bad row
 * is deleted in the transaction that inserted it, so that no other session ever
 * sees it, and is sent to the reject stream like any other.
 *
 * Checked are foreign keys, and duplicates among rows stored without index
 * entries.  Rows replaced by duplicates that a writer resolved itself are only
 * reported here.
 */
#ifndef PGBULK_CHECK_H
#define PGBULK_CHECK_H

#include "postgres.h"

#include "check/bad_rows.h"
#include "check/key_pass.h"
#include "format/journal.h"
#include "format/raw.h"
#include "index/conflicts.h"
#include "option/options.h"
#include "reject/rejects.h"

typedef struct Checks Checks;

/*
 * target: the table being loaded, open until the end.  Allocates a child of the
 * current context.
 */
extern Checks *checks_open(const BulkOptions *options, Relation target);

/*
 * Bracket everything that stores rows.  User-defined code that writes to a
 * table in between does so in commands of its own, which the command counter
 * reveals.
 */
extern void checks_begin_rows(Checks *checks);
extern void checks_end_rows(Checks *checks);

/* Estimated seconds that checks_run takes for this many rows. */
extern double checks_seconds(const Checks *checks, double rows);

extern Journal *checks_journal(const Checks *checks);

/*
 * Registers a table, which stays open until checks_run; returns its number, or
 * CHECKS_NOTHING if none of the requested checks apply.  Error: 55000 if rows
 * may be replaced and a publication could not send that.
 */
#define CHECKS_KEYS 1			/* foreign keys, if tables_fault allows it */
#define CHECKS_CONFLICTS 2		/* duplicates, found when indexes are built */
#define CHECKS_DISPLACED 4		/* rows that checks_displace will name */
#define CHECKS_PLACES 8			/* places of rows, for checks_find if an index rejects one */
#define CHECKS_LATER 16			/* it may get no rows: that error waits for checks_expect_rows */
#define CHECKS_UNIQUE 32		/* places of rows, for checks_find if they may be duplicates */
#define CHECKS_NOTHING (-1)
extern int	checks_add_table(Checks *checks, Relation rel, int what);

/*
 * For a table all of whose new rows are on pages that are told: who is to be told of these, so
 * that its foreign keys need not be read from them again; NULL: it has none.
 */
extern KeyPass *checks_pass_keys(Checks *checks, int table);

/* The same for the table that it was called for; NULL: there is none. */
extern KeyPass *checks_key_pass(const Checks *checks);

/* A table that was added with CHECKS_LATER has got rows.  Error: 55000, as above. */
extern void checks_expect_rows(Checks *checks, int table);

/*
 * For rows that must be good before they replace others: whether all rows that
 * a row refers to exist, and locks them.  If not, *key becomes the first
 * violated foreign key.
 */
extern bool checks_holds(Checks *checks, int table, HeapTuple tuple, int *key);

/* To be called after user-defined code has run: referenced rows may have been deleted. */
extern void checks_forget_keys(Checks *checks);

/*
 * Registers a row whose foreign key is violated and that is not in the table.
 * It will be rejected; with on_error = stop this raises 23503.  False: it may
 * be good now, check again.
 */
extern bool checks_take_orphan(Checks *checks, int table, int key, HeapTuple tuple,
							   TupleTableSlot *slot, const JournalPlace *place);

/*
 * Reports that a row of the load, recorded in the journal, was deleted because
 * a later row has the same key.
 */
extern void checks_displace(Checks *checks, int table, ItemPointer tid, Oid index);

/*
 * Reports that a row of the table was replaced, or that one of the load has not been stored.
 * reason is REJECT_REPLACED or REJECT_DUPLICATE, key the index.
 */
extern void checks_replace(Checks *checks, const BadRow *row);

/*
 * Where the code that builds these tables' index entries notes rows with the
 * same key (index.h); NULL if duplicates cannot occur.
 */
extern Conflicts *checks_conflicts(const Checks *checks);

/*
 * Whether bad rows are possible at the end.  Always true for a partitioned
 * table, whose leaves are registered when they get their first row.
 */
extern bool checks_expected(const Checks *checks, Relation target);

/* Where bad rows go. */
typedef struct CheckReport
{
	RejectStream *rejects;
	Raw		   *raw;
	const List *paths;
	const Reject **context_row; /* row shown by CONTEXT while it is being reported */
	int64		rows;			/* of the load */
	/* receives rows of the input that turn out bad, with their messages; or NULL */
	BadRows    *kept;
} CheckReport;

/*
 * Checks the rows of the journal, all of which are in their tables with their
 * index entries.  Returns how many were bad and have been rejected.  With
 * on_error = stop, the first row that violates a foreign key raises 23503 in
 * the server's words.  Errors: those of remove_duplicates and rechecks_queue;
 * 55000 if session_replication_role has changed since the table was registered.
 */
extern int64 checks_run(Checks *checks, const CheckReport *report);

/*
 * After the load: whether the deletion of bad rows is visible to others, so
 * that the load must be rolled back and repeated without them.  That is so if
 * logical decoding would send the rows, or a deletion by which a subscriber
 * loses another row with the same key, or if this transaction may have stored
 * rows that refer to them.
 */
extern bool checks_must_repeat(const Checks *checks);

/* Whether queued triggers refer to rows by TID, so that rows must not move. */
extern bool checks_queued(const Checks *checks);

/* Finds where in the input a row of a table came from, if the journal has it. */
extern bool checks_find(const Checks *checks, Oid relid, const ItemPointerData *tid,
						JournalPlace *place);

/* How many rows of the load checks_run deleted from a table. */
extern int64 checks_deleted(const Checks *checks, Oid relid);

#endif							/* PGBULK_CHECK_H */
