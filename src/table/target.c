/*
 * target.c
 *		The target table: what may be loaded into it, and by whom.
 *
 * Rules and wording follow DoCopy and CopyGetAttnums of copy.c and CopyFrom of
 * copyfrom.c (PostgreSQL 18).
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/heap.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_inherits.h"
#include "commands/extension.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "option/extra_options.h"
#include "option/near.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parser.h"
#include "server/compat.h"
#include "table/cascades.h"
#include "table/citus_catalog.h"
#include "table/compact.h"
#include "table/expression.h"
#include "table/statement.h"
#include "table/target.h"
#include "table/truncate.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* Tables, partitioned tables, and views whose trigger takes the rows. */
static void
check_kind(Relation rel)
{
	const char *name = RelationGetRelationName(rel);

	if (IsSystemRelation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied: \"%s\" is a system catalog", name)));

	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));

	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
			break;
		case RELKIND_FOREIGN_TABLE:
			if (!OidIsValid(get_extension_oid("postgres_fdw", true)))
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot load into foreign table \"%s\"", name),
						 errhint("Load into a plain table, then use INSERT ... SELECT.")));
			break;
		case RELKIND_VIEW:
			if (rel->trigdesc == NULL || !rel->trigdesc->trig_insert_instead_row)
				ereport(ERROR,
						(errcode(ERRCODE_WRONG_OBJECT_TYPE),
						 errmsg("cannot load into view \"%s\"", name),
						 errhint("To enable loading into a view, provide an INSTEAD OF INSERT trigger.")));
			break;
		case RELKIND_MATVIEW:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot load into materialized view \"%s\"", name)));
			break;
		case RELKIND_SEQUENCE:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot load into sequence \"%s\"", name)));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot load into non-table relation \"%s\"", name)));
	}
}

/* The command requires that the table is not open elsewhere, so it is closed meanwhile. */
static void
truncate_target(Target *target)
{
	table_close(target->rel, NoLock);
	if (target->on_nodes)
		truncate_parts_here(target->relid);
	else
		truncate_table(target->relid);
	target->rel = table_open(target->relid, NoLock);
}

/*
 * Frozen rows are visible to everyone at once: allowed only if nobody could
 * have seen the table otherwise, as with COPY FREEZE.
 */
static void
check_freeze(Relation rel, SubTransactionId ours)
{
	if (rel->rd_rel->relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"freeze\" is for plain tables only"),
				 errdetail("\"%s\" is not a plain table.",
						   RelationGetRelationName(rel))));

	/* the only snapshot allowed is that of the calling query */
	InvalidateCatalogSnapshot();
	if (!ThereAreNoPriorRegisteredSnapshots() || !ThereAreNoReadyPortals())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot load with \"freeze\" because of prior transaction activity"),
				 errhint("Call bulk_load directly, with no open cursor or enclosing query.")));

	if (rel->rd_createSubid != ours && rel->rd_newRelfilelocatorSubid != ours &&
		rel->rd_newRelfilelocatorSubid != GetCurrentSubTransactionId())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot load with \"freeze\" because the table was not created or truncated in the current subtransaction"),
				 errhint("Set option \"truncate\" too, or create the table in the same transaction.")));

	/* the calling query must not read the table: it would see the rows */
	CheckTableNotInUse(rel, "bulk_load with \"freeze\"");
}

/*
 * Stored generated columns are not computed yet when the condition is
 * evaluated, nor do system columns have values, except tableoid, which COPY refuses from 19 on.
 */
static void
check_where_columns(Relation rel, Node *where, bool by_copy)
{
	AttrNumber	last = by_copy && !COMPAT_COPY_TABLEOID ?
		TableOidAttributeNumber : TableOidAttributeNumber + 1;
	Bitmapset  *attrs = NULL;
	bool		whole_row;

	pull_varattnos(where, 1, &attrs);
	whole_row = bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, attrs);

	for (AttrNumber attnum = SelfItemPointerAttributeNumber; attnum >= last; attnum--)
		if (bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, attrs))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 by_copy ?
					 errmsg("system columns are not supported in COPY FROM WHERE conditions") :
					 errmsg("system columns are not supported in option \"where\""),
					 errdetail("Column \"%s\" is a system column.",
							   NameStr(SystemAttributeDefinition(attnum)->attname))));

	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (att->attgenerated &&
			(whole_row ||
			 bms_is_member(att->attnum - FirstLowInvalidHeapAttributeNumber, attrs)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 by_copy ?
					 errmsg("generated columns are not supported in COPY FROM WHERE conditions") :
					 errmsg("generated columns are not supported in option \"where\""),
					 errdetail("Column \"%s\" is a generated column.",
							   NameStr(att->attname))));
	}
}

/* The condition of the option, or of a COPY statement. */
static List *
transform_where(Target *target, const BulkOptions *options)
{
	ParseState *pstate = target->pstate;
	ExpressionSource source = {.option = "where",.text = options->where};
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = expression_error_callback,
		.arg = &source
	};
	Node	   *where = copyObject(options->where_clause);

	pstate->p_sourcetext = options->statement;
	if (where == NULL)
	{
		error_context_stack = &callback;
		pstate->p_sourcetext = options->where;
		where = expression_parse(&source);
	}
	addNSItemToQuery(pstate, target->nsitem, false, true, true);

	where = transformExpr(pstate, where, EXPR_KIND_COPY_WHERE);
	where = coerce_to_boolean(pstate, where, "WHERE");
	assign_expr_collations(pstate, where);
	check_where_columns(target->rel, where, options->where_clause != NULL);

	where = eval_const_expressions(NULL, where);
	where = (Node *) canonicalize_qual((Expr *) where, false);
	error_context_stack = callback.previous;
	return make_ands_implicit((Expr *) where);
}

AttrNumber
target_find_column(const Target *target, const char *name)
{
	TupleDesc	desc = RelationGetDescr(target->rel);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && namestrcmp(&att->attname, name) == 0)
			return att->attnum;
	}
	return InvalidAttrNumber;
}

static char *
lower_case(const char *name)
{
	return str_tolower(name, strlen(name), DEFAULT_COLLATION_OID);
}

/* The only column with that name in lower case. */
static AttrNumber
match_lower(TupleDesc desc, char *const *columns, const char *name)
{
	AttrNumber	found = InvalidAttrNumber;

	for (int i = 0; i < desc->natts; i++)
	{
		if (columns[i] == NULL || strcmp(columns[i], name) != 0)
			continue;
		if (found != InvalidAttrNumber)
			return InvalidAttrNumber;
		found = TupleDescAttr(desc, i)->attnum;
	}
	return found;
}

AttrNumber *
target_match_columns(const Target *target, const List *names)
{
	TupleDesc	desc = RelationGetDescr(target->rel);
	char	  **columns = palloc0(sizeof(char *) * Max(desc->natts, 1));
	AttrNumber *found = palloc0(sizeof(AttrNumber) * Max(list_length(names), 1));

	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			columns[i] = lower_case(NameStr(TupleDescAttr(desc, i)->attname));
	for (int i = 0; i < list_length(names); i++)
	{
		const char *name = list_nth(names, i);

		CHECK_FOR_INTERRUPTS();
		if (name == NULL)
			continue;
		found[i] = target_find_column(target, name);
		if (found[i] == InvalidAttrNumber)
			found[i] = match_lower(desc, columns, lower_case(name));
	}
	return found;
}

const char *
target_near_column(const Target *target, const char *name)
{
	TupleDesc	desc = RelationGetDescr(target->rel);
	const char **names = palloc0(sizeof(char *) * (desc->natts + 1));
	int			n = 0;

	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			names[n++] = NameStr(TupleDescAttr(desc, i)->attname);
	return near_find(names, name);
}

void
target_refuse_column(const Target *target, const char *name)
{
	const char *near = target_near_column(target, name);

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of relation \"%s\" does not exist",
					name, target_name(target)),
			 near != NULL ? errhint("Perhaps you meant \"%s\".", near) : 0));
}

/* The column of that name; raises an error if it cannot be loaded. */
static AttrNumber
find_loadable(const Target *target, const char *name)
{
	AttrNumber	attnum = target_find_column(target, name);

	if (attnum == InvalidAttrNumber)
		target_refuse_column(target, name);
	if (TupleDescAttr(RelationGetDescr(target->rel), attnum - 1)->attgenerated)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("column \"%s\" is a generated column", name),
				 errdetail("Generated columns cannot be loaded.")));
	return attnum;
}

void
target_set_extras(Target *target, const BulkOptions *options)
{
	ListCell   *lc;

	target->extras = palloc(sizeof(AttrNumber) * Max(list_length(options->extra), 1));
	foreach(lc, options->extra)
		target->extras[target->nextras++] =
			find_loadable(target, ((const BulkExtra *) lfirst(lc))->column);
}

bool
target_is_extra(const Target *target, AttrNumber attnum)
{
	for (int i = 0; i < target->nextras; i++)
		if (target->extras[i] == attnum)
			return true;
	return false;
}

/* Adds a column to the list; raises an error if it cannot be loaded. */
static void
add_column(Target *target, const char *name)
{
	AttrNumber	attnum = InvalidAttrNumber;

	if (name != NULL)
	{
		attnum = find_loadable(target, name);
		if (target_is_extra(target, attnum))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("column \"%s\" is filled by option \"extra\"", name),
					 errdetail("Such a column cannot be one of the file, too.")));
		for (int i = 0; i < target->nfields; i++)
			if (target->attnums[i] == attnum)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg("column \"%s\" specified more than once", name)));
	}
	target->attnums[target->nfields++] = attnum;
}

/*
 * Shows other extensions INSERT of the columns that the file has, or that option
 * extra fills, and SELECT of those that option where uses, as recorded by its
 * transformation.  Files after the first are part of the same statement, unless
 * their headers name more columns.
 */
static void
show_insert(Target *target)
{
	Bitmapset  *inserted = NULL;

	for (int i = 0; i < target->nfields; i++)
		if (target->attnums[i] != InvalidAttrNumber)
			inserted = bms_add_member(inserted,
									  target->attnums[i] - FirstLowInvalidHeapAttributeNumber);
	for (int i = 0; i < target->nextras; i++)
		inserted = bms_add_member(inserted,
								  target->extras[i] - FirstLowInvalidHeapAttributeNumber);
	/* also for the executor, whose errors show only these columns */
	COMPAT_INSERTED_COLS(target->nsitem) = inserted;
	if (target->merge != NULL && target->merge->all)
		COMPAT_UPDATED_COLS(target->nsitem) = inserted;
	if (target->shown && bms_is_subset(inserted, target->inserted))
		return;
	if (target->sent)
		statement_check_insert(target->rel, inserted, COMPAT_SELECTED_COLS(target->nsitem));
	else
		statement_insert(target->rel, inserted, COMPAT_SELECTED_COLS(target->nsitem));
	/* without columns, UPDATE on any of them suffices */
	if (target->merge != NULL && (target->merge->all || target->merge->set != NIL))
		statement_update(target->rel, COMPAT_UPDATED_COLS(target->nsitem),
						 target->merge->read);
	target->shown = true;
	target->inserted = bms_add_members(target->inserted, inserted);
}

/*
 * The columns a header names are not known yet; until then the privilege on any
 * column suffices, and other extensions are not shown anything.
 */
static void
check_any_insert(Relation rel, bool sent)
{
	AclResult	allowed = pg_class_aclcheck(RelationGetRelid(rel), GetUserId(), ACL_INSERT);

	if (allowed != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(RelationGetRelid(rel), GetUserId(), ACL_INSERT,
								  ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(allowed, get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
	if (!sent)
		statement_check(rel);
}

void
target_set_columns(Target *target, List *names)
{
	MemoryContext context = MemoryContextSwitchTo(GetMemoryChunkContext(target));
	ListCell   *lc;

	if (target->attnums != NULL)
		pfree(target->attnums);
	target->nfields = 0;
	target->attnums = palloc(sizeof(AttrNumber) * Max(list_length(names), 1));
	foreach(lc, names)
		add_column(target, lfirst(lc));
	show_insert(target);
	MemoryContextSwitchTo(context);
}

void
target_set_arguments(Target *target, int n)
{
	MemoryContext context = MemoryContextSwitchTo(GetMemoryChunkContext(target));

	pfree(target->attnums);
	target->nfields = n;
	target->attnums = palloc0(sizeof(AttrNumber) * n);
	MemoryContextSwitchTo(context);
}

/* Without a column list: all columns that can be loaded. */
static void
set_all_columns(Target *target, bool mapped)
{
	TupleDesc	desc = RelationGetDescr(target->rel);

	target->nfields = 0;
	target->attnums = palloc(sizeof(AttrNumber) * Max(desc->natts, 1));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && !att->attgenerated && !target_is_extra(target, att->attnum))
			target->attnums[target->nfields++] = att->attnum;
	}
	if (mapped)
		check_any_insert(target->rel, target->sent);
	else
		show_insert(target);
}

const char *
target_lock_privileges(void)
{
	return COMPAT_ACL_MAINTAIN != ACL_NO_RIGHTS ? "UPDATE, DELETE, TRUNCATE or MAINTAIN" :
		"UPDATE, DELETE or TRUNCATE";
}

/*
 * Raises the error for a missing privilege to lock the table, naming the
 * privileges, which the server's own message does not.
 */
static void
refuse_lock(const char *name, const BulkOptions *options)
{
	bool		direct = options->writer == BULK_WRITER_DIRECT;

	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for table %s", name),
			 errdetail("%s keeps others from writing to the table, which takes one of the privileges %s on it.",
					   direct ? "Writer \"direct\"" : "A dry run", target_lock_privileges()),
			 direct ? errhint("Have one of them granted, or leave option \"writer\" to \"auto\".") :
			 errhint("Have one of them granted.")));
}

/*
 * The strongest lock that the load will need, taken at once: upgrading it later
 * invites deadlocks.  Nobody may block others on a table without privileges on
 * it.
 */
static LOCKMODE
lock_mode(Oid relid, const BulkOptions *options)
{
	bool		direct = options->writer == BULK_WRITER_DIRECT;
	bool		dry = options->dry_run && get_rel_relkind(relid) != RELKIND_VIEW;
	AclResult	allowed;

	if (!options->truncate && !direct && !dry)
		return RowExclusiveLock;

	/* the privileges required by TRUNCATE and LOCK TABLE */
	allowed = pg_class_aclcheck(relid, GetUserId(), options->truncate ? ACL_TRUNCATE :
								TARGET_LOCK_PRIVILEGES);
	if (allowed == ACLCHECK_NO_PRIV && !options->truncate &&
		(get_rel_relkind(relid) == RELKIND_RELATION ||
		 get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE))
		refuse_lock(get_rel_name(relid), options);
	if (allowed != ACLCHECK_OK && get_rel_name(relid) != NULL)
		aclcheck_error(allowed, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
	return options->truncate ? AccessExclusiveLock : ShareRowExclusiveLock;
}

static void
make_range_table(Target *target)
{
	target->pstate = make_parsestate(NULL);
	target->nsitem = addRangeTableEntryForRelation(target->pstate, target->rel,
												   RowExclusiveLock, NULL,
												   false, false);
	COMPAT_REQUIRED_PERMS(target->nsitem) = ACL_INSERT;
}

/*
 * Actions of foreign keys fire when the new rows are stored and the replaced
 * ones deleted, so they would affect the new ones.
 */
static void
check_cascades(Relation rel, const BulkOptions *options)
{
	bool		merges = options->merge != NULL && options->merge->remove != NULL;

	if ((options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW || merges) &&
		cascades_return(RelationGetRelid(rel)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 merges ?
				 errmsg("rows of \"%s\" cannot be deleted by others", RelationGetRelationName(rel)) :
				 errmsg("rows of \"%s\" cannot be replaced", RelationGetRelationName(rel)),
				 errdetail("A foreign key deletes or changes rows of the table when others go, and with them those that replace them."),
				 merges ? errhint("Let the key do nothing ON DELETE.") :
				 errhint("Use \"keep_old\" for option \"on_duplicate\", or let the key do nothing ON DELETE.")));
}

char *
target_find_deferrable(Relation rel)
{
	ListCell   *lc;

	/*
	 * do not lock the indexes, as the lock would stay: COPY holds only the lock
	 * for its insertions
	 */
	foreach(lc, RelationGetIndexList(rel))
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));
		bool		immediate = true;

		if (HeapTupleIsValid(tuple))
		{
			immediate = ((Form_pg_index) GETSTRUCT(tuple))->indimmediate;
			ReleaseSysCache(tuple);
		}
		if (!immediate)
			return get_rel_name(lfirst_oid(lc));
	}
	return NULL;
}

/* Which key a row has is not known where a trigger stores it. */
static void
refuse_view(Relation rel, const BulkOptions *options)
{
	if (options->on_duplicate == BULK_ON_DUPLICATE_ERROR ||
		rel->rd_rel->relkind != RELKIND_VIEW)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW ?
			 errmsg("rows of \"%s\" cannot be replaced", RelationGetRelationName(rel)) :
			 errmsg("duplicates of \"%s\" cannot be set aside", RelationGetRelationName(rel)),
			 errdetail("It is not a table.")));
}

/* As INSERT ... ON CONFLICT: a deferred check has no row to resolve the conflict with. */
static void
check_immediate(Relation rel, const BulkOptions *options)
{
	char	   *deferrable;

	/* rows are merged by one key, which has been checked */
	if (options->on_duplicate == BULK_ON_DUPLICATE_ERROR ||
		options->on_duplicate == BULK_ON_DUPLICATE_MERGE)
		return;
	deferrable = target_find_deferrable(rel);
	if (deferrable != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("option \"on_duplicate\" does not support deferrable constraints"),
				 errdetail("\"%s\" has the deferrable constraint \"%s\".",
						   RelationGetRelationName(rel), deferrable)));
}

static void
open_merge(Target *target, const BulkMerge *merge)
{
	target->merge = merge_clause_open(target->rel, merge);
	/* for privileges, and for the executor: lock modes, triggers of columns */
	COMPAT_UPDATED_COLS(target->nsitem) = target->merge->updated;
	if (target->merge->removes)
		statement_delete(target->rel);
}

bool
target_is_sent(Relation rel)
{
	CitusTable	table;

	return citus_find_table(RelationGetRelid(rel), &table) && citus_is_served(&table);
}

Target *
target_open(Oid relid, const BulkOptions *options)
{
	Target	   *target = palloc0(sizeof(Target));
	LOCKMODE	lockmode = lock_mode(relid, options);
	Relation	rel = try_table_open(relid, lockmode);

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));

	check_kind(rel);
	/* in the lock order of TRUNCATE and LOCK TABLE, and with the same privileges */
	if (lockmode == ShareRowExclusiveLock &&
		rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		(void) find_all_inheritors(relid, lockmode, NULL);
	/* a query's range table already holds this lock, and the executor checks for it */
	if (lockmode != RowExclusiveLock)
		LockRelationOid(relid, RowExclusiveLock);
	target->relid = relid;
	target->rel = rel;
	target->name = pstrdup(RelationGetRelationName(rel));
	target->sent = target_is_sent(rel);
	make_range_table(target);
	if (options->where != NULL || options->where_clause != NULL)
		target->where = transform_where(target, options);

	target_set_extras(target, options);
	if (options->merge != NULL)
		open_merge(target, options->merge);
	if (options->has_columns)
		target_set_columns(target, options->columns);
	else
		set_all_columns(target, options->header == BULK_HEADER_MAP);

	refuse_view(rel, options);
	/* the rows replaced reveal what is in the table, too */
	if (options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW)
	{
		if (target->sent)
			statement_check_delete(rel);
		else
			statement_delete(rel);
	}
	check_immediate(rel, options);
	check_cascades(rel, options);

	if (check_enable_rls(relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 options->by_copy ? errmsg("COPY FROM not supported with row-level security") :
				 errmsg("bulk_load is not supported with row-level security"),
				 errhint("Use INSERT statements instead.")));

	/* TRUNCATE is refused even for temporary tables */
	if (XactReadOnly && (!rel->rd_islocaltemp || options->truncate))
		PreventCommandIfReadOnly(options->by_copy ? "COPY FROM" : "bulk_load");

	return target;
}

void
target_empty(Target *target, const BulkOptions *options, SubTransactionId caller)
{
	if (options->truncate)
		truncate_target(target);
	if (options->freeze)
		check_freeze(target->rel, caller);
}

void
target_reopen(Target *target)
{
	target->rel = table_open(target->relid, NoLock);
}

Target *
target_join(Oid relid, List *where, const AttrNumber *attnums, int nfields)
{
	Target	   *target = palloc0(sizeof(Target));

	target->relid = relid;
	target->rel = table_open(relid, RowExclusiveLock);
	target->name = pstrdup(RelationGetRelationName(target->rel));
	make_range_table(target);
	target->where = where;
	target->nfields = nfields;
	target->attnums = palloc(sizeof(AttrNumber) * Max(nfields, 1));
	if (nfields > 0)
		memcpy(target->attnums, attnums, sizeof(AttrNumber) * nfields);
	return target;
}

void
target_cut_dead(Target *target)
{
	ListCell   *lc;

	if (target->rel->rd_rel->relkind == RELKIND_RELATION)
	{
		compact_unseen(target->rel);
		return;
	}
	foreach(lc, find_all_inheritors(target->relid, NoLock, NULL))
	{
		Relation	rel = table_open(lfirst_oid(lc), NoLock);

		CHECK_FOR_INTERRUPTS();
		if (rel->rd_rel->relkind == RELKIND_RELATION)
			compact_unseen(rel);
		table_close(rel, NoLock);
	}
}

const char *
target_name(const Target *target)
{
	return target->name;
}

void
target_close(Target *target)
{
	/* keeps the lock until the end of the transaction */
	table_close(target->rel, NoLock);
}
