/*
 * buffered_share.c
 *		See buffered_share.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "write/buffered_flush.h"
#include "write/buffered_share.h"
#include "write/leaf.h"

WriterVerdict
buffered_hold(BufferedWriter *writer, Leaf *leaf, TupleTableSlot *slot, uint32 number)
{
	HeapTuple	tuple = tuple_form(leaf->former, slot->tts_values, slot->tts_isnull,
								   &writer->held.arena);

	if (!held_has_room(&writer->held, tuple))
		return WRITER_LEFT;
	held_put(&writer->held, tuple, number);
	return WRITER_TAKEN;
}

RefusalReason
buffered_share_refusal(Writer *base)
{
	BufferedWriter *writer = (BufferedWriter *) base;

	if (writer->partitions != NULL)
		return REFUSAL_PARTITIONED_WORKERS;
	if (writer->leaf->arbiter != NULL)
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
		held_init(&writer->held, base->estate->es_query_cxt, writer->context.journal);
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

/* Stores a row with its place, which is the latest. */
static void
store_tuple(BufferedWriter *writer, HeapTuple tuple)
{
	Leaf	   *leaf = writer->leaf;

	leaf_put_tuple(&writer->context, leaf, tuple, writer->nplaces - 1);
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
	JournalPlace place;

	begin_others_rows(writer);
	handed_begin(&rows, message);
	while (handed_next(&rows, &tuple, &place))
	{
		HeapTuple	copy = arena_alloc(&writer->context.arena, sizeof(HeapTupleData));

		*copy = tuple;
		*add_place(writer) = place;
		store_tuple(writer, copy);
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
	{
		*add_place(writer) = writer->held.rows[i].place;
		store_tuple(writer, writer->held.rows[i].tuple);
	}
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

/* Index entries go to several processes when all others are done. */
bool
buffered_wants_alone(Writer *base)
{
	return leaf_entries_wait(((BufferedWriter *) base)->leaf);
}
