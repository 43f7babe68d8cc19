/*
 * relay.c
 *		See relay.h.
 */
#include "postgres.h"

#include "option/bulk_options.h"
#include "reject/relay.h"
#include "utils/builtins.h"

int			relay_setting = BULK_RELAY_OFF;

/* row: what DETAIL is. */
static void
tell(int sqlstate, const char *message, const char *what, int64 number, const char *column,
	 const char *detail, bool row)
{
	ErrorContextCallback *callbacks = error_context_stack;
	char		text[MAXINT8LEN + 1];

	snprintf(text, sizeof(text), INT64_FORMAT, number);
	/* nobody reads the CONTEXT */
	error_context_stack = NULL;
	ereport(INFO,
			(errcode(sqlstate),
			 errmsg_internal("%s", message),
			 errhidestmt(true),
			 detail != NULL ? errdetail_internal("%s", detail) : 0,
			 row ? err_generic_string(PG_DIAG_DATATYPE_NAME, RELAY_ROW) : 0,
			 err_generic_string(PG_DIAG_SCHEMA_NAME, RELAY_MARK),
			 err_generic_string(PG_DIAG_TABLE_NAME, what),
			 column != NULL ? err_generic_string(PG_DIAG_COLUMN_NAME, column) : 0,
			 err_generic_string(PG_DIAG_CONSTRAINT_NAME, text)));
	error_context_stack = callbacks;
}

void
relay_reject(const Reject *reject)
{
	bool		row = reject->row != NULL;

	/* a row that a trigger inserted, and a later one has replaced, has no line */
	tell(reject->sqlstate, reject->message, reject_reason_names[reject->reason],
		 reject->line > 0 ? reject->offset : -1, reject->column,
		 row ? reject->row : reject->value, row);
}

void
relay_set_null(const Reject *value)
{
	tell(ERRCODE_SUCCESSFUL_COMPLETION, "value was made null", RELAY_SET_NULL, value->offset,
		 value->column, value->value, false);
}

void
relay_again(void)
{
	tell(ERRCODE_SUCCESSFUL_COMPLETION, "load begins anew", RELAY_AGAIN, 0, NULL, NULL, false);
}

void
relay_count(const char *what, int64 rows)
{
	if (rows > 0)
		tell(ERRCODE_SUCCESSFUL_COMPLETION, "rows that were not told of", what, rows, NULL, NULL, false);
}
