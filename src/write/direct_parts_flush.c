/*
 * direct_parts_flush.c
 *		Rows that wait for partitions, put into their pages.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "server/fetch_ahead.h"
#include "utils/memutils.h"
#include "write/direct_parts_state.h"

/* For the first wide row of a leaf's flush. */
static void
open_toaster(PartsWriter *writer, Part *part)
{
	DirectWriter *direct = &writer->direct;
	MemoryContext old = MemoryContextSwitchTo(direct->base.estate->es_query_cxt);

	if (direct->chunks == NULL)
	{
		direct->chunks = pages_open(NULL, writer->stamp, PAGES_BATCH);
		pages_share_ring(direct->chunks, direct->processes);
	}
	direct->toaster = toast_open(part->table.rri->ri_RelationDesc, writer->stamp);
	toast_borrow(direct->toaster, direct->chunks, &part->state->chunk_tail);
	MemoryContextSwitchTo(old);
}

/* A row that waits gets its place in its leaf's table. */
static void
place_row(PartsWriter *writer, Part *part, const WaitingRow *row)
{
	DirectWriter *direct = &writer->direct;
	char	   *data = waiting_data(&part->rows, row);
	HeapTupleData tuple;

	tuple.t_len = row->length;
	tuple.t_data = row->apart ? *(HeapTupleHeader *) data : (HeapTupleHeader) data;
	tuple.t_tableOid = InvalidOid;
	ItemPointerSetInvalid(&tuple.t_self);
	if (row->apart || !toast_unneeded(&tuple) || !pages_add(direct->batch, data, row->length))
	{
		if (direct->toaster == NULL && !toast_unneeded(&tuple))
			open_toaster(writer, part);
		direct_put_tuple(direct, &tuple);
	}
	if (part->rows.placed)
		journal_place(direct->journal, waiting_place(row));
	direct_relieve(direct);
}

/* The same for some of the rows; returns how many. */
static int64
place_rows(PartsWriter *writer, Part *part, const RowChunk *chunk)
{
	int64		nrows = 0;

	if (chunk->next != NULL)
		fetch_ahead(chunk->next);
	for (const WaitingRow *row = waiting_first(chunk); row != NULL;
		 row = waiting_next(&part->rows, chunk, row), nrows++)
		place_row(writer, part, row);
	return nrows;
}

void
parts_prepare(PartsWriter *writer, Part *part, Relation rel)
{
	if (writer->dry != NULL && !part->prepared)
		dry_run_prepare(writer->dry, rel, true, 0);
	part->prepared = true;
}

void
parts_count(PartsWriter *writer, Part *part, Relation rel, int64 nrows)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(writer));

	if (part->indexes->rows == 0)
	{
		if (part->table.checked != CHECKS_NOTHING)
			checks_expect_rows(writer->checks, part->table.checked);
		writer->direct.base.tables = lappend(writer->direct.base.tables, part->indexes);
	}
	part->indexes->rows += nrows;
	pgstat_count_heap_insert(rel, nrows);
	MemoryContextSwitchTo(old);
}

/* All rows that wait for a leaf are in its table; or, with later, only have their places there. */
static void
flush_part(PartsWriter *writer, Part *part, bool later)
{
	DirectWriter *direct = &writer->direct;
	Relation	rel = part->table.rri->ri_RelationDesc;
	int64		nrows = 0;

	direct->table = &part->table;
	if (!part->prepared)
		parts_prepare(writer, part, rel);
	pages_turn(direct->batch, rel, &part->state->tail);
	for (const RowChunk *chunk = part->rows.first; chunk != NULL; chunk = chunk->next)
		nrows += place_rows(writer, part, chunk);
	if (direct->toaster != NULL)
		toast_flush(direct->toaster);
	direct_reserve_rows(direct);
	if (later)
		pages_write_last(direct->batch);
	else
		pages_write(direct->batch);
	if (direct->toaster != NULL)
		toast_close(direct->toaster);
	direct->toaster = NULL;
	part->state->rows += nrows;
	if (writer->shared == NULL)
		parts_count(writer, part, rel, nrows);
}

void
parts_end_waiting(PartsWriter *writer)
{
	for (Part *part = writer->first; part != NULL; part = part->next)
		waiting_forget(&part->rows);
	writer->first = writer->last = NULL;
	waiting_reset(&writer->waiting);
	arena_reset(&writer->direct.arena);
}

void
parts_flush_all(PartsWriter *writer, bool later)
{
	for (Part *part = writer->first; part != NULL; part = part->next)
	{
		CHECK_FOR_INTERRUPTS();
		if (part->next != NULL)
			fetch_ahead(part->next->rows.first);
		flush_part(writer, part, later);
	}
	parts_end_waiting(writer);
}

void
parts_place_waiting(PartsWriter *writer)
{
	guard_close(writer->direct.guard);
	writer->direct.base.current_row = -1;
	if (writer->direct.await_turn == NULL ||
		writer->direct.await_turn(writer->direct.await_arg))
		parts_flush_all(writer, false);
	else
		parts_end_waiting(writer);
}
