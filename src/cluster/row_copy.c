/*
 * row_copy.c
 *		See row_copy.h.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "cluster/node.h"
#include "cluster/row_copy.h"
#include "cluster/table_there.h"
#include "cluster/told.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* What rows that are formed are written in. */
#define FORMED_DELIMITER '\t'
#define FORMED_NULL "\\N"

typedef struct OutputColumn
{
	FmgrInfo	output;
	bool		is_named;		/* its output may depend on search_path */
} OutputColumn;

struct RowCopy
{
	Relation	target;
	const Converter *conv;
	OutputColumn *columns;		/* of the target */
	int			nadded;			/* columns that the file does not have */
	AttrNumber *added;
	bool		any_named;
	bool		as_is;			/* rows may be sent so */
	MemoryContext row_context;	/* output functions' memory */
};

/* ---- whether rows can be sent as they are ---- */

/* Whether a type's values are objects, shown as search_path has it. */
static bool
names_objects(Oid type)
{
	switch (type)
	{
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGTYPEOID:
		case REGCOLLATIONOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
			return true;
		default:
			return false;
	}
}

/* The options under which a file's rows are what COPY reads, too. */
static const char *
why_not_by_options(const Converter *conv)
{
	const BulkOptions *options = conv->options;

	if (options->query != NULL || (options->format != BULK_CSV && options->format != BULK_TEXT))
		return "The format is not one of COPY's for text.";
	if (conv->transform != NULL || options->where != NULL || options->where_clause != NULL)
		return "Option \"transform\" or \"where\" looks at all columns.";
	if (conv->extra != NULL)
		return "Option \"extra\" adds columns.";
	if (options->encoding != GetDatabaseEncoding() || conv->encoding.transcode)
		return "The encoding of the file is not that of the database.";
	if (conv->dialect.general || strlen(options->delimiter) != 1)
		return "The delimiter, comments or line ends are not those of COPY.";
	if (conv->nnulls != 1 || conv->default_marker != NULL)
		return "There are several null markers, or one for defaults.";
	if (strcmp(linitial(options->nulls), "\\.") == 0)
		return "The null marker is one for the end of the data, too.";
	if (!Array_nulls)
		return "Setting array_nulls is off.";
	if (options->ignore_extra || options->missing != BULK_MISSING_ERROR ||
		options->invalid_bytes == BULK_INVALID_REPLACE)
		return "Rows that COPY refuses are accepted.";
	return NULL;
}

static const char *
why_not_by_columns(const Converter *conv)
{
	for (int i = 0; i < conv->ncolumns; i++)
	{
		const Column *column = &conv->columns[i];

		if (column->attnum == InvalidAttrNumber)
			return "The file has columns that are not loaded.";
		if (column->special)
			return "Values are trimmed, or dates, numbers or nulls are written in another way.";
		/* of others the nodes may know the name, and not the same values */
		if (column->type >= FirstNormalObjectId)
			return "A column has a type that is not built in.";
		if (names_objects(column->type) || names_objects(get_element_type(column->type)))
			return "A column's values are names of objects.";
	}
	return conv->ncolumns == 0 ? "The file has no columns." : NULL;
}

static bool
is_in_file(const Converter *conv, AttrNumber attnum)
{
	for (int i = 0; i < conv->ncolumns; i++)
		if (conv->columns[i].attnum == attnum)
			return true;
	return false;
}

BulkRelay
row_copy_relay(const BulkOptions *options)
{
	if (options->on_error == BULK_ON_ERROR_STOP && options->on_duplicate == BULK_ON_DUPLICATE_ERROR)
		return BULK_RELAY_OFF;
	/* a limit is passed by one of them */
	return options_show_rejects(options) || options->duplicate_limit >= 0 ? BULK_RELAY_ALL :
		BULK_RELAY_FIRST;
}

uint32
row_copy_reasons(const BulkOptions *options)
{
	uint32		reasons = TOLD_BIT(REJECT_DUPLICATE);

	if (options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW)
		reasons |= TOLD_BIT(REJECT_REPLACED);
	if (options->on_error != BULK_ON_ERROR_STOP)
		reasons |= TOLD_BIT(REJECT_DUPLICATE) - 1;
	if (options->on_error == BULK_ON_ERROR_SET_NULL)
		reasons |= TOLD_BIT(TOLD_SET_NULL);
	return reasons;
}

RowCopy *
row_copy_open(Relation target, const Converter *conv, const char **why)
{
	TupleDesc	desc = RelationGetDescr(target);
	RowCopy    *copy = palloc0(sizeof(RowCopy));

	copy->target = target;
	copy->conv = conv;
	copy->columns = palloc0(sizeof(OutputColumn) * Max(desc->natts, 1));
	copy->added = palloc(sizeof(AttrNumber) * Max(desc->natts, 1));
	copy->row_context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load row for a node",
											  ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		OutputColumn *column = &copy->columns[i];
		Oid			function;
		bool		is_varlena;

		if (att->attisdropped || att->attgenerated)
			continue;
		getTypeOutputInfo(att->atttypid, &function, &is_varlena);
		fmgr_info(function, &column->output);
		column->is_named = att->atttypid >= FirstNormalObjectId ||
			get_element_type(att->atttypid) != InvalidOid ||
			names_objects(att->atttypid);
		copy->any_named |= column->is_named;
		if (!is_in_file(conv, att->attnum))
			copy->added[copy->nadded++] = att->attnum;
	}
	*why = why_not_by_options(conv);
	if (*why == NULL)
		*why = why_not_by_columns(conv);
	/* in text such a value could not be told from a null */
	if (*why == NULL && copy->nadded > 0 && conv->options->format == BULK_TEXT &&
		strcmp(linitial(conv->options->nulls), FORMED_NULL) != 0)
		*why = "Columns are added to the file's, and its null marker is not \\N.";
	copy->as_is = *why == NULL;
	return copy;
}

bool
row_copy_covers(const RowCopy *copy, const Shard *shard)
{
	for (int i = 0; i < copy->conv->ncolumns; i++)
		if (shard->columns[copy->conv->columns[i].attnum - 1] == NULL)
			return false;
	return true;
}

bool
row_copy_is_as_is(const RowCopy *copy)
{
	return copy->as_is;
}

bool
row_copy_is_exact(const RowCopy *copy)
{
	return row_copy_relay(copy->conv->options) != BULK_RELAY_OFF;
}

bool
row_copy_adds_nothing(const RowCopy *copy)
{
	return copy->nadded == 0;
}

bool
row_copy_takes_lines(const RowCopy *copy)
{
	return copy->as_is && copy->nadded == 0 && !row_copy_is_exact(copy);
}

/* ---- the statement ---- */

static void
add_column(StringInfo list, const Shard *shard, AttrNumber attnum)
{
	const char *name = shard->columns[attnum - 1];

	if (name != NULL)
		appendStringInfo(list, "%s%s", list->len == 0 ? "" : ", ", node_identifier(name));
}

static char *
option_character(char c)
{
	char		text[2] = {c, '\0'};

	return quote_literal_cstr(text);
}

/* How pgbulk there sets rows aside. */
static void
add_relay(StringInfo sql, const BulkOptions *options)
{
	appendStringInfoString(sql, ", COMPRESSION none, LOG_VERBOSITY silent");
	if (options->on_error != BULK_ON_ERROR_STOP)
		appendStringInfo(sql, ", ON_ERROR %s",
						 options->on_error == BULK_ON_ERROR_IGNORE ? "ignore" : "set_null");
	if (options->on_duplicate != BULK_ON_DUPLICATE_ERROR)
		appendStringInfo(sql, ", ON_DUPLICATE %s",
						 options->on_duplicate == BULK_ON_DUPLICATE_KEEP_OLD ? "keep_old" :
						 "keep_new");
	/* the locks of COPY, so that others go on writing to a table that is not locked anyway */
	appendStringInfo(sql, ", WRITER %s", options->truncate ? "auto" : "buffered");
}

char *
row_copy_statement(const RowCopy *copy, const Shard *shard, bool as_is)
{
	const BulkOptions *options = copy->conv->options;
	StringInfoData list;
	StringInfoData sql;

	initStringInfo(&list);
	if (as_is)
	{
		for (int i = 0; i < copy->conv->ncolumns; i++)
			add_column(&list, shard, copy->conv->columns[i].attnum);
		for (int i = 0; i < copy->nadded; i++)
			add_column(&list, shard, copy->added[i]);
	}
	else
		for (int i = 0; i < RelationGetNumberOfAttributes(copy->target); i++)
			add_column(&list, shard, i + 1);

	initStringInfo(&sql);
	appendStringInfo(&sql, "COPY %s (%s) FROM STDIN WITH (ENCODING %s",
					 table_there_name(shard), list.data,
					 quote_literal_cstr(GetDatabaseEncodingName()));
	if (as_is)
	{
		appendStringInfo(&sql, ", FORMAT %s, DELIMITER %s, NULL %s",
						 options->format == BULK_CSV ? "csv" : "text",
						 quote_literal_cstr(options->delimiter),
						 quote_literal_cstr(linitial(options->nulls)));
		if (options->format == BULK_CSV)
			appendStringInfo(&sql, ", QUOTE %s, ESCAPE %s", option_character(options->quote),
							 option_character(options->escape));
	}
	if (row_copy_relay(options) != BULK_RELAY_OFF)
		add_relay(&sql, options);
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/* ---- values ---- */

/* As COPY TO writes a value in text format. */
static void
put_text(StringInfo to, const char *text, char delimiter)
{
	for (; *text != '\0'; text++)
	{
		char		c = *text;

		switch (c)
		{
			case '\b':
				appendStringInfoString(to, "\\b");
				break;
			case '\f':
				appendStringInfoString(to, "\\f");
				break;
			case '\n':
				appendStringInfoString(to, "\\n");
				break;
			case '\r':
				appendStringInfoString(to, "\\r");
				break;
			case '\t':
				appendStringInfoString(to, "\\t");
				break;
			case '\v':
				appendStringInfoString(to, "\\v");
				break;
			default:
				if (c == '\\' || c == delimiter)
					appendStringInfoCharMacro(to, '\\');
				appendStringInfoCharMacro(to, c);
				break;
		}
	}
}

static void
put_quoted(StringInfo to, const char *text, const BulkOptions *options)
{
	appendStringInfoCharMacro(to, options->quote);
	for (; *text != '\0'; text++)
	{
		if (*text == options->quote || *text == options->escape)
			appendStringInfoCharMacro(to, options->escape);
		appendStringInfoCharMacro(to, *text);
	}
	appendStringInfoCharMacro(to, options->quote);
}

/*
 * Has output functions write what any session reads the same way, as postgres_fdw
 * does.  Returns the level to return to, or -1.
 */
static int
begin_output(const RowCopy *copy)
{
	int			level;

	if (!copy->any_named && DateStyle == USE_ISO_DATES && extra_float_digits > 0)
		return -1;
	level = NewGUCNestLevel();
	if (DateStyle != USE_ISO_DATES)
		(void) set_config_option("datestyle", "ISO", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	if (extra_float_digits < 3)
		(void) set_config_option("extra_float_digits", "3", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	if (copy->any_named)
		(void) set_config_option("search_path", "pg_catalog", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

static void
end_output(int level)
{
	if (level >= 0)
		AtEOXact_GUC(true, level);
}

/* The text of a value, valid until the next row; NULL: there is none. */
static const char *
value_text(RowCopy *copy, TupleTableSlot *slot, AttrNumber attnum)
{
	return slot->tts_isnull[attnum - 1] ? NULL :
		OutputFunctionCall(&copy->columns[attnum - 1].output, slot->tts_values[attnum - 1]);
}

static void
put_added(RowCopy *copy, TupleTableSlot *slot, StringInfo to)
{
	const BulkOptions *options = copy->conv->options;

	for (int i = 0; i < copy->nadded; i++)
	{
		const char *text = value_text(copy, slot, copy->added[i]);

		appendStringInfoCharMacro(to, options->delimiter[0]);
		if (text == NULL)
			appendStringInfoString(to, linitial(options->nulls));
		else if (options->format == BULK_CSV)
			put_quoted(to, text, options);
		else
			put_text(to, text, options->delimiter[0]);
	}
}

/*
 * Whether a row of text ends in the middle of an escape, as the last one of a file may.
 * That backslash stands for nothing.
 */
static bool
is_cut_off(const BulkOptions *options, const char *bytes, Size length)
{
	Size		backslashes = 0;

	while (options->format == BULK_TEXT && backslashes < length &&
		   bytes[length - backslashes - 1] == '\\')
		backslashes++;
	return backslashes % 2 == 1;
}

/* The slot has the values of columns that the file does not have. */
static void
put_as_is(RowCopy *copy, const char *bytes, Size length, TupleTableSlot *slot, StringInfo to)
{
	const BulkOptions *options = copy->conv->options;

	/* which COPY of csv takes for the end of the data before 18 */
	if (length == 2 && memcmp(bytes, "\\.", 2) == 0 && options->format == BULK_CSV)
		put_quoted(to, "\\.", options);
	else
		appendBinaryStringInfo(to, bytes, length - is_cut_off(options, bytes, length));
	if (copy->nadded > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(copy->row_context);
		int			level = begin_output(copy);

		put_added(copy, slot, to);
		end_output(level);
		MemoryContextSwitchTo(old);
		MemoryContextReset(copy->row_context);
	}
	appendStringInfoCharMacro(to, '\n');
}

static void
put_formed(RowCopy *copy, const Shard *shard, TupleTableSlot *slot, StringInfo to)
{
	MemoryContext old = MemoryContextSwitchTo(copy->row_context);
	int			level = begin_output(copy);
	bool		first = true;

	slot_getallattrs(slot);
	for (int i = 0; i < RelationGetNumberOfAttributes(copy->target); i++)
	{
		const char *text;

		if (shard->columns[i] == NULL)
			continue;
		if (!first)
			appendStringInfoCharMacro(to, FORMED_DELIMITER);
		first = false;
		text = value_text(copy, slot, i + 1);
		if (text == NULL)
			appendStringInfoString(to, FORMED_NULL);
		else
			put_text(to, text, FORMED_DELIMITER);
	}
	appendStringInfoCharMacro(to, '\n');
	end_output(level);
	MemoryContextSwitchTo(old);
	MemoryContextReset(copy->row_context);
}

/*
 * The line ends within a row that is sent as it is, each of which COPY of csv counts as a line, and
 * COPY of text where pgbulk's options have it tell of rows.
 */
static int64
inner_lines(const RowCopy *copy, const RowBuffer *buffer, const Reader *reader,
			const ScanRow *row)
{
	int64		lines = 0;

	if (copy->conv->options->format == BULK_CSV ? row->multiline : buffer->exact)
		for (uint32 i = row->start; i < row->end; i++)
			lines += reader->data[i] == '\n';
	return lines;
}

void
row_copy_add(RowCopy *copy, const Shard *shard, bool as_is, const Journal *journal, uint32 number,
			 TupleTableSlot *slot, RowBuffer *buffer)
{
	const Reader *reader = journal->reader;
	const ScanRow *row = &reader->rows[number];
	JournalPlace place;

	row_buffer_cut(buffer);
	if (as_is)
		put_as_is(copy, reader->data + row->start, row->end - row->start, slot, &buffer->data);
	else
		put_formed(copy, shard, slot, &buffer->data);
	journal_locate(journal, number, &place);
	row_buffer_note(buffer, &place, as_is ? inner_lines(copy, buffer, reader, row) : 0);
}
