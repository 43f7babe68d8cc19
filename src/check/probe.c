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
#include "parser/parse_coerce.h"
#include "server/compat.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

struct Probe
{
	Relation	referenced;
	Relation	index;
	int			natts;
	int			order[INDEX_MAX_KEYS];	/* for each index column, the number of its value */
	ScanKeyData keys[INDEX_MAX_KEYS];	/* in index order */
	TupleTableSlot *slot;

	/* set between begin and end */
	Snapshot	snapshot;
	IndexScanDesc scan;
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
		   const Oid *operators, const Oid *types)
{
	Probe	   *probe;

	if (referenced->rd_rel->relkind != RELKIND_RELATION || !OidIsValid(index))
		return NULL;
	probe = palloc0(sizeof(Probe));
	probe->referenced = referenced;
	probe->natts = natts;
	probe->index = index_open(index, AccessShareLock);
	if (!make_keys(probe, atts, operators, types))
	{
		index_close(probe->index, NoLock);
		pfree(probe);
		return NULL;
	}
	probe->slot = table_slot_create(referenced, NULL);
	return probe;
}

void
probe_begin(Probe *probe)
{
	probe->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	probe->scan = compat_index_beginscan(probe->referenced, probe->index,
										 probe->snapshot, probe->natts);
}

bool
probe_lock(Probe *probe, const Datum *values)
{
	TM_FailureData failure;

	for (int column = 0; column < probe->natts; column++)
		probe->keys[column].sk_argument = values[probe->order[column]];
	index_rescan(probe->scan, probe->keys, probe->natts, NULL, 0);

	/*
	 * rows that others are changing or have changed are left to the query; where an update lets the
	 * lock pass, the version that it makes is locked, too, or it could be deleted
	 */
	return index_getnext_slot(probe->scan, ForwardScanDirection, probe->slot) &&
		table_tuple_lock(probe->referenced, &probe->slot->tts_tid,
						 probe->snapshot, probe->slot, GetCurrentCommandId(true),
						 LockTupleKeyShare, LockWaitSkip,
						 TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS, &failure) == TM_Ok;
}

void
probe_end(Probe *probe)
{
	ExecClearTuple(probe->slot);
	index_endscan(probe->scan);
	UnregisterSnapshot(probe->snapshot);
}

void
probe_close(Probe *probe)
{
	ExecDropSingleTupleTableSlot(probe->slot);
	index_close(probe->index, NoLock);
}
