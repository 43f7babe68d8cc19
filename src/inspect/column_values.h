/*
 * column_values.h
 *		What the values of a column look like, one after the other.  Pure C.
 */
#ifndef PGBULK_COLUMN_VALUES_H
#define PGBULK_COLUMN_VALUES_H

#include "inspect/column_stats.h"

/* Leaves out the blanks at both ends of a text. */
extern void column_trim(const char **s, size_t *length);

/* Whether a text is one of those that the caller has for NULL. */
extern bool column_is_null(const Columns *columns, const char *s, size_t length);

/* One more value of a column, of which only its length is counted, and the first kept. */
extern void column_count(ColumnStats *stats, const char *s, size_t length);

/* The types of a column become those that hold a value of this shape, too. */
extern void column_add_shape(ColumnStats *stats, ValueShape shape);

/* One more field of a column. */
extern void column_add_field(const Columns *columns, ColumnStats *stats,
							 const char *data, const ScanField *field);

/* The text of a field as it will be loaded; NULL where it will be NULL. */
extern const char *column_text(const Columns *columns, uint32_t column,
							   const char *data, const ScanField *field,
							   size_t *length);

#endif							/* PGBULK_COLUMN_VALUES_H */
