/*
 * inspect.c
 *		See inspect.h.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "inspect/document.h"
#include "inspect/inspect.h"
#include "inspect/naming.h"
#include "inspect/object_columns.h"
#include "inspect/verify.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parser/scansup.h"
#include "stream/manifest.h"
#include "stream/source.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

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

static Jsonb *
delete_option(Jsonb *options, const char *key)
{
	return DatumGetJsonbP(DirectFunctionCall2(jsonb_delete, JsonbPGetDatum(options),
											  CStringGetTextDatum(key)));
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

/*
 * One part of a name, as it is or in double quotes, and what follows it; NULL where it is none.
 */
static char *
take_part(char **at)
{
	char	   *s = *at;
	char	   *part = palloc(strlen(s) + 1);
	char	   *to = part;

	if (*s == '"')
	{
		for (s++; *s != '"' || *(++s) == '"'; *to++ = *s++)
			if (*s == '\0')
				return NULL;
	}
	else
		while (*s != '\0' && *s != '.' && *s != '"')
			*to++ = *s++;
	*to = '\0';
	*at = s;
	if (part[0] == '\0' || to - part >= NAMEDATALEN || (*s != '\0' && *s != '.'))
		return NULL;
	return part;
}

/* "name" or "schema.name"; what has a point or a double quote in it is to be quoted. */
static bool
take_table(Inspection *inspection, char *text)
{
	inspection->table = take_part(&text);
	if (inspection->table == NULL || *text == '\0')
		return inspection->table != NULL;
	text++;
	inspection->table_schema = inspection->table;
	inspection->table = take_part(&text);
	return inspection->table != NULL && *text == '\0';
}

/*
 * The schema of a table that names none; InvalidOid where it does not exist yet.
 * fetch_search_path would create the one for temporary tables.
 */
static Oid
find_schema(void)
{
	Oid			temporary;
	Oid			toast;
	Oid			path[2] = {InvalidOid, InvalidOid};
	List	   *names;

	GetTempNamespaceState(&temporary, &toast);
	if (OidIsValid(temporary))
	{
		List	   *schemas = fetch_search_path(false);

		return schemas != NIL ? linitial_oid(schemas) : InvalidOid;
	}
	if (SplitIdentifierString(pstrdup(namespace_search_path), ',', &names) && names != NIL &&
		strcmp(linitial(names), "pg_temp") == 0)
		return InvalidOid;
	fetch_search_path_array(path, lengthof(path));
	return path[0] == PG_CATALOG_NAMESPACE ? path[1] : path[0];
}

/*
 * Finds out whether a table could have the name.  Where that is found in
 * another schema first, the one that it will be in is named, too, or what is
 * loaded would go to the wrong one.
 */
static void
look_at_table(Inspection *inspection)
{
	Oid			namespace = inspection->table_schema != NULL ?
		get_namespace_oid(inspection->table_schema, true) : find_schema();

	inspection->taken = OidIsValid(namespace) &&
		OidIsValid(get_relname_relid(inspection->table, namespace));
	if (inspection->table_schema == NULL && !inspection->taken && OidIsValid(namespace) &&
		OidIsValid(RelnameGetRelid(inspection->table)))
		inspection->table_schema = get_namespace_name(namespace);
}

/* Whether the caller says that the file is JSON. */
static bool
is_json(const Inspection *inspection)
{
	return inspection->options->format == BULK_JSON;
}

static void
take_options(Inspection *inspection, Jsonb *options)
{
	JsonbValue *table = get_option(options, TABLE_KEY);

	if (table != NULL &&
		(table->type != jbvString ||
		 !take_table(inspection, pnstrdup(table->val.string.val, table->val.string.len))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must be the name of a table", TABLE_KEY),
				 errhint("Write it as in \"name\" or \"schema.name\"; what has a point in it must be in double quotes.")));
	if (options != NULL && JB_ROOT_IS_OBJECT(options))
		options = delete_option(options, TABLE_KEY);
	inspection->options = options_parse(options);
	/* what auto means is to be found out anyhow */
	if (inspection->options->delimiter_auto)
		options = delete_option(options, "delimiter");
	if (inspection->options->header == BULK_HEADER_AUTO)
		options = delete_option(options, "header");
	inspection->given = options;
	inspection->options = options_parse(options);
	if (!options_takes(inspection->options, "delimiter") && !is_json(inspection))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only formats \"csv\", \"text\" and \"json\" can be inspected")));
	if (inspection->options->delimiter != NULL &&
		strlen(inspection->options->delimiter) > DIALECT_SEPARATOR)
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

/* The files of a path or pattern, or those that a manifest lists. */
static List *
choose_files(Inspection *inspection, const char *path)
{
	bool		manifest = inspection->options->manifest;
	List	   *files = NIL;
	ListCell   *lc;

	if (pg_strcasecmp(path, SOURCE_CLIENT) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot inspect what the client sends"),
				 errhint("Give the absolute path of a file on the server.")));
	if (manifest)
		foreach(lc, manifest_read(path, false))
			files = lappend(files, ((ListedFile *) lfirst(lc))->path);
	else
		files = source_expand(path, false);
	if (list_length(files) > 1)
		inspection->notes = lappend(inspection->notes,
									psprintf("%d files %s; \"%s\" was looked at, and the beginning of %d more",
											 list_length(files), manifest ? "are listed" : "match",
											 encoding_path_text(linitial(files)),
											 Min(list_length(files), SAMPLE_FILES) - 1));
	return files;
}

/* The conversion of what was read; NULL where there is none. */
static Encoding *
open_encoding(const Sample *sample)
{
	int			file = pg_char_to_encoding(sample->charset.name);
	int			database = GetDatabaseEncoding();
	Encoding   *encoding = palloc(sizeof(Encoding));

	if (sample->utf16)
		file = PG_UTF8;
	else if (sample->converted)
		file = database;
	if (file < 0 || (file != database && file != PG_SQL_ASCII && database != PG_SQL_ASCII &&
					 !OidIsValid(FindDefaultConversionProc(file, database))))
		return NULL;
	encoding_open(encoding, file);
	return encoding;
}

/* An option that was given and is not for files of a format; NULL: there is none. */
static char *
find_misfit(const Inspection *inspection, BulkFormat format)
{
	BulkOptions options = *inspection->options;
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	value;
	char	   *key = NULL;

	if (inspection->given == NULL)
		return NULL;
	options.format = format;
	it = JsonbIteratorInit(&inspection->given->root);
	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			key = pnstrdup(value.val.string.val, value.val.string.len);
		else if (token == WJB_VALUE && value.type != jbvNull && !options_takes(&options, key))
			return key;
	}
	return NULL;
}

static void
find_dialect(Inspection *inspection, SheetSpace *space)
{
	const BulkOptions *options = inspection->options;
	Jsonb	   *given = inspection->given;
	DialectHints hints = {0};

	if (get_option(given, "format") != NULL)
	{
		hints.has_format = true;
		hints.format = options_dialect(options).format;
	}
	else if (find_misfit(inspection, BULK_TEXT) != NULL)
	{
		hints.has_format = true;
		hints.format = SCAN_CSV;
	}
	if (get_option(given, "delimiter") != NULL)
		hints.delimiter = options->delimiter;
	if (get_option(given, "quote") != NULL)
		hints.quote = options->quote;
	if (get_option(given, "escape") != NULL)
		hints.escape = options->escape;
	/* no document has such bytes, so that each is one field */
	if (inspection->documents)
	{
		hints.has_format = true;
		hints.format = SCAN_CSV;
		hints.delimiter = "\001";
		hints.quote = hints.escape = '\002';
	}
	hints.comment = options->comment;
	hints.any_newline = options->newline == BULK_NEWLINE_ANY;
	hints.non_ascii = inspection->encoding != NULL && !inspection->sample->converted &&
		!inspection->encoding->transcode && GetDatabaseEncoding() == PG_UTF8;
	dialect_guess(&inspection->sample->spans[0], &hints, space, &inspection->dialect);
}

/* Columns of the sample, of which nothing is known yet. */
static void
begin_columns(Inspection *inspection, SheetSpace *space)
{
	Columns    *columns = &inspection->columns;
	const Sample *sample = inspection->sample;

	memset(columns, 0, sizeof(Columns));
	columns->spans = sample->spans;
	columns->nspans = sample->nspans;
	columns->space = space;
	columns->buffer = palloc(sample->longest + SCAN_PADDING);
	columns->columns = palloc0(COLUMNS_MAX * sizeof(ColumnStats));
	columns->month_first = DateOrder == DATEORDER_MDY;
}

/* What the caller knows of dates. */
static void
take_date_formats(Inspection *inspection)
{
	Columns    *columns = &inspection->columns;
	ListCell   *lc;

	foreach(lc, inspection->options->date_formats)
	{
		const BulkDateFormat *format = lfirst(lc);

		for (uint32 i = 0; i < columns->count; i++)
			if (strcmp(list_nth(inspection->names, i), format->column) == 0)
			{
				columns->columns[i].template = format->template;
				columns->columns[i].template_type =
					verify_template(format->template, inspection->encoding, &columns->columns[i]);
			}
	}
}

static void
decide_columns(Inspection *inspection)
{
	CHECK_FOR_INTERRUPTS();
	take_date_formats(inspection);
	columns_decide(&inspection->columns);
	verify_types(&inspection->columns, inspection->encoding);
}

/* ---- rows by a dialect ---- */

static void
find_columns(Inspection *inspection, SheetSpace *space)
{
	const BulkOptions *options = inspection->options;
	Columns    *columns = &inspection->columns;

	begin_columns(inspection, space);
	columns->dialect = &inspection->dialect;
	columns->names = palloc(inspection->sample->longest + SCAN_PADDING);
	columns->header = inspection->documents ? 0 : -1;
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
	/* a comma between thousands is none before decimals */
	if (get_option(inspection->given, "decimal_mark") != NULL ||
		(options->thousands_mark != NULL && options->thousands_mark[0] == ','))
		columns->decimal_mark = options->decimal_mark;
	columns_find(columns);
	inspection->names = naming_columns(columns, inspection->encoding, inspection->documents);
	decide_columns(inspection);
}

/*
 * Whether the file is JSON, unless the caller knows how it is cut.  Who says that it
 * is csv wants to have documents in lines as they are.
 */
static DocumentKind
find_documents(const Inspection *inspection)
{
	static const char *const keys[] = {"delimiter", "quote", "escape", "header", "comment"};
	bool		csv = get_option(inspection->given, "format") != NULL;
	DocumentKind kind;

	for (int i = 0; i < lengthof(keys); i++)
		if (get_option(inspection->given, keys[i]) != NULL)
			return DOCUMENT_NONE;
	if (options_dialect(inspection->options).format != SCAN_CSV)
		return DOCUMENT_NONE;
	kind = document_detect(&inspection->sample->spans[0]);
	return csv && kind == DOCUMENT_WHOLE ? DOCUMENT_NONE : kind;
}

/* Dialect, columns, types. */
static void
find_lines(Inspection *inspection, SheetSpace *space)
{
	CHECK_FOR_INTERRUPTS();
	find_dialect(inspection, space);
	CHECK_FOR_INTERRUPTS();
	sample_align(inspection->sample, &inspection->dialect, space);
	find_columns(inspection, space);
}

static void
find_rows(Inspection *inspection, SheetSpace *space)
{
	find_lines(inspection, space);
	if (inspection->documents &&
		(inspection->columns.count != 1 || inspection->columns.columns[0].type != SHAPE_JSONB))
	{
		/* they only looked so */
		inspection->documents = false;
		find_lines(inspection, space);
	}
}

/* ---- objects of JSON ---- */

/* Whether the rows of the file are objects, whose keys are then known. */
static bool
find_objects(Inspection *inspection, SheetSpace *space)
{
	Sample	   *sample = inspection->sample;
	Objects    *objects;

	if (!is_json(inspection) && get_option(inspection->given, "format") != NULL)
		return false;
	CHECK_FOR_INTERRUPTS();
	objects = inspection->objects = palloc(sizeof(Objects));
	objects_begin(objects, space,
				  inspection->encoding == NULL || inspection->encoding->file != PG_UTF8);
	if (!objects_detect(objects, &sample->spans[0]) && !is_json(inspection))
		return false;
	inspection->misfit = find_misfit(inspection, BULK_JSON);
	return inspection->misfit == NULL;
}

static void
find_keys(Inspection *inspection, SheetSpace *space)
{
	Sample	   *sample = inspection->sample;
	Objects    *objects = inspection->objects;

	sample_align_objects(sample, objects);
	for (int i = 1; i < sample->nspans; i++)
		objects_add(objects, &sample->spans[i]);
	inspection->names = naming_keys(objects, inspection->encoding);
	objects->scan.ignore_extra = get_option(inspection->given, "extra_columns") != NULL ?
		inspection->options->ignore_extra : objects->unnamed || objects->too_many;

	CHECK_FOR_INTERRUPTS();
	inspection->dialect.eol = objects->newline;
	begin_columns(inspection, space);
	inspection->columns.objects = objects;
	object_columns_find(&inspection->columns);
	decide_columns(inspection);
}

Inspection *
inspect_file(const char *path, Jsonb *options, const char *schema)
{
	Inspection *inspection = palloc0(sizeof(Inspection));
	SheetSpace *space = sample_space();
	DocumentKind documents;
	List	   *files;

	take_options(inspection, options);
	files = choose_files(inspection, path);
	inspection->path = path;
	inspection->file = linitial(files);
	inspection->schema = schema;
	if (inspection->table == NULL)
		inspection->table = table_of_path(path);
	look_at_table(inspection);
	inspection->sample = sample_read(files, inspection->options,
									 get_option(inspection->given, "encoding") != NULL);
	if (inspection->sample->magic != NULL)
	{
		report_write_other(inspection);
		return inspection;
	}
	inspection->encoding = open_encoding(inspection->sample);
	if (find_objects(inspection, space))
		find_keys(inspection, space);
	else
	{
		documents = find_documents(inspection);
		if (documents == DOCUMENT_WHOLE)
		{
			report_write_other(inspection);
			return inspection;
		}
		inspection->documents = documents == DOCUMENT_LINES;
		find_rows(inspection, space);
	}
	report_write(inspection);
	return inspection;
}
