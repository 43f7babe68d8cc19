/*
 * enum.h
 *		Labels of an enum to its values, without its input function.
 */
#ifndef PGBULK_ENUM_H
#define PGBULK_ENUM_H

#include "postgres.h"

#include "format/converter.h"

/*
 * Sets column->convert for a column whose input function is enum_in.  The
 * labels are those of now: any other, also one that is added during the load,
 * is left to the input function, and so is one that must not be used yet.
 * Memory: the current context.
 */
extern void enum_choose(Column *column);

#endif							/* PGBULK_ENUM_H */
