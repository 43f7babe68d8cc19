/*
 * plain_copy.c
 *		See plain_copy.h.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/heapam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/heap.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "commands/copy.h"
#include "commands/defrem.h"
#include "commands/progress.h"
#include "commands/trigger.h"
#include "load/load.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "option/options.h"
#include "storage/fd.h"
#include "stream/path.h"
#include "stream/stdin.h"
#include "parser/parse_relation.h"
#include "server/compat.h"
#include "table/partition_tree.h"
#include "table/statement.h"
#include "tcop/dest.h"
#include "utility/copy_options.h"
#include "utility/plain_copy.h"
#include "utility/statements.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

int			plain_copy_setting = PLAIN_COPY_OFF;
int			plain_copy_min_size = 64 * 1024;

#define IS_SMALL "The input is small."
#define IS_LEFT_OPTION "It has an option that is left to COPY."

/* ---- the statement ---- */

static bool
is_word(const DefElem *def, const char *word)
{
	return def->arg != NULL && IsA(def->arg, String) && pg_strcasecmp(strVal(def->arg), word) == 0;
}

static bool
is_binary(const CopyStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->options)
	{
		const DefElem *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, "format") == 0)
			return is_word(def, "binary");
	}
	return false;
}

/* Whether a byte that is found in those of the file is none of ASCII. */
static bool
has_wide_byte(const CopyStmt *stmt)
{
	static const char *const options[] = {"delimiter", "quote", "escape"};
	ListCell   *lc;

	foreach(lc, stmt->options)
	{
		const DefElem *def = lfirst_node(DefElem, lc);

		for (int i = 0; i < lengthof(options); i++)
			if (strcmp(def->defname, options[i]) == 0 && def->arg != NULL &&
				IsA(def->arg, String) && IS_HIGHBIT_SET(strVal(def->arg)[0]))
				return true;
	}
	return false;
}

/* The encoding of the file, or -1. */
static int
file_encoding(const CopyStmt *stmt)
{
	int			encoding = pg_get_client_encoding();
	ListCell   *lc;

	foreach(lc, stmt->options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, "encoding") == 0)
			encoding = def->arg == NULL ? -1 : pg_char_to_encoding(defGetString(def));
	}
	return encoding;
}

/* Whether an option is a number of header lines, in any notation that COPY takes for one. */
static bool
is_header_lines(const DefElem *def)
{
	if (strcmp(def->defname, "header") != 0 || def->arg == NULL)
		return false;
	return IsA(def->arg, Integer) ? intVal(def->arg) > 1 :
		IsA(def->arg, String) && strpbrk(strVal(def->arg), "0123456789") != NULL;
}

static const char *
option_reason(const DefElem *def)
{
	static const char *const left[] = {"force_quote", "on_error", "reject_limit", "log_verbosity", NULL};

	for (int i = 0; left[i] != NULL; i++)
		if (strcmp(def->defname, left[i]) == 0)
			return IS_LEFT_OPTION;
	if (is_header_lines(def))
		return IS_LEFT_OPTION;
	/* of the server's own, as convert_selectively */
	return options_find(def->defname) == NULL ? IS_LEFT_OPTION : NULL;
}

static bool
has_system_column(List *names)
{
	ListCell   *lc;

	foreach(lc, names)
	{
		Node	   *name = lfirst(lc);

		if (IsA(name, String) && SystemAttributeByName(strVal(name)) != NULL &&
			(!COMPAT_COPY_TABLEOID || strcmp(strVal(name), "tableoid") != 0))
			return true;
	}
	return false;
}

/*
 * Whether a condition may name a system column, also as (t).ctid or ctid(t): COPY evaluates
 * some before 19, a load none.
 */
static bool
names_system_column(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, ColumnRef))
		return has_system_column(((ColumnRef *) node)->fields);
	if (IsA(node, A_Indirection) && has_system_column(((A_Indirection *) node)->indirection))
		return true;
	if (IsA(node, FuncCall) && has_system_column(((FuncCall *) node)->funcname))
		return true;
	return raw_expression_tree_walker(node, names_system_column, context);
}

static const char *
statement_reason(const CopyStmt *stmt)
{
	int			encoding = file_encoding(stmt);
	ListCell   *lc;

	if (stmt->is_program)
		return "The input is that of a program.";
	foreach(lc, stmt->options)
	{
		const char *reason = option_reason(lfirst_node(DefElem, lc));

		if (reason != NULL)
			return reason;
	}
	if (names_system_column(stmt->whereClause, NULL))
		return "The condition has a system column.";
	/* bytes that COPY would let in as they are */
	if (encoding < 0 || (encoding == PG_SQL_ASCII && GetDatabaseEncoding() != PG_SQL_ASCII))
		return "The encoding of the input is not known.";
	if (encoding != GetDatabaseEncoding() && has_wide_byte(stmt))
		return "A delimiter, quote or escape is not ASCII.";
	/* characters of two bytes that COPY takes for a backslash when they are converted */
	if (encoding == PG_SHIFT_JIS_2004)
		return "The encoding of the input is SHIFT_JIS_2004.";
	if (XactReadOnly || RecoveryInProgress() || IsInParallelMode())
		return "The transaction is read-only.";
	if (stmt->filename == NULL && (whereToSendOutput != DestRemote || MyProcPort == NULL))
		return "There is no client.";
	return NULL;
}

/* The server's file must be a regular one that can be read, so that no error is due. */
static const char *
file_reason(const char *path)
{
	struct stat state;
	int			fd = -1;

	memset(&state, 0, sizeof(state));
	if (has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (fd >= 0)
	{
		(void) fstat(fd, &state);
		CloseTransientFile(fd);
	}
	if (!S_ISREG(state.st_mode))
		return "The file cannot be read, or is no regular file.";
	return state.st_size < plain_copy_min_size ? IS_SMALL : NULL;
}

/* ---- the table ---- */

static AttrNumber
find_column(TupleDesc desc, const char *name)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && namestrcmp(&att->attname, name) == 0)
			return att->attgenerated ? InvalidAttrNumber : att->attnum;
	}
	return InvalidAttrNumber;
}

/* The columns that the input has; NULL: the statement names one that it cannot have. */
static Bitmapset *
loaded_columns(Relation rel, const CopyStmt *stmt)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, stmt->attlist)
	{
		AttrNumber	attnum = find_column(desc, strVal(lfirst(lc)));

		if (attnum == InvalidAttrNumber || bms_is_member(attnum, columns))
			return NULL;
		columns = bms_add_member(columns, attnum);
	}
	for (int i = 0; i < desc->natts && stmt->attlist == NIL; i++)
		if (!TupleDescAttr(desc, i)->attisdropped && !TupleDescAttr(desc, i)->attgenerated)
			columns = bms_add_member(columns, i + 1);
	return columns;
}

static bool
may_insert(Relation rel, const Bitmapset *columns)
{
	int			attnum = -1;

	if (pg_class_aclcheck(RelationGetRelid(rel), GetUserId(), ACL_INSERT) == ACLCHECK_OK)
		return true;
	while ((attnum = bms_next_member(columns, attnum)) >= 0)
		if (pg_attribute_aclcheck(RelationGetRelid(rel), attnum, GetUserId(), ACL_INSERT) !=
			ACLCHECK_OK)
			return false;
	return true;
}

/* Whether all columns that options name are among them, each option with a column once. */
static bool
options_name_only(Relation rel, const CopyStmt *stmt, const Bitmapset *columns)
{
	ListCell   *lc;

	foreach(lc, stmt->options)
	{
		const DefElem *def = lfirst_node(DefElem, lc);
		Bitmapset  *named = NULL;
		ListCell   *name;

		if (def->arg == NULL || !IsA(def->arg, List))
			continue;
		foreach(name, (List *) def->arg)
		{
			AttrNumber	attnum = !IsA(lfirst(name), String) ? InvalidAttrNumber :
				find_column(RelationGetDescr(rel), strVal(lfirst(name)));

			if (!bms_is_member(attnum, columns) || bms_is_member(attnum, named))
				return false;
			named = bms_add_member(named, attnum);
		}
	}
	return true;
}

/* COPY lets NULL into a column without a default, whatever its domain says; a load does not. */
static bool
lacks_domain(Relation rel, const Bitmapset *columns)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && !att->attgenerated && !bms_is_member(i + 1, columns) &&
			get_typtype(att->atttypid) == TYPTYPE_DOMAIN)
			return true;
	}
	return false;
}

static bool
is_new_in_subtransaction(Relation rel)
{
	SubTransactionId current = GetCurrentSubTransactionId();

	return rel->rd_createSubid == current || rel->rd_newRelfilelocatorSubid == current;
}

/* Whether something else in this session uses the table, or will look at rows of it. */
static bool
is_in_use(Relation rel)
{
	return rel->rd_refcnt > 1 || AfterTriggerPendingOnRel(RelationGetRelid(rel));
}

/* Whether freeze is asked for where COPY refuses it, or a load does. */
static bool
freeze_is_refused(Relation rel, const CopyStmt *stmt)
{
	ListCell   *lc;
	bool		freeze = false;

	foreach(lc, stmt->options)
		if (strcmp(lfirst_node(DefElem, lc)->defname, "freeze") == 0)
			freeze = true;
	if (!freeze)
		return false;
	InvalidateCatalogSnapshot();
	return rel->rd_rel->relkind != RELKIND_RELATION || !is_new_in_subtransaction(rel) ||
		!ThereAreNoPriorRegisteredSnapshots() || !ThereAreNoReadyPortals() || is_in_use(rel);
}

static const char *
table_reason(Relation rel, const CopyStmt *stmt)
{
	bool		partitioned = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	Refusal		refusal;
	Bitmapset  *columns;

	if (rel->rd_rel->relkind != RELKIND_RELATION && !partitioned)
		return "It is no table.";
	if (IsCatalogRelation(rel) || IsToastRelation(rel))
		return "The table is a system catalog.";
	if (!partitioned && rel->rd_tableam != GetHeapamTableAmRoutine())
		return "The table has another access method.";
	if (RELATION_IS_OTHER_TEMP(rel))
		return "The table is a temporary one of another session.";
	if (check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED)
		return "The table has row-level security.";
	if (partition_tree_has_foreign(rel))
		return "The table has a foreign partition.";
	columns = loaded_columns(rel, stmt);
	if (columns == NULL || !options_name_only(rel, stmt, columns))
		return "It names no columns that can be loaded.";
	if (!may_insert(rel, columns))
		return "The user lacks the privilege INSERT.";
	if (lacks_domain(rel, columns))
		return "A column of a domain is not loaded.";
	if (freeze_is_refused(rel, stmt))
		return "The rows cannot be frozen.";
	refusal = statement_refusal(rel);
	if (refusal_is_any(&refusal))
		return "Another extension stores the rows of the table.";
	return NULL;
}

Oid
plain_copy_table(const CopyStmt *stmt)
{
	const char *reason = statement_reason(stmt);
	Oid			relid = InvalidOid;

	if (reason == NULL && stmt->filename != NULL)
		reason = file_reason(stmt->filename);
	if (reason == NULL)
	{
		Relation	rel;

		relid = RangeVarGetRelid(stmt->relation, RowExclusiveLock, true);
		rel = OidIsValid(relid) ? try_relation_open(relid, NoLock) : NULL;
		reason = rel == NULL ? "There is no such table." : table_reason(rel, stmt);
		if (rel != NULL)
			relation_close(rel, NoLock);
	}
	if (reason == NULL)
		return relid;
	statements_leave(STATEMENT_COPY, reason, stmt->relation->relname);
	return InvalidOid;
}

/* ---- the load ---- */

/* Whether whole pages may be written: others cannot use the table, or are kept out. */
static bool
may_be_direct(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	bool		is_new = rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_newRelfilelocatorSubid != InvalidSubTransactionId;

	table_close(rel, NoLock);
	return is_new || plain_copy_setting == PLAIN_COPY_EXCLUSIVE;
}

/* The statement's options, without what COPY does not do. */
static BulkOptions *
make_options(ParseState *pstate, const CopyStmt *stmt, Oid relid)
{
	Jsonb	   *json = copy_options_json(pstate, stmt);
	BulkOptions *options;

	json = options_merge(json, may_be_direct(relid) ?
						 "{\"compression\": \"none\", \"log_verbosity\": \"silent\"}" :
						 "{\"compression\": \"none\", \"log_verbosity\": \"silent\", \"writer\": \"buffered\"}");
	options = options_parse_copy(json, stmt->whereClause, pstate->p_sourcetext);
	options->plain = true;
	return options;
}

/* ---- small inputs ---- */

/* What the client sends, for the server's COPY. */
static Stream *client;

static int
read_client(void *to, int least, int most)
{
	int			done = 0;

	while (done < least)
	{
		Size		n = stream_read(client, (char *) to + done, most - done);

		if (n == 0)
			break;
		done += n;
	}
	return done;
}

/* The server's COPY, as DoCopy has it, of what the client has sent. */
static uint64
copy_small(ParseState *pstate, const CopyStmt *stmt, Relation rel, bool binary)
{
	ParseNamespaceItem *nsitem = addRangeTableEntryForRelation(pstate, rel, RowExclusiveLock,
															   NULL, false, false);
	Query		query = {.type = T_Query};
	Bitmapset  *columns = loaded_columns(rel, stmt);
	int			attnum = -1;
	CopyFromState state;
	uint64		rows;

	COMPAT_REQUIRED_PERMS(nsitem) = ACL_INSERT;
	while ((attnum = bms_next_member(columns, attnum)) >= 0)
		COMPAT_INSERTED_COLS(nsitem) = bms_add_member(COMPAT_INSERTED_COLS(nsitem),
													  attnum - FirstLowInvalidHeapAttributeNumber);
	query.rtable = pstate->p_rtable;
	compat_set_perminfos(&query, pstate);
	compat_check_permissions(&query);

	client = client_open(binary, 0, false);
	state = BeginCopyFrom(pstate, rel, NULL, NULL, false, read_client, stmt->attlist,
						  stmt->options);
	pgstat_progress_update_param(PROGRESS_COPY_TYPE, PROGRESS_COPY_TYPE_PIPE);
	rows = CopyFrom(state);
	EndCopyFrom(state);
	stream_close(client);
	return rows;
}

/* Nothing has been processed yet. */
static void
tell_first_line(void *name)
{
	errcontext("COPY %s, line 1", (const char *) name);
}

/* Whether the client has sent all that it has to send: it is little. */
static bool
is_small(const CopyStmt *stmt, Relation rel, bool binary)
{
	ErrorContextCallback context = {
		error_context_stack, tell_first_line, RelationGetRelationName(rel)
	};
	bool		all;

	if (!binary)
		error_context_stack = &context;
	all = client_hold(binary, bms_num_members(loaded_columns(rel, stmt)), plain_copy_min_size);
	error_context_stack = context.previous;
	return all && plain_copy_min_size > 0;
}

/* ---- the statement ---- */

/* The path as a load takes it. */
static char *
input_path(const CopyStmt *stmt)
{
	if (stmt->filename == NULL)
		return pstrdup(SOURCE_CLIENT);
	return is_absolute_path(stmt->filename) ? stmt->filename :
		psprintf("%s/%s", DataDir, stmt->filename);
}

static uint64
load(ParseState *pstate, const CopyStmt *stmt, Oid relid)
{
	LoadResult	result;

	statements_take(STATEMENT_COPY);
	load_run(relid, list_make1(input_path(stmt)), NULL, make_options(pstate, stmt, relid),
			 InvalidOid, 0, &result);
	return result.rows_loaded;
}

void
plain_copy_run(const PlannedStmt *pstmt, const char *query, Oid relid,
			   QueryCompletion *completion)
{
	const CopyStmt *stmt = castNode(CopyStmt, pstmt->utilityStmt);
	ParseState *pstate = make_parsestate(NULL);
	Relation	rel = table_open(relid, NoLock);
	bool		binary = is_binary(stmt);
	bool		small;
	uint64		rows;

	pstate->p_sourcetext = query;
	/* errors of options are the server's */
	ProcessCopyOptions(pstate, NULL, true, stmt->options);
	/* with a condition DoCopy does more than can be asked of it from here */
	small = stmt->filename == NULL && stmt->whereClause == NULL && is_small(stmt, rel, binary);
	if (small)
	{
		statements_leave(STATEMENT_COPY, IS_SMALL, stmt->relation->relname);
		rows = copy_small(pstate, stmt, rel, binary);
	}
	table_close(rel, NoLock);
	if (!small)
		rows = load(pstate, stmt, relid);
	if (completion != NULL)
		SetQueryCompletion(completion, CMDTAG_COPY, rows);
	free_parsestate(pstate);
}
