/*
 * direct.c
 *		The writer for plain heap tables: whole pages at a time.  For partitioned
 *		ones see direct_parts.c.
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

#define ROW_ARENA_BLOCK (64 * 1024)

/* The last page of a chunk is not full: where it has fewer, larger chunks are better. */
#define ENOUGH_PAGES 48

typedef struct DirectWriter
{
	Writer		base;
	Guard	   *guard;
	DirectTable table;
	bool		partition;		/* the target is one, with bounds to check */
	Arena		arena;			/* one row's tuple */
	TupleSink	sink;
	HeapTupleHeader model;
	Journal    *journal;		/* NULL: nobody wants to know */
	bool		worker;
	int64		counted;		/* rows, in statistics */
	bool		(*may_place) (void *arg);	/* between hold and let_go */
	void	   *may_place_arg;
} DirectWriter;

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

/* ---- put ---- */

void
direct_note_places(Journal *journal, const PageBatch *batch, int table)
{
	for (int i = 0; i < batch->run.npages; i++)
	{
		OffsetNumber first;
		int			count = pages_count(batch, i, &first);

		journal_stored(journal, batch->run.blocks[i], first, count);
	}
	journal_end_record(journal, table);
}

/* The rows of the batch get their places. */
static void
reserve_pages(DirectWriter *writer)
{
	pages_reserve(writer->sink.batch);
	if (writer->journal != NULL)
		direct_note_places(writer->journal, writer->sink.batch, writer->table.checked);
}

/* The rows that have no places are forgotten. */
static void
discard_rows(DirectWriter *writer)
{
	toast_discard(writer->sink.toaster);
	pages_discard(writer->sink.batch);
	if (writer->journal != NULL)
		journal_forget(writer->journal);
}

/*
 * Places the rows of the batch, and before them the chunks that they refer to.
 * Beside other processes that takes one's turn; rows that do not count any
 * more are forgotten.
 */
static void
place_rows(void *arg)
{
	DirectWriter *writer = arg;

	guard_close(writer->guard);
	if (writer->may_place != NULL && !writer->may_place(writer->may_place_arg))
	{
		discard_rows(writer);
		return;
	}
	toast_flush(writer->sink.toaster);
	reserve_pages(writer);
	pages_write(writer->sink.batch);
}

/*
 * The tuple with its wide values moved to the TOAST table.  If the table is
 * decoded, the row must go into the batch that is placed with its chunks.
 */
static HeapTuple
shrink_tuple(TupleSink *sink, HeapTuple tuple)
{
	Size		bound = HeapTupleHasExternal(tuple) ? MaxHeapTupleSize : tuple->t_len;

	guard_close(sink->guard);
	if (sink->batch->run.decoded && !pages_have_room(sink->batch, bound))
		sink->place(sink->arg);
	return toast_shrink(sink->toaster, tuple);
}

void
sink_put_slow(TupleSink *sink, HeapTuple tuple)
{
	if (!toast_unneeded(tuple))
		tuple = shrink_tuple(sink, tuple);
	if (!pages_put(sink->batch, tuple))
	{
		sink->place(sink->arg);
		pages_put(sink->batch, tuple);
	}
}

static WriterVerdict
direct_put(Writer *base, uint32 number, RowError *err)
{
	DirectWriter *writer = (DirectWriter *) base;
	TupleTableSlot *slot = base->slot;

	base->current_row = number;
	if (!constraints_complete(writer->table.rri, writer->table.constraints,
							  writer->table.generated, writer->partition, slot,
							  base->estate, writer->guard, err))
		return WRITER_BAD;

	sink_put(&writer->sink, tuple_form(writer->table.former, slot->tts_values,
									   slot->tts_isnull, &writer->arena));
	if (writer->journal != NULL)
		journal_rows(writer->journal, number, 1);
	sink_relieve(&writer->sink);
	arena_reset(&writer->arena);
	return WRITER_TAKEN;
}

/* Rows of one size, as many as the page in hand takes, formed in their places. */
static uint32
put_rows_of_one_size(DirectWriter *writer, const char *data,
					 const ScanRow *rows, const ScanField *fields, uint32 n)
{
	PageBatch  *batch = writer->sink.batch;
	const Size	size = form_row_size(writer->base.former);
	uint32		formed;

	formed = form_rows_of_one_size(writer->base.former, data, rows, n, fields,
								   pages_place_for(batch, size));
	pages_added(batch, formed, size);
	return formed;
}

static uint32
direct_put_rows(Writer *base, const char *data, const ScanRow *rows,
				const ScanField *fields, uint32 first, uint32 n)
{
	DirectWriter *writer = (DirectWriter *) base;
	HeapTuple	tuples[WRITER_ROWS];
	uint32		noted = 0;

	if (form_row_size(base->former) > 0)
	{
		uint32		room = pages_room(writer->sink.batch, form_row_size(base->former));
		uint32		done = room == 0 ? 0 :
			put_rows_of_one_size(writer, data, rows + first, fields, Min(n, room));

		if (done > 0 && writer->journal != NULL)
			journal_rows(writer->journal, first, done);
		if (done > 0)
			return done;
		/* a smaller one may still fit the page, any other begins the next */
		if (room == 0)
			n = 1;
	}
	n = form_rows(base->former, data, rows + first, Min(n, WRITER_ROWS),
				  fields, &writer->arena, tuples);
	for (uint32 i = 0; i < n; i++)
	{
		HeapTuple	tuple = tuples[i];

		/* formed with the stamp of the batch, from base->model */
		if (likely(tuple->t_len <= TOAST_TUPLE_THRESHOLD &&
				   pages_add(writer->sink.batch, (char *) tuple->t_data, tuple->t_len)))
			continue;

		/* what is placed on the way must be in the journal */
		if (writer->journal != NULL)
			journal_rows(writer->journal, first + noted, i - noted);
		noted = i;
		base->current_row = first + i;
		sink_put(&writer->sink, tuple);
		if (writer->journal != NULL)
			journal_rows(writer->journal, first + noted++, 1);
		sink_relieve(&writer->sink);
		base->current_row = -1;
	}
	if (writer->journal != NULL)
		journal_rows(writer->journal, first + noted, n - noted);
	arena_reset(&writer->arena);
	return n;
}

/* Full pages are placed as they come; the last one waits for more rows. */
static void
direct_flush(Writer *base)
{
	base->current_row = -1;
}

static void
direct_finish(Writer *base)
{
	place_rows(base);
}

void
direct_fire_after(Writer *writer, ResultRelInfo *root)
{
	ExecASInsertTriggers(writer->estate, root, NULL);
	AfterTriggerEndQuery(writer->estate);
}

void
direct_end(Writer *writer)
{
	ExecCloseResultRelations(writer->estate);
	ExecCloseRangeTableRelations(writer->estate);
	FreeExecutorState(writer->estate);
}

/* What is counted now are dead rows should the load fail. */
static void
direct_count(Writer *base, int64 nrows)
{
	DirectWriter *writer = (DirectWriter *) base;

	pgstat_count_heap_insert(writer->table.rri->ri_RelationDesc,
							 nrows - writer->counted);
	writer->counted = nrows;
}

static void
direct_close(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	place_rows(writer);
	toast_close(writer->sink.toaster);
	pages_close(writer->sink.batch);
	if (!writer->worker)
		direct_fire_after(base, writer->table.rri);
	ExecDropSingleTupleTableSlot(base->slot);
	ExecResetTupleTable(base->estate->es_tupleTable, false);
	direct_end(base);
}

/* ---- side by side with others ---- */

static RefusalReason
direct_share_refusal(Writer *base)
{
	return REFUSAL_NONE;
}

static Size
direct_prepare_share(Writer *base)
{
	return offsetof(DirectShared, leaves);
}

static void
direct_share(Writer *base, void *shared)
{
	*(DirectShared *) shared = (DirectShared) {
		.stamp = ((DirectWriter *) base)->sink.batch->stamp
	};
}

/* What the others have stored, count has been told. */
static void
direct_gather(Writer *base)
{
}

static void
direct_hold(Writer *base, int processes, bool (*may_place) (void *arg), void *arg)
{
	DirectWriter *writer = (DirectWriter *) base;

	place_rows(writer);
	pages_resize(writer->sink.batch, PAGES_HELD);
	pages_share_ring(writer->sink.batch, processes);
	toast_hold(writer->sink.toaster, true, processes);
	writer->may_place = may_place;
	writer->may_place_arg = arg;
}

static void
direct_let_go(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	writer->may_place = NULL;
	pages_resize(writer->sink.batch, PAGES_BATCH);
	pages_share_ring(writer->sink.batch, 1);
	toast_hold(writer->sink.toaster, false, 1);
}

/*
 * Logical decoding forgets TOASTed values at the end of each batch of rows;
 * others' must not come between a value and its row.
 */
static bool
direct_settles_in_turn(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	return writer->sink.batch->run.decoded &&
		OidIsValid(writer->table.rri->ri_RelationDesc->rd_rel->reltoastrelid);
}

static bool
direct_reserve(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	if (direct_settles_in_turn(base))
		toast_flush(writer->sink.toaster);
	reserve_pages(writer);
	return writer->sink.batch->run.npages >= ENOUGH_PAGES;
}

static void
direct_settle(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	toast_flush(writer->sink.toaster);
	pages_write(writer->sink.batch);
}

static void
direct_discard(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	discard_rows(writer);
}

static const WriterRoutine direct_routine = {
	.name = "direct",
	.put = direct_put,
	.put_rows = direct_put_rows,
	.flush = direct_flush,
	.finish = direct_finish,
	.count = direct_count,
	.close = direct_close,
	.prepare_share = direct_prepare_share,
	.share = direct_share,
	.gather = direct_gather,
	.share_refusal = direct_share_refusal,
	.hold = direct_hold,
	.let_go = direct_let_go,
	.reserve = direct_reserve,
	.settle = direct_settle,
	.settles_in_turn = direct_settles_in_turn,
	.discard = direct_discard
};

ResultRelInfo *
direct_begin(Writer *writer, Target *target, CommandId cid)
{
	EState	   *estate = CreateExecutorState();
	ResultRelInfo *rri = makeNode(ResultRelInfo);

	writer->estate = estate;
	writer->current_row = -1;
	writer->slot = MakeSingleTupleTableSlot(RelationGetDescr(target->rel),
											&TTSOpsVirtual);
	estate->es_output_cid = cid;
	compat_init_range_table(estate, target->pstate);
	ExecInitResultRelation(estate, rri, 1);
	return rri;
}

void
direct_table_open(DirectTable *table, ResultRelInfo *rri, EState *estate)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleDesc	desc = RelationGetDescr(rri->ri_RelationDesc);

	table->rri = rri;
	toast_forget_indexes(rri->ri_RelationDesc);
	table->constraints = constraints_open(rri, estate);
	table->generated = desc->constr && desc->constr->has_generated_stored;
	table->former = tuple_former(desc);
	table->map = compat_root_to_child_map(rri, estate);
	MemoryContextSwitchTo(old);
}

static DirectWriter *
open_writer(Target *target, const PageStamp *stamp, Guard *guard, Checks *checks)
{
	DirectWriter *writer = palloc0(sizeof(DirectWriter));
	DirectTable *table = &writer->table;
	Relation	rel = target->rel;
	ResultRelInfo *rri = direct_begin(&writer->base, target, stamp->cid);

	writer->base.routine = &direct_routine;
	writer->guard = guard;
	direct_table_open(table, rri, writer->base.estate);
	table->checked = checks_add_table(checks, rel, DIRECT_CHECKS);
	if (table->checked != CHECKS_NOTHING)
		writer->journal = checks_journal(checks);
	writer->partition = rel->rd_rel->relispartition;
	writer->base.plain = !table->generated && !writer->partition &&
		constraints_only_notnull(table->constraints);
	arena_init(&writer->arena, CurrentMemoryContext, ROW_ARENA_BLOCK);

	writer->sink = (TupleSink) {
		.batch = pages_open(rel, *stamp, PAGES_BATCH),
		.toaster = toast_open(rel, *stamp),
		.guard = guard,
		.place = place_rows,
		.arg = writer
	};
	writer->model = palloc0(SizeofHeapTupleHeader);
	pages_stamp(stamp, writer->model);
	writer->base.model = writer->model;
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
	DirectWriter *writer;

	if (target->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return direct_parts_open(target, options, &stamp, guard, checks);
	if (target->dry != NULL)
		dry_run_prepare(target->dry, target->rel, true, 0);
	writer = open_writer(target, &stamp, guard, checks);
	AfterTriggerBeginQuery();
	ExecBSInsertTriggers(writer->base.estate, writer->table.rri);
	return &writer->base;
}

Writer *
direct_join(Target *target, void *shared, Guard *guard, Checks *checks)
{
	DirectShared *leader = shared;
	DirectWriter *writer;

	if (target->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return direct_parts_join(target, leader, guard, checks);
	writer = open_writer(target, &leader->stamp, guard, checks);
	writer->worker = true;
	return &writer->base;
}
