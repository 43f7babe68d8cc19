/*
 * array.h
 *		Arrays from text, without array_in.
 */
#ifndef PGBULK_ARRAY_H
#define PGBULK_ARRAY_H

#include "postgres.h"

#include "format/converter.h"

/*
 * Sets column->convert for a column whose input function is array_in, given
 * element, like a column of the type of its elements, if that has a fast
 * converter.  Arrays whose subscripts begin with 1 are converted; those with
 * subscripts in the text, and what is not well-formed, are left to array_in.
 * Memory: the current context, where element must live, too.
 */
extern void array_choose(Column *column, const Column *element);

#endif							/* PGBULK_ARRAY_H */
