/*
 * diagnosis.c
 *		See diagnosis.h.
 *
 * A candidate is a JSON object of options that is laid over those of the load.
 * The samples are read and converted with it as a load would; what counts is
 * how many of them get past the place where they failed.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "diagnosis.h"
#include "executor/executor.h"
#include "input/reader.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "row/convert.h"
#include "row/guard.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#define WINDOW_SIZE 8192

/* Bytes of a line that a HINT shows. */
#define SHOWN_BYTES 80

/* One candidate on the samples of a kind. */
typedef struct Trial
{
	const Diagnosis *diagnosis;
	const RejectKind *kind;
	const char *candidate;
	Guard	   *guard;
	EState	   *estate;
	BulkOptions *options;
	Reader	   *reader;
	Converter  *conv;
	Datum	   *values;
	bool	   *nulls;
	bool		done;			/* the guarded code came to its end */
	bool		good;			/* the row could be read */
	RowError	error;
} Trial;

/* All candidates for a kind. */
typedef struct Search
{
	const Diagnosis *diagnosis;
	const RejectKind *kind;
	StoredRows *samples;
	Guard		guard;
	MemoryContext context;		/* of one trial */
	int			most;			/* samples mended by the best candidate */
	char	   *best;
	const char *remark;			/* what else there is to say of it */
} Search;

/* ---- one candidate ---- */

static void
open_trial(void *arg)
{
	Trial	   *trial = arg;
	const BulkOptions *options = trial->diagnosis->options;
	Jsonb	   *json = options_merge(options->json, "{\"on_error\": \"ignore\"}");

	guard_open(trial->guard);
	trial->options = options_parse(options_merge(json, trial->candidate));
	trial->conv = convert_open(trial->options, trial->diagnosis->target,
							   trial->guard, trial->estate);
	/* they have nothing to do with the row, and nextval has effects */
	trial->conv->ndefaults = 0;
	for (int i = 0; i < trial->conv->ncolumns; i++)
		if (trial->conv->columns[i].default_volatile ||
			trial->conv->columns[i].sequence.range != NULL)
			trial->conv->columns[i].default_expr = NULL;
	trial->done = true;
}

static void
convert_sample(void *arg)
{
	Trial	   *trial = arg;
	Reader	   *reader = trial->reader;

	convert_window(trial->conv, reader->data, reader->result.consumed);
	trial->good = convert_row(trial->conv, reader->data, &reader->rows[0],
							  reader->fields, trial->values, trial->nulls,
							  &trial->error);
	trial->done = true;
}

static int
column_index(const Converter *conv, const char *name)
{
	for (int i = 0; name != NULL && i < conv->ncolumns; i++)
		if (conv->columns[i].name != NULL && strcmp(conv->columns[i].name, name) == 0)
			return i;
	return -1;
}

/* Whether a column that must not be null is, and the file has it. */
static bool
has_forbidden_null(const Trial *trial)
{
	TupleDesc	desc = RelationGetDescr(trial->diagnosis->target->rel);

	for (int i = 0; i < trial->conv->ncolumns; i++)
	{
		AttrNumber	attnum = trial->conv->columns[i].attnum;

		if (attnum != InvalidAttrNumber && trial->nulls[attnum - 1] &&
			TupleDescAttr(desc, attnum - 1)->attnotnull)
			return true;
	}
	return false;
}

/*
 * Whether the sample that the reader is at has become better: it is good, or fails
 * only in a column after the one where it failed.
 */
static bool
is_mended(Trial *trial)
{
	const Converter *conv = trial->conv;
	int			failed = column_index(conv, trial->kind->column);
	int			fails;

	trial->done = trial->good = false;
	if (guard_run(trial->guard, convert_sample, trial) != NULL)
		fails = conv->asking;
	else if (trial->good)
		return !has_forbidden_null(trial);
	else
		fails = trial->error.reason == REJECT_VALUE ?
			column_index(conv, trial->error.column) : -1;
	return trial->kind->reason == REJECT_VALUE && failed >= 0 && fails > failed;
}

static int
count_mended(Search *search, const char *candidate)
{
	Trial		trial = {
		.diagnosis = search->diagnosis,
		.kind = search->kind,
		.candidate = candidate,
		.guard = &search->guard
	};
	int			natts = RelationGetNumberOfAttributes(search->diagnosis->target->rel);
	int			mended = 0;

	trial.estate = CreateExecutorState();
	trial.values = palloc0(sizeof(Datum) * Max(natts, 1));
	trial.nulls = palloc0(sizeof(bool) * Max(natts, 1));
	if (guard_run(trial.guard, open_trial, &trial) == NULL && trial.done)
	{
		Source	   *source = source_open_stored(search->samples, trial.options, WINDOW_SIZE);

		trial.reader = reader_open(source, trial.options);
		while (reader_next_file(trial.reader))
		{
			bool		any = reader_rows(trial.reader, trial.reader->max_rows, true);

			CHECK_FOR_INTERRUPTS();
			/* of a comment nothing is left */
			if (any ? trial.reader->result.nrows == 1 && is_mended(&trial) :
				trial.options->comment != NULL && !trial.reader->ended)
				mended++;
			convert_next(trial.conv);
			ResetPerTupleExprContext(trial.estate);
		}
		source_close(source);
	}
	guard_close(trial.guard);
	FreeExecutorState(trial.estate);
	return mended;
}

/* How many samples a candidate mends. */
static int
try_candidate(Search *search, const char *candidate)
{
	MemoryContext caller = MemoryContextSwitchTo(search->context);
	int			mended = count_mended(search, candidate);

	MemoryContextSwitchTo(caller);
	MemoryContextReset(search->context);
	return mended;
}

/*
 * Whether the samples are bad in a trial as they were in the load.  If not, what
 * a trial says means nothing.
 */
static bool
is_reproduced(Search *search)
{
	return try_candidate(search, "{}") == 0;
}

/* Tries a candidate; true where there is no better one. */
static bool
consider(Search *search, const char *candidate)
{
	int			mended = try_candidate(search, candidate);

	if (mended > search->most)
	{
		search->most = mended;
		search->best = pstrdup(candidate);
	}
	return search->most == search->kind->nsamples;
}

/* ---- candidates ---- */

/* Whether some sample has such bytes in its line. */
static bool
some_line_has(const Search *search, const char *bytes)
{
	for (int i = 0; i < search->kind->nsamples; i++)
		if (strstr(search->kind->samples[i].raw, bytes) != NULL)
			return true;
	return false;
}

static bool
every_line_begins(const Search *search, const char *bytes)
{
	for (int i = 0; i < search->kind->nsamples; i++)
		if (strncmp(search->kind->samples[i].raw, bytes, strlen(bytes)) != 0)
			return false;
	return true;
}

static bool
consider_quotes(Search *search)
{
	if (search->diagnosis->options->format != BULK_CSV)
		return false;
	if (some_line_has(search, "'") && consider(search, "{\"quote\": \"'\"}"))
		return true;
	return some_line_has(search, "\\") && consider(search, "{\"escape\": \"\\\\\"}");
}

static bool
consider_comments(Search *search)
{
	static const char *const marks[] = {"#", "//", "--", "%"};

	for (int i = 0; i < lengthof(marks); i++)
		if (every_line_begins(search, marks[i]) &&
			consider(search, psprintf("{\"comment\": \"%s\"}", marks[i])))
			return true;
	return false;
}

static bool
consider_delimiters(Search *search)
{
	static const char *const delimiters[] = {";", "\t", "|", ",", ":", " "};
	const BulkOptions *options = search->diagnosis->options;

	for (int i = 0; i < lengthof(delimiters); i++)
	{
		const char *name = delimiters[i][0] == '\t' ? "\\t" : delimiters[i];

		if (strcmp(options->delimiter, delimiters[i]) == 0 ||
			!some_line_has(search, delimiters[i]))
			continue;
		if (consider(search, psprintf("{\"delimiter\": \"%s\"}", name)) ||
			(options->decimal_mark == '.' && some_line_has(search, ",") &&
			 consider(search, psprintf("{\"delimiter\": \"%s\", \"decimal_mark\": \",\"}", name))))
			return true;
	}
	return false;
}

/* What is not in order with the line as a whole. */
static void
search_syntax(Search *search)
{
	const char *message = search->kind->message;
	bool		extra = strncmp(message, "extra data", 10) == 0;
	bool		missing = strncmp(message, "missing data", 12) == 0;

	/* a line alone is at odds with no other one */
	if (strstr(message, "carriage return") != NULL || strstr(message, "newline") != NULL)
	{
		(void) consider(search, "{\"newline\": \"any\"}");
		return;
	}
	if (!is_reproduced(search) || consider_quotes(search) || (missing && consider_comments(search)) ||
		((extra || missing) && consider_delimiters(search)))
		return;
	if (extra)
		(void) consider(search, "{\"extra_columns\": \"ignore\"}");
	else if (missing)
		(void) consider(search, "{\"missing_columns\": \"null\"}");
}

/*
 * Many encodings can read the same bytes: only who knows the data can tell
 * whether a line means something so.
 */
static void
show_decoded(Search *search, int file_encoding)
{
	const RejectSample *sample = &search->kind->samples[0];
	Encoding	encoding;
	RowError	error;
	char	   *text = palloc((Size) sample->raw_len * MAX_CONVERSION_GROWTH + 32);

	encoding_open(&encoding, file_encoding);
	if (encoding.transcode &&
		encoding_convert(&encoding, sample->raw, sample->raw_len, text, &error) >= 0)
		search->remark = psprintf(" One of them then is \"%s\".",
								  reject_clip(text, SHOWN_BYTES));
}

/* Encodings that files are often in; the second one has a character for each byte. */
static void
search_encoding(Search *search)
{
	static const char *const names[] = {"UTF8", "WIN1252", "LATIN1"};
	const BulkOptions *options = search->diagnosis->options;

	if (options->utf16 != BULK_UTF16_NONE || GetDatabaseEncoding() == PG_SQL_ASCII ||
		!is_reproduced(search))
		return;
	for (int i = 0; i < lengthof(names); i++)
	{
		int			encoding = pg_char_to_encoding(names[i]);

		if (encoding == options->encoding ||
			(encoding != GetDatabaseEncoding() &&
			 !OidIsValid(FindDefaultConversionProc(encoding, GetDatabaseEncoding()))))
			continue;
		if (consider(search, psprintf("{\"encoding\": \"%s\"}", names[i])))
		{
			show_decoded(search, encoding);
			return;
		}
	}
}

/* The option with the names of a set, and one more. */
static char *
column_set_with(const char *option, const BulkColumnSet *set, const char *column)
{
	StringInfoData json;
	ListCell   *lc;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"%s\": [", option);
	foreach(lc, set->names)
	{
		escape_json(&json, lfirst(lc));
		appendStringInfoString(&json, ", ");
	}
	escape_json(&json, column);
	appendStringInfoString(&json, "]}");
	return json.data;
}

/* Values that people write for nothing. */
static bool
consider_nulls(Search *search)
{
	const RejectKind *kind = search->kind;
	const BulkOptions *options = search->diagnosis->options;
	List	   *words = list_copy(options->nulls);
	bool		empty = false;
	StringInfoData json;
	ListCell   *lc;

	for (int i = 0; i < kind->nsamples; i++)
	{
		const char *value = kind->samples[i].value;
		bool		known = value == NULL || !reject_looks_null(value);

		foreach(lc, words)
			known |= value != NULL && strcmp(lfirst(lc), value) == 0;
		empty |= value != NULL && value[0] == '\0';
		if (!known)
			words = lappend(words, unconstify(char *, value));
	}
	if (empty && options->format == BULK_CSV && !options->force_null.all &&
		consider(search, column_set_with("force_null", &options->force_null, kind->column)))
		return true;
	if (list_length(words) == list_length(options->nulls))
		return false;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"null\": ");
	foreach(lc, words)
	{
		appendStringInfoString(&json, lc == list_head(words) ? "[" : ", ");
		escape_json(&json, lfirst(lc));
	}
	appendStringInfoString(&json, "]}");
	return consider(search, json.data);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool
consider_trim(Search *search)
{
	for (int i = 0; i < search->kind->nsamples; i++)
	{
		const char *value = search->kind->samples[i].value;

		if (value != NULL && value[0] != '\0' &&
			(is_blank(value[0]) || is_blank(value[strlen(value) - 1])))
			return consider(search, "{\"trim\": true}");
	}
	return false;
}

/* date_format as it is, and a template for one more column. */
static char *
date_format_with(const BulkOptions *options, const char *column, const char *template)
{
	StringInfoData json;
	ListCell   *lc;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"date_format\": {");
	foreach(lc, options->date_formats)
	{
		const BulkDateFormat *format = lfirst(lc);

		if (strcmp(format->column, column) == 0)
			continue;
		escape_json(&json, format->column);
		appendStringInfoString(&json, ": ");
		escape_json(&json, format->template);
		appendStringInfoString(&json, ", ");
	}
	escape_json(&json, column);
	appendStringInfoString(&json, ": ");
	escape_json(&json, template);
	appendStringInfoString(&json, "}}");
	return json.data;
}

static bool
has_date_format(const BulkOptions *options, const char *column)
{
	ListCell   *lc;

	foreach(lc, options->date_formats)
		if (strcmp(((BulkDateFormat *) lfirst(lc))->column, column) == 0)
			return true;
	return false;
}

/* Whether the day comes first there, and the session took the month for it, or the reverse. */
static bool
swaps_day_and_month(const char *template)
{
	return (DateOrder == DATEORDER_MDY && strncmp(template, "DD", 2) == 0 &&
			strncmp(template + 3, "MM", 2) == 0) ||
		(DateOrder == DATEORDER_DMY && strncmp(template, "MM", 2) == 0);
}

/* The usual ones; where several fit all samples nobody can tell which is meant. */
static bool
consider_dates(Search *search)
{
	static const char *const dates[] = {
		"YYYY-MM-DD", "YYYY-DD-MM", "DD/MM/YYYY", "MM/DD/YYYY", "DD.MM.YYYY", "DD-MM-YYYY", "MM-DD-YYYY",
		"YYYY/MM/DD", "YYYY.MM.DD", "YYYYMMDD", "DD/MM/YY", "MM/DD/YY", "DD.MM.YY", "DD Mon YYYY", "DD-Mon-YYYY",
		"Mon DD, YYYY"
	};
	static const char *const times[] = {
		"", " HH24:MI:SS", " HH24:MI", " HH12:MI AM", " HH12:MI:SS AM", "\"T\"HH24:MI:SS"
	};

	const BulkOptions *options = search->diagnosis->options;
	const char *column = search->kind->column;
	bool		had_format = has_date_format(options, column);

	for (int i = 0; i < lengthof(times); i++)
		for (int k = 0; k < lengthof(dates); k++)
		{
			char	   *template = psprintf("%s%s", dates[k], times[i]);
			int			before = search->most;
			bool		all;

			CHECK_FOR_INTERRUPTS();
			all = consider(search, date_format_with(options, column, template));
			if (search->most > before)
				search->remark = had_format || !swaps_day_and_month(template) ? "" :
					" Rows that were loaded may have day and month the wrong way round.";
			if (all)
				return true;
		}
	return false;
}

static void
search_value(Search *search)
{
	const Target *target = search->diagnosis->target;
	AttrNumber	attnum = target_find_column(target, search->kind->column);
	Oid			type;

	if (attnum == InvalidAttrNumber || !is_reproduced(search))
		return;
	type = getBaseType(TupleDescAttr(RelationGetDescr(target->rel), attnum - 1)->atttypid);
	if (consider_nulls(search) || consider_trim(search) || consider_quotes(search))
		return;
	switch (type)
	{
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			(void) consider_dates(search);
			break;
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			if (search->diagnosis->options->decimal_mark == '.')
				(void) consider(search, "{\"decimal_mark\": \",\"}");
			break;
	}
}

char *
diagnosis_advise(void *arg, const RejectKind *kind)
{
	Search		search = {.diagnosis = arg, .kind = kind, .remark = ""};

	/* the rows of a query are lines only by the way */
	if ((search.diagnosis->options->format != BULK_CSV &&
		 search.diagnosis->options->format != BULK_TEXT) ||
		search.diagnosis->options->query != NULL || kind->nsamples == 0)
		return NULL;
	search.context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load diagnosis",
										   ALLOCSET_DEFAULT_SIZES);
	search.samples = stored_rows_create();
	for (int i = 0; i < kind->nsamples; i++)
	{
		StoredRow	row = {
			.path = "",
			.line = 1,
			.offset = 1,
			.data = kind->samples[i].raw,
			.length = kind->samples[i].raw_len
		};

		stored_rows_add(search.samples, &row);
	}
	guard_enable(&search.guard);

	if (kind->reason == REJECT_SYNTAX)
		search_syntax(&search);
	else if (kind->reason == REJECT_ENCODING)
		search_encoding(&search);
	else if (kind->reason == REJECT_VALUE && kind->column != NULL &&
			 search.diagnosis->options->transform == NULL)
		search_value(&search);

	stored_rows_close(search.samples);
	MemoryContextDelete(search.guard.errors);
	MemoryContextDelete(search.context);
	if (search.best == NULL)
		return NULL;
	return psprintf("With %s among the options %s can be read.%s", search.best,
					search.most < kind->nsamples ? "some of them" : "they",
					search.remark);
}
