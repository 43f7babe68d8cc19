/*
 * trial.c
 *		See trial.h.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "diagnose/trial.h"
#include "executor/executor.h"
#include "format/reader.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "server/setting.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#define WINDOW_SIZE 8192

const char *const trial_delimiters[] = {";", "\t", "|", ",", ":", " ", NULL};

/* State of a running trial. */
typedef struct Run
{
	const Trial *trial;
	const char *candidate;
	MemoryContext texts;		/* of outcomes */
	EState	   *estate;
	BulkOptions *options;
	Reader	   *reader;
	Converter  *conv;
	Datum	   *values;
	bool	   *nulls;
	bool	   *skipped;		/* by column: its default is not evaluated */
	bool		good;			/* the row could be converted */
	RowError	error;
	TrialOutcome *outcomes;
} Run;

static void
open_run(void *arg)
{
	Run		   *run = arg;
	const Trial *trial = run->trial;
	Jsonb	   *json = options_merge(trial->options->json, "{\"on_error\": \"ignore\"}");

	guard_open(trial->guard);
	run->options = options_parse(options_merge(json, run->candidate));
	run->conv = convert_open(run->options, trial->target, trial->guard, run->estate);
	/* defaults do not depend on the row, and nextval has side effects */
	run->conv->ndefaults = 0;
	run->skipped = palloc0(sizeof(bool) * Max(run->conv->ncolumns, 1));
	for (int i = 0; i < run->conv->ncolumns; i++)
	{
		Column	   *column = &run->conv->columns[i];

		run->skipped[i] = column->default_volatile || column->sequence.range != NULL;
		if (run->skipped[i])
			column->default_expr = NULL;
	}
}

static void
convert_one(void *arg)
{
	Run		   *run = arg;
	Reader	   *reader = run->reader;
	const FormatRoutine *routine = reader->routine;

	if (routine->begin_batch != NULL)
		routine->begin_batch(run->conv, reader);
	/* functions of option transform are not called */
	run->good = routine->convert_row(run->conv, reader->data, &reader->rows[0], reader->fields,
									 run->values, run->nulls, &run->error);
}

static const char *
keep_text(const Run *run, const char *text)
{
	return text != NULL ? MemoryContextStrdup(run->texts, text) : NULL;
}

/* ---- rows that cannot be converted ---- */

char *
trial_field_name(Converter *conv, const char *data, const ScanField *field)
{
	ScanField	name = convert_trim(conv, data, *field);
	RowError	error;
	uint32		length;
	const char *text = convert_is_null(conv, data, &name) ? NULL :
		convert_field_text(conv, data, &name, &length, &error);

	return text == NULL || !pg_verifymbstr(text, length, true) ? NULL : pnstrdup(text, length);
}

static void
fail(const Run *run, TrialOutcome *outcome, int column, RejectReason reason,
	 const char *message, const char *value)
{
	outcome->reason = reason;
	outcome->message = keep_text(run, message);
	outcome->value = keep_text(run, value);
	if (column < 0)
	{
		if (reason == REJECT_SYNTAX && run->reader->rows[0].fault == SCAN_FAULT_NONE)
			outcome->progress = TRIAL_CUT - 1;
		return;
	}
	outcome->progress = TRIAL_CUT + column;
	outcome->column = keep_text(run, run->conv->columns[column].name);
}

/* Whether the row has no field for a column. */
static bool
lacks_field(const Run *run, int i)
{
	const FormatRoutine *routine = run->reader->routine;

	return routine->by_name ? routine->is_missing(&run->reader->fields[i]) :
		i >= run->reader->rows[0].nfields;
}

/* What a field without a column says. */
static void
note_surplus(const Run *run, TrialOutcome *outcome)
{
	const Reader *reader = run->reader;
	ScanField	field = reader->fields[run->conv->ncolumns];
	MemoryContext caller = MemoryContextSwitchTo(run->texts);

	/* a name stands as it is */
	if (reader->routine->by_name)
		field.escaped = false;
	if (field.length > 0)
		outcome->surplus = trial_field_name(run->conv, reader->data, &field);
	for (int i = 0; reader->routine->by_name && i < run->conv->ncolumns; i++)
		if (lacks_field(run, i))
			outcome->lacking = lappend(outcome->lacking, pstrdup(run->conv->columns[i].name));
	MemoryContextSwitchTo(caller);
}

static void
fail_by_error(const Run *run, TrialOutcome *outcome)
{
	const Converter *conv = run->conv;
	const RowError *error = &run->error;
	int			column = -1;

	outcome->extra = error->extra;
	outcome->missing = error->missing;
	if (error->extra && run->reader->routine->by_name)
		note_surplus(run, outcome);

	for (int i = 0; error->column != NULL && i < conv->ncolumns; i++)
		if (conv->columns[i].name != NULL && strcmp(conv->columns[i].name, error->column) == 0)
			column = i;
	/* a row with the wrong number of fields was not assigned to columns, unless these have names */
	if ((error->reason == REJECT_SYNTAX && !run->reader->routine->by_name) ||
		error->reason == REJECT_ENCODING)
		column = -1;
	fail(run, outcome, column, error->reason, error->message, error->value);
}

/* ---- rows that can ---- */

/* The column of the file that is NULL in violation of NOT NULL, or -1. */
static int
forbidden_null(const Run *run)
{
	TupleDesc	desc = RelationGetDescr(run->trial->target->rel);

	for (int i = 0; i < run->conv->ncolumns; i++)
	{
		AttrNumber	attnum = run->conv->columns[i].attnum;

		if (attnum == InvalidAttrNumber || !run->nulls[attnum - 1] ||
			(run->skipped[i] && run->options->missing == BULK_MISSING_DEFAULT &&
			 lacks_field(run, i)))
			continue;
		if (TupleDescAttr(desc, attnum - 1)->attnotnull)
			return i;
	}
	return -1;
}

/* Whether a field provides a value for its column, or for an argument of option transform. */
static bool
has_value(const Run *run, int i)
{
	AttrNumber	attnum = run->conv->columns[i].attnum;

	if (attnum != InvalidAttrNumber)
		return !run->nulls[attnum - 1];
	return run->options->transform != NULL &&
		!convert_is_null(run->conv, run->reader->data, &run->reader->fields[i]);
}

static bool
has_values(const Run *run)
{
	int			n = Min(run->reader->rows[0].nfields, run->conv->ncolumns);

	for (int i = 0; i < n; i++)
		if (has_value(run, i))
			return true;
	return run->conv->ncolumns == 0;
}

static int
count_in(const char *s, uint32 length, const char *what)
{
	int			n = 0;

	for (uint32 i = 0; i < length; i++)
		n += s[i] == what[0] ? 1 : 0;
	return n;
}

/*
 * Whether a row that is too short was written with another delimiter: one that
 * occurs as often as needed for all columns or, if it is rare in text, more
 * often than the current one.
 */
static bool
is_cut_short(const Run *run)
{
	const ScanRow *row = &run->reader->rows[0];

	for (int d = 0; trial_delimiters[d] != NULL; d++)
	{
		int			n =
			count_in(run->reader->data + row->start, row->end - row->start, trial_delimiters[d]);

		/* a line quoted as a whole has its own delimiter within the quotes */
		if (strcmp(trial_delimiters[d], run->options->delimiter) == 0)
			n -= row->nfields - 1;
		if (n >= run->conv->ncolumns - 1 || (d < TRIAL_SURE_DELIMITERS && n >= row->nfields))
			return true;
	}
	return false;
}

/* Whether a field contains another delimiter as often as needed for all columns. */
static bool
has_other_delimiter(const Run *run)
{
	const Reader *reader = run->reader;
	uint32		nfields = reader->rows[0].nfields;

	if (nfields < run->conv->ncolumns)
		return is_cut_short(run);
	for (uint32 i = 0; i < nfields; i++)
		for (int d = 0; trial_delimiters[d] != NULL; d++)
			if (strcmp(trial_delimiters[d], run->options->delimiter) != 0 &&
				!reader->fields[i].quoted &&
				count_in(reader->data + reader->fields[i].start, reader->fields[i].length,
						 trial_delimiters[d]) >= Max(run->conv->ncolumns - 1, 1))
				return true;
	return false;
}

static uint64
fingerprint(const Run *run)
{
	TupleDesc	desc = RelationGetDescr(run->trial->target->rel);
	uint64		print = 0;

	for (int i = 0; i < run->conv->ncolumns; i++)
	{
		AttrNumber	attnum = run->conv->columns[i].attnum;
		Form_pg_attribute att;

		if (attnum == InvalidAttrNumber)
		{
			const ScanField *field = &run->reader->fields[i];

			if (run->options->transform != NULL && i < run->reader->rows[0].nfields)
				print =
					hash_combine64(print,
								   hash_bytes((const unsigned char *) run->reader->data +
											  field->start,
											  field->length));
			continue;
		}
		att = TupleDescAttr(desc, attnum - 1);
		print = hash_combine64(print, run->nulls[attnum - 1] ? i + 1 :
							   datum_image_hash(run->values[attnum - 1], att->attbyval,
												att->attlen));
	}
	return print;
}

static void
judge(const Run *run, TrialOutcome *outcome)
{
	const Reader *reader = run->reader;
	int			column = forbidden_null(run);

	if (column >= 0)
	{
		fail(run, outcome, column, REJECT_CONSTRAINT, NULL, NULL);
		return;
	}
	outcome->progress = TRIAL_CUT + run->conv->ncolumns;
	outcome->good = true;
	outcome->print = fingerprint(run);
	outcome->empty = !has_values(run);
	if (!reader->routine->by_name && reader->rows[0].nfields > run->conv->ncolumns)
		note_surplus(run, outcome);
}

/* ---- rows ---- */

/* Keeps the fields of a possible header. */
static List *
keep_fields(const Run *run)
{
	const Reader *reader = run->reader;
	MemoryContext caller = MemoryContextSwitchTo(run->texts);
	List	   *fields = NIL;

	for (uint32 i = 0; i < reader->rows[0].nfields; i++)
		fields = lappend(fields, trial_field_name(run->conv, reader->data, &reader->fields[i]));
	MemoryContextSwitchTo(caller);
	return fields;
}

/* Examines the reader's current row.  any: something of it is left. */
static void
examine(Run *run, bool any, TrialOutcome *outcome)
{
	const Reader *reader = run->reader;
	ErrorData  *error;

	if (!any)
	{
		/* nothing is left of a comment */
		outcome->passed = outcome->good = run->options->comment != NULL && !reader->ended;
		outcome->progress = outcome->good ? TRIAL_CUT + run->conv->ncolumns : 0;
		return;
	}
	if (reader->result.nrows != 1)
		return;
	/* a quote within a field may continue into the next line */
	outcome->unclosed = reader->rows[0].fault == SCAN_FAULT_UNTERMINATED_QUOTE ||
		(reader->rows[0].lax && reader->rows[0].multiline);
	outcome->stray = reader->rows[0].lax || outcome->unclosed;
	outcome->implausible = run->trial->strict && run->options->delimiter != NULL &&
		has_other_delimiter(run);
	run->good = false;
	error = guard_run(run->trial->guard, convert_one, run);
	if (error != NULL)
		fail(run, outcome, run->conv->input_column, REJECT_VALUE, error->message,
			 convert_asked_text(run->conv));
	else if (run->good)
		judge(run, outcome);
	else
		fail_by_error(run, outcome);
	if (outcome->line == 1 && reader->rows[0].fault == SCAN_FAULT_NONE &&
		!reader->routine->by_name)
		outcome->fields = keep_fields(run);
	if (outcome->line == 1 && run->options->header == BULK_HEADER_SKIP &&
		run->options->header_lines > 0)
	{
		outcome->passed = outcome->good = true;
		outcome->progress = TRIAL_CUT + run->conv->ncolumns;
		outcome->empty = outcome->implausible = false;
	}
}

static void
read_rows(void *arg)
{
	Run		   *run = arg;
	const Trial *trial = run->trial;
	Source	   *source = source_open_list(stored_rows_paths(trial->rows), stored_rows_open,
										   trial->rows, 0, run->options, WINDOW_SIZE);

	run->reader = reader_open(source, run->options);
	reader_begin_columns(run->reader, trial->target);
	for (int i = 0; i < trial->nrows && reader_next_file(run->reader); i++)
	{
		CHECK_FOR_INTERRUPTS();
		run->outcomes[i].line = run->reader->source->window.line;
		examine(run, reader_rows(run->reader, run->reader->max_rows, true), &run->outcomes[i]);
		convert_next(run->conv);
		ResetPerTupleExprContext(run->estate);
	}
	source_close(source);
}

void
trial_open(Trial *trial, const BulkOptions *options, Target *target, Guard *guard)
{
	*trial = (Trial) {.options = options, .target = target, .guard = guard};
	trial->rows = stored_rows_create();
}

void
trial_add(Trial *trial, const char *data, uint32 length, int64 line)
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

void
trial_close(Trial *trial)
{
	stored_rows_close(trial->rows);
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

bool
trial_run(const Trial *trial, const char *candidate, TrialOutcome *outcomes)
{
	int			natts = RelationGetNumberOfAttributes(trial->target->rel);
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "bulk_load trial",
												  ALLOCSET_DEFAULT_SIZES);
	Run			run = {
		.trial = trial,
		.candidate = candidate,
		.texts = caller,
		.outcomes = outcomes
	};
	int			level = suppress_messages();
	bool		possible;

	trial->guard->discards = true;
	memset(outcomes, 0, sizeof(TrialOutcome) * trial->nrows);
	MemoryContextSwitchTo(context);
	run.estate = CreateExecutorState();
	run.values = palloc0(sizeof(Datum) * Max(natts, 1));
	run.nulls = palloc0(sizeof(bool) * Max(natts, 1));
	possible = guard_run(trial->guard, open_run, &run) == NULL && !trial->guard->refused;
	if (possible)
		guard_protect(trial->guard, read_rows, &run);
	guard_close(trial->guard);
	FreeExecutorState(run.estate);
	AtEOXact_GUC(false, level);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return possible;
}
