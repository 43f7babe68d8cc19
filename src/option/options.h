/*
 * options.h
 *		The options of a load: one table (options.c) from JSON to BulkOptions.
 */
#ifndef PGBULK_OPTIONS_H
#define PGBULK_OPTIONS_H

#include "postgres.h"

#include "option/bulk_options.h"
#include "option/option_value.h"

/*
 * Parses and checks all options, in the current memory context.  json may be
 * NULL (all defaults).  Errors: 22023 for an unknown key (listing the valid
 * ones, with a hint if one is similar), a wrong type, a value out of range
 * (with the valid range), or options that exclude each other; the primary
 * message names the key.
 */
extern BulkOptions *options_parse(Jsonb *json);

/*
 * The same for a COPY statement with a WHERE clause, if any; messages about values write them
 * as such a statement does.
 */
extern BulkOptions *options_parse_copy(Jsonb *json, Node *where, const char *statement);

/*
 * The same for a load of a query's rows, which are shown in text format and come
 * in the database's encoding.  Additional error: 22023 for options that apply only to
 * files.
 */
extern BulkOptions *options_parse_query(Jsonb *json, char *query);

/*
 * The options, overridden by those of a JSON text.  If either is not an object,
 * json is returned as it is: options_parse raises the error.
 */
extern Jsonb *options_merge(Jsonb *json, const char *more);

/* The option of that name, or NULL; the most similar name, or NULL. */
extern const OptionDef *options_find(const char *name);
extern const char *options_near(const char *name);

/* Whether files consist of text only, and so can be shown as text. */
extern bool options_is_text(const BulkOptions *options);

/* Whether their bytes must be taken unchanged, because there are no lines. */
extern bool options_is_raw(const BulkOptions *options);

/* Whether an option is for files of their format. */
extern bool options_takes(const BulkOptions *options, const char *name);

/*
 * What makes options those of another format, for options_merge: its name, and null
 * for what is given and not for files of that format.
 */
extern char *options_switch(const BulkOptions *options, BulkFormat format);

/* The scanner's settings, for all formats but binary. */
extern ScanDialect options_dialect(const BulkOptions *options);

#endif							/* PGBULK_OPTIONS_H */
