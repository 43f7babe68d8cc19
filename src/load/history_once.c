/*
 * history_once.c
 *		Option once: which files have been loaded before, and claims of the others.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "load/history.h"
#include "load/history_state.h"
#include "miscadmin.h"
#include "stream/content.h"
#include "stream/path.h"
#include "utils/builtins.h"

static void
refuse_source(const HistoryFile *file)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("option \"once\" cannot be used for \"%s\"", file->path_text),
			 strcmp(file->path, SOURCE_CLIENT) == 0 ?
			 errdetail("What the client sends is received before it can be passed over.") :
			 errdetail("It is no regular file.")));
}

const char *
history_same_rows(const char *path_text, const ContentKey *extra)
{
	return extra == NULL ? "" :
		psprintf(" AND (path OPERATOR(pg_catalog.=) %s"
				 " OR extra OPERATOR(pg_catalog.=) '%s'::pg_catalog.uuid)",
				 quote_literal_cstr(path_text), history_key_text(extra));
}

static const char *
same_rows(const HistoryFile *file)
{
	return history_same_rows(file->path_text, file->extra);
}

/* The same of a file that a dry run has claimed. */
static bool
has_same_rows(const HistoryFile *tried, const HistoryFile *file)
{
	return file->extra == NULL || strcmp(tried->path_text, file->path_text) == 0 ||
		(tried->extra != NULL && content_key_equal(tried->extra, file->extra));
}

const char *
history_skipped(int64 most)
{
	return psprintf("COALESCE(options OPERATOR(pg_catalog.->) 'skip'::pg_catalog.text,"
					" '0'::pg_catalog.jsonb) OPERATOR(pg_catalog.<=) '" INT64_FORMAT "'::pg_catalog.jsonb",
					most);
}

/* A condition on a row: it lacks no rows that are to be loaded, or does so once and for all. */
static const char *
no_more_skipped(const History *history)
{
	return psprintf(" AND (once_key IS NOT NULL OR %s)", history_skipped(history->options->skip));
}

/*
 * A condition: no file that is complete, loaded with option once or without, has that value, of
 * those of which more is true.
 */
static const char *
unless_known(const History *history, const HistoryTable *table, const char *column, int parameter,
			 const char *more)
{
	return psprintf(" AND NOT EXISTS (SELECT FROM %s h WHERE h.target OPERATOR(pg_catalog.=) $%d"
					" AND h.%s OPERATOR(pg_catalog.=) $%d AND h.loaded_to IS NOT NULL"
					" AND (h.part_of IS NULL OR h.part_of OPERATOR(pg_catalog.=) h.content)%s AND %s%s)",
					table->name, HISTORY_TARGET, column, parameter, no_more_skipped(history),
					history_is_there(table), more);
}

/*
 * How much of a file has been loaded, the hash of that, and whether it ends with a row.  claim: a
 * once_key that does not count, or "".
 */
static int64
find_known_part(const History *history, const HistoryTable *table, const HistoryFile *file,
				const char *claim, ContentKey *key, bool *complete)
{
	Oid			types[] = {OIDOID, TEXTOID, TEXTOID};
	Datum		values[] = {
		ObjectIdGetDatum(history->target), CStringGetTextDatum(file->path_text),
		CStringGetTextDatum(claim)
	};
	Datum		results[3];
	const HistoryFile *tried = NULL;
	ListCell   *lc;

	*complete = true;
	foreach(lc, history->tried)
		if (strcmp(((const HistoryFile *) lfirst(lc))->path_text, file->path_text) == 0)
			tried = lfirst(lc);
	if (tried != NULL)
	{
		*key = tried->key;
		return tried->range.end;
	}
	if (history_table_run(table,
						  psprintf("SELECT loaded_to, content, once_key OPERATOR(pg_catalog.~~) 'tail:%%'"
								   " FROM %s WHERE target OPERATOR(pg_catalog.=) $1 AND path OPERATOR(pg_catalog.=) $2"
								   " AND loaded_to IS NOT NULL%s AND %s"
								   " AND (once_key IS NULL OR once_key OPERATOR(pg_catalog.<>) $3)"
								   " ORDER BY loaded_to DESC, load_id DESC LIMIT 1",
								   table->name, no_more_skipped(history), history_is_there(table)),
						  3, types, values, NULL, results, lengthof(results)) == 0)
		return 0;
	*key = history_key(results[1]);
	*complete = DatumGetBool(results[2]);
	return DatumGetInt64(results[0]);
}

/* What was loaded otherwise than by its tail may have lacked its last bytes. */
static void
refuse_incomplete(const HistoryFile *file, int64 begin)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("file \"%s\" ended within a row when it was loaded before", file->path_text),
			 errdetail("Its first %lld bytes were loaded; the row goes on behind them.",
					   (long long) begin),
			 errhint("Delete the rows of that load, forget it with bulk_load_forget, and load files that grow with \"once\" set to \"tail\" from the beginning.")));
}

static void
refuse_other(const HistoryFile *file, int64 begin)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("file \"%s\" is not the one that was loaded before", file->path_text),
			 errdetail("Its first %lld bytes were loaded, and are not the same now.",
					   (long long) begin),
			 errhint("If it is a new file of that name, load what is left of the old one, and forget that with bulk_load_forget.")));
}

/* How rows end, and where the part that is wanted does. */
static RowEnds
row_ends_of(const BulkOptions *options)
{
	return (RowEnds) {
		.quote = options->quote,
		.escape = options->format == BULK_CSV ? options->escape : '\\',
		.stop_bytes = options->part_bytes,
		.stop_rows = options->part_rows
	};
}

/* What ends lines, as readers count them, of files in which LF ends rows. */
static ScanEol
eol_of(const BulkOptions *options)
{
	return options->newline == BULK_NEWLINE_ANY ? SCAN_EOL_ANY : SCAN_EOL_NL;
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
			.ends = row_ends_of(history->options),.lines = {.eol = eol_of(history->options)}
		};

		CHECK_FOR_INTERRUPTS();
		tail.begin = find_known_part(history, table, file, "", &known, &tail.complete);
		file->is_file = content_read_tail(file->path, &file->stamp, &tail);
		if (!file->is_file && tail.end >= 0)
			refuse_source(file);
		if (!file->is_file ||
			(tail.begin > 0 && !content_key_equal(&tail.before, &known)))
			refuse_other(file, tail.begin);
		file->incomplete = (IncompleteRow) {
			.path = file->path,
			.line = tail.rest_line,
			.lines = tail.rest_lines,
			.bytes = tail.rest_bytes,
			.quoted = tail.ends.quoted
		};
		if (tail.end == tail.begin || tail.end == tail.rows_begin)
			return false;
		if (tail.rows_begin < 0)
			refuse_incomplete(file, tail.begin);
		file->key = tail.key;
		file->range = (SourceRange) {
			.begin = tail.rows_begin,
			.begin_line = tail.begin_lines + 1 + (tail.rows_begin > tail.begin),
			.end = tail.end
		};
		file->once_key = psprintf("tail:" INT64_FORMAT, tail.begin);
		if (history_claim(history, table, file, result, ""))
			return true;
	}
}

/* A part of a file that is in the table. */
typedef struct KnownPart
{
	int64		loaded_to;		/* 0: there is none */
	ContentKey	key;			/* of the bytes before that */
	ContentKey	part_of;
} KnownPart;

/* The last one in an order whose column has a value, of those of which more is true. */
static KnownPart
find_part(const HistoryTable *table, Oid target, const char *column, Oid type, Datum value,
		  const char *more, const char *order)
{
	Oid			types[] = {OIDOID, type};
	Datum		values[] = {ObjectIdGetDatum(target), value};
	Datum		results[3];
	KnownPart	part = {0};

	if (history_table_run(table,
						  psprintf("SELECT loaded_to, content, part_of FROM %s"
								   " WHERE target OPERATOR(pg_catalog.=) $1 AND %s OPERATOR(pg_catalog.=) $2"
								   " AND part_of IS NOT NULL AND %s%s ORDER BY %s DESC LIMIT 1",
								   table->name, column, history_is_there(table), more, order),
						  2, types, values, NULL, results, lengthof(results)) == 0)
		return part;
	part.loaded_to = DatumGetInt64(results[0]);
	part.key = history_key(results[1]);
	part.part_of = history_key(results[2]);
	return part;
}

/* The last one that a dry run has claimed. */
static KnownPart
find_tried_part(const History *history, const HistoryFile *file, const ContentKey *whole)
{
	KnownPart	part = {0};
	ListCell   *lc;

	foreach(lc, history->tried)
	{
		const HistoryFile *tried = lfirst(lc);

		if (content_key_equal(&tried->part_of, whole) && has_same_rows(tried, file))
			part = (KnownPart) {
				.loaded_to = tried->range.end,.key = tried->key,.part_of = tried->part_of
			};
	}
	return part;
}

/* Of the same bytes, whatever their name was. */
static KnownPart
find_part_by_content(const History *history, const HistoryTable *table, const HistoryFile *file,
					 const ContentKey *whole)
{
	KnownPart	tried = find_tried_part(history, file, whole);

	return tried.loaded_to > 0 ? tried :
		find_part(table, history->target, "part_of", UUIDOID, history_uuid(whole),
				  same_rows(file), "loaded_to");
}

/* Of the file that had that name last. */
static KnownPart
find_part_by_path(const History *history, const HistoryTable *table, const HistoryFile *file)
{
	KnownPart	part = find_part(table, history->target, "path", TEXTOID,
								 CStringGetTextDatum(file->path_text), "", "load_id");

	return part.loaded_to == 0 ? part : find_part_by_content(history, table, file, &part.part_of);
}

/* What was loaded by its tail of a file that has more by now. */
static KnownPart
find_tail(const History *history, const HistoryTable *table, const HistoryFile *file,
		  const char *claim)
{
	KnownPart	tail = {0};
	bool		is_tail;
	ContentKey	start;

	tail.loaded_to = find_known_part(history, table, file, claim, &tail.key, &is_tail);
	/* else it is another file that has the name now */
	if (!is_tail || tail.loaded_to == 0 || tail.loaded_to >= file->stamp.size ||
		!content_read_start(file->path, tail.loaded_to, &start) ||
		!content_key_equal(&start, &tail.key))
		tail.loaded_to = 0;
	return tail;
}

/* Where only a part is in the table, a load of the whole file would load that once more. */
static void
refuse_rest(const History *history, const HistoryTable *table, const HistoryFile *file)
{
	KnownPart	part = find_part_by_path(history, table, file);
	bool		by_tail;

	if (part.loaded_to == 0 && history->options->once == BULK_ONCE_CONTENT && !file->unread)
		part = find_part_by_content(history, table, file, &file->key);
	by_tail = part.loaded_to == 0 || content_key_equal(&part.key, &part.part_of);
	if (by_tail)
		part = find_tail(history, table, file, file->once_key == NULL ? "" : file->once_key);
	if (part.loaded_to == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("file \"%s\" has been loaded in part", file->path_text),
			 errdetail("Its first %lld bytes were loaded.", (long long) part.loaded_to),
			 by_tail ?
			 errhint("Load the rest with \"once\" set to \"tail\" or by bulk_load_each with option \"commit_every\", or forget the file with bulk_load_forget.") :
			 errhint("Load the rest by bulk_load_each with option \"commit_every\", or forget the file with bulk_load_forget.")));
}

/* Whether all of a file is in the table, loaded in one or in parts. */
static bool
is_known(const History *history, const HistoryTable *table, const HistoryFile *file,
		 const ContentKey *whole)
{
	Oid			types[] = {OIDOID, UUIDOID};
	Datum		values[] = {ObjectIdGetDatum(history->target), history_uuid(whole)};
	KnownPart	tried = find_tried_part(history, file, whole);

	return content_key_equal(&tried.key, whole) ||
		history_table_run(table,
						  psprintf("SELECT FROM %s WHERE target OPERATOR(pg_catalog.=) $1"
								   " AND content OPERATOR(pg_catalog.=) $2 AND loaded_to IS NOT NULL"
								   " AND (part_of IS NULL OR part_of OPERATOR(pg_catalog.=) content)%s AND %s%s LIMIT 1",
								   table->name, no_more_skipped(history), history_is_there(table),
								   same_rows(file)),
						  2, types, values, NULL, NULL, 0) > 0;
}

/*
 * Where the next part begins.  What has been loaded is known by the bytes of the
 * whole file; or by its path, where the rest has been mended or added since.
 */
static int64
find_begin(const History *history, const HistoryTable *table, const HistoryFile *file,
		   ContentPart *part)
{
	KnownPart	known = find_part_by_content(history, table, file, &part->whole);
	ContentKey	before;

	if (known.loaded_to == 0)
		known = find_part_by_path(history, table, file);
	if (known.loaded_to == 0 || content_key_equal(&known.key, &known.part_of))
		known = find_tail(history, table, file, "");
	if (known.loaded_to > part->stamp.size)
		refuse_other(file, known.loaded_to);
	before = content_part_seek(part, file->path, known.loaded_to,
							   eol_of(history->options));
	if (known.loaded_to > 0 && !content_key_equal(&before, &known.key))
		refuse_other(file, known.loaded_to);
	return known.loaded_to;
}

/* Claims the next part.  Where another session has done so, that is known when it is done. */
static bool
claim_part(const History *history, const HistoryTable *table, HistoryFile *file,
		   const LoadResult *result)
{
	for (;;)
	{
		ContentPart *part = content_part_open(file->path);
		int64		begin;

		CHECK_FOR_INTERRUPTS();
		if (part == NULL)
			refuse_source(file);
		if (is_known(history, table, file, &part->whole))
			return false;
		file->stamp = part->stamp;
		begin = find_begin(history, table, file, part);
		content_part_find(part, file->path, row_ends_of(history->options));
		file->is_file = file->is_part = true;
		file->key = part->key;
		file->part_of = part->whole;
		file->range = (SourceRange) {
			.begin = begin,.begin_line = part->begin_lines.lines + 1,.end = part->end
		};
		file->once_key = psprintf("part:%s:" INT64_FORMAT, history_key_text(&part->whole), begin);
		if (history_claim(history, table, file, result, ""))
			return true;
	}
}

/* Whether a dry run has claimed those rows, maybe by another pattern that the path matches. */
static bool
is_tried(const History *history, const HistoryFile *file)
{
	ListCell   *lc;

	foreach(lc, history->tried)
	{
		const HistoryFile *tried = lfirst(lc);

		if (content_key_equal(&tried->key, &file->key) && has_same_rows(tried, file))
			return true;
	}
	return false;
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
			claimed = file->unread ||
				(!is_tried(history, file) &&
				 history_claim(history, table, file, result,
							   unless_known(history, table, "content", HISTORY_CONTENT,
											same_rows(file))));
			if (claimed)
				refuse_rest(history, table, file);
			return claimed;
		case BULK_ONCE_TAIL:
			return claim_tail(history, table, file, result);
		case BULK_ONCE_PART:
			return claim_part(history, table, file, result);
		case BULK_ONCE_PATH:
			claimed = history_claim(history, table, file, result,
									unless_known(history, table, "path", HISTORY_PATH, ""));
			break;
		default:
			claimed = history_claim(history, table, file, result, "");
			break;
	}
	if (claimed)
		history_stamp_file(file);
	if (claimed && !file->is_file)
		refuse_source(file);
	if (claimed)
		refuse_rest(history, table, file);
	return claimed;
}

const char *
history_content_key(const HistoryFile *file)
{
	return psprintf("content:%s", history_key_text(&file->key));
}

/* By what a file is known; that of a tail is not known yet, nor that of a file that is unread. */
static const char *
once_key(const BulkOptions *options, const HistoryFile *file)
{
	switch (options->once)
	{
		case BULK_ONCE_CONTENT:
			return file->unread ? NULL : history_content_key(file);
		case BULK_ONCE_IMPORT:
			return psprintf("import:%s", options->import_id);
		default:
			return "path";
	}
}

static int
compare_files(const void *a, const void *b)
{
	const HistoryFile *left = *(const HistoryFile *const *) a;
	const HistoryFile *right = *(const HistoryFile *const *) b;
	int			order = (left->once_key == NULL) - (right->once_key == NULL);

	if (order == 0 && left->once_key != NULL)
		order = strcmp(left->once_key, right->once_key);
	if (order == 0)
		order = strcmp(left->path_text, right->path_text);
	return order != 0 ? order : (left > right) - (left < right);
}

void
history_claim_files(History *history, const LoadResult *result)
{
	HistoryTable table = history_table_find();
	/* one order in all sessions, so that they do not wait for each other */
	HistoryFile **sorted = palloc(sizeof(HistoryFile *) * Max(history->nfiles, 1));

	for (int i = 0; i < history->nfiles; i++)
	{
		if (strcmp(history->files[i].path, SOURCE_CLIENT) == 0)
			refuse_source(&history->files[i]);
		if (history->options->once == BULK_ONCE_CONTENT)
			history_stamp_file(&history->files[i]);
	}
	if (history->options->once == BULK_ONCE_CONTENT)
		history_lock_sizes(history, &table);
	for (int i = 0; i < history->nfiles; i++)
	{
		HistoryFile *file = sorted[i] = &history->files[i];

		if (history->options->once == BULK_ONCE_CONTENT && !file->unread)
		{
			int64		locked = file->stamp.size;

			history_read_file(file);
			history_check_size(file, locked);
		}
		file->once_key = once_key(history->options, file);
	}
	qsort(sorted, history->nfiles, sizeof(HistoryFile *), compare_files);
	for (int i = 0; i < history->nfiles; i++)
	{
		CHECK_FOR_INTERRUPTS();
		sorted[i]->passed_over = !claim_file(history, &table, sorted[i], result);
		if (!sorted[i]->passed_over && history->options->dry_run)
			history->tried = lappend(history->tried, sorted[i]);
	}
}
