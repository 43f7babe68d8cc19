/*
 * bad_rows.c
 *		See bad_rows.h.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "check/bad_rows.h"
#include "executor/tuptable.h"
#include "server/compat.h"
#include "utils/builtins.h"
#include "utils/resowner.h"
#include "utils/tuplesort.h"

/* Memory for rows, in kB, before they spill to a file. */
#define SORT_MEMORY_KB 4096

/* The operator int8 < int8, for which the catalog headers have no macro. */
#define INT8_LESS 412

/* Columns of the sort; those before BAD_SORTED are the sort keys. */
enum
{
	BAD_FILE,
	BAD_OFFSET,
	BAD_REASON,
	BAD_KEY,
	BAD_SORTED,
	BAD_LINE = BAD_SORTED,
	BAD_LENGTH,
	BAD_END_LENGTH,
	BAD_TABLE,
	BAD_SQLSTATE,
	BAD_NUMBERS,
	BAD_VALUE = BAD_NUMBERS,
	BAD_ROW,
	BAD_MESSAGE,
	BAD_COLUMN,
	BAD_NATTS
};

struct BadRows
{
	ResourceOwner owner;
	Tuplesortstate *sort;
	TupleTableSlot *in;
	TupleTableSlot *out;
};

BadRows *
bad_rows_open(void)
{
	BadRows    *bad = palloc0(sizeof(BadRows));
	TupleDesc	desc = CreateTemplateTupleDesc(BAD_NATTS);
	AttrNumber	atts[BAD_SORTED];
	Oid			operators[BAD_SORTED];
	Oid			collations[BAD_SORTED] = {InvalidOid};
	bool		nulls_first[BAD_SORTED] = {false};

	for (int i = 0; i < BAD_NATTS; i++)
		TupleDescInitEntry(desc, i + 1, NULL,
						   i < BAD_NUMBERS ? INT8OID : TEXTOID, -1, 0);
	compat_finalize_desc(desc);
	for (int i = 0; i < BAD_SORTED; i++)
	{
		atts[i] = i + 1;
		operators[i] = INT8_LESS;
	}
	bad->owner = CurrentResourceOwner;
	bad->in = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	bad->out = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	bad->sort = tuplesort_begin_heap(desc, BAD_SORTED, atts, operators,
									 collations, nulls_first, SORT_MEMORY_KB,
									 NULL, TUPLESORT_NONE);
	return bad;
}

static void
put_text(TupleTableSlot *slot, int att, const char *text)
{
	slot->tts_isnull[att] = text == NULL;
	if (text != NULL)
		slot->tts_values[att] = CStringGetTextDatum(text);
}

void
bad_rows_put(BadRows *bad, const BadRow *row)
{
	TupleTableSlot *slot = ExecClearTuple(bad->in);
	ResourceOwner caller = CurrentResourceOwner;
	Datum		numbers[BAD_NUMBERS] = {
		[BAD_FILE] = Int64GetDatum(row->place.file),
		[BAD_OFFSET] = Int64GetDatum(row->place.offset),
		[BAD_REASON] = Int64GetDatum(row->reason),
		[BAD_KEY] = Int64GetDatum(row->key),
		[BAD_LINE] = Int64GetDatum(row->place.line),
		[BAD_LENGTH] = Int64GetDatum(row->place.length),
		[BAD_END_LENGTH] = Int64GetDatum(row->place.end_length),
		[BAD_TABLE] = Int64GetDatum(row->table),
		[BAD_SQLSTATE] = Int64GetDatum(row->sqlstate)
	};

	memcpy(slot->tts_values, numbers, sizeof(numbers));
	memset(slot->tts_isnull, 0, sizeof(bool) * BAD_NATTS);
	put_text(slot, BAD_VALUE, row->value);
	put_text(slot, BAD_ROW, row->row);
	put_text(slot, BAD_MESSAGE, row->message);
	put_text(slot, BAD_COLUMN, row->column);
	ExecStoreVirtualTuple(slot);
	CurrentResourceOwner = bad->owner;
	tuplesort_puttupleslot(bad->sort, slot);
	CurrentResourceOwner = caller;
	ExecClearTuple(slot);
}

void
bad_rows_sort(BadRows *bad)
{
	ResourceOwner caller = CurrentResourceOwner;

	CurrentResourceOwner = bad->owner;
	tuplesort_performsort(bad->sort);
	CurrentResourceOwner = caller;
}

static char *
get_text(TupleTableSlot *slot, int att)
{
	return slot->tts_isnull[att] ? NULL : TextDatumGetCString(slot->tts_values[att]);
}

bool
bad_rows_next(BadRows *bad, BadRow *row)
{
	TupleTableSlot *slot = bad->out;
	const Datum *values = slot->tts_values;

	if (!tuplesort_gettupleslot(bad->sort, true, false, slot, NULL))
		return false;
	slot_getallattrs(slot);
	*row = (BadRow) {
		.place = {
			.file = DatumGetInt64(values[BAD_FILE]),
			.offset = DatumGetInt64(values[BAD_OFFSET]),
			.line = DatumGetInt64(values[BAD_LINE]),
			.length = DatumGetInt64(values[BAD_LENGTH]),
			.end_length = DatumGetInt64(values[BAD_END_LENGTH])
		},
		.reason = DatumGetInt64(values[BAD_REASON]),
		.table = DatumGetInt64(values[BAD_TABLE]),
		.key = DatumGetInt64(values[BAD_KEY]),
		.value = get_text(slot, BAD_VALUE),
		.row = get_text(slot, BAD_ROW),
		.message = get_text(slot, BAD_MESSAGE),
		.column = get_text(slot, BAD_COLUMN),
		.sqlstate = DatumGetInt64(values[BAD_SQLSTATE])
	};
	return true;
}

void
bad_rows_close(BadRows *bad)
{
	tuplesort_end(bad->sort);
	ExecDropSingleTupleTableSlot(bad->in);
	ExecDropSingleTupleTableSlot(bad->out);
	pfree(bad);
}
