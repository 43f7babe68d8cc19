/*
 * probe.c
 *		See probe.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "check/probe.h"
#include "index/candidates.h"
#include "index/lookup.h"
#include "index/presort.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "server/compat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Rows between two checks for interrupts. */
#define ROWS_AT_ONCE 1024

/* Keys that are looked up together. */
typedef struct KeptKeys
{
	MemoryContext context;		/* of all that is here */
	KeyShape   *shape;
	Presort    *presort;		/* NULL: there are none */
	uint32		n;
	Candidates	candidates;		/* entries that were found, with the numbers of keys */

	/* of them those of the latest key with an image of its own, and where the others end */
	uint32		first;
	uint32		last;
	uint32		end;
} KeptKeys;

struct Probe
{
	Relation	referenced;
	Relation	index;
	bool		same_types;		/* values are stored as they are in the index */
	int			natts;
	int			order[INDEX_MAX_KEYS];	/* for each index column, the number of its value */
	ScanKeyData keys[INDEX_MAX_KEYS];	/* in index order */
	TupleTableSlot *slot;

	/* set between begin and end */
	Snapshot	snapshot;
	IndexScanDesc scan;

	Size		memory;			/* for them */
	KeptKeys	kept;
};

/* Sets up the scan key for an index column; false if there is no suitable operator. */
static bool
make_key(Probe *probe, int column, Oid operator, Oid type)
{
	Oid			left;
	Oid			right;
	int			strategy;

	if (!op_in_opfamily(operator, probe->index->rd_opfamily[column]))
		return false;
	get_op_opfamily_properties(operator, probe->index->rd_opfamily[column], false,
							   &strategy, &left, &right);
	if (strategy != BTEqualStrategyNumber ||
		!(getBaseType(type) == right || IsBinaryCoercible(getBaseType(type), right)))
		return false;
	probe->same_types &= right == probe->index->rd_opcintype[column];
	ScanKeyEntryInitialize(&probe->keys[column], 0, column + 1, strategy, right,
						   probe->index->rd_indcollation[column],
						   get_opcode(operator), (Datum) 0);
	return true;
}

static bool
make_keys(Probe *probe, const AttrNumber *atts, const Oid *operators, const Oid *types)
{
	Form_pg_index form = probe->index->rd_index;

	if (probe->index->rd_rel->relam != BTREE_AM_OID ||
		form->indnkeyatts != probe->natts || !form->indisvalid ||
		form->indcheckxmin)
		return false;
	for (int column = 0; column < probe->natts; column++)
	{
		int			i = 0;

		while (i < probe->natts && atts[i] != form->indkey.values[column])
			i++;
		/* the query compares in the column's collation */
		if (i == probe->natts || probe->index->rd_indcollation[column] !=
			TupleDescAttr(RelationGetDescr(probe->referenced), atts[i] - 1)->attcollation ||
			!make_key(probe, column, operators[i], types[i]))
			return false;
		probe->order[column] = i;
	}
	return true;
}

Probe *
probe_open(Relation referenced, Oid index, int natts, const AttrNumber *atts,
		   const Oid *operators, const Oid *types, Size memory)
{
	Probe	   *probe;

	if (referenced->rd_rel->relkind != RELKIND_RELATION || !OidIsValid(index))
		return NULL;
	probe = palloc0(sizeof(Probe));
	probe->referenced = referenced;
	probe->natts = natts;
	probe->index = index_open(index, AccessShareLock);
	/* a tuple of the index has nothing but the key */
	probe->same_types = probe->index->rd_index->indnatts == natts;
	if (!make_keys(probe, atts, operators, types))
	{
		index_close(probe->index, NoLock);
		pfree(probe);
		return NULL;
	}
	probe->memory = memory;
	probe->slot = table_slot_create(referenced, NULL);
	probe->kept.context = AllocSetContextCreate(CurrentMemoryContext, "pgbulk referenced keys",
												ALLOCSET_DEFAULT_SIZES);
	return probe;
}

void
probe_begin(Probe *probe)
{
	probe->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	probe->scan = compat_index_beginscan(probe->referenced, probe->index,
										 probe->snapshot, probe->natts);
}

/*
 * Locks the row in the slot.  Rows that others are changing or have changed are left to the query;
 * where an update lets the lock pass, the version that it makes is locked, too, or it could be
 * deleted.
 */
static inline bool
lock_row(Probe *probe)
{
	TM_FailureData failure;

	return table_tuple_lock(probe->referenced, &probe->slot->tts_tid,
							probe->snapshot, probe->slot, GetCurrentCommandId(true),
							LockTupleKeyShare, LockWaitSkip,
							TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS, &failure) == TM_Ok;
}

bool
probe_lock(Probe *probe, const Datum *values)
{
	for (int column = 0; column < probe->natts; column++)
		probe->keys[column].sk_argument = values[probe->order[column]];
	index_rescan(probe->scan, probe->keys, probe->natts, NULL, 0);
	return index_getnext_slot(probe->scan, ForwardScanDirection, probe->slot) &&
		lock_row(probe);
}

void
probe_end(Probe *probe)
{
	ExecClearTuple(probe->slot);
	index_endscan(probe->scan);
	UnregisterSnapshot(probe->snapshot);
}

/* ---- many keys together ---- */

bool
probe_keeps(const Probe *probe)
{
	return probe->same_types && !IsolationIsSerializable();
}

void
probe_keep(Probe *probe, const Datum *values, uint32 number)
{
	KeptKeys   *kept = &probe->kept;
	MemoryContext old = MemoryContextSwitchTo(kept->context);
	Datum		ordered[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS] = {false};
	ItemPointerData tid;

	if (kept->presort == NULL)
	{
		kept->shape = shape_open(probe->index);
		kept->presort = presort_open(kept->shape, probe->memory,
									 (PresortOptions) {.stays = true});
	}
	for (int column = 0; column < probe->natts; column++)
		ordered[column] = values[probe->order[column]];
	candidates_number_tid(number, &tid);
	presort_put(kept->presort, &tid, ordered, isnull, true);
	kept->n++;
	MemoryContextSwitchTo(old);
}

bool
probe_is_full(const Probe *probe)
{
	const KeptKeys *kept = &probe->kept;

	/* candidates grow by doubling, and are sorted while the keys still are there */
	return kept->presort != NULL && presort_memory(kept->presort) +
		kept->n * 2 * (sizeof(Candidate) + sizeof(SortItem)) >= probe->memory;
}

static void
take_entry(void *arg, RowId row, const ItemPointerData *tid, bool visible)
{
	KeptKeys   *kept = arg;

	candidates_add(&kept->candidates, kept->context, tid, candidates_row_number(row));
}

/* Takes a key; those that are equal to the one before have the same entries. */
static void
take_key(void *arg, RowId row, bool first)
{
	KeptKeys   *kept = arg;
	Candidates *candidates = &kept->candidates;

	if (first)
	{
		kept->first = kept->end;
		kept->last = candidates->n;
	}
	else
		for (uint32 i = kept->first; i < kept->last; i++)
		{
			ItemPointerData tid;

			row_tid(candidates->list[i].standing, &tid);
			candidates_add(candidates, kept->context, &tid, candidates_row_number(row));
		}
	kept->end = candidates->n;
}

/* Finds the entries with the keys. */
static void
find_entries(Probe *probe)
{
	KeptKeys   *kept = &probe->kept;
	LookupSink	sink = {.row = take_key,.entry = take_entry,.arg = kept};
	Lookup	   *lookup = lookup_open(probe->referenced, probe->index, kept->shape, &sink);
	KeySink		keys = lookup_keys(lookup);

	presort_finish(kept->presort, &keys);
	lookup_end(lookup);
}

/* Locks the rows of the entries that the snapshot sees. */
static void
lock_rows(Probe *probe, void (*found) (void *arg, uint32 number), void *arg)
{
	Candidates *candidates = &probe->kept.candidates;
	IndexFetchTableData *fetch = compat_table_index_fetch_begin(probe->referenced);

	candidates_sort(candidates);
	for (uint32 i = 0; i < candidates->n; i++)
	{
		bool		again = false;
		ItemPointerData tid;

		if (i % ROWS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		candidates_read_ahead(candidates, probe->referenced, i);
		row_tid(candidates->list[i].standing, &tid);
		if (table_index_fetch_tuple(fetch, &tid, probe->snapshot, probe->slot, &again, NULL) &&
			lock_row(probe))
			found(arg, candidates->list[i].number);
	}
	ExecClearTuple(probe->slot);
	table_index_fetch_end(fetch);
}

/*
 * An entry's TID may be another row's by the time that it is fetched, but then of one that came
 * after the snapshot, which is taken before the entries are read.
 */
void
probe_kept(Probe *probe, void (*found) (void *arg, uint32 number), void *arg)
{
	KeptKeys   *kept = &probe->kept;
	MemoryContext context = kept->context;
	MemoryContext old;

	if (kept->presort == NULL)
		return;
	old = MemoryContextSwitchTo(context);
	probe->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	find_entries(probe);
	compat_injection_point("pgbulk-referenced-entries-found");
	if (kept->candidates.n > 0)
		lock_rows(probe, found, arg);
	UnregisterSnapshot(probe->snapshot);
	MemoryContextSwitchTo(old);
	presort_close(kept->presort);
	MemoryContextReset(context);
	*kept = (KeptKeys) {.context = context};
}

void
probe_close(Probe *probe)
{
	MemoryContextDelete(probe->kept.context);
	ExecDropSingleTupleTableSlot(probe->slot);
	index_close(probe->index, NoLock);
}
