/*
 * buffered_share.c
 *		See buffered_share.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "write/arbiter_batch.h"
#include "write/buffered_flush.h"
#include "write/buffered_share.h"
#include "write/leaf.h"

WriterVerdict
buffered_hold(BufferedWriter *writer, Leaf *leaf, TupleTableSlot *slot, uint32 number)
{
	HeapTuple	tuple = tuple_form(leaf->former, slot->tts_values, slot->tts_isnull,
								   &writer->held.arena);

	return held_put(&writer->held, tuple, number) ? WRITER_TAKEN : WRITER_LEFT;
}

RefusalReason
buffered_share_refusal(Writer *base)
{
	BufferedWriter *writer = (BufferedWriter *) base;

	if (writer->partitions != NULL)
		return REFUSAL_PARTITIONED_WORKERS;
	if (writer->leaf->arbiter != NULL && writer->leaf->keys == NULL)
		return REFUSAL_DUPLICATES_WORKERS;
	return leaf_share_refusal(writer->leaf);
}

/* Workers need nothing, but while there are some nobody can get an XID. */
Size
buffered_prepare_share(Writer *base)
{
	(void) GetCurrentTransactionId();
	return 0;
}

void
buffered_share(Writer *base, void *memory)
{
}

void
buffered_gather(Writer *base)
{
}

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
	writer->nplaces = 0;
	writer->base.current_row = -1;
	writer->base.find_place = find_place;
	writer->base.find_place_arg = writer;
}

static void
end_others_rows(BufferedWriter *writer, int64 current_row)
{
	buffered_flush_all(writer);
	writer->base.find_place = NULL;
	writer->base.current_row = current_row;
}

/*
 * Stores a row, or has it wait to ask for its keys, until this process is alone: rows cannot be
 * replaced, nor taken back, in parallel mode.  Its tuple must stay until end_others_rows.
 */
static void
store_row(BufferedWriter *writer, const HeldRow *row)
{
	Leaf	   *leaf = writer->leaf;

	if (leaf->keys != NULL)
	{
		arbiter_batch_put(leaf->keys, handed_copy(row->tuple, arbiter_batch_arena(leaf->keys)),
						  &row->place, row->raw);
		return;
	}
	*add_place(writer) = row->place;
	leaf_put_tuple(&writer->context, leaf, row->tuple, writer->nplaces - 1);
	if (leaf_is_full(leaf))
		leaf_flush(&writer->context, leaf);
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
		row.tuple = arena_alloc(&writer->context.arena, sizeof(HeapTupleData));
		*row.tuple = tuple;
		store_row(writer, &row);
	}
	end_others_rows(writer, current_row);
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
	end_others_rows(writer, current_row);
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
	const Leaf *leaf = ((BufferedWriter *) base)->leaf;

	return leaf->keys != NULL ? arbiter_batch_full(leaf->keys) : leaf_entries_wait(leaf);
}

double
buffered_rows_until_alone(Writer *base)
{
	const Leaf *leaf = ((BufferedWriter *) base)->leaf;

	return leaf->keys != NULL ? arbiter_batch_rows(leaf->keys) : 0;
}
