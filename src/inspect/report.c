/*
 * report.c
 *		What bulk_inspect says: options, statements, notes.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace_d.h"
#include "catalog/pg_type.h"
#include "inspect/inspect.h"
#include "inspect/verify.h"
#include "mb/pg_wchar.h"
#include "option/extra_options.h"
#include "table/statement.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/syscache.h"

static void pg_attribute_printf(2, 3)
note(Inspection *inspection, const char *format,...)
{
	StringInfoData text;
	va_list		args;
	int			needed;

	initStringInfo(&text);
	for (;;)
	{
		va_start(args, format);
		needed = appendStringInfoVA(&text, format, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&text, needed);
	}
	inspection->notes = lappend(inspection->notes, text.data);
}

static const char *
column_name(const Inspection *inspection, uint32 column)
{
	return list_nth(inspection->names, column);
}

/* ---- the options of the load ---- */

static void
begin_key(StringInfo json, const char *key)
{
	if (json->len > 1)
		appendStringInfoString(json, ", ");
	escape_json(json, key);
	appendStringInfoString(json, ": ");
}

/* Begins an option, unless the caller has given it. */
static bool
begin_option(const Inspection *inspection, StringInfo json, const char *key)
{
	if (inspection->given != NULL && JB_ROOT_IS_OBJECT(inspection->given))
	{
		JsonbValue *value;

		value = getKeyJsonValueFromContainer(&inspection->given->root, key,
											 strlen(key), NULL);
		if (value != NULL && value->type != jbvNull)
			return false;
	}
	begin_key(json, key);
	return true;
}

static void
put_string(const Inspection *inspection, StringInfo json, const char *key,
		   const char *value)
{
	if (begin_option(inspection, json, key))
		escape_json(json, value);
}

static void
put_byte(const Inspection *inspection, StringInfo json, const char *key,
		 char value)
{
	char		text[2] = {value, '\0'};

	put_string(inspection, json, key, text);
}

static void
put_nulls(const Inspection *inspection, StringInfo json)
{
	const Columns *columns = &inspection->columns;
	bool		csv = inspection->dialect.scan.format == SCAN_CSV;
	uint32		markers = columns->null_markers | (csv ? 0 : 1);
	const char *separator = "";

	/* the default */
	if (columns->nulls != NULL || (csv ? markers == 0 && columns->null_empty :
								   markers == 1 && !columns->null_empty))
		return;
	if (!begin_option(inspection, json, "null"))
		return;
	appendStringInfoChar(json, '[');
	if (columns->null_empty)
	{
		appendStringInfoString(json, "\"\"");
		separator = ", ";
	}
	for (int k = 0; k < SHAPE_NULLS; k++)
		if (markers & (1u << k))
		{
			appendStringInfoString(json, separator);
			escape_json(json, shape_nulls[k]);
			separator = ", ";
		}
	appendStringInfoChar(json, ']');
}

/* An array of those columns that the predicate is true for. */
static void
put_columns(const Inspection *inspection, StringInfo json, const char *key,
			bool (*predicate) (const ColumnStats *))
{
	const Columns *columns = &inspection->columns;
	bool		begun = false;

	for (uint32 i = 0; i < columns->count; i++)
	{
		if (!predicate(&columns->columns[i]))
			continue;
		if (!begun && !begin_option(inspection, json, key))
			return;
		appendStringInfoString(json, begun ? ", " : "[");
		escape_json(json, column_name(inspection, i));
		begun = true;
	}
	if (begun)
		appendStringInfoChar(json, ']');
}

static bool
wants_trim(const ColumnStats *stats)
{
	return stats->trim;
}

static bool
wants_force_null(const ColumnStats *stats)
{
	return stats->force_null;
}

/* The template of a column's dates; NULL where they need none. */
static const char *
find_template(const ColumnStats *stats, char *buffer)
{
	if (stats->template != NULL || stats->order == 0)
		return stats->template;
	shape_template(&stats->date, stats->order, buffer);
	return buffer;
}

/* Begins the option with the first of them. */
static void
put_date_format(StringInfo json, bool *begun, const char *column, const char *template)
{
	if (!*begun)
		begin_key(json, "date_format");
	appendStringInfoString(json, *begun ? ", " : "{");
	escape_json(json, column);
	appendStringInfoString(json, ": ");
	escape_json(json, template);
	*begun = true;
}

/* Those that were found, and those of the caller. */
static void
put_date_formats(const Inspection *inspection, StringInfo json)
{
	const Columns *columns = &inspection->columns;
	bool		begun = false;
	ListCell   *lc;

	for (uint32 i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];
		char		buffer[64];
		const char *template = find_template(stats, buffer);

		if (template == buffer)
			put_date_format(json, &begun, column_name(inspection, i), template);
	}
	foreach(lc, inspection->options->date_formats)
	{
		const BulkDateFormat *format = lfirst(lc);

		put_date_format(json, &begun, format->column, format->template);
	}
	if (begun)
		appendStringInfoChar(json, '}');
}

static void
put_dialect(const Inspection *inspection, StringInfo json)
{
	const Dialect *dialect = &inspection->dialect;
	bool		csv = dialect->scan.format == SCAN_CSV;

	if (inspection->columns.objects != NULL)
	{
		put_string(inspection, json, "format", "json");
		return;
	}
	if (!csv)
		put_string(inspection, json, "format", "text");
	if (strcmp(dialect->separator, csv ? "," : "\t") != 0)
		put_string(inspection, json, "delimiter", dialect->separator);
	if (csv && dialect->scan.quote != '"')
		put_byte(inspection, json, "quote", dialect->scan.quote);
	if (csv && dialect->scan.escape != dialect->scan.quote)
		put_byte(inspection, json, "escape", dialect->scan.escape);
	if (dialect->eol == SCAN_EOL_ANY)
		put_string(inspection, json, "newline", "any");
	if (dialect->comment[0] != '\0')
		put_string(inspection, json, "comment", dialect->comment);
}

/* What the caller has given, as it is; templates of dates are among those that were found. */
static void
put_given(const Inspection *inspection, StringInfo json)
{
	JsonbIterator *it;
	JsonbValue	value;
	JsonbIteratorToken token;
	char	   *key = NULL;

	if (inspection->given == NULL)
		return;
	it = JsonbIteratorInit(&inspection->given->root);
	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			key = pnstrdup(value.val.string.val, value.val.string.len);
		else if (token == WJB_VALUE && value.type != jbvNull && strcmp(key, "date_format") != 0)
		{
			Jsonb	   *one = JsonbValueToJsonb(&value);

			begin_key(json, key);
			appendStringInfoString(json, JsonbToCString(NULL, &one->root, VARSIZE(one)));
		}
	}
}

/* What values need. */
static void
put_values(const Inspection *inspection, StringInfo json)
{
	const Columns *columns = &inspection->columns;

	if (columns->trim_all && begin_option(inspection, json, "trim"))
		appendStringInfoString(json, "true");
	/* fields are a function's arguments, not columns */
	if (inspection->options->transform != NULL)
		return;
	put_columns(inspection, json, "force_null", wants_force_null);
	if (!columns->trim_all)
		put_columns(inspection, json, "trim", wants_trim);
	put_date_formats(inspection, json);
	if (columns->decimal_mark != '.')
		put_byte(inspection, json, "decimal_mark", columns->decimal_mark);
}

static void
write_options(Inspection *inspection)
{
	const Columns *columns = &inspection->columns;
	const Sample *sample = inspection->sample;
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	put_dialect(inspection, &json);
	if (columns->header_lines == 1 && begin_option(inspection, &json, "header"))
		appendStringInfoString(&json, "true");
	if (columns->header_lines > 1 && begin_option(inspection, &json, "header"))
		appendStringInfo(&json, "%u", columns->header_lines);
	put_string(inspection, &json, "encoding", sample->charset.name);
	put_nulls(inspection, &json);
	put_values(inspection, &json);
	if (columns->short_rows > 0 || columns->blank > 0)
		put_string(inspection, &json, "missing_columns", "null");
	if (columns->objects != NULL && columns->objects->unnamed)
		put_string(inspection, &json, "extra_columns", "ignore");
	if (columns->long_rows > 0 || columns->faulty > 0 ||
		sample->charset.invalid > 0)
		put_string(inspection, &json, "on_error", "ignore");
	put_given(inspection, &json);
	appendStringInfoChar(&json, '}');
	inspection->load_options = json.data;
}

/* ---- statements ---- */

/* With its schema where another type of that name comes first. */
static const char *
type_name(ShapeType type)
{
	const char *name = shape_type_names[type];
	Oid			oid = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
									  ObjectIdGetDatum(PG_CATALOG_NAMESPACE));

	return !OidIsValid(oid) || TypeIsVisible(oid) ? name : psprintf("pg_catalog.%s", name);
}

static bool
is_column(const Inspection *inspection, const char *name)
{
	ListCell   *lc;

	foreach(lc, inspection->names)
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	return false;
}

/* Columns that option extra fills, and not the file. */
static void
write_extra(const Inspection *inspection, StringInfo text)
{
	ListCell   *lc;

	foreach(lc, inspection->options->extra)
	{
		const BulkExtra *extra = lfirst(lc);
		bool		number = extra->kind == BULK_EXTRA_LINE || extra->kind == BULK_EXTRA_LOAD_ID;

		if (is_column(inspection, extra->column))
			continue;
		appendStringInfo(text, ",\n    %s %s", quote_identifier(extra->column),
						 number ? "bigint" : type_name(SHAPE_TEXT));
	}
}

static void
write_statements(Inspection *inspection)
{
	const Columns *columns = &inspection->columns;
	const char *table = quote_qualified_identifier(inspection->table_schema, inspection->table);
	char	   *call;
	StringInfoData text;
	const char *refusal;

	if (columns->wanted + list_length(inspection->options->extra) > COLUMNS_MAX ||
		columns->count == 0)
		return;
	initStringInfo(&text);
	appendStringInfo(&text, "CREATE TABLE %s (", table);
	for (uint32 i = 0; i < columns->count; i++)
		appendStringInfo(&text, "%s\n    %s %s", i > 0 ? "," : "",
						 quote_identifier(column_name(inspection, i)),
						 type_name(columns->columns[i].type));
	write_extra(inspection, &text);
	appendStringInfoString(&text, "\n)");
	inspection->create_table = text.data;

	if (inspection->encoding == NULL)
		return;
	refusal = verify_options(inspection->load_options);
	if (refusal != NULL)
	{
		note(inspection, "bulk_load refuses these options together: %s", refusal);
		return;
	}
	call = statement_call(inspection->schema, "bulk_load", table,
						  encoding_path_text(inspection->path), inspection->load_options);
	/* sent as one it is one transaction, in which nothing is loaded where no table could be made */
	inspection->create_and_load = psprintf("%s;\n%s", inspection->create_table, call);
	if (inspection->taken)
		note(inspection,
			 "relation %s exists already, and nothing is loaded into it unseen; name another one in option \"table\", or call bulk_load with load_options",
			 table);
	else
		inspection->bulk_load = call;
}

/* The first value of a column: of a long one its first letters, as the file has them. */
static char *
make_example(const Inspection *inspection, const ColumnStats *stats)
{
	int			length = stats->example_length;

	if (length == COLUMNS_EXAMPLE && inspection->encoding != NULL)
		length = pg_encoding_mbcliplen(inspection->encoding->file, stats->example, length, length);
	return verify_text(inspection->encoding, stats->example, length);
}

static void
write_columns(Inspection *inspection)
{
	const Columns *columns = &inspection->columns;
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoChar(&json, '[');
	for (uint32 i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];
		char		buffer[64];
		const char *template;

		appendStringInfoString(&json, i > 0 ? ", {\"name\": " : "{\"name\": ");
		escape_json(&json, column_name(inspection, i));
		appendStringInfo(&json, ", \"type\": \"%s\"", shape_type_names[stats->type]);
		appendStringInfo(&json, ", \"null_share\": %.4f",
						 columns->rows == 0 ? 0 : (double) stats->nulls / columns->rows);
		if (stats->values > 0)
		{
			appendStringInfoString(&json, ", \"example\": ");
			escape_json(&json, make_example(inspection, stats));
		}
		if ((template = find_template(stats, buffer)) != NULL)
		{
			appendStringInfoString(&json, ", \"date_format\": ");
			escape_json(&json, template);
		}
		appendStringInfoChar(&json, '}');
	}
	appendStringInfoChar(&json, ']');
	inspection->column_list = json.data;
}

/* ---- notes ---- */

static void
note_encoding(Inspection *inspection)
{
	const Sample *sample = inspection->sample;
	const char *name = sample->charset.name;

	if (inspection->encoding == NULL)
		note(inspection, "this database cannot convert encoding %s", name);
	else if (!sample->charset.sure)
		note(inspection, "encoding %s is a guess", name);
	if (sample->charset.invalid > 0)
		note(inspection, "%zu bytes of the sample are not valid in encoding %s",
			 sample->charset.invalid, name);
}

/* Whether a column begins with an array of objects. */
static bool
has_objects(const ColumnStats *stats)
{
	size_t		i = 1;

	while (i < stats->example_length && isspace((unsigned char) stats->example[i]))
		i++;
	return stats->type == SHAPE_JSONB && stats->example[0] == '[' &&
		i < stats->example_length && stats->example[i] == '{';
}

/* A single object may have in an array what rows are wanted of. */
static void
note_longest_array(Inspection *inspection)
{
	const Columns *columns = &inspection->columns;
	int			longest = -1;

	for (uint32 i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];

		if (has_objects(stats) &&
			(longest < 0 || stats->longest > columns->columns[longest].longest))
			longest = i;
	}
	if (longest >= 0)
		note(inspection,
			 "the file is a single object, and so a single row; jsonb_array_elements(%s) has the objects of its longest array as rows",
			 quote_identifier(column_name(inspection, longest)));
}

static void
note_too_many(Inspection *inspection)
{
	if (inspection->objects != NULL && inspection->objects->too_many)
		note(inspection, "the objects have more than %d different keys, and a table has no more columns",
			 COLUMNS_MAX);
}

static void
note_objects(Inspection *inspection)
{
	const Columns *columns = &inspection->columns;
	const Objects *objects = columns->objects;
	StringInfoData strings;

	if (columns->rows == 0)
		note(inspection, objects->rows == 0 && !inspection->sample->complete ?
			 "there are no rows in the sample; the first one may be longer" :
			 "there are no rows in the sample");
	if (columns->rows == 1 && inspection->sample->complete)
		note_longest_array(inspection);
	if (columns->short_rows > 0)
		note(inspection, "objects of the sample that lack keys of others: " UINT64_FORMAT,
			 (uint64) columns->short_rows);
	if (columns->faulty > 0)
		note(inspection,
			 "bad rows of the sample, which are not JSON objects, have none of the columns, or a character that no text can have: " UINT64_FORMAT,
			 (uint64) columns->faulty);
	if (objects->repeating > 0)
		note(inspection,
			 "objects of the sample with a key that comes twice, of which the last value counts: " UINT64_FORMAT,
			 (uint64) objects->repeating);
	if (objects->unnamed)
		note(inspection, inspection->sample->complete ?
			 "keys that cannot be the name of a column are not loaded, such as \"%s\"" :
			 "keys that cannot be the name of a column are not loaded, such as \"%s\", nor any that the sample does not have",
			 verify_text(inspection->encoding, objects->unnamed_key,
						 strlen(objects->unnamed_key)));
	if (objects->alike[0] != objects->alike[1])
		note(inspection,
			 "there are keys that differ in the case of letters alone, such as \"%s\" and \"%s\"; each has a column",
			 column_name(inspection, objects->alike[0]),
			 column_name(inspection, objects->alike[1]));
	note_too_many(inspection);
	initStringInfo(&strings);
	for (uint32 i = 0; i < columns->count; i++)
		if (columns->columns[i].digits_quoted && columns->columns[i].type == SHAPE_TEXT)
			appendStringInfo(&strings, "%s%s", strings.len > 0 ? ", " : "",
							 quote_identifier(column_name(inspection, i)));
	if (strings.len > 0)
		note(inspection,
			 "columns whose values are numbers in quotes, and so stay text: %s",
			 strings.data);
}

static void
note_rows(Inspection *inspection)
{
	const Columns *columns = &inspection->columns;

	if (columns->rows == 0)
		note(inspection, "there are no rows in the sample");
	if (columns->preamble > 0)
		note(inspection, "lines before the %s: %u",
			 columns->has_header ? "header" : "data", columns->preamble);
	if (columns->has_header && columns->row_names)
		note(inspection,
			 "the header has one name less than there are columns; it was taken for that of the first one");
	if (columns->blank > 0)
		note(inspection, "empty lines in the sample, which become rows of NULL: " UINT64_FORMAT,
			 (uint64) columns->blank);
	if (columns->short_rows > 0)
		note(inspection, "rows of the sample with fewer fields than columns: " UINT64_FORMAT,
			 (uint64) columns->short_rows);
	if (columns->longest > columns->regular)
		note(inspection, "rows of the sample have up to %u fields, most or the header %u",
			 columns->longest, columns->regular);
	if (columns->long_rows > 0)
		note(inspection,
			 "rows of the sample with too many fields, which are bad rows: " UINT64_FORMAT,
			 (uint64) columns->long_rows);
	if (columns->faulty > 0)
		note(inspection,
			 "rows of the sample with broken quotes, line ends or zero bytes, which are bad rows: " UINT64_FORMAT,
			 (uint64) columns->faulty);
	if (inspection->dialect.merged > 0)
		note(inspection,
			 "lines of the sample that look like rows and are within quotes, so that they become part of a row: %u; if quotes are part of the values, set the option \"quote\" to a character that the file does not have",
			 inspection->dialect.merged);
	if (columns->has_header && columns->header < 0 && columns->doubtful)
		note(inspection,
			 "the first row was taken for names by its looks alone; if it is one of data, set the option \"header\" to false");
	if (columns->wanted > COLUMNS_MAX)
		note(inspection, "the file has %u columns, a table at most %d",
			 columns->wanted, COLUMNS_MAX);
	if (inspection->dialect.comment[0] != '\0' && inspection->options->comment == NULL)
		note(inspection,
			 "lines that begin with \"%s\" are taken for comments and not loaded; if they are rows, leave the option \"comment\" out",
			 inspection->dialect.comment);
	note_too_many(inspection);
	if (inspection->documents)
		note(inspection,
			 "each line is a JSON document; the options \"delimiter\" and \"quote\" name characters that none can have");
	else
	{
		if (inspection->dialect.no_delimiter)
			note(inspection,
				 "commas are part of the values of the only column; the option \"delimiter\" names a character that the sample does not have");
		if (inspection->dialect.no_quote)
			note(inspection,
				 "quotes are part of the values; the option \"quote\" names a character that the sample does not have");
	}
}

static void
note_columns(Inspection *inspection)
{
	const Columns *columns = &inspection->columns;

	for (uint32 i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];
		char		template[64];

		if (stats->ambiguous)
		{
			shape_template(&stats->date, stats->order, template);
			note(inspection, "column %s: no date of the sample tells day from month; %s is a guess",
				 quote_identifier(column_name(inspection, i)), template);
		}
		if (stats->type == SHAPE_TIMESTAMPTZ && stats->zoneless)
			note(inspection,
				 "column %s: values without a time zone are taken for those of the session's",
				 quote_identifier(column_name(inspection, i)));
		if (stats->type == SHAPE_TEXT && stats->values > 0)
			for (int k = SHAPE_SURE_NULLS; k < SHAPE_NULLS; k++)
				if ((columns->null_markers & (1u << k)) && stats->markers[k] > 0)
					note(inspection, "column %s: \"%s\" becomes NULL, as in other columns",
						 quote_identifier(column_name(inspection, i)), shape_nulls[k]);
	}
}

/* Whether pg_read_file reads the file: as it is, in the database's encoding. */
static bool
is_readable(const Inspection *inspection)
{
	const Sample *sample = inspection->sample;

	return sample->compression == BULK_COMPRESSION_NONE && !sample->utf16 &&
		!sample->converted && sample->charset.mark == 0 && sample->charset.invalid == 0 &&
		inspection->encoding != NULL && !inspection->encoding->transcode;
}

/* A document of JSON that is no objects. */
static void
note_document(Inspection *inspection)
{
	const Objects *objects = inspection->objects;

	if (objects->too_many)
		note_too_many(inspection);
	else if (objects->good == 0 && objects->bad == 0 && !inspection->sample->complete)
		note(inspection, "the file is a JSON document, of which the sample does not have one whole row");
	else
		note(inspection, "the file is a JSON document, but not one of objects with keys");
	if (is_readable(inspection))
		note(inspection, "SELECT * FROM %s(pg_read_file(%s)::jsonb) reads it",
			 objects->eol == SCAN_EOL_JSON_ARRAY ||
			 objects->eol == SCAN_EOL_JSON_END ? "jsonb_array_elements" : "jsonb_each",
			 quote_literal_cstr(encoding_path_text(inspection->file)));
}

static void
note_misfit(Inspection *inspection)
{
	if (inspection->misfit != NULL)
		note(inspection, "the file is made of JSON objects, but option \"%s\" is not for format \"json\"",
			 inspection->misfit);
}

void
report_write_other(Inspection *inspection)
{
	const ScanMagic *magic = inspection->sample->magic;

	inspection->unreadable = true;
	if (magic != NULL)
	{
		inspection->format = magic->name;
		note(inspection, "the file is %s, not text", magic->title);
		note(inspection, "%s", magic->advice);
		return;
	}
	inspection->format = "json";
	note_misfit(inspection);
	if (inspection->misfit == NULL)
		note_document(inspection);
}

void
report_write(Inspection *inspection)
{
	static const char *const newlines[] = {
		[SCAN_EOL_UNKNOWN] = NULL, [SCAN_EOL_NL] = "lf", [SCAN_EOL_CR] = "cr",
		[SCAN_EOL_CRNL] = "crlf", [SCAN_EOL_ANY] = "mixed"
	};

	inspection->newline = newlines[inspection->dialect.eol];
	if (inspection->format == NULL)
		inspection->format = inspection->columns.objects != NULL ? "json" :
			inspection->documents ? "ndjson" :
			inspection->dialect.scan.format == SCAN_TEXT ? "text" : "csv";
	write_columns(inspection);
	write_options(inspection);
	write_statements(inspection);
	note_encoding(inspection);
	if (inspection->columns.objects != NULL)
		note_objects(inspection);
	else
		note_rows(inspection);
	note_columns(inspection);
	note_misfit(inspection);
}
