/*
 * direct_parts.c
 *		The direct writer of partitioned tables.
 *
 * Each row is routed, checked and formed in its leaf's form, and waits, in an
 * arena that all leaves share.  When that has its fill, the leaves with rows
 * have their turns: one batch of pages serves them all, and goes on with the
 * page that a leaf's last turn left partly filled.  So the memory is the same
 * for eight leaves and for thousands, the rows of a turn are as many as they
 * can be, and tables take no more pages than after COPY.
 *
 * Index entries come when all rows are there (index/index.h), to leaves that have got some.
 *
 * Price: each row is copied once more than into a plain table.
 *
 * Assumption: the target and all its partitions are locked as the direct
 * writer wants it, and direct_partition_refusal has said nothing.
 */
#include "postgres.h"

#include "commands/trigger.h"
#include "index/plan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "write/direct.h"
#include "write/dry_run.h"
#include "write/partitions.h"

/*
 * Bytes of rows that wait: less for few leaves, so that they stay in the
 * cache, and at most so many.
 */
#define WAITING_LEAST (1024 * 1024)
#define WAITING_PER_LEAF (128 * 1024)
#define WAITING_MOST (8 * 1024 * 1024)

#define ROW_ARENA_BLOCK (256 * 1024)

typedef struct WaitingRow
{
	HeapTuple	tuple;
	struct WaitingRow *next;
	JournalPlace place[FLEXIBLE_ARRAY_MEMBER];	/* for leaves that are checked */
} WaitingRow;

typedef struct Part
{
	DirectTable table;
	IndexTable *indexes;
	WaitingRow *first;			/* NULL: none waits */
	WaitingRow *last;
	struct Part *next;			/* that has rows waiting */
	PageTail	tail;
	PageTail	chunk_tail;		/* of the TOAST table */
} Part;

typedef struct PartsWriter
{
	Writer		base;
	const BulkOptions *options;
	Guard	   *guard;
	Checks	   *checks;
	Journal    *journal;
	PageStamp	stamp;
	DryRun	   *dry;			/* NULL: what is loaded is to stay */
	ResultRelInfo *root;
	Partitions *partitions;
	int			nparts;			/* opened so far */

	/* rows that wait */
	Arena		arena;
	Size		waiting;		/* bytes */
	Part	   *first;			/* of the leaves that they are for */
	Part	   *last;

	/* the leaf whose turn it is */
	Part	   *turn;
	TupleSink	sink;
	PageBatch  *chunks;			/* NULL: none was needed yet */
} PartsWriter;

/* ---- turns ---- */

static void
place_rows(void *arg)
{
	PartsWriter *writer = arg;

	if (writer->sink.toaster != NULL)
		toast_flush(writer->sink.toaster);
	pages_reserve(writer->sink.batch);
	if (writer->turn->table.checked != CHECKS_NOTHING)
		direct_note_places(writer->journal, writer->sink.batch,
						   writer->turn->table.checked);
	pages_write(writer->sink.batch);
}

/* The turn's first wide row has come. */
static void
open_toaster(PartsWriter *writer, Part *part)
{
	MemoryContext old = MemoryContextSwitchTo(writer->base.estate->es_query_cxt);

	if (writer->chunks == NULL)
		writer->chunks = pages_open(NULL, writer->stamp, PAGES_BATCH);
	writer->sink.toaster = toast_open(part->table.rri->ri_RelationDesc,
									  writer->stamp);
	toast_borrow(writer->sink.toaster, writer->chunks, &part->chunk_tail);
	MemoryContextSwitchTo(old);
}

/* The rows of a leaf lie scattered: has the next one come to the cache. */
static inline void
fetch_ahead(const WaitingRow *row)
{
#if defined(__GNUC__) || defined(__clang__)
	if (row->next != NULL)
	{
		__builtin_prefetch(row->next->tuple->t_data);
		__builtin_prefetch(row->next->next);
	}
#endif
}

/* The first rows are about to come to a leaf's table. */
static void
prepare_part(PartsWriter *writer, Part *part)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(writer));

	if (writer->dry != NULL)
		dry_run_prepare(writer->dry, part->table.rri->ri_RelationDesc, true, 0);
	writer->base.tables = lappend(writer->base.tables, part->indexes);
	MemoryContextSwitchTo(old);
}

/* All rows that wait for a leaf are in its table. */
static void
flush_part(PartsWriter *writer, Part *part)
{
	TupleSink  *sink = &writer->sink;
	Relation	rel = part->table.rri->ri_RelationDesc;
	int64		nrows = 0;

	writer->turn = part;
	if (part->indexes->rows == 0)
		prepare_part(writer, part);
	pages_turn(sink->batch, rel, &part->tail);
	for (WaitingRow *row = part->first; row != NULL; row = row->next)
	{
		fetch_ahead(row);
		if (sink->toaster == NULL && !toast_unneeded(row->tuple))
			open_toaster(writer, part);
		sink_put(sink, row->tuple);
		if (part->table.checked != CHECKS_NOTHING)
			journal_place(writer->journal, row->place);
		sink_relieve(sink);
		nrows++;
	}
	place_rows(writer);
	if (sink->toaster != NULL)
		toast_close(sink->toaster);
	sink->toaster = NULL;
	pgstat_count_heap_insert(rel, nrows);
	part->indexes->rows += nrows;
	part->first = part->last = NULL;
}

static void
flush_all(PartsWriter *writer)
{
	guard_close(writer->guard);
	writer->base.current_row = -1;
	for (Part *part = writer->first; part != NULL; part = part->next)
		flush_part(writer, part);
	writer->first = writer->last = NULL;
	writer->waiting = 0;
	arena_reset(&writer->arena);
}

/* ---- put ---- */

/* Routing opens them for those who insert row by row; here they would keep their files. */
static void
close_indexes(ResultRelInfo *rri)
{
	if (rri->ri_IndexRelationDescs != NULL)
		ExecCloseIndices(rri);
	rri->ri_NumIndices = 0;
	rri->ri_IndexRelationDescs = NULL;
}

/*
 * A leaf has its first row.  All of them were looked at, but what has run
 * since may have changed one, or have been allowed to see one that is being
 * detached.
 */
static void *
open_part(void *arg, ResultRelInfo *rri)
{
	PartsWriter *writer = arg;
	EState	   *estate = writer->base.estate;
	Relation	rel = rri->ri_RelationDesc;
	Refusal		refusal;
	MemoryContext old;
	Part	   *part;

	close_indexes(rri);
	refusal = direct_table_refusal(rel, writer->options);
	if (refusal_is_any(&refusal))
	{
		refusal.partition = RelationGetRelationName(rel);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("writer \"direct\" can no longer load into partition \"%s\"",
						RelationGetRelationName(rel)),
				 refusal_detail(&refusal)));
	}
	if (!CheckRelationLockedByMe(rel, ShareRowExclusiveLock, true) &&
		!ConditionalLockRelation(rel, ShareRowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on partition \"%s\"",
						RelationGetRelationName(rel))));

	part = MemoryContextAllocZero(estate->es_query_cxt, sizeof(Part));
	direct_table_open(&part->table, rri, estate, writer->checks);
	/* what becomes of indexes is told when the writer is closed */
	old = MemoryContextSwitchTo(GetMemoryChunkContext(writer));
	part->indexes = plan_table(rel, writer->options, true);
	MemoryContextSwitchTo(old);
	writer->nparts++;
	return part;
}

/* Has the row wait for its leaf's turn. */
static void
add_row(PartsWriter *writer, Part *part, TupleTableSlot *slot)
{
	bool		checked = part->table.checked != CHECKS_NOTHING;
	Size		size = sizeof(WaitingRow) + (checked ? sizeof(JournalPlace) : 0);
	WaitingRow *row;
	HeapTuple	tuple;

	/* a slot that was materialized has its values in the tuple alone */
	slot_getallattrs(slot);
	tuple = tuple_form(part->table.former, slot->tts_values, slot->tts_isnull,
					   &writer->arena);
	row = arena_alloc(&writer->arena, size);
	row->tuple = tuple;
	row->next = NULL;
	if (checked)
		journal_locate(writer->journal, writer->base.current_row, row->place);
	writer->waiting += HEAPTUPLESIZE + tuple->t_len + size;

	if (part->first != NULL)
		part->last->next = row;
	else
	{
		part->first = row;
		part->next = NULL;
		if (writer->first != NULL)
			writer->last->next = part;
		else
			writer->first = part;
		writer->last = part;
	}
	part->last = row;
}

static Size
waiting_limit(const PartsWriter *writer)
{
	Size		limit = (Size) writer->nparts * WAITING_PER_LEAF;

	return Min(Max(limit, WAITING_LEAST), WAITING_MOST);
}

static WriterVerdict
parts_put(Writer *base, uint32 number, RowError *err)
{
	PartsWriter *writer = (PartsWriter *) base;
	Part	   *part;
	DirectTable *table;
	TupleTableSlot *slot;

	base->current_row = number;
	part = partitions_find(writer->partitions, base->slot, err);
	if (part == NULL)
		return WRITER_BAD;
	table = &part->table;
	slot = partitions_map(table->rri, table->map, base->slot);
	if (!constraints_complete(table->rri, table->constraints, table->generated,
							  false, slot, base->estate, writer->guard, err))
		return WRITER_BAD;

	add_row(writer, part, slot);
	if (writer->waiting >= waiting_limit(writer))
		flush_all(writer);
	return WRITER_TAKEN;
}

/* Rows wait on: they do not point into the window. */
static void
parts_flush(Writer *base)
{
	base->current_row = -1;
}

/* ---- open and close ---- */

static void
parts_finish(Writer *base)
{
	flush_all((PartsWriter *) base);
}

static void
parts_close(Writer *base)
{
	PartsWriter *writer = (PartsWriter *) base;

	if (writer->chunks != NULL)
		pages_close(writer->chunks);
	pages_close(writer->sink.batch);
	direct_fire_after(base, writer->root);
	ExecDropSingleTupleTableSlot(base->slot);
	ExecResetTupleTable(base->estate->es_tupleTable, false);
	partitions_close(writer->partitions);
	direct_end(base);
}

static const WriterRoutine parts_routine = {
	.name = "direct",
	.put = parts_put,
	.flush = parts_flush,
	.finish = parts_finish,
	.close = parts_close
};

Writer *
direct_parts_open(Target *target, const BulkOptions *options,
				  const PageStamp *stamp, Guard *guard, Checks *checks)
{
	PartsWriter *writer = palloc0(sizeof(PartsWriter));

	writer->base.routine = &parts_routine;
	writer->options = options;
	writer->guard = guard;
	writer->checks = checks;
	writer->journal = checks_journal(checks);
	writer->stamp = *stamp;
	writer->dry = target->dry;
	writer->root = direct_begin(&writer->base, target, stamp->cid);
	writer->partitions = partitions_open(writer->base.estate, writer->root, NULL,
										 guard, open_part, writer);
	arena_init(&writer->arena, CurrentMemoryContext, ROW_ARENA_BLOCK);
	writer->sink = (TupleSink) {
		.batch = pages_open(NULL, *stamp, PAGES_BATCH),
		.guard = guard,
		.place = place_rows,
		.arg = writer
	};
	AfterTriggerBeginQuery();
	ExecBSInsertTriggers(writer->base.estate, writer->root);
	return &writer->base;
}
