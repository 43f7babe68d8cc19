/*
 * direct.c
 *		The writer for plain heap tables: whole pages at a time.
 *
 * Rows are checked as the buffered writer checks them, formed, put into
 * private pages and placed at the end of the table (pages.h).  The table is
 * locked against other writers; readers go on.  What needs each row in the
 * table at once, or looks at it from outside, is not for this writer: see
 * direct_refusal.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "compat.h"
#include "pgstat.h"
#include "row/constraints.h"
#include "row/tuple.h"
#include "write/pages.h"
#include "write/toast.h"
#include "write/writer.h"

#define ROW_ARENA_BLOCK (64 * 1024)

typedef struct DirectWriter
{
	Writer		base;
	Guard	   *guard;
	ResultRelInfo *rri;
	Constraints *constraints;	/* NULL: none */
	bool		generated;
	bool		partition;		/* the target is one, with bounds to check */
	TupleFormer *former;
	Arena		arena;			/* one row's tuple */
	Toaster    *toaster;
	PageBatch  *batch;
	HeapTupleHeader model;
	bool		worker;
	bool		(*may_place) (void *arg);	/* between hold and let_go */
	void	   *may_place_arg;
} DirectWriter;

const char *
direct_refusal(Relation rel, const BulkOptions *options)
{
	TriggerDesc *triggers = rel->trigdesc;

	if (rel->rd_rel->relkind != RELKIND_RELATION)
		return "it is not a plain table";
	if (rel->rd_tableam != GetHeapamTableAmRoutine())
		return "its access method is not heap";
	if (triggers != NULL &&
		(triggers->trig_insert_before_row || triggers->trig_insert_after_row ||
		 triggers->trig_insert_instead_row || triggers->trig_insert_new_table))
		return "it has triggers or foreign keys that see each row";
	if (rel->rd_rel->relhasindex && RelationGetIndexList(rel) != NIL)
		return "it has indexes";
	return NULL;
}

/*
 * Places the rows of the batch, and before them the chunks that they refer to.
 * Beside other processes that takes one's turn; rows that do not count any
 * more are forgotten.
 */
static void
place_rows(DirectWriter *writer)
{
	guard_close(writer->guard);
	if (writer->may_place != NULL && !writer->may_place(writer->may_place_arg))
	{
		toast_discard(writer->toaster);
		pages_discard(writer->batch);
		return;
	}
	toast_flush(writer->toaster);
	pages_place(writer->batch);
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
	if (writer->batch->decoded && !pages_have_room(writer->batch, bound))
		place_rows(writer);
	return toast_shrink(writer->toaster, tuple);
}

/* Puts a tuple into a page. */
static void
store_tuple(DirectWriter *writer, HeapTuple tuple)
{
	if (!toast_unneeded(tuple))
		tuple = shrink_tuple(writer, tuple);
	if (unlikely(!pages_put(writer->batch, tuple)))
	{
		place_rows(writer);
		pages_put(writer->batch, tuple);
	}
	if (unlikely(toast_is_full(writer->toaster)))
		place_rows(writer);
}

static WriterVerdict
direct_put(Writer *base, uint32 number, RowError *err)
{
	DirectWriter *writer = (DirectWriter *) base;
	TupleTableSlot *slot = base->slot;

	base->current_row = number;
	if (!constraints_complete(writer->rri, writer->constraints,
							  writer->generated, writer->partition, slot,
							  base->estate, writer->guard, err))
		return WRITER_BAD;

	store_tuple(writer, tuple_form(writer->former, slot->tts_values,
								   slot->tts_isnull, &writer->arena));
	arena_reset(&writer->arena);
	return WRITER_TAKEN;
}

static uint32
direct_put_rows(Writer *base, const char *data, const ScanRow *rows,
				const ScanField *fields, uint32 first, uint32 n)
{
	DirectWriter *writer = (DirectWriter *) base;
	HeapTuple	tuples[WRITER_ROWS];

	n = form_rows(base->former, data, rows + first, Min(n, WRITER_ROWS),
				  fields, &writer->arena, tuples);
	for (uint32 i = 0; i < n; i++)
	{
		HeapTuple	tuple = tuples[i];

		/* formed with the stamp of the batch, from base->model */
		if (likely(tuple->t_len <= TOAST_TUPLE_THRESHOLD &&
				   pages_add(writer->batch, (char *) tuple->t_data, tuple->t_len)))
			continue;
		base->current_row = first + i;
		store_tuple(writer, tuple);
		base->current_row = -1;
	}
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
direct_close(Writer *base, int64 nrows)
{
	DirectWriter *writer = (DirectWriter *) base;
	EState	   *estate = base->estate;

	place_rows(writer);
	toast_close(writer->toaster);
	pages_close(writer->batch);
	if (!writer->worker)
	{
		pgstat_count_heap_insert(writer->rri->ri_RelationDesc, nrows);
		ExecASInsertTriggers(estate, writer->rri, NULL);
		AfterTriggerEndQuery(estate);
	}
	ExecDropSingleTupleTableSlot(base->slot);
	ExecResetTupleTable(estate->es_tupleTable, false);
	ExecCloseResultRelations(estate);
	ExecCloseRangeTableRelations(estate);
	FreeExecutorState(estate);
}

/* ---- side by side with others ---- */

static void
direct_hold(Writer *base, bool (*may_place) (void *arg), void *arg)
{
	DirectWriter *writer = (DirectWriter *) base;

	place_rows(writer);
	pages_resize(writer->batch, PAGES_HELD);
	toast_hold(writer->toaster, true);
	writer->may_place = may_place;
	writer->may_place_arg = arg;
}

static void
direct_let_go(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	writer->may_place = NULL;
	pages_resize(writer->batch, PAGES_BATCH);
	toast_hold(writer->toaster, false);
}

/*
 * Logical decoding forgets TOASTed values at the end of each batch of rows;
 * others' must not come between a value and its row.
 */
static bool
direct_settles_in_turn(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	return writer->batch->decoded &&
		OidIsValid(writer->rri->ri_RelationDesc->rd_rel->reltoastrelid);
}

static void
direct_reserve(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	if (direct_settles_in_turn(base))
		toast_flush(writer->toaster);
	pages_reserve(writer->batch);
}

static void
direct_settle(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	toast_flush(writer->toaster);
	pages_write(writer->batch);
}

static void
direct_discard(Writer *base)
{
	DirectWriter *writer = (DirectWriter *) base;

	toast_discard(writer->toaster);
	pages_discard(writer->batch);
}

static const WriterRoutine direct_routine = {
	.name = "direct",
	.put = direct_put,
	.put_rows = direct_put_rows,
	.flush = direct_flush,
	.close = direct_close,
	.hold = direct_hold,
	.let_go = direct_let_go,
	.reserve = direct_reserve,
	.settle = direct_settle,
	.settles_in_turn = direct_settles_in_turn,
	.discard = direct_discard
};

static DirectWriter *
open_writer(Target *target, const PageStamp *stamp, Guard *guard)
{
	DirectWriter *writer = palloc0(sizeof(DirectWriter));
	Relation	rel = target->rel;
	EState	   *estate = CreateExecutorState();

	writer->base.routine = &direct_routine;
	writer->base.estate = estate;
	writer->base.current_row = -1;
	writer->base.slot = MakeSingleTupleTableSlot(RelationGetDescr(rel),
												 &TTSOpsVirtual);
	writer->guard = guard;

	estate->es_output_cid = stamp->cid;
	compat_init_range_table(estate, target->pstate);
	writer->rri = makeNode(ResultRelInfo);
	ExecInitResultRelation(estate, writer->rri, 1);

	writer->constraints = constraints_open(writer->rri, estate);
	writer->generated = rel->rd_att->constr &&
		rel->rd_att->constr->has_generated_stored;
	writer->partition = rel->rd_rel->relispartition;
	writer->former = tuple_former(RelationGetDescr(rel));
	writer->base.plain = !writer->generated && !writer->partition &&
		constraints_only_notnull(writer->constraints);
	arena_init(&writer->arena, CurrentMemoryContext, ROW_ARENA_BLOCK);

	writer->batch = pages_open(rel, *stamp, PAGES_BATCH);
	writer->toaster = toast_open(rel, *stamp);
	writer->model = palloc0(SizeofHeapTupleHeader);
	pages_stamp(stamp, writer->model);
	writer->base.model = writer->model;
	return writer;
}

Writer *
direct_open(Target *target, const BulkOptions *options, Guard *guard)
{
	PageStamp	stamp = {
		.xid = GetCurrentTransactionId(),
		.cid = GetCurrentCommandId(true),
		.frozen = options->freeze
	};
	DirectWriter *writer = open_writer(target, &stamp, guard);

	AfterTriggerBeginQuery();
	ExecBSInsertTriggers(writer->base.estate, writer->rri);
	return &writer->base;
}

Writer *
direct_join(Target *target, const PageStamp *stamp, Guard *guard)
{
	DirectWriter *writer = open_writer(target, stamp, guard);

	writer->worker = true;
	return &writer->base;
}

PageStamp
direct_stamp(const Writer *base)
{
	return ((const DirectWriter *) base)->batch->stamp;
}
