/*
 * retry.c
 *		See retry.h.
 *
 * The rows are first deleted and stored elsewhere (stream/stored.h), so that the
 * load can write those that are still bad to the same table under the same
 * load_id.  All of it is one transaction: if anything fails the reject table is
 * unchanged.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "format/encoding.h"
#include "format/format.h"
#include "load/retry.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "reject/reject.h"
#include "reject/reject_columns.h"
#include "reject/relay.h"
#include "scan/json_rows.h"
#include "server/compat.h"
#include "table/statement.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"

/* Rows per fetch. */
#define FETCHED 1000

typedef struct Retry
{
	char	   *table;			/* as an SQL identifier */
	char	   *target;			/* likewise, and as in the table's rows */
	int64		load_id;
	Encoding	encoding;		/* of raw_bytes */
	bool		as_file;		/* rows are loaded in the file's encoding */
	bool		encoding_given;
	bool		format_given;
	bool		newline_any;
	int64		record_length;	/* 0: they are lines */
	StoredRows *rows;
	int64		invalid;		/* rows that are not loaded, as their bytes are not valid, */
	int64		documents;		/* or as they are JSON, and the format is not known, */
	int64		cut;			/* or as they are the first part of a row */
	char	   *converted;
	Size		capacity;
} Retry;

/* ---- options ---- */

static bool
is_given(Jsonb *json, const char *name)
{
	JsonbValue *value = json == NULL || !JB_ROOT_IS_OBJECT(json) ? NULL :
		getKeyJsonValueFromContainer(&json->root, name, strlen(name), NULL);

	return value != NULL && value->type != jbvNull;
}

/* Refuses options about files, and those that would lose rows. */
static void
refuse_options(Jsonb *json)
{
	static const char *const names[] = {
		"compression", "dry_run", "freeze", "header", "history", "limit", "limit_counts",
		"manifest", "once", "reject_table", "skip", "truncate"
	};

	for (int i = 0; i < lengthof(names); i++)
		if (is_given(json, names[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" cannot be used with bulk_load_retry", names[i]),
					 strcmp(names[i], "header") == 0 ?
					 errhint("A reject table has no header lines: name the columns of the file in option \"columns\", if need be.") : 0));
}

/*
 * The options of the load.  Lines are text in the database encoding, whatever
 * the file's was; lines that could not be stored as text are converted first.
 * For fixed fields it is the other way round, as positions are bytes of the
 * file.
 */
static BulkOptions *
make_options(Retry *retry, Jsonb *json)
{
	BulkOptions *options;
	const FormatRoutine *routine;
	StringInfoData more;
	int			encoding = GetDatabaseEncoding();

	refuse_options(json);
	if (!is_given(json, "on_error"))
		json = options_merge(json, "{\"on_error\": \"ignore\"}");
	options = options_parse(json);
	routine = format_routine(options);
	if (options->delimiter_auto)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" cannot be \"auto\" with bulk_load_retry", "delimiter"),
				 errhint("Give the delimiter of the file.")));
	if (!routine->rows_alone)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bulk_load_retry requires \"format\" to be \"csv\", \"text\", \"fixed\" or \"json\"")));
	retry->format_given = is_given(json, "format");
	retry->newline_any = options->newline == BULK_NEWLINE_ANY;
	retry->encoding_given = is_given(json, "encoding");
	encoding_open(&retry->encoding,
				  retry->encoding_given ? options->encoding : GetDatabaseEncoding());

	retry->record_length = options->record_length;
	retry->as_file = routine->by_place;
	if (retry->as_file)
		encoding = retry->encoding.file;
	else if (is_given(json, "reject_file") && retry->encoding.transcode)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"reject_file\" cannot be used with option \"encoding\" set to \"%s\" in bulk_load_retry",
						pg_encoding_to_char(retry->encoding.file)),
				 errdetail("Its rows would be in the database encoding, \"%s\".",
						   GetDatabaseEncodingName()),
				 errhint("Rows that are bad again remain in the reject table.")));

	initStringInfo(&more);
	appendStringInfoString(&more, "{");
	if (encoding != PG_SQL_ASCII)
		appendStringInfo(&more, "\"encoding\": \"%s\", ", pg_encoding_to_char(encoding));
	if (options->on_error != BULK_ON_ERROR_STOP ||
		options->on_duplicate != BULK_ON_DUPLICATE_ERROR)
	{
		appendStringInfoString(&more, "\"reject_table\": ");
		escape_json(&more, retry->table);
		appendStringInfoString(&more, ", ");
	}
	appendStringInfoString(&more, "\"compression\": \"none\"}");
	return options_parse(options_merge(json, more.data));
}

/* ---- the reject table ---- */

static void
open_table(Retry *retry, Oid relid)
{
	const AclMode modes[] = {ACL_SELECT, ACL_DELETE};
	AttrNumber	attnums[REJECT_NCOLUMNS];
	Relation	rel;

	for (int i = 0; i < lengthof(modes); i++)
	{
		AclResult	allowed = pg_class_aclcheck(relid, GetUserId(), modes[i]);

		if (allowed != ACLCHECK_OK && get_rel_name(relid) != NULL)
			aclcheck_error(allowed, get_relkind_objtype(get_rel_relkind(relid)),
						   get_rel_name(relid));
	}
	rel = table_open(relid, RowExclusiveLock);
	reject_columns_find(rel, attnums);
	retry->table = statement_table(relid);
	table_close(rel, NoLock);
}

/* A condition in SQL: bad rows of this load. */
#define BAD_ROWS "load_id OPERATOR(pg_catalog.=) $1 AND " \
	"reason OPERATOR(pg_catalog.<>) ALL ('{duplicate,replaced}'::pg_catalog.text[])"

/* Checks that the rows of the load are for the given target. */
static void
check_target(Retry *retry)
{
	Oid			types[] = {INT8OID};
	Datum		values[] = {Int64GetDatum(retry->load_id)};
	char	   *sql = psprintf("SELECT DISTINCT target FROM %s WHERE " BAD_ROWS,
							   retry->table);

	SPI_connect();
	if (SPI_execute_with_args(sql, 1, types, values, NULL, false, 2) != SPI_OK_SELECT)
		elog(ERROR, "could not read the reject table");
	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("table %s has no bad rows of load %lld", retry->table,
						(long long) retry->load_id),
				 errhint("Result column \"details\" of a load has its number under \"load_id\".")));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *name = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);

		if (name == NULL || strcmp(name, retry->target) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("rows of load %lld in table %s are not all for table %s",
							(long long) retry->load_id, retry->table, retry->target),
					 name != NULL ? errdetail("There are some for %s.", name) : 0,
					 errhint("Where the table has another name since, give it to the rows in their column \"target\".")));
	}
	SPI_finish();
}

/* Puts a row back unchanged. */
static void
put_back(Retry *retry, HeapTuple tuple, TupleDesc desc)
{
	StringInfoData sql;
	Oid			types[REJECT_NCOLUMNS];
	Datum		values[REJECT_NCOLUMNS];
	char		nulls[REJECT_NCOLUMNS];

	initStringInfo(&sql);
	appendStringInfo(&sql, "INSERT INTO %s (%s) VALUES (", retry->table,
					 reject_columns_list());
	for (int i = 0; i < REJECT_NCOLUMNS; i++)
	{
		bool		isnull;

		types[i] = TupleDescAttr(desc, i)->atttypid;
		values[i] = SPI_getbinval(tuple, desc, i + 1, &isnull);
		nulls[i] = isnull ? 'n' : ' ';
		appendStringInfo(&sql, "%s$%d", i == 0 ? "" : ", ", i + 1);
	}
	appendStringInfoChar(&sql, ')');
	if (SPI_execute_with_args(sql.data, REJECT_NCOLUMNS, types, values, nulls, false,
							  0) != SPI_OK_INSERT ||
		SPI_processed != 1)
		elog(ERROR, "could not insert into the reject table");
}

/*
 * Whether a row is one JSON object or array, sound or not, on several lines: as
 * csv each of them would be a row.
 */
static bool
is_document(const StoredRow *row)
{
	ScanJson	json = {.ignore_extra = true, .missing_is_null = true};
	ScanEol		eol = SCAN_EOL_JSON_SERIES;
	ScanRow		rows[2];
	ScanField	fields[lengthof(rows) * SCAN_JSON_FIELDS(0)];
	ScanResult	result;
	char	   *padded;

	if (row->length == 0 || (row->data[0] != '{' && row->data[0] != '[') ||
		memchr(row->data, '\n', row->length) == NULL)
		return false;
	padded = MemoryContextAllocHuge(CurrentMemoryContext, (Size) row->length + SCAN_PADDING);
	memcpy(padded, row->data, row->length);
	json.nslots = scan_json_nslots(0);
	json.slots = palloc(sizeof(uint32_t) * json.nslots);
	scan_json_index(&json);
	scan_json_rows(&json, &eol, padded, padded, row->length, true, rows, lengthof(rows),
				   fields, lengthof(fields), &result);
	pfree(padded);
	return result.nrows == 1 && rows[0].end == row->length;
}

/* The reason of a row; of one that nobody knows, the first. */
static RejectReason
reason_of(HeapTuple tuple, TupleDesc desc)
{
	const char *name = SPI_getvalue(tuple, desc, COLUMN_REASON + 1);

	for (int reason = 0; name != NULL && reason < REJECT_NREASONS; reason++)
		if (strcmp(name, reject_reason_names[reason]) == 0)
			return reason;
	return REJECT_SYNTAX;
}

/*
 * Whether a row has been ended by a line end unlike its file's.  That is not part
 * of it, so that by itself it would be good, without its other part.
 */
static bool
is_cut(HeapTuple tuple, TupleDesc desc)
{
	const char *message = SPI_getvalue(tuple, desc, COLUMN_MESSAGE + 1);

	return message != NULL && reject_is_cut(message) &&
		reason_of(tuple, desc) == REJECT_SYNTAX;
}

/* The row is not loaded. */
static void
leave_row(Retry *retry, HeapTuple tuple, TupleDesc desc, int64 *counter)
{
	(*counter)++;
	stored_rows_leave(retry->rows, reason_of(tuple, desc));
	put_back(retry, tuple, desc);
}

/* Converts the row's bytes to text if necessary; false if they are not valid. */
static bool
convert_bytes(Retry *retry, StoredRow *row)
{
	Size		room = (Size) row->length * MAX_CONVERSION_GROWTH + 1;
	RowError	error;
	int			n;

	if (!retry->encoding.transcode)
		return true;
	if (row->length > ENCODING_MAX_LENGTH)
		return false;
	if (room > retry->capacity)
	{
		if (retry->converted != NULL)
			pfree(retry->converted);
		retry->converted = MemoryContextAllocHuge(GetMemoryChunkContext(retry->rows), room);
		retry->capacity = room;
	}
	n = encoding_convert(&retry->encoding, row->data, row->length,
						 retry->converted, &error);
	if (n < 0)
		return false;
	row->data = retry->converted;
	row->length = n;
	return true;
}

/* Converts a line back to the encoding of its file. */
static void
line_to_file(Retry *retry, StoredRow *row)
{
	char	   *bytes;

	if (!retry->encoding_given && !scan_is_ascii(row->data, row->length))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bulk_load_retry requires option \"encoding\" with format \"fixed\""),
				 errdetail("Line %lld of file \"%s\" is not only ASCII: where its fields stand depends on the file's encoding.",
						   (long long) row->line, row->path)));
	bytes = pg_server_to_any(row->data, row->length, retry->encoding.file);
	if (bytes == row->data)
		return;
	row->data = bytes;
	row->length = strlen(bytes);
}

static void
take_row(Retry *retry, HeapTuple tuple, TupleDesc desc)
{
	StoredRow	row = {0};
	bool		null_line;
	bool		null_bytes;
	bool		isnull;
	Datum		line = SPI_getbinval(tuple, desc, COLUMN_RAW_LINE + 1, &null_line);
	Datum		bytes = SPI_getbinval(tuple, desc, COLUMN_RAW_BYTES + 1, &null_bytes);
	struct varlena *raw;

	row.path = SPI_getvalue(tuple, desc, COLUMN_FILE + 1);
	row.line = DatumGetInt64(SPI_getbinval(tuple, desc, COLUMN_LINE_NUMBER + 1, &isnull));
	row.offset = DatumGetInt64(SPI_getbinval(tuple, desc, COLUMN_BYTE_OFFSET + 1, &isnull));
	if (row.path == NULL)
		row.path = "";
	if (null_line && null_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("row of file \"%s\", line %lld, has neither raw_line nor raw_bytes",
						row.path, (long long) row.line)));

	raw = PG_DETOAST_DATUM_PACKED(null_line ? bytes : line);
	row.data = VARDATA_ANY(raw);
	row.length = VARSIZE_ANY_EXHDR(raw);
	if (retry->as_file && !null_line)
		line_to_file(retry, &row);
	if (retry->record_length > 0 && row.length > retry->record_length)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("row of file \"%s\", line %lld, has %lld bytes, more than \"record_length\"",
						row.path, (long long) row.line, (long long) row.length)));
	if (null_line && !retry->as_file && !convert_bytes(retry, &row))
		leave_row(retry, tuple, desc, &retry->invalid);
	else if (!retry->format_given && is_document(&row))
		leave_row(retry, tuple, desc, &retry->documents);
	else if (!retry->newline_any && is_cut(tuple, desc))
		leave_row(retry, tuple, desc, &retry->cut);
	else
		stored_rows_add(retry->rows, &row);
}

/* Moves the rows from the table to the store, in the order of the files. */
static void
take_rows(Retry *retry)
{
	Oid			types[] = {INT8OID, TEXTOID};
	Datum		values[] = {
		Int64GetDatum(retry->load_id),
		CStringGetTextDatum(retry->target)
	};
	const char *columns = reject_columns_list();
	char	   *sql = psprintf("WITH taken AS (DELETE FROM %s WHERE " BAD_ROWS
							   " AND target OPERATOR(pg_catalog.=) $2 RETURNING %s) "
							   "SELECT %s FROM taken ORDER BY file COLLATE pg_catalog.\"C\", line_number, byte_offset",
							   retry->table, columns, columns);
	SPIPlanPtr	plan;
	Portal		portal;
	MemoryContext context;

	SPI_connect();
	context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load retry",
									ALLOCSET_DEFAULT_SIZES);
	plan = SPI_prepare(sql, lengthof(types), types);
	if (plan == NULL)
		elog(ERROR, "could not read the reject table");
	portal = SPI_cursor_open(NULL, plan, values, NULL, false);
	/* a trigger of the reject table may say CLOSE ALL */
	PinPortal(portal);
	for (;;)
	{
		SPITupleTable *fetched;
		uint64		n;
		MemoryContext caller;

		SPI_cursor_fetch(portal, true, FETCHED);
		fetched = SPI_tuptable;
		n = SPI_processed;
		if (n == 0)
			break;
		caller = MemoryContextSwitchTo(context);
		for (uint64 i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			take_row(retry, fetched->vals[i], fetched->tupdesc);
		}
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
		SPI_freetuptable(fetched);
	}
	UnpinPortal(portal);
	SPI_cursor_close(portal);
	SPI_finish();
}

/* Says which rows stay in the reject table untried. */
static void
notice_left(const Retry *retry)
{
	if (retry->invalid > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld row stays as it was: its bytes are not valid for encoding \"%s\"",
							   "%lld rows stay as they were: their bytes are not valid for encoding \"%s\"",
							   (unsigned long) retry->invalid, (long long) retry->invalid,
							   pg_encoding_to_char(retry->encoding.file))));
	if (retry->documents > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld row stays as it was: it is JSON on several lines, and option \"format\" is not given",
							   "%lld rows stay as they were: they are JSON on several lines, and option \"format\" is not given",
							   (unsigned long) retry->documents, (long long) retry->documents),
				 errhint("Set option \"format\" to \"json\".")));
	if (retry->cut > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld row stays as it was: a line end unlike those of its file cut it off",
							   "%lld rows stay as they were: a line end unlike those of their file cut them off",
							   (unsigned long) retry->cut, (long long) retry->cut),
				 errhint("Correct \"raw_line\" and set \"message\" to null; or set option \"newline\" to \"any\", if what is behind such a line end is a row.")));
}

void
retry_run(Oid target, Oid reject_table, int64 load_id, Jsonb *json,
		  LoadResult *result)
{
	Retry		retry = {.load_id = load_id,.target = statement_table(target)};
	BulkOptions *options;

	if (load_id < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("load %lld was a dry run", (long long) load_id),
				 errdetail("Its good rows are not in the table either."),
				 errhint("Load the files, and try the bad rows of that load again.")));
	if (retry.target == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", target)));
	open_table(&retry, reject_table);
	options = make_options(&retry, json);
	check_target(&retry);
	retry.rows = stored_rows_create();
	take_rows(&retry);
	if (options->log_verbosity != BULK_VERBOSITY_SILENT)
		notice_left(&retry);
	load_run(target, stored_rows_files(retry.rows), retry.rows, options, InvalidOid, load_id,
			 result);

	stored_rows_close(retry.rows);
}
