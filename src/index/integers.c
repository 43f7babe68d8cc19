/*
 * integers.c
 *		See integers.h.
 */
#include "postgres.h"

#include "index/huge_array.h"
#include "index/integers.h"
#include "index/keysort.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define INTERRUPT_ROWS 4096

/* Keys with the same columns null. */
typedef struct Alike
{
	uint32		nulls;
	SortItem   *items;
	Size		n;
	Size		capacity;
	RowId	   *rows;			/* while they are emitted: those of a key */
	Size		at;				/* what has been emitted */
} Alike;

struct Integers
{
	KeyShape   *shape;
	MemoryContext context;
	Size		nitems;
	int			nalike;
	Alike		alike[FLEXIBLE_ARRAY_MEMBER];	/* by nulls */
};

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

Integers *
integers_open(KeyShape *shape, MemoryContext context)
{
	int			nalike = shape_integer_nulls(shape) + 1;
	Integers   *integers = palloc0(offsetof(Integers, alike) + nalike * sizeof(Alike));

	integers->shape = shape;
	integers->context = context;
	integers->nalike = nalike;
	return integers;
}

void
integers_begin(Integers *integers)
{
	integers->nitems = 0;
	for (int i = 0; i < integers->nalike; i++)
		integers->alike[i] = (Alike) {.nulls = i};
}

void
integers_put(Integers *integers, RowId row, uint64 key, uint32 nulls)
{
	Alike	   *alike = &integers->alike[nulls];

	if (alike->n == alike->capacity)
		alike->items = huge_array_grow(integers->context, alike->items, alike->n,
									   &alike->capacity, sizeof(SortItem));
	alike->items[alike->n].key = key;
	alike->items[alike->n++].value = row;
	integers->nitems++;
}

Size
integers_memory(const Integers *integers)
{
	return integers->nitems * 2 * sizeof(SortItem);
}

uint64
integers_rows(const Integers *integers)
{
	return integers->nitems;
}

void
integers_emit_unsorted(const Integers *integers, const KeySink *sink)
{
	for (int i = 0; i < integers->nalike; i++)
	{
		const Alike *alike = &integers->alike[i];

		for (Size k = 0; k < alike->n; k++)
		{
			if (k % INTERRUPT_ROWS == 0)
				CHECK_FOR_INTERRUPTS();
			sink->integer(sink->arg, alike->items[k].key, i, alike->items[k].value);
		}
	}
}

static void
sort_alike(Integers *integers, Alike *alike)
{
	SortItem   *spare = huge_array_alloc(integers->context, alike->n * sizeof(SortItem));

	keysort_integers(alike->items, spare, alike->n, poll_interrupts);
	alike->rows = (RowId *) spare;
	alike->at = 0;
}

static uint64
next_key(const Alike *alike)
{
	return alike->items[alike->at].key;
}

/* Those whose next key comes first, of n that have one. */
static int
find_first(const KeyShape *shape, Alike *const *left, int n)
{
	int			first = 0;

	for (int i = 1; i < n; i++)
		if (shape_integer_compare(shape, next_key(left[i]), left[i]->nulls,
								  next_key(left[first]), left[first]->nulls) < 0)
			first = i;
	return first;
}

/* Emits the next key and its rows. */
static void
emit_key(KeyShape *shape, Alike *alike, RowOrder order, StringInfo string, const KeySink *sink)
{
	uint64		key = next_key(alike);
	char		image[SHAPE_INTEGER_IMAGE];
	Size		size = shape_integer_image(shape, key, alike->nulls, image);
	Size		n = 0;

	for (; alike->at < alike->n && next_key(alike) == key; alike->at++)
		alike->rows[n++] = alike->items[alike->at].value;
	if (sink->string != NULL)
	{
		resetStringInfo(string);
		(void) shape_string(shape, image, false, string);
		sink->string(sink->arg, string->data, string->len);
	}
	sink->key(sink->arg, image, size, false);
	key_sink_rows(sink, alike->rows, n, order);
}

/* How many of the next keys have one row each. */
static Size
count_singles(const Alike *alike)
{
	const SortItem *items = alike->items;
	Size		end = Min(alike->at + INTERRUPT_ROWS, alike->n);
	Size		at = alike->at;

	while (at < end && (at + 1 == alike->n || items[at].key != items[at + 1].key))
		at++;
	return at - alike->at;
}

/* Emits all keys that are left, which come one after the other. */
static void
emit_rest(KeyShape *shape, Alike *alike, RowOrder order, StringInfo string, const KeySink *sink)
{
	while (alike->at < alike->n)
	{
		Size		singles = sink->singles != NULL && alike->nulls == 0 ? count_singles(alike) : 0;

		CHECK_FOR_INTERRUPTS();
		if (singles > 0)
			sink->singles(sink->arg, alike->items + alike->at, singles);
		else
			emit_key(shape, alike, order, string, sink);
		alike->at += singles;
	}
}

void
integers_emit(Integers *integers, RowOrder order, const KeySink *sink)
{
	Alike	  **left = palloc(integers->nalike * sizeof(Alike *));
	int			n = 0;
	StringInfoData string;

	initStringInfo(&string);
	for (int i = 0; i < integers->nalike; i++)
		if (integers->alike[i].n > 0)
		{
			sort_alike(integers, &integers->alike[i]);
			left[n++] = &integers->alike[i];
		}
	while (n > 0)
	{
		int			first = find_first(integers->shape, left, n);

		/* of a single column they are all null, or none is */
		if (n == 1 || integers->shape->nkeys == 1)
			emit_rest(integers->shape, left[first], order, &string, sink);
		else
			emit_key(integers->shape, left[first], order, &string, sink);
		if (left[first]->at == left[first]->n)
			left[first] = left[--n];
	}
	pfree(string.data);
	pfree(left);
}
