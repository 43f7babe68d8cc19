/*
 * throttle_options.c
 *		See throttle_options.h.
 */
#include "postgres.h"

#include "option/throttle_options.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

/* Ranges of max_rate, in bytes per second, and of max_lag, in seconds. */
#define RATE_MIN (32 * 1024)
#define RATE_MAX 1e12
#define LAG_MIN 0.1
#define LAG_MAX 86400

const char *const throttle_standby_names[] = {
	[THROTTLE_STREAMING] = "streaming", [THROTTLE_SYNCHRONOUS] = "synchronous", NULL
};

/* A number, or a string with a unit as settings of the server have them; -1: neither. */
static double
read_quantity(JsonbValue *value, int unit)
{
	double		result;

	if (value->type == jbvNumeric)
		return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
												  NumericGetDatum(value->val.numeric)));
	if (value->type == jbvString &&
		parse_real(pnstrdup(value->val.string.val, value->val.string.len), &result, unit, NULL))
		return result;
	return -1;
}

void
throttle_options_set_rate(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	options->limits.max_rate = read_quantity(value, GUC_UNIT_BYTE);
	if (!(options->limits.max_rate >= RATE_MIN && options->limits.max_rate <= RATE_MAX))
		option_refuse_value(def, value);
}

void
throttle_options_set_lag(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	double		seconds = read_quantity(value, GUC_UNIT_S);

	if (!(seconds >= LAG_MIN && seconds <= LAG_MAX))
		option_refuse_value(def, value);
	options->limits.max_lag = (int64) (seconds * USECS_PER_SEC);
}

static bool
has_empty(List *strings)
{
	ListCell   *lc;

	foreach(lc, strings)
		if (*(char *) lfirst(lc) == '\0')
			return true;
	return false;
}

void
throttle_options_set_standbys(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	int			choice = option_find_choice(def, value);

	if (choice >= 0)
		options->limits.standbys = choice;
	else
	{
		options->limits.standbys = THROTTLE_NAMED;
		options->limits.names = option_get_strings(def, value, false);
		if (options->limits.names == NIL || has_empty(options->limits.names))
			option_refuse_value(def, value);
	}
}
