/*
 * brin_page.h
 *		The least and the greatest values of a page's rows, for BRIN summaries of
 *		the server's minmax operator classes.
 *
 * Values of types that one number stands for are compared as numbers, with the
 * same outcome as the operators, so that no function is called for a row, nor
 * for a page.
 */
#ifndef PGBULK_BRIN_PAGE_H
#define PGBULK_BRIN_PAGE_H

#include "postgres.h"

#include "storage/bufpage.h"
#include "utils/rel.h"

/* How a column's values are compared. */
typedef enum MinmaxKind
{
	MINMAX_OTHER,				/* by functions, or its summary is another */
	MINMAX_INT2,
	MINMAX_INT4,
	MINMAX_INT8,
	MINMAX_OID,
	MINMAX_FLOAT4,
	MINMAX_FLOAT8
} MinmaxKind;

extern MinmaxKind minmax_kind(Relation index, int column);

/* As floating point numbers compare here: NaN is equal to NaN, and above all else. */
static inline int64
minmax_float(float8 value)
{
	union
	{
		float8		number;
		int64		bits;
	}			both = {.number = value + 0.0}; /* there is one zero */

	if (value != value)
		return PG_INT64_MAX;
	return both.bits < 0 ? both.bits ^ PG_INT64_MAX : both.bits;
}

/* A value, not null, as a number; not for MINMAX_OTHER. */
static inline int64
minmax_number(MinmaxKind kind, Datum value)
{
	switch (kind)
	{
		case MINMAX_INT2:
			return DatumGetInt16(value);
		case MINMAX_INT4:
			return DatumGetInt32(value);
		case MINMAX_OID:
			return DatumGetObjectId(value);
		case MINMAX_FLOAT4:
			return minmax_float(DatumGetFloat4(value));
		case MINMAX_FLOAT8:
			return minmax_float(DatumGetFloat8(value));
		default:
			return DatumGetInt64(value);
	}
}

/* What a page's rows have in a column of the index. */
typedef struct MinmaxColumn
{
	MinmaxKind	kind;
	bool		has_nulls;
	bool		has_values;		/* only then: */
	int64		least_number;
	int64		greatest_number;
	Datum		least;			/* the first of those that are equal, as the server has it */
	Datum		greatest;
} MinmaxColumn;

typedef struct BrinPage BrinPage;

/* NULL: the index needs a look at each row.  Memory: the current context. */
extern BrinPage *brin_page_open(Relation heap, Relation index);

/*
 * What a page of the table has, where no row is dead: a column for each of the index, good until
 * the next call.  *nrows: how many rows these are.
 */
extern const MinmaxColumn *brin_page_read(BrinPage *reader, Page page, int *nrows);

#endif							/* PGBULK_BRIN_PAGE_H */
