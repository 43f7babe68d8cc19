/*
 * copy_options.h
 *		Options as COPY statements have them, and as JSON.
 */
#ifndef PGBULK_COPY_OPTIONS_H
#define PGBULK_COPY_OPTIONS_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "parser/parse_node.h"
#include "utils/jsonb.h"

/*
 * Whether any of a List of DefElem is an option, or has a value, that pgbulk takes and the
 * server's COPY FROM does not.
 */
extern bool copy_options_are_ours(List *options);

/* The first option that neither has, and that may be one of another extension; or NULL. */
extern const DefElem *copy_options_unknown(List *options);

/*
 * Errors: 42601 for an option that does not exist or is given twice.
 */
extern void copy_options_check(ParseState *pstate, List *options);

/*
 * The options of a statement as JSON, with its columns, but without its WHERE.  The format is
 * "text" unless it is given.  Words and digits are read as true, false and numbers where the
 * option takes them, a list as an array of strings, and a string as JSON where the option takes
 * arrays or objects.
 *
 * Errors: 42601 for an option that lacks its value, or that the statement has outside its list,
 * too; those of jsonb_in.
 */
extern Jsonb *copy_options_json(ParseState *pstate, const CopyStmt *stmt);

#endif							/* PGBULK_COPY_OPTIONS_H */
