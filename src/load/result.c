/*
 * result.c
 *		The result of a load beyond its counters.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "format/encoding.h"
#include "index/plan.h"
#include "load/result.h"
#include "server/compat.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

static void
push_key(CompatJsonb *state, const char *key)
{
	JsonbValue	value;

	value.type = jbvString;
	value.val.string.val = unconstify(char *, key);
	value.val.string.len = strlen(key);
	compat_push_jsonb(state, WJB_KEY, &value);
}

static void
push_numeric(CompatJsonb *state, const char *key, Numeric number)
{
	JsonbValue	value;

	push_key(state, key);
	value.type = jbvNumeric;
	value.val.numeric = number;
	compat_push_jsonb(state, WJB_VALUE, &value);
}

static void
push_string(CompatJsonb *state, const char *key, const char *string)
{
	JsonbValue	value;

	push_key(state, key);
	value.type = jbvString;
	value.val.string.val = unconstify(char *, string);
	value.val.string.len = strlen(string);
	compat_push_jsonb(state, WJB_VALUE, &value);
}

/* Seconds between two times, with microseconds. */
static void
push_seconds(CompatJsonb *state, const char *key, instr_time from,
			 instr_time to)
{
	INSTR_TIME_SUBTRACT(to, from);
	push_numeric(state, key,
				 int64_div_fast_to_numeric(INSTR_TIME_GET_MICROSEC(to), 6));
}

static void
push_files(CompatJsonb *state, List *paths)
{
	ListCell   *lc;

	push_key(state, "files");
	compat_push_jsonb(state, WJB_BEGIN_ARRAY, NULL);
	foreach(lc, paths)
	{
		JsonbValue	value;
		char	   *path = encoding_path_text(lfirst(lc));

		value.type = jbvString;
		value.val.string.val = path;
		value.val.string.len = strlen(path);
		compat_push_jsonb(state, WJB_ELEM, &value);
	}
	compat_push_jsonb(state, WJB_END_ARRAY, NULL);
}

/* For each index, how it got its entries, why, and how long it took. */
static void
push_indexes(CompatJsonb *state, const IndexTable *table, bool by_leaf)
{
	ListCell   *lc;

	foreach(lc, table->plans)
	{
		const IndexPlan *plan = lfirst(lc);

		compat_push_jsonb(state, WJB_BEGIN_OBJECT, NULL);
		if (by_leaf)
			push_string(state, "table", table->name);
		push_string(state, "index", plan->name);
		push_string(state, "method", plan_method_name(plan->method));
		push_string(state, "reason", plan->reason);
		if (plan->after)
			push_numeric(state, "seconds",
						 int64_div_fast_to_numeric((int64) (plan->seconds * 1e6), 6));
		if (plan->runs > 0)
			push_numeric(state, "runs", int64_to_numeric(plan->runs));
		if (plan->processes > 1)
			push_numeric(state, "processes", int64_to_numeric(plan->processes));
		else if (plan->one_process != NULL)
			push_string(state, "one_process", plan->one_process);
		compat_push_jsonb(state, WJB_END_OBJECT, NULL);
	}
}

static void
push_tables(CompatJsonb *state, const LoadResult *result)
{
	ListCell   *lc;
	bool		any = false;

	foreach(lc, result->tables)
		any |= ((IndexTable *) lfirst(lc))->plans != NIL;
	if (!any)
		return;
	push_key(state, "indexes");
	compat_push_jsonb(state, WJB_BEGIN_ARRAY, NULL);
	foreach(lc, result->tables)
		push_indexes(state, lfirst(lc), result->by_leaf);
	compat_push_jsonb(state, WJB_END_ARRAY, NULL);
}

Jsonb *
result_details(const LoadResult *result, const LoadTimes *times, List *paths,
			   const RejectStream *rejects)
{
	CompatJsonb state;
	JsonbValue *object;

	memset(&state, 0, sizeof(state));
	compat_push_jsonb(&state, WJB_BEGIN_OBJECT, NULL);
	push_numeric(&state, "load_id", int64_to_numeric(result->load_id));

	if (result->tried != NULL)
	{
		push_key(&state, "dry_run");
		compat_push_jsonb(&state, WJB_VALUE,
						  &(JsonbValue) {.type = jbvBool,.val.boolean = true});
		push_string(&state, "writer", result->tried);
	}
	push_key(&state, "seconds");
	compat_push_jsonb(&state, WJB_BEGIN_OBJECT, NULL);
	push_seconds(&state, "open", times->start, times->reading);
	push_seconds(&state, "load", times->reading, times->ending);
	push_seconds(&state, "indexes", times->ending, times->indexed);
	push_seconds(&state, "constraints", times->indexed, times->done);
	compat_push_jsonb(&state, WJB_END_OBJECT, NULL);

	push_files(&state, paths);
	if (result->detected != NULL)
	{
		JsonbValue	detected;

		push_key(&state, "detected");
		JsonbToJsonbValue(result->detected, &detected);
		compat_push_jsonb(&state, WJB_VALUE, &detected);
	}
	push_numeric(&state, "wal_bytes",
				 int64_to_numeric(pgWalUsage.wal_bytes - times->wal_before));
	push_tables(&state, result);
	if (result->blocks_freed > 0)
		push_numeric(&state, "bytes_freed", int64_to_numeric(result->blocks_freed * BLCKSZ));
	if (result->not_freed != NULL)
		push_string(&state, "not_freed", result->not_freed);
	if (refusal_is_any(&result->not_direct))
		push_string(&state, "not_direct", refusal_text(&result->not_direct));
	else if (refusal_is_any(&result->no_workers) && result->workers == 0)
		push_string(&state, "no_workers", refusal_text(&result->no_workers));
	if (result->attempts > 1)
		push_numeric(&state, "attempts", int64_to_numeric(result->attempts));
	rejects_details(rejects, &state);
	object = compat_push_jsonb(&state, WJB_END_OBJECT, NULL);
	return JsonbValueToJsonb(object);
}
