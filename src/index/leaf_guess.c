/*
 * leaf_guess.c
 *		See leaf_guess.h.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "index/leaf_guess.h"

bool
leaf_guess_serves(const KeyShape *shape)
{
	bool		texts = false;

	for (int i = 0; i < shape->nkeys; i++)
	{
		KeyKind		kind = shape->columns[i].kind;

		if (kind > KEY_COLLATED)
			return false;
		texts |= kind == KEY_BYTES || kind == KEY_COLLATED;
	}
	return texts;
}

static inline int
compare_texts(const char *a, const char *b)
{
	Size		length_a = VARSIZE_ANY_EXHDR(a);
	Size		length_b = VARSIZE_ANY_EXHDR(b);
	int			result = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), Min(length_a, length_b));

	return result != 0 ? result : (length_a > length_b) - (length_a < length_b);
}

static inline int
compare_numbers(const ShapeColumn *column, const char *a, const char *b)
{
	Datum		value_a = fetch_att(a, true, column->length);
	Datum		value_b = fetch_att(b, true, column->length);

	if (column->kind == KEY_UNSIGNED)
		return (value_a > value_b) - (value_a < value_b);
	return ((int64) value_a > (int64) value_b) - ((int64) value_a < (int64) value_b);
}

static inline int
compare_values(const ShapeColumn *column, const char *a, const char *b)
{
	if (column->length == -1)
		return compare_texts(a, b);
	return column->by_value ? compare_numbers(column, a, b) : memcmp(a, b, column->length);
}

static inline const char *
align_value(const ShapeColumn *column, const char *start, const char *value)
{
	/* what aligns another value is no header of a short one */
	if (column->length == -1 && *value != 0)
		return value;
	return start + TYPEALIGN(column->align, value - start);
}

static inline const char *
next_value(const ShapeColumn *column, const char *value)
{
	return value + (column->length == -1 ? VARSIZE_ANY(value) : column->length);
}

/* Both without nulls. */
static inline int
compare(const KeyShape *shape, const char *a, const char *b)
{
	const char *value_a = a;
	const char *value_b = b;

	for (int i = 0; i < shape->nkeys; i++)
	{
		const ShapeColumn *column = &shape->columns[i];
		int			result;

		value_a = align_value(column, a, value_a);
		value_b = align_value(column, b, value_b);
		result = compare_values(column, value_a, value_b);
		if (result != 0)
			return column->descending ? -result : result;
		value_a = next_value(column, value_a);
		value_b = next_value(column, value_b);
	}
	return 0;
}

OffsetNumber
leaf_guess(const KeyShape *shape, Page page, OffsetNumber offset, IndexTuple tuple)
{
	OffsetNumber low = offset;
	OffsetNumber high = OffsetNumberNext(PageGetMaxOffsetNumber(page));

	if (IndexTupleHasNulls(tuple))
		return low;
	/* most keys behind the leaf are told by its last item */
	for (OffsetNumber middle = high - 1; low < high; middle = low + (high - low) / 2)
	{
		IndexTuple	item = (IndexTuple) PageGetItem(page, PageGetItemId(page, middle));

		if (!IndexTupleHasNulls(item) &&
			compare(shape, (const char *) (tuple + 1), (const char *) (item + 1)) > 0)
			low = OffsetNumberNext(middle);
		else
			high = middle;
	}
	return low;
}
