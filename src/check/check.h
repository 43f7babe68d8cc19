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
 * index entries.
 */
#ifndef PGBULK_CHECK_H
#define PGBULK_CHECK_H

#include "postgres.h"

#include "index/conflicts.h"
#include "input/raw.h"
#include "journal.h"
#include "options.h"
#include "rejects.h"

typedef struct Checks Checks;

/* Memory: a context of its own below the current one. */
extern Checks *checks_open(const BulkOptions *options);

/* Where writers write down what they store. */
extern Journal *checks_journal(const Checks *checks);

/*
 * Why the row triggers of a table cannot be left to checks_run ("has
 * triggers that see each row"), or NULL where they can, or where there is
 * none.  For a partitioned table: of itself, not its leaves.
 */
extern const char *checks_fault(Relation rel, const BulkOptions *options);

/*
 * Why duplicates of a plain table cannot be left to checks_run, as on_duplicate says
 * what becomes of them ("has an exclusion constraint ..."), or NULL.
 */
extern const char *checks_duplicates_fault(Relation rel, const BulkOptions *options);

/*
 * The number of a table, open until checks_run, whose triggers have no fault;
 * or -1 where nothing needs to be checked.  indexed: rows come with their index
 * entries, so that duplicates are found then; of those that do not there may be one
 * table with unique indexes.
 */
#define CHECKS_NOTHING (-1)
extern int	checks_add_table(Checks *checks, Relation rel, bool indexed);

/*
 * Where whoever makes that table's index entries notes rows that share a key (index.h);
 * NULL where duplicates are errors, or cannot be.
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
	const Reject **telling;		/* set while something is said about a row */
} CheckReport;

/*
 * Checks the rows of the journal; all are in their tables, and so are the
 * index entries.  Returns how many were bad and are rejects now.  With
 * on_error = stop the first row without a referenced one is an error, 23503 in the
 * server's words.  Errors: those of settle_duplicates.
 */
extern int64 checks_run(Checks *checks, const CheckReport *report);

#endif							/* PGBULK_CHECK_H */
