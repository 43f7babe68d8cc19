/*
 * integers.c
 *		See integers.h.
 */
#include "postgres.h"

#include "index/huge_array.h"
#include "index/integers.h"
#include "index/keysort.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#define INTERRUPT_ROWS 4096

struct Integers
{
	KeyShape	   *shape;
	MemoryContext context;
	SortItem   *items;
	Size		nitems;
	Size		items_capacity;
	RowId	   *nulls;
	Size		nnulls;
	Size		nulls_capacity;
};

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

Integers *
integers_open(KeyShape *shape, MemoryContext context)
{
	Integers   *integers = palloc0(sizeof(Integers));

	integers->shape = shape;
	integers->context = context;
	return integers;
}

void
integers_begin(Integers *integers)
{
	integers->items = NULL;
	integers->nulls = NULL;
	integers->nitems = integers->items_capacity = 0;
	integers->nnulls = integers->nulls_capacity = 0;
}

void
integers_put(Integers *integers, RowId row, uint64 key)
{
	if (integers->nitems == integers->items_capacity)
		integers->items = huge_array_grow(integers->context, integers->items, integers->nitems,
										  &integers->items_capacity, sizeof(SortItem));
	integers->items[integers->nitems].key = key;
	integers->items[integers->nitems++].value = row;
}

void
integers_put_null(Integers *integers, RowId row)
{
	integers->nulls = huge_array_grow(integers->context, integers->nulls, integers->nnulls,
									  &integers->nulls_capacity, sizeof(RowId));
	integers->nulls[integers->nnulls++] = row;
}

Size
integers_memory(const Integers *integers)
{
	return integers->nitems * 2 * sizeof(SortItem) + integers->nnulls * sizeof(RowId);
}

uint64
integers_rows(const Integers *integers)
{
	return integers->nitems + integers->nnulls;
}

void
integers_emit_unsorted(const Integers *integers, const KeySink *sink)
{
	for (Size i = 0; i < integers->nitems; i++)
	{
		if (i % INTERRUPT_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		sink->integer(sink->arg, integers->items[i].key, false, integers->items[i].value);
	}
	for (Size i = 0; i < integers->nnulls; i++)
		sink->integer(sink->arg, 0, true, integers->nulls[i]);
}

static void
emit_nulls(Integers *integers, RowOrder order, const KeySink *sink)
{
	char		image[MAXIMUM_ALIGNOF] = {1};
	char		string[2 * sizeof(uint64)]; /* before or behind all integers */

	if (integers->nnulls == 0)
		return;
	memset(string, integers->shape->columns[0].nulls_first ? 0 : 0xff, sizeof(string));
	if (sink->string != NULL)
		sink->string(sink->arg, string, sizeof(string));
	sink->key(sink->arg, image, sizeof(image), false);
	key_sink_rows(sink, integers->nulls, integers->nnulls, order);
}

static void
emit_numbers(Integers *integers, RowOrder order, const KeySink *sink)
{
	SortItem   *items = integers->items;
	SortItem   *spare;
	RowId	   *rows;
	Size		n = integers->nitems;
	Size		size = shape_integer_size(integers->shape);
	char		image[SHAPE_INTEGER_IMAGE];

	spare = huge_array_alloc(integers->context, Max(n, 1) * sizeof(SortItem));
	keysort_integers(items, spare, n, poll_interrupts);
	rows = (RowId *) spare;
	for (Size begin = 0, end; begin < n; begin = end)
	{
		for (end = begin; end < n && items[end].key == items[begin].key; end++)
			rows[end - begin] = items[end].value;
		if (sink->string != NULL)
		{
			uint64		string = pg_hton64(items[begin].key);

			sink->string(sink->arg, (const char *) &string, sizeof(string));
		}
		shape_integer_image(integers->shape, items[begin].key, image);
		sink->key(sink->arg, image, size, false);
		key_sink_rows(sink, rows, end - begin, order);
	}
}

void
integers_emit(Integers *integers, RowOrder order, const KeySink *sink)
{
	bool		nulls_first = integers->shape->columns[0].nulls_first;

	if (nulls_first)
		emit_nulls(integers, order, sink);
	emit_numbers(integers, order, sink);
	if (!nulls_first)
		emit_nulls(integers, order, sink);
}
