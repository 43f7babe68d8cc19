/*
 * options_check.h
 *		Checks across options.
 */
#ifndef PGBULK_OPTIONS_CHECK_H
#define PGBULK_OPTIONS_CHECK_H

#include "postgres.h"

#include "option/bulk_options.h"

/*
 * Refuses options that exclude each other, and sets options that depend on
 * others.  Error: 22023, naming the option.
 */
extern void options_check(BulkOptions *options);

#endif							/* PGBULK_OPTIONS_CHECK_H */
