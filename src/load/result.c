/*
 * result.c
 *		The result of a load beyond its counters.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "format/encoding.h"
#include "index/plan.h"
#include "load/result.h"
#include "miscadmin.h"
#include "server/jsonb_push.h"
#include "server/throttle.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

static int64
usage_elapsed(const Usage *usage)
{
	return usage->elapsed;
}

static int64
usage_cpu(const Usage *usage)
{
	return usage->cpu;
}

/* The two clocks are read one after the other. */
static int64
usage_idle(const Usage *usage)
{
	return Max(usage->processes - usage->cpu, 0);
}

/* Seconds of each phase, with microseconds. */
static void
push_phases(CompatJsonb *state, const char *key, const LoadTimes *times,
			int64 (*microseconds) (const Usage *usage))
{
	const struct
	{
		const char *name;
		Usage		usage;
	}			phases[] = {
		{"open", usage_between(times->start, times->reading)},
		{"load", usage_between(times->reading, times->ending)},
		{"indexes", usage_between(times->ending, times->indexed)},
		{"constraints", usage_between(times->indexed, times->done)}
	};

	jsonb_push_key(state, key);
	compat_push_jsonb(state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < lengthof(phases); i++)
		jsonb_push_numeric(state, phases[i].name,
						   int64_div_fast_to_numeric(microseconds(&phases[i].usage), 6));
	compat_push_jsonb(state, WJB_END_OBJECT, NULL);
}

static void
push_files(CompatJsonb *state, const char *key, List *paths)
{
	ListCell   *lc;

	jsonb_push_key(state, key);
	compat_push_jsonb(state, WJB_BEGIN_ARRAY, NULL);
	foreach(lc, paths)
		jsonb_push_element(state, encoding_path_text(lfirst(lc)));
	compat_push_jsonb(state, WJB_END_ARRAY, NULL);
}

/* Rows that files end with before they are complete. */
static void
push_incomplete(CompatJsonb *state, List *rows)
{
	ListCell   *lc;

	if (rows == NIL)
		return;
	jsonb_push_key(state, "incomplete");
	compat_push_jsonb(state, WJB_BEGIN_ARRAY, NULL);
	foreach(lc, rows)
	{
		const IncompleteRow *row = lfirst(lc);

		compat_push_jsonb(state, WJB_BEGIN_OBJECT, NULL);
		jsonb_push_string(state, "file", encoding_path_text(row->path));
		jsonb_push_int64(state, "line", row->line);
		jsonb_push_int64(state, "bytes", row->bytes);
		compat_push_jsonb(state, WJB_END_OBJECT, NULL);
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
			jsonb_push_string(state, "table", table->name);
		jsonb_push_string(state, "index", plan->name);
		jsonb_push_string(state, "method", plan_method_name(plan->method));
		jsonb_push_string(state, "reason", plan->reason);
		if (plan->after)
			jsonb_push_numeric(state, "seconds",
						 int64_div_fast_to_numeric((int64) (plan->seconds * 1e6), 6));
		if (plan->runs > 0)
			jsonb_push_int64(state, "runs", plan->runs);
		if (plan->in_batches)
		{
			jsonb_push_key(state, "in_batches");
			compat_push_jsonb(state, WJB_VALUE,
							  &(JsonbValue) {.type = jbvBool,.val.boolean = true});
		}
		if (plan->processes > 1)
			jsonb_push_int64(state, "processes", plan->processes);
		else if (plan->one_process != NULL)
			jsonb_push_string(state, "one_process", plan->one_process);
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
	jsonb_push_key(state, "indexes");
	compat_push_jsonb(state, WJB_BEGIN_ARRAY, NULL);
	foreach(lc, result->tables)
		push_indexes(state, lfirst(lc), result->by_leaf);
	compat_push_jsonb(state, WJB_END_ARRAY, NULL);
}

/* For how long this process has waited for the sake of others. */
static void
push_waits(CompatJsonb *state)
{
	ThrottleWaits waits = throttle_waits();

	if (waits.rate == 0 && waits.lag == 0)
		return;
	jsonb_push_key(state, "waited");
	compat_push_jsonb(state, WJB_BEGIN_OBJECT, NULL);
	if (waits.rate > 0)
		jsonb_push_numeric(state, "max_rate", int64_div_fast_to_numeric(waits.rate, 6));
	if (waits.lag > 0)
		jsonb_push_numeric(state, "max_lag", int64_div_fast_to_numeric(waits.lag, 6));
	compat_push_jsonb(state, WJB_END_OBJECT, NULL);
}

/* A value that was made before; NULL: there is none. */
static void
push_part(CompatJsonb *state, const char *key, Jsonb *part)
{
	JsonbValue	value;

	if (part == NULL)
		return;
	jsonb_push_key(state, key);
	JsonbToJsonbValue(part, &value);
	compat_push_jsonb(state, WJB_VALUE, &value);
}

Jsonb *
result_details(const LoadResult *result, const LoadTimes *times, List *paths,
			   const RejectStream *rejects)
{
	CompatJsonb state;
	JsonbValue *object;

	memset(&state, 0, sizeof(state));
	compat_push_jsonb(&state, WJB_BEGIN_OBJECT, NULL);
	jsonb_push_int64(&state, "load_id", result->load_id);

	if (result->tried != NULL)
	{
		jsonb_push_key(&state, "dry_run");
		compat_push_jsonb(&state, WJB_VALUE,
						  &(JsonbValue) {.type = jbvBool,.val.boolean = true});
		jsonb_push_string(&state, "writer", result->tried);
	}
	push_phases(&state, "seconds", times, usage_elapsed);
	push_phases(&state, "cpu_seconds", times, usage_cpu);
	push_phases(&state, "idle_seconds", times, usage_idle);

	push_waits(&state);
	push_files(&state, "files", paths);
	if (result->passed_over != NIL)
		push_files(&state, "passed_over", result->passed_over);
	push_incomplete(&state, result->incomplete);
	if (result->more)
	{
		jsonb_push_key(&state, "more");
		compat_push_jsonb(&state, WJB_VALUE,
						  &(JsonbValue) {.type = jbvBool,.val.boolean = true});
	}
	if (result->bytes_unread > 0)
		jsonb_push_int64(&state, "bytes_unread", result->bytes_unread);
	push_part(&state, "detected", result->detected);
	push_part(&state, "nodes", result->nodes);
	jsonb_push_numeric(&state, "wal_bytes",
				 int64_to_numeric(pgWalUsage.wal_bytes - times->wal_before));
	push_tables(&state, result);
	if (result->blocks_freed > 0)
		jsonb_push_int64(&state, "bytes_freed", result->blocks_freed * BLCKSZ);
	if (result->not_freed != NULL)
		jsonb_push_string(&state, "not_freed", result->not_freed);
	if (result->direct != NULL)
		jsonb_push_string(&state, "direct", result->direct);
	if (refusal_is_any(&result->not_direct))
		jsonb_push_string(&state, "not_direct", refusal_text(&result->not_direct));
	if (refusal_is_any(&result->no_workers) && result->workers == 0)
		jsonb_push_string(&state, "no_workers", refusal_text(&result->no_workers));
	if (result->rows_in_batches > 0)
		jsonb_push_int64(&state, "merged_in_batches", result->rows_in_batches);
	if (result->attempts > 1)
		jsonb_push_int64(&state, "attempts", result->attempts);
	rejects_details(rejects, &state);
	object = compat_push_jsonb(&state, WJB_END_OBJECT, NULL);
	return JsonbValueToJsonb(object);
}

/* ---- the last one ---- */

static LoadResult *last;

void
result_keep(const LoadResult *result)
{
	MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
	Jsonb	   *details = palloc(VARSIZE(result->details));

	memcpy(details, result->details, VARSIZE(result->details));
	if (last == NULL)
		last = palloc0(sizeof(LoadResult));
	else
		pfree(last->details);
	*last = (LoadResult) {
		.load_id = result->load_id,
		.rows_loaded = result->rows_loaded,
		.rows_rejected = result->rows_rejected,
		.rows_duplicate = result->rows_duplicate,
		.rows_replaced = result->rows_replaced,
		.rows_deleted = result->rows_deleted,
		.rows_filtered = result->rows_filtered,
		.rows_read = result->rows_read,
		.bytes_read = result->bytes_read,
		.writer = result->writer,
		.workers = result->workers,
		.user = result->user,
		.started = result->started,
		.finished = result->finished,
		.details = details
	};
	MemoryContextSwitchTo(caller);
}

void
result_forget(void)
{
	if (last != NULL)
	{
		pfree(last->details);
		pfree(last);
	}
	last = NULL;
}

const LoadResult *
result_last(void)
{
	return last != NULL && has_privs_of_role(GetUserId(), last->user) ? last : NULL;
}
