/*
 * history.c
 *		See history.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "format/encoding.h"
#include "load/history.h"
#include "load/history_table.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "stream/content.h"
#include "stream/path.h"
#include "table/statement.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

bool		history_enabled = false;
int			history_keep = 0;

#define NAMES_SHOWN 3

/* What is known of a file, or of another source. */
typedef struct HistoryFile
{
	const char *path;
	char	   *path_text;		/* as it is stored */
	int			number;			/* among those that are loaded, from 1 */
	bool		is_file;		/* it is a regular one, and was read: */
	FileStamp	stamp;
	ContentKey	key;			/* of the bytes before range.end */
	SourceRange range;
	char	   *once_key;		/* what has been claimed; NULL without option once */
	bool		passed_over;
} HistoryFile;

struct History
{
	Oid			target;
	char	   *target_name;
	const BulkOptions *options;
	int			nfiles;
	int			nchosen;		/* of them, how many are loaded */
	HistoryFile *files;
};

/* ---- a row ---- */

/* The columns, in the order of their parameters. */
static const struct
{
	const char *name;
	Oid			type;
}			columns[] = {
	{"load_id", INT8OID},
#define TARGET 2				/* numbers of parameters */
	{"target", OIDOID},
	{"target_name", TEXTOID},
	{"file", INT4OID},
	{"files", INT4OID},
#define PATH 6
	{"path", TEXTOID},
	{"size", INT8OID},
	{"modified", TIMESTAMPTZOID},
#define CONTENT 9
	{"content", UUIDOID},
	{"loaded_to", INT8OID},
#define ONCE_KEY 11
	{"once_key", TEXTOID},
	{"rows_loaded", INT8OID},
	{"rows_rejected", INT8OID},
	{"rows_duplicate", INT8OID},
	{"rows_replaced", INT8OID},
	{"rows_deleted", INT8OID},
	{"rows_filtered", INT8OID},
	{"rows_read", INT8OID},
	{"bytes_read", INT8OID},
	{"options", JSONBOID},
	{"role", TEXTOID},
	{"started", TIMESTAMPTZOID},
	{"finished", TIMESTAMPTZOID}
};

#define NCOLUMNS lengthof(columns)

static Datum
uuid_of(const ContentKey *key)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	for (int i = 0; i < 8; i++)
	{
		uuid->data[i] = (unsigned char) (key->high >> (56 - 8 * i));
		uuid->data[8 + i] = (unsigned char) (key->low >> (56 - 8 * i));
	}
	return UUIDPGetDatum(uuid);
}

static ContentKey
key_of(Datum value)
{
	const pg_uuid_t *uuid = DatumGetUUIDP(value);
	ContentKey	key = {0};

	for (int i = 0; i < 8; i++)
	{
		key.high = key.high << 8 | uuid->data[i];
		key.low = key.low << 8 | uuid->data[8 + i];
	}
	return key;
}

static TimestampTz
timestamp_of(const struct timespec *time)
{
	return time_t_to_timestamptz((pg_time_t) time->tv_sec) + time->tv_nsec / 1000;
}

static Jsonb *
options_of(const History *history)
{
	return history->options->json != NULL ? history->options->json :
		DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
}

/* Parameters $1, $2 ... of the columns; for a claim, result has only zeroes and what is known. */
static uint64
run_for_row(const History *history, const HistoryTable *table, const HistoryFile *file,
			const LoadResult *result, const char *sql)
{
	Oid			types[NCOLUMNS];
	Datum		values[NCOLUMNS];
	char		nulls[NCOLUMNS + 1];
	int			i = 0;

	memset(nulls, ' ', NCOLUMNS);
	nulls[NCOLUMNS] = '\0';
	for (int k = 0; k < NCOLUMNS; k++)
		types[k] = columns[k].type;
	values[i++] = Int64GetDatum(result->load_id);
	values[i++] = ObjectIdGetDatum(history->target);
	values[i++] = CStringGetTextDatum(history->target_name);
	values[i++] = Int32GetDatum(file->number);
	values[i++] = Int32GetDatum(history->nchosen);
	values[i++] = CStringGetTextDatum(file->path_text);
	if (!file->is_file)
		memset(nulls + i, 'n', 4);
	values[i++] = Int64GetDatum(file->stamp.size);
	values[i++] = TimestampTzGetDatum(timestamp_of(&file->stamp.modified));
	values[i++] = uuid_of(&file->key);
	/* what was loaded in part is not known as loaded */
	if (history->options->limit >= 0)
		nulls[i] = 'n';
	values[i++] = Int64GetDatum(file->range.end);
	if (file->once_key == NULL)
		nulls[i] = 'n';
	values[i++] = file->once_key == NULL ? (Datum) 0 : CStringGetTextDatum(file->once_key);
	values[i++] = Int64GetDatum(result->rows_loaded);
	values[i++] = Int64GetDatum(result->rows_rejected);
	values[i++] = Int64GetDatum(result->rows_duplicate);
	values[i++] = Int64GetDatum(result->rows_replaced);
	values[i++] = Int64GetDatum(result->rows_deleted);
	values[i++] = Int64GetDatum(result->rows_filtered);
	values[i++] = Int64GetDatum(result->rows_read);
	values[i++] = Int64GetDatum(result->bytes_read);
	values[i++] = JsonbPGetDatum(options_of(history));
	values[i++] = CStringGetTextDatum(GetUserNameFromId(GetUserId(), false));
	values[i++] = TimestampTzGetDatum(result->started);
	values[i++] = TimestampTzGetDatum(GetCurrentTimestamp());
	Assert(i == NCOLUMNS);
	return history_table_run(table, sql, NCOLUMNS, types, values, nulls, NULL, 0);
}

/* "INSERT INTO ... (load_id, ...) SELECT $1, ..." */
static StringInfo
insert_text(const HistoryTable *table)
{
	StringInfo	sql = makeStringInfo();

	appendStringInfo(sql, "INSERT INTO %s", table->name);
	for (int i = 0; i < NCOLUMNS; i++)
		appendStringInfo(sql, "%s%s", i == 0 ? " (" : ", ", columns[i].name);
	for (int i = 0; i < NCOLUMNS; i++)
		appendStringInfo(sql, "%s$%d", i == 0 ? ") SELECT " : ", ", i + 1);
	return sql;
}

/* The same for a row that has been claimed. */
static StringInfo
update_text(const HistoryTable *table)
{
	StringInfo	sql = makeStringInfo();

	appendStringInfo(sql, "UPDATE %s", table->name);
	for (int i = 0; i < NCOLUMNS; i++)
		appendStringInfo(sql, "%s%s = $%d", i == 0 ? " SET " : ", ", columns[i].name, i + 1);
	appendStringInfo(sql, " WHERE target OPERATOR(pg_catalog.=) $%d"
					 " AND once_key OPERATOR(pg_catalog.=) $%d", TARGET, ONCE_KEY);
	return sql;
}

/* ---- opening ---- */

/* Whether rows are to be written; a dry run looks at them for option once. */
static bool
is_wanted(const BulkOptions *options, Relation target)
{
	bool		temporary = target->rd_rel->relpersistence == RELPERSISTENCE_TEMP;

	if (options->once != BULK_ONCE_NONE && temporary)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"once\" cannot be used for a temporary table"),
				 errdetail("Loads of temporary tables are not remembered.")));
	if (options->once != BULK_ONCE_NONE)
		return true;
	if (options->dry_run || options->plain || temporary)
		return false;
	return options->history >= 0 ? options->history : history_enabled;
}

static void
read_file(HistoryFile *file)
{
	file->is_file = content_read(file->path, &file->stamp, &file->key);
	if (file->is_file)
		file->range.end = file->stamp.size;
}

/* Whether the files are worth remembering without being asked. */
static bool
has_files(const History *history)
{
	for (int i = 0; i < history->nfiles; i++)
		if (history->files[i].is_file)
			return true;
	return false;
}

/* Counts those that are to be loaded. */
static void
number_files(History *history)
{
	history->nchosen = 0;
	for (int i = 0; i < history->nfiles; i++)
		if (!history->files[i].passed_over)
			history->files[i].number = ++history->nchosen;
}

/* ---- option once ---- */

static void
refuse_source(const HistoryFile *file)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("option \"once\" cannot be used for \"%s\"", file->path_text),
			 errdetail("It is no regular file.")));
}

/*
 * Claims what once_key says; where may exclude what is known otherwise.  False:
 * it has been loaded before, maybe by another session just now.
 */
static bool
claim(const History *history, const HistoryTable *table, const HistoryFile *file,
	  const LoadResult *result, const char *where)
{
	StringInfo	sql = insert_text(table);

	if (!history->options->dry_run)
	{
		appendStringInfo(sql, " WHERE true%s ON CONFLICT (target, once_key) DO NOTHING", where);
		return run_for_row(history, table, file, result, sql->data) == 1;
	}
	/* all parameters must have a use */
	resetStringInfo(sql);
	appendStringInfoString(sql, "SELECT");
	for (int i = 0; i < NCOLUMNS; i++)
		appendStringInfo(sql, "%s$%d", i == 0 ? " " : ", ", i + 1);
	appendStringInfo(sql, " WHERE true%s AND NOT EXISTS (SELECT FROM %s h"
					 " WHERE h.target OPERATOR(pg_catalog.=) $%d AND h.once_key OPERATOR(pg_catalog.=) $%d)",
					 where, table->name, TARGET, ONCE_KEY);
	return run_for_row(history, table, file, result, sql->data) == 1;
}

/* A condition: no file, loaded with option once or without, has that value of a column. */
static const char *
unless_known(const HistoryTable *table, const char *column, int parameter)
{
	return psprintf(" AND NOT EXISTS (SELECT FROM %s h WHERE h.target OPERATOR(pg_catalog.=) $%d"
					" AND h.%s OPERATOR(pg_catalog.=) $%d AND h.loaded_to IS NOT NULL)",
					table->name, TARGET, column, parameter);
}

/* How much of a file has been loaded, and the hash of that; 0: nothing. */
static int64
find_known_part(const History *history, const HistoryTable *table, const HistoryFile *file,
				ContentKey *key)
{
	Oid			types[] = {OIDOID, TEXTOID};
	Datum		values[] = {
		ObjectIdGetDatum(history->target), CStringGetTextDatum(file->path_text)
	};
	Datum		results[2];

	if (history_table_run(table,
						  psprintf("SELECT loaded_to, content FROM %s"
								   " WHERE target OPERATOR(pg_catalog.=) $1 AND path OPERATOR(pg_catalog.=) $2"
								   " AND loaded_to IS NOT NULL ORDER BY loaded_to DESC, load_id DESC LIMIT 1",
								   table->name),
						  2, types, values, NULL, results, lengthof(results)) == 0)
		return 0;
	*key = key_of(results[1]);
	return DatumGetInt64(results[0]);
}

static void
refuse_other(const HistoryFile *file, int64 begin)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("file \"%s\" is not the one that was loaded before", file->path_text),
			 errdetail("Its first %lld bytes were loaded, and are not the same now.",
					   (long long) begin),
			 errhint("If it is a new file of that name, forget the old one with bulk_load_forget.")));
}

/*
 * Claims what is behind the known part of a file.  Where another session has
 * done so, that part has become longer when it is done.
 */
static bool
claim_tail(const History *history, const HistoryTable *table, HistoryFile *file,
		   const LoadResult *result)
{
	for (;;)
	{
		ContentKey	known = {0};
		ContentTail tail = {
			.ends.quote = history->options->quote,
			.ends.escape = history->options->format == BULK_CSV ? history->options->escape : '\\'
		};

		CHECK_FOR_INTERRUPTS();
		tail.begin = find_known_part(history, table, file, &known);
		file->is_file = content_read_tail(file->path, &file->stamp, &tail);
		if (!file->is_file && tail.end >= 0)
			refuse_source(file);
		if (!file->is_file ||
			(tail.begin > 0 && (tail.before.high != known.high || tail.before.low != known.low)))
			refuse_other(file, tail.begin);
		if (tail.end == tail.begin)
			return false;
		file->key = tail.key;
		file->range = (SourceRange) {
			.begin = tail.begin,.begin_line = tail.begin_lines + 1,.end = tail.end
		};
		file->once_key = psprintf("tail:" INT64_FORMAT ":%s", tail.begin, file->path_text);
		if (claim(history, table, file, result, ""))
			return true;
	}
}

/* Whether a file is to be loaded. */
static bool
claim_file(const History *history, const HistoryTable *table, HistoryFile *file,
		   const LoadResult *result)
{
	bool		claimed;

	switch (history->options->once)
	{
		case BULK_ONCE_CONTENT:
			if (!file->is_file)
				refuse_source(file);
			return claim(history, table, file, result, unless_known(table, "content", CONTENT));
		case BULK_ONCE_TAIL:
			return claim_tail(history, table, file, result);
		case BULK_ONCE_PATH:
			claimed = claim(history, table, file, result, unless_known(table, "path", PATH));
			break;
		default:
			claimed = claim(history, table, file, result, "");
			break;
	}
	/* what has been loaded need not be read */
	if (claimed)
		read_file(file);
	if (claimed && !file->is_file)
		refuse_source(file);
	return claimed;
}

/* By what a file is known; that of a tail is not known yet. */
static char *
once_key(const BulkOptions *options, const HistoryFile *file)
{
	switch (options->once)
	{
		case BULK_ONCE_CONTENT:
			return psprintf("content:%016llx%016llx", (unsigned long long) file->key.high,
							(unsigned long long) file->key.low);
		case BULK_ONCE_IMPORT:
			return psprintf("import:%s:%s", options->import_id, file->path_text);
		default:
			return psprintf("path:%s", file->path_text);
	}
}

static int
compare_files(const void *a, const void *b)
{
	const HistoryFile *const *left = a;
	const HistoryFile *const *right = b;
	int			order = strcmp((*left)->once_key, (*right)->once_key);

	return order != 0 ? order : (*left > *right) - (*left < *right);
}

/* In one order in all sessions, so that they do not wait for each other. */
static void
claim_files(History *history, const LoadResult *result)
{
	HistoryTable table = history_table_find();
	HistoryFile **sorted = palloc(sizeof(HistoryFile *) * Max(history->nfiles, 1));

	for (int i = 0; i < history->nfiles; i++)
	{
		HistoryFile *file = sorted[i] = &history->files[i];

		if (strcmp(file->path, SOURCE_CLIENT) == 0)
			refuse_source(file);
		if (history->options->once == BULK_ONCE_CONTENT)
			read_file(file);
		file->once_key = once_key(history->options, file);
	}
	qsort(sorted, history->nfiles, sizeof(HistoryFile *), compare_files);
	for (int i = 0; i < history->nfiles; i++)
	{
		CHECK_FOR_INTERRUPTS();
		sorted[i]->passed_over = !claim_file(history, &table, sorted[i], result);
	}
}

static void
notice_passed_over(const History *history, LoadResult *result)
{
	StringInfoData names;
	int			n;

	initStringInfo(&names);
	for (int i = 0; i < history->nfiles; i++)
		if (history->files[i].passed_over)
			result->passed_over = lappend(result->passed_over,
										  unconstify(char *, history->files[i].path));
	n = list_length(result->passed_over);
	if (n == 0 || history->options->log_verbosity == BULK_VERBOSITY_SILENT)
		return;
	for (int i = 0; i < Min(n, NAMES_SHOWN); i++)
		appendStringInfo(&names, "%s\"%s\"", i == 0 ? "" : ", ",
						 encoding_path_text(list_nth(result->passed_over, i)));
	ereport(NOTICE,
			(history->options->once == BULK_ONCE_TAIL ?
			 errmsg_plural("%d file has no new row that is complete, and is passed over",
						   "%d files have no new row that is complete, and are passed over", n, n) :
			 errmsg_plural("%d file was loaded before and is passed over",
						   "%d files were loaded before and are passed over", n, n),
			 n > NAMES_SHOWN ? errdetail("%s and others.", names.data) :
			 errdetail("%s.", names.data)));
}

History *
history_open(const BulkOptions *options, Relation target, List *paths, LoadResult *result)
{
	History    *history;

	if (!is_wanted(options, target) || (options->query != NULL && options->history != 1))
		return NULL;
	history = palloc0(sizeof(History));
	history->target = RelationGetRelid(target);
	history->target_name = statement_table(history->target);
	history->options = options;
	history->nfiles = list_length(paths);
	history->files = palloc0(sizeof(HistoryFile) * Max(history->nfiles, 1));
	for (int i = 0; i < history->nfiles; i++)
	{
		HistoryFile *file = &history->files[i];

		file->path = list_nth(paths, i);
		file->path_text = encoding_path_text(file->path);
		if (options->query == NULL && options->once == BULK_ONCE_NONE &&
			strcmp(file->path, SOURCE_CLIENT) != 0)
			read_file(file);
	}
	if (options->once != BULK_ONCE_NONE)
	{
		claim_files(history, result);
		notice_passed_over(history, result);
	}
	number_files(history);
	return options->history == 1 || options->once != BULK_ONCE_NONE || has_files(history) ?
		history : NULL;
}

List *
history_select(const History *history, List *list)
{
	List	   *selected = NIL;

	for (int i = 0; i < list_length(list); i++)
		if (!history->files[i].passed_over)
			selected = lappend(selected, list_nth(list, i));
	return selected;
}

const SourceRange *
history_ranges(const History *history)
{
	SourceRange *ranges = palloc(sizeof(SourceRange) * Max(history->nchosen, 1));

	for (int i = 0; i < history->nfiles; i++)
		if (!history->files[i].passed_over)
			ranges[history->files[i].number - 1] = history->files[i].range;
	return ranges;
}

/* ---- writing ---- */

/* Rows of before: by the table's name a dump finds it; old ones are not kept for ever. */
static void
tidy_rows(const History *history, const HistoryTable *table)
{
	Oid			types[] = {OIDOID, TEXTOID, TIMESTAMPTZOID};
	Datum		values[] = {
		ObjectIdGetDatum(history->target),
		CStringGetTextDatum(history->target_name),
		TimestampTzGetDatum(GetCurrentTimestamp() -
							(TimestampTz) history_keep * SECS_PER_MINUTE * USECS_PER_SEC)
	};

	(void) history_table_run(table,
							 psprintf("UPDATE %s SET target_name = $2"
									  " WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND target_name OPERATOR(pg_catalog.<>) $2", table->name),
							 2, types, values, NULL, NULL, 0);
	if (history_keep > 0)
		(void) history_table_run(table,
								 psprintf("DELETE FROM %s"
										  " WHERE target OPERATOR(pg_catalog.=) $1"
										  " AND finished OPERATOR(pg_catalog.<) $3", table->name),
								 3, types, values, NULL, NULL, 0);
}

void
history_write(History *history, const LoadResult *result)
{
	bool		once = history->options->once != BULK_ONCE_NONE;
	HistoryTable table;
	const char *sql;

	for (int i = 0; i < history->nfiles; i++)
		if (history->files[i].is_file && !history->files[i].passed_over)
			content_check(history->files[i].path, &history->files[i].stamp);
	if (history->options->dry_run)
		return;
	table = history_table_find();
	sql = once ? update_text(&table)->data : insert_text(&table)->data;
	for (int i = 0; i < history->nfiles; i++)
	{
		const HistoryFile *file = &history->files[i];

		CHECK_FOR_INTERRUPTS();
		if (!file->passed_over &&
			run_for_row(history, &table, file, result, sql) != 1)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("file \"%s\" was forgotten while it was loaded", file->path_text)));
	}
	/* claims are as old as the load until then */
	tidy_rows(history, &table);
}

/* ---- forgetting ---- */

static void
check_owner(Oid target, const HistoryTable *table)
{
	char	   *name = get_rel_name(target);

	/* of a table that is gone, who owns the history */
	if (name == NULL ? has_privs_of_role(GetUserId(), table->owner) :
		compat_owns_table(target, GetUserId()))
		return;
	aclcheck_error(ACLCHECK_NOT_OWNER, name == NULL ? OBJECT_TABLE :
				   get_relkind_objtype(get_rel_relkind(target)),
				   name == NULL ? HISTORY_TABLE : name);
}

int64
history_forget(Oid target, const char *path, TimestampTz before)
{
	HistoryTable table = history_table_find();
	Oid			types[] = {OIDOID, TIMESTAMPTZOID, TEXTOID};
	Datum		values[] = {
		ObjectIdGetDatum(target), TimestampTzGetDatum(before),
		path == NULL ? (Datum) 0 : CStringGetTextDatum(path)
	};

	check_owner(target, &table);
	return history_table_run(&table,
							 psprintf("DELETE FROM %s"
									  " WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND finished OPERATOR(pg_catalog.<) $2"
									  " AND ($3 IS NULL OR path OPERATOR(pg_catalog.=) $3)", table.name),
							 3, types, values, path == NULL ? "  n" : NULL, NULL, 0);
}
