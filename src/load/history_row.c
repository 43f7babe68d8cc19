/*
 * history_row.c
 *		A row of the history, as parameters of statements.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "load/history.h"
#include "load/history_state.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* The columns, in the order of their parameters; history_state.h has the numbers of some. */
static const struct
{
	const char *name;
	Oid			type;
}			columns[] = {
	{"load_id", INT8OID},
	{"target", OIDOID},
	{"target_name", TEXTOID},
	{"file", INT4OID},
	{"files", INT4OID},
	{"path", TEXTOID},
	{"size", INT8OID},
	{"modified", TIMESTAMPTZOID},
	{"content", UUIDOID},
	{"loaded_to", INT8OID},
	{"once_key", TEXTOID},
	{"part_of", UUIDOID},
	{"extra", UUIDOID},
	{"unlogged", UUIDOID},
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

/* Only statements that say so get the index bulk_load_history_once. */
#define ONCE_INDEX_PREDICATE "target OPERATOR(pg_catalog.<>) '0'::pg_catalog.oid"

Datum
history_uuid(const ContentKey *key)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	for (int i = 0; i < 8; i++)
	{
		uuid->data[i] = (unsigned char) (key->high >> (56 - 8 * i));
		uuid->data[8 + i] = (unsigned char) (key->low >> (56 - 8 * i));
	}
	return UUIDPGetDatum(uuid);
}

ContentKey
history_key(Datum value)
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

char *
history_key_text(const ContentKey *key)
{
	return psprintf("%016llx%016llx", (unsigned long long) key->high,
					(unsigned long long) key->low);
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

uint64
history_run_row(const History *history, const HistoryTable *table, const HistoryFile *file,
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
	values[i++] = history_uuid(&file->key);
	/* what was loaded in part is not known as loaded */
	if (history->options->limit >= 0)
		nulls[i] = 'n';
	values[i++] = Int64GetDatum(file->range.end);
	if (file->once_key == NULL)
		nulls[i] = 'n';
	values[i++] = file->once_key == NULL ? (Datum) 0 : CStringGetTextDatum(file->once_key);
	if (!file->is_part)
		nulls[i] = 'n';
	values[i++] = history_uuid(&file->part_of);
	if (file->extra == NULL)
		nulls[i] = 'n';
	values[i++] = file->extra == NULL ? (Datum) 0 : history_uuid(file->extra);
	if (history->unlogged == (Datum) 0)
		nulls[i] = 'n';
	values[i++] = history->unlogged;
	values[i++] = Int64GetDatum(result->rows_loaded);
	values[i++] = Int64GetDatum(result->rows_rejected);
	values[i++] = Int64GetDatum(result->rows_duplicate);
	values[i++] = Int64GetDatum(result->rows_replaced);
	values[i++] = Int64GetDatum(result->rows_deleted);
	values[i++] = Int64GetDatum(result->rows_filtered);
	values[i++] = Int64GetDatum(result->rows_read);
	values[i++] = Int64GetDatum(result->bytes_read);
	values[i++] = JsonbPGetDatum(options_of(history));
	values[i++] = CStringGetTextDatum(GetUserNameFromId(result->user, false));
	values[i++] = TimestampTzGetDatum(result->started);
	values[i++] = TimestampTzGetDatum(GetCurrentTimestamp());
	Assert(i == NCOLUMNS);
	return history_table_run(table, sql, NCOLUMNS, types, values, nulls, NULL, 0);
}

/* "INSERT INTO ... (load_id, ...) SELECT $1, ..." */
StringInfo
history_insert_text(const HistoryTable *table)
{
	StringInfo	sql = makeStringInfo();

	appendStringInfo(sql, "INSERT INTO %s", table->name);
	for (int i = 0; i < NCOLUMNS; i++)
		appendStringInfo(sql, "%s%s", i == 0 ? " (" : ", ", columns[i].name);
	for (int i = 0; i < NCOLUMNS; i++)
		appendStringInfo(sql, "%s$%d", i == 0 ? ") SELECT " : ", ", i + 1);
	return sql;
}

StringInfo
history_update_text(const HistoryTable *table)
{
	StringInfo	sql = makeStringInfo();

	appendStringInfo(sql, "UPDATE %s", table->name);
	for (int i = 0; i < NCOLUMNS; i++)
		appendStringInfo(sql, "%s%s = $%d", i == 0 ? " SET " : ", ", columns[i].name, i + 1);
	appendStringInfo(sql, " WHERE " ONCE_INDEX_PREDICATE " AND target OPERATOR(pg_catalog.=) $%d"
					 " AND path OPERATOR(pg_catalog.=) $%d AND once_key OPERATOR(pg_catalog.=) $%d",
					 HISTORY_TARGET, HISTORY_PATH, HISTORY_ONCE_KEY);
	return sql;
}

bool
history_claim(const History *history, const HistoryTable *table, const HistoryFile *file,
			  const LoadResult *result, const char *where)
{
	StringInfo	sql = history_insert_text(table);
	ListCell   *lc;

	if (!history->options->dry_run)
	{
		/* by whichever unique index */
		appendStringInfo(sql, " WHERE true%s ON CONFLICT DO NOTHING", where);
		if (history_run_row(history, table, file, result, sql->data) == 1)
			return true;
		if (!history->lost)
			return false;
		history_release(history, table, file, result);
		return history_run_row(history, table, file, result, sql->data) == 1;
	}
	/* where there is a content of another path, the caller knows */
	foreach(lc, history->tried)
	{
		const HistoryFile *tried = lfirst(lc);

		if (strcmp(tried->once_key, file->once_key) == 0 &&
			strcmp(tried->path_text, file->path_text) == 0)
			return false;
	}
	/* all parameters must have a use */
	resetStringInfo(sql);
	appendStringInfoString(sql, "SELECT");
	for (int i = 0; i < NCOLUMNS; i++)
		appendStringInfo(sql, "%s$%d", i == 0 ? " " : ", ", i + 1);
	appendStringInfo(sql, " WHERE true%s AND NOT EXISTS (SELECT FROM %s h"
					 " WHERE h." ONCE_INDEX_PREDICATE " AND h.target OPERATOR(pg_catalog.=) $%d"
					 " AND h.path OPERATOR(pg_catalog.=) $%d"
					 " AND h.once_key OPERATOR(pg_catalog.=) $%d AND %s)",
					 where, table->name, HISTORY_TARGET, HISTORY_PATH, HISTORY_ONCE_KEY,
					 history_is_there(table));
	return history_run_row(history, table, file, result, sql->data) == 1;
}
