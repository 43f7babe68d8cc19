/*
 * control.c
 *		See control.h.
 *
 * All lines are read first and then translated in an order of our own, as the
 * meaning of one line may depend on others.  A line that affects which rows are
 * loaded, and that cannot be translated, is an obstacle: no call is better than
 * one that silently loads other rows.
 */
#include "postgres.h"

#include <errno.h>

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "control/control.h"
#include "control/control_column.h"
#include "control/control_text.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "option/fixed_fields.h"
#include "stream/file.h"
#include "stream/path.h"
#include "table/statement.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

typedef enum KeywordId
{
	KEY_TYPE, KEY_INPUT, KEY_WRITER, KEY_OUTPUT, KEY_SKIP, KEY_LIMIT, KEY_ENCODING,
	KEY_FILTER, KEY_CHECK_CONSTRAINTS, KEY_PARSE_ERRORS, KEY_DUPLICATE_ERRORS,
	KEY_ON_DUPLICATE_KEEP, KEY_LOGFILE, KEY_PARSE_BADFILE, KEY_DUPLICATE_BADFILE,
	KEY_TRUNCATE, KEY_VERBOSE, KEY_MULTI_PROCESS,
	KEY_DELIMITER, KEY_QUOTE, KEY_ESCAPE, KEY_NULL, KEY_FORCE_NOT_NULL,
	KEY_COL, KEY_PRESERVE_BLANKS, KEY_STRIDE, KEY_OUT_COL
} KeywordId;
#define NKEYWORDS (KEY_OUT_COL + 1)

static const struct
{
	const char *name;
	const char *alias;			/* or NULL */
	bool		repeats;		/* lines with this keyword accumulate */
}			keywords[NKEYWORDS] = {
	[KEY_TYPE] = {"TYPE"},
	[KEY_INPUT] = {"INPUT", "INFILE"},
	[KEY_WRITER] = {"WRITER", "LOADER"},
	[KEY_OUTPUT] = {"OUTPUT", "TABLE"},
	[KEY_SKIP] = {"SKIP", "OFFSET"},
	[KEY_LIMIT] = {"LIMIT", "LOAD"},
	[KEY_ENCODING] = {"ENCODING"},
	[KEY_FILTER] = {"FILTER"},
	[KEY_CHECK_CONSTRAINTS] = {"CHECK_CONSTRAINTS"},
	[KEY_PARSE_ERRORS] = {"PARSE_ERRORS", "MAX_ERR_CNT"},
	[KEY_DUPLICATE_ERRORS] = {"DUPLICATE_ERRORS"},
	[KEY_ON_DUPLICATE_KEEP] = {"ON_DUPLICATE_KEEP"},
	[KEY_LOGFILE] = {"LOGFILE"},
	[KEY_PARSE_BADFILE] = {"PARSE_BADFILE"},
	[KEY_DUPLICATE_BADFILE] = {"DUPLICATE_BADFILE"},
	[KEY_TRUNCATE] = {"TRUNCATE"},
	[KEY_VERBOSE] = {"VERBOSE"},
	[KEY_MULTI_PROCESS] = {"MULTI_PROCESS"},
	[KEY_DELIMITER] = {"DELIMITER"},
	[KEY_QUOTE] = {"QUOTE"},
	[KEY_ESCAPE] = {"ESCAPE"},
	[KEY_NULL] = {"NULL"},
	[KEY_FORCE_NOT_NULL] = {"FORCE_NOT_NULL", NULL, true},
	[KEY_COL] = {"COL", NULL, true},
	[KEY_PRESERVE_BLANKS] = {"PRESERVE_BLANKS", NULL, true},
	[KEY_STRIDE] = {"STRIDE"},
	[KEY_OUT_COL] = {"OUT_COL", NULL, true}
};

/* One line: KEYWORD = value. */
typedef struct Line
{
	int			number;			/* 0: the file as a whole */
	const char *keyword;		/* NULL: none is known */
	char	   *value;
} Line;

/* A remark about a line. */
typedef struct Remark
{
	int			line;
	char	   *text;
} Remark;

typedef struct Control
{
	char	   *folder;			/* of the control file */
	List	   *lines[NKEYWORDS];	/* of Line */
	StringInfoData options;		/* members of a JSON object */
	List	   *obstacles;		/* of Remark */
	List	   *notes;			/* likewise */
} Control;

static const Line whole_file = {0};

/* ---- remarks ---- */

static Remark *make_remark(const Line *line, const char *format,
						   va_list args) pg_attribute_printf(2, 0);

static Remark *
make_remark(const Line *line, const char *format, va_list args)
{
	Remark	   *remark = palloc(sizeof(Remark));
	StringInfoData text;
	int			needed;

	initStringInfo(&text);
	if (line->keyword != NULL)
		appendStringInfo(&text, "line %d, %s: ", line->number, line->keyword);
	else if (line->number > 0)
		appendStringInfo(&text, "line %d: ", line->number);
	do
	{
		va_list		again;

		va_copy(again, args);
		needed = appendStringInfoVA(&text, format, again);
		va_end(again);
		if (needed > 0)
			enlargeStringInfo(&text, needed);
	} while (needed > 0);

	remark->line = line->number;
	remark->text = text.data;
	return remark;
}

static void obstacle(Control *control, const Line *line,
					 const char *format,...) pg_attribute_printf(3, 4);

static void
obstacle(Control *control, const Line *line, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	control->obstacles = lappend(control->obstacles,
								 make_remark(line, format, args));
	va_end(args);
}

static void note(Control *control, const Line *line,
				 const char *format,...) pg_attribute_printf(3, 4);

static void
note(Control *control, const Line *line, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	control->notes = lappend(control->notes, make_remark(line, format, args));
	va_end(args);
}

static int
compare_remarks(const ListCell *a, const ListCell *b)
{
	return ((Remark *) lfirst(a))->line - ((Remark *) lfirst(b))->line;
}

/* The texts of remarks, in line order. */
static List *
remark_texts(List *remarks)
{
	List	   *texts = NIL;
	ListCell   *lc;

	list_sort(remarks, compare_remarks);
	foreach(lc, remarks)
		texts = lappend(texts, ((Remark *) lfirst(lc))->text);
	return texts;
}

/* ---- reading the file ---- */

static int
find_keyword(const char *name)
{
	for (int i = 0; i < NKEYWORDS; i++)
		if (pg_strcasecmp(keywords[i].name, name) == 0 ||
			(keywords[i].alias != NULL && pg_strcasecmp(keywords[i].alias, name) == 0))
			return i;
	return -1;
}

static void
take_line(Control *control, int number, char *text)
{
	Line	   *line = palloc0(sizeof(Line));
	char	   *equals;
	char	   *name;
	bool		closed;
	int			key;

	line->number = number;
	control_text_cut_comment(text, &closed);
	text = control_text_trim(text);
	if (*text == '\0')
		return;
	equals = strchr(text, '=');
	if (equals == NULL || !closed)
	{
		obstacle(control, line, equals == NULL ? "is not KEYWORD = value" :
				 "has a quote that is not closed");
		return;
	}
	*equals = '\0';
	name = control_text_trim(text);
	key = find_keyword(name);
	line->keyword = key < 0 ? name : keywords[key].name;
	if (key < 0)
	{
		obstacle(control, line, "is not a keyword of pg_bulkload 3.1");
		return;
	}
	line->value = control_text_unquote(control_text_trim(equals + 1));
	if (control->lines[key] != NIL && !keywords[key].repeats)
		obstacle(control, line, "is given a second time");
	control->lines[key] = lappend(control->lines[key], line);
}

static void
take_lines(Control *control, char *text)
{
	char	   *next;

	if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	for (int number = 1; text != NULL; number++, text = next)
	{
		next = strchr(text, '\n');
		if (next != NULL)
			*next++ = '\0';
		take_line(control, number, text);
	}
}

/* ---- values ---- */

static const Line *
line_of(const Control *control, KeywordId key)
{
	return control->lines[key] != NIL ? linitial(control->lines[key]) : NULL;
}

/* Whether a keyword is given as YES; anything but YES and NO is an obstacle. */
static bool
is_yes(Control *control, KeywordId key)
{
	const Line *line = line_of(control, key);
	bool		yes = false;

	if (line != NULL && !parse_bool(line->value, &yes))
		obstacle(control, line, "\"%s\" is neither YES nor NO", line->value);
	return yes;
}

/* The index of a word; -1, with an obstacle, if it is not a valid one. */
static int
choice_of(Control *control, KeywordId key, const char *const *words, int missing)
{
	const Line *line = line_of(control, key);

	if (line == NULL)
		return missing;
	for (int i = 0; words[i] != NULL; i++)
		if (pg_strcasecmp(words[i], line->value) == 0)
			return i;
	obstacle(control, line, "\"%s\" is not a value that it can have", line->value);
	return -1;
}

/* A count of at least min; -1 for INFINITE, and for -1 if min allows it. */
static int64
count_of(Control *control, KeywordId key, int min, int64 missing)
{
	const Line *line = line_of(control, key);
	long long	count;
	char	   *end;

	if (line == NULL)
		return missing;
	if (pg_strcasecmp(line->value, "INFINITE") == 0)
		return -1;
	errno = 0;
	count = strtoll(line->value, &end, 10);
	if (errno == 0 && end != line->value && *end == '\0' && count >= min)
		return count;
	obstacle(control, line, "\"%s\" is not a number that it can have", line->value);
	return missing;
}

/* A path, as an absolute path on the server. */
static char *
path_of(Control *control, KeywordId key)
{
	const Line *line = line_of(control, key);
	char	   *path;

	if (line == NULL)
		return NULL;
	path = is_absolute_path(line->value) ? pstrdup(line->value) :
		psprintf("%s/%s", control->folder, line->value);
	canonicalize_path(path);
	return path;
}

/* ---- the options ---- */

static StringInfo
begin_option(Control *control, const char *name)
{
	appendStringInfo(&control->options, "%s\"%s\": ",
					 control->options.len > 0 ? ", " : "", name);
	return &control->options;
}

static void
add_string(Control *control, const char *name, const char *value)
{
	escape_json(begin_option(control, name), value);
}

static void
add_count(Control *control, const char *name, int64 value)
{
	appendStringInfo(begin_option(control, name), INT64_FORMAT, value);
}

static void
add_true(Control *control, const char *name)
{
	appendStringInfoString(begin_option(control, name), "true");
}

static void
translate_character(Control *control, KeywordId key, const char *option)
{
	const Line *line = line_of(control, key);

	if (line == NULL)
		return;
	if (strlen(line->value) != 1)
		obstacle(control, line, "\"%s\" is not one character", line->value);
	else
		add_string(control, option, line->value);
}

static void
translate_csv(Control *control)
{
	const Line *null = line_of(control, KEY_NULL);
	ListCell   *lc;

	translate_character(control, KEY_DELIMITER, "delimiter");
	translate_character(control, KEY_QUOTE, "quote");
	/* there the default escape is the double quote, whatever the quote is */
	if (line_of(control, KEY_QUOTE) != NULL && line_of(control, KEY_ESCAPE) == NULL)
		add_string(control, "escape", "\"");
	translate_character(control, KEY_ESCAPE, "escape");
	if (null != NULL)
		add_string(control, "null", null->value);
	if (control->lines[KEY_FORCE_NOT_NULL] != NIL)
	{
		StringInfo	json = begin_option(control, "force_not_null");

		foreach(lc, control->lines[KEY_FORCE_NOT_NULL])
		{
			appendStringInfoString(json, lc == list_head(control->lines[KEY_FORCE_NOT_NULL]) ?
								   "[" : ", ");
			escape_json(json, ((Line *) lfirst(lc))->value);
		}
		appendStringInfoChar(json, ']');
	}
}

/* Whether PRESERVE_BLANKS lines before this one turn it on. */
static bool
preserves_blanks(Control *control, const Line *col)
{
	bool		preserves = false;
	ListCell   *lc;

	foreach(lc, control->lines[KEY_PRESERVE_BLANKS])
	{
		const Line *line = lfirst(lc);

		if (line->number < col->number)
			(void) parse_bool(line->value, &preserves);
	}
	return preserves;
}

/* Fields of a record, which are the table's columns, or the arguments of FILTER, in order. */
static void
translate_fixed(Control *control)
{
	const Line *stride_line = line_of(control, KEY_STRIDE);
	int64		stride = count_of(control, KEY_STRIDE, 1, 0);
	uint32		before = 0;
	uint32		longest = 0;
	bool		noted = false;
	StringInfoData json;
	ListCell   *lc;

	add_string(control, "format", "fixed");
	initStringInfo(&json);
	foreach(lc, control->lines[KEY_PRESERVE_BLANKS])
	{
		const Line *line = lfirst(lc);
		bool		yes;

		if (!parse_bool(line->value, &yes))
			obstacle(control, line, "\"%s\" is neither YES nor NO", line->value);
	}
	if (control->lines[KEY_COL] == NIL)
		obstacle(control, line_of(control, KEY_TYPE),
				 "there is no line COL, which says what a record consists of");
	foreach(lc, control->lines[KEY_COL])
	{
		const Line *line = lfirst(lc);
		ControlColumn column;
		const char *problem;

		appendStringInfoString(&json, json.len == 0 ? "[" : ", ");
		problem = control_column_read(line->value, preserves_blanks(control, line),
									  before, &json, &column);
		if (problem != NULL)
		{
			obstacle(control, line, "%s", problem);
			continue;
		}
		before = column.end;
		longest = Max(longest, before);
		if (column.null_or_padded)
			note(control, line, "what NULLIF says is NULL with spaces behind it, too");
		if (column.binary && !noted)
			note(control, line,
				 "a number that does not fit its column is a bad row, where pg_bulkload stores what is left of it");
		noted |= column.binary;
	}
	if (stride > 0 && stride < longest)
		obstacle(control, stride_line, "is less than the %u bytes of the columns", longest);
	if (stride < 0 || stride > FIELDS_MAX_LENGTH)
		obstacle(control, stride_line, "\"%s\" is not a number that it can have",
				 stride_line->value);
	add_count(control, "record_length", stride > 0 ? stride : longest);
#ifdef WORDS_BIGENDIAN
	add_string(control, "endian", "big");
#endif
	appendStringInfoString(begin_option(control, "null"), "[]");
	appendStringInfo(begin_option(control, "fields"), "%s]", json.data);
}

/* Lines for another TYPE, which pg_bulkload refuses, too. */
static void
refuse_others(Control *control, KeywordId first, KeywordId last, const char *type)
{
	for (KeywordId key = first; key <= last; key++)
		if (line_of(control, key) != NULL)
			obstacle(control, line_of(control, key), "is for TYPE = %s", type);
}

/* Without ENCODING a file is in the database encoding, whatever the client's is. */
static void
translate_encoding(Control *control, bool from_client)
{
	const Line *line = line_of(control, KEY_ENCODING);

	if (line != NULL && pg_char_to_encoding(line->value) < 0)
		obstacle(control, line, "\"%s\" is not the name of an encoding", line->value);
	else if (line != NULL)
		add_string(control, "encoding", line->value);
	else if (!from_client)
		add_string(control, "encoding", GetDatabaseEncodingName());
}

/* Returns whether there is a limit. */
static bool
translate_rows(Control *control)
{
	const Line *filter = line_of(control, KEY_FILTER);
	int64		skip = count_of(control, KEY_SKIP, 0, 0);
	int64		limit = count_of(control, KEY_LIMIT, 0, -1);

	if (skip < 0)
		obstacle(control, line_of(control, KEY_SKIP), "passes over all rows");
	if (skip > 0)
		add_count(control, "skip", skip);
	if (limit >= 0)
		add_count(control, "limit", limit);
	if (filter != NULL)
	{
		add_string(control, "transform", filter->value);
		note(control, filter, "all arguments of the function must be of type text");
	}
	return limit >= 0;
}

/*
 * Bad rows, which do not count toward a limit.  If none are allowed but a file
 * for them is named, that file gets the row that ends the load, as reject files
 * survive a rollback.
 */
static void
translate_errors(Control *control, bool limited)
{
	const Line *errors = line_of(control, KEY_PARSE_ERRORS);
	const Line *badfile = line_of(control, KEY_PARSE_BADFILE);
	const Line *checks = line_of(control, KEY_CHECK_CONSTRAINTS);
	int64		allowed = count_of(control, KEY_PARSE_ERRORS, -1, 0);

	if (checks != NULL && !is_yes(control, KEY_CHECK_CONSTRAINTS))
		note(control, checks, "constraints are always checked");
	if (allowed != 0 || badfile != NULL)
	{
		add_string(control, "on_error", "ignore");
		if (allowed >= 0)
			add_count(control, "reject_limit", allowed);
		if (limited)
			add_string(control, "limit_counts", "loaded");
	}
	if (badfile != NULL)
		add_string(control, "reject_file", path_of(control, KEY_PARSE_BADFILE));
	if (errors != NULL && allowed >= 0)
		note(control, errors,
			 "with more bad rows than that nothing is loaded, where pg_bulkload keeps the rows before");
}

/* Rows with existing keys are rejected, or replace the existing rows. */
static void
translate_duplicates(Control *control)
{
	static const char *const keep_words[] = {"NEW", "OLD", NULL};
	const Line *errors = line_of(control, KEY_DUPLICATE_ERRORS);
	const Line *keep = line_of(control, KEY_ON_DUPLICATE_KEEP);
	const Line *badfile = line_of(control, KEY_DUPLICATE_BADFILE);
	int			kept = choice_of(control, KEY_ON_DUPLICATE_KEEP, keep_words, 0);
	int64		allowed = count_of(control, KEY_DUPLICATE_ERRORS, -1, 0);

	if (allowed == 0)
	{
		if (keep != NULL)
			note(control, keep, "has no effect without DUPLICATE_ERRORS");
		if (badfile != NULL)
			note(control, badfile,
				 "is not written: a duplicate ends the load, and the error shows it");
		return;
	}

	add_string(control, "on_duplicate", kept == 0 ? "keep_new" : "keep_old");
	if (allowed > 0)
		add_count(control, "duplicate_limit", allowed);
	if (kept == 0)
		note(control, keep != NULL ? keep : errors,
			 "of equal keys in the file the last one stays; pg_bulkload keeps the first, other than its manual says");
	if (badfile != NULL && line_of(control, KEY_PARSE_BADFILE) == NULL)
		add_string(control, "reject_file", path_of(control, KEY_DUPLICATE_BADFILE));
	else if (badfile != NULL)
		note(control, badfile,
			 "duplicates go to the file of PARSE_BADFILE, together with bad rows");
}

static void
translate_how(Control *control)
{
	static const char *const writers[] = {"DIRECT", "BUFFERED", "PARALLEL", "BINARY", NULL};
	const Line *logfile = line_of(control, KEY_LOGFILE);
	const Line *processes = line_of(control, KEY_MULTI_PROCESS);
	int			writer = choice_of(control, KEY_WRITER, writers, -1);
	bool		several = is_yes(control, KEY_MULTI_PROCESS);

	if (writer == 0 || writer == 2)
		add_string(control, "writer", "direct");
	else if (writer == 1)
		add_string(control, "writer", "buffered");
	if (writer == 3)
		obstacle(control, line_of(control, KEY_WRITER),
				 "pgbulk writes no files, and needs none that are prepared");
	else if (line_of(control, KEY_OUT_COL) != NULL)
		obstacle(control, line_of(control, KEY_OUT_COL), "is for WRITER = BINARY");
	if (processes != NULL && writer != 2 && several)
		add_string(control, "workers", "auto");
	else if (processes != NULL && writer != 2)
		add_count(control, "workers", 0);
	if (is_yes(control, KEY_TRUNCATE))
		add_true(control, "truncate");
	if (is_yes(control, KEY_VERBOSE))
	{
		add_string(control, "log_verbosity", "verbose");
		note(control, line_of(control, KEY_VERBOSE),
			 "bad rows are told in NOTICEs; they go to the server's log if log_min_messages says so");
	}
	if (logfile != NULL)
		note(control, logfile,
			 "is not written: the result row has the counts, NOTICEs say what was bad");
}

/* ---- the call ---- */

/* The target as an identifier; NULL, with an obstacle, if it is not a valid name. */
static char *
target_name(Control *control)
{
	const Line *line = line_of(control, KEY_OUTPUT);
	List	   *names;
	StringInfoData text;
	ListCell   *lc;

	if (line == NULL)
	{
		obstacle(control, &whole_file,
				 "there is no line OUTPUT: the table may have been named on the command line");
		return NULL;
	}
	if (!SplitIdentifierString(pstrdup(line->value), '.', &names) || names == NIL)
	{
		obstacle(control, line, "\"%s\" is not the name of a table", line->value);
		return NULL;
	}
	initStringInfo(&text);
	foreach(lc, names)
		appendStringInfo(&text, "%s%s", text.len > 0 ? "." : "",
						 quote_identifier(lfirst(lc)));
	return text.data;
}

/*
 * What functions of that name return, in any schema: *rows, composite rows;
 * *values, scalars.
 */
static void
find_results(const char *call, bool *rows, bool *values)
{
	char	   *name = pnstrdup(call, strcspn(call, "("));
	List	   *names;
	CatCList   *functions;

	*rows = *values = false;
	if (!SplitIdentifierString(name, '.', &names) || names == NIL)
		return;
	functions = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(llast(names)));
	for (int i = 0; i < functions->n_members; i++)
	{
		Form_pg_proc function = (Form_pg_proc) GETSTRUCT(&functions->members[i]->tuple);

		if (type_is_rowtype(function->prorettype))
			*rows = true;
		else
			*values = true;
	}
	ReleaseSysCacheList(functions);
}

/*
 * A query for the rows of a set-returning function.  With a limit the function
 * is called in the select list, which fetches row by row, since FROM would
 * store all of its rows first; it stays in FROM if it is unknown whether its
 * rows are composite.
 */
static char *
function_query(const char *call, bool limited)
{
	bool		rows = false;
	bool		values = false;

	if (limited)
		find_results(call, &rows, &values);
	if (rows && !values)
		return psprintf("SELECT (r).* FROM (SELECT %s AS r) AS s", call);
	if (values && !rows)
		return psprintf("SELECT %s", call);
	return psprintf("SELECT * FROM %s", call);
}

/* The statement, or NULL if there are obstacles. */
static char *
make_call(Control *control, const char *schema)
{
	static const char *const types[] = {"CSV", "BINARY", "FIXED", "FUNCTION", NULL};
	const Line *input = line_of(control, KEY_INPUT);
	int			type = choice_of(control, KEY_TYPE, types, 0);
	bool		from_client = input != NULL && pg_strcasecmp(input->value, "stdin") == 0;
	char	   *target = target_name(control);
	char	   *source = NULL;
	const char *function = "bulk_load";
	bool		limited;

	if (input == NULL)
		obstacle(control, &whole_file,
				 "there is no line INPUT: the file may have been named on the command line");
	else if (type == 3)
		source = function_query(input->value, line_of(control, KEY_LIMIT) != NULL);
	else
		source = from_client ? "stdin" : path_of(control, KEY_INPUT);

	if (type == 0)
		translate_csv(control);
	else if (type > 0)
		refuse_others(control, KEY_DELIMITER, KEY_FORCE_NOT_NULL, "CSV");
	if (type == 1 || type == 2)
		translate_fixed(control);
	else
		refuse_others(control, KEY_COL, KEY_STRIDE, "FIXED");
	if (type == 3)
		function = "bulk_load_query";
	else
		translate_encoding(control, from_client);
	limited = translate_rows(control);
	translate_errors(control, limited);
	translate_duplicates(control);
	translate_how(control);

	if (control->obstacles != NIL)
		return NULL;
	return psprintf("%s;", statement_call(schema, function, target, source,
										  psprintf("{%s}", control->options.data)));
}

ControlCall *
control_read(const char *path, const char *schema)
{
	Control		control = {0};
	ControlCall *call = palloc(sizeof(ControlCall));

	path_check(path, false);
	file_check_privilege(false);
	control.folder = pstrdup(path);
	get_parent_directory(control.folder);
	initStringInfo(&control.options);
	take_lines(&control, control_text_read(path));
	call->statement = make_call(&control, schema);
	call->obstacles = remark_texts(control.obstacles);
	call->notes = remark_texts(control.notes);
	return call;
}
