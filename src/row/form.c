/*
 * form.c
 *		The short road from fields to tuples; see form.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "row/form.h"
#include "row/tuple_put.h"
#include "scan/values.h"

/* Copies of up to 32 bytes may write that many, for speed. */
#define OVERCOPY 32

/* A varlena from a converter may be this much longer than its text. */
#define VARLENA_SPARE 16

typedef enum FormKind
{
	FORM_NULL,					/* not in the file */
	FORM_TEXT,
	FORM_INT2,
	FORM_INT4,
	FORM_INT8,
	FORM_OTHER					/* through the column's converter */
} FormKind;

/* One column of the table. */
typedef struct FormColumn
{
	FormKind	kind;
	bool		notnull;
	TupleColumn store;
	int			field;			/* its place in the file */
	uint32		max_length;		/* text: bytes that surely fit the type */
	const Column *column;
} FormColumn;

struct RowFormer
{
	Converter  *conv;
	int			natts;
	Size		fixed;			/* room for header, fixed-length columns, alignment */
	Size		spare;			/* room for varlenas beyond the length of their text */
	uint8	   *bits;			/* the row's null bitmap */
	FormColumn	columns[FLEXIBLE_ARRAY_MEMBER];
};

static FormKind
choose_kind(const Column *column)
{
	switch (column->type)
	{
		case TEXTOID:
		case VARCHAROID:
			return FORM_TEXT;
		case INT2OID:
			return FORM_INT2;
		case INT4OID:
			return FORM_INT4;
		case INT8OID:
			return FORM_INT8;
		default:
			return FORM_OTHER;
	}
}

/* False: the column needs the long road. */
static bool
set_field(FormColumn *form, const Column *column, int field)
{
	if (column->convert == NULL || column->null_input || column->force_null ||
		column->force_not_null)
		return false;
	form->kind = choose_kind(column);
	form->field = field;
	form->column = column;
	form->max_length = MaxAllocSize / 2;
	if (column->type == VARCHAROID && column->typmod >= (int32) VARHDRSZ)
		form->max_length = column->typmod - VARHDRSZ;
	return true;
}

RowFormer *
form_open(Converter *conv)
{
	TupleDesc	desc = RelationGetDescr(conv->target->rel);
	RowFormer  *former;

	if (conv->options->format == BULK_BINARY || conv->encoding.transcode ||
		conv->options->default_marker != NULL || conv->ndefaults > 0)
		return NULL;

	former = palloc0(offsetof(RowFormer, columns) +
					 sizeof(FormColumn) * desc->natts);
	former->conv = conv;
	former->natts = desc->natts;
	former->bits = palloc(BITMAPLEN(desc->natts) + 1);
	former->fixed = HEAPTUPLESIZE + tuple_header_size(desc->natts, true) +
		OVERCOPY;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		FormColumn *form = &former->columns[i];

		tuple_column(&form->store, att);
		form->notnull = att->attnotnull;
		former->fixed += (form->store.align - 1) + VARHDRSZ + Max(att->attlen, 0);
	}

	for (int i = 0; i < conv->ncolumns; i++)
	{
		const Column *column = &conv->columns[i];

		if (column->attnum != InvalidAttrNumber &&
			!set_field(&former->columns[column->attnum - 1], column, i))
			return NULL;
	}
	former->spare = VARLENA_SPARE * (Size) former->natts;
	return former;
}

/*
 * Finds out which columns are null and notes it in former->bits.  False: the
 * row is for the long road.
 */
static inline bool
find_nulls(RowFormer *former, const char *data, const ScanField *fields,
		   bool *hasnull)
{
	const Converter *conv = former->conv;
	bool		any = false;

	memset(former->bits, 0, BITMAPLEN(former->natts));
	for (int i = 0; i < former->natts; i++)
	{
		const FormColumn *form = &former->columns[i];

		if (form->kind != FORM_NULL)
		{
			const ScanField *field = &fields[form->field];

			if (!convert_is_null(conv, data, field))
			{
				if (unlikely(field->escaped))
					return false;
				former->bits[i >> 3] |= 1 << (i & 7);
				continue;
			}
		}
		if (unlikely(form->notnull))
			return false;
		any = true;
	}
	*hasnull = any;
	return true;
}

/* Sources are readable for 64 bytes beyond, targets have OVERCOPY to spare. */
static inline void
copy_bytes(char *to, const char *from, uint32 len)
{
	if (len <= OVERCOPY)
		memcpy(to, from, OVERCOPY);
	else
		memcpy(to, from, len);
}

static inline char *
put_text(char *p, const FormColumn *form, const char *s, uint32 len)
{
	if (len <= VARATT_SHORT_MAX - VARHDRSZ_SHORT && form->store.pack)
	{
		SET_VARSIZE_SHORT(p, len + VARHDRSZ_SHORT);
		p += VARHDRSZ_SHORT;
	}
	else
	{
		p = tuple_align(p, form->store.align);
		SET_VARSIZE(p, len + VARHDRSZ);
		p += VARHDRSZ;
	}
	copy_bytes(p, s, len);
	return p + len;
}

/*
 * Any other column, by its converter.  *spare is what is left for varlenas
 * of this sort.  NULL: the long road.
 */
static char *
put_other(RowFormer *former, const FormColumn *form, char *p, Size *spare,
		  const char *s, uint32 len)
{
	const Column *column = form->column;
	Datum		value;
	Size		size;

	if (column->convert(former->conv, column, s, len, &value) != VALUE_OK)
		return NULL;
	if (form->store.length != -1)
		return tuple_put_fixed(p, &form->store, value);
	size = VARSIZE_ANY(DatumGetPointer(value));
	if (size > *spare)
		return NULL;
	*spare -= size;
	return tuple_put_varlena(p, &form->store, value);
}

#define PUT_INTEGER(type, parse) \
	do { \
		type		value; \
		if (unlikely(parse(s, len, &value) != VALUE_OK)) \
			goto long_road; \
		p = tuple_align(p, sizeof(type)); \
		*(type *) p = value; \
		p += sizeof(type); \
	} while (0)

HeapTuple
form_row(RowFormer *former, const char *data, const ScanRow *row,
		 const ScanField *fields, Arena *arena)
{
	Size		length = row->end - row->start;
	Size		spare = former->spare + length;
	bool		hasnull;
	bool		haswidth = false;
	HeapTupleHeader header;
	char	   *start;
	char	   *p;
	Size		hoff;

	fields += row->first_field;
	if (unlikely(row->fault != SCAN_FAULT_NONE) ||
		unlikely(row->end > former->conv->valid) ||
		unlikely(row->nfields != former->conv->ncolumns) ||
		!find_nulls(former, data, fields, &hasnull))
		return NULL;

	/* the texts of the row take no more than its length */
	start = arena_alloc(arena, former->fixed + spare + length);
	header = (HeapTupleHeader) (start + HEAPTUPLESIZE);
	hoff = tuple_header_size(former->natts, hasnull);
	tuple_init_header(header, former->natts, hoff, hasnull);
	if (hasnull)
		memcpy(header->t_bits, former->bits, BITMAPLEN(former->natts));

	p = (char *) header + hoff;
	for (int i = 0; i < former->natts; i++)
	{
		const FormColumn *form = &former->columns[i];
		const char *s;
		uint32		len;

		if (hasnull && !(former->bits[i >> 3] & (1 << (i & 7))))
			continue;
		s = data + fields[form->field].start;
		len = fields[form->field].length;
		switch (form->kind)
		{
			case FORM_TEXT:
				if (unlikely(len > form->max_length))
					goto long_road;
				p = put_text(p, form, s, len);
				haswidth = true;
				break;
			case FORM_INT2:
				PUT_INTEGER(int16_t, value_int2);
				break;
			case FORM_INT4:
				PUT_INTEGER(int32_t, value_int4);
				break;
			case FORM_INT8:
				PUT_INTEGER(int64_t, value_int8);
				break;
			default:
				p = put_other(former, form, p, &spare, s, len);
				if (p == NULL)
					goto long_road;
				haswidth |= form->store.length == -1;
				break;
		}
	}

	if (haswidth)
		header->t_infomask |= HEAP_HASVARWIDTH;
	arena_trim(arena, start, p - start);
	return tuple_finish(start, p - (char *) header);

long_road:
	arena_trim(arena, start, 0);
	return NULL;
}
