/*
 * check_run.c
 *		See check.h.
 *
 * Bad rows are kept, sorted by their place in the input, until all checks are
 * done and they can be sent to the reject stream.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "check/check_state.h"
#include "check/duplicates.h"
#include "check/remove_duplicates.h"
#include "check/tables.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/relcache.h"

/*
 * Seconds to check one row's foreign key, assuming that most values repeat; and to look one up that
 * has been collected.
 */
#define KEY_SECONDS 0.0000002
#define PASSED_KEY_SECONDS 0.000001

/* Rows rejected between two flushes of the stream. */
#define FLUSH_ROWS 1000

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
	if (checks->pass != NULL)
		key_pass_end(checks->pass);
}

Journal *
checks_journal(const Checks *checks)
{
	return checks->journal;
}

void
checks_check_role(const Checks *checks)
{
	if (checks->role >= 0 && checks->role != SessionReplicationRole)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("session_replication_role was changed while \"%s\" was loaded",
						RelationGetRelationName(checks->target)),
				 errdetail("Which foreign keys are to be checked depends on it."),
				 errhint("Set it before the load.")));
}

/* Counts the foreign keys whose triggers fire. */
static int
count_keys(Checks *checks, const TriggerDesc *triggers)
{
	int			nkeys = 0;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (!tables_is_key(&triggers->triggers[i]))
			continue;
		checks_check_role(checks);
		checks->role = SessionReplicationRole;
		nkeys += foreign_key_fires(&triggers->triggers[i]);
	}
	return nkeys;
}

/*
 * If the constraint of an index of the next table is deferrable, returns the
 * sink for conflicting rows, else NULL.
 */
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

/* Expects duplicates to show up when the table's indexes are built. */
static void
expect_conflicts(Checks *checks, const List *unique, bool has_keys)
{
	/*
	 * if a duplicate is an error, the first one suffices, unless other rows may
	 * be removed before it
	 */
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
	bool		may_replace;
	CheckedTable *table;

	if (what & CHECKS_CONFLICTS)
		unique = tables_unique_indexes(rel);
	if (nkeys == 0 && unique == NIL && !(what & CHECKS_DISPLACED) &&
		!(what & CHECKS_PLACES && tables_may_refuse(rel)) &&
		!(what & CHECKS_UNIQUE && tables_unique_indexes(rel) != NIL))
	{
		MemoryContextSwitchTo(old);
		return CHECKS_NOTHING;
	}
	may_replace = checks->options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW &&
		(unique != NIL || (what & CHECKS_DISPLACED));
	/* as DELETE does for rows that subscribers could not identify */
	if (may_replace && !(what & CHECKS_LATER))
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
	table->may_replace = may_replace;
	MemoryContextSwitchTo(old);
	return checks->ntables++;
}

KeyPass *
checks_pass_keys(Checks *checks, int table)
{
	MemoryContext old;

	if (table == CHECKS_NOTHING || checks->tables[table].nkeys == 0)
		return NULL;
	Assert(checks->pass == NULL && checks->ntables == 1);
	old = MemoryContextSwitchTo(checks->context);
	checks->pass = key_pass_open(checks->tables[table].rel, checks->tables[table].triggers,
								 checks->tables[table].nkeys);
	MemoryContextSwitchTo(old);
	return checks->pass;
}

KeyPass *
checks_key_pass(const Checks *checks)
{
	return checks->pass;
}

void
checks_expect_rows(Checks *checks, int table)
{
	if (checks->tables[table].may_replace)
		CheckCmdReplicaIdentity(checks->tables[table].rel, CMD_DELETE);
}

Conflicts *
checks_conflicts(const Checks *checks)
{
	return checks->conflicts;
}

double
checks_seconds(const Checks *checks, double rows)
{
	double		passed = checks->pass == NULL ? -1 : key_pass_keys(checks->pass);
	int			nkeys = 0;

	if (passed >= 0)
		return passed * rows * PASSED_KEY_SECONDS;
	for (int i = 0; i < checks->ntables; i++)
		nkeys = Max(nkeys, checks->tables[i].nkeys);
	return nkeys * rows * KEY_SECONDS;
}

/* The table's number, or CHECKS_NOTHING. */
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

/* ---- context of errors ---- */

void
checks_set_context_place(const Checks *checks, Reject *reject, const JournalPlace *place)
{
	reject->file = list_nth(checks->report->paths, place->file);
	reject->file_number = place->file;
	reject->line = place->line;
	reject->offset = place->offset;
	*checks->report->context_row = reject;
}

void
checks_set_context(Checks *checks, const JournalPlace *place)
{
	memset(&checks->context_row, 0, sizeof(Reject));
	checks_set_context_place(checks, &checks->context_row, place);
}

void
checks_set_context_with_bytes(Checks *checks, const JournalPlace *place)
{
	checks_set_context(checks, place);
	checks->context_row.raw = raw_show(checks->report->raw, place, &checks->context_row.raw_len);
}

void
checks_open_bad(Checks *checks)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);

	if (checks->bad == NULL)
		checks->bad = bad_rows_open();
	MemoryContextSwitchTo(old);
}

/* ---- bad rows ---- */

/* Fills in what is reported about a bad row. */
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

/* Keeps the row for the next attempt, if the load has to be repeated without it. */
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

/* Sends one bad row to the stream. */
static void
reject_bad(Checks *checks, const BadRow *bad)
{
	const CheckReport *report = checks->report;
	const JournalPlace *place = &bad->place;
	Reject		reject = {0};

	describe_bad(checks, bad, &reject);
	checks_set_context_place(checks, &reject, place);
	if (bad->reason != REJECT_REPLACED)
		keep_bad(checks, bad, &reject);
	if (bad->reason != REJECT_REPLACED && rejects_shown(report->rejects))
		reject.raw = raw_read(report->raw, place, &reject.raw_len, &reject.raw_full_len);
	if (reject.raw == NULL)
	{
		/* nobody will see it */
		reject.raw = "";
		reject.raw_len = reject.raw_full_len = 0;
	}
	rejects_add(report->rejects, &reject);
	*report->context_row = NULL;
}

/* Sends all bad rows to the stream; returns how many came from the load. */
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
		checks_set_context_with_bytes(checks, place);
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
	checks_open_bad(checks);
	bad_rows_put(checks->bad, row);
}

/* The key of a deleted row, as text. */
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

/* place: NULL for a row that a trigger inserted, which is not part of the input. */
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
	/* the key is needed by the next attempt, too */
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

	checks_open_bad(checks);
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

static void
count_unseen(void *arg, const JournalPlace *place, RejectReason reason)
{
	Checks	   *checks = arg;

	rejects_count_duplicates(checks->report->rejects, place->file, reason, 1);
	if (reason == REJECT_DUPLICATE)
		checks->nunseen++;
}

/* Removes rows that violate unique or exclusion constraints. */
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
		/* a limit is exceeded by one of them, and the next attempt needs all */
		.only_first = !rejects_shown(checks->report->rejects) &&
			checks->options->duplicate_limit < 0 && checks->report->kept == NULL,
		.set_context = set_duplicate_context,
		.count_deleted = count_deleted,
		.count_unseen = count_unseen,
		.arg = checks
	};

	checks_open_bad(checks);
	removal.bad = checks->bad;
	remove_duplicates(&removal);
	MemoryContextSwitchTo(old);
}

/* Queues the triggers of deferrable keys; only the server knows when they are to fire. */
static void
queue_rechecks(Checks *checks)
{
	MemoryContext old = MemoryContextSwitchTo(checks->context);
	RecheckTables tables = {.get = get_table,.set_context = set_duplicate_context,.arg = checks};

	checks->nrechecks = rechecks_queue(checks->rechecks, checks->journal, &tables);
	rechecks_close(checks->rechecks);
	MemoryContextSwitchTo(old);
}

/* ---- entry points ---- */

static inline bool
has_conflicts(const Checks *checks)
{
	return checks->conflicts != NULL && conflicts_any(checks->conflicts);
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

	checks_check_role(checks);
	if (checks->ntables == 0 && checks->bad == NULL)
		return 0;
	checks->report = report;
	checks->row_context = AllocSetContextCreate(checks->context, "pgbulk checks row",
												ALLOCSET_DEFAULT_SIZES);
	CommandCounterIncrement();
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	checks_forget_keys(checks);
	/* INSERT reports duplicates at once, foreign keys at the end of the statement */
	if (has_conflicts(checks) && checks->options->on_error == BULK_ON_ERROR_STOP &&
		checks->options->on_duplicate == BULK_ON_DUPLICATE_ERROR)
		check_duplicates(checks);
	checks_check_keys(checks);
	if (has_conflicts(checks))
	{
		checks->deleted = 0;
		check_duplicates(checks);
		/* removed duplicates may have been referenced */
		checks->repeating = checks_must_recheck(checks);
		if (checks->repeating)
			checks_check_keys(checks);
	}
	if (checks->rechecks != NULL)
		queue_rechecks(checks);
	SPI_finish();

	if (checks->displaced != NULL)
		find_displaced(checks);
	if (checks->bad != NULL)
		nrows = reject_all(checks) + checks->nunseen;
	for (int i = 0; i < checks->ntables; i++)
		checks_close_keys(&checks->tables[i]);
	if (checks->pass != NULL)
		key_pass_close(checks->pass);
	checks->pass = NULL;
	if (checks->conflicts != NULL)
		conflicts_close(checks->conflicts);
	journal_close(checks->journal);
	MemoryContextDelete(checks->row_context);
	return nrows;
}
