/*
 * records.c
 *		See records.h.
 *
 * Where they fit the memory they are sorted there, in an array: a tuple for
 * each, as tuplesort.c has them, would take several times as long.  Where they do
 * not, they need twice the memory while they go over to that sort.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/records.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/tuplesort.h"

/* The operator int8 < int8, for which the catalog headers have no macro. */
#define INT8_LESS 412

/* Of the first array. */
#define FIRST_CAPACITY 64

/* Columns that are not in use are zero. */
typedef struct Record
{
	int64		values[RECORDS_COLUMNS];
} Record;

struct Records
{
	MemoryContext context;
	ResourceOwner owner;		/* of temporary files, also in a subtransaction */
	int			ncolumns;
	int			memory_kb;

	/* in memory */
	Record	   *array;
	Size		n;
	Size		capacity;
	Size		next;			/* to be read */

	/* when there are too many for it; NULL: not yet */
	Tuplesortstate *sort;
	TupleTableSlot *in;
	TupleTableSlot *out;
};

static inline int
compare_records(const Record *a, const Record *b)
{
	for (int i = 0; i < RECORDS_COLUMNS; i++)
		if (a->values[i] != b->values[i])
			return a->values[i] < b->values[i] ? -1 : 1;
	return 0;
}

#define ST_SORT sort_array
#define ST_ELEMENT_TYPE Record
#define ST_COMPARE(a, b) compare_records(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

Records *
records_open(int ncolumns, int memory_kb)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "bulk_load records",
												  ALLOCSET_SMALL_SIZES);
	Records    *records = MemoryContextAllocZero(context, sizeof(Records));

	Assert(ncolumns <= RECORDS_COLUMNS);
	records->context = context;
	records->owner = CurrentResourceOwner;
	records->ncolumns = ncolumns;
	records->memory_kb = Max(memory_kb, 64);
	records->capacity = FIRST_CAPACITY;
	records->array = MemoryContextAlloc(context, FIRST_CAPACITY * sizeof(Record));
	return records;
}

/* ---- too many for memory ---- */

static void
open_sort(Records *records)
{
	MemoryContext old = MemoryContextSwitchTo(records->context);
	TupleDesc	desc = CreateTemplateTupleDesc(records->ncolumns);
	AttrNumber	atts[RECORDS_COLUMNS];
	Oid			operators[RECORDS_COLUMNS];
	Oid			collations[RECORDS_COLUMNS] = {InvalidOid};
	bool		nulls_first[RECORDS_COLUMNS] = {false};

	for (int i = 0; i < records->ncolumns; i++)
	{
		TupleDescInitEntry(desc, i + 1, NULL, INT8OID, -1, 0);
		atts[i] = i + 1;
		operators[i] = INT8_LESS;
	}
	compat_finalize_desc(desc);
	records->in = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	records->out = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	records->sort = tuplesort_begin_heap(desc, records->ncolumns, atts, operators,
										 collations, nulls_first, records->memory_kb,
										 NULL, TUPLESORT_NONE);
	MemoryContextSwitchTo(old);
}

static void
put_into_sort(Records *records, const int64 *values)
{
	TupleTableSlot *slot = ExecClearTuple(records->in);

	for (int i = 0; i < records->ncolumns; i++)
	{
		slot->tts_values[i] = Int64GetDatum(values[i]);
		slot->tts_isnull[i] = false;
	}
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(records->sort, slot);
}

/* The array's records go to a sort that may write files. */
static void
spill(Records *records)
{
	open_sort(records);
	for (Size i = 0; i < records->n; i++)
		put_into_sort(records, records->array[i].values);
	pfree(records->array);
	records->array = NULL;
}

static bool
get_from_sort(Records *records, int64 *values)
{
	TupleTableSlot *slot = records->out;

	if (!tuplesort_gettupleslot(records->sort, true, false, slot, NULL))
		return false;
	slot_getallattrs(slot);
	for (int i = 0; i < records->ncolumns; i++)
		values[i] = DatumGetInt64(slot->tts_values[i]);
	return true;
}

/* ---- for all ---- */

/* Makes the array larger, or has its records sorted elsewhere. */
static void
make_room(Records *records)
{
	Size		most = records->memory_kb * (Size) 1024 / sizeof(Record);
	ResourceOwner caller = CurrentResourceOwner;

	if (records->capacity < most)
	{
		records->capacity = Min(2 * records->capacity, most);
		records->array = repalloc_huge(records->array, records->capacity * sizeof(Record));
		return;
	}
	CurrentResourceOwner = records->owner;
	spill(records);
	CurrentResourceOwner = caller;
}

void
records_put(Records *records, const int64 *values)
{
	ResourceOwner caller = CurrentResourceOwner;

	if (records->sort == NULL && records->n == records->capacity)
		make_room(records);
	if (records->sort == NULL)
	{
		Record	   *record = &records->array[records->n++];

		memset(record, 0, sizeof(Record));
		memcpy(record, values, records->ncolumns * sizeof(int64));
		return;
	}
	CurrentResourceOwner = records->owner;
	put_into_sort(records, values);
	CurrentResourceOwner = caller;
}

void
records_sort(Records *records)
{
	ResourceOwner caller = CurrentResourceOwner;

	if (records->sort == NULL)
	{
		sort_array(records->array, records->n);
		return;
	}
	CurrentResourceOwner = records->owner;
	tuplesort_performsort(records->sort);
	CurrentResourceOwner = caller;
}

bool
records_next(Records *records, int64 *values)
{
	if (records->sort != NULL)
		return get_from_sort(records, values);
	if (records->next == records->n)
		return false;
	memcpy(values, &records->array[records->next++], records->ncolumns * sizeof(int64));
	return true;
}

void
records_close(Records *records)
{
	if (records->sort != NULL)
	{
		tuplesort_end(records->sort);
		ExecDropSingleTupleTableSlot(records->in);
		ExecDropSingleTupleTableSlot(records->out);
	}
	MemoryContextDelete(records->context);
}
