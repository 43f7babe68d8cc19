/*
 * column_types.h
 *		The columns of a sample whose dialect is known.  Pure C.
 */
#ifndef PGBULK_COLUMN_TYPES_H
#define PGBULK_COLUMN_TYPES_H

#include "inspect/column_stats.h"

/*
 * Looks at all rows: how many columns there are, whether there is a header, and
 * what the columns hold.
 */
extern void columns_find(Columns *columns);

/* The types, null markers and options that follow from that. */
extern void columns_decide(Columns *columns);

/*
 * The type of a column turned out not to hold a value: the next one, or the
 * other order of its dates.
 */
extern void columns_refuse(Columns *columns, uint32_t column);

#endif							/* PGBULK_COLUMN_TYPES_H */
