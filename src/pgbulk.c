/*
 * pgbulk.c
 *		Entry points: settings and SQL-callable functions.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "check/orphans.h"
#include "cluster/settle.h"
#include "cluster/shown.h"
#include "cluster/sinks.h"
#include "cluster/two_phase.h"
#include "control/control.h"
#include "fmgr.h"
#include "funcapi.h"
#include "inspect/inspect.h"
#include "load/each.h"
#include "load/history.h"
#include "load/input.h"
#include "load/load.h"
#include "load/retry.h"
#include "reject/relay.h"
#include "scan/scan.h"
#include "server/compat.h"
#include "stream/source.h"
#include "table/statement.h"
#include "utility/create_index.h"
#include "utility/foreign_keys.h"
#include "utility/plain_copy.h"
#include "utility/statements.h"
#include "utility/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "pgbulk",.version = PGBULK_VERSION);
#else
PG_MODULE_MAGIC;
#endif

/* 15's PG_FUNCTION_INFO_V1 exports what it says of a function, not the function. */
#define SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

SQL_FUNCTION(bulk_load);
SQL_FUNCTION(bulk_load_files);
SQL_FUNCTION(bulk_load_query);
SQL_FUNCTION(bulk_load_retry);
SQL_FUNCTION(bulk_load_last);
SQL_FUNCTION(bulk_load_statements);
SQL_FUNCTION(bulk_load_each);
SQL_FUNCTION(bulk_load_forget);
SQL_FUNCTION(bulk_load_target_in);
SQL_FUNCTION(bulk_load_target_out);
SQL_FUNCTION(bulk_load_control);
SQL_FUNCTION(bulk_inspect);
SQL_FUNCTION(bulk_load_recover);
SQL_FUNCTION(bulk_load_in_doubt);
SQL_FUNCTION(bulk_load_progress_nodes);

static const struct config_enum_entry plain_copy_settings[] = {
	{"off", PLAIN_COPY_OFF, false},
	{"on", PLAIN_COPY_ON, false},
	{"exclusive", PLAIN_COPY_EXCLUSIVE, false},
	{"true", PLAIN_COPY_ON, true},
	{"false", PLAIN_COPY_OFF, true},
	{"yes", PLAIN_COPY_ON, true},
	{"no", PLAIN_COPY_OFF, true},
	{"1", PLAIN_COPY_ON, true},
	{"0", PLAIN_COPY_OFF, true},
	{NULL, 0, false}
};

static const struct config_enum_entry relay_settings[] = {
	{"off", BULK_RELAY_OFF, false},
	{"first", BULK_RELAY_FIRST, false},
	{"all", BULK_RELAY_ALL, false},
	{NULL, 0, false}
};

/* What the server does not compare when it loads a library. */
static const char built_for[] =
	"block_size=" CppAsString2(BLCKSZ) " segment_size=" CppAsString2(RELSEG_SIZE);

static void
check_server(void)
{
	StringInfoData server;

	initStringInfo(&server);
	appendStringInfo(&server, "block_size=%s", GetConfigOption("block_size", false, false));
	appendStringInfo(&server, " segment_size=%s", GetConfigOption("segment_size", false, false));
	if (strcmp(server.data, built_for) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pgbulk was built for a server with other sizes of pages or files"),
				 errdetail("It was built for %s, and this server has %s.", built_for,
						   server.data),
				 errhint("Build it with PG_CONFIG set to the pg_config of this server.")));
	pfree(server.data);
}

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	check_server();
	DefineCustomIntVariable("pgbulk.chunk_size",
							"Bytes of a file that are read and loaded at a time.",
							"Small values are for tests: rows and fields then cross chunk borders.",
							&source_chunk_size,
							256 * 1024, 16, 256 * 1024 * 1024,
							PGC_USERSET,
							GUC_UNIT_BYTE | GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("pgbulk.copy",
							 "Runs COPY FROM statements that have no option of pgbulk, too.",
							 "With \"exclusive\", tables without rows are locked against other writers until the end of the transaction.",
							 &plain_copy_setting, PLAIN_COPY_OFF, plain_copy_settings,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbulk.copy_min_size",
							"Bytes of input below which COPY is left to the server.",
							NULL,
							&plain_copy_min_size,
							64 * 1024, 0, 64 * 1024 * 1024,
							PGC_USERSET,
							GUC_UNIT_BYTE,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("pgbulk.create_index",
							 "Builds btrees of CREATE INDEX, ADD PRIMARY KEY, ADD UNIQUE and REINDEX.",
							 NULL,
							 &create_index_enabled, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("pgbulk.debug_create_index",
							 "Builds btrees also where the server is as fast.",
							 "For tests of pgbulk.create_index: small tables, and all kinds of keys.",
							 &create_index_always, false,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	DefineCustomBoolVariable("pgbulk.debug_foreign_keys",
							 "Leaves the search for rows that refer to none to workers.",
							 "For tests of pgbulk.foreign_keys: also in small tables.",
							 &orphans_by_workers, false,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	DefineCustomStringVariable("pgbulk.debug_two_phase",
							   "Step of the commit of a load into other servers at which it stops.",
							   "For tests: prepare, prepared-one, prepared, committed or committed-one.",
							   &two_phase_stop, "",
							   PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	DefineCustomBoolVariable("pgbulk.foreign_keys",
							 "Checks existing rows for ADD FOREIGN KEY and VALIDATE CONSTRAINT.",
							 NULL,
							 &foreign_keys_enabled, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("pgbulk.history",
							 "Remembers loads of files in bulk_load_history, unless option \"history\" says otherwise.",
							 NULL,
							 &history_enabled, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbulk.history_keep",
							"How long loads of a table are remembered; 0 means for ever.",
							"Older rows go when the table is loaded and that is remembered.",
							&history_keep,
							0, 0, INT_MAX,
							PGC_SUSET,
							GUC_UNIT_MIN,
							NULL, NULL, NULL);
	DefineCustomIntVariable("pgbulk.max_connections_per_node",
							"Sessions of a load with another server at most.",
							"Each is a prepared transaction there when the load commits.",
							&sinks_max_connections,
							1, 1, 1024,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("pgbulk.relay",
							 "Tells the client of bad rows of a COPY with options, one by one.",
							 "For loads of other servers, which send their rows by such a COPY.",
							 &relay_setting, BULK_RELAY_OFF, relay_settings,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	MarkGUCPrefixReserved("pgbulk");
	create_index_install();
	utility_install();
	two_phase_install();
}

/* Of the functions of version 1.0, which have no column rows_deleted. */
#define OLD_RESULT_COLUMNS 11

/* Each row of the input is to be in one of the counters. */
static void
check_columns(TupleDesc desc, int columns, const LoadResult *result)
{
	if (desc->natts == columns && (columns != OLD_RESULT_COLUMNS || result->rows_deleted == 0))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("extension \"pgbulk\" is of another version in this database than its library"),
			 errdetail("The result has %d columns here, and the library makes %d.", desc->natts,
					   OLD_RESULT_COLUMNS + 1),
			 desc->natts > columns ?
			 errhint("Open a new session, for the library that is installed; where it is in shared_preload_libraries, restart the server.") :
			 errhint("Run ALTER EXTENSION pgbulk UPDATE.")));
}

/* The result row; that of version 1.0 where the database has not been updated since. */
static Datum
form_result(FunctionCallInfo fcinfo, const LoadResult *result)
{
	TupleDesc	desc;
	Datum		values[12];
	bool		nulls[12] = {0};
	Interval   *elapsed = palloc0(sizeof(Interval));
	ReturnSetInfo *caller = (ReturnSetInfo *) fcinfo->resultinfo;
	int			i = 0;

	/* in FROM it has been looked up */
	if (caller != NULL && IsA(caller, ReturnSetInfo) && caller->expectedDesc != NULL)
		desc = caller->expectedDesc;
	else if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	elapsed->time = result->finished - result->started;
	values[i++] = Int64GetDatum(result->rows_loaded);
	values[i++] = Int64GetDatum(result->rows_rejected);
	values[i++] = Int64GetDatum(result->rows_duplicate);
	values[i++] = Int64GetDatum(result->rows_replaced);
	if (desc->natts != OLD_RESULT_COLUMNS)
		values[i++] = Int64GetDatum(result->rows_deleted);
	values[i++] = Int64GetDatum(result->rows_filtered);
	values[i++] = Int64GetDatum(result->rows_read);
	values[i++] = Int64GetDatum(result->bytes_read);
	values[i++] = CStringGetTextDatum(result->writer);
	values[i++] = Int32GetDatum(result->workers);
	values[i++] = IntervalPGetDatum(elapsed);
	values[i++] = JsonbPGetDatum(result->details);
	check_columns(desc, i, result);

	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* A load, as run_load and run_retry take it. */
typedef struct Call
{
	FunctionCallInfo fcinfo;
	List	   *paths;
	BulkOptions *options;
	LoadResult	result;
} Call;

/* The rows that it reports as a command: none of a dry run. */
static int64
rows_of(const LoadResult *result)
{
	return result->tried != NULL ? 0 : result->rows_loaded;
}

static int64
run_load(void *arg)
{
	Call	   *call = arg;
	FunctionCallInfo fcinfo = call->fcinfo;

	load_run(PG_GETARG_OID(0), call->paths, NULL, call->options,
			 get_func_namespace(fcinfo->flinfo->fn_oid), 0, &call->result);
	return rows_of(&call->result);
}

static int64
run_retry(void *arg)
{
	Call	   *call = arg;
	FunctionCallInfo fcinfo = call->fcinfo;

	retry_run(PG_GETARG_OID(0), PG_GETARG_OID(1), PG_GETARG_INT64(2),
			  PG_ARGISNULL(3) ? NULL : PG_GETARG_JSONB_P(3), &call->result);
	return rows_of(&call->result);
}

static char *
join_paths(List *paths)
{
	StringInfoData joined;
	ListCell   *lc;

	initStringInfo(&joined);
	foreach(lc, paths)
		appendStringInfo(&joined, "%s%s", joined.len == 0 ? "" : ", ", (char *) lfirst(lc));
	return joined.data;
}

static Datum
load(FunctionCallInfo fcinfo, List *paths)
{
	Jsonb	   *json = PG_ARGISNULL(2) ? NULL : PG_GETARG_JSONB_P(2);
	BulkOptions *options = options_parse(json);
	List	   *files;
	Call		call;

	options = input_expand(PG_GETARG_OID(0), paths, true, options, &files);

	call = (Call) {.fcinfo = fcinfo,.paths = files,.options = options};
	utility_run_load(PG_GETARG_OID(0), join_paths(paths), NULL, json, run_load, &call);
	return form_result(fcinfo, &call.result);
}

static void
check_not_null(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

/* bulk_load(target regclass, path text, options jsonb) */
Datum
bulk_load(PG_FUNCTION_ARGS)
{
	check_not_null(fcinfo, 0, "target");
	check_not_null(fcinfo, 1, "path");
	return load(fcinfo, list_make1(text_to_cstring(PG_GETARG_TEXT_PP(1))));
}

/* bulk_load(target regclass, paths text[], options jsonb) */
Datum
bulk_load_files(PG_FUNCTION_ARGS)
{
	List	   *paths = NIL;
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	check_not_null(fcinfo, 0, "target");
	check_not_null(fcinfo, 1, "paths");
	deconstruct_array_builtin(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, &elements,
							  &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("path must not be null")));
		paths = lappend(paths, TextDatumGetCString(elements[i]));
	}
	if (paths == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("paths must not be empty")));
	return load(fcinfo, paths);
}

/* bulk_load_query(target regclass, query text, options jsonb) */
Datum
bulk_load_query(PG_FUNCTION_ARGS)
{
	Jsonb	   *json = PG_ARGISNULL(2) ? NULL : PG_GETARG_JSONB_P(2);
	Call		call;
	char	   *query;

	check_not_null(fcinfo, 0, "target");
	check_not_null(fcinfo, 1, "query");
	query = text_to_cstring(PG_GETARG_TEXT_PP(1));
	call = (Call) {
		.fcinfo = fcinfo,
		.paths = list_make1(SOURCE_QUERY),
		.options = options_parse_query(json, query)
	};
	utility_run_load(PG_GETARG_OID(0), SOURCE_QUERY,
					 psprintf("query %s", quote_literal_cstr(query)), json, run_load, &call);
	return form_result(fcinfo, &call.result);
}

/* bulk_load_retry(target regclass, reject_table regclass, load_id bigint, options jsonb) */
Datum
bulk_load_retry(PG_FUNCTION_ARGS)
{
	Call		call = {.fcinfo = fcinfo};
	const char *rejects;

	check_not_null(fcinfo, 0, "target");
	check_not_null(fcinfo, 1, "reject_table");
	check_not_null(fcinfo, 2, "load_id");
	rejects = statement_table(PG_GETARG_OID(1));
	utility_run_load(PG_GETARG_OID(0), rejects == NULL ? "" : rejects,
					 psprintf("load_id " INT64_FORMAT, PG_GETARG_INT64(2)),
					 PG_ARGISNULL(3) ? NULL : PG_GETARG_JSONB_P(3),
					 run_retry, &call);
	return form_result(fcinfo, &call.result);
}

/* bulk_load_last() */
Datum
bulk_load_last(PG_FUNCTION_ARGS)
{
	const LoadResult *result = result_last();

	if (result == NULL)
		PG_RETURN_NULL();
	return form_result(fcinfo, result);
}

/* bulk_load_statements() */
Datum
bulk_load_statements(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	statements_tell(result->setResult, result->setDesc);
	return (Datum) 0;
}

/* Transactions that loads have left prepared on other servers. */
static Datum
prepared_transactions(FunctionCallInfo fcinfo, bool ends)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	settle_all(ends, result->setResult, result->setDesc);
	return (Datum) 0;
}

/* bulk_load_recover() */
Datum
bulk_load_recover(PG_FUNCTION_ARGS)
{
	return prepared_transactions(fcinfo, true);
}

/* bulk_load_in_doubt() */
Datum
bulk_load_in_doubt(PG_FUNCTION_ARGS)
{
	return prepared_transactions(fcinfo, false);
}

/* bulk_load_progress_nodes() */
Datum
bulk_load_progress_nodes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	shown_list(result->setResult, result->setDesc);
	return (Datum) 0;
}

/* bulk_load_each(target regclass, path text, options jsonb, INOUT ...) */
Datum
bulk_load_each(PG_FUNCTION_ARGS)
{
	const CallContext *call = (const CallContext *) fcinfo->context;
	TupleDesc	desc;
	EachResult	result;
	Datum		values[4];
	bool		nulls[4] = {0};

	check_not_null(fcinfo, 0, "target");
	check_not_null(fcinfo, 1, "path");
	if (call == NULL || !IsA(call, CallContext) || call->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("bulk_load_each cannot be called within a transaction block or a function"),
				 errdetail("It commits after each file.")));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	desc = BlessTupleDesc(desc);
	each_run(get_func_namespace(fcinfo->flinfo->fn_oid), PG_GETARG_OID(0),
			 text_to_cstring(PG_GETARG_TEXT_PP(1)),
			 PG_ARGISNULL(2) ? DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"))) :
			 PG_GETARG_JSONB_P(2), &result);
	values[0] = Int64GetDatum(result.files_loaded);
	values[1] = Int64GetDatum(result.files_passed_over);
	values[2] = Int64GetDatum(result.rows_loaded);
	values[3] = Int64GetDatum(result.rows_rejected);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

static void
refuse_forget_null(const char *argument)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s must not be null", argument),
			 errhint("To forget all loads of a table, call bulk_load_forget with the table alone.")));
}

/* bulk_load_forget(target regclass [, path text], before timestamptz) */
Datum
bulk_load_forget(PG_FUNCTION_ARGS)
{
	int			before = PG_NARGS() - 1;
	bool		has_path = before == 2;

	check_not_null(fcinfo, 0, "target");
	if (has_path && PG_ARGISNULL(1))
		refuse_forget_null("path");
	if (PG_ARGISNULL(before))
		refuse_forget_null("before");
	PG_RETURN_INT64(history_forget(PG_GETARG_OID(0),
								   has_path ? text_to_cstring(PG_GETARG_TEXT_PP(1)) : NULL,
								   PG_GETARG_TIMESTAMPTZ(before)));
}

/* The type of bulk_load_history.target: as text for dumps, as restored tables have other OIDs. */
Datum
bulk_load_target_out(PG_FUNCTION_ARGS)
{
	Oid			target = PG_GETARG_OID(0);
	char	   *name = get_rel_name(target);
	char	   *schema = get_namespace_name(get_rel_namespace(target));

	PG_RETURN_CSTRING(name == NULL || schema == NULL ? psprintf("%u", target) :
					  quote_qualified_identifier(schema, name));
}

/* An OID was that of a table that was gone; it may be another table's by now. */
Datum
bulk_load_target_in(PG_FUNCTION_ARGS)
{
	char	   *name = PG_GETARG_CSTRING(0);
	List	   *names;

	if (name[strspn(name, "0123456789")] == '\0')
		PG_RETURN_OID(InvalidOid);
	names = textToQualifiedNameList(cstring_to_text(name));
	PG_RETURN_OID(RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true));
}

/* char * of a List as a text[] */
static Datum
text_array(List *texts)
{
	ArrayBuildState *state = initArrayResult(TEXTOID, CurrentMemoryContext, false);
	ListCell   *lc;

	foreach(lc, texts)
		accumArrayResult(state, CStringGetTextDatum(lfirst(lc)), false, TEXTOID,
						 CurrentMemoryContext);
	return makeArrayResult(state, CurrentMemoryContext);
}

/* The schema of the extension. */
static char *
own_schema(FunctionCallInfo fcinfo)
{
	return get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid));
}

/* bulk_load_control(path text) */
Datum
bulk_load_control(PG_FUNCTION_ARGS)
{
	const ControlCall *call;
	TupleDesc	desc;
	Datum		values[3] = {0};
	bool		nulls[3] = {0};

	call = control_read(text_to_cstring(PG_GETARG_TEXT_PP(0)), own_schema(fcinfo));

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	nulls[0] = call->statement == NULL;
	if (call->statement != NULL)
		values[0] = CStringGetTextDatum(call->statement);
	values[1] = text_array(call->obstacles);
	values[2] = text_array(call->notes);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* A column of a result that may be NULL. */
static void
put_text(Datum *values, bool *nulls, int column, const char *text)
{
	nulls[column] = text == NULL;
	if (text != NULL)
		values[column] = CStringGetTextDatum(text);
}

/* One byte as text, NULL for none. */
static char *
byte_text(char byte)
{
	return byte == '\0' ? NULL : pnstrdup(&byte, 1);
}

/* bulk_inspect(path text, options jsonb) */
Datum
bulk_inspect(PG_FUNCTION_ARGS)
{
	static const char *const compressions[] = {
		[BULK_COMPRESSION_NONE] = "none", [BULK_COMPRESSION_GZIP] = "gzip",
		[BULK_COMPRESSION_LZ4] = "lz4", [BULK_COMPRESSION_ZSTD] = "zstd"
	};
	const Inspection *found;
	const Dialect *dialect;
	TupleDesc	desc;
	Datum		values[19] = {0};
	bool		nulls[19] = {0};
	int			i = 0;

	check_not_null(fcinfo, 0, "path");
	found = inspect_file(text_to_cstring(PG_GETARG_TEXT_PP(0)),
						 PG_ARGISNULL(1) ? NULL : PG_GETARG_JSONB_P(1),
						 own_schema(fcinfo));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	dialect = &found->dialect;
	put_text(values, nulls, i++, found->format);
	if (found->unreadable)
	{
		memset(nulls + 1, true, sizeof(nulls) - sizeof(nulls[0]));
		nulls[lengthof(nulls) - 1] = false;
		values[lengthof(values) - 1] = text_array(found->notes);
		return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
	}
	if (found->columns.objects != NULL)
	{
		/* delimiter, quote, escape, header, header_lines */
		memset(nulls + 1, true, 5 * sizeof(nulls[0]));
		i += 5;
	}
	else
	{
		put_text(values, nulls, i++, dialect->separator);
		put_text(values, nulls, i++, dialect->no_quote ? NULL : byte_text(dialect->scan.quote));
		put_text(values, nulls, i++, dialect->no_quote ? NULL : byte_text(dialect->scan.escape));
		values[i++] = BoolGetDatum(found->columns.has_header);
		values[i++] = Int32GetDatum(found->columns.header_lines);
	}
	put_text(values, nulls, i++, found->sample->charset.name);
	values[i++] = BoolGetDatum(found->sample->charset.mark > 0);
	put_text(values, nulls, i++, compressions[found->sample->compression]);
	put_text(values, nulls, i++, found->newline);
	values[i++] = DirectFunctionCall1(jsonb_in, CStringGetDatum(found->column_list));
	values[i++] = Int64GetDatum(found->columns.rows);
	values[i++] = Int64GetDatum(found->sample->bytes);
	values[i++] = BoolGetDatum(found->sample->complete);
	values[i++] = DirectFunctionCall1(jsonb_in, CStringGetDatum(found->load_options));
	put_text(values, nulls, i++, found->create_table);
	put_text(values, nulls, i++, found->bulk_load);
	put_text(values, nulls, i++, found->create_and_load);
	values[i++] = text_array(found->notes);
	Assert(i == lengthof(values) && desc->natts == lengthof(values));

	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}
