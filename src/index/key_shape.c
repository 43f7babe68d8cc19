/*
 * key_shape.c
 *		See key_shape.h.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/heaptoast.h"
#include "catalog/pg_index.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type_d.h"
#include "index/key_shape.h"
#include "port/pg_bswap.h"
#include "server/compat.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* Families that have no name in the server's headers. */
#define DATETIME_BTREE_FAM_OID 434
#define NUMERIC_BTREE_FAM_OID 1988
#define UUID_BTREE_FAM_OID 2968

/* The server's own collations, from 17 on: all of them order strings by bytes. */
#define BUILTIN_PROVIDER 'b'

/* An index tuple has fewer than 8 kB; of an image of this size it surely has. */
#define SURELY_FITS (INDEX_SIZE_MASK / 2)

static uint8
align_of(char typalign)
{
	switch (typalign)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return 2;
		case TYPALIGN_INT:
			return 4;
		default:
			return 8;
	}
}

/* Whether a collation is C, by whatever name. */
static bool
compares_bytes(Oid collation)
{
	char	   *name;
	char		provider = collation_provider(collation, &name);

	if (provider == BUILTIN_PROVIDER)
		return true;
	return provider == COLLPROVIDER_LIBC && name != NULL &&
		(strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0);
}

static KeyKind
text_kind(Oid collation)
{
	if (!OidIsValid(collation))
		return KEY_OTHER;
	if (compares_bytes(collation))
		return KEY_BYTES;
	return collation_transform_of(collation) != NULL ? KEY_COLLATED : KEY_OTHER;
}

/*
 * What is known of the order of an operator class.  Extensions add types of their own to the
 * server's families.
 */
static KeyKind
find_kind(Relation index, int i, int16 length, bool by_value)
{
	Oid			type = index->rd_opcintype[i];

	switch (index->rd_opfamily[i])
	{
		case INTEGER_BTREE_FAM_OID:
			return type == INT2OID || type == INT4OID || type == INT8OID ? KEY_SIGNED : KEY_OTHER;
		case DATETIME_BTREE_FAM_OID:
			return by_value && (type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID) ?
				KEY_SIGNED : KEY_OTHER;
		case OID_BTREE_FAM_OID:
			return type == OIDOID ? KEY_UNSIGNED : KEY_OTHER;
		case BOOL_BTREE_FAM_OID:
			return type == BOOLOID ? KEY_UNSIGNED : KEY_OTHER;
		case UUID_BTREE_FAM_OID:
			return type == UUIDOID && length == 16 ? KEY_FIXED : KEY_OTHER;
		case TEXT_PATTERN_BTREE_FAM_OID:
			return type == TEXTOID && length == -1 ? KEY_BYTES : KEY_OTHER;
		case TEXT_BTREE_FAM_OID:
			return type == TEXTOID && length == -1 ?
				text_kind(index->rd_indcollation[i]) : KEY_OTHER;
		default:
			return KEY_OTHER;
	}
}

/* The same by the function that compares values. */
static KeyKind
function_kind(Oid compare, Oid collation)
{
	switch (compare)
	{
		case F_BTINT2CMP:
		case F_BTINT4CMP:
		case F_BTINT8CMP:
		case F_DATE_CMP:
		case F_TIMESTAMP_CMP:
		case F_TIMESTAMPTZ_CMP:
			return KEY_SIGNED;
		case F_BTOIDCMP:
			return KEY_UNSIGNED;
		case F_UUID_CMP:
			return KEY_FIXED;
		case F_GIN_CMP_TSLEXEME:
		case F_GIN_COMPARE_JSONB:
			return KEY_BYTES;
		case F_BTTEXTCMP:
			return text_kind(collation);
		default:
			return KEY_OTHER;
	}
}

static void
set_collation(ShapeColumn *column, Oid collation)
{
	char	   *name;

	column->ssup.ssup_cxt = CurrentMemoryContext;
	column->ssup.ssup_collation = collation;
	if (column->kind != KEY_COLLATED)
		return;
	column->text = true;
	column->transform = collation_transform_of(collation);
	column->deterministic = get_collation_isdeterministic(collation);
	column->libc = collation_provider(collation, &name) == COLLPROVIDER_LIBC;
}

/* Whether the type abbreviates values to numbers whose order is known here. */
static bool
is_abbreviated(Relation index, int i, ShapeColumn *column)
{
	SortSupport ssup = &column->abbreviated;

	ssup->ssup_cxt = CurrentMemoryContext;
	ssup->ssup_collation = index->rd_indcollation[i];
	ssup->ssup_attno = i + 1;
	ssup->abbreviate = true;
	compat_index_sort_support(index, false, ssup);
	if (ssup->abbrev_converter == NULL)
		return false;
	/* those of numeric are signed, and negated; without a name in the server's headers */
	if (index->rd_opfamily[i] == NUMERIC_BTREE_FAM_OID && index->rd_opcintype[i] == NUMERICOID)
		column->flip = ~((Datum) 1 << (SIZEOF_DATUM * BITS_PER_BYTE - 1));
	else if (ssup->comparator != ssup_datum_unsigned_cmp)
		return false;
	column->text = index->rd_opfamily[i] == TEXT_BTREE_FAM_OID &&
		index->rd_opcintype[i] == TEXTOID;
	column->deterministic = column->text &&
		get_collation_isdeterministic(index->rd_indcollation[i]);
	return true;
}

static void
open_key(Relation index, int i, ShapeColumn *column)
{
	SortSupport ssup = &column->ssup;

	column->descending = (index->rd_indoption[i] & INDOPTION_DESC) != 0;
	column->nulls_first = (index->rd_indoption[i] & INDOPTION_NULLS_FIRST) != 0;
	column->kind = find_kind(index, i, column->length, column->by_value);
	if (column->kind == KEY_OTHER && is_abbreviated(index, i, column))
		column->kind = KEY_ABBREVIATED;
	set_collation(column, index->rd_indcollation[i]);
	ssup->ssup_nulls_first = column->nulls_first;
	ssup->ssup_attno = i + 1;
	compat_index_sort_support(index, column->descending, ssup);
}

static void
open_column(Form_pg_attribute att, ShapeColumn *column)
{
	column->length = att->attlen;
	column->by_value = att->attbyval;
	column->can_be_short = att->attlen == -1 && att->attstorage != TYPSTORAGE_PLAIN;
	column->align = align_of(att->attalign);
}

/* Whether the columns are integers that one number holds; sets where each of them is in it. */
static bool
place_integers(KeyShape *shape)
{
	int			bits = 0;

	if (shape->natts != shape->nkeys)
		return false;
	for (int i = shape->nkeys - 1; i >= 0; i--)
	{
		ShapeColumn *column = &shape->columns[i];

		if (!column->by_value || (column->kind != KEY_SIGNED && column->kind != KEY_UNSIGNED))
			return false;
		column->shift = bits;
		bits += column->length * BITS_PER_BYTE;
		if (bits > 64)
			return false;
		column->mask = ~UINT64CONST(0) >> (64 - column->length * BITS_PER_BYTE);
		column->flip = column->kind == KEY_SIGNED ? column->mask ^ column->mask >> 1 : 0;
		if (column->descending)
			column->flip ^= column->mask;
	}
	return true;
}

/* All columns are known. */
static KeyShape *
complete(KeyShape *shape)
{
	shape->bitmap = (shape->natts + 7) / 8;
	shape->exact = shape->natts == shape->nkeys;
	for (int i = 0; i < shape->nkeys; i++)
	{
		const ShapeColumn *column = &shape->columns[i];

		shape->collated |= column->kind == KEY_COLLATED || column->kind == KEY_ABBREVIATED;
		shape->exact &= column->kind < KEY_COLLATED || column->deterministic;
	}
	shape->integer = place_integers(shape);
	return shape;
}

KeyShape *
shape_open(Relation index)
{
	KeyShape   *shape = palloc0(sizeof(KeyShape));

	shape->desc = RelationGetDescr(index);
	shape->natts = shape->desc->natts;
	shape->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	for (int i = 0; i < shape->natts; i++)
	{
		open_column(TupleDescAttr(shape->desc, i), &shape->columns[i]);
		if (i < shape->nkeys)
			open_key(index, i, &shape->columns[i]);
	}
	return complete(shape);
}

KeyShape *
shape_open_value(TupleDesc desc, Oid compare, Oid collation)
{
	KeyShape   *shape = palloc0(sizeof(KeyShape));
	ShapeColumn *column = &shape->columns[0];

	Assert(desc->natts == 1);
	shape->desc = desc;
	shape->natts = shape->nkeys = 1;
	open_column(TupleDescAttr(desc, 0), column);
	column->kind = function_kind(compare, collation);
	set_collation(column, collation);
	PrepareSortSupportComparisonShim(compare, &column->ssup);
	return complete(shape);
}

/* ---- images ---- */

/* Mostly there is room. */
static inline void
reserve(StringInfo image, Size size)
{
	if (unlikely(image->len + size >= image->maxlen))
		enlargeStringInfo(image, size);
}

static inline void
pad_to(StringInfo image, Size start, Size at)
{
	Size		n = at - (image->len - start);

	memset(image->data + image->len, 0, n);
	image->len += n;
}

/* A varlena as it will stand in the index, but for compression. */
static void
append_varlena(KeyShape *shape, StringInfo image, Size start,
			   const ShapeColumn *column, struct varlena *value)
{
	Size		size;

	if (VARATT_IS_EXTERNAL(value))
	{
		struct varlena *fetched = detoast_external_attr(value);

		append_varlena(shape, image, start, column, fetched);
		pfree(fetched);
		return;
	}
	/* there are different ways to compress a value, and two headers where not all are made short */
	if (VARATT_IS_COMPRESSED(value) ||
		(VARATT_IS_SHORT(value) && !column->can_be_short))
		shape->exact = false;
	size = VARSIZE_ANY(value);
	reserve(image, size + 2 * MAXIMUM_ALIGNOF);
	if (column->can_be_short && VARATT_CAN_MAKE_SHORT(value))
	{
		char	   *to = image->data + image->len;

		size = VARATT_CONVERTED_SHORT_SIZE(value);
		SET_VARSIZE_SHORT(to, size);
		memcpy(to + 1, VARDATA(value), size - 1);
		image->len += size;
		return;
	}
	if (!VARATT_IS_SHORT(value))
		pad_to(image, start, shape_align(image->len - start, column->align));
	memcpy(image->data + image->len, value, size);
	image->len += size;
}

static void
append_value(KeyShape *shape, StringInfo image, Size start,
			 const ShapeColumn *column, Datum value)
{
	Size		size;

	if (column->length == -1)
	{
		append_varlena(shape, image, start, column,
					   (struct varlena *) DatumGetPointer(value));
		return;
	}
	size = column->length > 0 ? column->length : strlen(DatumGetCString(value)) + 1;
	reserve(image, size + 2 * MAXIMUM_ALIGNOF);
	pad_to(image, start, shape_align(image->len - start, column->align));
	if (column->by_value)
		store_att_byval(image->data + image->len, value, column->length);
	else
		memcpy(image->data + image->len, DatumGetPointer(value), size);
	image->len += size;
}

/* Throws if no tuple can hold a key, as long as it is known whose it is. */
static void
check_size(const KeyShape *shape, const Datum *values, const bool *isnull)
{
	pfree(index_form_tuple(shape->desc, unconstify(Datum *, values),
						   unconstify(bool *, isnull)));
}

Size
shape_image(KeyShape *shape, const Datum *values, const bool *isnull, StringInfo image)
{
	Size		start = image->len;

	reserve(image, shape->bitmap + 2 * MAXIMUM_ALIGNOF);
	pad_to(image, start, shape->bitmap);
	for (int i = 0; i < shape->natts; i++)
	{
		if (isnull[i])
			image->data[start + i / 8] |= 1 << (i % 8);
		else
			append_value(shape, image, start, &shape->columns[i], values[i]);
	}
	reserve(image, MAXIMUM_ALIGNOF);
	pad_to(image, start, MAXALIGN(image->len - start));
	if (unlikely(image->len - start > SURELY_FITS))
		check_size(shape, values, isnull);
	return image->len - start;
}

static inline bool
is_null(const char *image, int i)
{
	return (image[i / 8] & (1 << (i % 8))) != 0;
}

void
shape_values(const KeyShape *shape, const char *image, Datum *values, bool *isnull)
{
	Size		at = shape->bitmap;

	for (int i = 0; i < shape->natts; i++)
	{
		isnull[i] = is_null(image, i);
		values[i] = isnull[i] ? (Datum) 0 :
			shape_take_value(&shape->columns[i], image, &at);
	}
}

int
shape_compare_first(KeyShape *shape, int columns, const char *a, const char *b)
{
	Size		at_a = shape->bitmap;
	Size		at_b = shape->bitmap;

	for (int i = 0; i < columns; i++)
	{
		ShapeColumn *column = &shape->columns[i];
		bool		null_a = is_null(a, i);
		bool		null_b = is_null(b, i);
		Datum		value_a = null_a ? (Datum) 0 : shape_take_value(column, a, &at_a);
		Datum		value_b = null_b ? (Datum) 0 : shape_take_value(column, b, &at_b);
		int			order;

		order = ApplySortComparator(value_a, null_a, value_b, null_b, &column->ssup);
		if (order != 0)
			return order;
	}
	return 0;
}

int
shape_compare(KeyShape *shape, const char *a, const char *b)
{
	return shape_compare_first(shape, shape->nkeys, a, b);
}

bool
shape_has_null(const KeyShape *shape, const char *image)
{
	for (int i = 0; i < shape->nkeys; i++)
		if (is_null(image, i))
			return true;
	return false;
}

/* Values of integers, none of them null, into a tuple of such. */
static void
replace_integers(const KeyShape *shape, IndexTuple tuple, const char *image)
{
	char	   *data = (char *) tuple + IndexInfoFindDataOffset(0);
	Size		to = 0;
	Size		from = shape->bitmap;

	for (int i = 0; i < shape->nkeys; i++)
	{
		const ShapeColumn *column = &shape->columns[i];

		to = shape_align(to, column->align);
		from = shape_align(from, column->align);
		memcpy(data + to, image + from, column->length);
		to += column->length;
		from += column->length;
	}
}

/*
 * What index_form_tuple makes of values: those of the image, side by side.  False: a column is
 * null, or long enough to be compressed.
 */
static bool
copy_values(const KeyShape *shape, IndexTuple tuple, const char *image)
{
	char	   *data = (char *) tuple + IndexInfoFindDataOffset(0);
	Size		to = 0;
	Size		from = shape->bitmap;
	uint16		info = 0;

	for (int i = 0; i < shape->natts; i++)
	{
		const ShapeColumn *column = &shape->columns[i];
		const char *value;
		Size		size;
		Size		begin = to;

		if (is_null(image, i))
			return false;
		value = shape_take_bytes(column, image, &from);
		size = image + from - value;
		if (size > TOAST_INDEX_TARGET || to + size > SURELY_FITS)
			return false;
		if (column->length < 0)
			info = INDEX_VAR_MASK;
		if (column->length != -1 || !VARATT_IS_SHORT(value))
			begin = shape_align(to, column->align);
		memset(data + to, 0, begin - to);
		memcpy(data + begin, value, size);
		to = begin + size;
	}
	memset(data + to, 0, MAXALIGN(to) - to);
	tuple->t_info = info | (MAXALIGN(to) + IndexInfoFindDataOffset(0));
	return true;
}

static void
form_tuple(const KeyShape *shape, IndexTuple tuple, const char *image)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	IndexTuple	formed;

	shape_values(shape, image, values, isnull);
	formed = index_form_tuple(shape->desc, values, isnull);
	memcpy(tuple, formed, IndexTupleSize(formed));
	pfree(formed);
}

IndexTuple
shape_tuple(KeyShape *shape, const char *image)
{
	if (shape->tuple == NULL)
		shape->tuple = MemoryContextAllocZero(GetMemoryChunkContext(shape), INDEX_SIZE_MASK + 1);
	else if (shape->integer && !shape_has_null(shape, image) && !IndexTupleHasNulls(shape->tuple))
	{
		replace_integers(shape, shape->tuple, image);
		return shape->tuple;
	}
	if (!copy_values(shape, shape->tuple, image))
		form_tuple(shape, shape->tuple, image);
	return shape->tuple;
}

/* ---- sort strings ---- */

int
shape_string_in_image(const KeyShape *shape)
{
	const ShapeColumn *column = &shape->columns[0];

	if (shape->natts > 1 || column->descending)
		return 0;
	if (column->kind == KEY_FIXED && column->align == 1)
		return shape->bitmap;
	return column->kind == KEY_BYTES && column->can_be_short ?
		shape->bitmap + VARHDRSZ_SHORT : 0;
}

bool
shape_has_string_in_image(const KeyShape *shape, const char *image)
{
	return !is_null(image, 0) &&
		(shape->columns[0].length > 0 || VARATT_IS_SHORT(image + shape->bitmap));
}

bool
shape_first_bytes(const KeyShape *shape, const char *image, uint64 *first)
{
	int			from = shape_string_in_image(shape);
	uint64		bytes = 0;
	Size		length;

	if (from == 0 || !shape_has_string_in_image(shape, image))
		return false;
	length = shape->columns[0].length > 0 ? shape->columns[0].length :
		VARSIZE_SHORT(image + shape->bitmap) - VARHDRSZ_SHORT;
	memcpy(&bytes, image + from, Min(length, sizeof(bytes)));
	/* behind what tells that it is not null */
	*first = pg_ntoh64(bytes) >> BITS_PER_BYTE |
		(uint64) shape->columns[0].nulls_first << (64 - BITS_PER_BYTE);
	return true;
}

static uint64
integer_bits(const ShapeColumn *column, Datum value)
{
	int64		number;

	switch (column->length)
	{
		case 1:
			number = column->kind == KEY_SIGNED ? (int8) DatumGetChar(value) :
				(uint8) DatumGetChar(value);
			break;
		case 2:
			number = DatumGetInt16(value);
			break;
		case 4:
			number = column->kind == KEY_SIGNED ? (int64) DatumGetInt32(value) :
				(int64) DatumGetUInt32(value);
			break;
		default:
			number = DatumGetInt64(value);
	}
	return column->kind == KEY_SIGNED ? (uint64) number ^ (UINT64CONST(1) << 63) :
		(uint64) number;
}

/* What the collation makes of a string. */
static void
append_transformed(KeyShape *shape, const ShapeColumn *column, StringInfo string,
				   const char *text, Size length)
{
	Size		need;

	if (shape->scratch_size < length + 1)
	{
		shape->scratch_size = Max(2 * (length + 1), 1024);
		if (shape->scratch != NULL)
			pfree(shape->scratch);
		shape->scratch = MemoryContextAlloc(GetMemoryChunkContext(shape),
											shape->scratch_size);
	}
	memcpy(shape->scratch, text, length);
	shape->scratch[length] = '\0';

	enlargeStringInfo(string, 4 * length + 64);
	for (;;)
	{
		Size		left = string->maxlen - string->len;

		need = collation_transform(column->transform, string->data + string->len,
								   shape->scratch, left);
		if (need < left)
			break;
		enlargeStringInfo(string, need + 1);
	}
	string->len += need;
}

/* Text: its bytes, or what becomes of them, up to a zero. */
static void
append_text(KeyShape *shape, const ShapeColumn *column, StringInfo string,
			Datum value, bool last)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);
	struct varlena *plain = pg_detoast_datum_packed(text);
	const char *data = VARDATA_ANY(plain);
	Size		length = VARSIZE_ANY_EXHDR(plain);

	if (column->kind == KEY_COLLATED)
	{
		append_transformed(shape, column, string, data, length);
		/* what only looks the same to the collation must differ before what follows */
		if (!last)
			appendStringInfoChar(string, '\0');
	}
	if (column->kind == KEY_BYTES || (!last && column->deterministic))
		appendBinaryStringInfo(string, data, length);
	appendStringInfoChar(string, '\0');
	if (plain != text)
		pfree(plain);
}

static void
append_abbreviated(ShapeColumn *column, StringInfo string, Datum value)
{
	SortSupport ssup = &column->abbreviated;
	MemoryContext old = MemoryContextSwitchTo(ssup->ssup_cxt);
	uint64		bits = ssup->abbrev_converter(value, ssup) ^ column->flip;

	MemoryContextSwitchTo(old);
	for (int shift = (SIZEOF_DATUM - 1) * BITS_PER_BYTE; shift >= 0; shift -= BITS_PER_BYTE)
		appendStringInfoChar(string, (char) (bits >> shift));
}

static void
append_key(KeyShape *shape, ShapeColumn *column, StringInfo string, Datum value, bool last)
{
	uint64		bits;

	switch (column->kind)
	{
		case KEY_SIGNED:
		case KEY_UNSIGNED:
			bits = integer_bits(column, value);
			for (int shift = 56; shift >= 0; shift -= 8)
				appendStringInfoChar(string, (char) (bits >> shift));
			break;
		case KEY_FIXED:
			appendBinaryStringInfo(string, DatumGetPointer(value), column->length);
			break;
		case KEY_BYTES:
		case KEY_COLLATED:
			append_text(shape, column, string, value, last);
			break;
		case KEY_ABBREVIATED:
			append_abbreviated(column, string, value);
			break;
		case KEY_OTHER:
			break;
	}
}

/* A text's weights; false: it has none. */
static bool
append_text_weights(const ShapeColumn *column, StringInfo string, Datum value, bool *whole)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);
	struct varlena *plain = pg_detoast_datum_packed(text);
	bool		known = weights_append(column->weights, VARDATA_ANY(plain),
									   VARSIZE_ANY_EXHDR(plain), string, whole);

	if (plain != text)
		pfree(plain);
	return known;
}

bool
shape_string(KeyShape *shape, const char *image, bool weighed, StringInfo string)
{
	Size		at = shape->bitmap;
	int			start = string->len;

	for (int i = 0; i < shape->nkeys; i++)
	{
		ShapeColumn *column = &shape->columns[i];
		bool		null = is_null(image, i);
		bool		weights = weighed && column->text;
		bool		whole = weights || column->kind != KEY_ABBREVIATED;
		Datum		value;
		int			from;

		if (column->kind == KEY_OTHER || string->len - start > SHAPE_STRING_MAX)
			break;
		appendStringInfoChar(string, null == column->nulls_first ? 0 : 1);
		if (null)
			continue;
		from = string->len;
		value = shape_take_value(column, image, &at);
		if (!weights)
			append_key(shape, column, string, value, i == shape->nkeys - 1);
		else if (!append_text_weights(column, string, value, &whole))
			return false;
		if (column->descending)
			for (int k = from; k < string->len; k++)
				string->data[k] = ~string->data[k];
		/* values that have the same bytes here need not be equal: nothing can follow */
		if (!whole)
			break;
	}
	string->len = Min(string->len, start + SHAPE_STRING_MAX);
	return true;
}

bool
shape_has_weights(KeyShape *shape)
{
	bool		found = false;

	for (int i = 0; i < shape->nkeys; i++)
	{
		ShapeColumn *column = &shape->columns[i];

		if (!column->text)
			continue;
		if (column->weights == NULL)
			column->weights = weights_of(&column->ssup);
		if (column->weights == NULL)
			return false;
		found = true;
	}
	return found;
}

/* ---- integers in one number ---- */

uint64
shape_integer(const KeyShape *shape, const Datum *values, const bool *isnull, uint32 *nulls)
{
	uint64		key = 0;

	*nulls = 0;
	for (int i = 0; i < shape->nkeys; i++)
	{
		const ShapeColumn *column = &shape->columns[i];

		if (isnull[i])
			*nulls |= 1 << i;
		else
			key |= (((uint64) values[i] & column->mask) ^ column->flip) << column->shift;
	}
	return key;
}

int
shape_integer_compare(const KeyShape *shape, uint64 a, uint32 nulls_a, uint64 b, uint32 nulls_b)
{
	for (int i = 0; i < shape->nkeys; i++)
	{
		const ShapeColumn *column = &shape->columns[i];
		bool		null_a = (nulls_a >> i & 1) != 0;
		bool		null_b = (nulls_b >> i & 1) != 0;
		uint64		bits_a = a >> column->shift & column->mask;
		uint64		bits_b = b >> column->shift & column->mask;

		if (null_a != null_b)
			return null_a == column->nulls_first ? -1 : 1;
		if (bits_a != bits_b)
			return bits_a < bits_b ? -1 : 1;
	}
	return 0;
}

Size
shape_integer_image(const KeyShape *shape, uint64 key, uint32 nulls, char *image)
{
	Size		at = shape->bitmap;

	memset(image, 0, SHAPE_INTEGER_IMAGE);
	image[0] = nulls;
	for (int i = 0; i < shape->nkeys; i++)
	{
		const ShapeColumn *column = &shape->columns[i];
		uint64		bits = (key >> column->shift & column->mask) ^ column->flip;

		if ((nulls >> i & 1) != 0)
			continue;
		at = shape_align(at, column->align);
		Assert(at + column->length <= SHAPE_INTEGER_IMAGE);
		store_att_byval(image + at, (Datum) bits, column->length);
		at += column->length;
	}
	return MAXALIGN(at);
}

/* Where the values of such a key without nulls end in its tuple. */
static Size
integer_end(const KeyShape *shape)
{
	Size		at = 0;

	for (int i = 0; i < shape->nkeys; i++)
		at = shape_align(at, shape->columns[i].align) + shape->columns[i].length;
	return at;
}

Size
shape_integer_tuple_size(const KeyShape *shape)
{
	return IndexInfoFindDataOffset(0) + MAXALIGN(integer_end(shape));
}

void
shape_integer_tuple(const KeyShape *shape, uint64 key, IndexTuple tuple)
{
	char	   *data = (char *) tuple + IndexInfoFindDataOffset(0);
	Size		at = 0;

	memset(tuple, 0, SHAPE_INTEGER_TUPLE);
	for (int i = 0; i < shape->nkeys; i++)
	{
		const ShapeColumn *column = &shape->columns[i];

		at = shape_align(at, column->align);
		Assert(at + column->length <= SHAPE_INTEGER_TUPLE - IndexInfoFindDataOffset(0));
		store_att_byval(data + at, (Datum) ((key >> column->shift & column->mask) ^ column->flip),
						column->length);
		at += column->length;
	}
	tuple->t_info = IndexInfoFindDataOffset(0) + MAXALIGN(at);
}
