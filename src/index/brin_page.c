/*
 * brin_page.c
 *		See brin_page.h.
 */
#include "postgres.h"

#include "access/brin_internal.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type_d.h"
#include "index/brin_page.h"
#include "index/heap_value.h"
#include "utils/fmgroids.h"
#include "utils/relcache.h"

/* An attribute of the table. */
typedef struct PageAttribute
{
	HeapAttribute how;
	MinmaxColumn *column;		/* NULL: it is only passed */
} PageAttribute;

struct BrinPage
{
	TupleDesc	desc;			/* of the table */
	int			nattributes;	/* up to the last one of the index */
	PageAttribute *attributes;
	int			ncolumns;
	MinmaxColumn columns[INDEX_MAX_KEYS];
};

/* ---- which indexes ---- */

MinmaxKind
minmax_kind(Relation index, int column)
{
	if (index_getprocid(index, column + 1, BRIN_PROCNUM_ADDVALUE) != F_BRIN_MINMAX_ADD_VALUE ||
		index->rd_opfamily[column] >= FirstNormalObjectId ||
		!TupleDescAttr(RelationGetDescr(index), column)->attbyval)
		return MINMAX_OTHER;
	switch (index->rd_opcintype[column])
	{
		case INT2OID:
			return MINMAX_INT2;
		case INT4OID:
		case DATEOID:
			return MINMAX_INT4;
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return MINMAX_INT8;
		case OIDOID:
			return MINMAX_OID;
		case FLOAT4OID:
			return MINMAX_FLOAT4;
		case FLOAT8OID:
			return MINMAX_FLOAT8;
		default:
			return MINMAX_OTHER;
	}
}

/* Whether each column of the index is one of the table, and no two are the same. */
static bool
add_columns(BrinPage *reader, Relation index)
{
	for (int i = 0; i < reader->ncolumns; i++)
	{
		AttrNumber	number = index->rd_index->indkey.values[i];

		reader->columns[i].kind = minmax_kind(index, i);
		if (number <= 0 || reader->columns[i].kind == MINMAX_OTHER ||
			reader->attributes[number - 1].column != NULL)
			return false;
		reader->attributes[number - 1].column = &reader->columns[i];
		reader->nattributes = Max(reader->nattributes, number);
	}
	return true;
}

BrinPage *
brin_page_open(Relation heap, Relation index)
{
	TupleDesc	desc = RelationGetDescr(heap);
	BrinPage   *reader = palloc0(sizeof(BrinPage));

	reader->desc = desc;
	reader->ncolumns = RelationGetDescr(index)->natts;
	reader->attributes = palloc0(desc->natts * sizeof(PageAttribute));
	for (int i = 0; i < desc->natts; i++)
		reader->attributes[i].how = heap_attribute(TupleDescAttr(desc, i));
	return RelationGetIndexPredicate(index) == NIL && add_columns(reader, index) ? reader : NULL;
}

/* ---- rows ---- */

static inline void
add_value(MinmaxColumn *column, Datum value)
{
	int64		number = minmax_number(column->kind, value);

	if (!column->has_values || number < column->least_number)
	{
		column->least_number = number;
		column->least = value;
	}
	if (!column->has_values || number > column->greatest_number)
	{
		column->greatest_number = number;
		column->greatest = value;
	}
	column->has_values = true;
}

static inline void
read_row(BrinPage *reader, HeapTupleHeader row)
{
	const char *data = (const char *) row + row->t_hoff;
	const uint8 *bits = (row->t_infomask & HEAP_HASNULL) != 0 ? row->t_bits : NULL;
	Size		at = 0;

	for (int i = 0; i < reader->nattributes; i++)
	{
		const PageAttribute *attribute = &reader->attributes[i];
		const char *value;

		if (bits != NULL && att_isnull(i, bits))
		{
			if (attribute->column != NULL)
				attribute->column->has_nulls = true;
			continue;
		}
		value = heap_take_value(&attribute->how, data, &at);
		if (attribute->column != NULL)
			add_value(attribute->column, fetch_att(value, true, attribute->how.length));
	}
}

/* A row that was stored before its last columns were added. */
static void
read_short_row(BrinPage *reader, HeapTupleHeader header, Size size)
{
	HeapTupleData row = {.t_data = header,.t_len = size};

	for (int i = 0; i < reader->nattributes; i++)
	{
		MinmaxColumn *column = reader->attributes[i].column;
		bool		isnull;
		Datum		value;

		if (column == NULL)
			continue;
		value = heap_getattr(&row, i + 1, reader->desc, &isnull);
		if (isnull)
			column->has_nulls = true;
		else
			add_value(column, value);
	}
}

const MinmaxColumn *
brin_page_read(BrinPage *reader, Page page, int *nrows)
{
	OffsetNumber most = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);

	for (int i = 0; i < reader->ncolumns; i++)
		reader->columns[i].has_nulls = reader->columns[i].has_values = false;
	*nrows = 0;
	for (OffsetNumber at = FirstOffsetNumber; at <= most; at++)
	{
		ItemId		item = PageGetItemId(page, at);
		HeapTupleHeader row;

		if (!ItemIdIsNormal(item))
			continue;
		row = (HeapTupleHeader) PageGetItem(page, item);
		if (HeapTupleHeaderGetNatts(row) >= reader->nattributes)
			read_row(reader, row);
		else
			read_short_row(reader, row, ItemIdGetLength(item));
		(*nrows)++;
	}
	return reader->columns;
}
