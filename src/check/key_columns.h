/*
 * key_columns.h
 *		The columns of a foreign key in the rows of its table, and the bytes by which its values
 *		are compared.
 *
 * Values that are equal but stored differently (1.0 and 1.00) have different bytes.
 */
#ifndef PGBULK_KEY_COLUMNS_H
#define PGBULK_KEY_COLUMNS_H

#include "postgres.h"

#include "access/htup_details.h"
#include "check/key_set.h"
#include "commands/trigger.h"
#include "lib/stringinfo.h"
#include "utils/rel.h"

typedef struct KeyColumns
{
	TupleDesc	desc;			/* of the table */
	int			natts;
	AttrNumber	atts[INDEX_MAX_KEYS];
	bool		match_full;
	bool		fixed;			/* values of each column have the same length */
	bool		byval;			/* they are passed as Datums */

	/* the current key */
	Datum		values[INDEX_MAX_KEYS];
	StringInfoData bytes;		/* of it, or of all keys of a page */
	KeySetItem	items[MaxHeapTuplesPerPage];
} KeyColumns;

/* The catalog row of the constraint that a trigger checks, to be released. */
extern HeapTuple key_columns_constraint(const Trigger *trigger);

/*
 * Those of a constraint of rel; and for each the referenced column, and the operator that compares
 * referenced column = column, arrays of INDEX_MAX_KEYS.  rel must stay open.  Memory: the current
 * context.
 */
extern void key_columns_open(KeyColumns *columns, Relation rel, HeapTuple constraint,
							 AttrNumber *referenced_atts, Oid *operators);

/*
 * Takes a row's values; returns how many of them are NULL.  If none is, bytes are
 * those of the key.  Leaks into the current context.
 */
extern int	key_columns_take(KeyColumns *columns, HeapTuple tuple);

/* The same without the bytes, so that those of other rows stay. */
extern int	key_columns_take_values(KeyColumns *columns, HeapTuple tuple);

/* Whether a row with this many NULLs refers to nothing, and is good. */
static inline bool
key_columns_are_good(const KeyColumns *columns, int nnulls)
{
	return !columns->match_full || nnulls == columns->natts;
}

/*
 * Takes the keys of n rows of one page as items, one for rows with the same key that follow each
 * other, as those of an order do; returns how many.  repeated: which rows have none of their own.
 * An empty key marks a row that must be looked at by itself: it has a NULL, or no bytes.
 */
extern int	key_columns_take_rows(KeyColumns *columns, HeapTuple tuples, int n, bool *repeated);

/* Takes the values that have these bytes, which need not stay.  Memory: the current context. */
extern void key_columns_take_bytes(KeyColumns *columns, const char *bytes, Size len);

#endif							/* PGBULK_KEY_COLUMNS_H */
