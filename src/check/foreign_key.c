/*
 * foreign_key.c
 *		See foreign_key.h.
 *
 * The query, the role that runs it and its snapshot are those of RI_FKey_check
 * and ri_PerformCheck (ri_triggers.c, PostgreSQL 18).
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger.h"
#include "check/foreign_key.h"
#include "check/key_columns.h"
#include "check/probe.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/subtransaction.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* Of the memory for good keys, one of so many parts is for those that are looked up together. */
#define TOGETHER_PART 4

struct KeyValues
{
	Size		memory;			/* for those that are looked up together */
	KeySet	   *good;
	uint32		nasked;			/* keys in it that were asked for, and are not found yet */
	bool		doubtful;		/* rows whose keys were asked for may be bad */
	bool		given_up;		/* no more are asked for */
	bool		opened;			/* by one of the constraints: the probe is what it will be */
	Probe	   *probe;			/* NULL: use the query only */
	bool		queried;		/* the query has run, so privileges suffice */
};

struct ForeignKey
{
	MemoryContext context;
	Relation	rel;
	const Trigger *trigger;
	Relation	referenced;
	AttrNumber	referenced_atts[INDEX_MAX_KEYS];
	Oid			operators[INDEX_MAX_KEYS];	/* referenced column = column */
	SPIPlanPtr	plan;
	MemoryContextCallback free_plan;
	KeyValues  *known;
	char	   *message;		/* NULL: not needed so far */

	KeyColumns	columns;		/* with the key of the current row */
	char		nulls[INDEX_MAX_KEYS];	/* of it, in SPI's format: no NULLs */
};

/* ---- selecting triggers ---- */

bool
foreign_key_is_check(const Trigger *trigger)
{
	return trigger->tgfoid == F_RI_FKEY_CHECK_INS;
}

bool
foreign_key_fires(const Trigger *trigger)
{
	switch (trigger->tgenabled)
	{
		case TRIGGER_FIRES_ALWAYS:
			return true;
		case TRIGGER_FIRES_ON_ORIGIN:
			return SessionReplicationRole != SESSION_REPLICATION_ROLE_REPLICA;
		case TRIGGER_FIRES_ON_REPLICA:
			return SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA;
		default:
			return false;
	}
}

void
foreign_key_disable_triggers(TriggerDesc *triggers)
{
	for (int i = 0; i < triggers->numtriggers; i++)
		if (foreign_key_is_check(&triggers->triggers[i]))
			triggers->triggers[i].tgenabled = TRIGGER_DISABLED;
}

RefusalReason
foreign_key_refusal(const Trigger *trigger)
{
	HeapTuple	tuple;
	RefusalReason refusal = REFUSAL_NONE;

	/* when such a key is checked depends on SET CONSTRAINTS, whose state cannot be queried */
	if (trigger->tgdeferrable)
		return REFUSAL_DEFERRABLE_KEYS;
	tuple = key_columns_constraint(trigger);
	if (COMPAT_HAS_PERIOD((Form_pg_constraint) GETSTRUCT(tuple)))
		refusal = REFUSAL_PERIOD_KEYS;
	ReleaseSysCache(tuple);
	return refusal;
}

Oid
foreign_key_root(const Trigger *trigger)
{
	Oid			root = trigger->tgconstraint;

	for (;;)
	{
		HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(root));
		Oid			parent;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for constraint %u", root);
		parent = ((Form_pg_constraint) GETSTRUCT(tuple))->conparentid;
		ReleaseSysCache(tuple);
		if (!OidIsValid(parent))
			return root;
		root = parent;
	}
}

/* ---- the query ---- */

/* A name in quotes, which quote_identifier has only where they are needed. */
static void
append_name(StringInfo query, const char *name)
{
	appendStringInfoChar(query, '"');
	for (; *name != '\0'; name++)
	{
		if (*name == '"')
			appendStringInfoChar(query, '"');
		appendStringInfoChar(query, *name);
	}
	appendStringInfoChar(query, '"');
}

static Oid
column_type(Relation rel, AttrNumber attnum)
{
	return TupleDescAttr(RelationGetDescr(rel), attnum - 1)->atttypid;
}

/* Switches to the owner of the referenced table, with row security off. */
static void
become_owner(const ForeignKey *key, Oid *userid, int *context)
{
	GetUserIdAndSecContext(userid, context);
	SetUserIdAndSecContext(key->referenced->rd_rel->relowner,
						   *context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_NOFORCE_RLS);
}

static bool
is_referenced_partitioned(const ForeignKey *key)
{
	return key->referenced->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
}

static void
free_plan(void *arg)
{
	ForeignKey *key = arg;

	if (key->plan != NULL)
		SPI_freeplan(key->plan);
	key->plan = NULL;
}

/*
 * Keeps the plan beyond SPI's procedure, and no longer than the key: after an
 * error nobody closes that.
 */
static void
keep_plan(ForeignKey *key)
{
	key->free_plan.func = free_plan;
	key->free_plan.arg = key;
	MemoryContextRegisterResetCallback(key->context, &key->free_plan);
	SPI_keepplan(key->plan);
}

/* As RI_FKey_check of ri_triggers.c (PostgreSQL 18) has it, since errors show it. */
static void
prepare_query(ForeignKey *key)
{
	MemoryContext caller = CurrentMemoryContext;
	Relation	referenced = key->referenced;
	Oid			types[INDEX_MAX_KEYS];
	StringInfoData query;
	Oid			userid;
	int			context;

	initStringInfo(&query);
	appendStringInfoString(&query, is_referenced_partitioned(key) ? "SELECT 1 FROM " :
						   "SELECT 1 FROM ONLY ");
	append_name(&query, get_namespace_name(referenced->rd_rel->relnamespace));
	appendStringInfoChar(&query, '.');
	append_name(&query, RelationGetRelationName(referenced));
	appendStringInfoString(&query, " x");
	for (int i = 0; i < key->columns.natts; i++)
	{
		StringInfoData column;
		char		parameter[16];

		types[i] = column_type(key->rel, key->columns.atts[i]);
		initStringInfo(&column);
		append_name(&column, NameStr(TupleDescAttr(RelationGetDescr(referenced),
												   key->referenced_atts[i] - 1)->attname));
		snprintf(parameter, sizeof(parameter), "$%d", i + 1);
		appendStringInfoString(&query, i == 0 ? " WHERE " : " AND ");
		generate_operator_clause(&query, column.data,
								 column_type(referenced, key->referenced_atts[i]),
								 key->operators[i], parameter, types[i]);
	}
	appendStringInfoString(&query, " FOR KEY SHARE OF x");

	become_owner(key, &userid, &context);
	key->plan = SPI_prepare(query.data, key->columns.natts, types);
	if (key->plan == NULL)
		elog(ERROR, "SPI_prepare returned %s for %s",
			 SPI_result_code_string(SPI_result), query.data);
	SetUserIdAndSecContext(userid, context);
	keep_plan(key);
	MemoryContextSwitchTo(caller);
	pfree(query.data);
}

/* Whether a row with the current values exists; locks it. */
static bool
find_referenced(ForeignKey *key)
{
	Snapshot	snapshot = InvalidSnapshot;
	Snapshot	crosscheck = InvalidSnapshot;
	MemoryContext caller = CurrentMemoryContext;
	Oid			userid;
	int			context;
	int			rc;
	bool		found;

	/* partitions being detached are only recognized with a new snapshot */
	if (IsolationUsesXactSnapshot() && is_referenced_partitioned(key))
	{
		CommandCounterIncrement();
		snapshot = GetLatestSnapshot();
		crosscheck = GetTransactionSnapshot();
	}

	become_owner(key, &userid, &context);
	rc = SPI_execute_snapshot(key->plan, key->columns.values, key->nulls, snapshot,
							  crosscheck, false, false, 1);
	SetUserIdAndSecContext(userid, context);
	if (rc != SPI_OK_SELECT)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("referential integrity query on \"%s\" from constraint \"%s\" on \"%s\" gave unexpected result",
						RelationGetRelationName(key->referenced),
						key->trigger->tgname, RelationGetRelationName(key->rel)),
				 errhint("This is most likely due to a rule having rewritten the query.")));
	found = SPI_processed > 0;
	SPI_freetuptable(SPI_tuptable);
	MemoryContextSwitchTo(caller);	/* SPI has switched to its own context */
	key->known->queried = true;
	return found;
}

/* ---- open and close ---- */

KeyValues *
key_values_create(Size memory)
{
	KeyValues  *values = palloc0(sizeof(KeyValues));

	values->memory = memory / TOGETHER_PART;
	values->good = key_set_create(memory - values->memory);
	return values;
}

void
key_values_clear(KeyValues *values)
{
	key_set_clear(values->good);
}

/* All constraints with the same root compare the same types in the same way. */
static void
open_probe(ForeignKey *key, Oid index)
{
	Oid			types[INDEX_MAX_KEYS];

	for (int i = 0; i < key->columns.natts; i++)
		types[i] = column_type(key->rel, key->columns.atts[i]);
	key->known->opened = true;
	key->known->probe = probe_open(key->referenced, index, key->columns.natts,
								   key->referenced_atts, key->operators, types,
								   key->known->memory);
}

ForeignKey *
foreign_key_open(Relation rel, const Trigger *trigger, KeyValues *values)
{
	ForeignKey *key = palloc0(sizeof(ForeignKey));
	HeapTuple	tuple = key_columns_constraint(trigger);
	Form_pg_constraint constraint = (Form_pg_constraint) GETSTRUCT(tuple);

	key->context = CurrentMemoryContext;
	key->rel = rel;
	key->trigger = trigger;
	key->referenced = table_open(constraint->confrelid, RowShareLock);
	key_columns_open(&key->columns, rel, tuple, key->referenced_atts, key->operators);
	key->known = values;
	if (!values->opened)
		open_probe(key, constraint->conindid);
	ReleaseSysCache(tuple);

	memset(key->nulls, ' ', sizeof(key->nulls));
	prepare_query(key);
	return key;
}

void
foreign_key_close(ForeignKey *key)
{
	free_plan(key);
	if (key->known->probe != NULL)
		probe_close(key->known->probe);
	key->known->probe = NULL;
	table_close(key->referenced, NoLock);
}

Oid
foreign_key_referenced(const ForeignKey *key)
{
	return RelationGetRelid(key->referenced);
}

/* ---- rows ---- */

/*
 * Which keys of rows are known to be good, asked: or asked for, or are about to be as those of
 * the row before.
 */
static void
find_known(ForeignKey *key, HeapTuple tuples, int n, bool asked, bool *known)
{
	bool		repeated[MaxHeapTuplesPerPage];
	bool		found[MaxHeapTuplesPerPage];
	int			nitems = key_columns_take_rows(&key->columns, tuples, n, repeated);
	int			item = 0;

	key_set_has_many(key->known->good, key->columns.items, nitems, asked, found);
	for (int i = 0; i < n; i++)
	{
		if (repeated[i])
			known[i] = asked || known[i - 1];
		else
			known[i] = found[item++];
	}
}

void
foreign_key_find_known(ForeignKey *key, HeapTuple tuples, int n, bool *good)
{
	find_known(key, tuples, n, false, good);
}

/* Whether the current key is known, asked: or asked for. */
static inline bool
is_known(const ForeignKey *key, bool asked, uint32 *hash)
{
	return key_set_has(key->known->good, key->columns.bytes.data, key->columns.bytes.len,
					   asked, hash);
}

/* The current key, which was not known, is good. */
static inline void
add_known(ForeignKey *key, uint32 hash)
{
	if (key->columns.bytes.len > 0)
		key_set_add(key->known->good, key->columns.bytes.data, key->columns.bytes.len, hash);
}

/* Lookups without a query, as the owner of the referenced table. */
typedef struct Probing
{
	bool		begun;
	Oid			userid;
	int			context;
} Probing;

/*
 * Whether they are possible.  The query must have run once before: it raises the error if the owner
 * of the referenced table may not read it.
 */
static inline bool
can_probe(const ForeignKey *key)
{
	return key->known->probe != NULL && key->known->queried;
}

/* Looks up the current key, unless it has become known. */
static bool
probe_key(ForeignKey *key, Probing *probing)
{
	uint32		hash;

	if (is_known(key, false, &hash))
		return true;
	if (!probing->begun)
	{
		become_owner(key, &probing->userid, &probing->context);
		probe_begin(key->known->probe);
		probing->begun = true;
	}
	if (!probe_lock(key->known->probe, key->columns.values))
		return false;
	add_known(key, hash);
	return true;
}

static void
end_probing(ForeignKey *key, const Probing *probing)
{
	if (!probing->begun)
		return;
	probe_end(key->known->probe);
	SetUserIdAndSecContext(probing->userid, probing->context);
}

void
foreign_key_probe(ForeignKey *key, HeapTuple tuples, int n, bool *good)
{
	Probing		probing = {0};

	if (!can_probe(key))
		return;
	for (int i = 0; i < n; i++)
		if (!good[i] && key_columns_take(&key->columns, &tuples[i]) == 0)
			good[i] = probe_key(key, &probing);
	end_probing(key, &probing);
}

/* Whether the row that the current key refers to exists; locks it. */
static bool
holds_key(ForeignKey *key)
{
	uint32		hash;

	if (is_known(key, false, &hash))
		return true;
	if (!find_referenced(key))
		return false;
	/* what is asked for must not be forgotten */
	Assert(key->known->nasked == 0);
	add_known(key, hash);
	return true;
}

bool
foreign_key_holds(ForeignKey *key, HeapTuple tuple)
{
	int			nnulls = key_columns_take(&key->columns, tuple);

	return nnulls > 0 ? key_columns_are_good(&key->columns, nnulls) : holds_key(key);
}

/* ---- many rows together ---- */

/* Asks for the current key, unless it is known; false: there is no room. */
static bool
ask_key(ForeignKey *key)
{
	KeyValues  *known = key->known;
	const StringInfoData *bytes = &key->columns.bytes;
	uint32		hash;
	uint32		number;

	if (is_known(key, true, &hash))
		return true;
	/* no bytes stand for nulls; the first query tells whether the owner may read */
	if (bytes->len == 0 || !known->queried)
	{
		known->doubtful |= bytes->len == 0 || !holds_key(key);
		return true;
	}
	if (!key_set_ask(known->good, bytes->data, bytes->len, hash, &number))
		return false;
	probe_keep(known->probe, key->columns.values, number);
	known->nasked++;
	return true;
}

/* Asks for a row's key. */
static bool
ask_row(ForeignKey *key, HeapTuple tuple)
{
	int			nnulls = key_columns_take(&key->columns, tuple);

	if (nnulls == 0)
		return ask_key(key);
	key->known->doubtful |= !key_columns_are_good(&key->columns, nnulls);
	return true;
}

/* The same for n rows of one page. */
static bool
ask_rows(ForeignKey *key, HeapTuple tuples, int n, bool *scratch)
{
	Oid			userid;
	int			context;
	bool		has_room = true;

	find_known(key, tuples, n, true, scratch);
	become_owner(key, &userid, &context);
	for (int i = 0; i < n && has_room; i++)
		has_room = scratch[i] || ask_row(key, &tuples[i]);
	SetUserIdAndSecContext(userid, context);
	return has_room;
}

static void
give_up(KeyValues *known)
{
	known->doubtful = known->given_up = true;
}

/* Whether keys can be looked up together. */
static inline bool
can_keep(const KeyValues *known)
{
	return known->probe != NULL && probe_keeps(known->probe);
}

/* The set of good keys is full: empties it, if that is of use. */
static bool
make_room(ForeignKey *key, bool certain)
{
	if (!foreign_key_settle(key) || !certain)
	{
		give_up(key->known);
		return false;
	}
	key_set_clear(key->known->good);
	return true;
}

bool
foreign_key_ask(ForeignKey *key, HeapTuple tuples, int n, bool certain, bool *scratch)
{
	KeyValues  *known = key->known;

	if (!can_keep(known))
		give_up(known);
	if (known->given_up)
		return false;
	if (ask_rows(key, tuples, n, scratch))
	{
		if (probe_is_full(known->probe))
			foreign_key_settle(key);
	}
	else if (make_room(key, certain))
		known->doubtful |= !ask_rows(key, tuples, n, scratch);
	return !known->doubtful;
}

/* Asks for keys that are not known; returns how many were done until there was no room. */
static int
ask_items(ForeignKey *key, const KeySetItem *items, int n, const bool *known)
{
	Oid			userid;
	int			context;
	int			done = 0;

	become_owner(key, &userid, &context);
	for (; done < n; done++)
	{
		if (known[done])
			continue;
		key_columns_take_bytes(&key->columns, items[done].key, items[done].len);
		if (!ask_key(key))
			break;
	}
	SetUserIdAndSecContext(userid, context);
	return done;
}

/* Looks up by the query the keys of [first, end) that are not good; whether all are. */
static bool
query_items(ForeignKey *key, const KeySetItem *items, int first, int end, const bool *good)
{
	for (int i = first; i < end; i++)
	{
		if (good[i])
			continue;
		key_columns_take_bytes(&key->columns, items[i].key, items[i].len);
		if (!holds_key(key))
			return false;
	}
	return true;
}

/* Looks keys up one by one; whether all are good. */
static bool
hold_items(ForeignKey *key, const KeySetItem *items, int n, bool *good)
{
	Probing		probing = {0};

	/* the first query of all tells whether the owner may read */
	if (!key->known->queried && !query_items(key, items, 0, 1, good))
		return false;
	for (int i = 0; i < n && can_probe(key); i++)
	{
		if (good[i])
			continue;
		key_columns_take_bytes(&key->columns, items[i].key, items[i].len);
		good[i] = probe_key(key, &probing);
	}
	end_probing(key, &probing);
	return query_items(key, items, 0, n, good);
}

bool
foreign_key_ask_items(ForeignKey *key, KeySetItem *items, int n, bool certain)
{
	KeyValues  *known = key->known;
	bool		found[MaxHeapTuplesPerPage];
	int			done;

	Assert(n <= MaxHeapTuplesPerPage);
	if (known->given_up)
		return false;
	key_set_has_many(known->good, items, n, true, found);
	if (!can_keep(known))
	{
		known->doubtful |= !certain || !hold_items(key, items, n, found);
		return !known->doubtful;
	}
	done = ask_items(key, items, n, found);
	if (done < n && make_room(key, certain))
	{
		memset(found, 0, sizeof(found));
		known->doubtful |= ask_items(key, items + done, n - done, found) < n - done;
	}
	else if (done == n && probe_is_full(known->probe))
		foreign_key_settle(key);
	return !known->doubtful;
}

static void
take_found(void *arg, uint32 number)
{
	KeyValues  *known = arg;

	known->nasked -= key_set_found(known->good, number);
}

bool
foreign_key_settle(ForeignKey *key)
{
	KeyValues  *known = key->known;
	Oid			userid;
	int			context;

	if (known->nasked > 0)
	{
		become_owner(key, &userid, &context);
		probe_kept(known->probe, take_found, known);
		SetUserIdAndSecContext(userid, context);
	}
	known->doubtful |= known->nasked > 0;
	known->nasked = 0;
	return !known->doubtful;
}

/* ---- bad rows ---- */

/* Fetches the row into the slot, pinned. */
static void
fetch_row(const ForeignKey *key, ItemPointer tid, TupleTableSlot *slot)
{
	if (!table_tuple_fetch_row_version(key->rel, tid, SnapshotSelf, slot))
		elog(ERROR, "row (%u,%u) of \"%s\" is not there any more",
			 ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid),
			 RelationGetRelationName(key->rel));
}

/* Runs the server's trigger on the row in the slot. */
static void
call_trigger(const ForeignKey *key, TupleTableSlot *slot)
{
	LOCAL_FCINFO(fcinfo, 0);
	FmgrInfo	function;
	TriggerData data = {
		.type = T_TriggerData,
		.tg_event = TRIGGER_EVENT_INSERT | TRIGGER_EVENT_ROW,
		.tg_relation = key->rel,
		.tg_trigslot = slot,
		.tg_trigger = unconstify(Trigger *, key->trigger)
	};

	data.tg_trigtuple = ExecFetchSlotHeapTuple(slot, false, NULL);
	fmgr_info(key->trigger->tgfoid, &function);
	InitFunctionCallInfoData(*fcinfo, &function, 0, InvalidOid, (Node *) &data, NULL);
	FunctionCallInvoke(fcinfo);
}

void
foreign_key_raise(ForeignKey *key, ItemPointer tid, TupleTableSlot *slot)
{
	fetch_row(key, tid, slot);
	call_trigger(key, slot);
	ExecClearTuple(slot);
}

typedef struct TriggerCall
{
	const ForeignKey *key;
	TupleTableSlot *slot;		/* the row */
} TriggerCall;

/* Runs the trigger through `ask` in a subtransaction; returns the error it raised, or NULL. */
static ErrorData *
catch_error(bool (*ask) (void *arg), TriggerCall *call)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		(void) subtransaction_run(ask, call);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	return error;
}

/* Keeps the trigger's error message; false if it raised none. */
static bool
keep_message(ForeignKey *key, ErrorData *error, bool raise)
{
	if (error == NULL)
		return false;
	if (raise || error->sqlerrcode != ERRCODE_FOREIGN_KEY_VIOLATION)
		ReThrowError(error);
	key->message = MemoryContextStrdup(key->context, error->message);
	FreeErrorData(error);
	return true;
}

/* Locks taken by the trigger are kept. */
static bool
call_and_stay(void *arg)
{
	const TriggerCall *call = arg;

	call_trigger(call->key, call->slot);
	return true;
}

bool
foreign_key_note(ForeignKey *key, ItemPointer tid, TupleTableSlot *slot)
{
	TriggerCall call = {.key = key,.slot = slot};
	ErrorData  *error;

	if (key->message != NULL)
		return true;
	fetch_row(key, tid, slot);
	error = catch_error(call_and_stay, &call);
	ExecClearTuple(slot);
	return keep_message(key, error, false);
}

/* Stores the row and runs the trigger on it. */
static bool
store_and_call(void *arg)
{
	const TriggerCall *call = arg;
	Relation	rel = call->key->rel;
	/*
	 * after an error the subtransaction releases the slot's pin, so the slot
	 * must not outlive it
	 */
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	/* not through the dry run's writer, which has its own pages */
	table_tuple_insert(rel, call->slot, GetCurrentCommandId(true),
					   TABLE_INSERT_SKIP_FSM, NULL);
	CommandCounterIncrement();
	fetch_row(call->key, &call->slot->tts_tid, slot);
	call_trigger(call->key, slot);
	ExecDropSingleTupleTableSlot(slot);
	return false;
}

bool
foreign_key_test(ForeignKey *key, TupleTableSlot *row, bool raise)
{
	TriggerCall call = {.key = key,.slot = row};

	if (key->message != NULL && !raise)
		return true;
	return keep_message(key, catch_error(store_and_call, &call), raise);
}

const char *
foreign_key_message(const ForeignKey *key)
{
	return key->message;
}

const char *
foreign_key_column(const ForeignKey *key)
{
	if (key->columns.natts != 1)
		return NULL;
	return NameStr(TupleDescAttr(RelationGetDescr(key->rel),
								 key->columns.atts[0] - 1)->attname);
}

/*
 * Whether the current user may read the key's single column, as the trigger
 * requires before it shows values: the column may have been filled by a
 * default, a trigger or a function.
 */
static bool
is_readable(const ForeignKey *key)
{
	Oid			relid = RelationGetRelid(key->rel);

	return check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED &&
		(pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		 pg_attribute_aclcheck(relid, key->columns.atts[0], GetUserId(),
							   ACL_SELECT) == ACLCHECK_OK);
}

char *
foreign_key_value(const ForeignKey *key, HeapTuple tuple)
{
	AttrNumber	attnum = key->columns.atts[0];
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(key->rel), attnum - 1);
	Oid			function;
	bool		is_varlena;
	bool		isnull;
	Datum		value;

	if (key->columns.natts != 1 || !is_readable(key))
		return NULL;
	value = heap_getattr(tuple, attnum, RelationGetDescr(key->rel), &isnull);
	if (isnull)
		return NULL;
	getTypeOutputInfo(att->atttypid, &function, &is_varlena);
	return OidOutputFunctionCall(function, value);
}
