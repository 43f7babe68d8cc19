/*
 * options.h
 *		The options of a load: one table (options.c) from JSON to BulkOptions.
 */
#ifndef PGBULK_OPTIONS_H
#define PGBULK_OPTIONS_H

#include "postgres.h"

#include "option/bulk_options.h"

/*
 * Reads and checks all options, allocated in the current memory context.
 * json may be NULL (all defaults).  Errors: 22023 for an unknown key (with
 * the keys there are, and a hint where one is near), a wrong type, a value
 * out of range (with the valid ones), or options that exclude each other;
 * the primary message names the key.
 */
extern BulkOptions *options_parse(Jsonb *json);

/*
 * The same for a load of a query's rows, which come in text format and the
 * database's encoding.  Error besides: 22023 for options that are about files.
 */
extern BulkOptions *options_parse_query(Jsonb *json, char *query);

/*
 * The options, and those of a JSON text, which count in the place of others.
 * What is no object is left as it is: options_parse says so.
 */
extern Jsonb *options_merge(Jsonb *json, const char *more);

/* Whether the files are text as a whole, which can be shown as such. */
extern bool options_is_text(const BulkOptions *options);

/* Whether their bytes are to be taken as they are: there are no lines. */
extern bool options_is_raw(const BulkOptions *options);

/* Whether an option is one for files of their format. */
extern bool options_takes(const BulkOptions *options, const char *name);

/* What the scanner has to know of the options, for all formats but binary. */
extern ScanDialect options_dialect(const BulkOptions *options);

#endif							/* PGBULK_OPTIONS_H */
