/*
 * detect.c
 *		See detect.h.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "diagnose/diagnosis.h"
#include "diagnose/trial.h"
#include "format/encoding.h"
#include "format/transform.h"
#include "inspect/sample.h"
#include "load/detect.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "option/options_show.h"
#include "parser/parse_coerce.h"
#include "reject/reject.h"
#include "server/text_clip.h"
#include "stream/file.h"
#include "stream/source.h"
#include "table/target.h"
#include "utils/json.h"
#include "utils/memutils.h"

/* Bytes of a file used to find the delimiter, and number of rows examined. */
#define PROBE_LENGTH (256 * 1024)
#define MAX_ROWS 64

/* Bytes of a field in messages. */
#define SHOWN_BYTES 60

typedef struct Line
{
	const char *data;
	uint32		length;
	uint32		nfields;
} Line;

typedef struct Detector
{
	const BulkOptions *options;
	Target	   *target;
	int			required;		/* of its fields; the arguments behind them have defaults */
	int			least;			/* how many fields a line must have */
	Guard		guard;
	SheetSpace *space;

	/* the current file */
	const char *path;
	SheetSpan	probe;
	DialectHints hints;
	Dialect		dialect;
	int			nlines;
	Line		lines[MAX_ROWS];
	List	   *first;			/* fields of the first line, char * */
	/* the last header with unknown names that a NOTICE was about, or NULL */
	char	   *noticed;
} Detector;

/* ---- lines ---- */

static void
keep_fields(Detector *detector, const char *data, const ScanRow *row, const ScanField *fields)
{
	char	   *buffer = palloc(row->end - row->start + SCAN_PADDING);

	detector->first = NIL;
	for (uint32 i = 0; i < row->nfields; i++)
	{
		size_t		length;
		const char *value = sheet_value(&detector->dialect.scan, data, &fields[i], buffer, &length);
		char	   *text = pnstrdup(value, length);

		detector->first =
			lappend(detector->first, pg_verifymbstr(value, length, true) ? text : NULL);
	}
}

/* Whether the first line consists of several column names and nothing else. */
static bool
has_names(const Detector *detector)
{
	int			named;
	int			ordered;

	diagnosis_count_names(detector->target, detector->first, &named, &ordered);
	return named > 1 && named == list_length(detector->first);
}

static bool
keep_line(void *arg, const char *data, const ScanRow *row, const ScanField *fields)
{
	Detector   *detector = arg;

	if (detector->nlines == 0)
		keep_fields(detector, data, row, fields);
	detector->lines[detector->nlines++] = (Line) {
		.data = data + row->start,
		.length = row->end - row->start,
		.nfields = sheet_is_blank(row, fields) ? 0 : row->nfields
	};
	return detector->nlines < MAX_ROWS;
}

/* Splits the lines by a delimiter; NULL: by the one that fits best. */
static void
read_lines(Detector *detector, const char *delimiter)
{
	ScanEol		eol;

	CHECK_FOR_INTERRUPTS();
	detector->hints.delimiter = delimiter;
	dialect_guess(&detector->probe, &detector->hints, detector->space, &detector->dialect);
	eol = detector->dialect.eol;
	detector->nlines = 0;
	detector->first = NIL;
	sheet_walk(&detector->probe, &detector->dialect.scan, &eol, detector->space, keep_line,
			   detector);
}

/* Whether most lines, or all, have as many fields as are wanted. */
static bool
are_fitting(const Detector *detector, bool all)
{
	int			fit = 0;
	int			other = 0;

	for (int i = 0; i < detector->nlines; i++)
	{
		int			n = detector->lines[i].nfields;

		if (n >= detector->least && n <= detector->target->nfields)
			fit++;
		else if (n > 0)
			other++;
	}
	return all ? other == 0 : fit > other;
}

/* Converts the lines as rows; false if the options exclude each other. */
static bool
try_lines(Detector *detector, const char *delimiter, TrialOutcome *outcomes)
{
	Trial		trial = {
		.options = detector->options,
		.target = detector->target,
		.guard = &detector->guard,
		.rows = stored_rows_create(),
		.nrows = detector->nlines
	};
	StringInfoData candidate;
	bool		possible;

	for (int i = 0; i < detector->nlines; i++)
	{
		StoredRow	row = {
			.path = "",
			.line = i + 1,
			.data = detector->lines[i].data,
			.length = detector->lines[i].length
		};

		stored_rows_add(trial.rows, &row);
	}
	initStringInfo(&candidate);
	appendStringInfoString(&candidate, "{\"header\": false, \"delimiter\": ");
	escape_json(&candidate, delimiter);
	appendStringInfoChar(&candidate, '}');
	possible = trial_run(&trial, candidate.data, outcomes);
	stored_rows_close(trial.rows);
	return possible;
}

/* How many lines are valid rows of the table. */
static int
count_good(Detector *detector, const char *delimiter)
{
	TrialOutcome outcomes[MAX_ROWS];
	int			good = 0;

	if (!try_lines(detector, delimiter, outcomes))
		return 0;
	for (int i = 0; i < detector->nlines; i++)
		good += outcomes[i].good ? 1 : 0;
	return good;
}

/* ---- the delimiter ---- */

/* The HINT for a file of JSON objects, or NULL. */
static char *
advise_format(const Detector *detector)
{
	Diagnosis	diagnosis = {
		.options = detector->options,
		.target = detector->target,
		.beginning = unconstify(char *, detector->probe.data),
		.beginning_length = detector->probe.length,
		.beginning_is_all = detector->probe.to_end
	};

	return diagnosis_of_beginning(&diagnosis);
}

static void
refuse_delimiter(const Detector *detector, const char *detail)
{
	char	   *hint = advise_format(detector);

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("could not determine the delimiter of file \"%s\"",
					encoding_path_text(detector->path)),
			 errdetail_internal("%s", detail),
			 hint != NULL ? errhint("%s", hint) :
			 detector->options->transform != NULL ? errhint("Set option \"delimiter\".") :
			 errhint("Set option \"delimiter\"; if the file lacks columns of the table, list those that it has %s.",
					 options_columns(detector->options))));
}

/* Raises an error if another delimiter also gives valid rows. */
static void
check_others(Detector *detector, const char *found)
{
	int			good = count_good(detector, found);

	for (int i = 0; trial_delimiters[i] != NULL; i++)
	{
		const char *other = trial_delimiters[i];

		/* common within text */
		if (strcmp(other, found) == 0 || strchr(": ", other[0]) != NULL)
			continue;
		read_lines(detector, other);
		if (detector->nlines > 0 && are_fitting(detector, true) &&
			count_good(detector, other) >= Max(good, 1))
			refuse_delimiter(detector, psprintf("It may be \"%s\" or \"%s\".", found, other));
	}
	read_lines(detector, found);
}

static void
refuse_all(const Detector *detector)
{
	int			most = detector->target->nfields;

	refuse_delimiter(detector,
					 detector->options->transform == NULL ?
					 psprintf("No delimiter splits the lines into as many fields as there are columns, %d.",
							  most) :
					 detector->least < most ?
					 psprintf("No delimiter splits the lines into as many fields as the function takes, %d to %d.",
							  detector->least, most) :
					 psprintf("No delimiter splits the lines into as many fields as the function has arguments, %d.",
							  most));
}

/* The delimiter by which all lines have as many fields as are wanted, or NULL. */
static const char *
find_fitting(Detector *detector)
{
	const char *found = NULL;

	for (int i = 0; trial_delimiters[i] != NULL; i++)
	{
		read_lines(detector, trial_delimiters[i]);
		if (!are_fitting(detector, true))
			continue;
		if (found != NULL)
			refuse_delimiter(detector,
							 psprintf("It may be \"%s\" or \"%s\".", found, trial_delimiters[i]));
		found = trial_delimiters[i];
	}
	return found;
}

/* The same, or the one that is guessed if most lines fit it; what has all fields comes first. */
static const char *
choose_fitting(Detector *detector, const char *guessed)
{
	const char *found = are_fitting(detector, false) ? guessed : find_fitting(detector);
	/* any delimiter that does not occur makes one field of a line */
	int			least = Max(detector->required, 2);

	if (found == NULL && least < detector->least)
	{
		detector->least = least;
		read_lines(detector, guessed);
		found = are_fitting(detector, false) ? guessed : find_fitting(detector);
	}
	if (found == NULL)
		refuse_all(detector);
	return found;
}

/* The delimiter bulk_inspect would choose, if its rows fit the target. */
static const char *
find_delimiter(Detector *detector)
{
	const char *found;

	detector->least = detector->target->nfields;
	read_lines(detector, NULL);
	found = pstrdup(detector->dialect.separator);
	if (detector->options->header == BULK_HEADER_MAP)
		return found;
	/* a single column: any character that does not occur */
	if (detector->target->nfields == 1)
	{
		read_lines(detector, detector->options->delimiter);
		if (are_fitting(detector, true))
			return detector->options->delimiter;
		read_lines(detector, found);
	}
	if (has_names(detector))
		return found;
	found = choose_fitting(detector, found);
	if (detector->target->nfields > 1)
		check_others(detector, found);
	return found;
}

/* ---- the header ---- */

static void
refuse_header(const Detector *detector, const char *detail)
{
	char	   *hint = advise_format(detector);

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("could not determine whether file \"%s\" begins with a header line",
					encoding_path_text(detector->path)),
			 errdetail_internal("%s", detail),
			 hint != NULL ? errhint("%s", hint) : detector->options->has_columns ?
			 errhint("Set option \"header\" to true if its first line is a header, else to false.") :
			 errhint("Set option \"header\" to true if its first line is a header, to \"map\" if columns are to be found by the names in it, else to false.")));
}

/*
 * Whether a value shows that its line is a row: no column name is a valid value
 * of such a type.
 */
static bool
is_evidence(const Detector *detector, int column)
{
	AttrNumber	attnum = detector->target->attnums[column];

	if (attnum == InvalidAttrNumber)
		return false;
	switch (TypeCategory(TupleDescAttr(RelationGetDescr(detector->target->rel), attnum -
									   1)->atttypid))
	{
		case TYPCATEGORY_NUMERIC:
		case TYPCATEGORY_DATETIME:
		case TYPCATEGORY_TIMESPAN:
		case TYPCATEGORY_NETWORK:
			return true;
		default:
			return false;
	}
}

/* Counts such values, only those with digits or all. */
static int
count_evidence(const Detector *detector, const List *fields, bool digits)
{
	int			n = 0;

	for (int i = 0; i < Min(list_length(fields), detector->target->nfields); i++)
	{
		const char *field = list_nth(fields, i);

		if (field != NULL && is_evidence(detector, i) &&
			(!digits || strpbrk(field, "0123456789") != NULL))
			n++;
	}
	return n;
}

/* Whether most rows after the first can be converted. */
static bool
are_others_good(const TrialOutcome *outcomes, int n)
{
	int			good = 0;

	for (int i = 1; i < n; i++)
		good += outcomes[i].good ? 1 : 0;
	return good * 2 > n - 1;
}

/* A row of words for missing values would look like a header, too, so a NOTICE reports it. */
static void
notice_other_names(Detector *detector, const List *fields)
{
	StringInfoData text;
	ListCell   *lc;

	if (detector->options->log_verbosity == BULK_VERBOSITY_SILENT)
		return;
	initStringInfo(&text);
	foreach(lc, fields)
		appendStringInfo(&text, "%s\"%s\"", text.len > 0 ? ", " :
						 "", text_clip_string(lfirst(lc), SHOWN_BYTES));
	if (detector->noticed != NULL && strcmp(detector->noticed, text.data) == 0)
		return;
	detector->noticed = MemoryContextStrdup(GetMemoryChunkContext(detector), text.data);
	ereport(NOTICE,
			(errmsg("the first line of file \"%s\" is taken for a header, by words that are no values of their columns",
					encoding_path_text(detector->path)),
			 errdetail("Its fields are %s.", text.data),
			 errhint("With %s among the options it is a row.",
					 options_show(detector->options, "{\"header\": false}"))));
}

/* Finds the value of option header. */
static const char *
judge_first_line(Detector *detector, const TrialOutcome *outcomes)
{
	const List *fields = outcomes[0].fields;
	int			n = list_length(fields);
	int			named;
	int			ordered;

	diagnosis_count_names(detector->target, fields, &named, &ordered);
	if (n > 0 && named == n)
	{
		if (ordered == n && n == detector->target->nfields)
			return "true";
		if (!detector->options->has_columns)
			return "\"map\"";
	}
	if (outcomes[0].good && count_evidence(detector, fields, true) > 0)
		return "false";
	if (outcomes[0].good)
		refuse_header(detector, "Its first line could be a row of the table as well as a header.");
	if (!diagnosis_are_words(fields))
		return "false";
	if (ordered < named)
		refuse_header(detector, "Its first line has names of columns, but not in their order.");
	if (!are_others_good(outcomes, detector->nlines))
		refuse_header(detector,
					  "Its first line looks like names, but most of the lines after it are no rows of the table either.");
	/* a word in one column may be an unusual null value */
	if (count_evidence(detector, fields, false) < 2)
		refuse_header(detector,
					  "Its first line looks like names, but has fewer than two of them in columns of numbers or dates.");
	notice_other_names(detector, fields);
	return "true";
}

static const char *
find_header(Detector *detector, const char *delimiter)
{
	TrialOutcome outcomes[MAX_ROWS];

	if (!try_lines(detector, delimiter, outcomes))
		refuse_header(detector, "Its rows cannot be tried with these options.");
	return judge_first_line(detector, outcomes);
}

/* ---- files ---- */

/* False if the file has no rows to examine: the load reports what it is. */
static bool
open_file(Detector *detector)
{
	const BulkOptions *options = detector->options;
	Sample	   *sample =
		sample_read(list_make1(unconstify(char *, detector->path)), options, false);

	if (sample->magic != NULL || sample->spans[0].length == 0)
		return false;
	detector->probe = sample->spans[0];
	if (detector->probe.length > PROBE_LENGTH)
	{
		detector->probe.length = PROBE_LENGTH;
		detector->probe.to_end = false;
	}
	detector->hints = (DialectHints) {
		.has_format = true,
		.format = options_dialect(options).format,
		.quote = options->quote,
		.escape = options->escape,
		.comment = options->comment,
		.any_newline = options->newline == BULK_NEWLINE_ANY,
		.non_ascii = options->encoding == PG_UTF8 && GetDatabaseEncoding() == PG_UTF8
	};
	return true;
}

/* The file's dialect as options; NULL if it cannot be determined. */
static char *
find_options(Detector *detector)
{
	const BulkOptions *options = detector->options;
	const char *delimiter = options->delimiter;
	StringInfoData found;

	if (!open_file(detector))
		return NULL;
	if (options->delimiter_auto)
		delimiter = find_delimiter(detector);
	else
		read_lines(detector, delimiter);
	if (detector->nlines == 0)
		return NULL;
	initStringInfo(&found);
	if (options->delimiter_auto)
	{
		appendStringInfoString(&found, "{\"delimiter\": ");
		escape_json(&found, delimiter);
	}
	if (options->header == BULK_HEADER_AUTO)
		appendStringInfo(&found, "%s\"header\": %s", found.len > 0 ? ", " : "{",
						 find_header(detector, delimiter));
	appendStringInfoChar(&found, '}');
	return found.data;
}

/*
 * Examines every file, as a header in only one of them would otherwise be lost
 * or loaded as a row.
 */
static char *
find_common_options(Detector *detector, List *paths)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(caller, "bulk_load detection", ALLOCSET_DEFAULT_SIZES);
	const char *first = NULL;
	char	   *common = NULL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		char	   *found;

		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(context);
		detector->path = lfirst(lc);
		found = find_options(detector);
		MemoryContextSwitchTo(caller);
		if (found != NULL && common == NULL)
		{
			common = pstrdup(found);
			first = lfirst(lc);
		}
		else if (found != NULL && strcmp(found, common) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("files \"%s\" and \"%s\" require different options",
							encoding_path_text(first), encoding_path_text(lfirst(lc))),
					 errdetail("The first requires %s, the second %s.", common, found),
					 errhint("Load them separately.")));
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	return common;
}

static void
check_paths(List *paths, const BulkOptions *options)
{
	const char *name = options->delimiter_auto ? "delimiter" : "header";
	ListCell   *lc;

	foreach(lc, paths)
	{
		if (strcmp(lfirst(lc), SOURCE_CLIENT) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" cannot be \"auto\" for what the client sends", name),
					 errdetail("It can be read only once."),
					 errhint("Give the option the value that fits.")));
		if (file_look(lfirst(lc), NULL) < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" cannot be \"auto\" for named pipe \"%s\"", name,
							encoding_path_text(lfirst(lc))),
					 errdetail("It can be read only once."),
					 errhint("Give the option the value that fits.")));
	}
}

/*
 * Reads the target's columns, or the function's arguments, in file order; the lock is released
 * later, as the load may need a stronger one.
 */
static void
open_columns(Detector *detector, Oid relid)
{
	const char *transform = detector->options->transform;
	List	   *names = detector->options->columns;
	TupleDesc	desc;

	detector->target = target_join(relid, NIL, NULL, 0);
	detector->target->sent = target_is_sent(detector->target->rel);
	target_set_extras(detector->target, detector->options);
	desc = RelationGetDescr(detector->target->rel);
	for (int i = 0; i < desc->natts && !detector->options->has_columns; i++)
		if (!TupleDescAttr(desc, i)->attisdropped && !TupleDescAttr(desc, i)->attgenerated &&
			!target_is_extra(detector->target, i + 1))
			names = lappend(names, NameStr(TupleDescAttr(desc, i)->attname));
	target_set_columns(detector->target, names);
	detector->required = detector->target->nfields;
	if (transform != NULL)
	{
		Transform  *function = transform_open(transform, detector->target->rel);

		target_set_arguments(detector->target, transform_arguments(function));
		detector->required = transform_required(function);
	}
}

BulkOptions *
detect_options(Oid relid, List *paths, BulkOptions *options)
{
	Detector   *detector;
	char	   *found;
	BulkOptions *detected;

	if (!options->delimiter_auto && options->header != BULK_HEADER_AUTO)
		return options;
	check_paths(paths, options);
	detector = palloc0(sizeof(Detector));
	detector->options = options;
	detector->space = sample_space();
	guard_enable(&detector->guard);
	open_columns(detector, relid);
	found = find_common_options(detector, paths);
	table_close(detector->target->rel, RowExclusiveLock);
	pfree(detector->space);
	if (found == NULL)
		found = options->header != BULK_HEADER_AUTO ? "{\"delimiter\": null}" :
			options->delimiter_auto ? "{\"delimiter\": null, \"header\": false}" :
				"{\"header\": false}";
	detected = options_parse(options_merge(options->json, found));
	detected->detected = options_merge(NULL, found);
	detected->by_copy = options->by_copy;
	detected->where_clause = options->where_clause;
	detected->statement = options->statement;
	return detected;
}
