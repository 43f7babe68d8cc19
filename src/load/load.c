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
#include "check/duplicates.h"
#include "check/tables.h"
#include "cluster/nodes.h"
#include "common/int.h"
#include "executor/instrument.h"
#include "format/convert.h"
#include "format/extra.h"
#include "format/transform.h"
#include "index/failed_row.h"
#include "index/index.h"
#include "load/load.h"
#include "load/load_parts.h"
#include "load/reclaim.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "server/compat.h"
#include "server/subtransaction.h"
#include "server/throttle.h"
#include "stream/manifest.h"
#include "stream/query.h"
#include "table/partition_tree.h"
#include "table/statement.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "write/dry_run.h"

/* Estimated seconds ANALYZE takes for its sample. */
#define ANALYZE_SECONDS 0.3

/* Estimated seconds per row for an AFTER ROW trigger. */
#define TRIGGER_SECONDS 0.00001

/* Number of attempts after which changing results of functions are to blame. */
#define MAX_ATTEMPTS 10

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

/* Defaults may also come from the column's type. */
static bool
has_volatile_default(Relation rel, AttrNumber attnum)
{
	Expr	   *expr = (Expr *) build_column_default(rel, attnum);

	/* planned first, since the default values of function arguments count, too */
	return expr != NULL &&
		contain_volatile_functions_not_nextval((Node *) expression_planner(expr));
}

/*
 * Whether an expression of the load may read the table, and so must see each
 * row there before the next one is processed.  With header = map any column may
 * turn out to be missing.
 */
static bool
has_volatile_expression(Load *load)
{
	const BulkOptions *options = load->options;
	Relation	rel = load->target->rel;
	bool		any = options->header == BULK_HEADER_MAP ||
		options->default_marker != NULL ||
		options->missing == BULK_MISSING_DEFAULT;

	if (contain_volatile_functions((Node *) load->target->where))
		return true;
	if (options->transform != NULL)
		return transform_is_volatile(transform_open(options->transform, rel));
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (!att->attisdropped && !att->attgenerated &&
			(any || !batch_gives(&load->batch, i + 1)) &&
			has_volatile_default(rel, i + 1))
			return true;
	}
	return false;
}

/* Why the direct writer is chosen, a sentence as those of refusals. */
static const char *
reason_for_direct(const Load *load)
{
	const BulkOptions *options = load->options;
	Relation	rel = load->target->rel;

	if (options->indexes == BULK_INDEXES_MERGE || options->indexes == BULK_INDEXES_REBUILD)
		return "Option \"indexes\" requires it.";
	if (options->writer == BULK_WRITER_DIRECT)
		return "Option \"writer\" is set.";
	if (rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_newRelfilelocatorSubid != InvalidSubTransactionId)
		return "The table was created or truncated in this transaction.";
	return rel->rd_islocaltemp ? "The table is temporary." : "The table had no rows.";
}

/* Opens the writer that options name, or the best one for `auto`. */
static Writer *
open_writer(Load *load)
{
	const BulkOptions *options = load->options;
	bool		by_indexes = options->indexes == BULK_INDEXES_MERGE ||
		options->indexes == BULK_INDEXES_REBUILD;
	Refusal		refusal = REFUSAL(REFUSAL_NONE);

	if (load->target->on_nodes)
		return nodes_open(load->target, options, &load->guard, load->checks);
	if (load->attempts > 0 && refusal_is_any(&load->result->not_direct))
		refusal = load->result->not_direct;
	else if (options->writer != BULK_WRITER_BUFFERED)
	{
		refusal = direct_refusal(load->target->rel, options);
		if (!refusal_is_any(&refusal) && has_volatile_expression(load))
			refusal = REFUSAL(REFUSAL_VOLATILE_EXPRESSION);
		if (!refusal_is_any(&refusal) && load->query_looks)
			refusal = REFUSAL(REFUSAL_VOLATILE_QUERY);
		if (!refusal_is_any(&refusal) && rejects_have_effects(load->rejects))
			refusal = REFUSAL(REFUSAL_REJECT_TABLE);
	}
	if (options->writer == BULK_WRITER_AUTO && !refusal_is_any(&refusal))
		refusal = REFUSAL(target_try_lock(load->target, options));
	if (options->writer != BULK_WRITER_BUFFERED && !refusal_is_any(&refusal))
	{
		refusal = direct_partition_refusal(load->target->rel, options);
		if (refusal_is_any(&refusal))
			target_release_locks(load->target);
	}
	load->result->not_direct = refusal;
	load->result->direct = NULL;
	load->may_be_slow = options->writer == BULK_WRITER_AUTO && refusal_is_any(&refusal) &&
		load->attempts == 0 && options->log_verbosity != BULK_VERBOSITY_SILENT;

	if (options->writer == BULK_WRITER_BUFFERED ||
		(options->writer == BULK_WRITER_AUTO && refusal_is_any(&refusal)))
		return buffered_open(load->target, options, &load->guard, load->checks);
	if (refusal_is_any(&refusal))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 by_indexes ?
				 errmsg("the indexes of \"%s\" cannot be %s", target_name(load->target),
						options->indexes == BULK_INDEXES_MERGE ? "merged" : "rebuilt") :
				 errmsg("writer \"direct\" cannot load into \"%s\"",
						target_name(load->target)),
				 refusal_detail(&refusal),
				 by_indexes ?
				 errhint("Leave option \"indexes\" to \"auto\".") :
				 errhint("Use writer \"buffered\", or leave the choice to \"auto\".")));
	load->result->direct = reason_for_direct(load);
	if (!options->dry_run)
		target_cut_dead(load->target);
	return direct_open(load->target, options, &load->guard, load->checks);
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

static QueryRows *
open_query(const Load *load)
{
	const BulkOptions *options = load->options;
	Target	   *target = load->target;
	int64		wanted;

	if (options->limit < 0 || pg_add_s64_overflow(options->skip, options->limit, &wanted))
		wanted = -1;
	return query_open(options->query, RelationGetDescr(target->rel), target->attnums,
					  target->nfields, wanted, wanted >= 0 && !options->limit_loaded);
}

static void
begin_query(Load *load)
{
	QueryRows  *rows = open_query(load);

	load->query_looks = query_is_volatile(rows);
	load->target->query = query_fields(rows);
	load->source = source_open_stream(query_stream(rows), load->paths, 0,
									  load->options, source_chunk_size);
}

/*
 * Whether a last line of \. that the client sends is its mark for the end, as psql before 18
 * sends it, and cannot be a row.  Where the server's COPY never takes it for a row, COPY
 * statements do not, either.
 */
static bool
is_marker_no_row(const Load *load)
{
	const BulkOptions *options = load->options;

	return format_routine(options)->client_marker && !options->plain &&
		(!options_takes(options, "delimiter") || (options->by_copy && COMPAT_COPY_MARKER) ||
		 (options->missing == BULK_MISSING_ERROR && load->target->nfields > 1));
}

/* Prepares the target and the source for reading. */
static void
prepare_input(Load *load)
{
	const BulkOptions *options = load->options;
	Target	   *target = load->target;

	if (!load->query_taken)
	{
		target_empty(target, options, target->dry != NULL ? dry_run_caller(target->dry) :
					 GetCurrentSubTransactionId());
		if (options->query != NULL && load->attempts == 0)
			begin_query(load);
	}
	if (options->transform != NULL)
		target_set_arguments(target,
							 transform_arguments(transform_open(options->transform, target->rel)));
	load->source->client_marker = is_marker_no_row(load);
	if (options->by_copy && options->header != BULK_HEADER_MAP)
		load->source->client_columns = target->nfields;
}

/* Of the load, as rows have it, also those of a dry run. */
static int64
number_of(const Load *load)
{
	return load->options->dry_run ? -load->result->load_id : load->result->load_id;
}

/* Resets the batch to the state before the first row. */
static void
reset_batch(Load *load)
{
	load->batch = (Batch) {
		.options = load->options,
		.target = load->target,
		.guard = &load->guard,
		.sink = &load_sink,
		.sink_arg = load,
		.convert_row = convert_row_function(load->options),
		.load_id = number_of(load),
		.skip_left = load->options->skip,
		.limit_left = load->options->limit,
		.next = PG_UINT32_MAX
	};
	initStringInfo(&load->batch.shown);
	load->late.filtered = load->late.deleted = 0;
	if (load->counts != NULL)
		memset(load->counts, 0, sizeof(FileCounts) * list_length(load->paths));
}

static void
open_rejects(Load *load)
{
	load->rejects = rejects_open(load->options, load->target->rel,
								 load->result->load_id, load->paths, load->counts);
}

/* Leaves out files that were loaded before. */
static void
pass_over(Load *load)
{
	BulkOptions *options = palloc(sizeof(BulkOptions));

	*options = *load->options;
	options->patterns = history_select(load->history, options->patterns);
	options->listed = history_select(load->history, options->listed);
	load->options = options;
	load->paths = history_select(load->history, load->paths);
	source_close(load->source);
	load->source = source_open(load->paths, options, source_chunk_size);
	if (options->once == BULK_ONCE_TAIL || options->once == BULK_ONCE_PART)
		source_set_ranges(load->source, history_ranges(load->history));
}

/* Opens what survives a rollback of the stored rows: target and reject stream. */
static void
load_open(Load *load)
{
	const BulkOptions *options = load->options;

	load->result->started = GetCurrentTimestamp();
	if (options->query == NULL)
		load->source = load->stored != NULL ?
			source_open_list(stored_rows_paths(load->stored), stored_rows_open, load->stored,
							 stored_rows_bytes(load->stored), options, source_chunk_size) :
			source_open(load->paths, options, source_chunk_size);
	load->target = target_open(load->relid, options);
	load->target->on_nodes = nodes_serve(load->target, options, load->stored == NULL);
	nodes_check(load->target);
	if (load->stored == NULL)
		load->history = history_open(options, load->target->rel, load->paths, load->result);
	if (options->once != BULK_ONCE_NONE)
	{
		pass_over(load);
		options = load->options;
	}
	if (load->history != NULL && history_hashes(load->history))
		source_hash(load->source);
	if (load->history != NULL && list_length(load->paths) > 1)
	{
		load->counts = palloc(sizeof(FileCounts) * list_length(load->paths));
		source_note_begins(load->source);
	}
	if (options->extra != NIL)
		extra_check(options, load->target, load->source, number_of(load));
	/* which indexes tables of other servers have is not known here */
	if (!load->target->on_nodes)
		duplicates_notice(load->target->rel, options);
	load->raw = load->stored != NULL ? raw_open_stored(load->stored) :
		raw_open(list_length(load->paths), load->target);
	load->may_repeat = !load->target->on_nodes &&
		tables_may_repeat(load->target->rel, options);
	if (!options->dry_run && !load->may_repeat)
		prepare_input(load);
	reset_batch(load);
	load->callback.callback = batch_error_context;
	load->callback.arg = &load->batch;
	load->callback.previous = error_context_stack;
	error_context_stack = &load->callback;
	open_rejects(load);
}

/* The place in the input of a row that an error is about. */
static bool
find_place(const Load *load, const FailedRow *row, JournalPlace *place)
{
	const Writer *writer = load->writer;

	return writer->find_place != NULL ?
		writer->find_place(writer->find_place_arg, &row->tid, place) :
		checks_find(load->checks, row->table, &row->tid, place);
}

/* Raises an error about an index with the line of the row it is about. */
static void
raise_index_error(Load *load, ErrorData *error)
{
	FailedRow	row;
	JournalPlace place;
	bool		found;

	/* workers have exited after the error: nobody may ask for their state */
	HOLD_INTERRUPTS();
	found = failed_row_is_possible(error->sqlerrcode) && failed_row_get(&row) &&
		find_place(load, &row, &place);
	if (found)
	{
		load->refused.file = list_nth(load->source->paths, place.file);
		load->refused.line = place.line;
		load->refused.raw = raw_show(load->raw, &place, &load->refused.raw_len);
		load->batch.context_row = &load->refused;
	}
	RESUME_INTERRUPTS();
	stop_hint_add_duplicate(&load->stop, error);
	/* an access method's own build does not report its current row */
	if (load->progress.phase == BULK_PHASE_INDEXES && !found && error->hint == NULL &&
		!load->options->plain &&
		failed_row_is_possible(error->sqlerrcode))
		error->hint = pstrdup("Use writer \"buffered\" to be told the line of the row.");
	ThrowErrorData(error);
}

/* Runs work on indexes, whose errors are about rows that are known by their TIDs. */
static void
work_by_place(void *arg, void (*work) (void *), void *work_arg)
{
	Load	   *load = arg;
	MemoryContext context = CurrentMemoryContext;
	ErrorContextCallback *callbacks = error_context_stack;

	failed_row_reset();
	/*
	 * the error is rethrown with its full context below, as its line can only
	 * be looked up then
	 */
	error_context_stack = NULL;
	PG_TRY();
	{
		work(work_arg);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		error_context_stack = callbacks;
		raise_index_error(load, error);
	}
	PG_END_TRY();
	error_context_stack = callbacks;
}

/* ---- duplicates of a writer that has taken them ---- */

static int64
unseen_duplicates(void *arg)
{
	Load	   *load = arg;

	return rejects_unseen_duplicates(load->rejects);
}

static void
reject_duplicate(void *arg, const JournalPlace *place, const char *raw, const RowError *error)
{
	Load	   *load = arg;
	const FormatRoutine *routine = load->reader->routine;
	Reject		reject = {
		.reason = error->reason,
		.sqlstate = error->sqlstate,
		.message = error->message,
		.column = error->column,
		.value = error->value,
		.file = list_nth(load->source->paths, place->file),
		.file_number = place->file,
		.line = place->line,
		.offset = place->offset,
		.raw = raw,
		.raw_len = raw == NULL ? 0 : place->length - place->end_length,
		.raw_full_len = raw == NULL ? 0 : place->length
	};

	if (raw != NULL && routine->show_row != NULL)
	{
		StringInfo	shown = &load->batch.shown;

		resetStringInfo(shown);
		reject.raw_len = routine->show_row(load->target, raw, place->length, shown);
		reject.raw = shown->data;
		reject.raw_full_len = shown->len;
	}

	load->batch.rows_loaded--;
	rejects_add(load->rejects, &reject);
}

/* A row that another server has set aside, or by which it has replaced one. */
static void
reject_bad(void *arg, const BadRow *bad)
{
	Load	   *load = arg;
	Reject		reject = {
		.reason = bad->reason,
		.sqlstate = bad->sqlstate,
		.message = bad->message,
		.column = bad->column,
		.value = bad->value,
		.row = bad->row,
		.file = list_nth(load->source->paths, bad->place.file),
		.file_number = bad->place.file,
		.line = bad->place.line,
		.offset = bad->place.offset
	};

	/* what is read again, or a limit, may be an error, about this row */
	load->batch.context_row = &reject;
	if (bad->reason != REJECT_REPLACED)
	{
		load->batch.rows_loaded--;
		if (rejects_shown(load->rejects))
			reject.raw = raw_read(load->raw, &bad->place, &reject.raw_len, &reject.raw_full_len);
		if (reject.raw == NULL)
		{
			reject.raw = "";
			reject.raw_len = reject.raw_full_len = 0;
		}
	}
	rejects_add(load->rejects, &reject);
	load->batch.context_row = NULL;
}

static void
set_null(void *arg, const BadRow *row)
{
	Load	   *load = arg;
	Reject		value = {
		.column = row->column,
		.value = row->value,
		.file = list_nth(load->source->paths, row->place.file),
		.file_number = row->place.file,
		.line = row->place.line,
		.offset = row->place.offset
	};

	rejects_set_null(load->rejects, &value);
}

static int64
room_for_rejects(void *arg, RejectReason reason)
{
	const Load *load = arg;

	return rejects_room(load->rejects, reason);
}

static void
count_duplicates(void *arg, int file, RejectReason reason, int64 rows)
{
	Load	   *load = arg;

	if (reason == REJECT_DUPLICATE)
		load->batch.rows_loaded -= rows;
	rejects_count_duplicates(load->rejects, file, reason, rows);
}

static void
count_other(void *arg, int file, bool deleted, int64 rows)
{
	Load	   *load = arg;

	load->batch.rows_loaded -= rows;
	if (deleted)
		load->late.deleted += rows;
	else
		load->late.filtered += rows;
	if (load->counts == NULL)
		return;
	if (deleted)
		load->counts[file].deleted += rows;
	else
		load->counts[file].filtered += rows;
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

	load->writer = load->batch.writer = open_writer(load);
	load->writer->by_place = work_by_place;
	load->writer->by_place_arg = load;
	load->writer->input_bytes = load->source->bytes_total;
	load->writer->late = (LateDuplicates) {
		.unseen = unseen_duplicates,
		.reject = reject_duplicate,
		.reject_bad = reject_bad,
		.set_null = set_null,
		.room = room_for_rejects,
		.count = count_duplicates,
		.count_other = count_other,
		.arg = load
	};
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
	work_by_place(load, run_indexes, load);
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

/* Everything that changes the table. */
static void
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

/* In a subtransaction: reopens the target and prepares it for the first row. */
static void
reopen_target(Load *load)
{
	target_reopen(load->target);
	error_context_stack = load->callback.previous;
	prepare_input(load);
	error_context_stack = &load->callback;
}

/* The same within the subtransaction of a dry run. */
static void
try_rows(void *arg)
{
	Load	   *load = arg;

	reopen_target(load);
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
	dry_run(target->dry, try_rows, load);
	target_reopen(target);
	rejects_release(load->rejects);
	load->result->tried = load->result->writer;
	load->result->writer = "none";
}

/* ---- attempts ---- */

/*
 * Side effects of the query's functions must happen once and survive all
 * attempts: if there may be any, all rows are fetched before the first attempt.
 */
static void
take_query(Load *load)
{
	QueryRows  *rows;
	Source	   *source;
	bool		takes;

	if (load->options->query == NULL)
		return;
	rows = open_query(load);
	takes = query_is_volatile(rows);
	query_close(rows);
	if (!takes)
		return;

	prepare_input(load);
	load->query_taken = true;
	load->query_looks = false;
	source = load->source;
	(void) source_next(source);
	raw_remember(load->raw, source);
	(void) source_rest(source, 0);
	source_close(source);
	source_rewind(source, raw_copies(load->raw));
}

static bool
attempt(void *arg)
{
	Load	   *load = arg;

	reopen_target(load);
	load_rows(load);
	target_close(load->target);
	return !load->repeats;
}

/*
 * Uses the writer of the attempt before, whose rows are dead now.  But a row
 * that later rows replaced must replace old rows without being stored itself,
 * which only the buffered writer can do.
 */
static void
choose_writer_again(Load *load)
{
	const BulkOptions *options = load->options;
	bool		direct = !refusal_is_any(&load->result->not_direct) &&
		options->writer != BULK_WRITER_BUFFERED;

	if (!direct || options->on_duplicate != BULK_ON_DUPLICATE_KEEP_NEW)
		return;
	load->result->not_direct = REFUSAL(REFUSAL_REFERRED_TO);
	if (options->writer == BULK_WRITER_DIRECT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("writer \"direct\" cannot take back rows of \"%s\"",
						target_name(load->target)),
				 refusal_detail(&load->result->not_direct),
				 errhint("Use writer \"buffered\", or leave the choice to \"auto\".")));
}

/* Restores the state before the first attempt, except for the rows known to be bad. */
static void
begin_again(Load *load)
{
	LoadResult *result = load->result;

	compat_injection_point("pgbulk-attempt-undone");
	if (load->attempts++ == 0)
		load->bytes_read = source_bytes(load->source);
	if (load->attempts == MAX_ATTEMPTS)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("rows of \"%s\" turn out bad again and again",
						target_name(load->target)),
				 errdetail("The load was undone and done again without them %d times.",
						   MAX_ATTEMPTS - 1),
				 errhint("Functions or triggers of the table may make others bad each time; set \"on_error\" to \"stop\" to see the first.")));
	target_reopen(load->target);
	rejects_abandon(load->rejects);
	open_rejects(load);
	rejects_suppress_row_notices(load->rejects);
	target_close(load->target);

	choose_writer_again(load);
	load->files_unlike = load->batches_alone = 0;
	load->next_batches_alone = 1;
	result->tables = NIL;
	result->by_leaf = false;
	result->no_workers = REFUSAL(REFUSAL_NONE);
	reset_batch(load);
	bad_rows_sort(load->kept);
	load->batch.known_bad = load->kept;
	load->batch.known_bad_context = AllocSetContextCreate(CurrentMemoryContext,
														  "bulk_load row to pass over",
														  ALLOCSET_SMALL_SIZES);
	source_rewind(load->source, raw_copies(load->raw));
}

/*
 * If bad rows cannot be deleted without a trace (checks_must_repeat), rolls the
 * load back and repeats it without them.
 */
static void
load_in_attempts(Load *load)
{
	take_query(load);
	target_close(load->target);
	for (;;)
	{
		BadRows    *passed = load->kept;
		bool		stays;

		load->kept = load->batch.kept = bad_rows_open();
		rejects_hold(load->rejects);
		stays = subtransaction_run(attempt, load);
		if (passed != NULL)
			bad_rows_close(passed);
		if (stays)
			break;
		begin_again(load);
	}
	bad_rows_close(load->kept);
	target_reopen(load->target);
	rejects_release(load->rejects);
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
	ListCell   *lc;

	if (!load->target->on_nodes)
	{
		statement_run(psprintf("ANALYZE %s", statement_table(load->relid)));
		return;
	}
	foreach(lc, partition_tree_stored_here(load->relid))
		statement_run(psprintf("ANALYZE %s", statement_table(lfirst_oid(lc))));
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
	rejects_close(load->rejects, result->rows_read, &adviser);

	if (load->options->analyze && !load->options->dry_run)
	{
		progress_phase(&load->progress, BULK_PHASE_ANALYZING, ANALYZE_SECONDS, 0);
		analyze(load);
	}
	rejects_end(load->rejects);
	progress_end(&load->progress);
	error_context_stack = load->callback.previous;
	target_close(load->target);
	CommandCounterIncrement();
	if (load->options->listed != NIL)
		manifest_check(load->options->listed,
					   load->options->skip > 0 || load->options->limit >= 0 ? -1 :
					   result->rows_read);
	if (load->history != NULL)
		history_write(load->history, load->source, result, load->counts);
	source_complete(load->source, result->rows_loaded);
}

void
load_run(Oid relid, List *paths, StoredRows *stored,
		 const BulkOptions *options, int64 load_id, LoadResult *result)
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
	load->result = result;
	load->file_context = AllocSetContextCreate(context, "bulk_load file",
											   ALLOCSET_DEFAULT_SIZES);
	memset(result, 0, sizeof(*result));
	result->detected = options->detected;
	progress_init(&load->progress, get_rel_name(relid), options->progress);
	throttle_begin(&options->limits);
	result->load_id = options->dry_run ? -load_id : load_id;

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
