/*
 * copy_from.c
 *		See copy_from.h.
 *
 * Rules and wording follow DoCopy of copy.c (PostgreSQL 18).
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "load/input.h"
#include "load/load.h"
#include "miscadmin.h"
#include "reject/relay.h"
#include "server/extension.h"
#include "stream/path.h"
#include "tcop/utility.h"
#include "utility/copy_from.h"
#include "utility/copy_options.h"
#include "utils/acl.h"

bool
copy_is_ours(const CopyStmt *stmt)
{
	return stmt->is_from && stmt->relation != NULL && copy_options_are_ours(stmt->options);
}

/* The path of the load: of a file, or what stands for the client. */
static char *
input_path(const CopyStmt *stmt)
{
	char	   *path = stmt->filename;

	if (path == NULL)
		return pstrdup(SOURCE_CLIENT);
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to COPY from a file"),
				 errdetail("Only roles with privileges of the \"%s\" role may COPY from a file.",
						   "pg_read_server_files"),
				 errhint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.")));
	if (path_is_url(path))
		path_check(path, false);
	if (!is_absolute_path(path))
		path = psprintf("%s/%s", DataDir, path);
	return path;
}

static void
check_statement(const CopyStmt *stmt)
{
	PreventCommandDuringRecovery("COPY FROM");
	PreventCommandIfParallelMode("COPY FROM");
	if (stmt->is_program)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("COPY FROM PROGRAM does not support options of pgbulk"),
				 errhint("Write the output of the program to a file or a named pipe, or send it by COPY FROM STDIN.")));
}

static Oid
own_schema(void)
{
	Extension	extension;

	if (!extension_find("pgbulk", &extension))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"pgbulk\" is not installed in this database"),
				 errdetail("The COPY statement has options of that extension."),
				 errhint("Use CREATE EXTENSION pgbulk.")));
	return extension.schema;
}

void
copy_run(const PlannedStmt *pstmt, const char *query, QueryCompletion *completion)
{
	const CopyStmt *stmt = castNode(CopyStmt, pstmt->utilityStmt);
	ParseState *pstate = make_parsestate(NULL);
	BulkOptions *options;
	LoadResult	result;
	List	   *paths;
	Oid			relid;
	Oid			schema;

	pstate->p_sourcetext = query;
	check_statement(stmt);
	copy_options_check(pstate, stmt->options);
	schema = own_schema();
	paths = list_make1(input_path(stmt));
	relid = RangeVarGetRelid(stmt->relation, RowExclusiveLock, false);
	options = options_parse_copy(copy_options_json(pstate, stmt), stmt->whereClause, query);
	/* not that of a function which runs while rows come */
	if (stmt->filename == NULL)
		options->relay = relay_setting;
	options = input_expand(relid, paths, false, options, &paths);
	load_run(relid, paths, NULL, options, schema, 0, &result);
	if (options->dry_run && options->log_verbosity != BULK_VERBOSITY_SILENT)
		ereport(NOTICE,
				(errmsg_plural("%lld row would have been loaded",
							   "%lld rows would have been loaded",
							   (unsigned long) result.rows_loaded,
							   (long long) result.rows_loaded)));
	if (completion != NULL)
		SetQueryCompletion(completion, CMDTAG_COPY, options->dry_run ? 0 : result.rows_loaded);
	free_parsestate(pstate);
}
