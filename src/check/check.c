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

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "check/bad_rows.h"
#include "check/check.h"
#include "check/displaced.h"
#include "check/duplicates.h"
#include "check/foreign_key.h"
#include "check/recheck.h"
#include "check/remove_duplicates.h"
#include "check/tables.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "server/progress.h"
#include "storage/bufmgr.h"
#include "table/partition_tree.h"
#include "utils/memutils.h"
#include "utils/relcache.h"

/* What a row's foreign key takes, as most values come often. */
#define KEY_SECONDS 0.0000002

/* Rows that are rejected between two flushes of the stream. */
#define FLUSH_ROWS 1000

typedef struct CheckedTable
{
	Relation	rel;
	TriggerDesc *triggers;
	TupleTableSlot *slot;
	int			nkeys;
	ForeignKey **keys;
	bool	   *refers_to_loaded;	/* the key refers to a table that is loaded */
	bool	  **good;			/* rows of the page in hand, by key */
	int64		ndeleted;		/* rows of the load that were deleted again */
	int64		displaced;		/* others of it, that later ones have made go as DELETE does */
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
	Relation	target;			/* that is loaded */
	MemoryContext context;
	Journal    *journal;
	Conflicts  *conflicts;		/* of tables without index entries; NULL: there is none */
	Rechecks   *rechecks;		/* of deferrable keys; NULL: there are none */
	int64		nrechecks;		/* rows that wait for them, or have */
	bool		bad_expected;	/* rows may turn out to be bad, and not be the end */
	int			role;			/* session_replication_role, by which keys fire or not; -1: there are none */
	CommandId	cid;			/* when the first row came */
	bool		user_code_ran;	/* commands of functions or triggers since, until the last one */
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
	BadRows    *bad;			/* rows that were deleted; NULL: none */
	Displaced  *displaced;		/* likewise, their places not known yet */

	/* on_error = stop: the first bad row in the order of the input */
	bool		has_first;
	JournalPlace first;
	CheckedTable *first_table;
	ForeignKey *first_key;
	ItemPointerData first_tid;

	Reject		context_row;	/* for CONTEXT */
	int64		ndisplaced;		/* found so far */
};

Checks *
checks_open(const BulkOptions *options, Relation target)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pgbulk checks",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Checks	   *checks = palloc0(sizeof(Checks));

	checks->options = options;
	checks->target = target;
	checks->context = context;
	checks->journal = journal_open();
	checks->role = -1;
	MemoryContextSwitchTo(old);
	return checks;
}

void
checks_begin_rows(Checks *checks)
{
	checks->cid = GetCurrentCommandId(true);
}

void
checks_end_rows(Checks *checks)
{
	checks->user_code_ran = GetCurrentCommandId(false) != checks->cid;
}

Journal *
checks_journal(const Checks *checks)
{
	return checks->journal;
}

/* A trigger or a function may have changed it, and the server would go by what it was row by row. */
static void
check_role(const Checks *checks)
{
	if (checks->role >= 0 && checks->role != SessionReplicationRole)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("session_replication_role was changed while \"%s\" was loaded",
						RelationGetRelationName(checks->target)),
				 errdetail("Which foreign keys are to be checked depends on it."),
				 errhint("Set it before the load.")));
}

/* Those that fire. */
static int
count_keys(Checks *checks, const TriggerDesc *triggers)
{
	int			nkeys = 0;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (!tables_is_key(&triggers->triggers[i]))
			continue;
		check_role(checks);
		checks->role = SessionReplicationRole;
		nkeys += foreign_key_fires(&triggers->triggers[i]);
	}
	return nkeys;
}

/* Where rows of an index of the next table go if its constraint is deferrable; else NULL. */
static const ConflictSink *
find_recheck(Checks *checks, Oid relid)
{
	Relation	index = index_open(relid, AccessShareLock);
	bool		immediate = index->rd_index->indimmediate;

	index_close(index, AccessShareLock);
	if (immediate)
		return NULL;
	if (checks->rechecks == NULL)
		checks->rechecks = rechecks_open();
	return rechecks_add_index(checks->rechecks, checks->ntables, relid);
}

/* Its rows may turn out to be duplicates when its indexes are made. */
static void
expect_conflicts(Checks *checks, const List *unique, bool has_keys)
{
	/* of those that are an error the first will do, if no row can go before it */
	bool		first_only = checks->options->on_duplicate == BULK_ON_DUPLICATE_ERROR &&
		(!has_keys || checks->options->on_error == BULK_ON_ERROR_STOP);
	ListCell   *lc;

	if (checks->conflicts == NULL)
		checks->conflicts = conflicts_open();
	conflicts_add_table(checks->conflicts, checks->ntables, first_only);
	foreach(lc, unique)
		conflicts_add_index(checks->conflicts, lfirst_oid(lc),
							find_recheck(checks, lfirst_oid(lc)));
}

int
checks_add_table(Checks *checks, Relation rel, int what)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);
	int			nkeys = what & CHECKS_KEYS ? count_keys(checks, rel->trigdesc) : 0;
	List	   *unique = NIL;
	CheckedTable *table;

	if (what & CHECKS_CONFLICTS)
		unique = tables_unique_indexes(rel);
	if (nkeys == 0 && unique == NIL && !(what & CHECKS_DISPLACED) &&
		!(what & CHECKS_PLACES && tables_may_refuse(rel)))
	{
		MemoryContextSwitchTo(old);
		return CHECKS_NOTHING;
	}
	/* as DELETE would say of rows that subscribers could not find */
	if (checks->options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW &&
		(unique != NIL || (what & CHECKS_DISPLACED)))
		CheckCmdReplicaIdentity(rel, CMD_DELETE);
	if (unique != NIL)
		expect_conflicts(checks, unique, nkeys > 0);
	if (nkeys > 0 || (what & CHECKS_DISPLACED) ||
		checks->options->on_duplicate != BULK_ON_DUPLICATE_ERROR)
		checks->bad_expected = true;

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

Conflicts *
checks_conflicts(const Checks *checks)
{
	return checks->conflicts;
}

double
checks_seconds(const Checks *checks, double rows)
{
	int			nkeys = 0;

	for (int i = 0; i < checks->ntables; i++)
		nkeys = Max(nkeys, checks->tables[i].nkeys);
	return nkeys * rows * KEY_SECONDS;
}

/* Its number, or CHECKS_NOTHING. */
static int
find_table(const Checks *checks, Oid relid)
{
	for (int i = 0; i < checks->ntables; i++)
		if (RelationGetRelid(checks->tables[i].rel) == relid)
			return i;
	return CHECKS_NOTHING;
}

int64
checks_deleted(const Checks *checks, Oid relid)
{
	int			table = find_table(checks, relid);

	return table == CHECKS_NOTHING ? 0 : checks->tables[table].ndeleted;
}

bool
checks_find(const Checks *checks, Oid relid, const ItemPointerData *tid,
			JournalPlace *place)
{
	int			table = find_table(checks, relid);

	return table != CHECKS_NOTHING &&
		journal_find(checks->journal, table, tid, place);
}

bool
checks_expected(const Checks *checks, Relation target)
{
	return checks->bad_expected ||
		target->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
}

/* ---- the keys of a table ---- */

/* Whether rows that are loaded may be what others refer to: all are of the target or a partition of it. */
static bool
is_loaded(const Checks *checks, Oid relid)
{
	Oid			target = RelationGetRelid(checks->target);

	return partition_tree_is_part_of(target, relid) || partition_tree_is_part_of(relid, target);
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

	check_role(checks);
	table->slot = table_slot_create(table->rel, NULL);
	table->keys = palloc(sizeof(ForeignKey *) * table->nkeys);
	table->refers_to_loaded = palloc(sizeof(bool) * table->nkeys);
	table->good = palloc(sizeof(bool *) * table->nkeys);
	for (int i = 0; i < table->triggers->numtriggers; i++)
	{
		const Trigger *trigger = &table->triggers->triggers[i];
		ForeignKey *key;

		if (!tables_is_key(trigger) || !foreign_key_fires(trigger))
			continue;
		key = foreign_key_open(table->rel, trigger,
							   find_good(checks, table, trigger));
		table->keys[nkeys] = key;
		table->good[nkeys] = palloc(sizeof(bool) * MaxHeapTuplesPerPage);
		table->refers_to_loaded[nkeys++] = is_loaded(checks, foreign_key_referenced(key));
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
set_context_place(const Checks *checks, Reject *reject, const JournalPlace *place)
{
	reject->file = list_nth(checks->report->paths, place->file);
	reject->line = place->line;
	reject->offset = place->offset;
	*checks->report->context_row = reject;
}

/* The same of a row of which nothing else is known; it is told until something else is, or nothing. */
static void
set_context(Checks *checks, const JournalPlace *place)
{
	memset(&checks->context_row, 0, sizeof(Reject));
	set_context_place(checks, &checks->context_row, place);
}

/* The same with its bytes, for rows of which the server itself may throw an error. */
static void
set_context_with_bytes(Checks *checks, const JournalPlace *place)
{
	set_context(checks, place);
	checks->context_row.raw_len = place->length - place->end_length;
	checks->context_row.raw = raw_show(checks->report->raw, place->file, place->offset,
								   &checks->context_row.raw_len);
}

static void
open_bad(Checks *checks)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);

	if (checks->bad == NULL)
		checks->bad = bad_rows_open();
	MemoryContextSwitchTo(old);
}

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

	open_bad(checks);
	bad_rows_put(checks->bad, &bad);
}

/* A row without a referenced one; false: it has come meanwhile. */
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

	set_context(checks, place);
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
		key_set_clear(((GoodKeys *) lfirst(lc))->keys);
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

/* Whether the row, which is this transaction's, has not been deleted since. */
static inline bool
is_alive(HeapTupleHeader header)
{
	if ((header->t_infomask & HEAP_XMAX_INVALID) ||
		HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask))
		return true;
	/* what a subtransaction has done that was rolled back counts for nothing */
	return !TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header));
}

/* Row number index of the page in hand. */
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
		foreign_key_find_known(table->keys[i], checks->tuples, n, table->good[i]);
		if (!checks->repeating || table->refers_to_loaded[i])
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
	double		nrows = 0;
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	MemoryContext old = MemoryContextSwitchTo(checks->row_context);

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
			check_run(checks, table, reader, &reader->runs[i], strategy);
			nrows += reader->runs[i].count;
			progress_done(nrows / Max(checks->report->rows, 1));
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

/* ---- the end ---- */

/* Raises the error of the first bad row, if it still is one. */
static void
raise_first(Checks *checks)
{
	set_context_with_bytes(checks, &checks->first);
	foreign_key_raise(checks->first_key, &checks->first_tid,
					  checks->first_table->slot);
	*checks->report->context_row = NULL;
	checks->has_first = false;
}

/* What is to be said of a bad row. */
static void
describe_bad(const Checks *checks, const BadRow *bad, Reject *reject)
{
	const CheckedTable *table = &checks->tables[bad->table];

	reject->reason = bad->reason;
	reject->row = bad->row;
	if (bad->reason == REJECT_FOREIGN_KEY)
	{
		const ForeignKey *key = table->keys[bad->key];

		reject->sqlstate = ERRCODE_FOREIGN_KEY_VIOLATION;
		reject->message = foreign_key_message(key);
		reject->column = foreign_key_column(key);
		reject->value = bad->value;
		return;
	}
	reject->message = duplicates_message(bad->key, bad->reason,
										 checks->options->on_duplicate, bad->value,
										 &reject->sqlstate);
}

/* Should the load be done again, the row is to be passed over. */
static void
keep_bad(Checks *checks, const BadRow *bad, const Reject *reject)
{
	BadRow		kept = *bad;

	if (checks->report->kept == NULL)
		return;
	kept.message = reject->message;
	kept.column = reject->column;
	kept.sqlstate = reject->sqlstate;
	bad_rows_put(checks->report->kept, &kept);
}

/* One bad row to the stream. */
static void
reject_bad(Checks *checks, const BadRow *bad)
{
	const CheckReport *report = checks->report;
	const JournalPlace *place = &bad->place;
	Reject		reject = {0};

	describe_bad(checks, bad, &reject);
	set_context_place(checks, &reject, place);
	if (bad->reason != REJECT_REPLACED)
		keep_bad(checks, bad, &reject);
	if (bad->reason != REJECT_REPLACED && rejects_shown(report->rejects))
	{
		reject.raw = raw_read(report->raw, place->file, place->offset, place->length);
		reject.raw_len = place->length - place->end_length;
		reject.raw_full_len = place->length;
	}
	if (reject.raw == NULL)
	{
		/* nobody will look at it */
		reject.raw = "";
		reject.raw_len = reject.raw_full_len = 0;
	}
	rejects_add(report->rejects, &reject);
	*report->context_row = NULL;
}

/* Returns how many rows of the load they were. */
static int64
reject_all(Checks *checks)
{
	MemoryContext old = MemoryContextSwitchTo(checks->row_context);
	BadRow		bad;
	int64		nrows = 0;
	int64		nloaded = 0;

	bad_rows_sort(checks->bad);
	while (bad_rows_next(checks->bad, &bad))
	{
		reject_bad(checks, &bad);
		nloaded += bad.reason != REJECT_REPLACED;
		MemoryContextReset(checks->row_context);
		if (++nrows % FLUSH_ROWS == 0)
		{
			CHECK_FOR_INTERRUPTS();
			rejects_flush(checks->report->rejects);
		}
	}
	MemoryContextSwitchTo(old);
	bad_rows_close(checks->bad);
	return nloaded;
}

/* ---- duplicates ---- */

static void
set_duplicate_context(void *arg, const JournalPlace *place)
{
	Checks	   *checks = arg;

	*checks->report->context_row = NULL;
	if (place != NULL)
		set_context_with_bytes(checks, place);
}

void
checks_displace(Checks *checks, int table, ItemPointer tid, Oid index)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);
	DisplacedRow row = {.table = table,.tid = *tid,.index = index};

	if (checks->displaced == NULL)
		checks->displaced = displaced_open();
	displaced_put(checks->displaced, &row);
	MemoryContextSwitchTo(old);
}

void
checks_replace(Checks *checks, const BadRow *row)
{
	open_bad(checks);
	bad_rows_put(checks->bad, row);
}

/* The key of a row that has been deleted. */
static char *
describe_displaced(Checks *checks, const DisplacedRow *row)
{
	Relation	rel = checks->tables[row->table].rel;
	Relation	index = index_open(row->index, AccessShareLock);
	EState	   *estate = CreateExecutorState();
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	char	   *key = NULL;
	ItemPointerData tid = row->tid;

	if (table_tuple_fetch_row_version(rel, &tid, SnapshotAny, slot))
		key = duplicates_key(index, BuildIndexInfo(index), slot, estate);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	index_close(index, NoLock);
	return key;
}

/* place: NULL for a row that a trigger has inserted: it is none of the input. */
static void
take_displaced(void *arg, const DisplacedRow *row, const JournalPlace *place)
{
	Checks	   *checks = arg;
	BadRow		bad = {
		.reason = place == NULL ? REJECT_REPLACED : REJECT_DUPLICATE,
		.table = row->table,
		.key = row->index
	};
	MemoryContext old = MemoryContextSwitchTo(checks->row_context);

	if (place != NULL)
	{
		bad.place = *place;
		checks->tables[row->table].displaced++;
	}
	/* the next attempt compares keys */
	if (rejects_shown(checks->report->rejects) ||
		(checks->report->kept != NULL &&
		 RelationIsLogicallyLogged(checks->tables[row->table].rel)) ||
		checks->ndisplaced++ < REJECTS_FIRST)
		bad.value = describe_displaced(checks, row);
	bad_rows_put(checks->bad, &bad);
	MemoryContextSwitchTo(old);
	MemoryContextReset(checks->row_context);
}

static void
find_displaced(Checks *checks)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);

	open_bad(checks);
	displaced_close(checks->displaced, checks->journal, take_displaced, checks);
	MemoryContextSwitchTo(old);
}

static Relation
get_table(void *arg, int table)
{
	const Checks *checks = arg;

	return checks->tables[table].rel;
}

static void
count_deleted(void *arg, int table, int64 nrows)
{
	Checks	   *checks = arg;

	checks->tables[table].ndeleted += nrows;
	checks->deleted += nrows;
}

/* Rows that must not stand together. */
static void
check_duplicates(Checks *checks)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);
	DuplicateRemoval removal = {
		.target = checks->target,
		.get_table = get_table,
		.ntables = checks->ntables,
		.journal = checks->journal,
		.conflicts = checks->conflicts,
		.policy = checks->options->on_duplicate,
		.hint = duplicates_hint(checks->target, checks->options),
		.all_there = checks->bad == NULL,
		.with_texts = rejects_shown(checks->report->rejects),
		.set_context = set_duplicate_context,
		.count_deleted = count_deleted,
		.arg = checks
	};

	open_bad(checks);
	removal.bad = checks->bad;
	remove_duplicates(&removal);
	MemoryContextSwitchTo(old);
}

/* Rows whose keys are checked at a time that only the server knows. */
static void
queue_rechecks(Checks *checks)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);
	RecheckTables tables = {.get = get_table,.set_context = set_duplicate_context,.arg = checks};

	checks->nrechecks = rechecks_queue(checks->rechecks, checks->journal, &tables);
	rechecks_close(checks->rechecks);
	MemoryContextSwitchTo(old);
}

/* ---- the whole ---- */

static inline bool
has_conflicts(const Checks *checks)
{
	return checks->conflicts != NULL && conflicts_any(checks->conflicts);
}

static bool
has_keys(const Checks *checks)
{
	for (int i = 0; i < checks->ntables; i++)
		if (checks->tables[i].nkeys > 0)
			return true;
	return false;
}

/* All rows, as often as it takes; repeating: not for the first time. */
static void
check_keys(Checks *checks)
{
	bool		again;

	if (!has_keys(checks))
		return;
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
}

bool
checks_must_repeat(const Checks *checks)
{
	for (int i = 0; i < checks->ntables; i++)
	{
		const CheckedTable *table = &checks->tables[i];

		if (RelationIsLogicallyLogged(table->rel) ? table->ndeleted + table->displaced > 0 :
			table->ndeleted > 0 && checks->user_code_ran && tables_may_be_referred_to(table->rel))
			return true;
	}
	return false;
}

bool
checks_queued(const Checks *checks)
{
	return checks->nrechecks > 0;
}

int64
checks_run(Checks *checks, const CheckReport *report)
{
	int64		nrows = 0;

	check_role(checks);
	if (checks->ntables == 0 && checks->bad == NULL)
		return 0;
	checks->report = report;
	checks->row_context = AllocSetContextCreate(checks->context, "pgbulk checks row",
												ALLOCSET_DEFAULT_SIZES);
	CommandCounterIncrement();
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	checks_forget_keys(checks);
	/* what INSERT finds at once comes before what it finds at the end */
	if (has_conflicts(checks) && checks->options->on_error == BULK_ON_ERROR_STOP &&
		checks->options->on_duplicate == BULK_ON_DUPLICATE_ERROR)
		check_duplicates(checks);
	check_keys(checks);
	if (has_conflicts(checks))
	{
		checks->deleted = 0;
		check_duplicates(checks);
		/* rows may have referred to those that have gone */
		checks->repeating = must_repeat(checks);
		if (checks->repeating)
			check_keys(checks);
	}
	if (checks->rechecks != NULL)
		queue_rechecks(checks);
	SPI_finish();

	if (checks->displaced != NULL)
		find_displaced(checks);
	if (checks->bad != NULL)
		nrows = reject_all(checks);
	for (int i = 0; i < checks->ntables; i++)
		close_keys(&checks->tables[i]);
	if (checks->conflicts != NULL)
		conflicts_close(checks->conflicts);
	journal_close(checks->journal);
	MemoryContextDelete(checks->row_context);
	return nrows;
}
