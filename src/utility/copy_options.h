/*
 * copy_options.h
 *		Options as COPY statements have them, and as JSON.
 */
#ifndef PGBULK_COPY_OPTIONS_H
#define PGBULK_COPY_OPTIONS_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "parser/parse_node.h"
#include "utils/jsonb.h"

/* Whether any of a List of DefElem is not one that the server's COPY FROM takes. */
extern bool copy_options_are_ours(List *options);

/*
 * Errors: 42601 for an option that does not exist or is given twice.
 */
extern void copy_options_check(ParseState *pstate, List *options);

/*
 * The options as JSON, with those that the statement has outside its list: columns (List of
 * String, or NIL) and where (SQL text, or NULL).  The format is "text" unless it is given.
 * Words and digits are read as true, false and numbers where the option takes them, a list as
 * an array of strings, and a string as JSON where the option takes arrays or objects.
 *
 * Errors: 42601 for an option that lacks its value, or that the statement has outside its list,
 * too; those of jsonb_in.
 */
extern Jsonb *copy_options_json(ParseState *pstate, List *options, List *columns,
								const char *where);

#endif							/* PGBULK_COPY_OPTIONS_H */
