/*
 * leaf_guess.c
 *		See leaf_guess.h.
 */
#include "postgres.h"

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
compare_numbers(const ShapeColumn *column, Datum a, Datum b)
{
	if (column->kind == KEY_UNSIGNED)
		return (a > b) - (a < b);
	return ((int64) a > (int64) b) - ((int64) a < (int64) b);
}

static inline int
compare_values(const ShapeColumn *column, Datum a, Datum b)
{
	if (column->by_value)
		return compare_numbers(column, a, b);
	return column->length == -1 ? compare_texts(DatumGetPointer(a), DatumGetPointer(b)) :
		memcmp(DatumGetPointer(a), DatumGetPointer(b), column->length);
}

/* The data of both, without nulls. */
static inline int
compare(const KeyShape *shape, const char *a, const char *b)
{
	Size		at_a = 0;
	Size		at_b = 0;

	for (int i = 0; i < shape->nkeys; i++)
	{
		const ShapeColumn *column = &shape->columns[i];
		Datum		value_a = shape_take_value(column, a, &at_a);
		Datum		value_b = shape_take_value(column, b, &at_b);
		int			result = compare_values(column, value_a, value_b);

		if (result != 0)
			return column->descending ? -result : result;
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
