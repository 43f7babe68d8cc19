/*
 * tuple.c
 *		Forming of heap tuples; see tuple.h.
 *
 * The layout is that of heaptuple.c: header, null bitmap, data from t_hoff,
 * each value at its type's alignment, short varlenas unaligned.
 */
#include "postgres.h"

#include "row/tuple.h"
#include "row/tuple_put.h"

struct TupleFormer
{
	TupleDesc	desc;
	int			natts;
	bool		general;		/* has a column that only the server can form */
	Size		fixed;			/* space for header and fixed-length columns */
	TupleColumn columns[FLEXIBLE_ARRAY_MEMBER];
};

static uint8
alignment_bytes(char align)
{
	switch (align)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return ALIGNOF_DOUBLE;
	}
}

void
tuple_column(TupleColumn *column, Form_pg_attribute att)
{
	column->length = att->attlen;
	column->byval = att->attbyval;
	column->align = alignment_bytes(att->attalign);
	column->pack = att->attlen == -1 && att->attstorage != TYPSTORAGE_PLAIN;
}

TupleFormer *
tuple_former(TupleDesc desc)
{
	TupleFormer *former;

	former = palloc0(offsetof(TupleFormer, columns) +
					 sizeof(TupleColumn) * desc->natts);
	former->desc = desc;
	former->natts = desc->natts;
	former->fixed = HEAPTUPLESIZE + tuple_header_size(desc->natts, true) +
		sizeof(uint64);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		TupleColumn *column = &former->columns[i];

		tuple_column(column, att);
		former->fixed += (column->align - 1) + Max(att->attlen, 0);
		if (att->attlen < -1)
			former->general = true;
	}
	return former;
}

/* The most bytes that the tuple can take; 0 where heap_form_tuple must form it. */
static inline Size
tuple_bound(const TupleFormer *former, const Datum *values, const bool *nulls,
			bool *hasnull)
{
	Size		bound = former->fixed;

	*hasnull = false;
	for (int i = 0; i < former->natts; i++)
	{
		if (nulls[i])
			*hasnull = true;
		else if (former->columns[i].length == -1)
		{
			struct varlena *value = (struct varlena *) DatumGetPointer(values[i]);

			if (VARATT_IS_EXTERNAL(value))
				return 0;
			bound += VARSIZE_ANY(value);
		}
	}
	return bound;
}

/* The slow path, for expanded objects, toast pointers and cstring columns. */
static HeapTuple
form_generally(const TupleFormer *former, const Datum *values,
			   const bool *nulls, Arena *arena)
{
	HeapTuple	formed = heap_form_tuple(former->desc, (Datum *) values,
										 (bool *) nulls);
	char	   *start = arena_alloc(arena, HEAPTUPLESIZE + formed->t_len);
	HeapTuple	tuple;

	memcpy(start + HEAPTUPLESIZE, formed->t_data, formed->t_len);
	tuple = tuple_finish(start, formed->t_len);
	heap_freetuple(formed);
	return tuple;
}

HeapTuple
tuple_form(const TupleFormer *former, const Datum *values, const bool *nulls,
		   Arena *arena)
{
	HeapTupleHeader header;
	bool		hasnull;
	Size		bound = tuple_bound(former, values, nulls, &hasnull);
	Size		hoff = tuple_header_size(former->natts, hasnull);
	char	   *start;
	char	   *p;

	if (bound == 0 || former->general)
		return form_generally(former, values, nulls, arena);

	start = arena_alloc(arena, bound);
	header = (HeapTupleHeader) (start + HEAPTUPLESIZE);
	tuple_init_header(header, former->natts, hoff, hasnull);

	p = (char *) header + hoff;
	for (int i = 0; i < former->natts; i++)
	{
		const TupleColumn *column = &former->columns[i];

		if (hasnull)
		{
			if (nulls[i])
				continue;
			header->t_bits[i >> 3] |= 1 << (i & 7);
		}
		if (column->length == -1)
		{
			header->t_infomask |= HEAP_HASVARWIDTH;
			p = tuple_put_varlena(p, column, values[i]);
		}
		else
			p = tuple_put_fixed(p, column, values[i]);
	}

	arena_trim(arena, start, p - start);
	return tuple_finish(start, p - (char *) header);
}
