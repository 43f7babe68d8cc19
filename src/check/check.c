/*
 * check.c
 *		See check.h.
 *
 * The journal is read once: for each row its page is pinned and its keys are
 * looked up.  Bad rows are deleted as they are found and wait, sorted by
 * their place in the input, until they can go to the reject stream.  Where a
 * table refers to one that is loaded, a row may have lost what it refers to:
 * then everything is looked at again, until no more rows are bad.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/partition.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "check/check.h"
#include "check/foreign_key.h"
#include "commands/trigger.h"
#include "compat.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

/* Bytes that bad rows may wait in, in kB, before they go to a file. */
#define SORT_MEMORY_KB 4096

/* Rows that are rejected between two flushes of the stream. */
#define FLUSH_ROWS 1000

typedef struct CheckedTable
{
	Relation	rel;
	TriggerDesc *triggers;
	TupleTableSlot *slot;
	int			nkeys;
	ForeignKey **keys;
	bool	   *again;			/* the key refers to a table that is loaded */
	bool	  **good;			/* rows of the page in hand, by key */
} CheckedTable;

/* Keys of a constraint, all its parts included, that are known to be good. */
typedef struct GoodKeys
{
	Oid			constraint;
	KeySet	   *keys;
} GoodKeys;

struct Checks
{
	const BulkOptions *options;
	MemoryContext context;
	Journal    *journal;
	int			ntables;
	int			capacity;
	CheckedTable *tables;

	/* of checks_run */
	const CheckReport *report;
	MemoryContext row_context;
	List	   *good;			/* of GoodKeys */
	HeapTupleData tuples[MaxHeapTuplesPerPage];	/* of the page in hand */
	JournalPlace places[MaxHeapTuplesPerPage];
	bool		repeating;		/* only keys that refer to a loaded table count */
	int64		deleted;		/* in this pass */
	Tuplesortstate *bad;		/* rows that were deleted; NULL: none */
	TupleTableSlot *bad_row;	/* on its way there, */
	TupleTableSlot *bad_slot;	/* and back */

	/* on_error = stop: the first bad row in the order of the input */
	bool		has_first;
	JournalPlace first;
	CheckedTable *first_table;
	ForeignKey *first_key;
	ItemPointerData first_tid;
};

/* int8 < int8, which has no name in the catalogs' headers. */
#define INT8_LESS 412

/* What is known of a bad row. */
enum
{
	BAD_FILE,
	BAD_OFFSET,
	BAD_LINE,
	BAD_LENGTH,
	BAD_END_LENGTH,
	BAD_TABLE,
	BAD_KEY,
	BAD_VALUE,
	BAD_NATTS
};

/* ---- which tables ---- */

static inline bool
is_after_row_insert(const Trigger *trigger)
{
	return TRIGGER_TYPE_MATCHES(trigger->tgtype, TRIGGER_TYPE_ROW,
								TRIGGER_TYPE_AFTER, TRIGGER_TYPE_INSERT);
}

/* Whether a publication sends what is inserted and keeps what is deleted. */
static bool
some_publication_hides_deletes(void)
{
	Relation	rel = table_open(PublicationRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;
	bool		found = false;

	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_publication publication = (Form_pg_publication) GETSTRUCT(tuple);

		found = publication->pubinsert && !publication->pubdelete;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/* Why a row that was inserted could not be deleted again as if it had never been. */
static const char *
deletion_fault(Relation rel, const BulkOptions *options)
{
	if (options->on_error == BULK_ON_ERROR_STOP)
		return NULL;
	if (options->freeze)
		return "has foreign keys, and frozen rows cannot be taken back";
	if (!RelationIsLogicallyLogged(rel))
		return NULL;
	if (rel->rd_rel->relreplident != REPLICA_IDENTITY_FULL &&
		!OidIsValid(RelationGetReplicaIndex(rel)))
		return "has foreign keys, but no replica identity by which subscribers would know what is taken back";
	if (some_publication_hides_deletes())
		return "has foreign keys, and a publication does not tell what is taken back";
	return NULL;
}

const char *
checks_fault(Relation rel, const BulkOptions *options)
{
	const TriggerDesc *triggers = rel->trigdesc;
	bool		any = false;

	if (triggers == NULL)
		return NULL;
	if (triggers->trig_insert_before_row || triggers->trig_insert_instead_row ||
		triggers->trig_insert_new_table)
		return "has triggers that see each row";
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];
		const char *fault;

		if (!is_after_row_insert(trigger))
			continue;
		if (!foreign_key_is_check(trigger))
			return "has triggers that see each row";
		if (!foreign_key_fires(trigger))
			continue;
		fault = foreign_key_fault(trigger);
		if (fault != NULL)
			return fault;
		any = true;
	}
	if (!any || rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return NULL;
	return deletion_fault(rel, options);
}

Checks *
checks_open(const BulkOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pgbulk checks",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Checks	   *checks = palloc0(sizeof(Checks));

	checks->options = options;
	checks->context = context;
	checks->journal = journal_open();
	MemoryContextSwitchTo(old);
	return checks;
}

Journal *
checks_journal(const Checks *checks)
{
	return checks->journal;
}

int
checks_add_table(Checks *checks, Relation rel)
{
	const TriggerDesc *triggers = rel->trigdesc;
	MemoryContext old;
	CheckedTable *table;
	int			nkeys = 0;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		nkeys += is_after_row_insert(&triggers->triggers[i]) &&
			foreign_key_fires(&triggers->triggers[i]);
	if (nkeys == 0)
		return CHECKS_NOTHING;

	old = MemoryContextSwitchTo(checks->context);
	if (checks->ntables == checks->capacity)
	{
		checks->capacity = Max(checks->capacity * 2, 4);
		checks->tables = checks->tables == NULL ?
			palloc(sizeof(CheckedTable) * checks->capacity) :
			repalloc(checks->tables, sizeof(CheckedTable) * checks->capacity);
	}
	table = &checks->tables[checks->ntables];
	memset(table, 0, sizeof(*table));
	table->rel = rel;
	table->triggers = CopyTriggerDesc(rel->trigdesc);
	table->nkeys = nkeys;
	MemoryContextSwitchTo(old);
	return checks->ntables++;
}

bool
checks_expected(const Checks *checks, Relation target)
{
	return checks->ntables > 0 ||
		target->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
}

/* ---- the keys of a table ---- */

/* Whether rows that are loaded may be what others refer to. */
static bool
is_loaded(const Checks *checks, Oid relid)
{
	for (int i = 0; i < checks->ntables; i++)
	{
		Relation	rel = checks->tables[i].rel;

		if (RelationGetRelid(rel) == relid ||
			(rel->rd_rel->relispartition &&
			 list_member_oid(get_partition_ancestors(RelationGetRelid(rel)), relid)))
			return true;
	}
	return false;
}

/* The set of a key; in the memory that indexes may take, for all of a table. */
static KeySet *
find_good(Checks *checks, const CheckedTable *table, const Trigger *trigger)
{
	Oid			root = foreign_key_root(trigger);
	GoodKeys   *good;
	ListCell   *lc;

	foreach(lc, checks->good)
	{
		good = lfirst(lc);
		if (good->constraint == root)
			return good->keys;
	}
	good = palloc(sizeof(GoodKeys));
	good->constraint = root;
	good->keys = key_set_create((Size) maintenance_work_mem * 1024 / table->nkeys);
	checks->good = lappend(checks->good, good);
	return good->keys;
}

static void
open_keys(Checks *checks, CheckedTable *table)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);
	int			nkeys = 0;

	table->slot = table_slot_create(table->rel, NULL);
	table->keys = palloc(sizeof(ForeignKey *) * table->nkeys);
	table->again = palloc(sizeof(bool) * table->nkeys);
	table->good = palloc(sizeof(bool *) * table->nkeys);
	for (int i = 0; i < table->triggers->numtriggers; i++)
	{
		const Trigger *trigger = &table->triggers->triggers[i];
		ForeignKey *key;

		if (!is_after_row_insert(trigger) || !foreign_key_fires(trigger))
			continue;
		key = foreign_key_open(table->rel, trigger,
							   find_good(checks, table, trigger));
		table->keys[nkeys] = key;
		table->good[nkeys] = palloc(sizeof(bool) * MaxHeapTuplesPerPage);
		table->again[nkeys++] = is_loaded(checks, foreign_key_referenced(key));
	}
	Assert(nkeys == table->nkeys);
	MemoryContextSwitchTo(old);
}

static void
close_keys(CheckedTable *table)
{
	if (table->keys == NULL)
		return;
	for (int i = 0; i < table->nkeys; i++)
		foreign_key_close(table->keys[i]);
	ExecDropSingleTupleTableSlot(table->slot);
}

/* ---- bad rows ---- */

/* Has the context of an error tell where the row came from. */
static void
tell_place(const Checks *checks, Reject *reject, const JournalPlace *place)
{
	reject->file = list_nth(checks->report->paths, place->file);
	reject->line = place->line;
	reject->offset = place->offset;
	*checks->report->telling = reject;
}

static void
open_bad(Checks *checks)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);
	TupleDesc	desc = CreateTemplateTupleDesc(BAD_NATTS);
	AttrNumber	atts[] = {BAD_FILE + 1, BAD_OFFSET + 1};
	Oid			operators[] = {INT8_LESS, INT8_LESS};
	Oid			collations[] = {InvalidOid, InvalidOid};
	bool		nulls_first[] = {false, false};

	for (int i = 0; i < BAD_VALUE; i++)
		TupleDescInitEntry(desc, i + 1, NULL, INT8OID, -1, 0);
	TupleDescInitEntry(desc, BAD_VALUE + 1, NULL, TEXTOID, -1, 0);
	compat_finalize_desc(desc);
	checks->bad_row = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	checks->bad_slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	checks->bad = tuplesort_begin_heap(desc, lengthof(atts), atts, operators,
									   collations, nulls_first, SORT_MEMORY_KB,
									   NULL, TUPLESORT_NONE);
	MemoryContextSwitchTo(old);
}

static void
remember_bad(Checks *checks, CheckedTable *table, int keyno, HeapTuple tuple,
			 const JournalPlace *place)
{
	ForeignKey *key = table->keys[keyno];
	char	   *value = foreign_key_value(key, tuple);
	TupleTableSlot *slot;
	Datum		values[BAD_NATTS] = {
		[BAD_FILE] = Int64GetDatum(place->file),
		[BAD_OFFSET] = Int64GetDatum(place->offset),
		[BAD_LINE] = Int64GetDatum(place->line),
		[BAD_LENGTH] = Int64GetDatum(place->length),
		[BAD_END_LENGTH] = Int64GetDatum(place->end_length),
		[BAD_TABLE] = Int64GetDatum(table - checks->tables),
		[BAD_KEY] = Int64GetDatum(keyno)
	};

	if (checks->bad == NULL)
		open_bad(checks);
	slot = ExecClearTuple(checks->bad_row);
	memcpy(slot->tts_values, values, sizeof(values));
	memset(slot->tts_isnull, 0, sizeof(bool) * BAD_NATTS);
	slot->tts_isnull[BAD_VALUE] = value == NULL;
	if (value != NULL)
		slot->tts_values[BAD_VALUE] = CStringGetTextDatum(value);
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(checks->bad, slot);
	ExecClearTuple(slot);
}

/* Of a row, in the order of the input. */
static inline bool
is_before(const JournalPlace *a, const JournalPlace *b)
{
	return a->file != b->file ? a->file < b->file : a->offset < b->offset;
}

/* A row without a referenced one; false: it has come meanwhile. */
static bool
take_bad(Checks *checks, CheckedTable *table, int keyno, HeapTuple tuple,
		 const JournalPlace *place)
{
	ForeignKey *key = table->keys[keyno];
	Reject		reject = {0};

	if (checks->options->on_error == BULK_ON_ERROR_STOP)
	{
		if (!checks->has_first || is_before(place, &checks->first))
		{
			checks->first = *place;
			checks->first_table = table;
			checks->first_key = key;
			checks->first_tid = tuple->t_self;
		}
		checks->has_first = true;
		return true;
	}

	tell_place(checks, &reject, place);
	if (!foreign_key_note(key, &tuple->t_self, table->slot))
	{
		*checks->report->telling = NULL;
		return false;
	}
	remember_bad(checks, table, keyno, tuple, place);
	simple_heap_delete(table->rel, &tuple->t_self);
	checks->deleted++;
	*checks->report->telling = NULL;
	return true;
}

/* ---- rows ---- */

/* Whether the row, which is this transaction's, has not been deleted since. */
static inline bool
is_alive(const HeapTupleHeaderData *header)
{
	return (header->t_infomask & HEAP_XMAX_INVALID) ||
		HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask);
}

/* Row number index of the page in hand. */
static void
check_row(Checks *checks, CheckedTable *table, int index)
{
	HeapTuple	tuple = &checks->tuples[index];
	const JournalPlace *place = &checks->places[index];

	if (checks->has_first && !is_before(place, &checks->first))
		return;
	for (int i = 0; i < table->nkeys; i++)
	{
		if (table->good[i][index] || (checks->repeating && !table->again[i]))
			continue;
		if (!foreign_key_holds(table->keys[i], tuple) &&
			take_bad(checks, table, i, tuple, place))
			break;
	}
}

/* Takes the rows of a run in hand; returns how many they are. */
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

/* The rows of a run of neighbours. */
static void
check_run(Checks *checks, CheckedTable *table, JournalReader *reader,
		  const JournalRun *run, BufferAccessStrategy strategy)
{
	Buffer		buffer = ReadBufferExtended(table->rel, MAIN_FORKNUM, run->block,
											RBM_NORMAL, strategy);
	int			n = take_rows(checks, RelationGetRelid(table->rel),
							  BufferGetPage(buffer), reader, run);

	for (int i = 0; i < table->nkeys; i++)
	{
		foreign_key_sift(table->keys[i], checks->tuples, n, table->good[i]);
		if (!checks->repeating || table->again[i])
			foreign_key_probe(table->keys[i], checks->tuples, n, table->good[i]);
	}
	for (int i = 0; i < n; i++)
		check_row(checks, table, i);
	ReleaseBuffer(buffer);
	MemoryContextReset(checks->row_context);
}

/* All rows, once. */
static void
check_rows(Checks *checks)
{
	JournalReader *reader = journal_read(checks->journal);
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	MemoryContext old = MemoryContextSwitchTo(checks->row_context);

	while (journal_next_record(reader))
	{
		CheckedTable *table = &checks->tables[reader->table];

		if (table->keys == NULL)
			open_keys(checks, table);
		for (uint32 i = 0; i < reader->nruns; i++)
		{
			CHECK_FOR_INTERRUPTS();
			check_run(checks, table, reader, &reader->runs[i], strategy);
		}
	}
	MemoryContextSwitchTo(old);
	FreeAccessStrategy(strategy);
	journal_end_read(reader);
}

/* Rows were deleted that others may refer to: those must be looked at again. */
static bool
must_repeat(Checks *checks)
{
	bool		repeat = false;
	ListCell   *lc;

	if (checks->deleted == 0)
		return false;
	for (int i = 0; i < checks->ntables; i++)
	{
		CheckedTable *table = &checks->tables[i];

		for (int j = 0; j < table->nkeys && table->keys != NULL; j++)
			repeat |= table->again[j];
	}
	foreach(lc, checks->good)
		key_set_clear(((GoodKeys *) lfirst(lc))->keys);
	return repeat;
}

/* ---- the end ---- */

/* Raises the error of the first bad row, if it still is one. */
static void
raise_first(Checks *checks)
{
	Reject		reject = {0};

	tell_place(checks, &reject, &checks->first);
	foreign_key_raise(checks->first_key, &checks->first_tid,
					  checks->first_table->slot);
	*checks->report->telling = NULL;
	checks->has_first = false;
}

/* One bad row, from the sort to the stream. */
static void
reject_bad(Checks *checks, TupleTableSlot *slot)
{
	const CheckReport *report = checks->report;
	const Datum *values = slot->tts_values;
	JournalPlace place = {
		.file = DatumGetInt64(values[BAD_FILE]),
		.offset = DatumGetInt64(values[BAD_OFFSET]),
		.line = DatumGetInt64(values[BAD_LINE]),
		.length = DatumGetInt64(values[BAD_LENGTH]),
		.end_length = DatumGetInt64(values[BAD_END_LENGTH])
	};
	const CheckedTable *table = &checks->tables[DatumGetInt64(values[BAD_TABLE])];
	const ForeignKey *key = table->keys[DatumGetInt64(values[BAD_KEY])];
	Reject		reject = {
		.reason = REJECT_FOREIGN_KEY,
		.sqlstate = ERRCODE_FOREIGN_KEY_VIOLATION,
		.message = foreign_key_message(key),
		.column = foreign_key_column(key),
		.value = slot->tts_isnull[BAD_VALUE] ? NULL : TextDatumGetCString(values[BAD_VALUE]),
		.raw_len = place.length - place.end_length,
		.raw_full_len = place.length
	};

	tell_place(checks, &reject, &place);
	reject.raw = raw_read(report->raw, place.file, place.offset, place.length);
	if (reject.raw == NULL)
	{
		/* nobody will look at it */
		reject.raw = "";
		reject.raw_len = reject.raw_full_len = 0;
	}
	rejects_add(report->rejects, &reject);
	*report->telling = NULL;
}

static int64
reject_all(Checks *checks)
{
	MemoryContext old = MemoryContextSwitchTo(checks->row_context);
	TupleTableSlot *slot = checks->bad_slot;
	int64		nrows = 0;

	tuplesort_performsort(checks->bad);
	while (tuplesort_gettupleslot(checks->bad, true, false, slot, NULL))
	{
		slot_getallattrs(slot);
		reject_bad(checks, slot);
		MemoryContextReset(checks->row_context);
		if (++nrows % FLUSH_ROWS == 0)
		{
			CHECK_FOR_INTERRUPTS();
			rejects_flush(checks->report->rejects);
		}
	}
	MemoryContextSwitchTo(old);
	tuplesort_end(checks->bad);
	ExecDropSingleTupleTableSlot(slot);
	ExecDropSingleTupleTableSlot(checks->bad_row);
	raw_close(checks->report->raw);
	return nrows;
}

int64
checks_run(Checks *checks, const CheckReport *report)
{
	int64		nrows = 0;
	bool		again;

	if (checks->ntables == 0)
		return 0;
	checks->report = report;
	checks->row_context = AllocSetContextCreate(checks->context, "pgbulk checks row",
												ALLOCSET_DEFAULT_SIZES);
	CommandCounterIncrement();
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	do
	{
		checks->deleted = 0;
		check_rows(checks);
		again = checks->has_first;
		if (checks->has_first)
			raise_first(checks);	/* it returns: then look at the others, too */
		else
			again = checks->repeating = must_repeat(checks);
	} while (again);
	SPI_finish();

	if (checks->bad != NULL)
		nrows = reject_all(checks);
	for (int i = 0; i < checks->ntables; i++)
		close_keys(&checks->tables[i]);
	journal_close(checks->journal);
	MemoryContextDelete(checks->row_context);
	return nrows;
}
