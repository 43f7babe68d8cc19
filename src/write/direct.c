/*
 * direct.c
 *		The writer for plain heap tables: whole pages at a time; and what that
 *		for partitioned ones (direct_parts.c) has in common with it.
 *
 * Rows are checked as the buffered writer checks them, formed, put into
 * private pages and placed at the end of the table (pages.h).  The table is
 * locked against other writers; readers go on.  What needs each row in the
 * table at once, or looks at it from outside, is not for this writer: see
 * direct_refusal.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_inherits.h"
#include "check/tables.h"
#include "commands/trigger.h"
#include "index/plan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "server/compat.h"
#include "table/statement.h"
#include "write/direct.h"
#include "write/dry_run.h"
#include "write/known_keys.h"

#define ROW_ARENA_BLOCK (256 * 1024)

/* The last page of a chunk is not full: where it has fewer, larger chunks are better. */
#define ENOUGH_PAGES 48

/* Where a worker finds what it shares of the pages. */
#define PASS_OFFSET MAXALIGN(offsetof(DirectShared, leaves))

typedef struct PlainWriter
{
	DirectWriter direct;
	DirectTable table;
	bool		partition;		/* the target is one, with bounds to check */
	HeapTupleHeader model;
	void	   *shared_pass;	/* of pages that workers write; or NULL */
	KnownKeys  *known;			/* NULL: no keys are looked up */
	int64		counted;		/* rows, in statistics */
} PlainWriter;

/* ---- which tables ---- */

/* What a table itself has that keeps the writer away. */
static Refusal
find_refusal(Relation rel, const BulkOptions *options)
{
	if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		return REFUSAL(REFUSAL_FOREIGN_TABLE);
	if (rel->rd_rel->relkind != RELKIND_RELATION)
		return REFUSAL(REFUSAL_NO_PLAIN_TABLE);
	if (rel->rd_tableam != GetHeapamTableAmRoutine())
		return REFUSAL(REFUSAL_ACCESS_METHOD);
	if (RelationIsUsedAsCatalogTable(rel))
		return REFUSAL(REFUSAL_DECODING_CATALOG);
	return REFUSAL(tables_refusal(rel, options));
}

/* The same, also of what hangs on it. */
Refusal
direct_table_refusal(Relation rel, const BulkOptions *options)
{
	Refusal		refusal = find_refusal(rel, options);

	if (!refusal_is_any(&refusal))
		refusal = plan_refusal(rel, options);
	if (!refusal_is_any(&refusal))
		refusal = REFUSAL(tables_duplicates_refusal(rel, options));
	return refusal;
}

Refusal
direct_refusal(Relation rel, const BulkOptions *options)
{
	RefusalReason reason;

	if (options->merge != NULL)
		return REFUSAL(REFUSAL_MERGE);
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return direct_table_refusal(rel, options);
	reason = tables_refusal(rel, options);
	if (reason == REFUSAL_NONE)
		reason = tables_replacement_refusal(rel, options);
	return REFUSAL(reason);
}

Refusal
direct_partition_refusal(Relation rel, const BulkOptions *options)
{
	Refusal		refusal = REFUSAL(REFUSAL_NONE);
	ListCell   *lc;

	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return refusal;
	foreach(lc, find_all_inheritors(RelationGetRelid(rel), NoLock, NULL))
	{
		Relation	part = table_open(lfirst_oid(lc), NoLock);

		CHECK_FOR_INTERRUPTS();
		if (part->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		{
			refusal = direct_table_refusal(part, options);
			if (!refusal_is_any(&refusal))
				refusal = statement_refusal(part);
		}
		if (refusal_is_any(&refusal))
			refusal.partition = pstrdup(RelationGetRelationName(part));
		table_close(part, NoLock);
		if (refusal_is_any(&refusal))
			break;
	}
	return refusal;
}

/* ---- rows to pages, for both writers ---- */

/* Writes down where the rows of the batch are. */
static void
note_places(DirectWriter *writer)
{
	const PageBatch *batch = writer->batch;

	for (int i = 0; i < batch->run.npages; i++)
	{
		OffsetNumber first;
		int			count = pages_count(batch, i, &first);

		journal_stored(writer->journal, batch->run.blocks[i], first, count);
	}
	journal_end_record(writer->journal, writer->table->checked);
}

void
direct_reserve_rows(DirectWriter *writer)
{
	pages_reserve(writer->batch);
	if (writer->table->checked != CHECKS_NOTHING)
		note_places(writer);
}

/* The rows that have no places are forgotten. */
static void
discard_rows(DirectWriter *writer)
{
	toast_discard(writer->toaster);
	pages_discard(writer->batch);
	if (writer->table->checked != CHECKS_NOTHING)
		journal_forget(writer->journal);
}

void
direct_place(DirectWriter *writer)
{
	guard_close(writer->guard);
	if (writer->await_turn != NULL && !writer->await_turn(writer->await_arg))
	{
		discard_rows(writer);
		return;
	}
	if (writer->toaster != NULL)
		toast_flush(writer->toaster);
	direct_reserve_rows(writer);
	pages_write(writer->batch);
}

/*
 * The tuple with its wide values moved to the TOAST table.  If the table is
 * decoded, the row must go into the batch that is placed with its chunks.
 */
static HeapTuple
shrink_tuple(DirectWriter *writer, HeapTuple tuple)
{
	Size		bound = HeapTupleHasExternal(tuple) ? MaxHeapTupleSize : tuple->t_len;

	guard_close(writer->guard);
	if (writer->batch->run.decoded && !pages_have_space(writer->batch, bound))
		direct_place(writer);
	return toast_shrink(writer->toaster, tuple);
}

void
direct_put_slow(DirectWriter *writer, HeapTuple tuple)
{
	if (!toast_unneeded(tuple))
		tuple = shrink_tuple(writer, tuple);
	if (!pages_put(writer->batch, tuple))
	{
		direct_place(writer);
		pages_put(writer->batch, tuple);
	}
}

/* ---- beside other processes, for both writers ---- */

static void
share_rings(DirectWriter *writer, int processes)
{
	writer->processes = processes;
	pages_share_ring(writer->batch, processes);
	if (writer->chunks != NULL)
		pages_share_ring(writer->chunks, processes);
	if (writer->toaster != NULL)
		toast_hold(writer->toaster, processes > 1, processes);
}

void
direct_begin_parallel(Writer *base, int processes, bool (*await_turn) (void *arg), void *arg)
{
	DirectWriter *writer = (DirectWriter *) base;

	base->routine->finish(base);
	pages_resize(writer->batch, PAGES_HELD);
	share_rings(writer, processes);
	writer->await_turn = await_turn;
	writer->await_arg = arg;
}

void
direct_end_parallel(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	writer->await_turn = NULL;
	pages_resize(writer->batch, PAGES_BATCH);
	share_rings(writer, 1);
}

void
direct_write(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	if (writer->toaster != NULL)
		toast_flush(writer->toaster);
	pages_write(writer->batch);
}

/* ---- begin and end, for both writers ---- */

void
direct_begin(DirectWriter *writer, const WriterRoutine *routine, Target *target,
			 Relation rel, const PageStamp *stamp, Guard *guard, Journal *journal)
{
	EState	   *estate = CreateExecutorState();

	writer->base.routine = routine;
	writer->base.estate = estate;
	writer->base.current_row = -1;
	writer->base.slot = MakeSingleTupleTableSlot(RelationGetDescr(target->rel),
												 &TTSOpsVirtual);
	writer->guard = guard;
	writer->journal = journal;
	writer->processes = 1;
	arena_init(&writer->arena, CurrentMemoryContext, ROW_ARENA_BLOCK);
	writer->batch = pages_open(rel, *stamp, PAGES_BATCH);
	writer->root = makeNode(ResultRelInfo);
	estate->es_output_cid = stamp->cid;
	compat_init_range_table(estate, target->pstate);
	ExecInitResultRelation(estate, writer->root, 1);
}

void
direct_fire_before(DirectWriter *writer)
{
	AfterTriggerBeginQuery();
	ExecBSInsertTriggers(writer->base.estate, writer->root);
}

void
direct_end(DirectWriter *writer, Partitions *partitions)
{
	EState	   *estate = writer->base.estate;

	pages_close(writer->batch);
	if (writer->chunks != NULL)
		pages_close(writer->chunks);
	if (!writer->worker)
	{
		ExecASInsertTriggers(estate, writer->root, NULL);
		AfterTriggerEndQuery(estate);
	}
	ExecDropSingleTupleTableSlot(writer->base.slot);
	ExecResetTupleTable(estate->es_tupleTable, false);
	if (partitions != NULL)
		partitions_close(partitions);
	ExecCloseResultRelations(estate);
	ExecCloseRangeTableRelations(estate);
	FreeExecutorState(estate);
}

void
direct_table_open(DirectTable *table, ResultRelInfo *rri, EState *estate)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleDesc	desc = RelationGetDescr(rri->ri_RelationDesc);

	table->rri = rri;
	toast_forget_indexes(rri->ri_RelationDesc);
	table->constraints = constraints_open(rri, estate);
	table->former = tuple_former(desc);
	table->map = compat_root_to_child_map(rri, estate);
	MemoryContextSwitchTo(old);
}

/* ---- put, into a plain table ---- */

/* Whether keys of the next rows are looked up first. */
static inline bool
looks_up(const PlainWriter *writer)
{
	return writer->known != NULL && known_keys_wanted(writer->known) &&
		writer->direct.await_turn == NULL;
}

static void
look_up_rows(PlainWriter *writer)
{
	guard_close(writer->direct.guard);
	known_keys_flush(writer->known);
}

/* Rows from first on, formed in the arena for them, wait until their keys are looked up. */
static void
put_waiting(PlainWriter *writer, const HeapTuple *tuples, uint32 first, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
		known_keys_put(writer->known, tuples[i], first + i);
	if (known_keys_full(writer->known))
		look_up_rows(writer);
}

/* One that has waited, and is new. */
static void
put_waited(Writer *base, HeapTuple tuple, const JournalPlace *place)
{
	DirectWriter *writer = (DirectWriter *) base;

	direct_put_tuple(writer, tuple);
	journal_place(writer->journal, place);
	direct_relieve(writer);
}

static WriterVerdict
plain_put(Writer *base, uint32 number, RowError *err)
{
	PlainWriter *writer = (PlainWriter *) base;
	DirectWriter *direct = &writer->direct;
	TupleTableSlot *slot = base->slot;

	base->current_row = number;
	if (!constraints_complete(writer->table.rri, writer->table.constraints,
							  writer->partition, slot, base->estate, direct->guard, err))
		return WRITER_BAD;

	if (looks_up(writer))
	{
		HeapTuple	tuple = tuple_form(writer->table.former, slot->tts_values,
									   slot->tts_isnull, known_keys_arena(writer->known));

		put_waiting(writer, &tuple, number, 1);
		return WRITER_TAKEN;
	}
	direct_put_tuple(direct, tuple_form(writer->table.former, slot->tts_values,
										slot->tts_isnull, &direct->arena));
	if (direct->journal != NULL)
		journal_rows(direct->journal, number, 1);
	direct_relieve(direct);
	arena_reset(&direct->arena);
	if (writer->known != NULL)
		known_keys_passed(writer->known, 1);
	return WRITER_TAKEN;
}

/* Rows of one size, as many as the current page takes, formed in their places. */
static uint32
put_rows_of_one_size(DirectWriter *writer, const char *data,
					 const ScanRow *rows, const ScanField *fields, uint32 n)
{
	PageBatch  *batch = writer->batch;
	const Size	size = form_row_size(writer->base.former);
	uint32		formed;

	formed = form_rows_of_one_size(writer->base.former, data, rows, n, fields,
								   pages_place_for(batch, size));
	pages_added(batch, formed, size);
	return formed;
}

/* Rows go to pages. */
static uint32
place_rows(DirectWriter *writer, const char *data, const ScanRow *rows,
		   const ScanField *fields, uint32 first, uint32 n)
{
	Writer	   *base = &writer->base;
	HeapTuple	tuples[WRITER_ROWS];
	uint32		noted = 0;

	if (form_row_size(base->former) > 0)
	{
		uint32		left = pages_tuples_left(writer->batch, form_row_size(base->former));
		uint32		done = left == 0 ? 0 :
			put_rows_of_one_size(writer, data, rows + first, fields, Min(n, left));

		if (done > 0 && writer->journal != NULL)
			journal_rows(writer->journal, first, done);
		if (done > 0)
			return done;
		/* a smaller one may still fit the page, any other begins the next */
		if (left == 0)
			n = 1;
	}
	n = form_rows(base->former, data, rows + first, Min(n, WRITER_ROWS),
				  fields, &writer->arena, tuples);
	for (uint32 i = 0; i < n; i++)
	{
		HeapTuple	tuple = tuples[i];

		/* formed with the stamp of the batch, from base->model */
		if (likely(tuple->t_len <= TOAST_TUPLE_THRESHOLD &&
				   pages_add(writer->batch, (char *) tuple->t_data, tuple->t_len)))
			continue;

		/* what is placed on the way must be in the journal */
		if (writer->journal != NULL)
			journal_rows(writer->journal, first + noted, i - noted);
		noted = i;
		base->current_row = first + i;
		direct_put_tuple(writer, tuple);
		if (writer->journal != NULL)
			journal_rows(writer->journal, first + noted++, 1);
		direct_relieve(writer);
		base->current_row = -1;
	}
	if (writer->journal != NULL)
		journal_rows(writer->journal, first + noted, n - noted);
	arena_reset(&writer->arena);
	return n;
}

static uint32
plain_put_rows(Writer *base, const char *data, const ScanRow *rows,
			   const ScanField *fields, uint32 first, uint32 n)
{
	PlainWriter *writer = (PlainWriter *) base;
	HeapTuple	tuples[WRITER_ROWS];

	if (looks_up(writer))
	{
		n = form_rows(base->former, data, rows + first, Min(n, WRITER_ROWS), fields,
					  known_keys_arena(writer->known), tuples);
		put_waiting(writer, tuples, first, n);
		return n;
	}
	n = place_rows(&writer->direct, data, rows, fields, first, n);
	if (writer->known != NULL)
		known_keys_passed(writer->known, n);
	return n;
}

/* Full pages are placed as they come; the last one waits for more rows. */
static void
plain_flush(Writer *base)
{
	base->current_row = -1;
}

static void
plain_finish(Writer *base)
{
	PlainWriter *writer = (PlainWriter *) base;

	if (writer->known != NULL)
		look_up_rows(writer);
	direct_place(&writer->direct);
}

/* What is counted now are dead rows should the load fail. */
static void
plain_count(Writer *base, int64 nrows)
{
	PlainWriter *writer = (PlainWriter *) base;

	nrows -= base->unstored;
	pgstat_count_heap_insert(writer->table.rri->ri_RelationDesc,
							 nrows - writer->counted);
	writer->counted = nrows;
}

static void
plain_close(Writer *base)
{
	PlainWriter *plain = (PlainWriter *) base;
	DirectWriter *writer = &plain->direct;

	direct_place(writer);
	if (plain->known != NULL)
		known_keys_close(plain->known);
	toast_close(writer->toaster);
	direct_end(writer, NULL);
}

/* ---- a plain table beside other processes ---- */

static RefusalReason
plain_share_refusal(Writer *base)
{
	return looks_up((PlainWriter *) base) ? REFUSAL_KNOWN_KEYS : REFUSAL_NONE;
}

static Size
plain_prepare_share(Writer *base)
{
	PlainWriter *writer = (PlainWriter *) base;

	/* comparisons of an operator class need not be parallel safe */
	if (writer->known != NULL)
		look_up_rows(writer);
	return PASS_OFFSET + brin_pass_share_size(base->pass);
}

static void
plain_share(Writer *base, void *shared)
{
	PlainWriter *writer = (PlainWriter *) base;

	*(DirectShared *) shared = (DirectShared) {
		.stamp = writer->direct.batch->stamp,
		.pass = base->pass != NULL ? PASS_OFFSET : 0
	};
	if (base->pass == NULL)
		return;
	writer->shared_pass = (char *) shared + PASS_OFFSET;
	brin_pass_share(base->pass, writer->shared_pass, writer->table.rri->ri_RelationDesc);
}

/* Of what the others have stored count has been told; their pages may be still to come. */
static void
plain_gather(Writer *base)
{
}

static void
plain_gather_pages(Writer *base)
{
	PlainWriter *writer = (PlainWriter *) base;

	if (writer->shared_pass != NULL)
		brin_pass_gather(base->pass, writer->shared_pass);
	writer->shared_pass = NULL;
}

/*
 * Logical decoding forgets TOASTed values at the end of each batch of rows;
 * others' must not come between a value and its row.
 */
static bool
plain_writes_in_turn(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	return writer->batch->run.decoded &&
		OidIsValid(writer->root->ri_RelationDesc->rd_rel->reltoastrelid);
}

static bool
plain_reserve(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	if (plain_writes_in_turn(base))
		toast_flush(writer->toaster);
	direct_reserve_rows(writer);
	return writer->batch->run.npages >= ENOUGH_PAGES;
}

static void
plain_discard(Writer *base)
{
	discard_rows((DirectWriter *) base);
}

/* A table without rows has all of its pages from the load. */
static void
begin_pass(PlainWriter *writer, Relation rel, const BulkOptions *options)
{
	Writer	   *base = &writer->direct.base;

	if (RelationGetNumberOfBlocks(rel) == 0 &&
		(options->indexes == BULK_INDEXES_AUTO || options->indexes == BULK_INDEXES_REBUILD))
		base->pass = writer->direct.batch->pass = brin_pass_open(rel);
}

static const WriterRoutine plain_routine = {
	.name = "direct",
	.put = plain_put,
	.put_rows = plain_put_rows,
	.flush = plain_flush,
	.finish = plain_finish,
	.count = plain_count,
	.close = plain_close,
	.prepare_share = plain_prepare_share,
	.share = plain_share,
	.gather = plain_gather,
	.gather_pages = plain_gather_pages,
	.share_refusal = plain_share_refusal,
	.begin_parallel = direct_begin_parallel,
	.end_parallel = direct_end_parallel,
	.reserve = plain_reserve,
	.write = direct_write,
	.writes_in_turn = plain_writes_in_turn,
	.discard = plain_discard
};

static PlainWriter *
open_writer(Target *target, const PageStamp *stamp, Guard *guard, Checks *checks)
{
	PlainWriter *writer = palloc0(sizeof(PlainWriter));
	DirectWriter *direct = &writer->direct;
	DirectTable *table = &writer->table;
	Relation	rel = target->rel;

	direct_begin(direct, &plain_routine, target, rel, stamp, guard, NULL);
	direct_table_open(table, direct->root, direct->base.estate);
	table->checked = checks_add_table(checks, rel, DIRECT_CHECKS);
	if (table->checked != CHECKS_NOTHING)
		direct->journal = checks_journal(checks);
	direct->batch->keys = checks_pass_keys(checks, table->checked);
	direct->table = table;
	direct->toaster = toast_open(rel, *stamp);
	writer->partition = rel->rd_rel->relispartition;
	direct->base.plain = !writer->partition &&
		constraints_need_no_guard(table->constraints);
	direct->base.constraints = table->constraints;
	writer->model = palloc0(SizeofHeapTupleHeader);
	pages_stamp(stamp, writer->model);
	direct->base.model = writer->model;
	return writer;
}

Writer *
direct_open(Target *target, const BulkOptions *options, Guard *guard,
			Checks *checks)
{
	PageStamp	stamp = {
		.xid = GetCurrentTransactionId(),
		.cid = GetCurrentCommandId(true),
		/* a row that is rolled back must not be there for everyone */
		.frozen = options->freeze && !options->dry_run
	};
	PlainWriter *writer;

	if (target->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return direct_parts_open(target, options, &stamp, guard, checks);
	if (target->dry != NULL)
		dry_run_prepare(target->dry, target->rel, true, 0);
	writer = open_writer(target, &stamp, guard, checks);
	writer->known = known_keys_open(&writer->direct.base, put_waited, target->rel, options,
									checks, writer->table.checked);
	begin_pass(writer, target->rel, options);
	direct_fire_before(&writer->direct);
	return &writer->direct.base;
}

Writer *
direct_join(Target *target, void *shared, Guard *guard, Checks *checks)
{
	DirectShared *leader = shared;
	PlainWriter *writer;

	if (target->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return direct_parts_join(target, leader, guard, checks);
	writer = open_writer(target, &leader->stamp, guard, checks);
	writer->direct.worker = true;
	if (leader->pass > 0)
		writer->direct.batch->pass = brin_pass_join(target->rel, (char *) leader + leader->pass);
	return &writer->direct.base;
}
