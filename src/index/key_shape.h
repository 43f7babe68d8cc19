/*
 * key_shape.h
 *		What the keys of a btree index look like.
 *
 * A key travels as an image: the index's columns as bytes, laid out like the
 * data of an index tuple, so that keys with the same image are the same to
 * everyone.  The reverse does not hold (numeric 1.0 and 1.00): what is equal is
 * for the operator class to say, shape_compare.
 *
 * To sort many keys there are sort strings, whose bytes come in the order of the
 * keys.  They need not tell all keys apart, and where they come from a collation
 * of the operating system they are not to be trusted beyond speed: the order is verified
 * with shape_compare.
 */
#ifndef PGBULK_KEY_SHAPE_H
#define PGBULK_KEY_SHAPE_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/itup.h"
#include "index/weights.h"
#include "lib/stringinfo.h"
#include "server/collation.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"

/* Longer sort strings cost memory and seldom tell more. */
#define SHAPE_STRING_MAX 256

/* How a column's value becomes part of a sort string. */
typedef enum KeyKind
{
	KEY_SIGNED,					/* integers by value */
	KEY_UNSIGNED,
	KEY_FIXED,					/* as many bytes as the type has */
	KEY_BYTES,					/* of a string without zeroes */
	KEY_COLLATED,				/* as the collation transforms it */
	KEY_ABBREVIATED,			/* as the type abbreviates it for the server's own sorts */
	KEY_OTHER					/* not at all */
} KeyKind;

typedef struct ShapeColumn
{
	int16		length;			/* as attlen */
	int16		shift;			/* where shape->integer: of its bits in the number */
	bool		by_value;
	bool		can_be_short;
	uint8		align;			/* 1, 2, 4 or 8 */
	KeyKind		kind;			/* key columns only, as all below */
	bool		descending;
	bool		nulls_first;
	SortSupportData ssup;
	bool		deterministic;	/* strings that are equal have the same bytes */
	bool		libc;			/* the collation is of the operating system's library */
	bool		text;			/* text, that a collation orders not by its bytes */
	const Weights *weights;		/* of that, once shape_has_weights; or NULL */
	uint64		mask;			/* where shape->integer: of its bits, before they are shifted */
	uint64		flip;			/* of a number, bits that make it sort like the value */
	SortSupportData abbreviated;	/* where KEY_ABBREVIATED */
	const CollationTransform *transform;	/* where KEY_COLLATED */
} ShapeColumn;

typedef struct KeyShape
{
	TupleDesc	desc;
	int			natts;			/* with INCLUDE columns */
	int			nkeys;
	Size		bitmap;			/* bytes that say which columns are null */
	bool		integer;		/* integers by value that one number holds: see shape_integer */
	bool		collated;		/* sort strings partly come from a collation or type (order.h) */
	bool		exact;			/* keys that are equal have had the same image so far */
	char	   *scratch;		/* for strings that are to be transformed */
	Size		scratch_size;
	IndexTuple	tuple;			/* of the last shape_tuple, with room for any; or NULL */
	ShapeColumn columns[INDEX_MAX_KEYS];
} KeyShape;

/* Memory: the current context. */
extern KeyShape *shape_open(Relation index);

/*
 * The shape of single values that are no btree's keys, in the order of a function that compares
 * two of them as a btree's does.  desc, of that one column, must stay.
 */
extern KeyShape *shape_open_value(TupleDesc desc, Oid compare, Oid collation);

/*
 * The image of a key, appended to a buffer that is MAXALIGNed and zero padded to a
 * multiple of MAXALIGN.  Returns its length.  What is stored elsewhere is fetched.
 * Error: 54000 for a key that no index tuple can hold.
 */
extern Size shape_image(KeyShape *shape, const Datum *values, const bool *isnull,
						StringInfo image);

/* The other way round; the values point into the image. */
extern void shape_values(const KeyShape *shape, const char *image, Datum *values,
						 bool *isnull);

static inline Size
shape_align(Size at, uint8 align)
{
	return (at + align - 1) & ~((Size) align - 1);
}

/* The value at *at of an image, or of an index tuple's data, not null; *at moves behind it. */
static inline const char *
shape_take_bytes(const ShapeColumn *column, const char *image, Size *at)
{
	const char *p;

	/* padding is zero, and a short varlena does not begin with that */
	if (column->length != -1 || image[*at] == '\0' ||
		!VARATT_IS_SHORT(image + *at))
		*at = shape_align(*at, column->align);
	p = image + *at;
	*at += column->length > 0 ? column->length :
		column->length == -1 ? VARSIZE_ANY(p) : strlen(p) + 1;
	return p;
}

static inline Datum
shape_take_value(const ShapeColumn *column, const char *image, Size *at)
{
	const char *p = shape_take_bytes(column, image, at);

	return column->length > 0 ? fetch_att(p, column->by_value, column->length) :
		PointerGetDatum(p);
}

/* As the index orders keys: below, equal or above 0. */
extern int	shape_compare(KeyShape *shape, const char *a, const char *b);

/* The same by so many of their columns. */
extern int	shape_compare_first(KeyShape *shape, int columns, const char *a, const char *b);

/* Whether a key column is null. */
extern bool shape_has_null(const KeyShape *shape, const char *image);

/*
 * Appends a key's sort string, of limited length, to a buffer.  weighed: that of the weights of its
 * characters; false: it has none.
 */
extern bool shape_string(KeyShape *shape, const char *image, bool weighed, StringInfo string);

/*
 * Where images have sort strings within themselves, behind so many bytes; 0: nowhere.  Of these
 * keys not all need have one.
 */
extern int	shape_string_in_image(const KeyShape *shape);
extern bool shape_has_string_in_image(const KeyShape *shape, const char *image);

/*
 * The first bytes of a key's sort string as a number that is in order, zeroes behind the string,
 * where they are known without the string; else false.
 */
extern bool shape_first_bytes(const KeyShape *shape, const char *image, uint64 *first);

/*
 * Whether keys may have sort strings of weights (weights.h): shorter and made in less time, but of
 * no use where not all keys that are sorted have one, and not to be trusted at all.
 */
extern bool shape_has_weights(KeyShape *shape);

/* The tuple that the index will hold, good until the next call; its heap TID is not set. */
extern IndexTuple shape_tuple(KeyShape *shape, const char *image);

/*
 * Where shape->integer: the key as a number, the first column in the highest bits.  Keys with the
 * same columns null sort as their numbers do.  *nulls: those columns, the first one in the lowest
 * bit, at most shape_integer_nulls.
 */
extern uint64 shape_integer(const KeyShape *shape, const Datum *values, const bool *isnull,
							uint32 *nulls);

static inline uint32
shape_integer_nulls(const KeyShape *shape)
{
	return (1 << shape->nkeys) - 1;
}

/* As the index orders such keys: below, equal or above 0. */
extern int	shape_integer_compare(const KeyShape *shape, uint64 a, uint32 nulls_a,
								  uint64 b, uint32 nulls_b);

/* The image of such a key; returns its size. */
#define SHAPE_INTEGER_IMAGE 24
extern Size shape_integer_image(const KeyShape *shape, uint64 key, uint32 nulls, char *image);

/* The tuple of such a key without nulls, all but its heap TID; its size, of all such keys. */
#define SHAPE_INTEGER_TUPLE (sizeof(IndexTupleData) + 16)
extern Size shape_integer_tuple_size(const KeyShape *shape);
extern void shape_integer_tuple(const KeyShape *shape, uint64 key, IndexTuple tuple);

#endif							/* PGBULK_KEY_SHAPE_H */
