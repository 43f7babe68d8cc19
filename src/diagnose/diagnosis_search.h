/*
 * diagnosis_search.h
 *		The search of diagnosis.c and its parts.  Private to diagnosis*.c.
 */
#ifndef PGBULK_DIAGNOSIS_SEARCH_H
#define PGBULK_DIAGNOSIS_SEARCH_H

#include "postgres.h"

#include "diagnose/diagnosis_state.h"
#include "diagnose/trial.h"
#include "format/reader.h"
#include "reject/reject.h"

/* Maximum number of bytes of a line shown in a HINT. */
#define SHOWN_BYTES 80

/* What a candidate changes. */
#define CUTS	1				/* how rows and fields are split */
#define FILLS	2				/* whether rows with too many or too few fields are accepted */
#define QUOTES	4				/* the meaning of quotes within fields, which may be rare */

/* The search for options for one kind of bad rows. */
typedef struct Search
{
	const Diagnosis *diagnosis;
	const RejectKind *kind;
	bool		by_name;		/* fields have names: these say what is meant */
	MemoryContext context;
	Guard		guard;
	Trial		samples;
	Trial		witnesses;
	Trial		first;			/* the sample that is the first line of a file, if it was kept */
	TrialOutcome *witnessed;	/* witnesses' outcomes with the options of the load */

	/* the best options so far */
	char	   *candidate;
	BulkOptions *options;		/* the same, parsed */
	TrialOutcome *outcomes;
	int			score;
	char	   *remarks;		/* additional sentences for the HINT */
	bool		swapped;		/* dates already loaded may have day and month swapped */
	bool		mapped;			/* the header names the columns: nothing else can be tried */

	/* the best candidate for the next step */
	char	   *next;			/* NULL: none is better */
	TrialOutcome *next_outcomes;
	int			next_score;
} Search;

/*
 * Tries the best options so far with additional ones, a JSON object; true if no
 * other candidate can be better.  kind: bits of what they change.
 */
extern bool diagnosis_consider(Search *search, const char *addition, int kind);

/* Whether the options fit the file, except for a few rows. */
extern bool diagnosis_are_few(const Search *search);

/* Makes the best candidate the new starting point; false if none is better. */
extern bool diagnosis_take_step(Search *search);

/* Counts accepted rows that a candidate changes, or makes bad. */
extern void diagnosis_count_broken(Search *search, const char *candidate, int *changed, int *lost);

/* Whether the options are for rows that can be tried. */
extern bool diagnosis_is_for(const BulkOptions *options);

/* How many samples are good. */
extern int	diagnosis_count_good(const Search *search, const TrialOutcome *outcomes);

/* Searches from a starting set of options; false if that is not valid. */
extern bool diagnosis_search_from(Search *search, char *begun);

/*
 * What body makes of a search for bad rows of one kind, which is set up and closed here; begun
 * is passed on.  The result is in the caller's memory context.
 */
extern char *diagnosis_run(const Diagnosis *diagnosis, const RejectKind *kind, const char *begun,
						   char *(*body) (Search *search, const char *begun));

/* Keeps the beginning of the first file, if the window has it. */
extern void diagnosis_keep_beginning(Diagnosis *diagnosis, const Reader *reader);

/* -- what has come of it (diagnosis_hint.c) -- */

/* Adds a sentence to the HINT. */
extern void diagnosis_remark(Search *search, const char *text);

/*
 * Adds remarks on a step from other options and outcomes, which a bad value of that column (or
 * NULL) led to.
 */
extern void diagnosis_remark_step(Search *search, const BulkOptions *before,
								  const TrialOutcome *outcomes, const char *column);

/* Whether quotes within fields, or unclosed ones, make the best options doubtful. */
typedef enum QuoteDoubt
{
	QUOTES_FINE,
	QUOTES_STRAY,				/* those of the samples do */
	QUOTES_STRAY_ELSEWHERE		/* those of other rows: the samples have nothing to do with it */
} QuoteDoubt;

extern QuoteDoubt diagnosis_doubt_quotes(Search *search);

/* The HINT, or NULL. */
extern char *diagnosis_form_hint(Search *search);

/* -- rows that are objects, and rows that are lines (diagnosis_json.c) -- */

/*
 * The HINT for a file that has objects where the load takes lines, or the reverse; NULL
 * if it has not.  The kind may be without samples.
 */
extern char *diagnosis_other_format(const Diagnosis *diagnosis, const RejectKind *kind);

/* The HINT for an object that no option fixes, or NULL. */
extern char *diagnosis_explain_object(Search *search);

/* -- candidates (diagnosis_steps.c) -- */

/* For a malformed line. */
extern void diagnosis_over_syntax(Search *search, const TrialOutcome *failed);

/* For quotes within fields. */
extern void diagnosis_over_quotes(Search *search);

/* For invalid bytes. */
extern void diagnosis_over_encoding(Search *search);

/* For a value that its column's type rejects. */
extern void diagnosis_over_value(Search *search, const TrialOutcome *failed);

/*
 * Adds a line as decoded: several encodings may accept the same bytes, and only
 * the user can tell which one makes sense.
 */
extern void diagnosis_show_decoded(Search *search, int file_encoding);

/* Applies the order of day and month found for one column to others that may have the same. */
extern void diagnosis_swap_dates(Search *search, const char *column);

/* The template of a column, or NULL. */
extern const char *diagnosis_date_format(const BulkOptions *options, const char *column);

/* Whether a template has day and month in the other order than the session's DateStyle. */
extern bool diagnosis_swaps(const char *template);

#endif							/* PGBULK_DIAGNOSIS_SEARCH_H */
