/*
 * diagnosis_search.h
 *		The search of diagnosis.c, and the candidates that it tries.  Private to these two.
 */
#ifndef PGBULK_DIAGNOSIS_SEARCH_H
#define PGBULK_DIAGNOSIS_SEARCH_H

#include "postgres.h"

#include "diagnose/diagnosis_state.h"
#include "diagnose/trial.h"
#include "reject/reject.h"

/* Bytes of a line that a HINT shows. */
#define SHOWN_BYTES 80

/* Of what kind a candidate is. */
#define CUTS	1				/* it cuts rows and fields in another way */
#define FILLS	2				/* it takes rows that have too many or too few fields */
#define QUOTES	4				/* it is for quotes within fields, which few rows may have */

/* The search for what mends a kind. */
typedef struct Search
{
	const Diagnosis *diagnosis;
	const RejectKind *kind;
	MemoryContext context;
	Guard		guard;
	Trial		samples;
	Trial		witnesses;
	Trial		first;			/* the one of them that is the first line of a file, if it was kept */
	TrialOutcome *witnessed;	/* witnesses with the options of the load */

	/* as far as it has come */
	char	   *candidate;
	BulkOptions *options;		/* with it */
	TrialOutcome *outcomes;
	int			score;
	char	   *remarks;		/* what else there is to say */
	bool		swapped;		/* dates that were loaded may be others */
	bool		mapped;			/* the header names the columns: nothing else can be tried */

	/* the best candidate for the next step */
	char	   *next;			/* NULL: none is better */
	TrialOutcome *next_outcomes;
	int			next_score;
} Search;

/*
 * Tries the best candidate so far with more options, a JSON object; true where no other can be better.  kind: bits of
 * what they do.
 */
extern bool diagnosis_consider(Search *search, const char *addition, int kind);

/* Whether the file is as the options say, but for some rows. */
extern bool diagnosis_are_few(const Search *search);

/* Makes the best candidate the one to go on from; false where none is better. */
extern bool diagnosis_take_step(Search *search);

/* Of the rows that were read well, those that a candidate makes others of, or bad ones. */
extern void diagnosis_count_broken(Search *search, const char *candidate, int *changed, int *lost);

/* One more sentence for the HINT. */
extern void diagnosis_remark(Search *search, const char *text);

/* -- candidates (diagnosis_steps.c) -- */

/* For a line that is not in order as a whole. */
extern void diagnosis_over_syntax(Search *search, const TrialOutcome *failed);

/* For quotes within fields. */
extern void diagnosis_over_quotes(Search *search);

/* For bytes that are no text. */
extern void diagnosis_over_encoding(Search *search);

/* For a value that its column refuses. */
extern void diagnosis_over_value(Search *search, const TrialOutcome *failed);

/*
 * Many encodings can read the same bytes: only who knows the data can tell
 * whether a line means something so.
 */
extern void diagnosis_show_decoded(Search *search, int file_encoding);

/* What turns out to be the order of day and month in a column is so in others that can be read in that way. */
extern void diagnosis_swap_dates(Search *search, const char *column);

/* The template of a column, or NULL. */
extern const char *diagnosis_date_format(const BulkOptions *options, const char *column);

/* Whether the day comes first there, and the session took the month for it, or the reverse. */
extern bool diagnosis_swaps(const char *template);

#endif							/* PGBULK_DIAGNOSIS_SEARCH_H */
