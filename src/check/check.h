/*
 * check.h
 *		What is checked when all rows are in their tables.
 *
 * Writers name the tables that need it and write down in the journal what they
 * store there.  At the end checks_run looks at these rows; a bad one is
 * deleted in the transaction that has inserted it, so that nobody ever sees
 * it, and goes to the reject stream like any other.
 *
 * These are foreign keys, and duplicates among rows that came without their
 * index entries.  What other duplicates have displaced is only rejected here.
 */
#ifndef PGBULK_CHECK_H
#define PGBULK_CHECK_H

#include "postgres.h"

#include "check/bad_rows.h"
#include "format/journal.h"
#include "format/raw.h"
#include "index/conflicts.h"
#include "option/options.h"
#include "reject/rejects.h"

typedef struct Checks Checks;

/* target: the table that is loaded, open until the end.  Memory: a context of its own below the current one. */
extern Checks *checks_open(const BulkOptions *options, Relation target);

/*
 * Around all that is done with rows until they are in their tables.  Whatever writes to a table in between, but for the
 * load, does so in a command of its own, so that the command counter tells.
 */
extern void checks_begin_rows(Checks *checks);
extern void checks_end_rows(Checks *checks);

/* Where writers write down what they store. */
/* The seconds that checks_run may take for so many rows: a guess. */
extern double checks_seconds(const Checks *checks, double rows);

extern Journal *checks_journal(const Checks *checks);

/*
 * The number of a table, open until checks_run; or -1 where nothing of what is
 * asked for needs to be done.  Error: 55000 where rows may be replaced and a publication
 * could not send that.
 */
#define CHECKS_KEYS 1			/* foreign keys; its triggers have no fault */
#define CHECKS_CONFLICTS 2		/* duplicates, when index entries are made */
#define CHECKS_DISPLACED 4		/* rows that checks_displace will name */
#define CHECKS_PLACES 8			/* rows that an index may not take, for checks_find */
#define CHECKS_NOTHING (-1)
extern int	checks_add_table(Checks *checks, Relation rel, int what);

/*
 * For rows that must be known to be good before they displace others: whether all
 * that a row refers to is there, and locked; else key becomes the first foreign key that it violates.
 */
extern bool checks_holds(Checks *checks, int table, HeapTuple tuple, int *key);

/* Code of others has run since; what was there may have gone. */
extern void checks_forget_keys(Checks *checks);

/*
 * Such a row, which is not in the table.  It will be rejected; with on_error = stop that is an
 * error at once, 23503.  False: it may be good now, ask again.
 */
extern bool checks_take_orphan(Checks *checks, int table, int key, HeapTuple tuple,
							   TupleTableSlot *slot, const JournalPlace *place);

/* A row of the load, in the journal, was deleted, as its key has come again; */
extern void checks_displace(Checks *checks, int table, ItemPointer tid, Oid index);

/* and one of the table, its reason REJECT_REPLACED, its key the index. */
extern void checks_replace(Checks *checks, const BadRow *row);

/*
 * Where whoever makes these tables' index entries notes rows that share a key (index.h);
 * NULL where duplicates cannot be.
 */
extern Conflicts *checks_conflicts(const Checks *checks);

/*
 * Whether rows may be bad at the end: leaves of a partitioned table are added
 * when their first row comes.
 */
extern bool checks_expected(const Checks *checks, Relation target);

/* Where bad rows go. */
typedef struct CheckReport
{
	RejectStream *rejects;
	Raw		   *raw;
	const List *paths;
	const Reject **context_row; /* set while something is said about a row */
	int64		rows;			/* of the load */
	BadRows    *kept;			/* takes the rows of the input that turn out bad, with what is said of them; or NULL */
} CheckReport;

/*
 * Checks the rows of the journal; all are in their tables, and so are the
 * index entries.  Returns how many were bad and are rejects now.  With
 * on_error = stop the first row without a referenced one is an error, 23503 in the
 * server's words.  Errors: those of remove_duplicates and rechecks_queue; 55000 if
 * session_replication_role has changed meanwhile.
 */
extern int64 checks_run(Checks *checks, const CheckReport *report);

/*
 * After the load: whether rows that turned out bad cannot go as if they had never been there, so that
 * the load is to be undone and done again without them.  Logical decoding would send them, and a deletion by
 * which a subscriber loses another row with their key; or somebody in this transaction may have stored rows
 * that refer to them.
 */
extern bool checks_must_repeat(const Checks *checks);

/* Whether triggers that are to fire later know rows by their places in the table. */
extern bool checks_queued(const Checks *checks);

/* Where a row of a table came from, if that is known. */
extern bool checks_find(const Checks *checks, Oid relid, const ItemPointerData *tid,
						JournalPlace *place);

/* How many rows of a table, which the load has put there, were deleted by that. */
extern int64 checks_deleted(const Checks *checks, Oid relid);

#endif							/* PGBULK_CHECK_H */
