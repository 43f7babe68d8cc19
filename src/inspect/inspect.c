/*
 * inspect.c
 *		See inspect.h.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "input/source.h"
#include "inspect/inspect.h"
#include "inspect/verify.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parser/scansup.h"
#include "utils/builtins.h"

/* Of a file, what the dialect is guessed from. */
#define PROBE_LENGTH (256 * 1024)

/* The option that is not bulk_load's. */
#define TABLE_KEY "table"

static JsonbValue *
get_option(Jsonb *options, const char *key)
{
	JsonbValue *value;

	if (options == NULL || !JB_ROOT_IS_OBJECT(options))
		return NULL;
	value = getKeyJsonValueFromContainer(&options->root, key, strlen(key), NULL);
	return value == NULL || value->type == jbvNull ? NULL : value;
}

/* The name of a file without its folder and all that follows a point. */
static char *
table_of_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	char	   *name = encoding_path_text(slash != NULL ? slash + 1 : path);
	char	   *point = name[0] != '\0' ? strchr(name + 1, '.') : NULL;
	char	   *to = name;

	if (point != NULL)
		*point = '\0';
	for (char *c = name; *c != '\0'; c++)
	{
		if (strchr("*?[]", *c) != NULL)
			continue;
		*to++ = IS_HIGHBIT_SET(*c) || isalnum((unsigned char) *c) ?
			pg_ascii_tolower((unsigned char) *c) : '_';
	}
	*to = '\0';
	truncate_identifier(name, strlen(name), false);
	return name[0] == '\0' ? "data" : name;
}

static void
take_options(Inspection *inspection, Jsonb *options)
{
	JsonbValue *table = get_option(options, TABLE_KEY);

	if (table != NULL && (table->type != jbvString || table->val.string.len == 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must be the name of a table", TABLE_KEY)));
	inspection->table = table == NULL ? NULL :
		pnstrdup(table->val.string.val, table->val.string.len);
	if (options != NULL && JB_ROOT_IS_OBJECT(options))
		options = DatumGetJsonbP(DirectFunctionCall2(jsonb_delete, JsonbPGetDatum(options),
													 CStringGetTextDatum(TABLE_KEY)));
	inspection->given = options;
	inspection->options = options_parse(options);
	if (inspection->options->format != BULK_CSV &&
		inspection->options->format != BULK_TEXT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only formats \"csv\" and \"text\" can be inspected")));
	if (strlen(inspection->options->delimiter) > DIALECT_SEPARATOR)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"delimiter\" must not have more than %d bytes here",
						DIALECT_SEPARATOR)));
	if (inspection->options->comment != NULL &&
		strlen(inspection->options->comment) >= sizeof(inspection->dialect.comment))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"comment\" must have less than %d bytes here",
						(int) sizeof(inspection->dialect.comment))));
}

/* The files of a path or pattern. */
static List *
choose_files(Inspection *inspection, const char *path)
{
	List	   *files;

	if (strcmp(path, SOURCE_CLIENT) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot inspect what the client sends"),
				 errhint("Give the absolute path of a file on the server.")));
	files = source_expand(path);
	if (list_length(files) > 1)
		inspection->notes = lappend(inspection->notes,
									psprintf("%d files match; \"%s\" was looked at, and the beginning of %d more",
											 list_length(files),
											 encoding_path_text(linitial(files)),
											 Min(list_length(files), SAMPLE_FILES) - 1));
	return files;
}

/* The encoding's conversion; NULL where there is none. */
static Encoding *
open_encoding(const Sample *sample)
{
	int			file = pg_char_to_encoding(sample->charset.name);
	int			database = GetDatabaseEncoding();
	Encoding   *encoding = palloc(sizeof(Encoding));

	if (sample->utf16)
		file = PG_UTF8;
	if (file < 0 || (file != database && file != PG_SQL_ASCII && database != PG_SQL_ASCII &&
					 !OidIsValid(FindDefaultConversionProc(file, database))))
		return NULL;
	encoding_open(encoding, file);
	return encoding;
}

static void
find_dialect(Inspection *inspection, SheetSpace *space)
{
	const BulkOptions *options = inspection->options;
	Jsonb	   *given = inspection->given;
	SheetSpan	probe = inspection->sample->spans[0];
	DialectHints hints = {0};

	if (get_option(given, "format") != NULL)
	{
		hints.has_format = true;
		hints.format = options->format == BULK_TEXT ? SCAN_TEXT : SCAN_CSV;
	}
	if (get_option(given, "delimiter") != NULL)
		hints.delimiter = options->delimiter;
	if (get_option(given, "quote") != NULL)
		hints.quote = options->quote;
	if (get_option(given, "escape") != NULL)
		hints.escape = options->escape;
	hints.comment = options->comment;
	hints.any_newline = options->newline == BULK_NEWLINE_ANY;
	hints.non_ascii = inspection->encoding != NULL &&
		!inspection->encoding->transcode && GetDatabaseEncoding() == PG_UTF8;
	if (probe.length > PROBE_LENGTH)
	{
		probe.length = PROBE_LENGTH;
		probe.to_end = false;
	}
	dialect_guess(&probe, &hints, space, &inspection->dialect);
}

static void
find_columns(Inspection *inspection, SheetSpace *space)
{
	const BulkOptions *options = inspection->options;
	Columns    *columns = &inspection->columns;
	const Sample *sample = inspection->sample;

	columns->spans = sample->spans;
	columns->nspans = sample->nspans;
	columns->dialect = &inspection->dialect;
	columns->space = space;
	columns->buffer = palloc(sample->longest + SCAN_PADDING);
	columns->names = palloc(sample->longest + SCAN_PADDING);
	columns->columns = palloc0(COLUMNS_MAX * sizeof(ColumnStats));
	columns->header = -1;
	if (options->header != BULK_HEADER_SKIP)
		columns->header = 1;
	else if (get_option(inspection->given, "header") != NULL)
		columns->header = options->header_lines;
	if (get_option(inspection->given, "null") != NULL)
	{
		const char **nulls = palloc((list_length(options->nulls) + 1) * sizeof(char *));
		ListCell   *lc;

		foreach(lc, options->nulls)
			nulls[columns->nnulls++] = lfirst(lc);
		columns->nulls = nulls;
	}
	if (get_option(inspection->given, "decimal_mark") != NULL)
		columns->decimal_mark = options->decimal_mark;
	columns->month_first = DateOrder == DATEORDER_MDY;
	columns_find(columns);
	CHECK_FOR_INTERRUPTS();
	columns_decide(columns);
}

Inspection *
inspect_file(const char *path, Jsonb *options, const char *schema)
{
	Inspection *inspection = palloc0(sizeof(Inspection));
	SheetSpace *space = palloc(sizeof(SheetSpace));
	List	   *files;

	take_options(inspection, options);
	files = choose_files(inspection, path);
	inspection->path = path;
	inspection->schema = schema;
	if (inspection->table == NULL)
		inspection->table = table_of_path(path);
	inspection->sample = sample_read(files, inspection->options,
									 get_option(inspection->given, "encoding") != NULL);
	inspection->encoding = open_encoding(inspection->sample);
	CHECK_FOR_INTERRUPTS();
	find_dialect(inspection, space);
	CHECK_FOR_INTERRUPTS();
	sample_align(inspection->sample, &inspection->dialect, space);
	find_columns(inspection, space);
	verify_types(&inspection->columns, inspection->encoding);
	report_write(inspection);
	return inspection;
}
