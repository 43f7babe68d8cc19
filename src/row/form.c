/*
 * form.c
 *		The short road from fields to tuples; see form.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "row/form.h"
#include "row/tuple_put.h"
#include "scan/values.h"
#include "scan/values_int.h"

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
	FORM_OTHER,					/* through the column's converter */
	FORM_SEQUENCE				/* not in the file: the next value of a sequence */
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
	const SequenceDefault *sequence;
} FormColumn;

struct RowFormer
{
	Converter  *conv;
	int			natts;
	Size		fixed;			/* room for header, fixed-length columns, alignment */
	Size		spare;			/* room for varlenas beyond the length of their text */
	uint32		null_length;	/* of the only null marker; else ANY_LENGTH */
	int			nwords;			/* of these masks, bit i is attribute i: */
	uint64	   *present;		/* the row's attributes that are not null */
	uint64	   *all;
	uint64	   *notnull;
	HeapTupleHeader whole;		/* what a row without nulls begins with */
	Size		hoff;			/* its length */
	HeapTupleHeader holed;		/* a row with nulls, but for its bitmap */
	Size		hoff_holed;
	bool		expect_nulls;	/* the row before had some */
	FormColumn	columns[FLEXIBLE_ARRAY_MEMBER];
};

#define ANY_LENGTH PG_UINT32_MAX

#define WORD(i) ((i) >> 6)
#define BIT(i) (UINT64_C(1) << ((i) & 63))

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

/* The header of a row, as far as it is the same for all rows of its sort. */
static HeapTupleHeader
make_header(int natts, Size hoff, bool hasnull, const HeapTupleHeaderData *model)
{
	HeapTupleHeader header = palloc(hoff);

	tuple_init_header(header, natts, hoff, hasnull);
	if (model != NULL)
	{
		header->t_choice = model->t_choice;
		header->t_infomask |= model->t_infomask;
		header->t_infomask2 |= model->t_infomask2;
	}
	return header;
}

static void
make_headers(RowFormer *former, bool haswidth, const HeapTupleHeaderData *model)
{
	former->hoff = tuple_header_size(former->natts, false);
	former->whole = make_header(former->natts, former->hoff, false, model);
	if (haswidth)
		former->whole->t_infomask |= HEAP_HASVARWIDTH;
	former->hoff_holed = tuple_header_size(former->natts, true);
	former->holed = make_header(former->natts, former->hoff_holed, true, model);
}

/* Whether a row can be known to have no nulls by the length of its fields. */
static bool
has_whole_rows(const RowFormer *former)
{
	for (int i = 0; i < former->natts; i++)
		if (former->columns[i].kind == FORM_NULL)
			return false;
	return former->null_length != ANY_LENGTH;
}

RowFormer *
form_open(Converter *conv, const HeapTupleHeaderData *model)
{
	TupleDesc	desc = RelationGetDescr(conv->target->rel);
	RowFormer  *former;
	bool		haswidth = false;

	if (conv->options->format == BULK_BINARY || conv->encoding.transcode ||
		conv->options->default_marker != NULL)
		return NULL;

	former = palloc0(offsetof(RowFormer, columns) +
					 sizeof(FormColumn) * desc->natts);
	former->conv = conv;
	former->natts = desc->natts;
	former->null_length = conv->nnulls == 1 ? conv->nulls[0].length : ANY_LENGTH;
	former->nwords = WORD(desc->natts) + 1;
	former->present = palloc0(sizeof(uint64) * former->nwords);
	former->all = palloc0(sizeof(uint64) * former->nwords);
	former->notnull = palloc0(sizeof(uint64) * former->nwords);
	former->fixed = HEAPTUPLESIZE + tuple_header_size(desc->natts, true) +
		OVERCOPY + sizeof(uint64);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		FormColumn *form = &former->columns[i];

		tuple_column(&form->store, att);
		former->all[WORD(i)] |= BIT(i);
		if (att->attnotnull)
			former->notnull[WORD(i)] |= BIT(i);
		haswidth |= att->attlen < 0;
		former->fixed += (form->store.align - 1) + VARHDRSZ + Max(att->attlen, 0);
	}

	for (int i = 0; i < conv->ncolumns; i++)
	{
		const Column *column = &conv->columns[i];

		if (column->attnum != InvalidAttrNumber &&
			!set_field(&former->columns[column->attnum - 1], column, i))
			return NULL;
	}
	for (int i = 0; i < conv->ndefaults; i++)
	{
		const Default *def = &conv->defaults[i];
		FormColumn *form = &former->columns[def->attnum - 1];

		if (def->sequence.range == NULL)
			return NULL;
		form->kind = FORM_SEQUENCE;
		form->sequence = &def->sequence;
	}
	former->expect_nulls = !has_whole_rows(former);
	former->spare = VARLENA_SPARE * (Size) former->natts;
	make_headers(former, haswidth, model);
	return former;
}

/*
 * Notes in former->present which columns are not null.  False: the row is for
 * the long road.
 */
static inline bool
find_present(RowFormer *former, const char *data, const ScanField *fields)
{
	const Converter *conv = former->conv;
	const uint32 null_length = former->null_length;
	const int	natts = former->natts;
	bool		escaped = false;
	uint64		missing = 0;
	uint64		word = 0;

	for (int i = 0; i < natts; i++)
	{
		const FormColumn *form = &former->columns[i];

		if (form->kind == FORM_SEQUENCE)
			word |= BIT(i);
		else if (form->kind != FORM_NULL)
		{
			const ScanField *field = &fields[form->field];

			if ((field->length != null_length && null_length != ANY_LENGTH) ||
				!convert_is_null(conv, data, field))
			{
				word |= BIT(i);
				escaped |= field->escaped;
			}
		}
		if (((i + 1) & 63) == 0)
		{
			former->present[WORD(i)] = word;
			missing |= former->notnull[WORD(i)] & ~word;
			word = 0;
		}
	}
	former->present[WORD(natts)] = word;
	missing |= former->notnull[WORD(natts)] & ~word;
	return !escaped && missing == 0;
}

static inline bool
has_nulls(const RowFormer *former)
{
	if (likely(former->nwords == 1))
		return former->present[0] != former->all[0];
	return memcmp(former->present, former->all,
				  sizeof(uint64) * former->nwords) != 0;
}

/* The null bitmap as it stands in a tuple's header. */
static inline void
put_bitmap(const RowFormer *former, uint8 *bits)
{
	int			nbytes = BITMAPLEN(former->natts);

	for (int i = 0; i < nbytes; i++)
		bits[i] = (uint8) (former->present[i / 8] >> (i % 8 * 8));
}

/* Sources are readable for 64 bytes beyond, targets have OVERCOPY to spare. */
static inline void
copy_bytes(char *to, const char *from, uint32 len)
{
	memcpy(to, from, OVERCOPY);
	if (unlikely(len > OVERCOPY))
		memcpy(to + OVERCOPY, from + OVERCOPY, len - OVERCOPY);
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

/*
 * The next value of a sequence, where there is one in stock and it fits the
 * column; NULL: the long road.
 */
static char *
put_next_value(char *p, const FormColumn *form)
{
	SequenceRange *range = form->sequence->range;
	int64		value = range->next;

	if (range->left == 0 ||
		(form->store.length == sizeof(int32) && value != (int32) value) ||
		(form->store.length == sizeof(int16) && value != (int16) value))
		return NULL;
	return tuple_put_fixed(p, &form->store, sequence_default(form->sequence, NULL));
}

/* Takes back the values that the columns before natts have taken. */
static void
return_values(const RowFormer *former, int natts)
{
	for (int i = 0; i < natts; i++)
		if (former->columns[i].kind == FORM_SEQUENCE)
			sequence_return(former->columns[i].sequence->range);
}

/* As tuple_align, for a power of two that is known when this is compiled. */
#define PUT_FIXED(type, value) \
	do { \
		p = tuple_align(p, sizeof(type)); \
		*(type *) p = (value); \
		p += sizeof(type); \
	} while (0)

#define PUT_INTEGER(type, parse) \
	do { \
		int64_t		small; \
		type		value; \
		if (likely(value_short_int(s, len, &small) && small == (type) small)) \
			PUT_FIXED(type, (type) small); \
		else if (parse(s, len, &value) == VALUE_OK) \
			PUT_FIXED(type, value); \
		else \
			goto long_road; \
	} while (0)

/* One value, at p; goes to long_road where it cannot be had here. */
#define PUT_VALUE() \
	do { \
		switch (form->kind) \
		{ \
			case FORM_TEXT: \
				if (unlikely(len > form->max_length)) \
					goto long_road; \
				p = put_text(p, form, s, len); \
				break; \
			case FORM_INT2: \
				PUT_INTEGER(int16_t, value_int2); \
				break; \
			case FORM_INT4: \
				PUT_INTEGER(int32_t, value_int4); \
				break; \
			case FORM_INT8: \
				PUT_INTEGER(int64_t, value_int8); \
				break; \
			case FORM_SEQUENCE: \
				p = put_next_value(p, form); \
				if (unlikely(p == NULL)) \
					goto long_road; \
				break; \
			default: \
				p = put_other(former, form, p, &spare, s, len); \
				if (unlikely(p == NULL)) \
					goto long_road; \
				break; \
		} \
	} while (0)

/*
 * The row's tuple, from its header on, at to, where there is room for it.
 * Returns its length; 0: the long road.  This one is for any row.
 */
static Size
form_tuple(RowFormer *former, const char *data, const ScanField *fields,
		   Size spare, char *to)
{
	const int	natts = former->natts;
	bool		hasnull;
	char	   *p;
	int			i = 0;

	if (!find_present(former, data, fields))
		return 0;
	hasnull = has_nulls(former);
	former->expect_nulls = hasnull || former->null_length == ANY_LENGTH;
	if (hasnull)
	{
		memcpy(to, former->holed, former->hoff_holed);
		put_bitmap(former, ((HeapTupleHeader) to)->t_bits);
		p = to + former->hoff_holed;
	}
	else
	{
		memcpy(to, former->whole, former->hoff);
		p = to + former->hoff;
	}

	for (; i < natts; i++)
	{
		const FormColumn *form = &former->columns[i];
		const char *s = data + fields[form->field].start;
		uint32		len = fields[form->field].length;

		if (!(former->present[WORD(i)] & BIT(i)))
			continue;
		if (form->store.length == -1)
			((HeapTupleHeader) to)->t_infomask |= HEAP_HASVARWIDTH;
		PUT_VALUE();
	}
	memset(p, 0, sizeof(uint64));
	return p - to;

long_road:
	if (former->conv->ndefaults > 0)
		return_values(former, i);
	return 0;
}

/*
 * The same for a row that is expected to have no nulls, in one pass; 0 also
 * where there may be one.
 */
static inline Size
form_whole_tuple(RowFormer *former, const char *data, const ScanField *fields,
				 Size spare, char *to)
{
	const int	natts = former->natts;
	const uint32 null_length = former->null_length;
	char	   *p = to + MAXALIGN(SizeofHeapTupleHeader);
	int			i;

	/* a constant length is copied at once */
	Assert(former->hoff == MAXALIGN(SizeofHeapTupleHeader));
	memcpy(to, former->whole, MAXALIGN(SizeofHeapTupleHeader));

	for (i = 0; i < natts; i++)
	{
		const FormColumn *form = &former->columns[i];
		ScanField	field = fields[form->field];
		const char *s = data + field.start;
		uint32		len = field.length;

		if (unlikely(len == null_length || field.escaped))
			goto long_road;
		PUT_VALUE();
	}
	memset(p, 0, sizeof(uint64));
	return p - to;

long_road:
	if (former->conv->ndefaults > 0)
		return_values(former, i);
	return 0;
}

uint32
form_rows(RowFormer *former, const char *data, const ScanRow *rows, uint32 n,
		  const ScanField *fields, Arena *arena, HeapTuple *tuples)
{
	const uint32 valid = former->conv->valid;
	const int	ncolumns = former->conv->ncolumns;
	uint32		done;

	for (done = 0; done < n; done++)
	{
		const ScanRow *row = &rows[done];
		const ScanField *first = fields + row->first_field;
		Size		length = row->end - row->start;
		Size		spare = former->spare + length;
		char	   *start;
		Size		len;

		if (unlikely(row->fault != SCAN_FAULT_NONE || row->end > valid ||
					 row->nfields != ncolumns))
			break;

		/* the texts of the row take no more than its length */
		start = arena_alloc(arena, former->fixed + spare + length);
		len = former->expect_nulls ? 0 :
			form_whole_tuple(former, data, first, spare, start + HEAPTUPLESIZE);
		if (len == 0)
			len = form_tuple(former, data, first, spare, start + HEAPTUPLESIZE);
		arena_trim(arena, start, len == 0 ? 0 : HEAPTUPLESIZE + len);
		if (unlikely(len == 0))
			break;
		tuples[done] = tuple_finish(start, len);
	}

	/* what converters have made is in the tuples now */
	convert_next(former->conv);
	return done;
}
