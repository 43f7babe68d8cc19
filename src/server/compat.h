/*
 * compat.h
 *		The only file that depends on the server version (PostgreSQL 15 to
 *		19).
 *
 * All other code is written for the newest server; differences of older ones
 * are translated here, under the newer name if there is one.
 */
#ifndef PGBULK_COMPAT_H
#define PGBULK_COMPAT_H

#include "postgres.h"

#include "access/nbtxlog.h"
#include "access/tableam.h"
#include "catalog/pg_publication.h"
#include "commands/sequence.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "replication/slot.h"
#include "replication/walsender_private.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/backend_status.h"
#include "utils/jsonb.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"
#include "utils/varlena.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "pgbulk is for PostgreSQL 15 to 19"
#endif

/* Soft errors of input functions: from 16 on; 15 can only throw. */
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#define COMPAT_SOFT_ERRORS 1
#endif

/* Subtransactions while parallel workers are running: from 17 on. */
#if PG_VERSION_NUM >= 170000
#define COMPAT_PARALLEL_SUBTRANSACTIONS 1
#endif

/* Relation files: RelFileNode became RelFileLocator in 16. */
#if PG_VERSION_NUM < 160000
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#define rd_newRelfilelocatorSubid rd_newRelfilenodeSubid
#endif

/* The start of a sequence's WAL record. */
#if PG_VERSION_NUM >= 190000
#include "commands/sequence_xlog.h"
#endif

static inline void
compat_seq_rec(xl_seq_rec *record, Relation sequence)
{
#if PG_VERSION_NUM >= 160000
	record->locator = sequence->rd_locator;
#else
	record->node = sequence->rd_node;
#endif
}

/* From 16 on, permissions are checked on RTEPermissionInfo. */
#if PG_VERSION_NUM >= 160000
#define COMPAT_INSERTED_COLS(nsitem) ((nsitem)->p_perminfo->insertedCols)
#define COMPAT_SELECTED_COLS(nsitem) ((nsitem)->p_perminfo->selectedCols)
#define COMPAT_REQUIRED_PERMS(nsitem) ((nsitem)->p_perminfo->requiredPerms)
#define COMPAT_UPDATED_COLS(nsitem) ((nsitem)->p_perminfo->updatedCols)
#define compat_set_perminfos(query, pstate) \
	((query)->rteperminfos = (pstate)->p_rteperminfos)
#define compat_check_permissions(query) \
	((void) ExecCheckPermissions((query)->rtable, (query)->rteperminfos, true))
#else
#define COMPAT_INSERTED_COLS(nsitem) ((nsitem)->p_rte->insertedCols)
#define COMPAT_SELECTED_COLS(nsitem) ((nsitem)->p_rte->selectedCols)
#define COMPAT_REQUIRED_PERMS(nsitem) ((nsitem)->p_rte->requiredPerms)
#define COMPAT_UPDATED_COLS(nsitem) ((nsitem)->p_rte->updatedCols)
#define compat_set_perminfos(query, pstate) ((void) 0)
#define compat_check_permissions(query) ((void) ExecCheckRTPerms((query)->rtable, true))
#endif

static inline void
compat_set_updated(Query *query, Bitmapset *columns)
{
#if PG_VERSION_NUM >= 160000
	linitial_node(RTEPermissionInfo, query->rteperminfos)->updatedCols = columns;
#else
	linitial_node(RangeTblEntry, query->rtable)->updatedCols = columns;
#endif
}

/* As whom privileges on the tables of a query are checked, as for a view: not who runs it. */
static inline void
compat_query_check_as(Query *query, Oid role)
{
#if PG_VERSION_NUM >= 160000
	ListCell   *lc;

	foreach(lc, query->rteperminfos)
		lfirst_node(RTEPermissionInfo, lc)->checkAsUser = role;
#endif
}

static inline void
compat_entry_check_as(RangeTblEntry *entry, Oid role)
{
#if PG_VERSION_NUM < 160000
	entry->checkAsUser = role;
#endif
}

#if PG_VERSION_NUM >= 180000
#define compat_executor_run(query) ExecutorRun((query), ForwardScanDirection, 0)
#else
#define compat_executor_run(query) ExecutorRun((query), ForwardScanDirection, 0, true)
#endif

/* Plans a query, honoring planner hooks. */
#include "tcop/tcopprot.h"

#if PG_VERSION_NUM >= 190000
#define compat_plan_query(query, text) pg_plan_query((query), (text), 0, NULL, NULL)
#else
#define compat_plan_query(query, text) pg_plan_query((query), (text), 0, NULL)
#endif

/* A privilege that lets a role lock a table: from 17 on. */
#if PG_VERSION_NUM >= 170000
#define COMPAT_ACL_MAINTAIN ACL_MAINTAIN
#else
#define COMPAT_ACL_MAINTAIN ACL_NO_RIGHTS
#endif

static inline void
compat_init_range_table(EState *estate, ParseState *pstate)
{
#if PG_VERSION_NUM >= 180000
	ExecInitRangeTable(estate, pstate->p_rtable, pstate->p_rteperminfos,
					   bms_make_singleton(1));
#elif PG_VERSION_NUM >= 160000
	ExecInitRangeTable(estate, pstate->p_rtable, pstate->p_rteperminfos);
#else
	ExecInitRangeTable(estate, pstate->p_rtable);
#endif
}

static inline List *
compat_insert_index_tuples(ResultRelInfo *rri, TupleTableSlot *slot,
						   EState *estate)
{
#if PG_VERSION_NUM >= 190000
	return ExecInsertIndexTuples(rri, estate, 0, slot, NIL, NULL);
#elif PG_VERSION_NUM >= 160000
	return ExecInsertIndexTuples(rri, slot, estate, false, false, NULL, NIL,
								 false);
#else
	return ExecInsertIndexTuples(rri, slot, estate, false, false, NULL, NIL);
#endif
}

/*
 * The same for a speculatively inserted row; *conflict: whether another row has its key in one of
 * the given indexes (NIL: in any).  In others that is an error.
 */
static inline List *
compat_insert_index_tuples_trying(ResultRelInfo *rri, TupleTableSlot *slot,
								  EState *estate, List *indexes, bool *conflict)
{
	*conflict = false;
#if PG_VERSION_NUM >= 190000
	return ExecInsertIndexTuples(rri, estate, EIIT_NO_DUPE_ERROR, slot, indexes, conflict);
#elif PG_VERSION_NUM >= 160000
	return ExecInsertIndexTuples(rri, slot, estate, false, true, conflict, indexes,
								 false);
#else
	return ExecInsertIndexTuples(rri, slot, estate, false, true, conflict, indexes);
#endif
}

/* For a new version of a row; summarizing: only into indexes that summarize pages. */
static inline List *
compat_update_index_tuples(ResultRelInfo *rri, TupleTableSlot *slot, EState *estate,
						   bool summarizing)
{
#if PG_VERSION_NUM >= 190000
	return ExecInsertIndexTuples(rri, estate,
								 EIIT_IS_UPDATE | (summarizing ? EIIT_ONLY_SUMMARIZING : 0),
								 slot, NIL, NULL);
#elif PG_VERSION_NUM >= 160000
	return ExecInsertIndexTuples(rri, slot, estate, true, false, NULL, NIL, summarizing);
#else
	return ExecInsertIndexTuples(rri, slot, estate, true, false, NULL, NIL);
#endif
}

/* Whether no row has the same key in the given indexes; tid: the conflicting row. */
static inline bool
compat_check_index_constraints(ResultRelInfo *rri, TupleTableSlot *slot,
							   EState *estate, ItemPointer tid, List *indexes)
{
	Snapshot	snapshot = estate->es_snapshot;
	bool		result;
#if PG_VERSION_NUM >= 180000
	ItemPointerData none;

	ItemPointerSetInvalid(&none);
#endif
	/* newer ones fetch the conflicting row by the snapshot of a query, and a load has none */
	estate->es_snapshot = GetActiveSnapshot();
#if PG_VERSION_NUM >= 180000
	result = ExecCheckIndexConstraints(rri, slot, estate, tid, &none, indexes);
#else
	result = ExecCheckIndexConstraints(rri, slot, estate, tid, indexes);
#endif
	estate->es_snapshot = snapshot;
	return result;
}

/* False if a trigger suppresses the deletion. */
static inline bool
compat_before_delete_triggers(EState *estate, EPQState *epq, ResultRelInfo *rri,
							  ItemPointer tid)
{
#if PG_VERSION_NUM >= 180000
	return ExecBRDeleteTriggers(estate, epq, rri, tid, NULL, NULL, NULL, NULL, false);
#elif PG_VERSION_NUM >= 160000
	return ExecBRDeleteTriggers(estate, epq, rri, tid, NULL, NULL, NULL, NULL);
#else
	return ExecBRDeleteTriggers(estate, epq, rri, tid, NULL, NULL);
#endif
}

/* The same for an update, to the row in the slot, which triggers may change. */
static inline bool
compat_before_update_triggers(EState *estate, EPQState *epq, ResultRelInfo *rri,
							  ItemPointer tid, TupleTableSlot *slot, TM_FailureData *failure)
{
#if PG_VERSION_NUM >= 180000
	return ExecBRUpdateTriggers(estate, epq, rri, tid, NULL, slot, NULL, failure, false);
#elif PG_VERSION_NUM >= 160000
	return ExecBRUpdateTriggers(estate, epq, rri, tid, NULL, slot, NULL, failure);
#else
	return ExecBRUpdateTriggers(estate, epq, rri, tid, NULL, slot, failure);
#endif
}

static inline TM_Result
compat_table_delete(Relation rel, ItemPointer tid, CommandId cid,
					Snapshot snapshot, TM_FailureData *failure)
{
#if PG_VERSION_NUM >= 190000
	return table_tuple_delete(rel, tid, cid, 0, snapshot, InvalidSnapshot, true,
							  failure);
#else
	return table_tuple_delete(rel, tid, cid, snapshot, InvalidSnapshot, true,
							  failure, false);
#endif
}

/* Which indexes need entries for a new version of a row. */
typedef enum CompatEntries
{
	COMPAT_ENTRIES_NONE,		/* it is HOT */
	COMPAT_ENTRIES_SUMMARIZING, /* it is, but summaries of pages have changed */
	COMPAT_ENTRIES_ALL
} CompatEntries;

static inline TM_Result
compat_table_update(Relation rel, ItemPointer tid, TupleTableSlot *slot, CommandId cid,
					Snapshot snapshot, TM_FailureData *failure, CompatEntries *entries)
{
	LockTupleMode mode;
	TM_Result	result;
#if PG_VERSION_NUM >= 160000
	TU_UpdateIndexes indexes = TU_None;
#else
	bool		indexes = false;
#endif

#if PG_VERSION_NUM >= 190000
	result = table_tuple_update(rel, tid, slot, cid, 0, snapshot, InvalidSnapshot, true,
								failure, &mode, &indexes);
#else
	result = table_tuple_update(rel, tid, slot, cid, snapshot, InvalidSnapshot, true, failure,
								&mode, &indexes);
#endif
#if PG_VERSION_NUM >= 160000
	*entries = indexes == TU_All ? COMPAT_ENTRIES_ALL :
		indexes == TU_Summarizing ? COMPAT_ENTRIES_SUMMARIZING : COMPAT_ENTRIES_NONE;
#else
	*entries = indexes ? COMPAT_ENTRIES_ALL : COMPAT_ENTRIES_NONE;
#endif
	return result;
}

/* The map from a routed row's root to its leaf; NULL where none is needed. */
static inline TupleConversionMap *
compat_root_to_child_map(ResultRelInfo *rri, EState *estate)
{
	if (rri->ri_RootResultRelInfo == NULL)
		return NULL;
#if PG_VERSION_NUM >= 160000
	return ExecGetRootToChildMap(rri, estate);
#else
	return rri->ri_RootToPartitionMap;
#endif
}

/* The map of columns by name between two tables; NULL where none is needed. */
#if PG_VERSION_NUM >= 160000
#define compat_attrmap_if_needed(from, to) \
	build_attrmap_by_name_if_req((from), (to), false)
#else
#define compat_attrmap_if_needed(from, to) \
	build_attrmap_by_name_if_req((from), (to))
#endif

#if PG_VERSION_NUM >= 190000
#define compat_domain_has_constraints(type) DomainHasConstraints((type), NULL)
#else
#define compat_domain_has_constraints(type) DomainHasConstraints(type)
#endif

/* From 19 on, manually built descriptors must be finalized. */
#if PG_VERSION_NUM >= 190000
#define compat_finalize_desc(desc) TupleDescFinalize(desc)
#else
#define compat_finalize_desc(desc) ((void) 0)
#endif

/*
 * Converts a date by to_timestamp's template, which every character must match;
 * raises soft errors given an ErrorSaveContext, which 15 does not have.
 */
#include "catalog/pg_collation.h"
#include "utils/builtins.h"
#include "utils/formatting.h"

#if PG_VERSION_NUM >= 160000
#define compat_parse_datetime(value, template, type, typmod, zone, escontext) \
	parse_datetime((value), (template), DEFAULT_COLLATION_OID, true, (type), (typmod), (zone), \
				   (escontext))
#else
#define compat_parse_datetime(value, template, type, typmod, zone, escontext) \
	parse_datetime((value), (template), DEFAULT_COLLATION_OID, true, (type), (typmod), (zone), NULL)
#endif

/* Raises errors of a template itself. */
static inline void
compat_check_datetime_template(text *template)
{
	text	   *nothing = cstring_to_text("");
	Oid			type;
	int32		typmod;
	int			zone = 0;
#if PG_VERSION_NUM >= 160000
	ErrorSaveContext error = {T_ErrorSaveContext};

	parse_datetime(nothing, template, DEFAULT_COLLATION_OID, true, &type,
				   &typmod, &zone, (Node *) &error);
#else
	bool		error = false;

	parse_datetime(nothing, template, DEFAULT_COLLATION_OID, true, &type,
				   &typmod, &zone, &error);
#endif
}

/* Raises an error unless the caller may execute a function. */
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "utils/acl.h"

static inline void
compat_check_execute(Oid function, const char *name)
{
	AclResult	result;

#if PG_VERSION_NUM >= 160000
	result = object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE);
#else
	result = pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE);
#endif
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, name);
}

/* Whether a role may use a foreign server. */
#include "catalog/pg_foreign_server.h"

static inline bool
compat_may_use_server(Oid server, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ForeignServerRelationId, server, role, ACL_USAGE) == ACLCHECK_OK;
#else
	return pg_foreign_server_aclcheck(server, role, ACL_USAGE) == ACLCHECK_OK;
#endif
}

/* A set of events to wait for, which its owner frees. */
#include "storage/latch.h"
#if PG_VERSION_NUM >= 180000
#include "storage/waiteventset.h"
#endif

#if PG_VERSION_NUM >= 170000
#define compat_create_wait_event_set(nevents) CreateWaitEventSet(NULL, (nevents))
#else
#define compat_create_wait_event_set(nevents) CreateWaitEventSet(TopMemoryContext, (nevents))
#endif

/*
 * Prepares the expressions of stored generated columns for inserted rows.  Where
 * the server does that for the first row and it fails, before 16 the others are
 * computed with what there is, or not at all.
 */
#include "executor/nodeModifyTable.h"

static inline void
compat_init_generated(ResultRelInfo *rri, EState *estate)
{
#if PG_VERSION_NUM >= 180000
	if (rri->ri_GeneratedExprsI == NULL)
		ExecInitGenerated(rri, estate, CMD_INSERT);
#elif PG_VERSION_NUM >= 160000
	if (rri->ri_GeneratedExprsI == NULL)
		ExecInitStoredGenerated(rri, estate, CMD_INSERT);
#else
	if (rri->ri_GeneratedExprs == NULL)
		ExecInitStoredGenerated(rri, estate, CMD_INSERT);
#endif
}

static inline bool
compat_owns_table(Oid relid, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(RelationRelationId, relid, role);
#else
	return pg_class_ownercheck(relid, role);
#endif
}

/* A scan of a whole table. */
#if PG_VERSION_NUM >= 190000
#define compat_table_beginscan(rel, snapshot) \
	table_beginscan((rel), (snapshot), 0, NULL, SO_NONE)
#else
#define compat_table_beginscan(rel, snapshot) table_beginscan((rel), (snapshot), 0, NULL)
#endif

/* Hooks of ExecutorRun: from 18 on without the promise to run a query once. */
#if PG_VERSION_NUM >= 180000
#define COMPAT_RUN_PARAMETERS QueryDesc *desc, ScanDirection direction, uint64 count
#define COMPAT_RUN_ARGUMENTS desc, direction, count
#else
#define COMPAT_RUN_PARAMETERS QueryDesc *desc, ScanDirection direction, uint64 count, bool once
#define COMPAT_RUN_ARGUMENTS desc, direction, count, once
#endif

/* A plain index scan. */
#include "access/genam.h"

#if PG_VERSION_NUM >= 190000
#define compat_index_beginscan(rel, index, snapshot, nkeys) \
	index_beginscan((rel), (index), (snapshot), NULL, (nkeys), 0, 0)
#elif PG_VERSION_NUM >= 180000
#define compat_index_beginscan(rel, index, snapshot, nkeys) \
	index_beginscan((rel), (index), (snapshot), NULL, (nkeys), 0)
#else
#define compat_index_beginscan(rel, index, snapshot, nkeys) \
	index_beginscan((rel), (index), (snapshot), (nkeys), 0)
#endif

/* 18: temporal foreign keys (PERIOD). */
#if PG_VERSION_NUM >= 180000
#define COMPAT_HAS_PERIOD(constraint) ((constraint)->conperiod)
#else
#define COMPAT_HAS_PERIOD(constraint) false
#endif

/* 18: constraints that are not enforced, and virtual generated columns. */
#if PG_VERSION_NUM >= 180000
#include "rewrite/rewriteHandler.h"
#define COMPAT_VIRTUAL_COLUMNS 1
#define COMPAT_CHECK_ENFORCED(check) ((check)->ccenforced)
#define compat_expand_generated(node, rel) \
	expand_generated_columns_in_expr((node), (rel), 1)
#else
#define COMPAT_CHECK_ENFORCED(check) true
#define compat_expand_generated(node, rel) (node)
#endif

#if PG_VERSION_NUM >= 160000
#define compat_qualified_name_list(string) stringToQualifiedNameList((string), NULL)
#else
#define compat_qualified_name_list(string) stringToQualifiedNameList(string)
#endif

/* The server can extend a table by many pages at once; see extend.c. */
#if PG_VERSION_NUM >= 160000
#define COMPAT_EXTENDS_BY_MANY
#endif

/*
 * Sets the visibility map's bits for a new page whose tuples are all frozen;
 * map is the map's pinned page.  Before 19 the map is set and logged separately
 * when the page is complete but still locked (compat_frozen_after); from 19 on
 * it changes with the page, in the same critical section and WAL record.
 */
#include "access/visibilitymap.h"
#include "access/xloginsert.h"

#define COMPAT_ALL_FROZEN (VISIBILITYMAP_ALL_VISIBLE | VISIBILITYMAP_ALL_FROZEN)

#if PG_VERSION_NUM >= 190000
#define compat_frozen_before(map) LockBuffer((map), BUFFER_LOCK_EXCLUSIVE)
#define compat_frozen_set(rel, block, map) \
	visibilitymap_set((block), (map), COMPAT_ALL_FROZEN, (rel)->rd_locator)
#define compat_frozen_register(map) XLogRegisterBuffer(1, (map), 0)
#define compat_frozen_logged(map, lsn) PageSetLSN(BufferGetPage(map), (lsn))
#define compat_frozen_after(rel, block, buffer, map) \
	LockBuffer((map), BUFFER_LOCK_UNLOCK)
#else
#define compat_frozen_before(map) ((void) 0)
#define compat_frozen_set(rel, block, map) ((void) 0)
#define compat_frozen_register(map) ((void) 0)
#define compat_frozen_logged(map, lsn) ((void) 0)
#define compat_frozen_after(rel, block, buffer, map) \
	visibilitymap_set((rel), (block), (buffer), InvalidXLogRecPtr, (map), \
					  InvalidTransactionId, COMPAT_ALL_FROZEN)
#endif

/* The replication origin of the session's changes; 0: none. */
#include "replication/origin.h"

#if PG_VERSION_NUM >= 190000
#define compat_session_origin() (replorigin_xact_state.origin)
#else
#define compat_session_origin() (replorigin_session_origin)
#endif

/* Whether a WAL sender has a standby, not a logical subscriber; 15 knows that by its slot. */
static inline bool
compat_is_physical_sender(const WalSnd *sender, int pid)
{
#if PG_VERSION_NUM >= 160000
	return sender->kind == REPLICATION_KIND_PHYSICAL;
#else
	for (int i = 0; i < max_replication_slots; i++)
	{
		const ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		if (slot->in_use && slot->active_pid == pid)
			return SlotIsPhysical(slot);
	}
	return true;
#endif
}

/* An error where rows that the snapshot sees may be gone from the page (17 has no such setting). */
static inline void
compat_test_for_old_snapshot(Snapshot snapshot, Relation rel, Page page)
{
#if PG_VERSION_NUM < 170000
	TestForOldSnapshot(snapshot, rel, page);
#endif
}

/* The i-th of pgstat_fetch_stat_numbackends() processes of the server, from 1 on, or NULL. */
static inline const PgBackendStatus *
compat_backend_status(int i)
{
#if PG_VERSION_NUM >= 160000
	const LocalPgBackendStatus *status = pgstat_get_local_beentry_by_index(i);
#else
	const LocalPgBackendStatus *status = pgstat_fetch_stat_local_beentry(i);
#endif

	return status == NULL ? NULL : &status->backendStatus;
}

/* The application_name of a process of the server; false: there is none with that PID. */
static inline bool
compat_application_name(int pid, char name[NAMEDATALEN])
{
	int			n;

	pgstat_clear_backend_activity_snapshot();
	n = pgstat_fetch_stat_numbackends();
	for (int i = 1; i <= n; i++)
	{
		const PgBackendStatus *status = compat_backend_status(i);

		if (status == NULL || status->st_procpid != pid)
			continue;
		strlcpy(name, status->st_appname, NAMEDATALEN);
		return true;
	}
	return false;
}

/* A buffer ring for bulk writes; in 15 always 16 MB. */
static inline BufferAccessStrategy
compat_bulkwrite_strategy(int size_kb)
{
#if PG_VERSION_NUM >= 160000
	return GetAccessStrategyWithSize(BAS_BULKWRITE, size_kb);
#else
	return GetAccessStrategy(BAS_BULKWRITE);
#endif
}

/* Whether the server's COPY FROM takes a line of \. for the end of format csv. */
#define COMPAT_COPY_MARKER (PG_VERSION_NUM < 180000)

/* Whether the condition of the server's COPY FROM may name tableoid, as that of a load may. */
#define COMPAT_COPY_TABLEOID (PG_VERSION_NUM < 190000)

/* The options of the server's COPY FROM, by name. */
#if PG_VERSION_NUM >= 160000
#define COMPAT_COPY_DEFAULT "default",
#else
#define COMPAT_COPY_DEFAULT
#endif
#if PG_VERSION_NUM >= 170000
#define COMPAT_COPY_ON_ERROR "on_error", "log_verbosity",
#else
#define COMPAT_COPY_ON_ERROR
#endif
#if PG_VERSION_NUM >= 180000
#define COMPAT_COPY_REJECT_LIMIT "reject_limit",
#else
#define COMPAT_COPY_REJECT_LIMIT
#endif
#define COMPAT_COPY_OPTIONS COMPAT_COPY_DEFAULT COMPAT_COPY_ON_ERROR COMPAT_COPY_REJECT_LIMIT \
	"format", "freeze", "delimiter", "null", "header", "quote", "escape", "encoding", \
	"force_quote", "force_not_null", "force_null", "convert_selectively"

/* Whether it takes a number of header lines, and set_null for its option on_error. */
#define COMPAT_COPY_HEADER_LINES (PG_VERSION_NUM >= 190000)
#define COMPAT_COPY_SET_NULL (PG_VERSION_NUM >= 190000)

#if PG_VERSION_NUM < 160000
#define deconstruct_array_builtin(array, type, elements, nulls, count) \
	deconstruct_array((array), (type), -1, false, TYPALIGN_INT, (elements), (nulls), (count))
#endif

/* A Jsonb under construction.  Initialize with zeroes; the last push returns it. */
#if PG_VERSION_NUM >= 190000
typedef JsonbInState CompatJsonb;
#else
typedef JsonbParseState *CompatJsonb;
#endif

static inline JsonbValue *
compat_push_jsonb(CompatJsonb *state, JsonbIteratorToken token,
				  JsonbValue *value)
{
#if PG_VERSION_NUM >= 190000
	pushJsonbValue(state, token, value);
	return state->result;
#else
	return pushJsonbValue(state, token, value);
#endif
}

/* ---- indexes ---- */

#include "access/multixact.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "commands/vacuum.h"
#include "storage/buffile.h"
#include "utils/sortsupport.h"

/* Writing new pages past shared buffers: provided by the server from 17 on. */
#if PG_VERSION_NUM >= 170000
#include "storage/bulk_write.h"
#define COMPAT_BULK_WRITE 1
#endif

/* For older servers: */
#include "storage/bufpage.h"
#include "storage/smgr.h"

#if PG_VERSION_NUM >= 190000
#define compat_set_checksum(page, block) PageSetChecksum((page), (block))
#else
#define compat_set_checksum(page, block) PageSetChecksumInplace((page), (block))
#endif

/* Memory for a page written without a buffer. */
#if PG_VERSION_NUM >= 160000
#define compat_alloc_page(context) \
	((Page) MemoryContextAllocAligned((context), BLCKSZ, PG_IO_ALIGN_SIZE, 0))
#else
#define compat_alloc_page(context) ((Page) MemoryContextAlloc((context), BLCKSZ))
#endif

/* Adds zeroed blocks at the end of a relation's main fork. */
static inline void
compat_zero_extend(SMgrRelation smgr, BlockNumber first, BlockNumber n,
				   bool skip_fsync)
{
#if PG_VERSION_NUM >= 160000
	smgrzeroextend(smgr, MAIN_FORKNUM, first, n, skip_fsync);
#else
	PGAlignedBlock zeroes;

	memset(zeroes.data, 0, BLCKSZ);
	for (BlockNumber i = 0; i < n; i++)
		smgrextend(smgr, MAIN_FORKNUM, first + i, zeroes.data, skip_fsync);
#endif
}

#if PG_VERSION_NUM < 160000
#define rd_locator rd_node
#define RelFileLocator RelFileNode
#define RelationSetNewRelfilenumber RelationSetNewRelfilenode
#endif

/*
 * Fills in a WAL record for the reuse of a btree page, which carries a snapshot
 * conflict horizon.
 */
static inline void
compat_reuse_page(xl_btree_reuse_page *record, Relation heap, FullTransactionId horizon)
{
#if PG_VERSION_NUM >= 160000
	record->locator = heap->rd_locator;
	record->snapshotConflictHorizon = horizon;
	record->isCatalogRel = RelationIsAccessibleInLogicalDecoding(heap);
#else
	record->node = heap->rd_node;
	record->latestRemovedFullXid = horizon;
#endif
}

#if PG_VERSION_NUM < 160000
#define HeapTupleHeaderAdvanceConflictHorizon HeapTupleHeaderAdvanceLatestRemovedXid
#endif

/* From 16 on, an update may remain HOT if it changes columns of such an index. */
#if PG_VERSION_NUM >= 160000
#define COMPAT_IS_SUMMARIZING(index) ((index)->rd_indam->amsummarizing)
#else
#define COMPAT_IS_SUMMARIZING(index) false
#endif

/* A place where tests hold a load, of servers that are built with injection points. */
#if PG_VERSION_NUM >= 180000
#include "utils/injection_point.h"
#define compat_injection_point(name) INJECTION_POINT((name), NULL)
#elif PG_VERSION_NUM >= 170000
#include "utils/injection_point.h"
#define compat_injection_point(name) INJECTION_POINT(name)
#else
#define compat_injection_point(name) ((void) 0)
#endif

/*
 * The key's leaf from the root, locked; BT_WRITE finishes splits on the way that are not finished.
 * InvalidBuffer, with BT_READ only: the index is empty.  16 came to need the heap, 17 no snapshot,
 * and 19 returns its parents only where they are asked for.
 */
#include "access/nbtree.h"

static inline Buffer
compat_bt_search(Relation index, Relation heap, BTScanInsert key, int access)
{
	Buffer		buffer;
#if PG_VERSION_NUM >= 190000
	(void) _bt_search(index, heap, key, &buffer, access, false);
#else
#if PG_VERSION_NUM >= 170000
	BTStack		stack = _bt_search(index, heap, key, &buffer, access);
#elif PG_VERSION_NUM >= 160000
	BTStack		stack = _bt_search(index, heap, key, &buffer, access, NULL);
#else
	BTStack		stack = _bt_search(index, key, &buffer, access, NULL);
#endif

	if (stack != NULL)
		_bt_freestack(stack);
#endif
	return buffer;
}

/* Merges equal keys of a locked leaf; 16 needs the heap no more. */
#if PG_VERSION_NUM >= 160000
#define compat_bt_dedup_pass(index, heap, leaf, item, size, versions) \
	_bt_dedup_pass((index), (leaf), (item), (size), (versions))
#else
#define compat_bt_dedup_pass(index, heap, leaf, item, size, versions) \
	_bt_dedup_pass((index), (leaf), (heap), (item), (size), (versions))
#endif

#if PG_VERSION_NUM >= 170000
#define compat_gin_find_leaf(btree) ginFindLeafPage((btree), false, false)
#else
#define compat_gin_find_leaf(btree) ginFindLeafPage((btree), false, false, NULL)
#endif

/* 17 needs no snapshot to read BRIN indexes. */
#include "access/brin_revmap.h"

#if PG_VERSION_NUM >= 170000
#define compat_brin_revmap(index, blocks) brinRevmapInitialize((index), (blocks))
#define compat_brin_tuple(revmap, block, buffer, offset, size) \
	brinGetTupleForHeapBlock((revmap), (block), (buffer), (offset), (size), BUFFER_LOCK_SHARE)
#else
#define compat_brin_revmap(index, blocks) brinRevmapInitialize((index), (blocks), NULL)
#define compat_brin_tuple(revmap, block, buffer, offset, size) \
	brinGetTupleForHeapBlock((revmap), (block), (buffer), (offset), (size), BUFFER_LOCK_SHARE, \
							 NULL)
#endif

/* 16 came to sort the entries of a build, which is not asked for. */
#if PG_VERSION_NUM >= 160000
#define compat_hash_doinsert(index, tuple, heap) _hash_doinsert((index), (tuple), (heap), false)
#else
#define compat_hash_doinsert(index, tuple, heap) _hash_doinsert((index), (tuple), (heap))
#endif

/*
 * A column of a description has changed: 18 came to have a compact copy of what it is.  And
 * tuples with room before them.
 */
#if PG_VERSION_NUM >= 180000
#define compat_attribute_changed(desc, i) populate_compact_attribute((desc), (i))
#define compat_form_minimal_tuple(desc, values, isnull) \
	heap_form_minimal_tuple((desc), (values), (isnull), 0)
#else
#define compat_attribute_changed(desc, i) (TupleDescAttr((desc), (i))->attcacheoff = -1)
#define compat_form_minimal_tuple(desc, values, isnull) \
	heap_form_minimal_tuple((desc), (values), (isnull))
#endif

#if PG_VERSION_NUM >= 180000
#define COMPAT_BT_MAX_ITEM_SIZE(page) BTMaxItemSize
#define compat_index_sort_support(index, reverse, ssup) \
	PrepareSortSupportFromIndexRel((index), (reverse), (ssup))
#else
#define COMPAT_BT_MAX_ITEM_SIZE(page) BTMaxItemSize(page)
#define compat_index_sort_support(index, reverse, ssup) \
	PrepareSortSupportFromIndexRel((index), (reverse) ? BTGreaterStrategyNumber : \
								   BTLessStrategyNumber, (ssup))
#endif

#if PG_VERSION_NUM >= 190000
#define compat_table_index_fetch_begin(rel) table_index_fetch_begin((rel), SO_NONE)
#define compat_table_beginscan_tidrange(rel, snapshot, begin, end) \
	table_beginscan_tidrange((rel), (snapshot), (begin), (end), SO_NONE)
#else
#define compat_table_index_fetch_begin(rel) table_index_fetch_begin(rel)
#define compat_table_beginscan_tidrange(rel, snapshot, begin, end) \
	table_beginscan_tidrange((rel), (snapshot), (begin), (end))
#endif

#if PG_VERSION_NUM >= 160000
#define compat_vacuum_info_heap(info, heap) ((info)->heaprel = (heap))
#else
#define compat_vacuum_info_heap(info, heap) ((void) (heap))
#endif

/* 17: state kept between insertions into an index. */
#if PG_VERSION_NUM >= 170000
#define compat_index_insert_cleanup(index, info) index_insert_cleanup((index), (info))
#else
#define compat_index_insert_cleanup(index, info) ((void) 0)
#endif

#if PG_VERSION_NUM < 160000
#define PGIOAlignedBlock PGAlignedBlock
#endif

#if PG_VERSION_NUM >= 190000
#define PageSetChecksumInplace PageSetChecksum
#endif

/* The number of all-frozen pages of a table: from 18 on. */
#if PG_VERSION_NUM >= 180000
#define COMPAT_FROZEN_PAGES(rel) ((rel)->rd_rel->relallfrozen)
#else
#define COMPAT_FROZEN_PAGES(rel) 0
#endif

/* Sets a relation's size and number of rows for the planner. */
static inline void
compat_update_relstats(Relation rel, BlockNumber pages, double rows,
					   BlockNumber visible, BlockNumber frozen, bool has_index)
{
	vac_update_relstats(rel, pages, rows, visible,
#if PG_VERSION_NUM >= 180000
						frozen,
#endif
						has_index, InvalidTransactionId, InvalidMultiXactId,
						NULL, NULL, true);
}

/* Temporary files. */
#if PG_VERSION_NUM >= 160000
#define compat_buffile_write(file, data, size) BufFileWrite((file), (data), (size))
#define compat_buffile_read(file, data, size) BufFileReadExact((file), (data), (size))
#else
#define compat_buffile_write(file, data, size) \
	BufFileWrite((file), unconstify(void *, (const void *) (data)), (size))
static inline void
compat_buffile_read(BufFile *file, void *data, size_t size)
{
	if (BufFileRead(file, data, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
}
#endif

/* ExecuteTruncateGuts of tables that are locked and open, without others, as the current user. */
#if PG_VERSION_NUM >= 160000
#define compat_truncate(rels, relids, logged) \
	ExecuteTruncateGuts((rels), (relids), (logged), DROP_RESTRICT, false, false)
#else
#define compat_truncate(rels, relids, logged) \
	ExecuteTruncateGuts((rels), (relids), (logged), DROP_RESTRICT, false)
#endif

/* False at the end of the file. */
static inline bool
compat_buffile_read_more(BufFile *file, void *data, size_t size)
{
#if PG_VERSION_NUM >= 160000
	return BufFileReadMaybeEOF(file, data, size, true) > 0;
#else
	size_t		n = BufFileRead(file, data, size);

	if (n != 0 && n != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
	return n > 0;
#endif
}

/*
 * Whether the server transforms strings so that their bytes come in the order of a collation, and
 * its function: strxfrm.  15 has none, but for the database's own locale that of the library does.
 * In 16 and 17 pg_strxfrm does not support libc's, and crashes on the database's own one.
 *
 * Declared here because utils/pg_locale.h requires ICU's headers if the server
 * was built with ICU.
 */
struct pg_locale_struct;
extern struct pg_locale_struct *pg_newlocale_from_collation(Oid collid);

#if PG_VERSION_NUM >= 160000
extern size_t pg_strxfrm(char *dest, const char *src, size_t destsize,
						 struct pg_locale_struct *locale);
#endif

#if PG_VERSION_NUM >= 180000
#define compat_can_transform(locale) true
#define compat_transform(to, from, room, locale) \
	pg_strxfrm((to), (from), (room), (locale))
#elif PG_VERSION_NUM >= 160000
extern bool pg_strxfrm_enabled(struct pg_locale_struct *locale);

#define compat_can_transform(locale) ((locale) == NULL || pg_strxfrm_enabled(locale))
#define compat_transform(to, from, room, locale) \
	((locale) == NULL ? strxfrm((to), (from), (room)) : pg_strxfrm((to), (from), (room), (locale)))
#else
#define compat_can_transform(locale) ((locale) == NULL)
#define compat_transform(to, from, room, locale) strxfrm((to), (from), (room))
#endif

#endif							/* PGBULK_COMPAT_H */
