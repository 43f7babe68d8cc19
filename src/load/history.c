/*
 * history.c
 *		See history.h.
 *
 * Statements name operators and tables with their schema, and run with the
 * rights of the table's owner: who may load must not be able to write there.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "format/encoding.h"
#include "load/history.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/extension.h"
#include "stream/content.h"
#include "stream/path.h"
#include "table/statement.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

bool		history_enabled = false;
int			history_keep = 0;

#define TABLE_NAME "bulk_load_history"

/* What is known of a file, or of another source. */
typedef struct HistoryFile
{
	const char *path;
	bool		is_file;		/* it is a regular one: */
	FileStamp	stamp;
	ContentKey	key;
} HistoryFile;

struct History
{
	Oid			target;
	char	   *target_name;
	const BulkOptions *options;
	int			nfiles;
	HistoryFile *files;
};

/* ---- statements ---- */

/* The table; its owner, whose rights statements about it have. */
typedef struct HistoryTable
{
	char	   *name;			/* with its schema */
	Oid			owner;
	Oid			caller;			/* these two: while a statement runs */
	int			context;
} HistoryTable;

static HistoryTable
find_table(void)
{
	HistoryTable table = {0};
	Extension	extension;
	Oid			relid = InvalidOid;
	HeapTuple	tuple;

	if (extension_find("pgbulk", &extension))
		relid = get_relname_relid(TABLE_NAME, extension.schema);
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of extension \"pgbulk\" does not exist", TABLE_NAME)));
	table.owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	table.name = statement_table(relid);
	return table;
}

static void
begin_statements(HistoryTable *table)
{
	GetUserIdAndSecContext(&table->caller, &table->context);
	SetUserIdAndSecContext(table->owner, table->context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_NOFORCE_RLS);
	SPI_connect();
}

/* After an error the end of the transaction does this. */
static void
end_statements(HistoryTable *table)
{
	SPI_finish();
	SetUserIdAndSecContext(table->caller, table->context);
}

/* Runs one; nulls may be NULL.  Returns the number of its rows. */
static uint64
run(const char *sql, int expected, int n, Oid *types, Datum *values, const char *nulls)
{
	int			rc = SPI_execute_with_args(sql, n, types, values, nulls, false, 0);

	if (rc != expected)
		elog(ERROR, "cannot run \"%s\": %s", sql, SPI_result_code_string(rc));
	return SPI_processed;
}

/* ---- opening ---- */

static bool
is_wanted(const BulkOptions *options, Relation target)
{
	if (options->dry_run || options->plain ||
		target->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return false;
	return options->history >= 0 ? options->history : history_enabled;
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

History *
history_open(const BulkOptions *options, Relation target, List *paths)
{
	History    *history;

	if (!is_wanted(options, target) || (options->query != NULL && options->history != 1))
		return NULL;
	history = palloc0(sizeof(History));
	history->target = RelationGetRelid(target);
	history->target_name = statement_table(history->target);
	history->options = options;
	history->nfiles = list_length(paths);
	history->files = palloc0(sizeof(HistoryFile) * history->nfiles);
	for (int i = 0; i < history->nfiles; i++)
	{
		HistoryFile *file = &history->files[i];

		file->path = list_nth(paths, i);
		if (options->query == NULL && strcmp(file->path, SOURCE_CLIENT) != 0)
			file->is_file = content_read(file->path, &file->stamp, &file->key);
	}
	return options->history == 1 || has_files(history) ? history : NULL;
}

/* ---- writing ---- */

#define NCOLUMNS 20

static Oid	column_types[NCOLUMNS] = {
	INT8OID, OIDOID, TEXTOID, INT4OID, INT4OID, TEXTOID, INT8OID, TIMESTAMPTZOID, UUIDOID,
	INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID,
	JSONBOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID
};

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

static void
insert_row(const History *history, const HistoryTable *table, const LoadResult *result,
		   const Jsonb *options, int number)
{
	const HistoryFile *file = &history->files[number];
	Datum		values[NCOLUMNS];
	char		nulls[NCOLUMNS + 1];
	int			i = 0;

	memset(nulls, ' ', NCOLUMNS);
	nulls[NCOLUMNS] = '\0';
	values[i++] = Int64GetDatum(result->load_id);
	values[i++] = ObjectIdGetDatum(history->target);
	values[i++] = CStringGetTextDatum(history->target_name);
	values[i++] = Int32GetDatum(number + 1);
	values[i++] = Int32GetDatum(history->nfiles);
	values[i++] = CStringGetTextDatum(encoding_path_text(file->path));
	if (!file->is_file)
		memset(nulls + i, 'n', 3);
	values[i++] = Int64GetDatum(file->stamp.size);
	values[i++] = TimestampTzGetDatum(timestamp_of(&file->stamp.modified));
	values[i++] = uuid_of(&file->key);
	values[i++] = Int64GetDatum(result->rows_loaded);
	values[i++] = Int64GetDatum(result->rows_rejected);
	values[i++] = Int64GetDatum(result->rows_duplicate);
	values[i++] = Int64GetDatum(result->rows_replaced);
	values[i++] = Int64GetDatum(result->rows_filtered);
	values[i++] = Int64GetDatum(result->rows_read);
	values[i++] = Int64GetDatum(result->bytes_read);
	values[i++] = JsonbPGetDatum(options);
	values[i++] = CStringGetTextDatum(GetUserNameFromId(table->caller, false));
	values[i++] = TimestampTzGetDatum(result->started);
	values[i++] = TimestampTzGetDatum(GetCurrentTimestamp());
	Assert(i == NCOLUMNS);
	(void) run(psprintf("INSERT INTO %s (load_id, target, target_name, file, files, path, size, modified, content,"
						" rows_loaded, rows_rejected, rows_duplicate, rows_replaced, rows_filtered, rows_read, bytes_read,"
						" options, role, started, finished)"
						" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)",
						table->name),
			   SPI_OK_INSERT, NCOLUMNS, column_types, values, nulls);
}

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

	(void) run(psprintf("UPDATE %s SET target_name = $2"
						" WHERE target OPERATOR(pg_catalog.=) $1 AND target_name OPERATOR(pg_catalog.<>) $2",
						table->name), SPI_OK_UPDATE, 2, types, values, NULL);
	if (history_keep > 0)
		(void) run(psprintf("DELETE FROM %s"
							" WHERE target OPERATOR(pg_catalog.=) $1 AND finished OPERATOR(pg_catalog.<) $3"
							" AND $2 IS NOT NULL",
							table->name), SPI_OK_DELETE, 3, types, values, NULL);
}

void
history_write(History *history, const LoadResult *result)
{
	HistoryTable table = find_table();
	Jsonb	   *options = options_of(history);

	for (int i = 0; i < history->nfiles; i++)
		if (history->files[i].is_file)
			content_check(history->files[i].path, &history->files[i].stamp);
	begin_statements(&table);
	tidy_rows(history, &table);
	for (int i = 0; i < history->nfiles; i++)
	{
		CHECK_FOR_INTERRUPTS();
		insert_row(history, &table, result, options, i);
	}
	end_statements(&table);
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
				   name == NULL ? TABLE_NAME : name);
}

int64
history_forget(Oid target, const char *path, TimestampTz before)
{
	HistoryTable table = find_table();
	Oid			types[] = {OIDOID, TIMESTAMPTZOID, TEXTOID};
	Datum		values[] = {
		ObjectIdGetDatum(target), TimestampTzGetDatum(before),
		path == NULL ? (Datum) 0 : CStringGetTextDatum(path)
	};
	uint64		rows;

	check_owner(target, &table);
	begin_statements(&table);
	rows = run(psprintf("DELETE FROM %s"
						" WHERE target OPERATOR(pg_catalog.=) $1 AND finished OPERATOR(pg_catalog.<) $2"
						" AND ($3 IS NULL OR path OPERATOR(pg_catalog.=) $3)", table.name),
			   SPI_OK_DELETE, 3, types, values, path == NULL ? "  n" : NULL);
	end_statements(&table);
	return rows;
}
