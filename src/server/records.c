/*
 * records.c
 *		See records.h.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "server/compat.h"
#include "server/records.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/tuplesort.h"

/* The operator int8 < int8, for which the catalog headers have no macro. */
#define INT8_LESS 412

struct Records
{
	MemoryContext context;
	ResourceOwner owner;		/* of temporary files, also in a subtransaction */
	int			ncolumns;
	Tuplesortstate *sort;
	TupleTableSlot *in;
	TupleTableSlot *out;
};

Records *
records_open(int ncolumns, int memory_kb)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "bulk_load records",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Records    *records = palloc0(sizeof(Records));
	TupleDesc	desc = CreateTemplateTupleDesc(ncolumns);
	AttrNumber	atts[RECORDS_COLUMNS];
	Oid			operators[RECORDS_COLUMNS];
	Oid			collations[RECORDS_COLUMNS] = {InvalidOid};
	bool		nulls_first[RECORDS_COLUMNS] = {false};

	Assert(ncolumns <= RECORDS_COLUMNS);
	for (int i = 0; i < ncolumns; i++)
	{
		TupleDescInitEntry(desc, i + 1, NULL, INT8OID, -1, 0);
		atts[i] = i + 1;
		operators[i] = INT8_LESS;
	}
	compat_finalize_desc(desc);
	records->context = context;
	records->owner = CurrentResourceOwner;
	records->ncolumns = ncolumns;
	records->in = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	records->out = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	records->sort = tuplesort_begin_heap(desc, ncolumns, atts, operators,
										 collations, nulls_first,
										 Max(memory_kb, 64), NULL,
										 TUPLESORT_NONE);
	MemoryContextSwitchTo(old);
	return records;
}

void
records_put(Records *records, const int64 *values)
{
	TupleTableSlot *slot = ExecClearTuple(records->in);
	ResourceOwner caller = CurrentResourceOwner;

	for (int i = 0; i < records->ncolumns; i++)
	{
		slot->tts_values[i] = Int64GetDatum(values[i]);
		slot->tts_isnull[i] = false;
	}
	ExecStoreVirtualTuple(slot);
	CurrentResourceOwner = records->owner;
	tuplesort_puttupleslot(records->sort, slot);
	CurrentResourceOwner = caller;
}

void
records_sort(Records *records)
{
	ResourceOwner caller = CurrentResourceOwner;

	CurrentResourceOwner = records->owner;
	tuplesort_performsort(records->sort);
	CurrentResourceOwner = caller;
}

bool
records_next(Records *records, int64 *values)
{
	TupleTableSlot *slot = records->out;

	if (!tuplesort_gettupleslot(records->sort, true, false, slot, NULL))
		return false;
	slot_getallattrs(slot);
	for (int i = 0; i < records->ncolumns; i++)
		values[i] = DatumGetInt64(slot->tts_values[i]);
	return true;
}

void
records_close(Records *records)
{
	tuplesort_end(records->sort);
	ExecDropSingleTupleTableSlot(records->in);
	ExecDropSingleTupleTableSlot(records->out);
	MemoryContextDelete(records->context);
}
