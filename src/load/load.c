/*
 * load.c
 *		A load from start to end.
 *
 * 		options -> target -> reader -> convert -> write -> result
 *
 * Rows come in batches (reader.h), and batch.c takes each from text to the
 * writer.
 */
#include "postgres.h"

#include "access/xact.h"
#include "cluster/nodes.h"
#include "executor/instrument.h"
#include "format/convert.h"
#include "index/index.h"
#include "load/load.h"
#include "load/load_parts.h"
#include "load/reclaim.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/throttle.h"
#include "stream/manifest.h"
#include "table/partition_tree.h"
#include "table/statement.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "write/dry_run.h"

/* Estimated seconds ANALYZE takes for its sample. */
#define ANALYZE_SECONDS 0.3

/* Estimated seconds per row for an AFTER ROW trigger. */
#define TRIGGER_SECONDS 0.00001

/* ---- begin and end ---- */

/*
 * Opens the converter of the first file before the file itself, for its errors.
 * With header = map the columns are not known yet.
 */
static void
check_columns(Load *load)
{
	MemoryContext context = MemoryContextSwitchTo(load->file_context);

	if (load->options->header != BULK_HEADER_MAP)
		load->batch.conv = convert_open(load->options, load->target, &load->guard,
										load->writer->estate);
	MemoryContextSwitchTo(context);
}

/*
 * Plans how indexes get their entries.  Those of partitions are planned when
 * their first rows come.
 */
static void
plan_for_indexes(Load *load)
{
	Relation	rel = load->target->rel;

	if (rel->rd_rel->relkind != RELKIND_RELATION)
		return;
	load->writer->target = plan_table(rel, load->options, load->result->direct != NULL);
	load->writer->target->pass = load->writer->pass;
	load->result->tables = list_make1(load->writer->target);
}

static void
load_begin(Load *load)
{
	const BulkOptions *options = load->options;

	progress_begin(&load->progress, load->relid, load->source->bytes_total,
				   load->source->from_client);

	if (rejects_accepting(load->rejects))
	{
		guard_enable(&load->guard);
		load->batch.err = &load->batch.error;
	}
	load->reader = load->batch.reader = reader_open(load->source, options);
	load->header = (Header) {
		.options = options,
		.target = load->target,
		.source = load->source,
		.reader = load->reader,
		.rejects = load->rejects,
		.batch = &load->batch,
		.diagnosis = &load->diagnosis
	};
	initStringInfo(&load->header.first);
	load->diagnosis = (Diagnosis) {
		.options = options,
		.target = load->target,
		.context = CurrentMemoryContext,
		.is_retry = load->stored != NULL
	};
	stop_hint_open(&load->stop, load->target, options);
	load->checks = checks_open(options, load->target->rel);
	checks_journal(load->checks)->reader = load->reader;

	load->writer = load->batch.writer = load_open_writer(load);
	load->writer->by_place = load_by_place;
	load->writer->by_place_arg = load;
	load->writer->input_bytes = load->source->bytes_total;
	load->writer->late = load_late(load);
	load->result->writer = load->writer->routine->name;
	plan_for_indexes(load);
	check_columns(load);
	batch_open_where(&load->batch);
	checks_begin_rows(load->checks);
}

/* Runs the checks that need all rows in their tables. */
static void
check_rows(Load *load)
{
	CheckReport report = {
		.rejects = load->rejects,
		.raw = load->raw,
		.paths = load->source->paths,
		.context_row = &load->batch.context_row,
		.kept = load->kept,
		.rows = load->batch.rows_loaded
	};

	load->batch.rows_loaded -= checks_run(load->checks, &report);
	load->repeats = !load->options->dry_run && checks_must_repeat(load->checks);
	if (load->repeats && !load->may_repeat)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("rows of \"%s\" that turned out bad cannot be taken back",
						target_name(load->target)),
				 load->target->on_nodes ?
				 errdetail("The load would have to be repeated without them, and what other servers have stored is not undone for that.") :
				 errdetail("While it was loaded, a foreign key to it was added, or it came to be logically decoded."),
				 load->target->on_nodes ?
				 errhint("Leave out options \"on_error\" and \"on_duplicate\", or load into a table that is here first.") :
				 errhint("Load the file again.")));
	raw_rest(load->raw);
}

static int
compare_tables(const ListCell *a, const ListCell *b)
{
	Oid			relid_a = ((IndexTable *) lfirst(a))->relid;
	Oid			relid_b = ((IndexTable *) lfirst(b))->relid;

	return (relid_a > relid_b) - (relid_a < relid_b);
}

static inline int64
rows_stored(const Load *load)
{
	return load->batch.rows_loaded - load->writer->unstored;
}

/* Collects the tables that got rows. */
static void
take_tables(Load *load)
{
	LoadResult *result = load->result;

	if (result->tables != NIL)
	{
		((IndexTable *) linitial(result->tables))->rows = rows_stored(load);
		return;
	}
	result->tables = load->writer->tables;
	result->by_leaf = true;
	list_sort(result->tables, compare_tables);
}

/* Estimated seconds for what follows the checks: triggers and ANALYZE. */
static double
closing_seconds(const Load *load, double rows)
{
	return (load->writer->fires_after ? rows * TRIGGER_SECONDS : 0) +
		(load->options->analyze ? ANALYZE_SECONDS : 0);
}

/* The same including the checks. */
static double
checking_seconds(const Load *load, double rows)
{
	return checks_seconds(load->checks, rows) + closing_seconds(load, rows);
}

double
load_later_seconds(const Load *load, double rows)
{
	return index_seconds(load->result->tables != NIL ? load->result->tables : load->writer->tables,
						 rows, load->options->workers) +
		checking_seconds(load, rows);
}

static void
run_indexes(void *arg)
{
	Load	   *load = arg;

	index_run(load->result->tables, load->options->workers, checks_conflicts(load->checks));
}

static void
make_index_entries(Load *load)
{
	LoadResult *result = load->result;

	progress_phase(&load->progress, BULK_PHASE_INDEXES,
				   index_seconds(result->tables, -1, load->options->workers),
				   checking_seconds(load, load->batch.rows_loaded));
	load_by_place(load, run_indexes, load);
}

static void
load_end(Load *load)
{
	load->writer->routine->finish(load->writer);
	checks_end_rows(load->checks);
	take_tables(load);
	if (rows_stored(load) > 0)
		make_index_entries(load);
	load->times.indexed = usage_now();
	progress_phase(&load->progress, BULK_PHASE_CONSTRAINTS,
				   checks_seconds(load->checks, load->batch.rows_loaded),
				   closing_seconds(load, load->batch.rows_loaded));
	check_rows(load);
	compat_injection_point("pgbulk-rows-checked");
	if (!load->options->dry_run && !load->repeats)
		reclaim_space(load->checks, load->options->workers, load->result);
	if (load->writer->fires_after)
	{
		load->progress.later = load->options->analyze ? ANALYZE_SECONDS : 0;
		progress_step(load->batch.rows_loaded * TRIGGER_SECONDS, 0);
	}
	load->result->workers = Max(load->result->workers, load->writer->workers);
	load->result->rows_in_batches = load->writer->merged;
	load->result->nodes = nodes_report(load->writer);
	load->writer->routine->close(load->writer);
	load->writer = load->batch.writer = NULL;
}

void
load_rows(Load *load)
{
	load_begin(load);
	progress_phase(&load->progress, BULK_PHASE_READING, 0, 0);
	load->times.reading = usage_now();
	if (load->stored != NULL)
		load_stored_rows(load);
	else
		load_files(load);
	load->times.ending = usage_now();
	load_end(load);
}

void
load_reopen_target(Load *load)
{
	target_reopen(load->target);
	error_context_stack = load->callback.previous;
	load_prepare_input(load);
	error_context_stack = &load->callback;
}

/* The same within the subtransaction of a dry run. */
static void
try_rows(void *arg)
{
	Load	   *load = arg;

	load_reopen_target(load);
	dry_run_sequences(load->target->rel);
	load_rows(load);
}

/*
 * The relation is closed meanwhile, because a subtransaction must not end with
 * a relation open that was opened outside it.
 */
static void
load_dry(Load *load)
{
	Target	   *target = load->target;

	target->dry = dry_run_create();
	target_close(target);
	rejects_hold(load->rejects);
	/* the row that an error is about may be gone when this is rolled back */
	error_context_stack = load->callback.previous;
	dry_run(target->dry, try_rows, load);
	error_context_stack = &load->callback;
	target_reopen(target);
	rejects_release(load->rejects);
	load->result->tried = load->result->writer;
	load->result->writer = "none";
}

/* The bytes that were read of all files, and of each. */
static void
count_bytes(Load *load)
{
	const Source *source = load->source;
	int64		end = load->attempts > 0 ? load->bytes_read : source_bytes(source);

	load->result->bytes_read = end;
	for (int i = list_length(load->paths) - 1; i >= 0; i--)
	{
		/* what is before a range was passed by */
		int64		passed = source->ranges != NULL ? source->ranges[i].begin : 0;

		load->result->bytes_read -= passed;
		if (load->counts == NULL || source->begins[i] < 0)
			continue;
		load->counts[i].bytes = end - source->begins[i] - passed;
		end = source->begins[i];
	}
}

/* What other servers store they have analyzed; to sample it from here would be to wait for them. */
static void
analyze(const Load *load)
{
	List	   *tables = load->target->on_nodes ? partition_tree_stored_here(load->relid) :
		list_make1_oid(load->relid);
	ListCell   *lc;
	Oid			user;
	int			security;

	/* who has called the load, whoever triggers have made of it since */
	GetUserIdAndSecContext(&user, &security);
	if (user != load->result->user)
		SetUserIdAndSecContext(load->result->user, security | SECURITY_LOCAL_USERID_CHANGE);
	foreach(lc, tables)
		statement_run(psprintf("ANALYZE %s", statement_table(lfirst_oid(lc))));
	if (user != load->result->user)
		SetUserIdAndSecContext(user, security);
}

static void
load_close(Load *load)
{
	LoadResult *result = load->result;
	RejectAdviser adviser = {.advise = diagnosis_advise, .arg = &load->diagnosis};

	raw_close(load->raw);
	count_bytes(load);
	result->attempts = load->attempts + 1;
	result->rows_read = load->batch.rows_read;
	result->rows_loaded = load->batch.rows_loaded;
	result->rows_filtered = load->batch.rows_filtered + load->late.filtered;
	result->rows_deleted = load->batch.rows_deleted + load->late.deleted;
	result->rows_rejected = rejects_total(load->rejects);
	result->rows_duplicate = rejects_count(load->rejects, REJECT_DUPLICATE);
	result->rows_replaced = rejects_count(load->rejects, REJECT_REPLACED);
	load->diagnosis.rows_loaded = result->rows_loaded;
	load->diagnosis.joined = load->reader->joined;
	rejects_close(load->rejects, result->rows_read, &adviser);

	if (load->options->analyze && !load->options->dry_run)
	{
		progress_phase(&load->progress, BULK_PHASE_ANALYZING, ANALYZE_SECONDS, 0);
		analyze(load);
	}
	progress_end(&load->progress);
	error_context_stack = load->callback.previous;
	target_close(load->target);
	CommandCounterIncrement();
	if (load->options->listed != NIL)
		manifest_check(load->options->listed,
					   manifest_counts_rows(load->options) ? result->rows_read : -1);
	if (load->history != NULL)
		history_write(load->history, load->source, result, load->counts);
	source_drain(load->source);
	rejects_end(load->rejects);
	source_complete(load->source, result->rows_loaded);
}

void
load_run(Oid relid, List *paths, StoredRows *stored,
		 const BulkOptions *options, Oid schema, int64 load_id, LoadResult *result)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context;
	Load	   *load;

	context = AllocSetContextCreate(caller, "bulk_load", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	load = palloc0(sizeof(Load));
	load->next_batches_alone = 1;
	load->relid = relid;
	load->paths = paths;
	load->stored = stored;
	load->options = options;
	load->schema = schema;
	load->load_id = load_id;
	load->result = result;
	load->file_context = AllocSetContextCreate(context, "bulk_load file",
											   ALLOCSET_DEFAULT_SIZES);
	memset(result, 0, sizeof(*result));
	result->detected = options->detected;
	progress_init(&load->progress, get_rel_name(relid), options->progress);
	throttle_begin(&options->limits);

	load->times.wal_before = pgWalUsage.wal_bytes;
	load->times.start = usage_now();
	load_open(load);
	if (options->dry_run)
		load_dry(load);
	else if (load->may_repeat)
		load_in_attempts(load);
	else
		load_rows(load);
	load_close(load);
	load->times.done = usage_now();
	result->finished = GetCurrentTimestamp();

	MemoryContextSwitchTo(caller);
	result->details = result_details(result, &load->times, load->paths, load->rejects);
	result_keep(result);
	MemoryContextDelete(context);
}
