/*
 * key_sink.h
 *		Who takes the keys of an index and their rows from whoever sorts or merges them.
 */
#ifndef PGBULK_KEY_SINK_H
#define PGBULK_KEY_SINK_H

#include "postgres.h"

#include "index/keysort.h"
#include "index/order.h"
#include "index/row_id.h"

typedef struct KeySink
{
	/*
	 * If not NULL: called before key() with the key's sort string, at least the
	 * beginning of it, unless the key is equal to the one before.  Not called where
	 * sort strings do not come in the order of the keys (order.h).
	 */
	void		(*string) (void *arg, const char *string, Size size);
	/*
	 * The next key.  equal: the index takes it for equal to the one before,
	 * though its image is another; rows of such keys come in the order of their TIDs.
	 */
	void		(*key) (void *arg, const char *image, Size size, bool equal);
	/* Rows with it, by TID; called any number of times for a key. */
	void		(*rows) (void *arg, const RowId *rows, uint32 n);
	/*
	 * Integers that nobody sorts (partition.h): called instead of all that for each row, with the
	 * key as shape_integer has it.
	 */
	void		(*integer) (void *arg, uint64 key, uint32 nulls, RowId row);
	/*
	 * If not NULL: called instead of all that for integers without nulls (shape_integer), each with
	 * one row.
	 */
	void		(*singles) (void *arg, const SortItem *items, Size n);
	/* If not NULL: a row that will come soon, where that is known. */
	void		(*ahead) (void *arg, RowId row);
	void	   *arg;
} KeySink;

/* Emits rows of one image, which arrived in that order. */
static inline void
key_sink_rows(const KeySink *sink, RowId *rows, uint32 n, RowOrder order)
{
	if (rows_need_sort(order) && n > 1)
		keysort_numbers(rows, n);
	sink->rows(sink->arg, rows, n);
}

#endif							/* PGBULK_KEY_SINK_H */
