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
#include "check/key_bytes.h"
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
	bool		match_full;
	int			natts;
	bool		fixed;			/* values of each column have the same length */
	AttrNumber	atts[INDEX_MAX_KEYS];	/* of the referencing table */
	AttrNumber	referenced_atts[INDEX_MAX_KEYS];
	Oid			operators[INDEX_MAX_KEYS];	/* referenced column = column */
	SPIPlanPtr	plan;
	KeyValues  *known;
	char	   *message;		/* NULL: not needed so far */

	/* key of the current row */
	Datum		values[INDEX_MAX_KEYS];
	char		nulls[INDEX_MAX_KEYS];	/* in SPI's format: no NULLs */
	StringInfoData bytes;		/* of a key, or of all keys of a page */
	KeySetItem	items[MaxHeapTuplesPerPage];
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

static HeapTuple
fetch_constraint(const Trigger *trigger)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID,
										ObjectIdGetDatum(trigger->tgconstraint));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", trigger->tgconstraint);
	return tuple;
}

RefusalReason
foreign_key_refusal(const Trigger *trigger)
{
	HeapTuple	tuple;
	RefusalReason refusal = REFUSAL_NONE;

	/* when such a key is checked depends on SET CONSTRAINTS, whose state cannot be queried */
	if (trigger->tgdeferrable)
		return REFUSAL_DEFERRABLE_KEYS;
	tuple = fetch_constraint(trigger);
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
	for (int i = 0; i < key->natts; i++)
	{
		StringInfoData column;
		char		parameter[16];

		types[i] = column_type(key->rel, key->atts[i]);
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
	key->plan = SPI_prepare(query.data, key->natts, types);
	if (key->plan == NULL)
		elog(ERROR, "SPI_prepare returned %s for %s",
			 SPI_result_code_string(SPI_result), query.data);
	SetUserIdAndSecContext(userid, context);
	SPI_keepplan(key->plan);
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
	rc = SPI_execute_snapshot(key->plan, key->values, key->nulls, snapshot,
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

	for (int i = 0; i < key->natts; i++)
		types[i] = column_type(key->rel, key->atts[i]);
	key->known->opened = true;
	key->known->probe = probe_open(key->referenced, index, key->natts,
								   key->referenced_atts, key->operators, types,
								   key->known->memory);
}

ForeignKey *
foreign_key_open(Relation rel, const Trigger *trigger, KeyValues *values)
{
	ForeignKey *key = palloc0(sizeof(ForeignKey));
	HeapTuple	tuple = fetch_constraint(trigger);
	Form_pg_constraint constraint = (Form_pg_constraint) GETSTRUCT(tuple);

	key->context = CurrentMemoryContext;
	key->rel = rel;
	key->trigger = trigger;
	key->match_full = constraint->confmatchtype == FKCONSTR_MATCH_FULL;
	key->referenced = table_open(constraint->confrelid, RowShareLock);
	DeconstructFkConstraintRow(tuple, &key->natts, key->atts,
							   key->referenced_atts, key->operators, NULL, NULL,
							   NULL, NULL);
	key->fixed = true;
	for (int i = 0; i < key->natts; i++)
		key->fixed &= TupleDescAttr(RelationGetDescr(rel), key->atts[i] - 1)->attlen > 0;
	key->known = values;
	if (!values->opened)
		open_probe(key, constraint->conindid);
	ReleaseSysCache(tuple);

	memset(key->nulls, ' ', sizeof(key->nulls));
	initStringInfo(&key->bytes);
	prepare_query(key);
	return key;
}

void
foreign_key_close(ForeignKey *key)
{
	SPI_freeplan(key->plan);
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
 * Appends the bytes of the current key; with several columns, each value is
 * preceded by its length, unless that is known.
 */
static inline void
add_key_bytes(ForeignKey *key)
{
	TupleDesc	desc = RelationGetDescr(key->rel);

	for (int i = 0; i < key->natts; i++)
	{
		Size		len;
		const char *bytes = key_value_bytes(TupleDescAttr(desc, key->atts[i] - 1),
											&key->values[i], &len);
		uint32		own = len;

		if (key->natts > 1 && !key->fixed)
			appendBinaryStringInfo(&key->bytes, (char *) &own, sizeof(own));
		appendBinaryStringInfo(&key->bytes, bytes, len);
	}
}

/* Extracts the row's key; returns how many of its values are NULL. */
static inline int
take_key(ForeignKey *key, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(key->rel);
	int			nnulls = 0;

	for (int i = 0; i < key->natts; i++)
	{
		bool		isnull;

		key->values[i] = heap_getattr(tuple, key->atts[i], desc, &isnull);
		nnulls += isnull;
	}
	return nnulls;
}

/* Whether a row with this many NULLs passes without a lookup. */
static inline bool
are_nulls_good(const ForeignKey *key, int nnulls)
{
	return !key->match_full || nnulls == key->natts;
}

/*
 * Takes the keys of rows as items, one for rows with the same key that follow each other, as those
 * of an order do; returns how many.  An empty byte string marks a key that must be looked up by
 * itself.
 */
static int
take_items(ForeignKey *key, HeapTuple tuples, int n, bool *repeated)
{
	int			nitems = 0;
	Size		before = 0;		/* where the bytes of the item before start */
	Size		start = 0;

	resetStringInfo(&key->bytes);
	for (int i = 0; i < n; i++)
	{
		Size		len;

		if (take_key(key, &tuples[i]) == 0)
			add_key_bytes(key);
		len = key->bytes.len - start;
		repeated[i] = len > 0 && len == start - before &&
			memcmp(key->bytes.data + before, key->bytes.data + start, len) == 0;
		if (repeated[i])
		{
			key->bytes.len = start;
			continue;
		}
		key->items[nitems++].len = len;
		before = start;
		start += len;
	}
	/* the bytes may have moved */
	start = 0;
	for (int i = 0; i < nitems; i++)
	{
		key->items[i].key = key->bytes.data + start;
		start += key->items[i].len;
	}
	return nitems;
}

/*
 * Which keys of rows are known to be good, asked: or asked for, or are about to be as those of
 * the row before.
 */
static void
find_known(ForeignKey *key, HeapTuple tuples, int n, bool asked, bool *known)
{
	bool		repeated[MaxHeapTuplesPerPage];
	bool		found[MaxHeapTuplesPerPage];
	int			nitems = take_items(key, tuples, n, repeated);
	int			item = 0;

	key_set_has_many(key->known->good, key->items, nitems, asked, found);
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

/* Looks up one row, unless its key has become known. */
static bool
probe_row(ForeignKey *key, HeapTuple tuple)
{
	uint32		hash;

	if (take_key(key, tuple) > 0)
		return false;
	resetStringInfo(&key->bytes);
	add_key_bytes(key);
	if (key_set_has(key->known->good, key->bytes.data, key->bytes.len, false, &hash))
		return true;
	if (!probe_lock(key->known->probe, key->values))
		return false;
	if (key->bytes.len > 0)
		key_set_add(key->known->good, key->bytes.data, key->bytes.len, hash);
	return true;
}

/*
 * The query must have run once before: it raises the error if the owner of the
 * referenced table may not read it.
 */
void
foreign_key_probe(ForeignKey *key, HeapTuple tuples, int n, bool *good)
{
	bool		begun = false;
	Oid			userid;
	int			context;

	if (key->known->probe == NULL || !key->known->queried)
		return;
	for (int i = 0; i < n; i++)
	{
		if (good[i])
			continue;
		if (!begun)
		{
			become_owner(key, &userid, &context);
			probe_begin(key->known->probe);
			begun = true;
		}
		good[i] = probe_row(key, &tuples[i]);
	}
	if (begun)
	{
		probe_end(key->known->probe);
		SetUserIdAndSecContext(userid, context);
	}
}

bool
foreign_key_holds(ForeignKey *key, HeapTuple tuple)
{
	int			nnulls = take_key(key, tuple);
	uint32		hash;

	if (nnulls > 0)
		return are_nulls_good(key, nnulls);

	resetStringInfo(&key->bytes);
	add_key_bytes(key);
	if (key_set_has(key->known->good, key->bytes.data, key->bytes.len, false, &hash))
		return true;
	if (!find_referenced(key))
		return false;
	/* what is asked for must not be forgotten */
	Assert(key->known->nasked == 0);
	if (key->bytes.len > 0)
		key_set_add(key->known->good, key->bytes.data, key->bytes.len, hash);
	return true;
}

/* ---- many rows together ---- */

/* Asks for a row's key, unless it is known; false: there is no room. */
static bool
ask_row(ForeignKey *key, HeapTuple tuple)
{
	KeyValues  *known = key->known;
	int			nnulls = take_key(key, tuple);
	uint32		hash;
	uint32		number;

	if (nnulls > 0)
	{
		known->doubtful |= !are_nulls_good(key, nnulls);
		return true;
	}
	resetStringInfo(&key->bytes);
	add_key_bytes(key);
	if (key_set_has(known->good, key->bytes.data, key->bytes.len, true, &hash))
		return true;
	/* no bytes stand for nulls; the first query tells whether the owner may read */
	if (key->bytes.len == 0 || !known->queried)
	{
		known->doubtful |= key->bytes.len == 0 || !foreign_key_holds(key, tuple);
		return true;
	}
	if (!key_set_ask(known->good, key->bytes.data, key->bytes.len, hash, &number))
		return false;
	probe_keep(known->probe, key->values, number);
	known->nasked++;
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

/* The set of good keys is full: begins anew with those of n rows, if that is of use. */
static void
ask_anew(ForeignKey *key, HeapTuple tuples, int n, bool certain, bool *scratch)
{
	KeyValues  *known = key->known;

	if (!foreign_key_settle(key) || !certain)
	{
		give_up(known);
		return;
	}
	key_set_clear(known->good);
	known->doubtful |= !ask_rows(key, tuples, n, scratch);
}

bool
foreign_key_ask(ForeignKey *key, HeapTuple tuples, int n, bool certain, bool *scratch)
{
	KeyValues  *known = key->known;

	if (known->given_up)
		return false;
	if (known->probe == NULL || !probe_keeps(known->probe))
		give_up(known);
	else if (!ask_rows(key, tuples, n, scratch))
		ask_anew(key, tuples, n, certain, scratch);
	else if (probe_is_full(known->probe))
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
	if (key->natts != 1)
		return NULL;
	return NameStr(TupleDescAttr(RelationGetDescr(key->rel), key->atts[0] - 1)->attname);
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
		 pg_attribute_aclcheck(relid, key->atts[0], GetUserId(), ACL_SELECT) == ACLCHECK_OK);
}

char *
foreign_key_value(const ForeignKey *key, HeapTuple tuple)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(key->rel), key->atts[0] - 1);
	Oid			function;
	bool		is_varlena;
	bool		isnull;
	Datum		value;

	if (key->natts != 1 || !is_readable(key))
		return NULL;
	value = heap_getattr(tuple, key->atts[0], RelationGetDescr(key->rel), &isnull);
	if (isnull)
		return NULL;
	getTypeOutputInfo(att->atttypid, &function, &is_varlena);
	return OidOutputFunctionCall(function, value);
}
