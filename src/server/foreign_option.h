/*
 * foreign_option.h
 *		Options of foreign servers, user mappings, foreign tables and their columns.
 */
#ifndef PGBULK_FOREIGN_OPTION_H
#define PGBULK_FOREIGN_OPTION_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* The one of that name of a list of DefElem; NULL: there is none. */
extern DefElem *foreign_find_option(List *options, const char *name);

#endif							/* PGBULK_FOREIGN_OPTION_H */
