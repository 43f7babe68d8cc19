/*
 * dialect_trial.h
 *		One dialect tried on rows of a sample, and its score.  Pure C.
 */
#ifndef PGBULK_DIALECT_TRIAL_H
#define PGBULK_DIALECT_TRIAL_H

#include <string.h>

#include "inspect/dialect_type.h"

#define DIALECT_ROWS 2000		/* after which a trial has seen enough */
#define DIALECT_FIELDS 2048		/* beyond which rows count as equally long */

/* What came of it; what is given is the dialect, suspect, unusual and alone. */
typedef struct DialectTrial
{
	Dialect		dialect;
	uint32_t	rows;			/* that are neither empty nor comments */
	uint32_t	first_fields;	/* of the first of them */
	uint32_t	lengths[DIALECT_FIELDS + 1];	/* how many rows have n fields */
	uint8_t		filled[DIALECT_FIELDS + 1]; /* columns that are not all empty */
	uint8_t		named[DIALECT_FIELDS + 1];	/* that the first row has a text for */
	uint8_t		values[DIALECT_FIELDS + 1]; /* that have values below it ... */
	uint8_t		texts[DIALECT_FIELDS + 1];	/* ... which are not all numbers and the like */
	bool		unusual;		/* the delimiter is */
	bool		alone;			/* there is none */
	uint32_t	known;			/* fields of the first row that are names of many columns */
	uint32_t	lines;			/* rows of one field, but for what may be a header */
	uint32_t	whole;			/* those that are one value */
	uint32_t	later;			/* fields that are not a row's first ... */
	uint32_t	spaced;			/* ... those that are text behind a blank */
	uint32_t	cells;
	double		clean;			/* sum over them */
	uint32_t	quoted;			/* fields that are as a whole */
	uint32_t	stray;			/* fields with quotes within them */
	uint32_t	ends;			/* rows whose line end is of another kind */
	uint32_t	unclosed;		/* rows with a quote that is never closed */
	uint32_t	swallowed;		/* fields with quotes and line ends within them */
	uint32_t	markers;		/* fields that are \N */
	uint32_t	escapes;		/* backslash sequences of text format */
	/* rows that begin like a comment, with as many fields as most or not */
	const char *suspect;
	uint32_t	suspects[DIALECT_FIELDS + 1];
} DialectTrial;

static inline bool
dialect_begins_with(const char *s, uint32_t len, const char *prefix)
{
	size_t		n = strlen(prefix);

	return len >= n && memcmp(s, prefix, n) == 0;
}

/* A SheetVisit whose argument is the trial. */
extern bool dialect_try_row(void *arg, const char *data, const ScanRow *row,
							const ScanField *fields);

/* The number of fields that most rows have; the first row's among equals. */
extern uint32_t dialect_usual_length(const DialectTrial *trial);

/*
 * The score when all rows have been shown, which also sets the dialect's columns.
 * prior: how usual the delimiter is; covered: the share of the span that was read.
 */
extern double dialect_score(DialectTrial *trial, float prior, double covered);

#endif							/* PGBULK_DIALECT_TRIAL_H */
