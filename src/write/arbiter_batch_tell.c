/*
 * arbiter_batch_tell.c
 *		See arbiter_batch_tell.h.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "check/duplicates.h"
#include "utils/memutils.h"
#include "write/arbiter.h"
#include "write/arbiter_batch_tell.h"

void
tell_duplicates(ArbiterBatch *batch, uint32 first, uint32 n)
{
	Writer	   *writer = batch->context->writer;
	const LateDuplicates *late = &writer->late;
	int64		unseen = late->unseen(late->arg);

	for (uint32 i = first; i < first + n; i++)
	{
		WaitingRow *row = &batch->rows[i];
		MemoryContext caller;

		if (row->fate != FATE_DUPLICATE)
			continue;
		if (unseen > 0)
		{
			unseen--;
			late->count(late->arg, row->place.file, REJECT_DUPLICATE, 1);
			continue;
		}
		batch_show_row(batch, i);
		caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
		arbiter_set_aside(batch->context, batch->leaf->arbiter, row->judge, batch->slot);
		MemoryContextSwitchTo(caller);
		late->reject(late->arg, &row->place, row->raw, &writer->duplicate);
		unseen = late->unseen(late->arg);
	}
	writer->current_row = -1;
}

/* Has a row written down that goes to the reject stream at the end, in the order of the input. */
static void
note(ArbiterBatch *batch, uint32 number, RejectReason reason, TupleTableSlot *slot)
{
	LeafContext *context = batch->context;
	BadRow		row = {
		.place = batch->rows[number].place,
		.reason = reason,
		.table = batch->leaf->checked,
		.key = RelationGetRelid(batch->index)
	};
	MemoryContext old =
		MemoryContextSwitchTo(GetPerTupleMemoryContext(context->writer->estate));

	row.value = duplicates_key(batch->index, batch->info, slot, context->writer->estate);
	if (reason == REJECT_REPLACED && options_show_replaced(context->options))
		row.row = duplicates_row(arbiter_root(batch->leaf->rri),
								 batch->leaf->rri->ri_RelationDesc, slot);
	checks_replace(context->checks, &row);
	MemoryContextSwitchTo(old);
	batch->nnoted++;
}

static inline bool
is_noted(const ArbiterBatch *batch)
{
	return batch->notes || batch->nnoted < REJECTS_FIRST;
}

/* Notes the row of the table that a row has replaced.  It is dead, and still there. */
static void
note_replaced(ArbiterBatch *batch, uint32 number)
{
	Relation	rel = batch->leaf->rri->ri_RelationDesc;

	if (!table_tuple_fetch_row_version(rel, &batch->rows[number].replaced, SnapshotAny,
									   batch->standing))
		elog(ERROR, "could not fetch the row that was replaced");
	note(batch, number, REJECT_REPLACED, batch->standing);
	ExecClearTuple(batch->standing);
}

void
tell_replaced(ArbiterBatch *batch, uint32 first, uint32 n)
{
	const LateDuplicates *late = &batch->context->writer->late;

	for (uint32 i = first; i < first + n; i++)
	{
		const WaitingRow *row = &batch->rows[i];
		bool		replaces = ItemPointerIsValid(&row->replaced);

		if (!replaces && row->fate != FATE_DUPLICATE)
			continue;
		if (!is_noted(batch))
		{
			if (replaces)
				late->count(late->arg, row->place.file, REJECT_REPLACED, 1);
			if (row->fate == FATE_DUPLICATE)
				late->count(late->arg, row->place.file, REJECT_DUPLICATE, 1);
			continue;
		}
		batch_show_row(batch, i);
		if (replaces)
			note_replaced(batch, i);
		if (row->fate == FATE_DUPLICATE)
			note(batch, i, REJECT_DUPLICATE, batch->slot);
	}
	batch->context->writer->current_row = -1;
}
