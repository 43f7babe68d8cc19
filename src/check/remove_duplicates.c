/*
 * remove_duplicates.c
 *		See remove_duplicates.h.
 *
 * Decisions arrive in TID order.  Each needs the row's place in the input,
 * which the journal holds in TID order as well, so the two are merged.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "check/duplicates.h"
#include "check/remove_duplicates.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "index/heap_scan.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/records.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/*
 * Columns of a record: the load's row whose place is reported, the row to be
 * removed, the index.
 */
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

/* With on_duplicate = error: the row to report. */
typedef struct FirstError
{
	bool		found;
	int			table;
	Oid			index;
	RowId		row;
	JournalPlace place;
} FirstError;

typedef struct Removal
{
	const DuplicateRemoval *given;
	JournalReader *reader;
	bool		more;			/* there are more records */
	EState	   *estate;
	MemoryContext row_context;
	int64		nlost;
	FirstError	first;

	/* the current table */
	Relation	rel;
	int			table;			/* its number */
	BlockNumber first_new;		/* first block with rows of the load */
	Records	   *lost;
	int			nindexes;
	JudgedIndex *indexes;
	ResultRelInfo *rri;
	TupleTableSlot *slot;
	int64		deleted;		/* rows of the load deleted so far */
	int64		nkept;			/* removed rows that were added to the bad rows */
} Removal;

static inline bool
is_new(const Removal *removal, RowId row)
{
	return (BlockNumber) (row >> 17) >= removal->first_new;
}

/* ---- rows ---- */

/* Finds the live member of a row's HOT chain: its TID, and its values if a slot is given. */
static bool
find_row(Removal *removal, RowId row, ItemPointer tid, TupleTableSlot *slot)
{
	Relation	rel = removal->rel;
	HeapTupleData tuple;
	Buffer		buffer;
	bool		found;

	row_tid(row, tid);
	buffer = ReadBuffer(rel, ItemPointerGetBlockNumber(tid));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	found = heap_hot_search_buffer(tid, rel, buffer, SnapshotSelf, &tuple, NULL, true);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (found && slot != NULL)
	{
		tuple.t_self = *tid;
		ExecStoreBufferHeapTuple(&tuple, slot, buffer);
		ExecMaterializeSlot(slot);
	}
	ReleaseBuffer(buffer);
	return found;
}

static bool
is_there(void *arg, RowId row)
{
	Removal	   *removal = arg;
	ItemPointerData tid;

	return removal->given->all_there || find_row(removal, row, &tid, NULL);
}

/* The same where it must be there. */
static void
find_living(Removal *removal, RowId row, ItemPointer tid, TupleTableSlot *slot)
{
	if (!find_row(removal, row, tid, slot))
		elog(ERROR, "a row of \"%s\" is not there any more",
			 RelationGetRelationName(removal->rel));
}

/* Raises a serialization error for a row that the transaction's snapshot does not see. */
static void
check_seen(Removal *removal, RowId row)
{
	ItemPointerData tid;

	find_living(removal, row, &tid, NULL);
	if (!table_tuple_fetch_row_version(removal->rel, &tid,
									   GetTransactionSnapshot(), removal->slot))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
	ExecClearTuple(removal->slot);
}

static JudgedIndex *
open_index(Removal *removal, int number)
{
	JudgedIndex *index = &removal->indexes[number];

	if (index->rel == NULL)
	{
		MemoryContext old;

		old = MemoryContextSwitchTo(GetMemoryChunkContext(removal->indexes));
		index->rel = index_open(conflicts_index(removal->given->conflicts, number),
								AccessShareLock);
		index->info = BuildIndexInfo(index->rel);
		MemoryContextSwitchTo(old);
	}
	return index;
}

/* The key of the row in the slot as "(columns)=(values)", or NULL. */
static char *
describe_key(Removal *removal, int number)
{
	JudgedIndex *index = open_index(removal, number);

	return duplicates_key(index->rel, index->info, removal->slot, removal->estate);
}

static void
raise_duplicate(Removal *removal, RowId row, int number, const char *hint)
{
	char	   *key;
	const char *name;
	ItemPointerData tid;

	find_living(removal, row, &tid, removal->slot);
	key = describe_key(removal, number);
	name = RelationGetRelationName(removal->indexes[number].rel);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"", name),
			 key ? errdetail("Key %s already exists.", key) : 0,
			 hint ? errhint("%s", hint) : 0,
			 errtableconstraint(removal->rel, name)));
}

/* ---- carrying out decisions ---- */

static void
note_lost(void *arg, RowId row, RowId winner, int index)
{
	Removal	   *removal = arg;
	bool		row_is_new = is_new(removal, row);
	bool		winner_is_new = is_new(removal, winner);
	int64		values[LOST_COLUMNS] = {
		[LOST_PLACE] = (int64) (row_is_new ? row : winner),
		[LOST_ROW] = (int64) row,
		[LOST_INDEX] = index
	};

	if (!row_is_new && !winner_is_new)
		raise_duplicate(removal, row, index, NULL);
	if (removal->given->policy != BULK_ON_DUPLICATE_ERROR &&
		IsolationUsesXactSnapshot() && !(row_is_new && winner_is_new))
		check_seen(removal, row_is_new ? winner : row);
	records_put(removal->lost, values);
}

/* Remembers a row to be reported as an error, if it is the first in input order. */
static void
note_error(Removal *removal, RowId row, int number, const JournalPlace *place)
{
	FirstError *first = &removal->first;

	if (first->found && !journal_is_before(place, &first->place))
		return;
	first->found = true;
	first->table = removal->table;
	first->index = conflicts_index(removal->given->conflicts, number);
	first->row = row;
	first->place = *place;
}

/*
 * Whether the next row is added to the bad rows: if each is wanted, or it is among the first of
 * its table, which come in the order of the input.
 */
static inline bool
is_kept(const Removal *removal)
{
	return !removal->given->only_first || removal->nkept < REJECTS_FIRST;
}

/* Adds a row to the bad rows. */
static void
keep_row(Removal *removal, RowId row, int number, const JournalPlace *place)
{
	const DuplicateRemoval *given = removal->given;
	BadRow		bad = {
		.place = *place,
		.reason = is_new(removal, row) ? REJECT_DUPLICATE : REJECT_REPLACED,
		.table = removal->table,
		.key = conflicts_index(given->conflicts, number)
	};
	ItemPointerData tid;

	if (given->with_texts || removal->nlost < REJECTS_FIRST)
	{
		find_living(removal, row, &tid, removal->slot);
		bad.value = describe_key(removal, number);
		if (bad.reason == REJECT_REPLACED && given->with_texts)
			bad.row = duplicates_row(given->target, removal->rel, removal->slot);
		ExecClearTuple(removal->slot);
	}
	bad_rows_put(given->bad, &bad);
	removal->nkept++;
	ResetPerTupleExprContext(removal->estate);
}

static void
delete_row(Removal *removal, RowId row)
{
	ItemPointerData tid;

	if (is_new(removal, row))
	{
		/* rows of the load cannot have been updated */
		row_tid(row, &tid);
		simple_heap_delete(removal->rel, &tid);
		removal->deleted++;
		return;
	}
	find_living(removal, row, &tid, NULL);
	simple_heap_delete(removal->rel, &tid);
	ExecARDeleteTriggers(removal->estate, removal->rri, &tid, NULL, NULL, false);
}

/* Removes a row.  place: its own, or that of the row that replaces it. */
static void
take_row(Removal *removal, RowId row, int number, const JournalPlace *place)
{
	const DuplicateRemoval *given = removal->given;
	bool		kept = is_kept(removal);
	/* the row's bytes are read again for that */
	bool		shown = kept || removal->rri->ri_TrigDesc != NULL;
	MemoryContext old = MemoryContextSwitchTo(removal->row_context);

	if (shown)
		given->set_context(given->arg, place);
	if (kept)
		keep_row(removal, row, number, place);
	else
		given->count_unseen(given->arg, place,
							is_new(removal, row) ? REJECT_DUPLICATE : REJECT_REPLACED);
	delete_row(removal, row);
	removal->nlost++;
	if (shown)
		given->set_context(given->arg, NULL);
	MemoryContextSwitchTo(old);
	MemoryContextReset(removal->row_context);
}

/* Removes the noted rows of a run; false when there are no more. */
static bool
take_run(Removal *removal, const JournalRun *run, int64 *lost)
{
	bool		more = true;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < run->count; i++)
	{
		JournalPlace place;
		ItemPointerData tid;

		journal_next_place(removal->reader, &place);
		ItemPointerSet(&tid, run->block, run->first + i);
		while (more && (RowId) lost[LOST_PLACE] == row_id(&tid, true))
		{
			if (removal->given->policy == BULK_ON_DUPLICATE_ERROR)
			{
				note_error(removal, lost[LOST_ROW], lost[LOST_INDEX], &place);
				return false;
			}
			take_row(removal, lost[LOST_ROW], lost[LOST_INDEX], &place);
			more = records_next(removal->lost, lost);
		}
	}
	return more;
}

/* Removes rows; the reader is at the table's first record. */
static void
take_rows(Removal *removal)
{
	JournalReader *reader = removal->reader;
	int64		lost[LOST_COLUMNS];
	bool		more = records_next(removal->lost, lost);

	for (; more && removal->more && reader->table == removal->table;
		 removal->more = journal_next_record(reader))
		for (uint32 i = 0; more && i < reader->nruns; i++)
			more = take_run(removal, &reader->runs[i], lost);
	if (more)
		heap_scan_raise_written(removal->rel,
								"A new row with the key of another one is not of the load.");
}

/* ---- begin and end ---- */

static void
open_table(Removal *removal, int table)
{
	const DuplicateRemoval *given = removal->given;

	removal->rel = given->get_table(given->arg, table);
	removal->table = table;
	removal->lost = records_open(LOST_COLUMNS, maintenance_work_mem / 4);
	removal->nindexes = conflicts_nindexes(given->conflicts);
	removal->indexes = palloc0(sizeof(JudgedIndex) * removal->nindexes);
	removal->slot = MakeSingleTupleTableSlot(RelationGetDescr(removal->rel),
											 &TTSOpsBufferHeapTuple);
	removal->rri = makeNode(ResultRelInfo);
	InitResultRelInfo(removal->rri, removal->rel, 0, NULL, 0);
	removal->deleted = removal->nkept = 0;
}

static void
close_table(Removal *removal)
{
	records_close(removal->lost);
	for (int i = 0; i < removal->nindexes; i++)
		if (removal->indexes[i].rel != NULL)
			index_close(removal->indexes[i].rel, NoLock);
	ExecDropSingleTupleTableSlot(removal->slot);
	/* holds a pin on the page of the last row passed to triggers */
	if (removal->rri->ri_TrigOldSlot != NULL)
		ExecClearTuple(removal->rri->ri_TrigOldSlot);
}

/* Moves the reader to the table's records; the journal is read by tables. */
static void
find_table(Removal *removal)
{
	JournalReader *reader = removal->reader;

	while (removal->more && reader->table < removal->table)
		removal->more = journal_next_record(reader);
	removal->first_new = removal->more && reader->table == removal->table ?
		reader->runs[0].block : InvalidBlockNumber;
}

static void
remove_from_table(Removal *removal, int table)
{
	const DuplicateRemoval *given = removal->given;
	DuplicateSink sink = {.is_there = is_there,.lost = note_lost,.arg = removal};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "bulk_load duplicates of a table",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	open_table(removal, table);
	find_table(removal);
	duplicates_decide(given->conflicts, given->policy, &sink);
	records_sort(removal->lost);
	take_rows(removal);
	given->count_deleted(given->arg, table, removal->deleted);
	close_table(removal);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
raise_first(Removal *removal)
{
	const DuplicateRemoval *given = removal->given;
	const FirstError *first = &removal->first;
	JudgedIndex index;

	removal->rel = given->get_table(given->arg, first->table);
	removal->slot = MakeSingleTupleTableSlot(RelationGetDescr(removal->rel),
											 &TTSOpsBufferHeapTuple);
	index.rel = index_open(first->index, AccessShareLock);
	index.info = BuildIndexInfo(index.rel);
	removal->indexes = &index;
	given->set_context(given->arg, &first->place);
	raise_duplicate(removal, first->row, 0, given->hint);
}

void
remove_duplicates(const DuplicateRemoval *given)
{
	Removal		removal = {.given = given};
	int			table;

	removal.estate = CreateExecutorState();
	removal.row_context = AllocSetContextCreate(CurrentMemoryContext,
												"bulk_load duplicate row",
												ALLOCSET_DEFAULT_SIZES);
	removal.reader = given->ntables > 1 ? journal_read_by_table(given->journal) :
		journal_read(given->journal);
	removal.more = journal_next_record(removal.reader);
	conflicts_sort(given->conflicts);
	AfterTriggerBeginQuery();
	while ((table = conflicts_next_table(given->conflicts)) >= 0)
		remove_from_table(&removal, table);
	if (removal.first.found)
		raise_first(&removal);
	CommandCounterIncrement();
	AfterTriggerEndQuery(removal.estate);

	journal_end_read(removal.reader);
	ExecResetTupleTable(removal.estate->es_tupleTable, false);
	ExecCloseResultRelations(removal.estate);
	FreeExecutorState(removal.estate);
	MemoryContextDelete(removal.row_context);
}
