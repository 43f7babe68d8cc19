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

/* Whether columns_find took a row as one of data. */
extern bool columns_takes(const Columns *columns, const char *data,
						  const ScanRow *row, const ScanField *fields);

/* The text of a field as it will be loaded; NULL where it will be NULL. */
extern const char *columns_text(const Columns *columns, uint32_t column,
								const char *data, const ScanField *field,
								size_t *length);

#endif							/* PGBULK_COLUMN_TYPES_H */
