/*
 * check_keys.c
 *		Checks the foreign keys of the rows in the journal (check_state.h).
 *
 * Keys that were collected as pages were written (key_pass.h), or else those of all rows of the
 * journal, are looked up many at a time.  If that does not show that all rows are good, all rows
 * of the journal are looked at: the page of each is pinned, and its keys that were not found are
 * looked up one by one.  Bad rows are deleted as they are found.  Where a table refers to one that
 * is being loaded, a deletion may remove a referenced row: then the pass is repeated until it finds
 * no more bad rows.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "check/check_state.h"
#include "check/tables.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "server/progress.h"
#include "storage/bufmgr.h"
#include "table/partition_tree.h"
#include "utils/memutils.h"

/* Less for a key has no room for the values that are looked up at a time. */
#define MIN_MEMORY (256 * 1024)

/* What is done to the n rows of a run, in checks->tuples and checks->places. */
typedef void (*TakeRows) (Checks *checks, CheckedTable *table, int n);

/* ---- keys of a table ---- */

/* Whether a referenced table is the target, one of its partitions or an ancestor. */
static bool
is_loaded(const Checks *checks, Oid relid)
{
	Oid			target = RelationGetRelid(checks->target);

	return partition_tree_is_part_of(target, relid) || partition_tree_is_part_of(relid, target);
}

/* What is known of a key's values; all keys of a table share maintenance_work_mem. */
static KeyValues *
find_values(Checks *checks, const CheckedTable *table, const Trigger *trigger)
{
	Oid			root = foreign_key_root(trigger);
	GoodKeys   *good;
	ListCell   *lc;

	foreach(lc, checks->good)
	{
		good = lfirst(lc);
		if (good->constraint == root)
			return good->values;
	}
	good = palloc(sizeof(GoodKeys));
	good->constraint = root;
	good->values = key_values_create(Max((Size) maintenance_work_mem * 1024 / table->nkeys,
										 MIN_MEMORY));
	checks->good = lappend(checks->good, good);
	return good->values;
}

static void
open_keys(Checks *checks, CheckedTable *table)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);
	const Trigger *trigger;
	int			next = 0;
	int			nkeys = 0;

	checks_check_role(checks);
	table->slot = table_slot_create(table->rel, NULL);
	table->keys = palloc(sizeof(ForeignKey *) * table->nkeys);
	table->refers_to_loaded = palloc(sizeof(bool) * table->nkeys);
	table->good = palloc(sizeof(bool *) * table->nkeys);
	while ((trigger = tables_next_key(table->triggers, &next)) != NULL)
	{
		ForeignKey *key = foreign_key_open(table->rel, trigger,
										   find_values(checks, table, trigger));

		table->keys[nkeys] = key;
		table->good[nkeys] = palloc(sizeof(bool) * MaxHeapTuplesPerPage);
		table->refers_to_loaded[nkeys++] = is_loaded(checks, foreign_key_referenced(key));
	}
	Assert(nkeys == table->nkeys);
	MemoryContextSwitchTo(old);
}

void
checks_close_keys(CheckedTable *table)
{
	if (table->keys == NULL)
		return;
	for (int i = 0; i < table->nkeys; i++)
		foreign_key_close(table->keys[i]);
	ExecDropSingleTupleTableSlot(table->slot);
}

/* ---- bad rows ---- */

static void
remember_bad(Checks *checks, CheckedTable *table, int keyno, HeapTuple tuple,
			 const JournalPlace *place)
{
	BadRow		bad = {
		.place = *place,
		.reason = REJECT_FOREIGN_KEY,
		.table = table - checks->tables,
		.key = keyno,
		.value = foreign_key_value(table->keys[keyno], tuple)
	};

	checks_open_bad(checks);
	bad_rows_put(checks->bad, &bad);
}

/* Handles a row whose referenced row is missing; false if that has appeared meanwhile. */
static bool
handle_bad(Checks *checks, CheckedTable *table, int keyno, HeapTuple tuple,
		   const JournalPlace *place)
{
	ForeignKey *key = table->keys[keyno];

	if (checks->options->on_error == BULK_ON_ERROR_STOP)
	{
		if (!checks->has_first || journal_is_before(place, &checks->first))
		{
			checks->first = *place;
			checks->first_table = table;
			checks->first_key = key;
			checks->first_tid = tuple->t_self;
		}
		checks->has_first = true;
		return true;
	}

	checks_set_context(checks, place);
	if (!foreign_key_note(key, &tuple->t_self, table->slot))
	{
		*checks->report->context_row = NULL;
		return false;
	}
	remember_bad(checks, table, keyno, tuple, place);
	simple_heap_delete(table->rel, &tuple->t_self);
	checks->deleted++;
	table->ndeleted++;
	*checks->report->context_row = NULL;
	return true;
}

bool
checks_holds(Checks *checks, int number, HeapTuple tuple, int *keyno)
{
	CheckedTable *table = &checks->tables[number];
	int			i;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (table->keys == NULL)
		open_keys(checks, table);
	for (i = 0; i < table->nkeys; i++)
		if (!table->refers_to_loaded[i] && !foreign_key_holds(table->keys[i], tuple))
			break;
	SPI_finish();
	*keyno = i;
	return i == table->nkeys;
}

void
checks_forget_keys(Checks *checks)
{
	ListCell   *lc;

	foreach(lc, checks->good)
		key_values_clear(((GoodKeys *) lfirst(lc))->values);
}

bool
checks_take_orphan(Checks *checks, int number, int keyno, HeapTuple tuple,
				   TupleTableSlot *slot, const JournalPlace *place)
{
	CheckedTable *table = &checks->tables[number];
	bool		stop = checks->options->on_error == BULK_ON_ERROR_STOP;

	if (!foreign_key_test(table->keys[keyno], slot, stop))
		return false;
	remember_bad(checks, table, keyno, tuple, place);
	return true;
}

/* ---- rows ---- */

/* Whether a row of this transaction has not been deleted. */
static inline bool
is_alive(HeapTupleHeader header)
{
	if ((header->t_infomask & HEAP_XMAX_INVALID) ||
		HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask))
		return true;
	/* an aborted subtransaction's deletion does not count */
	return !TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header));
}

/* Checks row number index of the current page. */
static void
check_row(Checks *checks, CheckedTable *table, int index)
{
	HeapTuple	tuple = &checks->tuples[index];
	const JournalPlace *place = &checks->places[index];

	if (checks->has_first && !journal_is_before(place, &checks->first))
		return;
	for (int i = 0; i < table->nkeys; i++)
	{
		if (table->good[i][index] || (checks->repeating && !table->refers_to_loaded[i]))
			continue;
		if (!foreign_key_holds(table->keys[i], tuple) &&
			handle_bad(checks, table, i, tuple, place))
			break;
	}
}

/* Collects the live rows of a run; returns their number. */
static int
take_rows(Checks *checks, Oid relid, Page page, JournalReader *reader,
		  const JournalRun *run)
{
	int			n = 0;

	for (int i = 0; i < run->count; i++)
	{
		HeapTuple	tuple = &checks->tuples[n];
		OffsetNumber offset = run->first + i;
		ItemId		id = PageGetItemId(page, offset);

		journal_next_place(reader, &checks->places[n]);
		if (!ItemIdIsNormal(id))
			continue;
		tuple->t_len = ItemIdGetLength(id);
		tuple->t_tableOid = relid;
		tuple->t_data = (HeapTupleHeader) PageGetItem(page, id);
		ItemPointerSet(&tuple->t_self, run->block, offset);
		n += is_alive(tuple->t_data);
	}
	return n;
}

/* Looks for the keys of rows one by one. */
static void
check_rows(Checks *checks, CheckedTable *table, int n)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		foreign_key_find_known(table->keys[i], checks->tuples, n, table->good[i]);
		if (!checks->repeating || table->refers_to_loaded[i])
			foreign_key_probe(table->keys[i], checks->tuples, n, table->good[i]);
	}
	for (int i = 0; i < n; i++)
		check_row(checks, table, i);
}

/* Takes a run of consecutive rows of one page. */
static void
take_run(Checks *checks, CheckedTable *table, JournalReader *reader,
		 const JournalRun *run, BufferAccessStrategy strategy, TakeRows take)
{
	Buffer		buffer = ReadBufferExtended(table->rel, MAIN_FORKNUM, run->block,
											RBM_NORMAL, strategy);
	int			n = take_rows(checks, RelationGetRelid(table->rel),
							  BufferGetPage(buffer), reader, run);

	take(checks, table, n);
	ReleaseBuffer(buffer);
	MemoryContextReset(checks->row_context);
}

/* One pass over all rows. */
static void
walk_rows(Checks *checks, TakeRows take)
{
	JournalReader *reader = journal_read(checks->journal);
	double		nrows = 0;
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	MemoryContext old;

	checks->tuples = palloc(sizeof(HeapTupleData) * MaxHeapTuplesPerPage);
	checks->places = palloc(sizeof(JournalPlace) * MaxHeapTuplesPerPage);
	old = MemoryContextSwitchTo(checks->row_context);
	while (journal_next_record(reader))
	{
		CheckedTable *table = &checks->tables[reader->table];

		if (table->nkeys == 0)
			continue;
		if (table->keys == NULL)
			open_keys(checks, table);
		for (uint32 i = 0; i < reader->nruns; i++)
		{
			CHECK_FOR_INTERRUPTS();
			take_run(checks, table, reader, &reader->runs[i], strategy, take);
			nrows += reader->runs[i].count;
			progress_done(nrows / Max(checks->report->rows, 1));
		}
	}
	MemoryContextSwitchTo(old);
	pfree(checks->tuples);
	pfree(checks->places);
	FreeAccessStrategy(strategy);
	journal_end_read(reader);
}

/* ---- keys looked up together ---- */

/* Looks up what was asked for; whether all rows are certain to be good. */
static bool
settle_keys(Checks *checks)
{
	bool		good = true;

	for (int i = 0; i < checks->ntables; i++)
		for (int j = 0; j < checks->tables[i].nkeys && checks->tables[i].keys != NULL; j++)
			good &= foreign_key_settle(checks->tables[i].keys[j]);
	return good;
}

/* Asks for the keys of rows. */
static void
ask_rows(Checks *checks, CheckedTable *table, int n)
{
	for (int i = 0; i < table->nkeys; i++)
		checks->doubtful |= !foreign_key_ask(table->keys[i], checks->tuples, n,
											 !checks->doubtful, table->good[i]);
}

/* Asks for keys that have been collected. */
static void
ask_items(void *arg, int key, KeySetItem *items, int n)
{
	Checks	   *checks = arg;
	MemoryContext old = MemoryContextSwitchTo(checks->row_context);

	checks->doubtful |= !foreign_key_ask_items(checks->tables->keys[key], items, n,
											   !checks->doubtful);
	MemoryContextSwitchTo(old);
	MemoryContextReset(checks->row_context);
}

/* Whether all rows are good; if not, most keys are known that are. */
static bool
ask_for_all(Checks *checks)
{
	/* where there is no row, no referenced table is opened */
	if (checks->pass != NULL && checks->report->rows > 0 &&
		key_pass_is_complete(checks->pass, checks->report->rows))
	{
		Assert(checks->ntables == 1 && checks->tables->keys == NULL);
		open_keys(checks, checks->tables);
		key_pass_read(checks->pass, ask_items, checks);
	}
	else
		walk_rows(checks, ask_rows);
	return settle_keys(checks);
}

bool
checks_must_recheck(Checks *checks)
{
	bool		repeat = false;

	if (checks->deleted == 0)
		return false;
	for (int i = 0; i < checks->ntables; i++)
	{
		CheckedTable *table = &checks->tables[i];

		for (int j = 0; j < table->nkeys && table->keys != NULL; j++)
			repeat |= table->refers_to_loaded[j];
	}
	checks_forget_keys(checks);
	return repeat;
}

/* Raises the error of the first bad row, if it still is one. */
static void
raise_first(Checks *checks)
{
	checks_set_context_with_bytes(checks, &checks->first);
	foreign_key_raise(checks->first_key, &checks->first_tid,
					  checks->first_table->slot);
	*checks->report->context_row = NULL;
	checks->has_first = false;
}

static bool
has_keys(const Checks *checks)
{
	for (int i = 0; i < checks->ntables; i++)
		if (checks->tables[i].nkeys > 0)
			return true;
	return false;
}

void
checks_check_keys(Checks *checks)
{
	bool		again;

	if (!has_keys(checks) || (!checks->repeating && ask_for_all(checks)))
		return;
	do
	{
		checks->deleted = 0;
		walk_rows(checks, check_rows);
		again = checks->has_first;
		if (checks->has_first)
			raise_first(checks);	/* if it returns, the row is good now: check the others */
		else
			again = checks->repeating = checks_must_recheck(checks);
	} while (again);
}
