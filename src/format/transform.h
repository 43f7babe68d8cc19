/*
 * transform.h
 *		Option transform: a function that makes rows of the table from rows of
 *		the file.
 */
#ifndef PGBULK_TRANSFORM_H
#define PGBULK_TRANSFORM_H

#include "postgres.h"

#include "format/converter.h"

/*
 * Finds the function that the option names and returns it ready to be called,
 * for a load into rel.  Memory: the current context.  Errors: 42883, 42725 where
 * there is no such function or more than one; 42501 where the caller may not
 * execute it; 22023 where it does not take texts and return one row of rel.
 */
extern Transform *transform_open(const char *name, Relation rel);

/* How many arguments it takes, and how many of them have no default. */
extern int	transform_arguments(const Transform *transform);
extern int	transform_required(const Transform *transform);

/* Its call and its arguments' defaults as expressions, and whether they are volatile. */
extern List *transform_expressions(const Transform *transform);
extern bool transform_is_volatile(const Transform *transform);

/*
 * The row of the table that the function makes of a row of the file.  Where it
 * returns NULL there is none: conv->suppressed.  False: err says why.
 */
extern bool transform_row(Converter *conv, const char *data, const ScanRow *row,
						  const ScanField *fields, Datum *values, bool *nulls,
						  RowError *err);

#endif							/* PGBULK_TRANSFORM_H */
