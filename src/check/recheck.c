/*
 * recheck.c
 *		See recheck.h.
 */
#include "postgres.h"

#include "catalog/pg_trigger.h"
#include "check/foreign_key.h"
#include "check/recheck.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "index/heap_scan.h"
#include "miscadmin.h"
#include "server/records.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

/* Columns of a record: a row to be rechecked in one index. */
enum
{
	RECHECK_TABLE,
	RECHECK_ROW,
	RECHECK_INDEX,
	RECHECK_COLUMNS
};

typedef struct RecheckIndex
{
	Rechecks   *rechecks;
	int			table;
	Oid			relid;
	ConflictSink sink;
	uint32		ngroups;
	RowId		lowest;			/* of the current group */
} RecheckIndex;

struct Rechecks
{
	MemoryContext context;
	Records    *records;

	/* read position */
	bool		more;
	int64		next[RECHECK_COLUMNS];
};

/* A table whose rows are being queued. */
typedef struct RecheckedTable
{
	const RecheckTables *given;
	EState	   *estate;
	ResultRelInfo *rri;			/* whose only matching triggers are rechecks */
	TupleTableSlot *slot;		/* holds a row's TID */
	MemoryContext row_context;
	int64		nrows;
} RecheckedTable;

bool
recheck_is_trigger(const Trigger *trigger)
{
	return trigger->tgfoid == F_UNIQUE_KEY_RECHECK;
}

/* ---- noting conflicts ---- */

Rechecks *
rechecks_open(void)
{
	Rechecks   *rechecks = palloc0(sizeof(Rechecks));

	rechecks->context = CurrentMemoryContext;
	rechecks->records = records_open(RECHECK_COLUMNS, maintenance_work_mem / 4);
	return rechecks;
}

/* The first row of each group needs no recheck: it conflicted with nothing when it came. */
static void
note(void *arg, uint32 group, RowId row)
{
	RecheckIndex *index = arg;
	int64		values[RECHECK_COLUMNS] = {
		[RECHECK_TABLE] = index->table,
		[RECHECK_ROW] = (int64) Max(row, index->lowest),
		[RECHECK_INDEX] = index->relid
	};

	if (group >= index->ngroups)
	{
		index->ngroups = group + 1;
		index->lowest = row;
		return;
	}
	records_put(index->rechecks->records, values);
	index->lowest = Min(row, index->lowest);
}

const ConflictSink *
rechecks_add_index(Rechecks *rechecks, int table, Oid index)
{
	RecheckIndex *added = MemoryContextAllocZero(rechecks->context, sizeof(RecheckIndex));

	added->rechecks = rechecks;
	added->table = table;
	added->relid = index;
	added->sink = (ConflictSink) {.add = note,.arg = added};
	return &added->sink;
}

/* ---- the queue ---- */

static void
open_table(RecheckedTable *table, Relation rel)
{
	table->estate = CreateExecutorState();
	table->rri = makeNode(ResultRelInfo);
	InitResultRelInfo(table->rri, rel, 0, NULL, 0);
	foreign_key_disable_triggers(table->rri->ri_TrigDesc);
	table->slot = table_slot_create(rel, NULL);
	table->row_context = AllocSetContextCreate(CurrentMemoryContext,
											   "bulk_load recheck",
											   ALLOCSET_DEFAULT_SIZES);
}

static void
close_table(RecheckedTable *table)
{
	MemoryContextDelete(table->row_context);
	ExecDropSingleTupleTableSlot(table->slot);
	ExecResetTupleTable(table->estate->es_tupleTable, false);
	ExecCloseResultRelations(table->estate);
	FreeExecutorState(table->estate);
}

/*
 * Each row is queued as a statement of its own: constraints that are not
 * deferred are checked before the next row, so that an error is about this row.
 */
static void
queue_row(RecheckedTable *table, const ItemPointerData *tid, List *indexes,
		  const JournalPlace *place)
{
	MemoryContext old = MemoryContextSwitchTo(table->row_context);

	table->given->set_context(table->given->arg, place);
	table->slot->tts_tid = *tid;
	AfterTriggerBeginQuery();
	ExecARInsertTriggers(table->estate, table->rri, table->slot, indexes, NULL);
	AfterTriggerEndQuery(table->estate);
	table->given->set_context(table->given->arg, NULL);
	table->nrows++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(table->row_context);
}

static void
take_next(Rechecks *rechecks)
{
	rechecks->more = records_next(rechecks->records, rechecks->next);
}

/* Queues the row at a TID, if it was noted. */
static void
take_row(Rechecks *rechecks, RecheckedTable *table, const ItemPointerData *tid,
		 const JournalPlace *place)
{
	int64		number = rechecks->next[RECHECK_TABLE];
	RowId		row = row_id(tid, true);
	List	   *indexes = NIL;

	while (rechecks->more && rechecks->next[RECHECK_TABLE] == number &&
		   (RowId) rechecks->next[RECHECK_ROW] == row)
	{
		indexes = lappend_oid(indexes, (Oid) rechecks->next[RECHECK_INDEX]);
		take_next(rechecks);
	}
	if (indexes == NIL)
		return;
	queue_row(table, tid, indexes, place);
	list_free(indexes);
}

/*
 * Skips rows that were in the table before the load: they were queued when they
 * were inserted.
 */
static void
skip_old(Rechecks *rechecks, int number, BlockNumber first)
{
	while (rechecks->more && rechecks->next[RECHECK_TABLE] == number &&
		   (BlockNumber) (rechecks->next[RECHECK_ROW] >> 17) < first)
		take_next(rechecks);
}

/* Queues all noted rows of the next table; the journal is read by tables, too. */
static void
queue_table(Rechecks *rechecks, JournalReader *reader, RecheckedTable *table)
{
	int			number = (int) rechecks->next[RECHECK_TABLE];
	bool		begun = false;

	while (rechecks->more && rechecks->next[RECHECK_TABLE] == number &&
		   journal_next_record(reader))
	{
		if (reader->table != number)
			continue;
		if (!begun)
			skip_old(rechecks, number, reader->runs[0].block);
		begun = true;
		for (uint32 i = 0; i < reader->nruns; i++)
		{
			const JournalRun *run = &reader->runs[i];

			CHECK_FOR_INTERRUPTS();
			for (int j = 0; j < run->count; j++)
			{
				JournalPlace place;
				ItemPointerData tid;

				journal_next_place(reader, &place);
				ItemPointerSet(&tid, run->block, run->first + j);
				take_row(rechecks, table, &tid, &place);
			}
		}
	}
	if (rechecks->more && rechecks->next[RECHECK_TABLE] == number)
		heap_scan_raise_written(table->rri->ri_RelationDesc,
								"A new row with the key of another one is not of the load.");
}

int64
rechecks_queue(Rechecks *rechecks, Journal *journal, const RecheckTables *tables)
{
	JournalReader *reader;
	int64		nrows = 0;

	records_sort(rechecks->records);
	take_next(rechecks);
	if (!rechecks->more)
		return 0;
	reader = journal_read_by_table(journal);
	while (rechecks->more)
	{
		RecheckedTable table = {.given = tables};
		Relation	rel = tables->get(tables->arg, (int) rechecks->next[RECHECK_TABLE]);

		open_table(&table, rel);
		queue_table(rechecks, reader, &table);
		nrows += table.nrows;
		close_table(&table);
	}
	journal_end_read(reader);
	return nrows;
}

void
rechecks_close(Rechecks *rechecks)
{
	records_close(rechecks->records);
}
