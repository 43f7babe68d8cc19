/*
 * order.h
 *		The order in which keys and their rows arrive and leave, and why.
 *
 * The entries of a btree come in the order of the operator class, those of equal keys by TID.
 * What is known of that on the way is one state, an Order, of whoever collects or merges keys.
 * It begins as the shape (key_shape.h) and the scan of the table say, and changes here only:
 *
 *	KEYS_BY_STRING		sort strings come in the order of the keys: numbers and bytes do
 *	KEYS_BY_COLLATION	sort strings are what a collation makes of texts.  They should come in the
 *						order of the keys, but libraries have had defects there: no key leaves for
 *						good before all are verified
 *	KEYS_BY_OPERATOR	sort strings turned out not to; the operator class alone compares
 *
 *	ROWS_BY_TID			as a scan of the table finds them
 *	ROWS_BY_BLOCK		so, too, but a row's entry has the TID of the root of its HOT chain, which
 *						may be behind that of the row found next.  Rows of a key are sorted when all
 *						that were found in a block are there
 *	ROWS_BY_IMAGE		groups that were partitioned, where keys are equal whose images are not: by
 *						TID for each image, but those of two images that are equal come in turns,
 *						from run to run, too
 *	ROWS_UNORDERED		groups that were partitioned, from ROWS_BY_BLOCK: any order
 *
 * Whoever has sorted or merged keys asks order_follows of each pair of neighbors, whatever the
 * state: that is the only place where the order is verified.  Ranges of keys that were sorted so
 * follow one another if their ends are within the borders, which split_has tells.  Integers
 * that one number holds need none of this: they are sorted by their values.
 */
#ifndef PGBULK_ORDER_H
#define PGBULK_ORDER_H

#include "postgres.h"

#include "index/key_shape.h"

typedef enum KeyOrder
{
	KEYS_BY_STRING,
	KEYS_BY_COLLATION,
	KEYS_BY_OPERATOR
} KeyOrder;

/* Of two processes' orders the later one holds for what both have found, once it is partitioned. */
typedef enum RowOrder
{
	ROWS_BY_TID,
	ROWS_BY_BLOCK,
	ROWS_BY_IMAGE,
	ROWS_UNORDERED
} RowOrder;

typedef struct Order
{
	KeyOrder	keys;
	RowOrder	rows;
} Order;

/* What the shape's keys begin with, whose rows arrive so. */
static inline Order
order_open(const KeyShape *shape, RowOrder rows)
{
	return (Order) {shape->collated ? KEYS_BY_COLLATION : KEYS_BY_STRING, rows};
}

/* Whether the rows of one image are still to be sorted. */
static inline bool
rows_need_sort(RowOrder rows)
{
	return rows == ROWS_BY_BLOCK || rows == ROWS_UNORDERED;
}

/* Whether rows of a key in one run may belong between those in another. */
static inline bool
rows_interleave(RowOrder rows)
{
	return rows == ROWS_BY_IMAGE || rows == ROWS_UNORDERED;
}

/* How the rows of a shape's keys leave a partition, all of which have been found in that order. */
static inline RowOrder
rows_partitioned(RowOrder rows, const KeyShape *shape)
{
	/* these are not grouped: each row goes where it belongs when it comes */
	if (shape->integer)
		return rows;
	if (rows_need_sort(rows))
		return ROWS_UNORDERED;
	return shape->exact ? rows : ROWS_BY_IMAGE;
}

/* Whether a key may follow another one; *equal: whether it is the same to the index. */
static inline bool
order_follows(KeyShape *shape, const char *before, const char *image, bool *equal)
{
	int			order = shape_compare(shape, before, image);

	*equal = order == 0;
	return order <= 0;
}

/* The operator class has no order. */
extern void order_raise(void);

/*
 * Keys were sorted as the order says, and one does not follow another: from now on the operator
 * class compares.  Error: XX000 if it has done so already.
 */
extern void order_distrust(Order *order);

#endif							/* PGBULK_ORDER_H */
