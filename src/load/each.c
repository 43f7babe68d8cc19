/*
 * each.c
 *		See each.h.
 */
#include "postgres.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "format/encoding.h"
#include "format/reader.h"
#include "load/each.h"
#include "load/history.h"
#include "load/input.h"
#include "miscadmin.h"
#include "option/extra_options.h"
#include "option/option_value.h"
#include "option/options.h"
#include "server/subtransaction.h"
#include "stream/content.h"
#include "stream/file.h"
#include "stream/manifest.h"
#include "stream/path.h"
#include "stream/path_glob.h"
#include "stream/source.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

typedef enum AfterKind
{
	AFTER_KEEP,
	AFTER_DELETE,
	AFTER_MOVE
} AfterKind;

typedef struct Each
{
	Oid			target;
	char	   *sql;			/* of the load of one file */
	Jsonb	   *json;			/* options of bulk_load */
	const BulkOptions *options;	/* the same, parsed */
	AfterKind	after;
	char	   *folder;			/* of AFTER_MOVE */
	EachResult *result;
} Each;

/* ---- options ---- */

static JsonbValue *
find_option(Jsonb *json, const char *name)
{
	JsonbValue *value = getKeyJsonValueFromContainer(&json->root, name, strlen(name), NULL);

	return value == NULL || value->type == jbvNull ? NULL : value;
}

static void
refuse_after(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"after\" must be \"keep\", \"delete\" or an object with \"move_to\""),
			 errdetail("What \"move_to\" names is an absolute path.")));
}

static bool
is_word(const JsonbValue *value, const char *word)
{
	return value->type == jbvString && value->val.string.len == strlen(word) &&
		pg_strncasecmp(value->val.string.val, word, strlen(word)) == 0;
}

static char *
read_folder(JsonbValue *value)
{
	JsonbValue *folder = NULL;
	char	   *path;

	if (value->type == jbvBinary && JsonContainerIsObject(value->val.binary.data) &&
		JsonContainerSize(value->val.binary.data) == 1)
		folder = getKeyJsonValueFromContainer(value->val.binary.data, "move_to",
											  strlen("move_to"), NULL);
	if (folder == NULL || folder->type != jbvString)
		refuse_after();
	path = pnstrdup(folder->val.string.val, folder->val.string.len);
	if (!is_absolute_path(path))
		refuse_after();
	canonicalize_path(path);
	return path;
}

static void
check_folder(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat directory \"%s\": %m", path)));
	if (!S_ISDIR(st.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a directory", path)));
}

static void
set_after(Each *each, JsonbValue *value)
{
	if (value == NULL || is_word(value, "keep"))
		return;
	each->after = is_word(value, "delete") ? AFTER_DELETE : AFTER_MOVE;
	if (each->after == AFTER_MOVE)
		each->folder = read_folder(value);
	if (!has_privs_of_role(GetUserId(), ROLE_PG_WRITE_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to delete or move files"),
				 errdetail("Only roles with privileges of the \"%s\" role may do that.",
						   "pg_write_server_files")));
	if (each->after == AFTER_MOVE)
		check_folder(each->folder);
}

static Jsonb *
without(Jsonb *json, const char *option)
{
	return DatumGetJsonbP(DirectFunctionCall2(jsonb_delete, JsonbPGetDatum(json),
											  CStringGetTextDatum(option)));
}

/* Files are loaded in parts: bulk_load has them among the values of once. */
static Jsonb *
set_commit_every(Jsonb *json, JsonbValue *value)
{
	JsonbValue *once = find_option(json, "once");
	Jsonb	   *amount;
	int64		bytes;
	int64		rows;

	if (!option_read_amount(value, &bytes, &rows))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"commit_every\" must be a number of rows, or bytes as a string such as \"1GB\"")));
	if (once != NULL && !is_word(once, "content") &&
		!(once->type == jbvBool && once->val.boolean))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"commit_every\" requires \"once\" to be true"),
				 errdetail("Else it would not be known which part comes next.")));
	amount = JsonbValueToJsonb(value);
	return options_merge(without(json, "once"),
						 psprintf("{\"once\": {\"part\": %s}}",
								  JsonbToCString(NULL, &amount->root, VARSIZE(amount))));
}

/* What is left for bulk_load, with once. */
static void
set_options(Each *each, Jsonb *json)
{
	JsonbValue *amount;

	if (!JB_ROOT_IS_OBJECT(json))
		(void) options_parse(json);
	set_after(each, find_option(json, "after"));
	json = without(json, "after");
	amount = find_option(json, "commit_every");
	json = without(json, "commit_every");
	if (amount != NULL)
		json = set_commit_every(json, amount);
	else if (find_option(json, "once") == NULL)
		json = options_merge(json, "{\"once\": true}");
	each->options = options_parse(json);
	/* the files are found here */
	each->json = without(json, "manifest");
	/* a file must not go that was passed over for its name, or loaded but for its last line */
	if (each->after != AFTER_KEEP && each->options->once != BULK_ONCE_CONTENT &&
		each->options->once != BULK_ONCE_PART && each->options->once != BULK_ONCE_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"after\" requires \"once\" to be true or false"),
				 errdetail("Else a file would go that may have rows which were not loaded.")));
	if (each->after != AFTER_KEEP && each->options->manifest &&
		each->options->once == BULK_ONCE_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"after\" requires \"once\" to be true with a manifest"),
				 errdetail("Its files stay until all are loaded: a call after an error would load some again.")));
	if (each->after != AFTER_KEEP && each->options->limit >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options \"limit\" and \"after\" cannot be used together"),
				 errdetail("A file would go that has rows which were not loaded.")));
	if (each->options->dry_run)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" cannot be used with bulk_load_each", "dry_run"),
				 errhint("Try all files at once with bulk_load.")));
	if (each->options->reject_file != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" cannot be used with bulk_load_each", "reject_file"),
				 errdetail("Each load would overwrite the bad lines of the one before."),
				 errhint("Use a reject_table.")));
	if (each->options->truncate || each->options->freeze)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" cannot be used with bulk_load_each",
						each->options->truncate ? "truncate" : "freeze"),
				 errdetail("It would be done again for each file.")));
}

/* ---- one file ---- */

/* What the load of a file, or of a part of it, has come to. */
typedef struct Loaded
{
	bool		passed_over;
	bool		more;			/* parts of the file are left */
	int64		unread;			/* bytes after an end-of-copy marker */
	int64		unkept;			/* bad rows that are in no reject table */
	bool		skipped;		/* passed over, as loaded but for rows that are wanted */
	bool		elsewhere;		/* passed over, as loaded from other paths alone */
} Loaded;

/* Another session may have loaded a file meanwhile, and removed or moved it. */
static bool
is_gone(const char *path)
{
	return access(path, F_OK) != 0 && errno == ENOENT;
}

/*
 * Whether two names are of one file, as after a crash in the middle of move_file.  One name that is
 * reached by two paths is not: to remove it would be to remove the file.
 */
static bool
has_both_names(const char *path, const char *place)
{
	struct stat a;
	struct stat b;

	return lstat(path, &a) == 0 && lstat(place, &b) == 0 && a.st_dev == b.st_dev &&
		a.st_ino == b.st_ino && a.st_nlink > 1;
}

/* What is known of the folder that a file is in, and of another one; false: they are not there. */
static bool
look_at_folders(const char *path, const char *folder, struct stat *own, struct stat *other)
{
	const char *name = strrchr(path, '/');

	return stat(name == path ? "/" : pnstrdup(path, name - path), own) == 0 &&
		stat(folder, other) == 0;
}

static char *
place_in_folder(const Each *each, const char *path)
{
	return psprintf("%s%s", each->folder, strrchr(path, '/'));
}

/* Whether there is another file where one is to be moved to. */
static bool
is_taken(const char *place, const char *path)
{
	return access(place, F_OK) == 0 && !is_gone(path) && !has_both_names(path, place);
}

/* Whether a file can be moved, as is known before it is loaded. */
static void
check_place(const Each *each, const char *path)
{
	struct stat own;
	struct stat other;
	bool		known = look_at_folders(path, each->folder, &own, &other);

	if (known && own.st_dev != other.st_dev)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("file \"%s\" cannot be moved to \"%s\"", encoding_path_text(path),
						each->folder),
				 errdetail("That folder is in another file system."),
				 errhint("Name a folder of \"move_to\" in the file system of the input.")));
	if (known && own.st_ino == other.st_ino)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("file \"%s\" cannot be moved to \"%s\"", encoding_path_text(path),
						each->folder),
				 errdetail("It is in that folder."),
				 errhint("Name a folder of \"move_to\" that no pattern of the input matches.")));
	if (is_taken(place_in_folder(each, path), path))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_FILE),
				 errmsg("file \"%s\" cannot be moved to \"%s\"", encoding_path_text(path),
						each->folder),
				 errdetail("There is a file of that name already.")));
}

static int
compare_names(const void *a, const void *b)
{
	const ListedFile *const *left = a;
	const ListedFile *const *right = b;

	return strcmp(strrchr((*left)->path, '/'), strrchr((*right)->path, '/'));
}

/* Files of a manifest are moved when all are loaded: no two of them to one place. */
static void
check_places(const Each *each, const List *files)
{
	int			n = list_length(files);
	const ListedFile **sorted = palloc(sizeof(ListedFile *) * Max(n, 1));

	for (int i = 0; i < n; i++)
		sorted[i] = list_nth(files, i);
	qsort(sorted, n, sizeof(ListedFile *), compare_names);
	for (int i = 1; i < n; i++)
		if (compare_names(&sorted[i - 1], &sorted[i]) == 0 &&
			strcmp(sorted[i - 1]->path, sorted[i]->path) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_FILE),
					 errmsg("file \"%s\" cannot be moved to \"%s\"",
							encoding_path_text(sorted[i]->path), each->folder),
					 errdetail("The manifest has another file of that name, \"%s\".",
							   encoding_path_text(sorted[i - 1]->path))));
}

/*
 * Moves a file to where there is none, and leaves one alone that has come there
 * meanwhile.  False: errno says why.
 */
static bool
move_file(const char *path, const char *place)
{
#ifdef RENAME_NOREPLACE
	if (renameat2(AT_FDCWD, path, AT_FDCWD, place, RENAME_NOREPLACE) == 0)
		return true;
	/* what not all file systems can do */
	if (errno != EINVAL && errno != ENOSYS && !(errno == EEXIST && has_both_names(path, place)))
		return false;
#endif
	return (link(path, place) == 0 || (errno == EEXIST && has_both_names(path, place))) &&
		unlink(path) == 0;
}

/* Bytes behind the end-of-copy marker of a file. */
static int64
read_to_marker(const char *path, const BulkOptions *options)
{
	Source	   *source = source_open(list_make1(unconstify(char *, path)), options,
									 source_chunk_size);
	Reader	   *reader = reader_open(source, options);

	(void) reader_next_file(reader);
	while (reader_rows(reader, reader->max_rows, true))
		;
	source_close(source);
	return reader->trailing;
}

/* What loads before this call have left of a file. */
typedef struct Past
{
	const Each *each;
	const char *path;
	const char *pattern;
	Loaded	   *loaded;
	bool		known;			/* else it could not be read */
} Past;

static void
look_back(void *arg)
{
	Past	   *past = arg;
	Loaded	   *loaded = past->loaded;
	bool		skipped;
	bool		same_path;
	const BulkOptions *options = history_options(past->each->target, past->path,
												 past->pattern, past->each->options,
												 &loaded->unkept, &skipped, &same_path);

	/* where it has been forgotten by now, by those of this call */
	if (options == NULL)
		options = past->each->options;
	if (loaded->passed_over && options->format == BULK_TEXT)
		loaded->unread = read_to_marker(past->path, options);
	loaded->skipped = loaded->passed_over && skipped;
	loaded->elsewhere = loaded->passed_over && !same_path;
	past->known = true;
}

/* Whether option extra gives a column the path, by which files are not told apart. */
static bool
has_path(const BulkOptions *options)
{
	ListCell   *lc;

	foreach(lc, options->extra)
		if (((const BulkExtra *) lfirst(lc))->kind == BULK_EXTRA_FILE)
			return true;
	return false;
}

/* What a HINT about a file that is kept begins with. */
static const char *
next_call(const Each *each)
{
	return each->options->once == BULK_ONCE_NONE ?
		"The next call would load the file again. " : "";
}

/* Whether all of a file is in the table, or in a reject table; else a WARNING says why it stays. */
static bool
may_go(const Each *each, const char *path, const char *pattern, Loaded loaded)
{
	const char *name = encoding_path_text(path);
	Past		past = {.each = each,.path = path,.pattern = pattern,.loaded = &loaded};

	if (loaded.passed_over || each->options->once == BULK_ONCE_PART)
		subtransaction_look(look_back, &past);
	else
		past.known = true;
	/* as where another session has removed it meanwhile */
	if (!past.known && is_gone(path))
		return false;
	if (!past.known)
		ereport(WARNING,
				(errmsg("file \"%s\" is kept, as it could not be read once more", name)));
	else if (loaded.unread > 0)
		ereport(WARNING,
				(errmsg_plural("file \"%s\" is kept, as %lld byte after its end-of-copy marker was not read",
							   "file \"%s\" is kept, as %lld bytes after its end-of-copy marker were not read",
							   (unsigned long) loaded.unread, name, (long long) loaded.unread),
				 errhint("%sLoad what is after the marker as a file of its own, and remove the file then.",
						 next_call(each))));
	else if (loaded.skipped)
		ereport(WARNING,
				(errmsg("file \"%s\" is kept, as rows were skipped when it was loaded", name),
				 errhint("Load those that are missing with option \"limit\", if they are wanted, and remove the file then.")));
	else if (loaded.elsewhere && has_path(each->options))
		ereport(WARNING,
				(errmsg("file \"%s\" is kept, as an equal file of another path was loaded instead of it",
						name),
				 errdetail("Option \"extra\" has \"%s\", and the rows have the other path.", "$file"),
				 errhint("Load it with \"once\" set to \"path\" if they are wanted, or else remove it.")));
	else if (each->after == AFTER_DELETE && loaded.unkept > 0)
		ereport(WARNING,
				(errmsg_plural("file \"%s\" is kept, as %lld bad row of it is in no reject table",
							   "file \"%s\" is kept, as %lld bad rows of it are in no reject table",
							   (unsigned long) loaded.unkept, name, (long long) loaded.unkept),
				 errhint("%sRemove the file when its bad rows are not needed any more, or set option \"reject_table\" before such files are loaded.",
						 next_call(each))));
	else
		return true;
	return false;
}

static void
dispose(const Each *each, const char *path, const char *pattern, const FileStamp *stamp,
		const Loaded *loaded)
{
	const char *name = encoding_path_text(path);
	char	   *place = each->after == AFTER_MOVE ? place_in_folder(each, path) : NULL;
	FileStamp	now;

	if (each->after == AFTER_KEEP || is_gone(path) || !may_go(each, path, pattern, *loaded))
		return;
	if (!content_stamp(path, &now) || !file_is_same(stamp, &now))
	{
		ereport(WARNING,
				(errmsg("file \"%s\" is kept, as it has changed since it was loaded", name),
				 each->options->once != BULK_ONCE_NONE ? 0 :
				 errhint("The next call would load it again: remove or move it before.")));
		return;
	}
	if (place != NULL && each->options->manifest && is_taken(place, path))
	{
		ereport(WARNING,
				(errmsg("file \"%s\" is kept, as \"%s\" has a file of that name by now", name,
						each->folder),
				 errdetail("Its rows are committed.")));
		return;
	}
	if (!(each->after == AFTER_DELETE ? unlink(path) == 0 : move_file(path, place)) &&
		errno != ENOENT)
		ereport(ERROR,
				(errcode_for_file_access(),
				 each->after == AFTER_DELETE ? errmsg("could not remove file \"%s\": %m", name) :
				 errmsg("could not rename file \"%s\" to \"%s\": %m", name,
						encoding_path_text(place)),
				 errdetail("Its rows are committed."),
				 each->options->manifest ?
				 errhint("So are those of all files of the manifest: remove or move what is left.") :
				 each->options->once == BULK_ONCE_NONE ?
				 errhint("The next call would load them again: remove or move the file before it.") :
				 errhint("The next call passes the file over, and tries this again.")));
}

/* A column of the result row. */
static Datum
result_column(const char *name)
{
	bool		isnull;

	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
						 SPI_fnumber(SPI_tuptable->tupdesc, name), &isnull);
}

static int64
result_bytes(Jsonb *details, const char *name)
{
	JsonbValue *value = find_option(details, name);

	return value == NULL ? 0 :
		DatumGetInt64(DirectFunctionCall1(numeric_int8, NumericGetDatum(value->val.numeric)));
}

static void
check_rows(const ListedFile *listed, int64 rows)
{
	if (listed->rows >= 0 && listed->rows != rows)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("file \"%s\" is not what manifest \"%s\" says", listed->path,
						listed->manifest),
				 errdetail("It has %lld rows, not %lld.", (long long) rows,
						   (long long) listed->rows)));
}

/* Rows are to be counted before any is committed. */
static void
check_listed(const Each *each, const ListedFile *listed)
{
	if (listed->rows >= 0 && each->options->once == BULK_ONCE_PART)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"commit_every\" cannot be used with manifest \"%s\"",
						listed->manifest),
				 errdetail("It says how many rows file \"%s\" has, which is not known before all of them are committed.",
						   listed->path)));
}

/* Runs its load, which has no argument for the pattern that has led to it. */
static void
run_load(const Each *each, const char *path, const char *pattern)
{
	Oid			types[] = {REGCLASSOID, TEXTOID, JSONBOID};
	Datum		values[] = {
		ObjectIdGetDatum(each->target), CStringGetTextDatum(path), JsonbPGetDatum(each->json)
	};

	input_set_found(path, pattern);
	PG_TRY();
	{
		if (SPI_execute_with_args(each->sql, lengthof(types), types, values, NULL, false,
								  0) != SPI_OK_SELECT || SPI_processed != 1)
			elog(ERROR, "cannot run \"%s\"", each->sql);
	}
	PG_FINALLY();
	{
		input_set_found(NULL, NULL);
	}
	PG_END_TRY();
}

/* Loads it, and commits. */
static Loaded
load_and_commit(const Each *each, const char *path, const char *pattern, const ListedFile *listed)
{
	Loaded		loaded;
	Jsonb	   *details;
	int64		rejected;

	run_load(each, path, pattern);
	details = DatumGetJsonbP(result_column("details"));
	rejected = DatumGetInt64(result_column("rows_rejected"));
	loaded = (Loaded) {
		.passed_over = find_option(details, "passed_over") != NULL,
		.more = find_option(details, "more") != NULL,
		.unread = result_bytes(details, "bytes_unread"),
		.unkept = each->options->reject_table == NULL ? rejected : 0
	};
	if (listed != NULL)
		content_check(path, &listed->stamp);
	if (listed != NULL && !loaded.passed_over && manifest_counts_rows(each->options))
		check_rows(listed, DatumGetInt64(result_column("rows_read")));
	each->result->rows_loaded += DatumGetInt64(result_column("rows_loaded"));
	each->result->rows_rejected += rejected;
	SPI_freetuptable(SPI_tuptable);
	/* the rows are to be on disk before their file goes, or what says that it was loaded */
	if (each->after != AFTER_KEEP)
	{
		(void) GetCurrentTransactionId();
		ForceSyncCommit();
	}
	SPI_commit();
	return loaded;
}

static Loaded
load_in_turn(const Each *each, const char *path, const char *pattern, const ListedFile *listed)
{
	EachResult *result = each->result;
	FileStamp	stamp;
	bool		passed_over = true;
	Loaded		loaded;

	if (listed != NULL)
		check_listed(each, listed);
	if (each->after == AFTER_MOVE)
		check_place(each, path);
	if (listed == NULL && each->after != AFTER_KEEP && is_gone(path))
	{
		ereport(NOTICE,
				(errmsg("file \"%s\" is not there any more, and is passed over",
						encoding_path_text(path))));
		result->files_passed_over++;
		return (Loaded) {.passed_over = true};
	}
	if (!content_stamp(path, &stamp))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", encoding_path_text(path))));
	do
	{
		CHECK_FOR_INTERRUPTS();
		loaded = load_and_commit(each, path, pattern, listed);
		passed_over = passed_over && loaded.passed_over;
	} while (loaded.more);
	result->files_passed_over += passed_over;
	result->files_loaded += !passed_over;
	if (listed == NULL)
		dispose(each, path, pattern, &stamp, &loaded);
	return loaded;
}

/* The files that the path means, or what a manifest lists; NIL: there is none. */
static List *
find_files(const Each *each, const char *path)
{
	List	   *files;

	if (each->options->manifest)
		return manifest_read(path, each->after != AFTER_KEEP);
	path_check(path, false);
	file_check_privilege(false);
	if (each->after == AFTER_KEEP || !path_is_pattern(path))
		return source_expand(path, false);
	files = path_glob(path);
	/* as after a call that has moved all files away */
	if (files == NIL)
		ereport(NOTICE, (errmsg("no file matches \"%s\"", path)));
	return files;
}

void
each_run(Oid schema, Oid target, const char *path, Jsonb *json, EachResult *result)
{
	Each		each = {.target = target,.result = result};
	MemoryContext context;
	List	   *files;
	ListCell   *lc;
	Loaded	   *loaded;

	memset(result, 0, sizeof(*result));
	set_options(&each, json);
	/* short, as the context of each error shows it */
	each.sql = psprintf("SELECT * FROM %s($1, $2, $3)",
						quote_qualified_identifier(get_namespace_name(schema), "bulk_load"));
	files = find_files(&each, path);
	if (each.options->manifest && each.after == AFTER_MOVE)
		check_places(&each, files);
	context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load_each file",
									ALLOCSET_DEFAULT_SIZES);
	content_part_forget();
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	loaded = palloc(sizeof(Loaded) * list_length(files));
	foreach(lc, files)
	{
		const ListedFile *entry = each.options->manifest ? lfirst(lc) : NULL;
		MemoryContext caller = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		loaded[foreach_current_index(lc)] =
			load_in_turn(&each, entry != NULL ? entry->path : lfirst(lc), path, entry);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	/*
	 * A manifest is read again by the call that loads what an error has left, and then all of its
	 * files are to be there: they stay until the last of them is loaded.
	 */
	foreach(lc, each.options->manifest && each.after != AFTER_KEEP ? files : NIL)
	{
		const ListedFile *entry = lfirst(lc);
		MemoryContext caller = MemoryContextSwitchTo(context);

		dispose(&each, entry->path, path, &entry->stamp, &loaded[foreach_current_index(lc)]);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	SPI_finish();
	MemoryContextDelete(context);
}
