/*
 * settle.c
 *		See settle.h.
 *
 * What is decided by TID needs a place in the input, which the journal has by TID,
 * too: so the two are read side by side.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "check/duplicates.h"
#include "check/settle.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "index/heap_scan.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/records.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* A row that goes: the load's row whose place counts, the row itself, the index. */
enum
{
	LOST_PLACE,
	LOST_ROW,
	LOST_INDEX,
	LOST_COLUMNS
};

typedef struct JudgedIndex
{
	Relation	rel;			/* NULL: not opened yet */
	IndexInfo  *info;
} JudgedIndex;

/* With on_duplicate = error: the row that is one. */
typedef struct FirstError
{
	bool		found;
	int			table;
	Oid			index;
	RowId		row;
	JournalPlace place;
} FirstError;

typedef struct Settling
{
	const Settlement *given;
	JournalReader *reader;
	bool		more;			/* records in it */
	EState	   *estate;
	MemoryContext row_context;
	int64		nlost;
	FirstError	first;

	/* the table in hand */
	Relation	rel;
	int			table;			/* its number */
	BlockNumber first_new;		/* of the load */
	Records    *lost;
	int			nindexes;
	JudgedIndex *indexes;
	ResultRelInfo *rri;
	TupleTableSlot *slot;
	int64		deleted;		/* rows of the load */
} Settling;

static inline bool
is_new(const Settling *settling, RowId row)
{
	return (BlockNumber) (row >> 17) >= settling->first_new;
}

/* ---- rows ---- */

/* The member of a row's HOT chain that a snapshot sees, into the slot, pinned. */
static bool
fetch_row(Settling *settling, RowId row, Snapshot snapshot)
{
	Relation	rel = settling->rel;
	ItemPointerData tid;
	HeapTupleData tuple;
	Buffer		buffer;
	bool		found;

	row_tid(row, &tid);
	buffer = ReadBuffer(rel, ItemPointerGetBlockNumber(&tid));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	found = heap_hot_search_buffer(&tid, rel, buffer, snapshot, &tuple, NULL, true);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (found)
	{
		tuple.t_self = tid;
		ExecStoreBufferHeapTuple(&tuple, settling->slot, buffer);
		ExecMaterializeSlot(settling->slot);
	}
	ReleaseBuffer(buffer);
	return found;
}

static bool
is_there(void *arg, RowId row)
{
	Settling   *settling = arg;
	bool		found;

	if (settling->given->all_there)
		return true;
	found = fetch_row(settling, row, SnapshotSelf);
	ExecClearTuple(settling->slot);
	return found;
}

/* The living member of a row's HOT chain, into the slot. */
static void
fetch_living(Settling *settling, RowId row)
{
	if (!fetch_row(settling, row, SnapshotSelf))
		elog(ERROR, "a row of \"%s\" is not there any more",
			 RelationGetRelationName(settling->rel));
}

/* What the transaction does not see it must not act upon. */
static void
check_seen(Settling *settling, RowId row)
{
	ItemPointerData tid;

	fetch_living(settling, row);
	tid = settling->slot->tts_tid;
	ExecClearTuple(settling->slot);
	if (!table_tuple_fetch_row_version(settling->rel, &tid,
									   GetTransactionSnapshot(), settling->slot))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
	ExecClearTuple(settling->slot);
}

static JudgedIndex *
open_index(Settling *settling, int number)
{
	JudgedIndex *index = &settling->indexes[number];

	if (index->rel == NULL)
	{
		MemoryContext old;

		old = MemoryContextSwitchTo(GetMemoryChunkContext(settling->indexes));
		index->rel = index_open(conflicts_index(settling->given->conflicts, number),
								AccessShareLock);
		index->info = BuildIndexInfo(index->rel);
		MemoryContextSwitchTo(old);
	}
	return index;
}

/* The key of the row in the slot as "(columns)=(values)", or NULL. */
static char *
describe_key(Settling *settling, int number)
{
	JudgedIndex *index = open_index(settling, number);

	return duplicates_key(index->rel, index->info, settling->slot, settling->estate);
}

static void
raise_duplicate(Settling *settling, RowId row, int number, const char *hint)
{
	char	   *key;
	const char *name;

	fetch_living(settling, row);
	key = describe_key(settling, number);
	name = RelationGetRelationName(settling->indexes[number].rel);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"", name),
			 key ? errdetail("Key %s already exists.", key) : 0,
			 hint ? errhint("%s", hint) : 0,
			 errtableconstraint(settling->rel, name)));
}

/* ---- what is decided ---- */

static void
note_lost(void *arg, RowId row, RowId winner, int index)
{
	Settling   *settling = arg;
	bool		row_is_new = is_new(settling, row);
	bool		winner_is_new = is_new(settling, winner);
	int64		values[LOST_COLUMNS] = {
		[LOST_PLACE] = (int64) (row_is_new ? row : winner),
		[LOST_ROW] = (int64) row,
		[LOST_INDEX] = index
	};

	if (!row_is_new && !winner_is_new)
		raise_duplicate(settling, row, index, NULL);
	if (settling->given->policy != BULK_ON_DUPLICATE_ERROR &&
		IsolationUsesXactSnapshot() && !(row_is_new && winner_is_new))
		check_seen(settling, row_is_new ? winner : row);
	records_put(settling->lost, values);
}

/* A row that is an error, if it comes first in the input. */
static void
note_error(Settling *settling, RowId row, int number, const JournalPlace *place)
{
	FirstError *first = &settling->first;

	if (first->found && !journal_is_before(place, &first->place))
		return;
	first->found = true;
	first->table = settling->table;
	first->index = conflicts_index(settling->given->conflicts, number);
	first->row = row;
	first->place = *place;
}

/* The row in the slot, for the reject stream, if anybody is to see it there. */
static void
describe_row(Settling *settling, int number, BadRow *bad)
{
	const Settlement *given = settling->given;

	if (given->with_texts || settling->nlost < REJECTS_FIRST)
		bad->value = describe_key(settling, number);
	if (bad->reason == REJECT_REPLACED && given->with_texts)
		bad->row = duplicates_row(given->target, settling->rel, settling->slot);
}

/* Takes a row out of the table; place: of it, or of the one that replaces it. */
static void
take_row(Settling *settling, RowId row, int number, const JournalPlace *place)
{
	const Settlement *given = settling->given;
	bool		replaced = !is_new(settling, row);
	BadRow		bad = {
		.place = *place,
		.reason = replaced ? REJECT_REPLACED : REJECT_DUPLICATE,
		.table = settling->table,
		.key = conflicts_index(given->conflicts, number)
	};
	MemoryContext old = MemoryContextSwitchTo(settling->row_context);
	ItemPointerData tid;

	given->tell(given->arg, place);
	/* nobody can have updated a row of the load */
	row_tid(row, &tid);
	if (replaced || given->with_texts || settling->nlost < REJECTS_FIRST)
	{
		fetch_living(settling, row);
		tid = settling->slot->tts_tid;
		describe_row(settling, number, &bad);
		ExecClearTuple(settling->slot);
	}
	bad_rows_put(given->bad, &bad);
	simple_heap_delete(settling->rel, &tid);
	if (replaced)
		ExecARDeleteTriggers(settling->estate, settling->rri, &tid, NULL, NULL, false);
	else
		settling->deleted++;
	settling->nlost++;
	given->tell(given->arg, NULL);
	ResetPerTupleExprContext(settling->estate);
	MemoryContextSwitchTo(old);
	MemoryContextReset(settling->row_context);
}

/* All that were noted in a run of rows, by their places; whether there are more. */
static bool
take_run(Settling *settling, const JournalRun *run, int64 *lost)
{
	bool		more = true;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < run->count; i++)
	{
		JournalPlace place;
		ItemPointerData tid;

		journal_next_place(settling->reader, &place);
		ItemPointerSet(&tid, run->block, run->first + i);
		while (more && (RowId) lost[LOST_PLACE] == row_id(&tid, true))
		{
			if (settling->given->policy == BULK_ON_DUPLICATE_ERROR)
			{
				note_error(settling, lost[LOST_ROW], lost[LOST_INDEX], &place);
				return false;
			}
			take_row(settling, lost[LOST_ROW], lost[LOST_INDEX], &place);
			more = records_next(settling->lost, lost);
		}
	}
	return more;
}

/* The reader is at the table's first record. */
static void
take_rows(Settling *settling)
{
	JournalReader *reader = settling->reader;
	int64		lost[LOST_COLUMNS];
	bool		more = records_next(settling->lost, lost);

	for (; more && settling->more && reader->table == settling->table;
		 settling->more = journal_next_record(reader))
		for (uint32 i = 0; more && i < reader->nruns; i++)
			more = take_run(settling, &reader->runs[i], lost);
	if (more)
		heap_scan_raise_written(settling->rel,
								"A new row with the key of another one is not of the load.");
}

/* ---- begin and end ---- */

static void
open_table(Settling *settling, int table)
{
	const Settlement *given = settling->given;

	settling->rel = given->get_table(given->arg, table);
	settling->table = table;
	settling->lost = records_open(LOST_COLUMNS, maintenance_work_mem / 4);
	settling->nindexes = conflicts_nindexes(given->conflicts);
	settling->indexes = palloc0(sizeof(JudgedIndex) * settling->nindexes);
	settling->slot = MakeSingleTupleTableSlot(RelationGetDescr(settling->rel),
											  &TTSOpsBufferHeapTuple);
	settling->rri = makeNode(ResultRelInfo);
	InitResultRelInfo(settling->rri, settling->rel, 0, NULL, 0);
	settling->deleted = 0;
}

static void
close_table(Settling *settling)
{
	records_close(settling->lost);
	for (int i = 0; i < settling->nindexes; i++)
		if (settling->indexes[i].rel != NULL)
			index_close(settling->indexes[i].rel, NoLock);
	ExecDropSingleTupleTableSlot(settling->slot);
	/* the page of the last row that triggers will hear of */
	if (settling->rri->ri_TrigOldSlot != NULL)
		ExecClearTuple(settling->rri->ri_TrigOldSlot);
}

/* The table's own records: the journal is read by tables. */
static void
find_table(Settling *settling)
{
	JournalReader *reader = settling->reader;

	while (settling->more && reader->table < settling->table)
		settling->more = journal_next_record(reader);
	settling->first_new = settling->more && reader->table == settling->table ?
		reader->runs[0].block : InvalidBlockNumber;
}

static void
settle_table(Settling *settling, int table)
{
	const Settlement *given = settling->given;
	DuplicateSink sink = {.is_there = is_there,.lost = note_lost,.arg = settling};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "bulk_load duplicates of a table",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	open_table(settling, table);
	find_table(settling);
	duplicates_decide(given->conflicts, given->policy, &sink);
	records_sort(settling->lost);
	take_rows(settling);
	given->taken(given->arg, table, settling->deleted);
	close_table(settling);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
raise_first(Settling *settling)
{
	const Settlement *given = settling->given;
	const FirstError *first = &settling->first;
	JudgedIndex index;

	settling->rel = given->get_table(given->arg, first->table);
	settling->slot = MakeSingleTupleTableSlot(RelationGetDescr(settling->rel),
											  &TTSOpsBufferHeapTuple);
	index.rel = index_open(first->index, AccessShareLock);
	index.info = BuildIndexInfo(index.rel);
	settling->indexes = &index;
	given->tell(given->arg, &first->place);
	raise_duplicate(settling, first->row, 0, given->hint);
}

void
settle_duplicates(const Settlement *given)
{
	Settling	settling = {.given = given};
	int			table;

	settling.estate = CreateExecutorState();
	settling.row_context = AllocSetContextCreate(CurrentMemoryContext,
												 "bulk_load duplicate row",
												 ALLOCSET_DEFAULT_SIZES);
	settling.reader = given->ntables > 1 ? journal_read_by_table(given->journal) :
		journal_read(given->journal);
	settling.more = journal_next_record(settling.reader);
	conflicts_sort(given->conflicts);
	AfterTriggerBeginQuery();
	while ((table = conflicts_next_table(given->conflicts)) >= 0)
		settle_table(&settling, table);
	if (settling.first.found)
		raise_first(&settling);
	CommandCounterIncrement();
	AfterTriggerEndQuery(settling.estate);

	journal_end_read(settling.reader);
	ExecResetTupleTable(settling.estate->es_tupleTable, false);
	ExecCloseResultRelations(settling.estate);
	FreeExecutorState(settling.estate);
	MemoryContextDelete(settling.row_context);
}
