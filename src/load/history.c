/*
 * history.c
 *		See history.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "format/encoding.h"
#include "format/extra.h"
#include "load/history.h"
#include "load/history_state.h"
#include "load/history_table.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/text_clip.h"
#include "stream/content.h"
#include "stream/file.h"
#include "stream/path.h"
#include "table/statement.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

bool		history_enabled = false;
int			history_keep = 0;

#define NAMES_SHOWN 3

/* Of a path with its import id, which indexes of the history must have room for. */
#define MAX_NAME_BYTES 2600

/* Of a row that is being written there are rarely as many lines, or bytes. */
#define MANY_LINES 10
#define MANY_BYTES (64 * 1024)

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

void
history_read_file(HistoryFile *file)
{
	file->is_file = content_read(file->path, &file->stamp, &file->key);
	file->unread = false;
	if (file->is_file)
		file->range.end = file->stamp.size;
}

void
history_stamp_file(HistoryFile *file)
{
	file->is_file = file->unread = content_stamp(file->path, &file->stamp);
	if (file->is_file)
		file->range.end = file->stamp.size;
}

bool
history_hashes(const History *history)
{
	for (int i = 0; i < history->nfiles; i++)
		if (history->files[i].unread && !history->files[i].passed_over)
			return !history->options->dry_run;
	return false;
}

/*
 * The key of a file that has been loaded, which must be the one that was looked at before: it may
 * have been opened earlier.  What was read in part, or not at all, is read once more.
 */
static void
find_key(HistoryFile *file, const Source *source)
{
	const FileStamp *opened = &source->hashed[file->number - 1];

	if (opened->inode != 0 && !file_is_same(&file->stamp, opened))
		content_refuse_changed(file->path);
	if (opened->hashed)
		file->key = opened->key;
	else
		history_read_file(file);
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

/* That the history has room for their names. */
static void
check_names(const History *history)
{
	const char *import_id = history->options->import_id;

	for (int i = 0; i < history->nfiles; i++)
	{
		const char *path = history->files[i].path_text;
		size_t		bytes = strlen(path) + (import_id == NULL ? 0 : strlen(import_id));

		if (bytes > MAX_NAME_BYTES)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("path \"%s\" is too long for the history",
							text_clip_string(path, 100)),
					 import_id == NULL ?
					 errdetail("It has %zu bytes, and %d at most.", bytes, MAX_NAME_BYTES) :
					 errdetail("With its import id it has %zu bytes, and %d at most.", bytes,
							   MAX_NAME_BYTES)));
	}
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

/* Whether there are parts of a file behind that which is loaded. */
static bool
has_more(const History *history)
{
	for (int i = 0; i < history->nfiles; i++)
		if (history->files[i].is_part && !history->files[i].passed_over &&
			history->files[i].range.end < history->files[i].stamp.size)
			return true;
	return false;
}

static void
append_name(StringInfo names, const HistoryFile *file)
{
	appendStringInfo(names, "%s\"%s\"", names->len == 0 ? "" : ", ",
					 encoding_path_text(file->path));
	if (file->incomplete.bytes > 0)
		appendStringInfo(names, " (the row in line %lld is not complete)",
						 (long long) file->incomplete.line);
}

static void
notice_passed_over(const History *history, LoadResult *result)
{
	StringInfoData names;
	int			n;

	initStringInfo(&names);
	for (int i = 0; i < history->nfiles; i++)
	{
		const HistoryFile *file = &history->files[i];

		if (!file->passed_over)
			continue;
		result->passed_over = lappend(result->passed_over, unconstify(char *, file->path));
		if (list_length(result->passed_over) <= NAMES_SHOWN)
			append_name(&names, file);
	}
	n = list_length(result->passed_over);
	if (n == 0 || history->options->log_verbosity == BULK_VERBOSITY_SILENT)
		return;
	ereport(NOTICE,
			(history->options->once == BULK_ONCE_TAIL ?
			 errmsg_plural("%d file has no new row that is complete, and is passed over",
						   "%d files have no new row that is complete, and are passed over", n, n) :
			 errmsg_plural("%d file was loaded before and is passed over",
						   "%d files were loaded before and are passed over", n, n),
			 n > NAMES_SHOWN ? errdetail("%s and others.", names.data) :
			 errdetail("%s.", names.data)));
}

/* Rows behind one that never ends are not loaded: that must not go unseen. */
static void
tell_incomplete(const History *history, LoadResult *result)
{
	for (int i = 0; i < history->nfiles; i++)
	{
		IncompleteRow *row = &history->files[i].incomplete;

		if (row->bytes == 0)
			continue;
		result->incomplete = lappend(result->incomplete, row);
		if (row->lines < MANY_LINES && row->bytes < MANY_BYTES)
			continue;
		ereport(WARNING,
				(errmsg("row in line %lld of file \"%s\" is not complete, and nothing behind it is loaded",
						(long long) row->line, history->files[i].path_text),
				 errdetail("It has %lld line ends and %lld bytes so far.",
						   (long long) row->lines, (long long) row->bytes),
				 row->quoted ?
				 errhint("A quote in it is not closed: if nobody is still writing that row, correct it in the file, or set option \"quote\".") :
				 errhint("Rows of a file that grows must end in LF.")));
	}
}

ContentKey *
history_extra_key(const BulkOptions *options, const char *path, const char *pattern)
{
	ContentKey *key = palloc(sizeof(ContentKey));

	return extra_path_key(options, path, pattern, key) ? key : NULL;
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
		file->path_text = encoding_path_text(path_tidy(file->path));
		if (options->patterns != NIL)
			file->extra = history_extra_key(options, file->path, list_nth(options->patterns, i));
		if (options->query == NULL && options->once == BULK_ONCE_NONE &&
			strcmp(file->path, SOURCE_CLIENT) != 0)
			history_stamp_file(file);
	}
	/* without files there may be nothing to remember */
	if (options->once == BULK_ONCE_NONE && options->history != 1 && !has_files(history))
		return NULL;
	check_names(history);
	history_check_crash(history, target);
	if (options->once != BULK_ONCE_NONE)
	{
		history_claim_files(history, result);
		result->more = has_more(history);
		notice_passed_over(history, result);
		tell_incomplete(history, result);
	}
	number_files(history);
	return history;
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

/*
 * Rows of before: the table's name is what is left of one that is dropped, and it may have become
 * unlogged, or logged.  There may be a row for each of a million files: whether any is to be
 * changed is found out by an index, as it hardly ever is.
 */
static void
rename_rows(const History *history, const HistoryTable *table)
{
	Oid			types[] = {OIDOID, TEXTOID, UUIDOID};
	const char *nulls = history->unlogged == (Datum) 0 ? "  n" : NULL;
	const char *other = history->unlogged == (Datum) 0 ? "IS NOT NULL" : "IS NULL";
	const char *unlogged = history->unlogged == (Datum) 0 ? "$3" : "COALESCE(unlogged, $3)";
	Datum		values[] = {
		ObjectIdGetDatum(history->target),
		CStringGetTextDatum(history->target_name),
		history->unlogged,
	};

	/* what a crash has taken is gone for ever */
	if (history->lost && history->unlogged == (Datum) 0)
		history_release_all(history, table);
	(void) history_table_run(table,
							 psprintf("UPDATE %s SET target_name = $2, unlogged = %s"
									  " WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND (target_name OPERATOR(pg_catalog.<>) $2 OR unlogged %s)"
									  " AND ((SELECT pg_catalog.min(target_name) OPERATOR(pg_catalog.<>) $2"
									  " OR pg_catalog.max(target_name) OPERATOR(pg_catalog.<>) $2"
									  " FROM %s WHERE target OPERATOR(pg_catalog.=) $1)"
									  " OR EXISTS (SELECT FROM %s WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND target_name OPERATOR(pg_catalog.=) $2 AND unlogged %s))",
									  table->name, unlogged, other, table->name, table->name,
									  other),
							 3, types, values, nulls, NULL, 0);
}

/* Old rows are not kept for ever, but for those without which once would load their files again. */
static void
delete_old_rows(const History *history, const HistoryTable *table)
{
	Oid			types[] = {OIDOID, TIMESTAMPTZOID};
	Datum		values[] = {
		ObjectIdGetDatum(history->target),
		TimestampTzGetDatum(GetCurrentTimestamp() -
							(TimestampTz) history_keep * SECS_PER_MINUTE * USECS_PER_SEC)
	};

	(void) history_table_run(table,
							 psprintf("DELETE FROM %s"
									  " WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND finished OPERATOR(pg_catalog.<) $2"
									  " AND once_key IS NULL AND part_of IS NULL", table->name),
							 2, types, values, NULL, NULL, 0);
}

/* That of one of several files. */
static LoadResult
result_of(const LoadResult *all, const FileCounts *counts)
{
	LoadResult	result = *all;

	result.rows_loaded = file_counts_loaded(counts);
	result.rows_rejected = file_counts_rejected(counts);
	result.rows_duplicate = counts->rejects[REJECT_DUPLICATE];
	result.rows_replaced = counts->rejects[REJECT_REPLACED];
	result.rows_deleted = counts->deleted;
	result.rows_filtered = counts->filtered;
	result.rows_read = counts->read;
	result.bytes_read = counts->bytes;
	return result;
}

#ifdef USE_ASSERT_CHECKING
/* Whether every row that was counted is that of a file. */
static bool
counts_add_up(const History *history, const LoadResult *result, const FileCounts *counts)
{
	LoadResult	rest = *result;

	for (int i = 0; i < history->nchosen; i++)
	{
		LoadResult	one = result_of(result, &counts[i]);

		rest.rows_loaded -= one.rows_loaded;
		rest.rows_rejected -= one.rows_rejected;
		rest.rows_duplicate -= one.rows_duplicate;
		rest.rows_replaced -= one.rows_replaced;
		rest.rows_deleted -= one.rows_deleted;
		rest.rows_filtered -= one.rows_filtered;
		rest.rows_read -= one.rows_read;
		rest.bytes_read -= one.bytes_read;
	}
	return rest.rows_loaded == 0 && rest.rows_rejected == 0 && rest.rows_duplicate == 0 &&
		rest.rows_replaced == 0 && rest.rows_deleted == 0 && rest.rows_filtered == 0 &&
		rest.rows_read == 0 && rest.bytes_read == 0;
}
#endif

void
history_write(History *history, const Source *source, const LoadResult *result,
			  const FileCounts *counts)
{
	HistoryTable table;
	const char *update;
	const char *insert;

	for (int i = 0; i < history->nfiles; i++)
	{
		HistoryFile *file = &history->files[i];
		FileStamp	loaded;

		if (!file->is_file || file->passed_over)
			continue;
		loaded = file->stamp;
		if (file->unread && !history->options->dry_run)
			find_key(file, source);
		content_check(file->path, &loaded);
	}
	Assert(counts == NULL || counts_add_up(history, result, counts));
	if (history->options->dry_run)
		return;
	table = history_table_find();
	update = history_update_text(&table)->data;
	insert = history_insert_text(&table)->data;
	for (int i = 0; i < history->nfiles; i++)
	{
		HistoryFile *file = &history->files[i];
		bool		claimed = file->once_key != NULL;
		LoadResult	one;

		CHECK_FOR_INTERRUPTS();
		if (file->passed_over)
			continue;
		one = counts == NULL ? *result : result_of(result, &counts[file->number - 1]);
		if (!claimed && history->options->once == BULK_ONCE_CONTENT)
			file->once_key = history_content_key(file);
		if (history_run_row(history, &table, file, &one, claimed ? update : insert) != 1)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("file \"%s\" was forgotten while it was loaded", file->path_text)));
	}
	/* claims are as old as the load until then */
	rename_rows(history, &table);
	if (history_keep > 0)
		delete_old_rows(history, &table);
}

/* ---- looking back ---- */

/* A condition on a row: its bad rows are nowhere but in their file. */
#define NOT_KEPT \
	"options OPERATOR(pg_catalog.->>) 'reject_table'::pg_catalog.text IS NULL" \
	" AND options OPERATOR(pg_catalog.->>) 'reject_file'::pg_catalog.text IS NULL"

static Datum *
array_elements(Datum array, Oid type, int *n)
{
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *elements;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(DatumGetArrayTypeP(array), type, length, by_value, align, &elements, NULL, n);
	return elements;
}

/*
 * How many rows were rejected, and not kept, of what led up to a file that has grown since, or been
 * mended behind its first parts.  By index rows are found that have a path of its own rows, or are
 * of a file that had one in part; those count whose bytes are its first.
 */
static int64
count_unkept_before(Oid target, const HistoryTable *table, const char *path, ContentPart *file,
					Datum path_text)
{
	Oid			types[] = {OIDOID, UUIDOID, TEXTOID, INT8OID};
	Datum		values[] = {
		ObjectIdGetDatum(target), history_uuid(&file->whole), path_text,
		Int64GetDatum(file->stamp.size)
	};
	Datum		results[3];
	Datum	   *ends;
	Datum	   *keys;
	Datum	   *rejected;
	int			n;
	int64		unkept = 0;

	(void) history_table_run(table,
							 psprintf("WITH names AS (SELECT ARRAY(SELECT path FROM %s"
									  " WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND (content OPERATOR(pg_catalog.=) $2 OR part_of OPERATOR(pg_catalog.=) $2)"
									  " UNION ALL SELECT $3) AS paths),"
									  " parts AS (SELECT ARRAY(SELECT DISTINCT part_of FROM %s"
									  " WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND path OPERATOR(pg_catalog.=) ANY ((SELECT paths FROM names)::pg_catalog.text[])"
									  " AND loaded_to OPERATOR(pg_catalog.<) $4 AND part_of IS NOT NULL) AS keys)"
									  " SELECT pg_catalog.array_agg(loaded_to), pg_catalog.array_agg(content),"
									  " pg_catalog.array_agg(rows_rejected)"
									  " FROM (SELECT loaded_to, content, rows_rejected FROM %s"
									  " WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND (path OPERATOR(pg_catalog.=) ANY ((SELECT paths FROM names)::pg_catalog.text[])"
									  " OR part_of OPERATOR(pg_catalog.=) ANY ((SELECT keys FROM parts)::pg_catalog.uuid[]))"
									  " AND loaded_to OPERATOR(pg_catalog.<) $4"
									  " AND (part_of IS NULL OR part_of OPERATOR(pg_catalog.<>) $2)"
									  " AND rows_rejected OPERATOR(pg_catalog.>) '0'::pg_catalog.int8 AND " NOT_KEPT
									  " AND %s ORDER BY loaded_to) starts",
									  table->name, table->name, table->name,
									  history_is_there(table)),
							 4, types, values, NULL, results, lengthof(results));
	if (results[0] == (Datum) 0)
		return 0;
	ends = array_elements(results[0], INT8OID, &n);
	keys = array_elements(results[1], UUIDOID, &n);
	rejected = array_elements(results[2], INT8OID, &n);
	for (int i = 0; i < n; i++)
	{
		ContentKey	key = history_key(keys[i]);
		ContentKey	start = content_part_seek(file, path, DatumGetInt64(ends[i]),
											  file->begin_lines.eol);

		if (content_key_equal(&start, &key))
			unkept += DatumGetInt64(rejected[i]);
	}
	return unkept;
}

const BulkOptions *
history_options(Oid target, const char *path, const char *pattern, const BulkOptions *options,
				int64 *unkept, bool *skipped, bool *same_path)
{
	char	   *path_text = encoding_path_text(path_tidy(path));
	HistoryTable table = history_table_find();
	const char *same_rows = psprintf("%s AND %s",
									 history_same_rows(path_text,
													   history_extra_key(options, path, pattern)),
									 history_is_there(&table));
	Oid			types[] = {OIDOID, UUIDOID, TEXTOID};
	ContentPart *file = content_part_open(path);
	Datum		values[3];
	Datum		results[4];

	*unkept = 0;
	*skipped = *same_path = false;
	if (file == NULL)
		return NULL;
	values[0] = ObjectIdGetDatum(target);
	values[1] = history_uuid(&file->whole);
	values[2] = CStringGetTextDatum(path_text);
	/* with its parts */
	if (history_table_run(&table,
						  psprintf("SELECT options, (SELECT COALESCE(pg_catalog.sum(rows_rejected), 0)::pg_catalog.int8"
								   " FROM %s WHERE target OPERATOR(pg_catalog.=) $1"
								   "%s AND (content OPERATOR(pg_catalog.=) $2 OR part_of OPERATOR(pg_catalog.=) $2)"
								   " AND " NOT_KEPT "),"
								   " path OPERATOR(pg_catalog.=) $3,"
								   " NOT EXISTS (SELECT FROM %s WHERE target OPERATOR(pg_catalog.=) $1"
								   "%s AND content OPERATOR(pg_catalog.=) $2 AND loaded_to IS NOT NULL AND %s)"
								   " FROM %s WHERE target OPERATOR(pg_catalog.=) $1"
								   "%s AND content OPERATOR(pg_catalog.=) $2 AND loaded_to IS NOT NULL"
								   " ORDER BY path OPERATOR(pg_catalog.=) $3 DESC, load_id DESC LIMIT 1",
								   table.name, same_rows, table.name, same_rows,
								   history_skipped(options->skip), table.name, same_rows),
						  3, types, values, NULL, results, lengthof(results)) == 0)
		return NULL;
	*unkept = DatumGetInt64(results[1]) +
		count_unkept_before(target, &table, path, file, values[2]);
	*same_path = DatumGetBool(results[2]);
	*skipped = DatumGetBool(results[3]);
	return options_parse(DatumGetJsonbP(results[0]));
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
		path == NULL ? (Datum) 0 : CStringGetTextDatum(path_tidy(path))
	};

	check_owner(target, &table);
	return history_table_run(&table,
							 psprintf("DELETE FROM %s"
									  " WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND finished OPERATOR(pg_catalog.<) $2"
									  " AND ($3 IS NULL OR path OPERATOR(pg_catalog.=) $3)", table.name),
							 3, types, values, path == NULL ? "  n" : NULL, NULL, 0);
}
