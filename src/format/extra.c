/*
 * extra.c
 *		See extra.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "format/encoding.h"
#include "format/extra.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "stream/path_match.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* What an error while a value is converted is about. */
typedef struct Subject
{
	const char *column;
	const char *path;
} Subject;

static void
name_subject(void *arg)
{
	const Subject *subject = arg;

	errcontext("option \"extra\", column \"%s\", file \"%s\"", subject->column,
			   encoding_path_text(subject->path));
}

/* The path as given that has led to a file. */
static const char *
pattern_of(const Source *source, int file)
{
	return source->options->patterns == NIL ? NULL : list_nth(source->options->patterns, file);
}

static void
refuse_wildcard(const BulkExtra *extra, const char *path, const char *pattern)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"extra\" cannot fill column \"%s\" with \"$%d\"", extra->column,
					extra->number),
			 pattern == NULL ?
			 errdetail("File \"%s\" was not found by a pattern.", encoding_path_text(path)) :
			 errdetail("Path \"%s\" has no * of that number.", encoding_path_text(pattern))));
}

static void
refuse_folder(const BulkExtra *extra, const char *path)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"extra\" cannot fill column \"%s\" with \"$%s\"", extra->column,
					extra->text),
			 errdetail("Path \"%s\" has no folder \"%s=...\".", encoding_path_text(path),
					   extra->text)));
}

/* A part of a path that is to be a column's value; NULL: there is none, or none is to be. */
static char *
part_of_path(const BulkExtra *extra, const char *path, const char *pattern)
{
	if (extra->kind == BULK_EXTRA_WILDCARD)
		return pattern == NULL ? NULL : path_wildcard(pattern, path, extra->number);
	return extra->kind == BULK_EXTRA_FOLDER ? path_folder(path, extra->text) : NULL;
}

/* What is to be a column's value in the rows of a file. */
static char *
text_for(const BulkExtra *extra, const Source *source, int file, int64 load_id)
{
	const char *path = list_nth(source->paths, file);
	const char *pattern = pattern_of(source, file);
	char	   *text = NULL;

	switch (extra->kind)
	{
		case BULK_EXTRA_TEXT:
			return extra->text;
		case BULK_EXTRA_LOAD_ID:
			return psprintf(INT64_FORMAT, load_id);
		case BULK_EXTRA_FILE:
			text = pstrdup(path);
			break;
		case BULK_EXTRA_WILDCARD:
			text = part_of_path(extra, path, pattern);
			if (text == NULL)
				refuse_wildcard(extra, path, pattern);
			break;
		case BULK_EXTRA_FOLDER:
			text = part_of_path(extra, path, pattern);
			if (text == NULL)
				refuse_folder(extra, path);
			break;
		case BULK_EXTRA_LINE:
			Assert(false);
			break;
	}
	/* names of files are bytes */
	(void) pg_verifymbstr(text, strlen(text), false);
	return text;
}

bool
extra_path_key(const BulkOptions *options, const char *path, const char *pattern, ContentKey *key)
{
	ContentHash hash;
	bool		any = false;
	ListCell   *lc;

	content_hash_begin(&hash);
	foreach(lc, options->extra)
	{
		const BulkExtra *extra = lfirst(lc);
		const char *text = part_of_path(extra, path, pattern);

		if (text == NULL)
			continue;
		any = true;
		content_hash_add(&hash, extra->column, strlen(extra->column) + 1);
		content_hash_add(&hash, text, strlen(text) + 1);
	}
	*key = content_hash_key(&hash);
	return any;
}

static Datum
value_for(const BulkExtra *extra, Column *column, const Source *source, int file, int64 load_id)
{
	Subject		subject = {.column = extra->column,.path = list_nth(source->paths, file)};
	ErrorContextCallback callback = {error_context_stack, name_subject, &subject};
	Datum		value;

	error_context_stack = &callback;
	value = InputFunctionCall(&column->input, text_for(extra, source, file, load_id),
							  column->ioparam, column->typmod);
	error_context_stack = callback.previous;
	return value;
}

/* Types have their text input here, whatever the format of the file. */
static void
open_column(Column *column, const Target *target, AttrNumber attnum)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(target->rel), attnum - 1);
	Oid			function;

	memset(column, 0, sizeof(*column));
	column->attnum = attnum;
	column->name = NameStr(att->attname);
	column->type = att->atttypid;
	column->typmod = att->atttypmod;
	getTypeInputInfo(column->type, &function, &column->ioparam);
	fmgr_info(function, &column->input);
}

void
extra_open(Converter *conv)
{
	const Target *target = conv->target;

	conv->extra = palloc0(sizeof(ExtraColumns));
	conv->extra->context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load extra columns",
												 ALLOCSET_SMALL_SIZES);
	conv->extra->values = palloc0(sizeof(Datum) * target->nextras);
	conv->extra->file = -1;
	for (int i = 0; i < target->nextras; i++)
		open_column(&conv->columns[conv->ncolumns + i], target, target->extras[i]);
}

bool
extra_is_line(const Converter *conv, int number)
{
	const BulkExtra *extra = list_nth(conv->options->extra, number);

	return extra->kind == BULK_EXTRA_LINE;
}

bool
extra_begin_batch(Converter *conv, const Reader *reader, int64 load_id)
{
	ExtraColumns *columns = conv->extra;
	const Source *source = reader->source;
	MemoryContext caller;

	columns->line = reader->line;
	if (columns->file == source->current && columns->source == source)
		return false;
	columns->file = source->current;
	columns->source = source;
	MemoryContextReset(columns->context);
	caller = MemoryContextSwitchTo(columns->context);
	for (int i = 0; i < conv->target->nextras; i++)
		if (!extra_is_line(conv, i))
			columns->values[i] = value_for(list_nth(conv->options->extra, i),
										   &conv->columns[conv->ncolumns + i],
										   source, source->current, load_id);
	MemoryContextSwitchTo(caller);
	return true;
}

/* The number of a line. */
static bool
put_line(Converter *conv, int index, int64 line, Datum *value, RowError *err)
{
	const Column *column = &conv->columns[index];

	if (column->type == INT8OID)
		*value = Int64GetDatum(line);
	else if (column->type == INT4OID && line <= PG_INT32_MAX)
		*value = Int32GetDatum((int32) line);
	else
	{
		MemoryContext caller = MemoryContextSwitchTo(conv->econtext->ecxt_per_tuple_memory);
		bool		good = convert_text(conv, index, psprintf(INT64_FORMAT, line), value, err);

		MemoryContextSwitchTo(caller);
		return good;
	}
	return true;
}

bool
extra_put(Converter *conv, int64 line, Datum *values, bool *nulls, RowError *err)
{
	for (int i = 0; i < conv->target->nextras; i++)
	{
		int			attribute = conv->target->extras[i] - 1;

		nulls[attribute] = false;
		if (!extra_is_line(conv, i))
			values[attribute] = conv->extra->values[i];
		else if (!put_line(conv, conv->ncolumns + i, line, &values[attribute], err))
			return false;
	}
	return true;
}

void
extra_check(const BulkOptions *options, const Target *target, const Source *source, int64 load_id)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load extra columns",
												  ALLOCSET_SMALL_SIZES);
	ListCell   *lc;

	foreach(lc, options->extra)
	{
		const BulkExtra *extra = lfirst(lc);
		Column		column;

		open_column(&column, target, target->extras[foreach_current_index(lc)]);
		for (int file = 0; file < list_length(source->paths); file++)
		{
			MemoryContext caller = MemoryContextSwitchTo(context);

			CHECK_FOR_INTERRUPTS();
			if (extra->kind != BULK_EXTRA_LINE)
				(void) value_for(extra, &column, source, file, load_id);
			MemoryContextSwitchTo(caller);
			MemoryContextReset(context);
		}
	}
	MemoryContextDelete(context);
}
