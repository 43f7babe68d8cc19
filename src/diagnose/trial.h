/*
 * trial.h
 *		Reads and converts rows of a load again, with other options.
 *
 * Nothing is written, and errors raised by user-defined functions are caught.
 * Rows are read independently: an open quote does not affect the next row.
 */
#ifndef PGBULK_TRIAL_H
#define PGBULK_TRIAL_H

#include "postgres.h"

#include "format/convert.h"
#include "option/options.h"
#include "reject/rejects.h"
#include "row/guard.h"
#include "stream/stored.h"
#include "table/target.h"

/* The setup of trials. */
typedef struct Trial
{
	const BulkOptions *options; /* of the load */
	Target	   *target;			/* open, its columns known */
	Guard	   *guard;			/* enabled */
	StoredRows *rows;
	int			nrows;
	/* also judge whether fields look as if another delimiter was meant */
	bool		strict;
} Trial;

/* The progress of a row with the right number of fields. */
#define TRIAL_CUT 2

/* The outcome of a trial for one row. */
typedef struct TrialOutcome
{
	int64		line;
	/*
	 * 0: not a row, or not text; 1: wrong number of fields; 2 + n: column n
	 * fails; more: good
	 */
	int			progress;
	bool		good;
	bool		passed;			/* a comment or a header: good, but no row */
	bool		stray;			/* quotes occur within fields ... */
	bool		unclosed;		/* ... or extend beyond the end of the row */
	bool		empty;			/* all values are NULL */
	bool		implausible;	/* see Trial.strict */
	uint64		print;			/* hash of a good row's values */
	/* why the row is bad */
	RejectReason reason;
	const char *message;		/* or NULL */
	const char *column;			/* or NULL */
	const char *value;			/* or NULL */
	bool		extra;			/* it has a field too many ... */
	bool		missing;		/* ... or lacks one */
	/* more about the row */
	List	   *fields;			/* char *, or NULL for a null; only of the first line of a file */
	/*
	 * a field without a column, or its name in formats by name, unless it is
	 * empty; in these also the columns (char *) without a field
	 */
	const char *surplus;
	List	   *lacking;
} TrialOutcome;

/* Prepares trials of rows that are added then.  Memory: the current context, and a file. */
extern void trial_open(Trial *trial, const BulkOptions *options, Target *target,
					   Guard *guard);
extern void trial_add(Trial *trial, const char *data, uint32 length, int64 line);
extern void trial_close(Trial *trial);

/*
 * Reads the rows with the options of the load overridden by those of a JSON
 * object.  False if these are not valid for this table.  Texts are in the
 * current memory context.  Price: the conversion of each row, and a
 * subtransaction for each error raised.
 */
extern bool trial_run(const Trial *trial, const char *candidate, TrialOutcome *outcomes);

/*
 * The text of a possible column name, trimmed; NULL for a null and for invalid
 * text.  Allocates in the current context.
 */
extern char *trial_field_name(Converter *conv, const char *data, const ScanField *field);

/* Common delimiters, NULL-terminated; the first three are rare in text. */
#define TRIAL_SURE_DELIMITERS 3
extern const char *const trial_delimiters[];

#endif							/* PGBULK_TRIAL_H */
