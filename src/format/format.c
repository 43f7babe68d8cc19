/*
 * format.c
 *		See format.h.
 */
#include "postgres.h"

#include "format/format.h"

static const FormatRoutine *const routines[] = {
	[BULK_CSV] = &format_csv,
	[BULK_TEXT] = &format_text,
	[BULK_BINARY] = &format_binary,
	[BULK_FIXED] = &format_fixed,
	[BULK_JSON] = &format_json
};

const FormatRoutine *
format_routine(const BulkOptions *options)
{
	return options->query != NULL ? &format_values : routines[options->format];
}
