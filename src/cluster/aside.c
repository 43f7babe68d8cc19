/*
 * aside.c
 *		See aside.h.
 */
#include "postgres.h"

#include "cluster/aside.h"
#include "miscadmin.h"
#include "utils/memutils.h"

struct AsideRows
{
	Writer	   *writer;
	BadRows    *rows;
	MemoryContext row_context;	/* of one of them */
	ToldCounts	counts;
};

AsideRows *
aside_open(Writer *writer)
{
	AsideRows  *aside = palloc0(sizeof(AsideRows));

	aside->writer = writer;
	aside->rows = bad_rows_open();
	aside->row_context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load row set aside",
											   ALLOCSET_SMALL_SIZES);
	return aside;
}

void
aside_reject(AsideRows *aside)
{
	const LateDuplicates *late = &aside->writer->late;
	MemoryContext old = MemoryContextSwitchTo(aside->row_context);
	BadRow		row;

	bad_rows_sort(aside->rows);
	while (bad_rows_next(aside->rows, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (row.reason == (RejectReason) TOLD_SET_NULL)
			late->set_null(late->arg, &row);
		else
			late->reject_bad(late->arg, &row);
		MemoryContextReset(aside->row_context);
	}
	MemoryContextSwitchTo(old);
	bad_rows_close(aside->rows);
}

bool
aside_is_enough(const AsideRows *aside, const ToldCounts *more)
{
	const LateDuplicates *late = &aside->writer->late;
	ToldCounts	counts = aside->counts;

	if (more != NULL)
	{
		counts.bad += more->bad;
		counts.duplicates += more->duplicates;
	}
	return counts.bad > late->room(late->arg, REJECT_VALUE) ||
		counts.duplicates > late->room(late->arg, REJECT_DUPLICATE);
}

/* The name here of a column there. */
static const char *
column_here(const AsideRows *aside, const Shard *shard, const char *column)
{
	TupleDesc	desc = aside->writer->slot->tts_tupleDescriptor;

	for (int i = 0; column != NULL && i < desc->natts; i++)
		if (shard->columns[i] != NULL && strcmp(shard->columns[i], column) == 0)
			return NameStr(TupleDescAttr(desc, i)->attname);
	return column;
}

void
aside_take(AsideRows *aside, const Shard *shard, BadRow *row)
{
	MemoryContext old = MemoryContextSwitchTo(aside->row_context);

	row->column = column_here(aside, shard, row->column);
	bad_rows_put(aside->rows, row);
	MemoryContextSwitchTo(old);
	MemoryContextReset(aside->row_context);
	told_count(&aside->counts, row->reason);
	if (aside_is_enough(aside, NULL))
		aside_reject(aside);
}
