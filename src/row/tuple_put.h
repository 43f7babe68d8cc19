/*
 * tuple_put.h
 *		How a value is stored in a heap tuple: alignment, headers, padding.
 *
 * Private to the modules that form tuples.  The layout is that of heaptuple.c;
 * short varlenas are unaligned.
 */
#ifndef PGBULK_TUPLE_PUT_H
#define PGBULK_TUPLE_PUT_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"

typedef struct TupleColumn
{
	int16		length;			/* -1: varlena */
	bool		byval;
	bool		pack;			/* may get a short header */
	uint8		align;			/* bytes: 1, 2, 4 or 8 */
} TupleColumn;

extern void tuple_column(TupleColumn *column, Form_pg_attribute att);

/* Writes up to 8 zero bytes from p on, of which those up to the alignment are kept. */
static inline char *
tuple_align(char *p, uint8 align)
{
	memset(p, 0, sizeof(uint64));
	return (char *) TYPEALIGN(align, (uintptr_t) p);
}

/* The caller ensures that there is space; returns where the next value goes. */
static inline char *
tuple_put_varlena(char *p, const TupleColumn *column, Datum datum)
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
		p = tuple_align(p, column->align);
		size = VARSIZE(value);
	}
	memcpy(p, value, size);
	return p + size;
}

/* Writes column->length bytes at p, which is aligned. */
static inline void
tuple_store_fixed(char *p, const TupleColumn *column, Datum datum)
{
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
}

static inline char *
tuple_put_fixed(char *p, const TupleColumn *column, Datum datum)
{
	p = tuple_align(p, column->align);
	tuple_store_fixed(p, column, datum);
	return p + column->length;
}

/* A header of hoff bytes with everything but the flags for the data. */
static inline void
tuple_init_header(HeapTupleHeader header, int natts, Size hoff, bool hasnull)
{
	memset(header, 0, hoff);
	header->t_hoff = hoff;
	HeapTupleHeaderSetNatts(header, natts);
	ItemPointerSetInvalid(&header->t_ctid);
	if (hasnull)
		header->t_infomask |= HEAP_HASNULL;
}

static inline Size
tuple_header_size(int natts, bool hasnull)
{
	return MAXALIGN(SizeofHeapTupleHeader + (hasnull ? BITMAPLEN(natts) : 0));
}

/* The tuple at t, whose header and data, len bytes, begin HEAPTUPLESIZE after it. */
static inline HeapTuple
tuple_finish(void *t, Size len)
{
	HeapTuple	tuple = (HeapTuple) t;

	tuple->t_len = len;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = InvalidOid;
	tuple->t_data = (HeapTupleHeader) ((char *) t + HEAPTUPLESIZE);
	return tuple;
}

#endif							/* PGBULK_TUPLE_PUT_H */
