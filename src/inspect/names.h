/*
 * names.h
 *		Whether the first row of a table is made of names.  Pure C.
 */
#ifndef PGBULK_NAMES_H
#define PGBULK_NAMES_H

#include "inspect/column_stats.h"

/* Values of a column that are compared with what may be its name. */
#define NAMES_PROBE 1000

/* Whether a text could be the name of a column. */
extern bool names_may_be(const char *s, size_t length);

/*
 * Whether one of a text's words is in the names of many columns: order_id,
 * First Name, productName.
 */
extern bool names_are_known(const char *s, size_t length);

/* Whether texts are written alike: in capitals or not, words, digits, marks. */
extern bool names_are_alike(const char *a, size_t a_length, const char *b,
							size_t b_length);

/* Whether a column holds values of a type, but for what could be null markers. */
extern bool names_has_type(const ColumnStats *stats);

/* Whether a name stands above values of a type that it does not have. */
extern bool names_are_sure(const Columns *columns);

/* Above zero: the row that the columns have their names from is a header. */
extern double names_judge(const Columns *columns);

#endif							/* PGBULK_NAMES_H */
