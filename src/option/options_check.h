/*
 * options_check.h
 *		What options mean together.
 */
#ifndef PGBULK_OPTIONS_CHECK_H
#define PGBULK_OPTIONS_CHECK_H

#include "postgres.h"

#include "option/bulk_options.h"

/*
 * Refuses what does not go together, and settles what depends on other
 * options.  Error: 22023, which names the option.
 */
extern void options_check(BulkOptions *options);

#endif							/* PGBULK_OPTIONS_CHECK_H */
