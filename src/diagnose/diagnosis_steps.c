/*
 * diagnosis_steps.c
 *		Candidate options for each kind of problem with a row.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "diagnose/diagnosis_search.h"
#include "format/encoding.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "server/text_clip.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

/* ---- wrong number of fields ---- */

/* Whether some sample contains these bytes. */
static bool
some_line_has(const Search *search, const char *bytes)
{
	for (int i = 0; i < search->kind->nsamples; i++)
		if (strstr(search->kind->samples[i].raw, bytes) != NULL)
			return true;
	return false;
}

static bool
every_line_has(const Search *search, const char *bytes)
{
	for (int i = 0; i < search->kind->nsamples; i++)
		if (strstr(search->kind->samples[i].raw, bytes) == NULL)
			return false;
	return true;
}

static bool
every_line_begins(const Search *search, const char *bytes)
{
	for (int i = 0; i < search->kind->nsamples; i++)
		if (strncmp(search->kind->samples[i].raw, bytes, strlen(bytes)) != 0)
			return false;
	return true;
}

/* Whether some field, or line, starts with a character. */
static bool
some_field_begins(const Search *search, char c)
{
	const char *delimiter = search->options->delimiter;

	for (int i = 0; i < search->kind->nsamples; i++)
		if (search->kind->samples[i].raw[0] == c ||
			strstr(search->kind->samples[i].raw, psprintf("%s%c", delimiter, c)) != NULL)
			return true;
	return false;
}

static bool
consider_quotes(Search *search, int kind)
{
	if (!options_takes(search->options, "quote"))
		return false;
	if (some_line_has(search, "'") && diagnosis_consider(search, "{\"quote\": \"'\"}", kind))
		return true;
	return some_line_has(search, "\\") &&
		diagnosis_consider(search, "{\"escape\": \"\\\\\"}", kind);
}

void
diagnosis_over_quotes(Search *search)
{
	static const char *const unused[] = {"\\u0001", "\\u0002", NULL};

	if (consider_quotes(search, CUTS | QUOTES) || !options_takes(search->options, "quote"))
		return;
	/* quotes as ordinary characters, unless whole fields are quoted, too */
	for (int i = 0; unused[i] != NULL && !some_line_has(search, i == 0 ? "\001" : "\002"); i++)
		if (!some_field_begins(search, search->options->quote) &&
			diagnosis_consider(search, psprintf("{\"quote\": \"%s\"}", unused[i]), CUTS | QUOTES))
			return;
}

/* A prefix that most lines have does not mark comments. */
static bool
consider_comments(Search *search)
{
	static const char *const marks[] = {"#", "//", "--", "%"};

	if (!options_takes(search->options, "comment"))
		return false;
	for (int i = 0; i < lengthof(marks) && diagnosis_are_few(search); i++)
		if (every_line_begins(search, marks[i]) &&
			diagnosis_consider(search, psprintf("{\"comment\": \"%s\"}", marks[i]), CUTS))
			return true;
	return false;
}

/* more: options to try with each delimiter, preceded by a comma, or "". */
static bool
consider_delimiters(Search *search, const char *in, const char *more, int kind)
{
	if (!options_takes(search->options, "delimiter"))
		return false;
	for (int i = 0; trial_delimiters[i] != NULL; i++)
	{
		const char *delimiter = trial_delimiters[i];
		bool		common = strchr(": ", delimiter[0]) != NULL;

		if (strcmp(search->options->delimiter, delimiter) == 0 ||
			(in != NULL ? strstr(in, delimiter) == NULL : !some_line_has(search, delimiter)) ||
			(common && (search->kind->nsamples == 1 || kind != CUTS)) ||
			((kind & FILLS) && !every_line_has(search, delimiter)))
			continue;
		if (diagnosis_consider(search, psprintf("{\"delimiter\": \"%s\"%s}",
												delimiter[0] == '\t' ? "\\t" : delimiter, more),
							   kind))
			return true;
	}
	return false;
}

/* What leaves fields out, or takes the place of those that a row lacks. */
static void
consider_fills(Search *search, const TrialOutcome *failed)
{
	static const char *const missing[] = {
		"\"missing_columns\": \"null\"", "\"missing_columns\": \"default\"", NULL
	};
	const char *extra = failed->extra ? "\"extra_columns\": \"ignore\"" : "";
	bool		both = failed->extra && failed->lacking != NIL;

	if (failed->extra && (diagnosis_consider(search, psprintf("{%s}", extra), FILLS) ||
						  consider_delimiters(search, NULL, psprintf(", %s", extra),
											  CUTS | FILLS)))
		return;
	for (int i = 0; missing[i] != NULL && (failed->missing || both); i++)
	{
		const char *fill = psprintf("%s%s%s", extra, both ? ", " : "", missing[i]);

		if (diagnosis_consider(search, psprintf("{%s}", fill), FILLS) ||
			consider_delimiters(search, NULL, psprintf(", %s", fill), CUTS | FILLS))
			return;
	}
}

void
diagnosis_over_syntax(Search *search, const TrialOutcome *failed)
{
	if (consider_quotes(search, CUTS) || !(failed->extra || failed->missing) ||
		consider_delimiters(search, NULL, "", CUTS) ||
		(failed->missing && consider_comments(search)) || search->next != NULL)
		return;
	consider_fills(search, failed);
}

/* ---- encodings ---- */

void
diagnosis_show_decoded(Search *search, int file_encoding)
{
	const RejectSample *sample = &search->kind->samples[0];
	Encoding	encoding;
	RowError	error;
	char	   *text = palloc((Size) sample->raw_len * MAX_CONVERSION_GROWTH + 32);

	encoding_open(&encoding, file_encoding);
	if (encoding.transcode &&
		encoding_convert(&encoding, sample->raw, sample->raw_len, text, &error) >= 0)
		diagnosis_remark(search,
						 psprintf("%s then reads \"%s\".", search->diagnosis->ends_load ? "It" :
								  "One of them",
								  text_clip_string(text, SHOWN_BYTES)));
}

/* Common encodings of files; the second one has a character for each byte. */
void
diagnosis_over_encoding(Search *search)
{
	static const char *const names[] = {"UTF8", "WIN1252", "LATIN1"};
	const BulkOptions *options = search->options;

	if (options->utf16 != BULK_UTF16_NONE || GetDatabaseEncoding() == PG_SQL_ASCII)
		return;
	for (int i = 0; i < lengthof(names); i++)
	{
		int			encoding = pg_char_to_encoding(names[i]);

		if (encoding == options->encoding ||
			(encoding != GetDatabaseEncoding() &&
			 !OidIsValid(FindDefaultConversionProc(encoding, GetDatabaseEncoding()))))
			continue;
		if (diagnosis_consider(search, psprintf("{\"encoding\": \"%s\"}", names[i]), 0))
			return;
	}
}

/* ---- values ---- */

/* The option with the columns of a set, and one more. */
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

/* The values of the samples in a column that rejects them. */
static List *
refused_values(const Search *search, const char *column)
{
	List	   *values = NIL;

	for (int i = 0; i < search->samples.nrows; i++)
	{
		const TrialOutcome *outcome = &search->outcomes[i];

		if (!outcome->good && outcome->value != NULL && outcome->column != NULL &&
			strcmp(outcome->column, column) == 0)
			values = lappend(values, unconstify(char *, outcome->value));
	}
	return values;
}

static bool
has_text(List *texts, const char *text)
{
	ListCell   *lc;

	foreach(lc, texts)
		if (strcmp(lfirst(lc), text) == 0)
			return true;
	return false;
}

/* Strings that commonly stand for NULL. */
static bool
consider_nulls(Search *search, const char *column, List *values)
{
	const BulkOptions *options = search->options;
	List	   *words = list_copy(options->nulls);
	StringInfoData json;
	ListCell   *lc;

	if (!options_takes(options, "null"))
		return false;
	if (has_text(values, "") && options_takes(options, "force_null") && !options->force_null.all &&
		diagnosis_consider(search, column_set_with("force_null", &options->force_null, column), 0))
		return true;
	foreach(lc, values)
		if (reject_looks_null(lfirst(lc)) && !has_text(words, lfirst(lc)))
			words = lappend(words, lfirst(lc));
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
	return diagnosis_consider(search, json.data, 0);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool
consider_trim(Search *search, const char *column, List *values)
{
	const BulkOptions *options = search->options;
	ListCell   *lc;

	if (!options_takes(options, "trim") || options->trim.all)
		return false;
	foreach(lc, values)
	{
		const char *value = lfirst(lc);

		if ( value[0] != '\0' &&
			(is_blank(value[0]) || is_blank(value[strlen(value) - 1])))
			return diagnosis_consider(search, column_set_with("trim", &options->trim, column), 0);
	}
	return false;
}

/*
 * Whether commas can only be decimal marks: before three digits they may be
 * thousands separators, unless another value disambiguates.
 */
static bool
are_decimal_commas(List *values)
{
	ListCell   *lc;

	foreach(lc, values)
	{
		const char *comma = strchr(lfirst(lc), ',');
		size_t		digits = comma == NULL ? 0 : strspn(comma + 1, "0123456789");

		if (comma != NULL && comma[1 + digits] != ',' && comma[1 + digits] != '.' &&
			(digits != 3 || comma - (char *) lfirst(lc) > 4 || ((char *) lfirst(lc))[0] == '0'))
			return true;
	}
	return false;
}

/*
 * Whether a mark can only be a thousands separator: it occurs twice in a value,
 * before decimals, or in a column of integers, where a point may still precede
 * decimals.
 */
static bool
are_thousands(List *values, const char *mark, char decimal, bool integers)
{
	ListCell   *lc;

	integers = integers && mark[0] != '.';

	foreach(lc, values)
	{
		const char *first = strstr(lfirst(lc), mark);

		if (first != NULL &&
			(integers || strstr(first + strlen(mark), mark) != NULL ||
			 strchr(first, decimal) != NULL))
			return true;
	}
	return false;
}

/* Thousands separators, with a decimal point or a decimal comma. */
static bool
consider_numbers(Search *search, List *values, bool integers)
{
	static const char *const marks[] = {",", ".", " ", "'", "\302\240", "\342\200\257",
		"\342\200\231"};
	const BulkOptions *options = search->options;
	bool		commas = !integers && are_decimal_commas(values);

	if (!options_takes(options, "decimal_mark"))
		return false;
	if (commas && options->decimal_mark == '.' &&
		diagnosis_consider(search, "{\"decimal_mark\": \",\"}", 0))
		return true;
	if (options->thousands_mark != NULL)
		return false;
	for (int i = 0; i < lengthof(marks); i++)
	{
		char		decimal = marks[i][0] == '.' || commas ? ',' : options->decimal_mark;

		if (marks[i][0] == decimal ||
			(IS_HIGHBIT_SET(marks[i][0]) && GetDatabaseEncoding() != PG_UTF8) ||
			(decimal != options->decimal_mark && options->decimal_mark != '.'))
			continue;
		if (are_thousands(values, marks[i], decimal, integers) &&
			diagnosis_consider(search, decimal == options->decimal_mark ?
							   psprintf("{\"thousands_mark\": \"%s\"}", marks[i]) :
							   psprintf("{\"decimal_mark\": \",\", \"thousands_mark\": \"%s\"}",
										marks[i]), 0))
			return true;
	}
	return false;
}

/* date_format with a template for one more column. */
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

const char *
diagnosis_date_format(const BulkOptions *options, const char *column)
{
	ListCell   *lc;

	foreach(lc, options->date_formats)
		if (strcmp(((BulkDateFormat *) lfirst(lc))->column, column) == 0)
			return ((BulkDateFormat *) lfirst(lc))->template;
	return NULL;
}

bool
diagnosis_swaps(const char *template)
{
	return (DateOrder == DATEORDER_MDY && strncmp(template, "DD", 2) == 0 &&
			strncmp(template + 3, "MM", 2) == 0) ||
		(DateOrder == DATEORDER_DMY && strncmp(template, "MM", 2) == 0);
}

static const char *const times[] = {
	"", " HH24:MI:SS", " HH24:MI", " HH12:MI AM", " HH12:MI:SS AM", "\"T\"HH24:MI:SS"
};

static bool
is_date(Oid type)
{
	type = getBaseType(type);
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* Whether the best candidate changes values of the column, and breaks no accepted row. */
static bool
makes_others(Search *search)
{
	bool		differ = false;
	int			changed;
	int			lost_before;
	int			lost;

	for (int i = 0; i < search->samples.nrows; i++)
		differ |= search->outcomes[i].good &&
			search->outcomes[i].print != search->next_outcomes[i].print;
	diagnosis_count_broken(search, search->candidate, &changed, &lost_before);
	diagnosis_count_broken(search, search->next, &changed, &lost);
	return differ && lost <= lost_before;
}

void
diagnosis_swap_dates(Search *search, const char *column)
{
	const Target *target = search->diagnosis->target;
	TupleDesc	desc = RelationGetDescr(target->rel);
	const char *template = diagnosis_date_format(search->options, column);
	int			length = strcspn(template, " \"");

	for (int i = 0; i < target->nfields; i++)
	{
		Form_pg_attribute att = target->attnums[i] == InvalidAttrNumber ? NULL :
			TupleDescAttr(desc, target->attnums[i] - 1);

		if (att == NULL || !is_date(att->atttypid) ||
			diagnosis_date_format(search->options, NameStr(att->attname)) != NULL)
			continue;
		for (int k = 0; k < lengthof(times); k++)
		{
			search->next = NULL;
			search->next_score = search->score - 1;
			(void) diagnosis_consider(search,
									  date_format_with(search->options, NameStr(att->attname),
													   psprintf("%.*s%s", length, template,
																times[k])), 0);
			if (search->next != NULL && makes_others(search))
			{
				(void) diagnosis_take_step(search);
				break;
			}
			search->next = NULL;
		}
	}
}

/* Tries common templates; if several fit all samples, the right one cannot be known. */
static bool
consider_dates(Search *search, const char *column)
{
	static const char *const dates[] = {
		"YYYY-MM-DD", "YYYY-DD-MM", "DD/MM/YYYY", "MM/DD/YYYY", "DD.MM.YYYY", "DD-MM-YYYY",
			"MM-DD-YYYY",
		"YYYY/MM/DD", "YYYY.MM.DD", "YYYYMMDD", "DD/MM/YY", "MM/DD/YY", "DD.MM.YY", "DD Mon YYYY",
			"DD-Mon-YYYY",
		"Mon DD, YYYY"
	};

	for (int i = 0; i < lengthof(times); i++)
		for (int k = 0; k < lengthof(dates); k++)
			if (diagnosis_consider(search, date_format_with(search->options, column,
															psprintf("%s%s", dates[k], times[i])),
								   0))
				return true;
	return false;
}

void
diagnosis_over_value(Search *search, const TrialOutcome *failed)
{
	const Target *target = search->diagnosis->target;
	const char *column = failed->column;
	List	   *values = refused_values(search, column);
	AttrNumber	attnum = target_find_column(target, column);
	Oid			type;

	if (attnum == InvalidAttrNumber || values == NIL ||
		consider_nulls(search, column, values) || consider_trim(search, column, values) ||
		consider_quotes(search, CUTS))
		return;
	type = TupleDescAttr(RelationGetDescr(target->rel), attnum - 1)->atttypid;
	if (is_date(type) && consider_dates(search, column))
		return;
	switch (getBaseType(type))
	{
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			if (consider_numbers(search, values, false))
				return;
			break;
		case INT2OID:
		case INT4OID:
		case INT8OID:
			if (consider_numbers(search, values, true))
				return;
			break;
	}
	(void) consider_delimiters(search, failed->value, "", CUTS);
}
