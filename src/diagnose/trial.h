/*
 * trial.h
 *		Rows of a load read and converted once more, with other options.
 *
 * Nothing is written, and what others' code throws is caught.  Each row is read for itself: a quote
 * that it leaves open takes nothing from the next.
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

/* What is tried. */
typedef struct Trial
{
	const BulkOptions *options; /* of the load */
	const Target *target;		/* open, its columns known */
	Guard	   *guard;			/* enabled */
	StoredRows *rows;
	int			nrows;
	bool		strict;			/* judge whether fields look as if another delimiter was meant */
} Trial;

/* A row whose fields are as many as they should be has come so far. */
#define TRIAL_CUT 2

/* What became of a row. */
typedef struct TrialOutcome
{
	int64		line;
	int			progress;		/* 0: it is no row or no text; 1: it has too many or too few fields; 2 + n:
								 * column n fails; more: it is good */
	bool		good;
	bool		passed;			/* it is a comment or a header: good, but no row */
	bool		stray;			/* quotes stand within fields ... */
	bool		unclosed;		/* ... or go on over the end of the row */
	bool		empty;			/* it is NULL all through */
	bool		implausible;	/* see Trial.strict */
	uint64		print;			/* of a good row's values: equal ones have the same */
	/* of what is wrong */
	RejectReason reason;
	const char *message;		/* or NULL */
	const char *column;			/* or NULL */
	const char *value;			/* or NULL */
	/* more of the row */
	List	   *fields;			/* char *, or NULL for a null; of the first line of a file alone */
	const char *surplus;		/* the first field behind the last column, unless it is empty */
} TrialOutcome;

/*
 * Reads the rows with the options of the load and those of a JSON object laid over them.
 * False where there are no such options, for this table.  Texts are in the current memory context. Price: about a
 * conversion of each row, and a subtransaction for each error that is thrown.
 */
extern bool trial_run(const Trial *trial, const char *candidate, TrialOutcome *outcomes);

/*
 * The text of a field that may be a name of a column, trimmed; NULL for a null, and for what is no text.  Memory: the
 * current context.
 */
extern char *trial_field_name(Converter *conv, const char *data, const ScanField *field);

/* Delimiters that files are often written with, ended by NULL; the first three stand in few texts. */
#define TRIAL_SURE_DELIMITERS 3
extern const char *const trial_delimiters[];

#endif							/* PGBULK_TRIAL_H */
