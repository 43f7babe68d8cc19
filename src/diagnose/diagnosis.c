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

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "diagnose/diagnosis.h"
#include "diagnose/diagnosis_search.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "server/setting.h"
#include "server/text_clip.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Maximum number of problems with one file. */
#define MAX_STEPS 8

/* Maximum number of rows with the same error as the one that ends the load, including it. */
#define MAX_ALIKE 16

/* ---- witnesses: rows that were mostly read without errors ---- */

/* Keeps a row in this slot, or in a new one; long rows are not kept. */
static void
keep_row(Diagnosis *diagnosis, int place, const Reader *reader, uint32 index)
{
	const ScanRow *row = &reader->rows[index];
	DiagnosisRow *kept = &diagnosis->rows[place];

	if (row->end - row->start > DIAGNOSIS_ROW_BYTES)
		return;
	if (place == diagnosis->nrows)
	{
		diagnosis->nrows++;
		kept->data = NULL;
	}
	if (kept->data == NULL || kept->size < row->end - row->start)
	{
		if (kept->data != NULL)
			pfree(kept->data);
		kept->size = row->end - row->start;
		kept->data = MemoryContextAlloc(diagnosis->context, kept->size);
	}
	kept->length = row->end - row->start;
	kept->line = reader_line(reader, index);
	memcpy(kept->data, reader->data + row->start, kept->length);
}

void
diagnosis_keep(Diagnosis *diagnosis, const Reader *reader, uint32 nrows)
{
	uint32		first = nrows <= DIAGNOSIS_ROWS ? nrows : DIAGNOSIS_ROWS / 2;
	uint32		number;

	if (nrows == 0 || diagnosis->options->log_verbosity == BULK_VERBOSITY_SILENT ||
		!options_takes(diagnosis->options, "delimiter"))
		return;
	if (diagnosis->batches++ == 0)
	{
		for (uint32 i = 0; i < first; i++)
			keep_row(diagnosis, diagnosis->nrows, reader, (uint64) i * nrows / first);
		return;
	}
	/*
	 * reservoir sampling: one row per batch, each with the same probability of
	 * being there in the end
	 */
	number = hash_bytes((const unsigned char *) &diagnosis->batches, sizeof(diagnosis->batches));
	if (diagnosis->nrows < DIAGNOSIS_ROWS)
		keep_row(diagnosis, diagnosis->nrows, reader, number % nrows);
	else if (number % diagnosis->batches < DIAGNOSIS_ROWS / 2)
		keep_row(diagnosis, DIAGNOSIS_ROWS / 2 +
				 number % diagnosis->batches, reader, number % nrows);
}

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

static int
count_good(const Search *search, const TrialOutcome *outcomes)
{
	int			n = 0;

	for (int i = 0; i < search->samples.nrows; i++)
		n += outcomes[i].good ? 1 : 0;
	return n;
}

/*
 * A row whose values all become NULL counts as no progress, unless its only
 * value is NULL here and there among good rows.
 */
static int
score_outcomes(const Search *search, const TrialOutcome *outcomes, int kind)
{
	bool		may_be_empty = kind == 0 && search->diagnosis->rows_loaded > 0;
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
		if ((kind & FILLS) && (outcomes[i].implausible || outcomes[i].empty))
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
	return count_good(search, outcomes) == search->samples.nrows;
}

void
diagnosis_remark(Search *search, const char *text)
{
	if (strstr(search->remarks, text) == NULL)
		search->remarks = psprintf("%s %s", search->remarks, text);
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
	*named = *ordered = 0;
	for (int i = 0; i < list_length(fields); i++)
	{
		const char *field = list_nth(fields, i);
		AttrNumber	attnum = field == NULL ? InvalidAttrNumber :
			target_match_column(target, field);

		if (attnum == InvalidAttrNumber)
			continue;
		(*named)++;
		*ordered += i < target->nfields && target->attnums[i] == attnum ? 1 : 0;
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

	if (search->diagnosis->is_retry || options->header != BULK_HEADER_SKIP ||
		options->header_lines > 0)
		return false;
	first = find_first_line(search);
	if (first == NULL || first->fields == NIL)
		return false;
	diagnosis_count_names(search->diagnosis->target, first->fields, &named, &ordered);
	if (named < list_length(first->fields) &&
		(!diagnosis_are_words(first->fields) ||
		 (named * 2 < list_length(first->fields) &&
		  (first->good || first->column == NULL ||
		   count_good(search, search->outcomes) + search->diagnosis->rows_loaded == 0))))
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
	diagnosis_remark(search, "The first line is then taken for names of columns, not for a row.");
	return true;
}

/* ---- the search ---- */

static bool
has_text_column(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped &&
			TypeCategory(TupleDescAttr(desc, i)->atttypid) == TYPCATEGORY_STRING)
			return true;
	return false;
}

/* Whether all values of a kept row become NULL. */
static bool
makes_empty_rows(Search *search)
{
	const Trial *trial = &search->witnesses;
	TrialOutcome *outcomes = palloc(sizeof(TrialOutcome) * Max(trial->nrows, 1));

	if (trial_run(trial, search->candidate, outcomes))
		for (int i = 0; i < trial->nrows; i++)
			if (outcomes[i].empty)
				return true;
	return false;
}

static const char *
find_surplus(const Search *search)
{
	for (int i = 0; i < search->samples.nrows; i++)
		if (search->outcomes[i].surplus != NULL)
			return search->outcomes[i].surplus;
	return NULL;
}

/* Adds remarks on the step from one set of options to the next. */
static void
remark_step(Search *search, const BulkOptions *before, const char *column)
{
	const BulkOptions *now = search->options;

	if (now->encoding != before->encoding)
		diagnosis_show_decoded(search, now->encoding);
	if (list_length(now->nulls) > list_length(before->nulls) &&
		has_text_column(RelationGetDescr(search->diagnosis->target->rel)))
		diagnosis_remark(search, "In columns of text these words are then null, too.");
	if (now->missing == BULK_MISSING_NULL && before->missing != BULK_MISSING_NULL &&
		makes_empty_rows(search))
		diagnosis_remark(search, "Empty lines then become rows of nulls.");
	if (now->ignore_extra && !before->ignore_extra && find_surplus(search) != NULL)
		diagnosis_remark(search,
						 psprintf("What follows %s last column is then left out, for example \"%s\".",
								  search->diagnosis->ends_load ? "its" : "their",
								  text_clip_string(find_surplus(search), SHOWN_BYTES)));
	if (column != NULL && diagnosis_date_format(before, column) == NULL &&
		diagnosis_date_format(now, column) != NULL &&
		diagnosis_swaps(diagnosis_date_format(now, column)))
	{
		search->swapped = true;
		diagnosis_swap_dates(search, column);
	}
}

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

	if (step_over_header(search))
		return !search->mapped;
	for (int i = 0; i < search->samples.nrows; i++)
	{
		const TrialOutcome *sample = &search->outcomes[i];

		CHECK_FOR_INTERRUPTS();
		look_for_step(search, sample);
		if (diagnosis_take_step(search))
		{
			remark_step(search, before, sample->column);
			return true;
		}
	}
	return false;
}

/* JSON documents in lines are not csv, however they may be split. */
static bool
are_documents(const Search *search)
{
	for (int i = 0; i < search->kind->nsamples; i++)
	{
		const RejectSample *sample = &search->kind->samples[i];
		const char *last = sample->raw + sample->raw_len;

		while (last > sample->raw && strchr(" \t\r,", last[-1]) != NULL)
			last--;
		if (sample->raw[0] != '{' || last[-1] != '}' ||
			!strchr("\"}", sample->raw[1 + strspn(sample->raw + 1, " \t")]))
			return false;
	}
	return true;
}

static int
count_stray(const TrialOutcome *outcomes, int n, bool unclosed)
{
	int			found = 0;

	for (int i = 0; i < n; i++)
		found += unclosed ? outcomes[i].unclosed : outcomes[i].stray && outcomes[i].line > 1;
	return found;
}

/*
 * Whether quotes within fields may join several rows into one, which can then
 * be read.  A quote pair within a row matters only if rows are split
 * differently; a single unclosed quote has no partner, but if rows may be short
 * it swallows all that follow.
 */
static bool
are_quotes_stray(Search *search)
{
	const BulkOptions *before = search->diagnosis->options;
	const BulkOptions *now = search->options;
	bool		same = strcmp(before->delimiter, now->delimiter) == 0 &&
		before->quote == now->quote &&
		before->escape == now->escape;
	const Trial *trial = &search->witnesses;
	TrialOutcome *outcomes = palloc(sizeof(TrialOutcome) * Max(trial->nrows, 1));
	int			few = same && now->missing == before->missing ? 1 : 0;

	return count_stray(search->outcomes, search->samples.nrows, same) > few ||
		(trial_run(trial, search->candidate, outcomes) &&
		 count_stray(outcomes, trial->nrows, same) > few);
}

/* Forms the HINT from the result of the search. */
static char *
form_hint(Search *search)
{
	bool		ends_load = search->diagnosis->ends_load;
	int			good = ends_load ? search->outcomes[0].good : count_good(search, search->outcomes);
	int			passed = 0;
	int			changed;
	int			lost;
	const char *among = "among the options";
	const char *rows = ends_load ? "it" : good < search->samples.nrows ? "some of them" : "they";
	const char *loaded = ends_load ? "Other rows" : "Rows that were loaded";

	/* filling up short rows is no help if they are bad anyway */
	if (good == 0 && !search->mapped &&
		(search->options->missing != search->diagnosis->options->missing ||
		 search->options->ignore_extra != search->diagnosis->options->ignore_extra))
		return NULL;
	if (are_quotes_stray(search))
		return "Check the options \"quote\" and \"escape\": quotes stand within fields, or are not closed.";
	for (int i = 0; i < search->samples.nrows; i++)
		passed += search->outcomes[i].passed ? 1 : 0;
	if (search->mapped)
		return psprintf("Set %s among the options.%s", search->candidate, search->remarks);
	if (good == 0)
		for (int i = 0; i < search->samples.nrows; i++)
			if (search->outcomes[i].column != NULL)
				return psprintf("With %s among the options %s can be read up to column \"%s\".%s",
								search->candidate, ends_load ? "it" : "they",
								search->outcomes[i].column, search->remarks);
	if (good == 0)
		return NULL;
	diagnosis_count_broken(search, search->candidate, &changed, &lost);
	if (search->swapped && (changed > 0 || lost == 0) && !ends_load)
		diagnosis_remark(search,
						 "Rows that were loaded may have day and month the wrong way round.");
	if (search->swapped)
		changed = 0;
	/* right for these rows, but wrong for the rest of the file */
	if ((lost > 0 || changed > 0) && diagnosis_are_few(search) && !search->diagnosis->is_retry)
		among = "among the options of bulk_load_retry";
	if (lost > 0)
		diagnosis_remark(search, psprintf("%s cannot be read so.", loaded));
	else if (changed > 0)
		diagnosis_remark(search, psprintf("%s would have other values.", loaded));
	if (ends_load && strstr(among, "retry") != NULL)
		diagnosis_remark(search,
						 "To set the row aside for bulk_load_retry, set option \"on_error\" to \"ignore\" and option \"reject_table\" to the name of a table.");
	return psprintf("With %s %s %s can be %s.%s", search->candidate, among, rows,
					passed == good && search->options->comment != NULL ? "passed over" : "read",
					search->remarks);
}

/* Searches from a starting set of options; false if that is not valid. */
static bool
search_from(Search *search, char *begun)
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

	return trial_run(&search->samples, "{}", outcomes) && count_good(search, outcomes) == 0;
}

static char *
advise(Search *search)
{
	const RejectKind *kind = search->kind;
	bool		syntax = kind->reason == REJECT_SYNTAX;

	/* a single line cannot show a mix of line ends */
	if (syntax &&
		(strstr(kind->message, "carriage return") != NULL ||
		 strstr(kind->message, "newline") != NULL))
		return search_from(search, "{\"newline\": \"any\"}") &&
			count_good(search, search->outcomes) > 0 ?
			form_hint(search) : NULL;
	if (!is_reproduced(search))
		return NULL;
	if (syntax && are_documents(search))
		return "The lines are JSON documents. A table with one column of type jsonb takes them with "
			"{\"quote\": \"\\u0002\", \"delimiter\": \"\\u0001\"} among the options.";
	return search_from(search, "{}") && search->candidate[1] != '}' ? form_hint(search) : NULL;
}

/* Sets up trials of the samples. */
static void
open_trial(Search *search, Trial *trial)
{
	trial->options = search->diagnosis->options;
	trial->target = search->diagnosis->target;
	trial->guard = &search->guard;
	trial->rows = stored_rows_create();
}

static void
add_row(Trial *trial, const char *data, uint32 length, int64 line)
{
	StoredRow	row = {
		.path = "",
		.line = line,
		.data = data,
		.length = length
	};

	stored_rows_add(trial->rows, &row);
	trial->nrows++;
}

/*
 * Suppresses messages: what an input function says about a trial value does not
 * apply to the load.  Returns the level for AtEOXact_GUC.
 */
static int
suppress_messages(void)
{
	int			level = NewGUCNestLevel();

	setting_set("client_min_messages", "error", PGC_SUSET);
	setting_set("log_min_messages", "error", PGC_SUSET);
	return level;
}

/* Common to all entry points.  begun: options to start from, or NULL. */
static char *
run_search(const Diagnosis *diagnosis, const RejectKind *kind, const char *begun)
{
	Search		search = {.diagnosis = diagnosis, .kind = kind, .remarks = ""};
	MemoryContext caller = CurrentMemoryContext;
	int			level = suppress_messages();
	char	   *answer;

	search.context = AllocSetContextCreate(caller, "bulk_load diagnosis", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(search.context);
	guard_enable(&search.guard);
	open_trial(&search, &search.samples);
	for (int i = 0; i < kind->nsamples; i++)
		add_row(&search.samples, kind->samples[i].raw, kind->samples[i].raw_len,
				kind->samples[i].line);
	open_trial(&search, &search.witnesses);
	for (int i = 0; i < diagnosis->nrows; i++)
		add_row(&search.witnesses, diagnosis->rows[i].data, diagnosis->rows[i].length,
				diagnosis->rows[i].line);
	open_trial(&search, &search.first);
	for (int i = 0; i < diagnosis->nrows && search.first.nrows == 0; i++)
		if (diagnosis->rows[i].line == 1)
			add_row(&search.first, diagnosis->rows[i].data, diagnosis->rows[i].length, 1);
	search.witnessed = palloc0(sizeof(TrialOutcome) * Max(diagnosis->nrows, 1));
	(void) trial_run(&search.witnesses, "{}", search.witnessed);

	if (begun == NULL)
		answer = advise(&search);
	else
		answer = search_from(&search, pstrdup(begun)) &&
			!are_quotes_stray(&search) ? search.candidate : NULL;

	stored_rows_close(search.samples.rows);
	stored_rows_close(search.witnesses.rows);
	stored_rows_close(search.first.rows);
	AtEOXact_GUC(false, level);
	MemoryContextSwitchTo(caller);
	answer = answer != NULL ? pstrdup(answer) : NULL;
	MemoryContextDelete(search.context);
	return answer;
}

/* Rows of a query have no lines of their own. */
static bool
can_advise(const BulkOptions *options)
{
	return options_takes(options, "delimiter") && options->query == NULL;
}

char *
diagnosis_advise(void *arg, const RejectKind *kind)
{
	const Diagnosis *diagnosis = arg;

	if (!can_advise(diagnosis->options) || kind->nsamples == 0 ||
		(kind->reason != REJECT_SYNTAX && kind->reason != REJECT_ENCODING &&
		 kind->reason != REJECT_VALUE))
		return NULL;
	return run_search(diagnosis, kind, NULL);
}

char *
diagnosis_continue(const Diagnosis *diagnosis, const RejectKind *kind, const char *begun)
{
	return run_search(diagnosis, kind, begun);
}

/* ---- a row that ends the load ---- */

/*
 * Keeps an evenly spaced selection of the batch's other rows, in addition to
 * those kept before.
 */
static void
keep_others(Diagnosis *diagnosis, const Reader *reader, uint32 index)
{
	uint32		nrows = reader->result.nrows;
	uint32		n = Min(nrows, DIAGNOSIS_ROWS - diagnosis->nrows);

	for (uint32 i = 0; i < n; i++)
		if ((uint64) i * nrows / n != index)
			keep_row(diagnosis, diagnosis->nrows, reader, (uint64) i * nrows / n);
}

static bool
are_alike(const TrialOutcome *one, const TrialOutcome *other)
{
	if (one->reason != other->reason || other->message == NULL)
		return false;
	if (one->column != NULL || other->column != NULL)
		return one->column != NULL && other->column != NULL &&
			strcmp(one->column, other->column) == 0;
	return one->reason != REJECT_SYNTAX || strcmp(one->message, other->message) == 0;
}

/*
 * Of the rows that were kept, adds those with the same error as the first
 * sample to the samples (all bad ones, if that may be a header), and counts the
 * good ones as loaded.  False if the sample turns out to be good.
 */
static bool
find_alike(Diagnosis *diagnosis, RejectKind *kind, RejectSample *samples)
{
	Search		search = {.diagnosis = diagnosis};
	Trial	   *trial = &search.samples;
	TrialOutcome outcomes[DIAGNOSIS_ROWS + 1];
	int			level = suppress_messages();
	bool		possible;

	guard_enable(&search.guard);
	open_trial(&search, trial);
	add_row(trial, samples[0].raw, samples[0].raw_len, samples[0].line);
	for (int i = 0; i < diagnosis->nrows; i++)
		add_row(trial, diagnosis->rows[i].data, diagnosis->rows[i].length, diagnosis->rows[i].line);
	possible = trial_run(trial, "{}", outcomes);
	stored_rows_close(trial->rows);
	AtEOXact_GUC(false, level);
	if (!possible || outcomes[0].good)
		return false;
	for (int i = 0; i < diagnosis->nrows; i++)
	{
		const DiagnosisRow *row = &diagnosis->rows[i];

		diagnosis->rows_loaded += outcomes[i + 1].good ? 1 : 0;
		if (outcomes[i + 1].good ||
			(samples[0].line > 1 && !are_alike(&outcomes[0], &outcomes[i + 1])))
			continue;
		kind->nrows++;
		if (kind->nsamples < MAX_ALIKE)
			samples[kind->nsamples++] = (RejectSample) {
				.raw = pnstrdup(row->data, row->length),
				.raw_len = row->length,
				.line = row->line
			};
	}
	return true;
}

char *
diagnosis_of_row(Diagnosis *diagnosis, const Reader *reader, uint32 index, RejectReason reason,
				 const char *message)
{
	const ScanRow *row = &reader->rows[index];
	const char *raw = reader->data + row->start;
	Size		length = row->end - row->start;
	RejectSample samples[MAX_ALIKE];
	RejectKind	kind = {.reason = reason, .message = message, .nrows = 1, .nsamples = 1,
		.samples = samples};

	/* lines after the first were not meant to be part of the row */
	if (row->fault == SCAN_FAULT_UNTERMINATED_QUOTE && memchr(raw, '\n', length) != NULL)
		length = (const char *) memchr(raw, '\n', length) - raw;
	if (length > DIAGNOSIS_ROW_BYTES || !can_advise(diagnosis->options))
		return NULL;
	samples[0] = (RejectSample) {
		.raw = pnstrdup(raw, length),
		.raw_len = length,
		.line = reader_line(reader, index)
	};
	diagnosis->ends_load = true;
	keep_others(diagnosis, reader, index);
	return find_alike(diagnosis, &kind, samples) ? diagnosis_advise(diagnosis, &kind) : NULL;
}
