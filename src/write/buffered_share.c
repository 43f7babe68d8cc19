/*
 * buffered_share.c
 *		See buffered_share.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "row/computation.h"
#include "row/constraints.h"
#include "server/workers.h"
#include "storage/lock.h"
#include "utils/memutils.h"
#include "write/arbiter_batch.h"
#include "write/arbiter_batch_serves.h"
#include "write/buffered_flush.h"
#include "write/buffered_share.h"
#include "write/leaf.h"

/* Partitions whose rows workers form at most, as a multiple of max_locks_per_transaction. */
#define SHARED_LEAVES_LOCKS 4

/* Bytes of rows in the batches of partitions, as much as a large window has. */
#define PENDING_MAX (1024 * 1024)

WriterVerdict
buffered_hold(BufferedWriter *writer, Leaf *leaf, TupleTableSlot *slot, uint32 number)
{
	HeapTuple	tuple = tuple_form(leaf->former, slot->tts_values, slot->tts_isnull,
								   &writer->held.arena);

	return held_put(&writer->held, Max(leaf->shared, 0), tuple, number) ?
		WRITER_TAKEN : WRITER_LEFT;
}

/* ---- which partitions ---- */

/* Workers lock each, as this process has. */
static int
most_shared(void)
{
	return SHARED_LEAVES_LOCKS * max_locks_per_xact;
}

static RefusalReason
leaf_refusal(const BufferedWriter *writer, const Leaf *leaf)
{
	List	   *expressions;

	if (leaf->arbiter != NULL &&
		(leaf->keys == NULL || writer->context.entries_budget == 0 ||
		 !arbiter_batch_takes_tuples(&writer->context)))
		return REFUSAL_DUPLICATES_WORKERS;
	if (writer->partitions != NULL)
	{
		/* of the target it has been asked */
		expressions = constraints_expressions(leaf->rri->ri_RelationDesc);
		if (!workers_can_evaluate(expressions))
			return REFUSAL_EXPRESSION;
		if (!GUARD_IN_PARALLEL_MODE && !computation_are_all(expressions))
			return REFUSAL_EACH_ROW;
	}
	return leaf_share_refusal(leaf);
}

/* Partitions are usually alike: those that have got rows so far tell of the others. */
RefusalReason
buffered_share_refusal(Writer *base)
{
	BufferedWriter *writer = (BufferedWriter *) base;
	ListCell   *lc;

	/* triggers of a partition that came late look at the table: no row may wait for its key */
	if (writer->context.options->on_duplicate != BULK_ON_DUPLICATE_ERROR &&
		writer->context.entries_budget == 0)
		return REFUSAL_ROW_TRIGGERS;
	if (writer->partitions != NULL &&
		(!writer->batches || writer->context.transition_capture != NULL))
		return REFUSAL_ROW_TRIGGERS;
	if (list_length(writer->leaves) > most_shared())
		return REFUSAL_PARTITIONED_WORKERS;
	foreach(lc, writer->leaves)
	{
		RefusalReason refusal = leaf_refusal(writer, lfirst(lc));

		if (refusal != REFUSAL_NONE)
			return refusal;
	}
	return REFUSAL_NONE;
}

static void
share_leaf(BufferedWriter *writer, Leaf *leaf)
{
	MemoryContext old;

	leaf->judged = true;
	if (writer->nshared >= most_shared() || leaf_refusal(writer, leaf) != REFUSAL_NONE)
		return;
	old = MemoryContextSwitchTo(writer->base.estate->es_query_cxt);
	if (writer->shared == NULL)
		writer->shared = palloc(most_shared() * sizeof(Leaf *));
	MemoryContextSwitchTo(old);
	leaf_prepare(&writer->context, leaf);
	leaf->shared = writer->nshared;
	writer->shared[writer->nshared++] = leaf;
}

/* While there are workers nobody can get an XID. */
Size
buffered_prepare_share(Writer *base)
{
	BufferedWriter *writer = (BufferedWriter *) base;
	ListCell   *lc;

	(void) GetCurrentTransactionId();
	foreach(lc, writer->leaves)
	{
		Leaf	   *leaf = lfirst(lc);

		if (!leaf->judged)
			share_leaf(writer, leaf);
		if (leaf->keys != NULL && !arbiter_batch_accepts(leaf->keys))
			buffered_settle_keys(writer);
	}
	return offsetof(HandoverShared, leaves) + writer->nshared * sizeof(Oid);
}

void
buffered_share(Writer *base, void *memory)
{
	BufferedWriter *writer = (BufferedWriter *) base;
	HandoverShared *shared = memory;

	shared->nleaves = writer->nshared;
	for (int i = 0; i < writer->nshared; i++)
		shared->leaves[i] = RelationGetRelid(writer->shared[i]->rri->ri_RelationDesc);
}

/* ---- rows ---- */

void
buffered_begin_parallel(Writer *base, int processes, bool (*await_turn) (void *arg), void *arg)
{
	BufferedWriter *writer = (BufferedWriter *) base;

	if (writer->held.context == NULL)
		held_init(&writer->held, base->estate->es_query_cxt, writer->context.journal,
				  arbiter_batch_shows(writer->context.options));
	writer->holds = true;
}

void
buffered_end_parallel(Writer *base)
{
	((BufferedWriter *) base)->holds = false;
}

bool
buffered_reserve(Writer *base)
{
	return true;
}

/* For the writer, while rows are stored that are not those of the window. */
static bool
find_place(void *arg, const ItemPointerData *tid, JournalPlace *place)
{
	BufferedWriter *writer = arg;
	int64		number = writer->base.current_row;

	if (tid != NULL || number < 0 || number >= writer->nplaces)
		return false;
	*place = writer->places[number];
	return true;
}

static JournalPlace *
add_place(BufferedWriter *writer)
{
	if (writer->nplaces == writer->places_capacity)
	{
		MemoryContext context = writer->base.estate->es_query_cxt;

		writer->places_capacity = Max(2 * writer->places_capacity, LEAF_BATCH_ROWS);
		writer->places = writer->places == NULL ?
			MemoryContextAlloc(context, writer->places_capacity * sizeof(JournalPlace)) :
			repalloc_huge(writer->places, writer->places_capacity * sizeof(JournalPlace));
	}
	return &writer->places[writer->nplaces++];
}

static void
begin_others_rows(BufferedWriter *writer)
{
	writer->base.current_row = -1;
	writer->base.find_place = find_place;
	writer->base.find_place_arg = writer;
}

/* may_wait: their tuples stay where they are, so they may wait for more of their partitions. */
static void
end_others_rows(BufferedWriter *writer, int64 current_row, bool may_wait)
{
	if (!may_wait || writer->pending > PENDING_MAX)
	{
		buffered_flush_all(writer);
		writer->nplaces = 0;
		writer->pending = 0;
	}
	writer->base.find_place = NULL;
	writer->base.current_row = current_row;
}

/*
 * Stores a row, or has it wait to ask for its keys, until this process is alone: rows cannot be
 * replaced, nor taken back, in parallel mode.  Its tuple must stay until the batches are flushed.
 */
static void
store_row(BufferedWriter *writer, const HeldRow *row)
{
	Leaf	   *leaf = writer->shared[row->leaf];

	if (leaf->keys != NULL)
	{
		arbiter_batch_put(leaf->keys, handed_copy(row->tuple, arbiter_batch_arena(leaf->keys)),
						  &row->place, row->raw);
		return;
	}
	*add_place(writer) = row->place;
	buffered_put_tuple(writer, leaf, row->tuple, writer->nplaces - 1);
	if (leaf_is_full(leaf))
		buffered_flush_leaf(writer, leaf);
}

/* The tuple of a row in a message, which goes, for a batch that stays. */
static HeapTuple
take_tuple(BufferedWriter *writer, HeapTuple tuple)
{
	Arena	   *arena = &writer->context.arena;
	HeapTuple	copy;

	if (writer->partitions != NULL)
	{
		writer->pending += HEAPTUPLESIZE + tuple->t_len;
		return handed_copy(tuple, arena);
	}
	copy = arena_alloc(arena, sizeof(HeapTupleData));
	*copy = *tuple;
	return copy;
}

void
buffered_take_over(Writer *base, char *message)
{
	BufferedWriter *writer = (BufferedWriter *) base;
	int64		current_row = base->current_row;
	HandedRows	rows;
	HeapTupleData tuple;
	HeldRow		row;

	begin_others_rows(writer);
	handed_begin(&rows, message);
	while (handed_next(&rows, &tuple, &row))
	{
		if (writer->shared[row.leaf]->keys == NULL)
			row.tuple = take_tuple(writer, &tuple);
		store_row(writer, &row);
	}
	end_others_rows(writer, current_row, writer->partitions != NULL);
}

/* When all are there: what waits for more. */
void
buffered_gather(Writer *base)
{
	BufferedWriter *writer = (BufferedWriter *) base;

	if (writer->nplaces == 0)
		return;
	begin_others_rows(writer);
	end_others_rows(writer, base->current_row, false);
}

/* Its own rows, when their turn has come. */
void
buffered_write(Writer *base)
{
	BufferedWriter *writer = (BufferedWriter *) base;
	int64		current_row = base->current_row;

	begin_others_rows(writer);
	for (uint32 i = 0; i < writer->held.nrows; i++)
		store_row(writer, &writer->held.rows[i]);
	end_others_rows(writer, current_row, false);
	held_reset(&writer->held);
}

bool
buffered_writes_in_turn(Writer *base)
{
	return false;
}

void
buffered_discard(Writer *base)
{
	held_reset(&((BufferedWriter *) base)->held);
}

/* Index entries go to several processes when all others are done; and keys are asked for then. */
bool
buffered_wants_alone(Writer *base)
{
	return buffered_keys_wait((BufferedWriter *) base) ||
		buffered_entries_wait((BufferedWriter *) base);
}

double
buffered_rows_until_alone(Writer *base)
{
	ListCell   *lc;

	foreach(lc, ((BufferedWriter *) base)->leaves)
	{
		const Leaf *leaf = lfirst(lc);
		double		rows = leaf->keys != NULL ? arbiter_batch_rows(leaf->keys) : 0;

		if (rows > 0)
			return rows;
	}
	return 0;
}
