/*
 * quoting.h
 *		What a kind of quotes would cost a file whose delimiter is known.  Pure C.
 */
#ifndef PGBULK_QUOTING_H
#define PGBULK_QUOTING_H

#include "inspect/dialect_type.h"

/*
 * How much of a span the quotes of a dialect would spoil: rows that come out
 * with other than the dialect's number of fields, quotes that are no part of
 * their fields, or come to be one, and rows that become one row.  mark: the quote that
 * values would keep, if the dialect has none.  *merged: the last of these, as
 * lines that are rows no more.
 */
extern double quoting_cost(const SheetSpan *span, const Dialect *dialect,
						   char mark, SheetSpace *space, uint32_t *merged);

#endif							/* PGBULK_QUOTING_H */
