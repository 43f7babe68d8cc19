/*
 * tuple.c
 *		Forming of heap tuples; see tuple.h.
 *
 * The layout is that of heaptuple.c: header, null bitmap, data from t_hoff,
 * each value at its type's alignment, short varlenas unaligned.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "row/tuple.h"

typedef struct TupleColumn
{
	int16		length;			/* -1: varlena */
	bool		byval;
	bool		pack;			/* may get a short header */
	uint8		align;			/* bytes: 1, 2, 4 or 8 */
} TupleColumn;

struct TupleFormer
{
	TupleDesc	desc;
	int			natts;
	bool		general;		/* has a column that only the server forms */
	Size		fixed;			/* room for header and fixed-length columns */
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

TupleFormer *
tuple_former(TupleDesc desc)
{
	TupleFormer *former;

	former = palloc0(offsetof(TupleFormer, columns) +
					 sizeof(TupleColumn) * desc->natts);
	former->desc = desc;
	former->natts = desc->natts;
	former->fixed = HEAPTUPLESIZE +
		MAXALIGN(SizeofHeapTupleHeader + BITMAPLEN(desc->natts));

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		TupleColumn *column = &former->columns[i];

		column->length = att->attlen;
		column->byval = att->attbyval;
		column->align = alignment_bytes(att->attalign);
		column->pack = att->attlen == -1 && att->attstorage != TYPSTORAGE_PLAIN;
		former->fixed += (column->align - 1) + Max(att->attlen, 0);
		if (att->attlen < -1)
			former->general = true;
	}
	return former;
}

/* Most bytes that the tuple can take; 0 where it is not for us to form. */
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

static inline char *
align_zeroed(char *p, uint8 align)
{
	char	   *aligned = (char *) TYPEALIGN(align, (uintptr_t) p);

	while (p < aligned)
		*p++ = 0;
	return p;
}

static inline char *
put_varlena(char *p, const TupleColumn *column, Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	Size		size;

	if (VARATT_IS_SHORT(value))
		size = VARSIZE_SHORT(value);
	else if (column->pack && VARATT_CAN_MAKE_SHORT(value))
	{
		size = VARATT_CONVERTED_SHORT_SIZE(value);
		SET_VARSIZE_SHORT(p, size);
		memcpy(p + 1, VARDATA(value), size - 1);
		return p + size;
	}
	else
	{
		p = align_zeroed(p, column->align);
		size = VARSIZE(value);
	}
	memcpy(p, value, size);
	return p + size;
}

static inline char *
put_fixed(char *p, const TupleColumn *column, Datum datum)
{
	p = align_zeroed(p, column->align);
	if (!column->byval)
		memcpy(p, DatumGetPointer(datum), column->length);
	else
		switch (column->length)
		{
			case 1:
				*(int8 *) p = DatumGetChar(datum);
				break;
			case 2:
				*(int16 *) p = DatumGetInt16(datum);
				break;
			case 4:
				*(int32 *) p = DatumGetInt32(datum);
				break;
			default:
				Assert(column->length == sizeof(Datum));
				*(Datum *) p = datum;
				break;
		}
	return p + column->length;
}

/* What expanded objects and toast pointers need, or cstring columns. */
static HeapTuple
form_generally(const TupleFormer *former, const Datum *values,
			   const bool *nulls, Arena *arena)
{
	HeapTuple	formed = heap_form_tuple(former->desc, (Datum *) values,
										 (bool *) nulls);
	HeapTuple	tuple = arena_alloc(arena, HEAPTUPLESIZE + formed->t_len);

	memcpy(tuple, formed, HEAPTUPLESIZE + formed->t_len);
	tuple->t_data = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	heap_freetuple(formed);
	return tuple;
}

HeapTuple
tuple_form(const TupleFormer *former, const Datum *values, const bool *nulls,
		   Arena *arena)
{
	HeapTuple	tuple;
	HeapTupleHeader header;
	bool		hasnull;
	Size		bound = tuple_bound(former, values, nulls, &hasnull);
	Size		hoff;
	char	   *p;

	if (bound == 0 || former->general)
		return form_generally(former, values, nulls, arena);

	tuple = arena_alloc(arena, bound);
	header = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	hoff = SizeofHeapTupleHeader;
	if (hasnull)
		hoff += BITMAPLEN(former->natts);
	hoff = MAXALIGN(hoff);
	memset(header, 0, hoff);

	header->t_hoff = hoff;
	HeapTupleHeaderSetNatts(header, former->natts);
	ItemPointerSetInvalid(&header->t_ctid);
	if (hasnull)
		header->t_infomask |= HEAP_HASNULL;

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
			p = put_varlena(p, column, values[i]);
		}
		else
			p = put_fixed(p, column, values[i]);
	}

	tuple->t_len = p - (char *) header;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = InvalidOid;
	tuple->t_data = header;
	arena_trim(arena, tuple, HEAPTUPLESIZE + tuple->t_len);
	return tuple;
}
