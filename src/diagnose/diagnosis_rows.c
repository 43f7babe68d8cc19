/*
 * diagnosis_rows.c
 *		Rows of the load for a diagnosis: those that are kept, and those like the one that
 *		ends it.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "diagnose/diagnosis.h"
#include "diagnose/diagnosis_search.h"
#include "utils/memutils.h"

/* Maximum number of rows with the same error as the one that ends the load, including it. */
#define MAX_ALIKE 16

/* ---- rows that were mostly read without errors ---- */

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
diagnosis_keep_beginning(Diagnosis *diagnosis, const Reader *reader)
{
	const Source *source = reader->source;
	const Window *window = &source->window;
	uint32		mark;
	uint32		length;

	if (diagnosis->beginning != NULL || source->current != 0 ||
		(window->offset > 0 && !source->bare))
		return;
	mark = source_mark(source);
	length = Min(window->length - mark, DIAGNOSIS_BEGINNING_BYTES);
	diagnosis->beginning = MemoryContextAllocZero(diagnosis->context, length + SCAN_PADDING);
	memcpy(diagnosis->beginning, window->data + mark, length);
	diagnosis->beginning_length = length;
	diagnosis->beginning_is_all = window->at_eof && length == window->length - mark;
}

void
diagnosis_keep(Diagnosis *diagnosis, const Reader *reader, uint32 nrows)
{
	uint32		first = nrows <= DIAGNOSIS_ROWS ? nrows : DIAGNOSIS_ROWS / 2;
	uint32		number;

	if (nrows == 0 || diagnosis->options->log_verbosity == BULK_VERBOSITY_SILENT ||
		!diagnosis_is_for(diagnosis->options))
		return;
	diagnosis_keep_beginning(diagnosis, reader);
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
	Guard		guard = {0};
	Trial		trial;
	TrialOutcome outcomes[DIAGNOSIS_ROWS + 1];
	bool		possible;

	guard_enable(&guard);
	trial_open(&trial, diagnosis->options, diagnosis->target, &guard);
	trial_add(&trial, samples[0].raw, samples[0].raw_len, samples[0].line);
	for (int i = 0; i < diagnosis->nrows; i++)
		trial_add(&trial, diagnosis->rows[i].data, diagnosis->rows[i].length,
				  diagnosis->rows[i].line);
	possible = trial_run(&trial, "{}", outcomes);
	trial_close(&trial);
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
				.raw = reject_sample_raw(CurrentMemoryContext, row->data, row->length),
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
	if (!diagnosis_is_for(diagnosis->options))
		return NULL;
	diagnosis_keep_beginning(diagnosis, reader);
	diagnosis->ends_load = true;
	if (length > REJECT_SAMPLE_BYTES)
	{
		kind.nsamples = 0;
		return diagnosis_advise(diagnosis, &kind);
	}
	samples[0] = (RejectSample) {
		.raw = reject_sample_raw(CurrentMemoryContext, raw, length),
		.raw_len = length,
		.line = reader_line(reader, index)
	};
	keep_others(diagnosis, reader, index);
	return find_alike(diagnosis, &kind, samples) ? diagnosis_advise(diagnosis, &kind) : NULL;
}
