/*
 * btree_load.c
 *		See btree_load.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "index/btree_load.h"

/* Tuples of integers that are formed side by side. */
#define SINGLES_AT_ONCE 64

static void
take_key(void *arg, const char *image, Size size, bool equal)
{
	BtreeLoad  *load = arg;
	IndexTuple	tuple;

	load->image = image;
	if (!equal)
	{
		load->checked = load->unique &&
			(load->nulls_not_distinct || !shape_has_null(load->shape, image));
		load->live_row = 0;
		load->noted = false;
	}
	/* before its tuple goes */
	btree_end_key(load->btree);
	tuple = shape_tuple(load->shape, image);
	if (load->merge != NULL && !equal &&
		merge_key(load->merge, image, tuple, load->checked ? &load->live_row : NULL))
		return;
	btree_key(load->btree, tuple);
}

/* Another live row has the key. */
static void
take_duplicate(BtreeLoad *load, RowId row)
{
	const ConflictSink *sink = load->conflicts;

	if (sink == NULL)
		elog(ERROR, "rows of \"%s\" have a key in common that was settled before",
			 RelationGetRelationName(load->index));
	if (!load->noted)
		sink->add(sink->arg, load->ngroups++, load->live_row);
	sink->add(sink->arg, load->ngroups - 1, row);
	load->noted = true;
}

static void
take_rows(void *arg, const RowId *rows, uint32 n)
{
	BtreeLoad  *load = arg;

	if (load->checked)
		for (uint32 i = 0; i < n; i++)
		{
			if (!row_alive(rows[i]))
				continue;
			if (load->live_row != 0)
				take_duplicate(load, rows[i]);
			else
				load->live_row = rows[i];
		}
	btree_rows(load->btree, rows, n);
}

/* In an index without old entries nothing is to be checked of these. */
static void
take_singles(void *arg, const SortItem *items, Size n)
{
	BtreeLoad  *load = arg;
	Size		size = shape_integer_tuple_size(load->shape);
	union
	{
		char		bytes[SINGLES_AT_ONCE * SHAPE_INTEGER_TUPLE + SHAPE_INTEGER_TUPLE];
		IndexTupleData tuple;
		int64		align;
	}			tuples;

	btree_end_key(load->btree);
	for (Size begin = 0; begin < n; begin += SINGLES_AT_ONCE)
	{
		Size		some = Min(n - begin, SINGLES_AT_ONCE);

		for (Size i = 0; i < some; i++)
		{
			IndexTuple	tuple = (IndexTuple) (tuples.bytes + i * size);

			shape_integer_tuple(load->shape, items[begin + i].key, tuple);
			row_tid(items[begin + i].value, &tuple->t_tid);
		}
		btree_singles(load->btree, (IndexTuple) tuples.bytes, size, some);
	}
}

/* Old entries may have each of them. */
static void
merge_singles(void *arg, const SortItem *items, Size n)
{
	BtreeLoad  *load = arg;

	for (Size i = 0; i < n; i++)
	{
		char		image[SHAPE_INTEGER_IMAGE];
		Size		size = shape_integer_image(load->shape, items[i].key, 0, image);
		RowId		row = items[i].value;

		take_key(load, image, size, false);
		take_rows(load, &row, 1);
	}
}

static void
take_single_integers(void *arg, const SortItem *items, Size n)
{
	const BtreeLoad *load = arg;

	if (load->merge == NULL)
		take_singles(arg, items, n);
	else
		merge_singles(arg, items, n);
}

void
btree_load_init(BtreeLoad *load, Relation index, IndexInfo *info, KeyShape *shape,
				const ConflictSink *conflicts)
{
	memset(load, 0, sizeof(BtreeLoad));
	load->index = index;
	load->shape = shape;
	load->unique = info->ii_Unique &&
		(conflicts != NULL || index->rd_index->indimmediate);
	load->nulls_not_distinct = info->ii_NullsNotDistinct;
	load->conflicts = conflicts;
}

KeySink
btree_load_sink(BtreeLoad *load)
{
	return (KeySink) {.key = take_key,.rows = take_rows,.singles = take_single_integers,
		.arg = load};
}
