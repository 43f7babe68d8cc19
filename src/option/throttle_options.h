/*
 * throttle_options.h
 *		Options max_rate, max_lag and lag_standbys: what a load may take from others.
 */
#ifndef PGBULK_THROTTLE_OPTIONS_H
#define PGBULK_THROTTLE_OPTIONS_H

#include "postgres.h"

#include "option/option_value.h"

/* Words for ThrottleStandbys, for the table of options. */
extern const char *const throttle_standby_names[];

/* Errors: 22023, naming the option. */
extern void throttle_options_set_rate(const OptionDef *def, JsonbValue *value,
									  BulkOptions *options);
extern void throttle_options_set_lag(const OptionDef *def, JsonbValue *value,
									 BulkOptions *options);
extern void throttle_options_set_standbys(const OptionDef *def, JsonbValue *value,
										  BulkOptions *options);

#endif							/* PGBULK_THROTTLE_OPTIONS_H */
