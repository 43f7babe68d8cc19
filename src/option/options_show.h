/*
 * options_show.h
 *		Options as whoever gave them would write them.
 */
#ifndef PGBULK_OPTIONS_SHOW_H
#define PGBULK_OPTIONS_SHOW_H

#include "postgres.h"

#include "option/bulk_options.h"
#include "utils/jsonb.h"

/*
 * Options that change those of a load, for a message; json is a JSON object.  It is returned
 * as it is, unless the load is a COPY statement: then as in (HEADER true, NULL 'none'), with
 * " and without ESCAPE" for an option that is null, which means that it is not to be given.
 */
extern const char *options_show(const BulkOptions *options, const char *json);

/* The value of an option as COPY statements have it. */
extern char *options_show_value(JsonbValue *value);

/* Where a load's columns are named. */
extern const char *options_columns(const BulkOptions *options);

/* The remark that a null among such options needs, beginning with a space, or "". */
extern const char *options_remark_null(const BulkOptions *options, const char *json);

#endif							/* PGBULK_OPTIONS_SHOW_H */
