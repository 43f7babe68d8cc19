/*
 * range.h
 *		Ranges and multiranges from text, without range_in and multirange_in.
 */
#ifndef PGBULK_RANGE_H
#define PGBULK_RANGE_H

#include "postgres.h"

#include "format/converter.h"
#include "utils/typcache.h"

/* The type's entry; NULL: the server must convert such ranges. */
extern TypeCacheEntry *range_served(Oid type);

/*
 * Sets column->convert for a column whose input function is range_in, given its
 * type's entry and bound, like a column of the type of its bounds.  Texts with
 * escapes or spaces around brackets, and all that may be an error, are left to
 * range_in.  Memory: the current context, where bound must live, too.
 */
extern void range_choose(Column *column, TypeCacheEntry *type, const Column *bound);

/* The same for multirange_in, with the entry of the type of its ranges. */
extern void multirange_choose(Column *column, TypeCacheEntry *type, const Column *bound);

#endif							/* PGBULK_RANGE_H */
