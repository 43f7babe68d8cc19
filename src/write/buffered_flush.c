/*
 * buffered_flush.c
 *		See buffered_flush.h.
 */
#include "postgres.h"

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

void
buffered_bound_entries(BufferedWriter *writer)
{
	for (;;)
	{
		Leaf	   *largest = NULL;
		Size		most = 0;
		Size		sum = 0;
		ListCell   *lc;

		foreach(lc, writer->leaves)
		{
			Leaf	   *leaf = lfirst(lc);
			Size		size = leaf->entries == NULL ? 0 : entries_memory(leaf->entries);

			sum += size;
			if (size > most)
			{
				most = size;
				largest = leaf;
			}
		}
		if (largest == NULL || sum < writer->context.entries_budget)
			return;
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

void
buffered_bound_keys(BufferedWriter *writer, Leaf *leaf)
{
	ListCell   *lc;

	if (!arbiter_batch_full(leaf->keys))
		return;
	foreach(lc, writer->leaves)
	{
		Leaf	   *other = lfirst(lc);

		if (other->keys != NULL &&
			arbiter_batch_memory(other->keys) > arbiter_batch_memory(leaf->keys))
			leaf = other;
	}
	settle_leaf(writer, leaf);
}

void
buffered_flush_all(BufferedWriter *writer)
{
	ListCell   *lc;

	if (writer->partitions == NULL)
	{
		if (writer->leaf->nrows > 0)
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
