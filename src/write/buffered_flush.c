/*
 * buffered_flush.c
 *		See buffered_flush.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "write/arbiter_batch.h"
#include "write/buffered_flush.h"
#include "write/leaf.h"

/* Leaves that keep slots and a buffer pin after they were written to. */
#define MAX_WARM_LEAVES 32

void
buffered_keep_warm(BufferedWriter *writer, Leaf *leaf)
{
	MemoryContext old;

	if (writer->partitions == NULL || (writer->warm != NIL && llast(writer->warm) == leaf))
		return;
	old = MemoryContextSwitchTo(writer->base.estate->es_query_cxt);
	writer->warm = lappend(list_delete_ptr(writer->warm, leaf), leaf);
	MemoryContextSwitchTo(old);

	if (list_length(writer->warm) > MAX_WARM_LEAVES)
	{
		Leaf	   *oldest = linitial(writer->warm);

		/* with rows waiting again it will have its turn */
		if (oldest->nrows == 0)
			leaf_rest(oldest);
		writer->warm = list_delete_first(writer->warm);
	}
}

/* Those of all leaves; *largest: the one that has most of them, or NULL. */
static Size
entries_of_all(const BufferedWriter *writer, Leaf **largest)
{
	Size		most = 0;
	Size		sum = 0;
	ListCell   *lc;

	*largest = NULL;
	foreach(lc, writer->leaves)
	{
		Leaf	   *leaf = lfirst(lc);
		Size		size = leaf->entries == NULL ? 0 : entries_memory(leaf->entries);

		sum += size;
		if (size > most)
		{
			most = size;
			*largest = leaf;
		}
	}
	return sum;
}

bool
buffered_entries_wait(const BufferedWriter *writer)
{
	Leaf	   *largest;

	if (writer->partitions == NULL)
		return leaf_entries_wait(writer->leaf);
	return entries_of_all(writer, &largest) >= writer->context.entries_budget && largest != NULL;
}

void
buffered_bound_entries(BufferedWriter *writer)
{
	Leaf	   *largest;

	if (IsInParallelMode())
		return;
	while (entries_of_all(writer, &largest) >= writer->context.entries_budget && largest != NULL)
	{
		/* workers have ended because of them, which is not to be soon again */
		if (writer->nshared > 0)
			buffered_flush_entries(writer);
		else
			leaf_make_room(&writer->context, largest);
	}
}

void
buffered_flush_entries(BufferedWriter *writer)
{
	ListCell   *lc;

	foreach(lc, writer->leaves)
		leaf_flush_entries(&writer->context, lfirst(lc));
}

/* Settles the rows of a leaf that wait to ask for their keys. */
static void
settle_leaf(BufferedWriter *writer, Leaf *leaf)
{
	int64		current_row = writer->base.current_row;

	guard_close(writer->guard);
	arbiter_batch_flush(leaf->keys);
	buffered_keep_warm(writer, leaf);
	writer->base.current_row = current_row;
}

void
buffered_settle_keys(BufferedWriter *writer)
{
	ListCell   *lc;

	if (writer->context.asking == 0)
		return;
	foreach(lc, writer->leaves)
	{
		Leaf	   *leaf = lfirst(lc);

		if (leaf->keys != NULL && arbiter_batch_memory(leaf->keys) > 0)
			settle_leaf(writer, leaf);
	}
}

bool
buffered_keys_wait(const BufferedWriter *writer)
{
	ListCell   *lc;

	foreach(lc, writer->leaves)
	{
		const Leaf *leaf = lfirst(lc);

		if (leaf->keys != NULL)
			return arbiter_batch_full(leaf->keys);
	}
	return false;
}

void
buffered_bound_keys(BufferedWriter *writer, Leaf *leaf)
{
	ListCell   *lc;

	if (!arbiter_batch_full(leaf->keys))
		return;
	/* workers have ended because of them, which is not to be soon again */
	if (writer->nshared > 0)
	{
		buffered_settle_keys(writer);
		return;
	}
	foreach(lc, writer->leaves)
	{
		Leaf	   *other = lfirst(lc);

		if (other->keys != NULL &&
			arbiter_batch_memory(other->keys) > arbiter_batch_memory(leaf->keys))
			leaf = other;
	}
	settle_leaf(writer, leaf);
}

/* A leaf is about to have its first row. */
static void
begin_batch(BufferedWriter *writer, Leaf *leaf)
{
	MemoryContext old;

	if (writer->partitions == NULL)
		return;
	old = MemoryContextSwitchTo(writer->base.estate->es_query_cxt);
	writer->waiting = lappend(writer->waiting, leaf);
	MemoryContextSwitchTo(old);
}

void
buffered_put_slot(BufferedWriter *writer, Leaf *leaf, TupleTableSlot *slot, uint32 number)
{
	if (leaf->nrows == 0)
		begin_batch(writer, leaf);
	leaf_put(&writer->context, leaf, slot, number);
}

void
buffered_put_tuple(BufferedWriter *writer, Leaf *leaf, HeapTuple tuple, uint32 number)
{
	if (leaf->nrows == 0)
		begin_batch(writer, leaf);
	leaf_put_tuple(&writer->context, leaf, tuple, number);
}

void
buffered_flush_leaf(BufferedWriter *writer, Leaf *leaf)
{
	leaf_flush(&writer->context, leaf);
	if (writer->partitions == NULL)
		return;
	buffered_keep_warm(writer, leaf);
	writer->waiting = list_delete_ptr(writer->waiting, leaf);
	if (writer->waiting == NIL)
		arena_reset(&writer->context.arena);
	buffered_bound_entries(writer);
}

void
buffered_flush_all(BufferedWriter *writer)
{
	ListCell   *lc;

	if (writer->partitions == NULL)
	{
		if (writer->leaf != NULL && writer->leaf->nrows > 0)
			leaf_flush(&writer->context, writer->leaf);
	}
	else
	{
		foreach(lc, writer->waiting)
		{
			Leaf	   *leaf = lfirst(lc);

			leaf_flush(&writer->context, leaf);
			buffered_keep_warm(writer, leaf);
		}
		list_free(writer->waiting);
		writer->waiting = NIL;
		buffered_bound_entries(writer);
	}
	arena_reset(&writer->context.arena);
}
