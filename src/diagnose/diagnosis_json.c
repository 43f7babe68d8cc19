/*
 * diagnosis_json.c
 *		Files of JSON objects that are loaded as lines of fields, and the reverse; objects
 *		that no option fixes.
 *
 * Rows of another format cannot be told by the samples alone: an object that goes over several
 * lines is no line.  So the beginning of the first file is kept, too.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "diagnose/diagnosis.h"
#include "diagnose/diagnosis_search.h"
#include "format/format.h"
#include "mb/pg_wchar.h"
#include "option/options_show.h"
#include "scan/json.h"
#include "scan/json_rows.h"
#include "server/text_clip.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

/* Maximum number of objects that are tried. */
#define MAX_OBJECTS 16

#define FORMAT_JSON "{\"format\": \"json\"}"

/* ---- what a text looks like ---- */

/* The first byte that is no white space, or '\0'. */
static char
first_byte(const char *text, uint32 length)
{
	for (uint32 i = 0; i < length; i++)
		if (strchr(" \t\r\n", text[i]) == NULL)
			return text[i];
	return '\0';
}

static bool
is_bracket(char c)
{
	return c == '{' || c == '[';
}

/*
 * Whether a text may be the beginning of an object, or of an array of objects.  A literal of an
 * array begins with a brace, too.
 */
static bool
may_begin_object(const char *text, uint32 length)
{
	static const char *const allowed[] = {"{[", "{", "\"}"};
	int			next = 0;

	for (uint32 i = 0; i < length && next < lengthof(allowed); i++)
	{
		if (strchr(" \t\r\n", text[i]) != NULL)
			continue;
		if (strchr(allowed[next], text[i]) == NULL)
			return false;
		next = text[i] == '{' ? 2 : next + 1;
	}
	return true;
}

/* Whether each sample is a line with an object. */
static bool
are_documents(const RejectKind *kind)
{
	for (int i = 0; i < kind->nsamples; i++)
	{
		const RejectSample *sample = &kind->samples[i];
		const char *last = sample->raw + sample->raw_len;

		while (last > sample->raw && strchr(" \t\r,", last[-1]) != NULL)
			last--;
		if (sample->raw[0] != '{' || last[-1] != '}' ||
			!strchr("\"}", sample->raw[1 + strspn(sample->raw + 1, " \t")]))
			return false;
	}
	return kind->nsamples > 0;
}

/* Prepares a scan for objects, whatever their keys. */
static void
open_scan(ScanJson *json)
{
	*json = (ScanJson) {.ignore_extra = true, .missing_is_null = true};
	json->nslots = scan_json_nslots(0);
	json->slots = palloc(sizeof(uint32_t) * json->nslots);
	scan_json_index(json);
}

/*
 * Objects at the beginning of the file, as samples in an array of MAX_OBJECTS.  Returns their
 * number, which is 0 unless most rows that JSON has there are sound.  *begins: these are
 * objects, or the beginning of a long one.
 */
static int
find_objects(const Diagnosis *diagnosis, RejectSample *samples, bool *begins)
{
	ScanJson	json;
	ScanEol		eol = SCAN_EOL_UNKNOWN;
	ScanRow		rows[MAX_OBJECTS];
	ScanField	fields[MAX_OBJECTS * SCAN_JSON_FIELDS(0)];
	ScanResult	result;
	const char *text = diagnosis->beginning;
	int			n = 0;

	*begins = false;
	if (text == NULL || first_byte(text, diagnosis->beginning_length) == '\0' ||
		!may_begin_object(text, diagnosis->beginning_length))
		return 0;
	open_scan(&json);
	scan_json_rows(&json, &eol, text, text, diagnosis->beginning_length,
				   diagnosis->beginning_is_all, rows, lengthof(rows), fields, lengthof(fields),
				   &result);
	for (uint32 i = 0; i < result.nrows; i++)
		if (rows[i].fault == SCAN_FAULT_NONE)
			samples[n++] = (RejectSample) {
				.raw = reject_sample_raw(CurrentMemoryContext, text + rows[i].start,
										 rows[i].end - rows[i].start),
				.raw_len = rows[i].end - rows[i].start,
				.line = 1 + rows[i].line
			};
	*begins = n * 2 > result.nrows || (result.nrows == 0 && !diagnosis->beginning_is_all);
	return *begins ? n : 0;
}

/* ---- objects that are loaded as lines ---- */

/* Whether documents are all that the table takes. */
static bool
is_for_documents(const Target *target)
{
	Oid			type;

	if (target->nfields != 1 || target->attnums[0] == InvalidAttrNumber)
		return false;
	type = getBaseType(TupleDescAttr(RelationGetDescr(target->rel),
									 target->attnums[0] - 1)->atttypid);
	return type == JSONOID || type == JSONBOID;
}

/* Whether the fields of the file are columns, so that keys can be looked for instead. */
static bool
has_columns_for_keys(const Diagnosis *diagnosis)
{
	const Target *target = diagnosis->target;

	for (int i = 0; i < target->nfields; i++)
		if (target->attnums[i] == InvalidAttrNumber)
			return false;
	return target->nfields > 0 && !is_for_documents(target);
}

static char *
search_objects(Search *search, const char *begun)
{
	return diagnosis_search_from(search, pstrdup(begun)) ? diagnosis_form_hint(search) : NULL;
}

/* The HINT for rows in another format than that of the load, or NULL. */
static char *
try_format(const Diagnosis *diagnosis, const RejectKind *kind, BulkFormat format,
		   char *(*body) (Search *search, const char *begun))
{
	Diagnosis  *other = palloc(sizeof(Diagnosis));
	char	   *begun = options_switch(diagnosis->options, format);
	BulkOptions *options;
	char	   *hint;

	*other = *diagnosis;
	options = options_parse(options_merge(diagnosis->options->json, begun));
	options->by_copy = diagnosis->options->by_copy;
	other->options = options;
	other->ends_load = false;
	if (format_routine(other->options)->by_name)
		other->nrows = 0;
	hint = diagnosis_run(other, kind, begun, body);
	return hint == NULL ? NULL :
		psprintf("%s%s", hint, options_remark_null(diagnosis->options, begun));
}

/* How a column gets lines as they are. */
static char *
advise_documents(const Diagnosis *diagnosis)
{
	char	   *options = psprintf("{%s\"quote\": \"\\u0002\", \"delimiter\": \"\\u0001\"}",
								   options_takes(diagnosis->options, "quote") ? "" :
								   "\"format\": \"csv\", ");

	return psprintf("The lines are JSON documents. A table with one column of type jsonb takes them with %s among the options.",
					options_show(diagnosis->options, options));
}

static char *
advise_objects(const Diagnosis *diagnosis, const RejectKind *kind)
{
	RejectSample samples[MAX_OBJECTS];
	RejectKind	objects = {.reason = REJECT_SYNTAX, .message = "", .samples = samples};
	bool		documents = are_documents(kind);
	bool		begins;
	char	   *hint;

	objects.nsamples = find_objects(diagnosis, samples, &begins);
	/* where the file begins with something else, the samples do not speak for it */
	if (objects.nsamples == 0 && documents &&
		(diagnosis->beginning == NULL || diagnosis->rows_loaded == 0))
		objects = *kind;
	if (objects.nsamples == 0 && !begins)
		return NULL;
	objects.nrows = objects.nsamples;
	if (objects.nsamples > 0 && has_columns_for_keys(diagnosis))
	{
		hint = try_format(diagnosis, &objects, BULK_JSON, search_objects);
		if (hint != NULL)
			return psprintf("The file has JSON objects. %s", hint);
	}
	if (kind->reason == REJECT_SYNTAX && documents)
		return psprintf("%s With %s they can be read into columns that have the names of their keys.",
						advise_documents(diagnosis),
						options_show(diagnosis->options, FORMAT_JSON));
	if (diagnosis->rows_loaded == 0)
		return psprintf("The file has JSON objects. With %s among the options they can be read into columns that have the names of their keys.",
						options_show(diagnosis->options, FORMAT_JSON));
	return NULL;
}

char *
diagnosis_of_header(const Diagnosis *diagnosis, const Reader *reader)
{
	Diagnosis  *copy = palloc(sizeof(Diagnosis));

	*copy = *diagnosis;
	copy->context = CurrentMemoryContext;
	diagnosis_keep_beginning(copy, reader);
	return diagnosis_of_beginning(copy);
}

char *
diagnosis_of_beginning(const Diagnosis *diagnosis)
{
	RejectSample samples[MAX_OBJECTS];
	bool		begins;

	(void) find_objects(diagnosis, samples, &begins);
	if (!begins)
		return NULL;
	if (is_for_documents(diagnosis->target))
		return "The file has JSON objects, and no header line.";
	return psprintf("The file has JSON objects. Set %s among the options.",
					options_show(diagnosis->options,
								 options_switch(diagnosis->options, BULK_JSON)));
}

/* ---- objects within an object ---- */

/*
 * The HINT for an object, or the beginning of one, that has the rows in an array within it;
 * NULL if it has not.
 */
static char *
explain_wrapped(const char *text, uint32 length)
{
	int			depth = 0;
	const char *key = NULL;
	const char *key_end = NULL;

	for (const char *c = text; c < text + length; c++)
	{
		if (*c == '"')
		{
			const char *start = ++c;

			while (c < text + length && *c != '"')
				c += *c == '\\' ? 2 : 1;
			if (depth == 1)
			{
				key = start;
				key_end = c;
			}
		}
		else if (*c == '[' && depth == 1 && key != NULL &&
				 first_byte(c + 1, text + length - c - 1) == '{' &&
				 pg_verifymbstr(key, key_end - key, true))
			return psprintf("If the rows are the objects in the array of key \"%s\", write these alone to a file, for example with the program jq.",
							text_clip(key, key_end - key, SHOWN_BYTES));
		depth += is_bracket(*c) ? 1 : *c == '}' || *c == ']' ? -1 : 0;
	}
	return NULL;
}

/* ---- lines that are loaded as objects ---- */

static char *
search_lines(Search *search, const char *begun)
{
	return diagnosis_search_from(search, pstrdup(begun)) &&
		(search->mapped || diagnosis_count_good(search, search->outcomes) > 0) ?
		diagnosis_form_hint(search) : NULL;
}

static char *
advise_lines(const Diagnosis *diagnosis, const RejectKind *kind)
{
	char	   *hint = NULL;

	if (diagnosis->rows_loaded > 0 ||
		(diagnosis->beginning != NULL &&
		 is_bracket(first_byte(diagnosis->beginning, diagnosis->beginning_length))))
		return NULL;
	for (int i = 0; i < kind->nsamples; i++)
		if (is_bracket(first_byte(kind->samples[i].raw, kind->samples[i].raw_len)) ||
			strchr(kind->samples[i].raw, '\n') != NULL)
			return NULL;
	if (kind->nsamples > 0)
		hint = try_format(diagnosis, kind, BULK_CSV, search_lines);
	if (hint != NULL)
		return psprintf("The file does not begin with a JSON object or array. %s", hint);
	return "The file does not begin with a JSON object or array. If it has lines of fields, set option \"format\" to \"csv\" or \"text\".";
}

char *
diagnosis_other_format(const Diagnosis *diagnosis, const RejectKind *kind)
{
	char	   *hint;

	if (!format_routine(diagnosis->options)->by_name)
		return advise_objects(diagnosis, kind);
	hint = advise_lines(diagnosis, kind);
	if (hint == NULL && kind->nsamples == 0 && kind->reason == REJECT_SYNTAX &&
		diagnosis->beginning != NULL && diagnosis->rows_loaded == 0)
		hint = explain_wrapped(diagnosis->beginning, diagnosis->beginning_length);
	return hint;
}

/* ---- objects that no option fixes ---- */

/* A document's nodes, or NULL where it is not sound. */
static JsonNode *
scan_document(const char *text, uint32 length)
{
	char	   *padded = palloc0(length + SCAN_PADDING);
	JsonNode   *nodes = palloc(sizeof(JsonNode) * JSON_MAX_NODES(length));

	memcpy(padded, text, length);
	return json_scan(padded, length, nodes) > 0 ? nodes : NULL;
}

static bool
is_number_type(Oid type)
{
	switch (getBaseType(type))
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			return true;
		default:
			return false;
	}
}

/* Whether a text is a number with marks between its digits, other than a decimal point. */
static bool
has_marks(const char *text)
{
	const char *point = strchr(text, '.');

	return strpbrk(text, "0123456789") != NULL &&
		strspn(text, "0123456789+-., '_") == strlen(text) &&
		(strpbrk(text, ", '_") != NULL || (point != NULL && strchr(point + 1, '.') != NULL));
}

/* Whether a type takes objects or arrays. */
static bool
is_nested_type(Oid type)
{
	type = getBaseType(type);
	return type == JSONOID || type == JSONBOID || type_is_rowtype(type) ||
		OidIsValid(get_element_type(type));
}

/* What can be done about a value that its column's type rejects. */
static char *
explain_value(const TrialOutcome *outcome, Form_pg_attribute att)
{
	const char *value = outcome->value;

	if (is_bracket(value[0]) && !is_nested_type(att->atttypid) &&
		scan_document(value, strlen(value)) != NULL)
		return psprintf("The value is a JSON %s. A column of type jsonb takes it, and one of type text its text.",
						value[0] == '{' ? "object" : "array");
	if (reject_looks_null(value) && !att->attnotnull)
		return "If the value stands for null, set option \"on_error\" to \"set_null\": it makes every bad value null.";
	if (is_number_type(att->atttypid) && has_marks(value))
		return "Format json has no options for marks in numbers. Load the value into a column of type text, and convert it with to_number.";
	return NULL;
}

typedef struct Parsing
{
	const char *text;
	Guard	   *guard;
} Parsing;

static void
parse_json(void *arg)
{
	Parsing    *parsing = arg;

	guard_enter(parsing->guard);
	(void) DirectFunctionCall1(json_in, CStringGetDatum(parsing->text));
	guard_leave(parsing->guard, false);
}

/* Whether a text that is not JSON would be, if it went on. */
static bool
is_cut_off(const char *text, uint32 length)
{
	ScanJson	json;
	ScanEol		eol = SCAN_EOL_JSON_SERIES;
	ScanRow		row;
	ScanField	fields[SCAN_JSON_FIELDS(0)];
	ScanResult	result;
	char	   *padded = palloc0(length + SCAN_PADDING);

	memcpy(padded, text, length);
	open_scan(&json);
	scan_json_rows(&json, &eol, padded, padded, length, false, &row, 1, fields, lengthof(fields),
				   &result);
	return result.nrows == 0;
}

/* What is wrong with a text that is not JSON. */
static char *
explain_syntax(Search *search, const RejectSample *sample)
{
	Parsing		parsing = {.text = sample->raw, .guard = &search->guard};
	ErrorData  *error;
	char	   *detail;

	if (sample->raw_len == 0)
		return "Perhaps the file is not complete.";
	if (sample->raw[0] == '{' && is_cut_off(sample->raw, sample->raw_len))
		return "The object, or a string in it, is not closed. Perhaps the file is not complete, or a line ends within a string.";
	/* an error that ends the load has the server's DETAIL */
	if (search->diagnosis->ends_load)
		return NULL;
	error = guard_run(&search->guard, parse_json, &parsing);
	detail = error != NULL && error->detail != NULL ? pstrdup(error->detail) : NULL;
	guard_close(&search->guard);
	return detail == NULL ? NULL : psprintf("At line %lld: %s", (long long) sample->line, detail);
}

/* What can be done about a row that is not an object with the keys of columns. */
static char *
explain_row(Search *search, const RejectSample *sample)
{
	JsonNode   *nodes = scan_document(sample->raw, sample->raw_len);
	char	   *hint;

	/* texts of it are shown as they stand */
	if (!pg_verifymbstr(sample->raw, sample->raw_len, true))
		return NULL;
	if (nodes == NULL)
		return explain_syntax(search, sample);
	if (nodes[0].kind != JSON_OBJECT)
		return "Each row must be an object, with the names of columns as keys.";
	hint = explain_wrapped(sample->raw, sample->raw_len);
	if (hint != NULL)
		return hint;
	if (is_for_documents(search->diagnosis->target) && are_documents(search->kind))
		return advise_documents(search->diagnosis);
	if (nodes[0].count == 0)
		return NULL;
	return psprintf("Keys must be the names of columns; the first one is \"%s\".",
					text_clip(sample->raw + nodes[1].start, nodes[1].length, SHOWN_BYTES));
}

char *
diagnosis_explain_object(Search *search)
{
	const TrialOutcome *outcome = &search->outcomes[0];
	AttrNumber	attnum;

	if (!search->by_name || outcome->good || outcome->missing)
		return NULL;
	if (outcome->reason == REJECT_SYNTAX)
		return explain_row(search, &search->kind->samples[0]);
	if (outcome->reason != REJECT_VALUE || outcome->column == NULL || outcome->value == NULL)
		return NULL;
	attnum = target_find_column(search->diagnosis->target, outcome->column);
	return attnum == InvalidAttrNumber ? NULL :
		explain_value(outcome, TupleDescAttr(RelationGetDescr(search->diagnosis->target->rel),
											 attnum - 1));
}
