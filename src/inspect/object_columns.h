/*
 * object_columns.h
 *		The columns of a sample that is made of objects of JSON.  Pure C.
 *
 * A column is a key.  Numbers, booleans, objects and arrays say themselves what
 * they are; of strings only the looks do, as of all values in other formats.
 * But a number that is written as a string is one on purpose, and stays text
 * unless others of its key have no quotes.
 */
#ifndef PGBULK_OBJECT_COLUMNS_H
#define PGBULK_OBJECT_COLUMNS_H

#include "inspect/column_stats.h"

/*
 * Looks at all objects, whose keys are known, and at what the keys have; in
 * place of columns_find, before columns_decide.
 */
extern void object_columns_find(Columns *columns);

#endif							/* PGBULK_OBJECT_COLUMNS_H */
