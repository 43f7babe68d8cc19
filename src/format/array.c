/*
 * array.c
 *		See array.h.
 */
#include "postgres.h"

#include "format/array.h"
#include "format/convert.h"
#include "lib/stringinfo.h"
#include "row/tuple_put.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

/* Longer texts are left to array_in, and so is what becomes longer than this. */
#define MAX_TEXT (16 * 1024 * 1024)
#define MAX_DATA (256 * 1024 * 1024)

/* Bytes of an array for each byte of its text, mostly at most: "1," is a bigint of 8. */
#define ARRAY_GROWTH 4

/* Buffers of up to this size are kept for the next array. */
#define KEPT_SPACE (1024 * 1024)

/* Copies of texts up to this long write that many bytes, for speed. */
#define OVERCOPY 16

/* Converters may read so many bytes before and after their text. */
#define BYTES_BEFORE 8
#define BYTES_AFTER 64

/* The array that is read, and buffers for its parts. */
typedef struct ArrayReader
{
	Converter  *conv;
	const Column *element;
	TupleColumn store;
	bool		copied;			/* an element's data are its text */
	StringInfoData data;		/* elements as they are stored */
	StringInfoData text;		/* one element, unescaped */
	StringInfoData nulls;		/* the positions of nulls, each an int */
	int			n;				/* elements */
	int			ndim;
	int			dims[MAXDIM];	/* 0: not known yet */
} ArrayReader;

/* An element's text, as it is between delimiters, or quotes. */
typedef struct ArrayItem
{
	const char *s;
	uint32		len;
	bool		quoted;
} ArrayItem;

static inline bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Where an element that is not quoted ends, or is not well-formed. */
static const bool is_special[PG_UINT8_MAX + 1] = {
	[','] = true, ['}'] = true, ['{'] = true, ['"'] = true, ['\\'] = true
};

static inline void
reserve(StringInfo buffer, Size size)
{
	if (unlikely(buffer->len + size >= buffer->maxlen))
		enlargeStringInfo(buffer, size);
}

/* The buffer outlives the row, whose context may be the current one. */
static void
empty_buffer(StringInfo buffer)
{
	if (buffer->maxlen > KEPT_SPACE)
	{
		char	   *old = buffer->data;
		MemoryContext caller = MemoryContextSwitchTo(GetMemoryChunkContext(old));

		initStringInfo(buffer);
		MemoryContextSwitchTo(caller);
		pfree(old);
	}
	buffer->len = 0;
}

/* ---- reading ---- */

/*
 * A quoted element from s, after its quote, on; returns where it ends, after
 * the other quote, or NULL.  There is a brace at last.
 */
static const char *
read_quoted(ArrayReader *reader, const char *s, const char *last, ArrayItem *item)
{
	const char *start = s;
	StringInfo	text = &reader->text;

	item->quoted = true;
	while (s < last && *s != '"' && *s != '\\')
		s++;
	item->s = start;
	item->len = s - start;
	if (*s == '"')
		return s + 1;

	empty_buffer(text);
	reserve(text, BYTES_BEFORE + (last - start) + BYTES_AFTER);
	item->s = text->data + BYTES_BEFORE;
	memcpy(text->data + BYTES_BEFORE, start, item->len);
	while (s < last && *s != '"')
	{
		if (*s == '\\')
			s++;
		text->data[BYTES_BEFORE + item->len++] = *s++;
	}
	return s < last ? s + 1 : NULL;
}

static inline const char *
skip_spaces(const char *s)
{
	while (is_space(*s))
		s++;
	return s;
}

/* The element from s on; returns the delimiter after it, or NULL. */
static inline const char *
read_item(ArrayReader *reader, const char *s, const char *last, ArrayItem *item)
{
	s = skip_spaces(s);
	if (*s == '"')
	{
		s = read_quoted(reader, s + 1, last, item);
		if (s == NULL)
			return NULL;
		s = skip_spaces(s);
	}
	else
	{
		const char *end;

		item->quoted = false;
		item->s = s;
		while (!is_special[(uint8) *s])
			s++;
		for (end = s; end > item->s && is_space(end[-1]);)
			end--;
		item->len = end - item->s;
		if (item->len == 0)
			return NULL;
	}
	return *s == ',' || *s == '}' ? s : NULL;
}

/* ---- elements ---- */

/* Zeros up to where the next element begins; 8 bytes are reserved. */
static inline void
put_padding(ArrayReader *reader)
{
	StringInfo	data = &reader->data;

	memset(data->data + data->len, 0, sizeof(uint64));
	data->len = TYPEALIGN(reader->store.align, data->len);
}

/* An element whose data are its text, as those of type text. */
static inline void
put_text(ArrayReader *reader, const ArrayItem *item)
{
	StringInfo	data = &reader->data;
	char	   *p;

	reserve(data, VARHDRSZ + item->len + OVERCOPY);
	p = data->data + data->len;
	SET_VARSIZE(p, VARHDRSZ + item->len);
	memcpy(p + VARHDRSZ, item->s, OVERCOPY);
	if (unlikely(item->len > OVERCOPY))
		memcpy(p + VARHDRSZ + OVERCOPY, item->s + OVERCOPY, item->len - OVERCOPY);
	data->len += VARHDRSZ + item->len;
	put_padding(reader);
}

static inline bool
put_element(ArrayReader *reader, const ArrayItem *item)
{
	const TupleColumn *store = &reader->store;
	StringInfo	data = &reader->data;
	Datum		value;
	Size		size;

	if (reader->copied)
	{
		put_text(reader, item);
		return true;
	}
	if (reader->element->convert(reader->conv, reader->element, item->s, item->len,
								 &value) != VALUE_OK)
		return false;
	size = store->length > 0 ? store->length : VARSIZE(DatumGetPointer(value));
	if (data->len + size > MAX_DATA)
		return false;
	reserve(data, size + sizeof(uint64));
	if (store->length > 0)
		tuple_store_fixed(data->data + data->len, store, value);
	else
		memcpy(data->data + data->len, DatumGetPointer(value), size);
	if (!store->byval)
		arena_trim(&reader->conv->arena, DatumGetPointer(value), 0);
	data->len += size;
	put_padding(reader);
	return true;
}

static inline bool
is_null(const ArrayItem *item)
{
	return !item->quoted && item->len == 4 && Array_nulls &&
		pg_strncasecmp(item->s, "null", 4) == 0;
}

/* The element from s on; returns the delimiter after it, or NULL. */
static inline const char *
put_item(ArrayReader *reader, const char *s, const char *last)
{
	ArrayItem	item;

	s = read_item(reader, s, last, &item);
	if (s == NULL)
		return NULL;
	if (unlikely(is_null(&item)))
	{
		/* a domain may refuse it */
		if (!reader->element->input.fn_strict)
			return NULL;
		appendBinaryStringInfo(&reader->nulls, (char *) &reader->n, sizeof(int));
	}
	else if (!put_element(reader, &item))
		return NULL;
	reader->n++;
	return s;
}

/*
 * The elements from s, after the brace, on, up to the one at last, and how many
 * there are in each dimension.
 */
static bool
read_elements(ArrayReader *reader, const char *s, const char *last)
{
	int			counts[MAXDIM] = {0};	/* in the arrays that are open */
	int			depth = 1;		/* how many those are */

	for (;;)
	{
		while (*s == '{')
		{
			/* elements are all at one depth */
			if (depth == MAXDIM || (reader->n > 0 && depth == reader->ndim))
				return false;
			counts[depth++] = 0;
			s++;
		}
		if (reader->n == 0)
			reader->ndim = depth;
		else if (depth < reader->ndim)
			return false;

		s = put_item(reader, s, last);
		if (s == NULL)
			return false;
		counts[depth - 1]++;
		while (*s == '}')
		{
			int		   *dim = &reader->dims[--depth];

			if (*dim == 0)
				*dim = counts[depth];
			if (*dim != counts[depth])
				return false;
			if (depth == 0)
				return s == last;
			if (s++ == last)
				return false;
			counts[depth - 1]++;
		}
		if (*s != ',')
			return false;
		s++;
	}
}

/* ---- the array ---- */

static void
put_bitmap(const ArrayReader *reader, ArrayType *array)
{
	uint8	   *bits = ARR_NULLBITMAP(array);
	const int  *nulls = (const int *) reader->nulls.data;

	for (int i = 0; i < reader->n; i++)
		bits[i / 8] |= 1 << i % 8;
	for (int i = 0; i < reader->nulls.len / sizeof(int); i++)
		bits[nulls[i] / 8] &= ~(1 << nulls[i] % 8);
}

static ArrayType *
make_array(const ArrayReader *reader)
{
	int			ndim = reader->ndim;
	bool		hasnull = reader->nulls.len > 0;
	Size		overhead = hasnull ? ARR_OVERHEAD_WITHNULLS(ndim, reader->n) :
		ARR_OVERHEAD_NONULLS(ndim);
	Size		size = overhead + reader->data.len;
	ArrayType  *array = arena_alloc(&reader->conv->arena, size);

	memset(array, 0, overhead);
	SET_VARSIZE(array, size);
	array->ndim = ndim;
	array->elemtype = reader->element->type;
	array->dataoffset = hasnull ? overhead : 0;
	for (int i = 0; i < ndim; i++)
	{
		ARR_DIMS(array)[i] = reader->dims[i];
		ARR_LBOUND(array)[i] = 1;
	}
	if (hasnull)
		put_bitmap(reader, array);
	memcpy((char *) array + overhead, reader->data.data, reader->data.len);
	return array;
}

static ValueResult
convert_array(Converter *conv, const Column *column, const char *s, uint32 len,
			  Datum *out)
{
	ArrayReader *reader = column->detail;
	const char *last = s + len - 1;

	if (len < 2 || len > MAX_TEXT || *s != '{' || *last != '}')
		return VALUE_ASK;
	reader->conv = conv;
	reader->n = reader->ndim = 0;
	memset(reader->dims, 0, sizeof(reader->dims));
	empty_buffer(&reader->data);
	empty_buffer(&reader->nulls);
	if (len > 2 && !read_elements(reader, s + 1, last))
		return VALUE_ASK;
	*out = PointerGetDatum(make_array(reader));
	return VALUE_OK;
}

void
array_choose(Column *column, const Column *element)
{
	ArrayReader *reader;
	FormData_pg_attribute store = {0};
	char		delimiter;
	Oid			in;
	Oid			ioparam;

	if (element->convert == NULL)
		return;
	get_type_io_data(element->type, IOFunc_input, &store.attlen, &store.attbyval,
					 &store.attalign, &delimiter, &ioparam, &in);
	if (delimiter != ',')
		return;
	reader = palloc0(sizeof(ArrayReader));
	reader->element = element;
	reader->copied = element->convert == convert_bytes;
	tuple_column(&reader->store, &store);
	initStringInfo(&reader->data);
	initStringInfo(&reader->text);
	initStringInfo(&reader->nulls);
	column->detail = reader;
	column->convert = convert_array;
	column->growth = ARRAY_GROWTH;
}
