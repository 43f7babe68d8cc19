/*
 * domain.h
 *		Values of domains from text, without domain_in.
 */
#ifndef PGBULK_DOMAIN_H
#define PGBULK_DOMAIN_H

#include "postgres.h"

#include "format/converter.h"

/*
 * Sets column->convert for a column whose input function is domain_in, given
 * base, like a column of the domain's base type, if that has a fast converter,
 * and if no CHECK can fail but by its result.  A value that violates one is
 * left to domain_in.  Memory: the current context, where base must live, too.
 */
extern void domain_choose(Column *column, const Column *base);

#endif							/* PGBULK_DOMAIN_H */
