/*
 * diagnosis.c
 *		See diagnosis.h.
 *
 * A candidate is a JSON object of options that override those of the load; a
 * trial (trial.h) reports how far each sample gets with it.  The search is
 * greedy: of all candidates for what is wrong with a sample the best is kept,
 * then what is still wrong is examined, until all samples are good or nothing
 * helps any more.  So a file with another delimiter, a decimal comma and
 * unusual dates gets a single answer.
 *
 * Rows that the load has accepted are witnesses: a candidate that splits rows
 * differently must leave them unchanged, unless there are fewer of them than
 * bad rows.
 */
#include "postgres.h"

#include "diagnose/diagnosis.h"
#include "diagnose/diagnosis_search.h"
#include "format/format.h"
#include "miscadmin.h"
#include "server/subtransaction.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Maximum number of problems with one file. */
#define MAX_STEPS 8

void
diagnosis_count_broken(Search *search, const char *candidate, int *changed, int *lost)
{
	const Trial *trial = &search->witnesses;
	TrialOutcome *outcomes = palloc(sizeof(TrialOutcome) * Max(trial->nrows, 1));

	*changed = *lost = 0;
	if (!trial_run(trial, candidate, outcomes))
		return;
	for (int i = 0; i < trial->nrows; i++)
	{
		const TrialOutcome *before = &search->witnessed[i];

		if (outcomes[i].passed && outcomes[i].line == 1)
			continue;
		/* a row with the right number of fields confirms its dialect even if it is bad */
		if (before->progress >= TRIAL_CUT && outcomes[i].progress < TRIAL_CUT)
			(*lost)++;
		else if (!before->good || before->stray || search->diagnosis->rows_loaded == 0)
			continue;
		else if (!outcomes[i].good || outcomes[i].passed)
			(*lost)++;
		else if (outcomes[i].print != before->print)
			(*changed)++;
	}
}

/* Whether most rows have the right number of fields. */
static bool
are_cut_well(const Search *search)
{
	int			n = 0;

	for (int i = 0; i < search->witnesses.nrows; i++)
		n += search->witnessed[i].progress >= TRIAL_CUT ? 1 : 0;
	return n > 0 && n * 2 >= search->witnesses.nrows;
}

bool
diagnosis_are_few(const Search *search)
{
	return search->kind->nrows <= search->diagnosis->rows_loaded;
}

/* ---- steps ---- */

/* Options, overridden by others. */
static char *
merge_options(const char *options, const char *more)
{
	Jsonb	   *json = options_merge(options_merge(NULL, options), more);

	return JsonbToCString(NULL, &json->root, VARSIZE(json));
}

int
diagnosis_count_good(const Search *search, const TrialOutcome *outcomes)
{
	int			n = 0;

	for (int i = 0; i < search->samples.nrows; i++)
		n += outcomes[i].good ? 1 : 0;
	return n;
}

/*
 * A row whose values all become NULL counts as no progress, unless its only
 * value is NULL here and there among good rows, or its fields have names.
 */
static int
score_outcomes(const Search *search, const TrialOutcome *outcomes, int kind)
{
	bool		may_be_empty = search->by_name ||
		(kind == 0 && search->diagnosis->rows_loaded > 0);
	int			score = 0;

	for (int i = 0; i < search->samples.nrows; i++)
		if (!outcomes[i].implausible && (may_be_empty || !outcomes[i].empty))
			score += outcomes[i].stray ? Min(outcomes[i].progress, TRIAL_CUT - 1) :
				outcomes[i].progress;
	return score;
}

/* Whether no kept row is split into fewer fields than by another delimiter. */
static bool
are_filled_well(Search *search, const char *candidate, int kind)
{
	Trial		trial = search->witnesses;
	TrialOutcome *outcomes = palloc(sizeof(TrialOutcome) * Max(trial.nrows, 1));

	trial.strict = true;
	if (trial_run(&trial, candidate, outcomes))
		for (int i = 0; i < trial.nrows; i++)
			if (outcomes[i].implausible &&
				((kind & CUTS) ||
				 (search->witnessed[i].progress < TRIAL_CUT && outcomes[i].progress >= TRIAL_CUT)))
				return false;
	return true;
}

/*
 * Whether the best candidate so far may be suggested.  Rows are not split
 * differently for the sake of a few: an extra delimiter in one row says nothing
 * about the others.
 */
static bool
is_plausible(Search *search, const char *candidate, const TrialOutcome *outcomes, int kind)
{
	int			better = 0;
	int			worse = 0;
	int			changed;
	int			lost;

	for (int i = 0; i < search->samples.nrows; i++)
	{
		if ((kind & FILLS) &&
			(outcomes[i].implausible || (outcomes[i].empty && !search->by_name)))
			return false;
		better += outcomes[i].progress > search->outcomes[i].progress ? 1 : 0;
		worse += outcomes[i].progress < search->outcomes[i].progress ? 1 : 0;
	}
	if ((kind & FILLS) && !are_filled_well(search, candidate, kind))
		return false;
	if (!(kind & CUTS))
		return true;
	if (kind & QUOTES ? worse > 0 : better * 2 <= search->samples.nrows)
		return false;
	diagnosis_count_broken(search, candidate, &changed, &lost);
	return (changed == 0 && lost == 0) || !are_cut_well(search);
}

bool
diagnosis_consider(Search *search, const char *addition, int kind)
{
	char	   *candidate = merge_options(search->candidate, addition);
	TrialOutcome *outcomes = palloc(sizeof(TrialOutcome) * search->samples.nrows);
	int			score;

	CHECK_FOR_INTERRUPTS();
	/* if short rows are accepted, every delimiter gives some */
	if ((kind & CUTS) && search->options->missing != BULK_MISSING_ERROR)
		kind |= FILLS;
	search->samples.strict = (kind & FILLS) ||
		((kind & CUTS) && search->kind->reason == REJECT_VALUE);
	if (!trial_run(&search->samples, candidate, outcomes))
		return false;
	score = score_outcomes(search, outcomes, kind);
	if (score <= search->next_score || !is_plausible(search, candidate, outcomes, kind))
		return false;
	search->next = candidate;
	search->next_outcomes = outcomes;
	search->next_score = score;
	return diagnosis_count_good(search, outcomes) == search->samples.nrows;
}

bool
diagnosis_take_step(Search *search)
{
	if (search->next == NULL)
		return false;
	search->candidate = search->next;
	search->outcomes = search->next_outcomes;
	search->score = search->next_score;
	search->options =
		options_parse(options_merge(search->diagnosis->options->json, search->candidate));
	search->next = NULL;
	return true;
}

/* ---- headers ---- */

void
diagnosis_count_names(const Target *target, const List *fields, int *named, int *ordered)
{
	AttrNumber *matches = target_match_columns(target, fields);

	*named = *ordered = 0;
	for (int i = 0; i < list_length(fields); i++)
	{
		if (matches[i] == InvalidAttrNumber)
			continue;
		(*named)++;
		*ordered += i < target->nfields && target->attnums[i] == matches[i] ? 1 : 0;
	}
}

bool
diagnosis_are_words(const List *fields)
{
	for (int i = 0; i < list_length(fields); i++)
	{
		const unsigned char *field = list_nth(fields, i);

		if (field == NULL || reject_looks_null((const char *) field) ||
			!(isalpha(field[0]) || IS_HIGHBIT_SET(field[0])))
			return false;
		for (int k = 0; k < i; k++)
			if (strcmp(list_nth(fields, k), (const char *) field) == 0)
				return false;
	}
	return fields != NIL;
}

/* The first line of a file, if it is a sample or was kept. */
static const TrialOutcome *
find_first_line(Search *search)
{
	TrialOutcome *first = palloc(sizeof(TrialOutcome));

	for (int i = 0; i < search->samples.nrows; i++)
		if (search->outcomes[i].line == 1)
			return &search->outcomes[i];
	return search->first.nrows > 0 &&
		trial_run(&search->first, search->candidate, first) ? first : NULL;
}

/* Considers that the first line is a header that the load has read as a row. */
static bool
step_over_header(Search *search)
{
	const BulkOptions *options = search->options;
	const TrialOutcome *first;
	int			named;
	int			ordered;

	if (search->diagnosis->is_retry || !options_takes(options, "header") ||
		options->header != BULK_HEADER_SKIP || options->header_lines > 0)
		return false;
	first = find_first_line(search);
	if (first == NULL || first->fields == NIL)
		return false;
	diagnosis_count_names(search->diagnosis->target, first->fields, &named, &ordered);
	if (named < list_length(first->fields) &&
		(!diagnosis_are_words(first->fields) ||
		 (named * 2 < list_length(first->fields) &&
		  (first->good || first->column == NULL ||
		   diagnosis_count_good(search, search->outcomes) + search->diagnosis->rows_loaded == 0))))
		return false;
	if (ordered < named && (options->has_columns || options->transform != NULL))
		return false;
	if (ordered < named)
	{
		search->mapped = true;
		search->candidate = merge_options(search->candidate, "{\"header\": \"map\"}");
		diagnosis_remark(search,
						 "The first line has the names of columns, in another order than the table.");
		return true;
	}
	search->next_score = -1;
	(void) diagnosis_consider(search, "{\"header\": true}", 0);
	if (!diagnosis_take_step(search))
		return false;
	diagnosis_remark(search, "The first line is then a header, not a row.");
	return true;
}

/* ---- the search ---- */

/* Tries candidates for one sample. */
static void
look_for_step(Search *search, const TrialOutcome *sample)
{
	search->next_score = search->score;
	if (sample->stray && (sample->good || sample->reason == REJECT_SYNTAX))
		diagnosis_over_quotes(search);
	if (search->next != NULL || sample->good || sample->message == NULL)
		return;
	if (sample->reason == REJECT_SYNTAX)
		diagnosis_over_syntax(search, sample);
	else if (sample->reason == REJECT_ENCODING)
		diagnosis_over_encoding(search);
	else if (sample->reason == REJECT_VALUE && sample->column != NULL &&
			 search->options->transform == NULL)
		diagnosis_over_value(search, sample);
}

/* Finds the next step: tries candidates for each sample until one helps. */
static bool
climb(Search *search)
{
	const BulkOptions *before = search->options;
	const TrialOutcome *outcomes = search->outcomes;

	if (step_over_header(search))
		return !search->mapped;
	for (int i = 0; i < search->samples.nrows; i++)
	{
		const TrialOutcome *sample = &outcomes[i];

		CHECK_FOR_INTERRUPTS();
		look_for_step(search, sample);
		if (diagnosis_take_step(search))
		{
			diagnosis_remark_step(search, before, outcomes, sample->column);
			return true;
		}
	}
	return false;
}

bool
diagnosis_search_from(Search *search, char *begun)
{
	search->candidate = begun;
	search->outcomes = palloc(sizeof(TrialOutcome) * search->samples.nrows);
	if (!trial_run(&search->samples, begun, search->outcomes))
		return false;
	search->score = score_outcomes(search, search->outcomes, 0);
	search->options = options_parse(options_merge(search->diagnosis->options->json, begun));
	for (int i = 0; i < MAX_STEPS && climb(search); i++)
		;
	return true;
}

/*
 * Whether the samples are bad in a trial as they were in the load.  If not,
 * trials mean nothing.
 */
static bool
is_reproduced(Search *search)
{
	TrialOutcome *outcomes = palloc(sizeof(TrialOutcome) * search->samples.nrows);

	return trial_run(&search->samples, "{}", outcomes) &&
		diagnosis_count_good(search, outcomes) == 0;
}

/* The HINT for a kind of bad rows. */
static char *
advise(Search *search, const char *begun)
{
	const RejectKind *kind = search->kind;
	char	   *hint = NULL;

	/* a single line cannot show a mix of line ends */
	if (kind->reason == REJECT_SYNTAX && reject_is_line_end(kind->message))
		return diagnosis_search_from(search, "{\"newline\": \"any\"}") &&
			diagnosis_count_good(search, search->outcomes) > 0 ?
			diagnosis_form_hint(search) : NULL;
	if (!is_reproduced(search) || !diagnosis_search_from(search, pstrdup(begun)))
		return NULL;
	if (search->candidate[1] != '}')
		hint = diagnosis_form_hint(search);
	return hint != NULL ? hint : diagnosis_explain_object(search);
}

/* The options found from others on, instead of a HINT. */
static char *
continue_from(Search *search, const char *begun)
{
	return diagnosis_search_from(search, pstrdup(begun)) &&
		diagnosis_doubt_quotes(search) == QUOTES_FINE ? search->candidate : NULL;
}

static void
open_trial(Search *search, Trial *trial)
{
	trial_open(trial, search->diagnosis->options, search->diagnosis->target, &search->guard);
}

char *
diagnosis_run(const Diagnosis *diagnosis, const RejectKind *kind, const char *begun,
			  char *(*body) (Search *search, const char *begun))
{
	Search		search = {
		.diagnosis = diagnosis,
		.kind = kind,
		.by_name = format_routine(diagnosis->options)->by_name,
		.remarks = ""
	};
	MemoryContext caller = CurrentMemoryContext;
	char	   *answer;

	search.context = AllocSetContextCreate(caller, "bulk_load diagnosis", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(search.context);
	guard_enable(&search.guard);
	open_trial(&search, &search.samples);
	for (int i = 0; i < kind->nsamples; i++)
		trial_add(&search.samples, kind->samples[i].raw, kind->samples[i].raw_len,
				  kind->samples[i].line);
	open_trial(&search, &search.witnesses);
	for (int i = 0; i < diagnosis->nrows; i++)
		trial_add(&search.witnesses, diagnosis->rows[i].data, diagnosis->rows[i].length,
				  diagnosis->rows[i].line);
	open_trial(&search, &search.first);
	for (int i = 0; i < diagnosis->nrows && search.first.nrows == 0; i++)
		if (diagnosis->rows[i].line == 1)
			trial_add(&search.first, diagnosis->rows[i].data, diagnosis->rows[i].length, 1);
	search.witnessed = palloc0(sizeof(TrialOutcome) * Max(diagnosis->nrows, 1));
	(void) trial_run(&search.witnesses, "{}", search.witnessed);

	answer = body(&search, begun);

	trial_close(&search.samples);
	trial_close(&search.witnesses);
	trial_close(&search.first);
	MemoryContextSwitchTo(caller);
	answer = answer != NULL ? pstrdup(answer) : NULL;
	MemoryContextDelete(search.context);
	return answer;
}

bool
diagnosis_is_for(const BulkOptions *options)
{
	const FormatRoutine *routine = format_routine(options);

	/* rows of a query have no lines of their own, and fields by their places no other one */
	return routine->rows_alone && !routine->by_place && options->query == NULL;
}

/* A search that a load can do without. */
typedef struct Advice
{
	const Diagnosis *diagnosis;
	const RejectKind *kind;
	char	   *hint;
} Advice;

static void
look_for_advice(void *arg)
{
	Advice	   *advice = arg;

	advice->hint = diagnosis_other_format(advice->diagnosis, advice->kind);
	if (advice->hint == NULL && advice->kind->nsamples > 0)
		advice->hint = diagnosis_run(advice->diagnosis, advice->kind, "{}", advise);
}

char *
diagnosis_advise(void *arg, const RejectKind *kind)
{
	Advice		advice = {.diagnosis = arg, .kind = kind};

	if (diagnosis_is_for(advice.diagnosis->options) &&
		(kind->reason == REJECT_SYNTAX || kind->reason == REJECT_ENCODING ||
		 kind->reason == REJECT_VALUE))
		subtransaction_look(look_for_advice, &advice);
	return advice.hint;
}

char *
diagnosis_continue(const Diagnosis *diagnosis, const RejectKind *kind, const char *begun)
{
	return diagnosis_run(diagnosis, kind, begun, continue_from);
}
