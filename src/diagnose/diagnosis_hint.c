/*
 * diagnosis_hint.c
 *		What has come of a search, as a HINT.
 */
#include "postgres.h"

#include "diagnose/diagnosis_search.h"
#include "option/near.h"
#include "option/options_show.h"
#include "parser/parse_coerce.h"
#include "server/text_clip.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

/* ---- remarks ---- */

void
diagnosis_remark(Search *search, const char *text)
{
	if (strstr(search->remarks, text) == NULL)
		search->remarks = psprintf("%s %s", search->remarks, text);
}

static bool
has_text_column(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped &&
			TypeCategory(TupleDescAttr(desc, i)->atttypid) == TYPCATEGORY_STRING)
			return true;
	return false;
}

/* Whether all values of a row that was bad become NULL. */
static bool
makes_empty_rows(Search *search)
{
	const Trial *trial = &search->witnesses;
	TrialOutcome *outcomes = palloc(sizeof(TrialOutcome) * Max(trial->nrows, 1));

	for (int i = 0; i < search->samples.nrows; i++)
		if (search->outcomes[i].empty)
			return true;
	if (trial_run(trial, search->candidate, outcomes))
		for (int i = 0; i < trial->nrows; i++)
			if (outcomes[i].empty && !search->witnessed[i].good)
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

/* The column that a row lacks, and that its key without a column may be meant for; or NULL. */
static const char *
find_meant_column(const TrialOutcome *outcome)
{
	const char **names = palloc0(sizeof(char *) * (list_length(outcome->lacking) + 1));

	for (int i = 0; i < list_length(outcome->lacking); i++)
		names[i] = list_nth(outcome->lacking, i);
	return near_find(names, outcome->surplus);
}

/* Which keys are left out, of rows that were bad for them. */
static void
remark_keys(Search *search, const TrialOutcome *outcomes)
{
	const TrialOutcome *shown = NULL;
	const char *meant = NULL;

	for (int i = 0; i < search->samples.nrows && meant == NULL; i++)
	{
		if (outcomes[i].surplus == NULL)
			continue;
		meant = find_meant_column(&outcomes[i]);
		if (shown == NULL || meant != NULL)
			shown = &outcomes[i];
	}
	if (shown == NULL)
		return;
	diagnosis_remark(search,
					 psprintf("Keys that are not columns are then ignored, for example \"%s\".",
							  text_clip_string(shown->surplus, SHOWN_BYTES)));
	if (meant != NULL)
		diagnosis_remark(search,
						 psprintf("Perhaps it is meant for column \"%s\": keys must be the names of columns.",
								  meant));
}

void
diagnosis_remark_step(Search *search, const BulkOptions *before, const TrialOutcome *outcomes,
					  const char *column)
{
	const BulkOptions *now = search->options;

	if (now->encoding != before->encoding)
		diagnosis_show_decoded(search, now->encoding);
	if (list_length(now->nulls) > list_length(before->nulls) &&
		has_text_column(RelationGetDescr(search->diagnosis->target->rel)))
		diagnosis_remark(search, "In text columns these words then become null, too.");
	if (now->missing == BULK_MISSING_NULL && before->missing != BULK_MISSING_NULL &&
		makes_empty_rows(search))
		diagnosis_remark(search, search->by_name ? "Empty objects then become rows of nulls." :
						 "Empty lines then become rows of nulls.");
	if (now->ignore_extra && !before->ignore_extra && search->by_name)
		remark_keys(search, outcomes);
	else if (now->ignore_extra && !before->ignore_extra && find_surplus(search) != NULL)
		diagnosis_remark(search,
						 psprintf("Fields after the last column are then ignored, for example \"%s\".",
								  text_clip_string(find_surplus(search), SHOWN_BYTES)));
	if (column != NULL && diagnosis_date_format(before, column) == NULL &&
		diagnosis_date_format(now, column) != NULL &&
		diagnosis_swaps(diagnosis_date_format(now, column)))
	{
		search->swapped = true;
		diagnosis_swap_dates(search, column);
	}
}

/* ---- the HINT ---- */

static int
count_stray(const TrialOutcome *outcomes, int n, bool unclosed)
{
	int			found = 0;

	for (int i = 0; i < n; i++)
		found += unclosed ? outcomes[i].unclosed : outcomes[i].stray && outcomes[i].line > 1;
	return found;
}

/* Whether the options that were found split rows as those of the load do. */
static bool
splits_alike(const Search *search)
{
	const BulkOptions *before = search->diagnosis->options;
	const BulkOptions *now = search->options;

	return before->quote == now->quote && before->escape == now->escape &&
		now->delimiter != NULL && strcmp(before->delimiter, now->delimiter) == 0;
}

/* Whether rows that a quote had joined may become a good one, instead of being cut. */
static bool
may_join_again(const Search *search)
{
	const BulkOptions *before = search->diagnosis->options;
	const BulkOptions *now = search->options;
	int			cured = READER_JOINED_FULL;

	if (now->missing != before->missing)
		cured |= READER_JOINED_SHORT;
	if (now->ignore_extra && !before->ignore_extra)
		cured |= READER_JOINED_LONG;
	return (search->diagnosis->joined & cured) != 0;
}

/* Whether some row with an unclosed quote is good, as it has others in it. */
static bool
has_joined(const TrialOutcome *outcomes, int n, const TrialOutcome *before)
{
	for (int i = 0; i < n; i++)
		if (outcomes[i].unclosed && outcomes[i].good && (before == NULL || !before[i].good))
			return true;
	return false;
}

/*
 * Whether quotes within fields may join several rows into one, which can then be read.  A quote
 * pair within a row matters only if rows are split differently.
 */
static bool
may_join(Search *search, bool alike)
{
	const Trial *trial = &search->witnesses;
	TrialOutcome *outcomes = palloc(sizeof(TrialOutcome) * Max(trial->nrows, 1));

	if (alike && !search->diagnosis->ends_load)
		return may_join_again(search);
	if (alike && has_joined(search->outcomes, search->samples.nrows, NULL))
		return true;
	return trial_run(trial, search->candidate, outcomes) &&
		(alike ? has_joined(outcomes, trial->nrows, search->witnessed) :
		 count_stray(outcomes, trial->nrows, false) > 0);
}

QuoteDoubt
diagnosis_doubt_quotes(Search *search)
{
	bool		alike = splits_alike(search);
	bool		joins = may_join(search, alike);
	/* a single unclosed quote has no partner */
	int			few = alike && !joins ? 1 : 0;
	/* the row that ends the load is the only one that is shown */
	int			shown = search->diagnosis->ends_load ? 1 : search->samples.nrows;

	if (count_stray(search->outcomes, shown, alike) > few)
		return QUOTES_STRAY;
	return joins ? QUOTES_STRAY_ELSEWHERE : QUOTES_FINE;
}

/* Without what bulk_load_retry refuses: stored rows have no header line. */
static char *
options_for_retry(const char *candidate)
{
	Datum		json = DirectFunctionCall1(jsonb_in, CStringGetDatum(candidate));
	Jsonb	   *rest = DatumGetJsonbP(DirectFunctionCall2(jsonb_delete, json,
														  CStringGetTextDatum("header")));

	return JsonbToCString(NULL, &rest->root, VARSIZE(rest));
}

char *
diagnosis_form_hint(Search *search)
{
	bool		ends_load = search->diagnosis->ends_load;
	int			good = ends_load ? search->outcomes[0].good :
		diagnosis_count_good(search, search->outcomes);
	int			passed = 0;
	int			changed;
	int			lost;
	const char *options = options_show(search->diagnosis->options, search->candidate);
	const char *among = "among the options";
	const char *rows = ends_load ? "it" : good < search->samples.nrows ? "some of them" : "they";
	const char *loaded = ends_load ? "Other rows" : "Rows that were loaded";

	/* filling up short rows is no help if they are bad anyway */
	if (good == 0 && !search->mapped && !search->by_name &&
		(search->options->missing != search->diagnosis->options->missing ||
		 search->options->ignore_extra != search->diagnosis->options->ignore_extra))
		return NULL;
	switch (diagnosis_doubt_quotes(search))
	{
		case QUOTES_FINE:
			break;
		case QUOTES_STRAY:
			return "Check the options \"quote\" and \"escape\": quotes occur within fields, or are not closed.";
		case QUOTES_STRAY_ELSEWHERE:
			return NULL;
	}
	for (int i = 0; i < search->samples.nrows; i++)
		passed += search->outcomes[i].passed ? 1 : 0;
	if (search->mapped)
		return psprintf("Set %s among the options.%s", options, search->remarks);
	if (good == 0)
		for (int i = 0; i < search->samples.nrows; i++)
			if (search->outcomes[i].column != NULL)
				return psprintf("With %s among the options %s can be read up to, but not including, column \"%s\".%s",
								options, ends_load ? "it" : "they",
								search->outcomes[i].column, search->remarks);
	if (good == 0)
		return NULL;
	diagnosis_count_broken(search, search->candidate, &changed, &lost);
	if (search->swapped && (changed > 0 || lost == 0) && !ends_load &&
		(search->diagnosis->rows_loaded > 0 || search->diagnosis->is_retry))
		diagnosis_remark(search,
						 "Rows that were loaded may have day and month swapped.");
	if (search->swapped)
		changed = 0;
	/* right for these rows, but wrong for the rest of the file */
	if ((lost > 0 || changed > 0) && diagnosis_are_few(search) && !search->diagnosis->is_retry)
	{
		options = options_for_retry(search->candidate);
		among = "among the options of bulk_load_retry";
	}
	if (lost > 0)
		diagnosis_remark(search, psprintf("%s cannot be read that way.", loaded));
	else if (changed > 0)
		diagnosis_remark(search, psprintf("%s would get other values.", loaded));
	if (ends_load && strstr(among, "retry") != NULL)
		diagnosis_remark(search,
						 "To set the row aside for bulk_load_retry, set option \"on_error\" to \"ignore\" and option \"reject_table\" to the name of a table.");
	return psprintf("With %s %s %s can be %s.%s", options, among, rows,
					passed == good && search->options->comment != NULL ? "passed over" : "read",
					search->remarks);
}
