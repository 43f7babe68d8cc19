/*
 * load.c
 *		One load from start to end.
 *
 *		options -> target -> reader -> convert -> write -> result
 *
 * Rows come in batches (reader.h), and batch.c takes each from text to the
 * writer.
 */
#include "postgres.h"

#include "access/xact.h"
#include "batch.h"
#include "diagnosis.h"
#include "executor/instrument.h"
#include "executor/spi.h"
#include "give_back.h"
#include "header.h"
#include "index/blame.h"
#include "index/index.h"
#include "input/reader.h"
#include "load.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "portability/instr_time.h"
#include "progress.h"
#include "result.h"
#include "rewrite/rewriteHandler.h"
#include "share.h"
#include "slower.h"
#include "subtransaction.h"
#include "row/convert.h"
#include "row/guard.h"
#include "row/transform.h"
#include "target.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "workers.h"
#include "write/writer.h"

int			load_chunk_size = 256 * 1024;

typedef struct Load
{
	/* for the whole load */
	Oid			relid;
	List	   *paths;
	StoredRows *stored;
	const BulkOptions *options;
	LoadResult *result;
	LoadTimes	times;
	Target	   *target;
	Source	   *source;
	Reader	   *reader;
	RejectStream *rejects;
	Writer	   *writer;
	Checks	   *checks;
	Raw		   *raw;
	Guard		guard;
	Batch		batch;
	Progress	progress;
	Header		header;
	int			files_unlike;	/* times that workers came home at the end of a file */
	int			batches_alone;	/* to load before workers are tried (again) */
	struct
	{
		int			batches;	/* that were timed */
		double		bytes;		/* of these, */
		double		seconds;	/* and what they took this process alone */
		instr_time	since;
	}			pace;
	int			patience;		/* how many the next time */
	bool		may_be_slow;	/* the writer is buffered, unasked, and nobody has been told */
	ErrorContextCallback callback;
	Reject		refused;		/* a row that an index could not take, for CONTEXT */

	/* attempts, where rows may have to go again without a trace */
	bool		may_repeat;
	bool		repeats;		/* the one that has come to its end is to be undone */
	int			attempts;		/* that were */
	BadRows    *kept;			/* rows that the next one passes over */
	int64		bytes_read;		/* by the first one */

	/* for one file */
	MemoryContext file_context;
	int64		first_line;		/* behind it */
	bool		alone;			/* without workers, from here to its end */
	bool		may_share;		/* share_refusal has nothing against workers */
	struct
	{
		int64		loaded;
		int64		filtered;
	}			rows_alone;		/* before the workers at work now */
} Load;

/* Attempts after which functions are to blame. */
#define ATTEMPTS_MOST 10

/* Workers that did so many chunks were worth their start. */
#define ENOUGH_CHUNKS 64

/* So many files unlike the one before, and none are expected to be alike. */
#define UNLIKE_MOST 3

/* Where it is not known how much is left: when to ask again, and the most. */
#define BATCHES_TO_WAIT 4

/* Batches whose time tells nothing of those that follow. */
#define BATCHES_TO_WARM 2
#define UNKNOWN_BYTES (INT64CONST(1) << 46)

/* ---- what becomes of bad rows ---- */

static void
show_progress(void *arg)
{
	Load	   *load = arg;

	progress_update(&load->progress, source_bytes(load->source),
					load->batch.rows_loaded, load->batch.rows_filtered,
					rejects_total(load->rejects));
}

static void
reject_row(void *arg, const Reject *reject)
{
	Load	   *load = arg;

	rejects_add(load->rejects, reject);
}

static void
reject_value(void *arg, const char *column, const char *value,
			 const char *file, int64 line)
{
	Load	   *load = arg;

	rejects_set_null(load->rejects, column, value, file, line);
}

static const BatchSink load_sink = {
	.reject = reject_row,
	.nulled = reject_value,
	.caught = show_progress
};

static void
count_rows(Load *load, int64 nrows)
{
	if (load->writer->routine->count != NULL)
		load->writer->routine->count(load->writer, nrows);
}

/*
 * Where a load ends before its file, what was read ahead does not count: it
 * depends on the window.
 */
static void
unread(Load *load, int64 offset)
{
	if (load->source->rereadable)
		source_seek(load->source, offset, load->source->window.line);
}

/* Where the rows end that the batch has taken. */
static int64
end_of_rows(const Load *load)
{
	const Reader *reader = load->reader;
	int64		offset;
	int64		line;

	if (load->batch.next < reader->result.nrows)
		return reader_offset(reader, load->batch.next);
	reader_place(reader, &offset, &line);
	return offset;
}

static void
load_batch(Load *load)
{
	batch_run(&load->batch);
	if (batch_finished(&load->batch))
		unread(load, end_of_rows(load));
	count_rows(load, load->batch.rows_loaded);
	rejects_flush(load->rejects);
	show_progress(load);
	load->batch.next = PG_UINT32_MAX;
}

/* ---- files ---- */

/* What follows the end marker was not read: that must not go unsaid. */
static void
check_trailing(Load *load)
{
	Reader	   *reader = load->reader;

	if (!reader->ended || reader->trailing <= 0)
		return;
	if (reader->binary)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("received data after the end marker")));
	ereport(NOTICE,
			(errmsg_plural("file \"%s\" has %lld byte after its end-of-copy marker, which was not read",
						   "file \"%s\" has %lld bytes after its end-of-copy marker, which were not read",
						   (unsigned long) reader->trailing,
						   load->source->path, (long long) reader->trailing)));
}

/* ---- with workers ---- */

static void
show_shared_progress(void *arg, int64 bytes, int64 loaded, int64 filtered)
{
	Load	   *load = arg;

	count_rows(load, load->rows_alone.loaded + loaded);
	progress_update(&load->progress, bytes,
					load->rows_alone.loaded + loaded,
					load->rows_alone.filtered + filtered,
					rejects_total(load->rejects));
}

/* Whether rows may have to be shown when all have been read. */
static bool
may_want_raw(const Load *load)
{
	const BulkOptions *options = load->options;

	return (options->reject_table != NULL || options->reject_file != NULL) &&
		checks_expected(load->checks, load->target->rel);
}

/* Workers have loaded from a file that the leader has not seen. */
static void
begin_shared_file(void *arg, int number, const InputFile *files)
{
	Load	   *load = arg;

	if (may_want_raw(load) || load->may_repeat)
		raw_remember_file(load->raw, number,
						  list_nth(load->source->paths, number), &files[number]);
}

/* What is done from here on is timed, until pace_note. */
static void
pace_begin(Load *load)
{
	INSTR_TIME_SET_CURRENT(load->pace.since);
}

/* A batch has been read and loaded.  The first ones find nothing in the caches yet. */
static void
pace_note(Load *load)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, load->pace.since);
	if (load->pace.batches++ == BATCHES_TO_WARM)
		load->pace.bytes = load->pace.seconds = 0;
	load->pace.bytes += load->reader->result.consumed;
	load->pace.seconds += INSTR_TIME_GET_DOUBLE(now);
}

/* Whether so many bytes keep this process busy for longer than workers take to come. */
static bool
workers_would_pay(const Load *load, int64 bytes)
{
	return load->options->workers >= 0 ||
		(load->pace.batches > BATCHES_TO_WARM &&
		 workers_pay(load->pace.seconds / Max(load->pace.bytes, 1) * bytes));
}

/* Bytes from that offset on that workers could load in one go. */
static int64
bytes_left(const Load *load, int64 offset)
{
	const Source *source = load->source;
	int64		left = source_left(source, offset);

	return source->rereadable && !load->reader->binary && load->files_unlike < UNLIKE_MOST ?
		left + source_following(source) : left;
}

/* Of so many bytes left, those of rows that are wanted. */
static int64
wanted_bytes(const Load *load, int64 left)
{
	const ScanResult *last = &load->reader->result;
	int64		row = last->consumed / Max(last->nrows, 1) + 1;
	int64		limit = load->batch.limit_left;

	return limit < 0 || limit > left / row ? left : limit * row;
}

/* Whether the open file is, all by itself. */
static bool
is_worth_workers(const Load *load)
{
	int64		left = source_left(load->source, load->source->window.offset);

	return share_workers(&load->batch, wanted_bytes(load, left), load_chunk_size) > 0;
}

/*
 * Has workers help from here on, if that pays.  Where the work soon comes back
 * because of a row that workers cannot deal with, they are left alone for a
 * while, twice as long each time; a file that is worth workers by itself begins anew.
 */
static void
load_side_by_side(Load *load)
{
	ShareLeader leader = {
		.batch = &load->batch,
		.source = load->source,
		.header = load->header.raw.data,
		.header_length = load->header.raw.len,
		.first_line = load->first_line,
		.span = load->header.raw.len < load_chunk_size,
		.rejects = load->rejects,
		.journal = checks_journal(load->checks),
		.chunk_size = load_chunk_size,
		.show = show_shared_progress,
		.began = begin_shared_file,
		.arg = load
	};
	int64		offset;
	int64		line;
	int64		left;
	int			workers;
	const char *refusal;
	ShareResult result;

	if (load->alone || load->batch.aside != NULL || batch_finished(&load->batch) || load->batch.skip_left > 0 ||
		(load->reader->eol == SCAN_EOL_UNKNOWN && !load->reader->binary) || load->batches_alone-- > 0 ||
		IsSubxactTopXidLogPending())
		return;
	reader_place(load->reader, &offset, &line);
	left = bytes_left(load, offset);
	workers = share_workers(&load->batch, wanted_bytes(load, left), load_chunk_size);
	if (workers == 0)
	{
		/* where nobody knows how much is left, there may be more than thought */
		load->alone = load->source->rereadable;
		load->batches_alone = BATCHES_TO_WAIT;
		return;
	}
	if (!workers_would_pay(load, wanted_bytes(load, left)))
		return;
	if (!load->may_share)
	{
		refusal = share_refusal(&load->batch, load->rejects,
								load->source->rereadable ? left : UNKNOWN_BYTES);
		load->alone = refusal != NULL;
		load->result->no_workers = refusal;
		if (load->alone)
			return;
		load->may_share = true;
	}

	load->rows_alone.loaded = load->batch.rows_loaded;
	load->rows_alone.filtered = load->batch.rows_filtered;
	result = share_lead(&leader, workers);
	count_rows(load, load->batch.rows_loaded);
	load->result->workers = Max(load->result->workers, result.workers);
	load->files_unlike += result.declined;
	if (result.chunks >= ENOUGH_CHUNKS)
		load->patience = 1;
	load->batches_alone = load->patience;
	load->patience = Min(load->patience * 2, INT_MAX / 2);
	if (result.workers == 0)
	{
		load->alone = true;
		load->result->no_workers = "no background worker was free";
	}
}

/* The first rows are there, by which it is guessed how many will come. */
static void
tell_if_slow(Load *load)
{
	const ScanResult *first = &load->reader->result;
	double		bytes = load->source->bytes_total;
	double		rows = bytes / Max(first->consumed, 1) * first->nrows;

	if (!load->may_be_slow)
		return;
	load->may_be_slow = false;
	if (load->options->limit >= 0)
		rows = Min(rows, load->options->limit);
	slower_tell(load->target, load->result->not_direct, rows, bytes);
}

/* What is open, and may have to be read again. */
static void
remember_file(Load *load)
{
	if ((may_want_raw(load) || load->may_repeat) &&
		!raw_is_remembered(load->raw, load->source))
		raw_remember(load->raw, load->source);
}

static void
load_one_file(Load *load)
{
	MemoryContext context = MemoryContextSwitchTo(load->file_context);

	remember_file(load);
	initStringInfo(&load->header.raw);
	batch_open_columns(&load->batch);
	if (load->reader->binary)
		rejects_header(load->rejects, load->source->window.data,
					   load->reader->done);
	if (load->options->header != BULK_HEADER_SKIP ||
		load->options->header_lines > 0)
		header_read(&load->header);
	if (load->options->header == BULK_HEADER_MAP)
		batch_open_columns(&load->batch);
	load->first_line = 1 + scan_count_lines(load->reader->eol, load->header.raw.data,
											load->header.raw.len);

	load->alone = load->may_share = false;
	if (is_worth_workers(load))
	{
		load->batches_alone = 0;
		load->patience = 1;
	}
	pace_begin(load);
	while (!batch_finished(&load->batch) &&
		   reader_rows(load->reader, load->reader->max_rows, load->guard.enabled))
	{
		tell_if_slow(load);
		load_batch(load);
		pace_note(load);
		load_side_by_side(load);
		pace_begin(load);
	}

	check_trailing(load);
	if (load->reader->ended)
		unread(load, load->source->window.offset + load->reader->done);
	load->batch.conv = NULL;
	MemoryContextSwitchTo(context);
	MemoryContextReset(load->file_context);
}

/*
 * Rows that were stored, each of which is a file to the source: too many of
 * them to prepare anew for each.
 */
static void
load_stored_rows(Load *load)
{
	MemoryContext context = MemoryContextSwitchTo(load->file_context);

	batch_open_columns(&load->batch);
	while (!batch_finished(&load->batch) && reader_next_file(load->reader))
	{
		while (reader_rows(load->reader, load->reader->max_rows, load->guard.enabled))
			load_batch(load);
		check_trailing(load);
	}
	load->batch.conv = NULL;
	MemoryContextSwitchTo(context);
	MemoryContextReset(load->file_context);
	source_close(load->source);
}

static void
load_files(Load *load)
{
	while (!batch_finished(&load->batch) && reader_next_file(load->reader))
		load_one_file(load);
	source_close(load->source);
}

/* ---- begin and end ---- */

/*
 * Has the converter opened for nothing but its errors, before a file is.
 * With header = map the columns are not known yet.
 */
static void
check_columns(Load *load)
{
	MemoryContext context = MemoryContextSwitchTo(load->file_context);

	if (load->options->header != BULK_HEADER_MAP)
		convert_open(load->options, load->target, &load->guard,
					 load->writer->estate);
	MemoryContextSwitchTo(context);
	MemoryContextReset(load->file_context);
}

/* A type may give a column its default, too. */
static bool
has_volatile_default(Relation rel, AttrNumber attnum)
{
	Expr	   *expr = (Expr *) build_column_default(rel, attnum);

	/* planned, as what arguments of functions are by default counts, too */
	return expr != NULL &&
		contain_volatile_functions_not_nextval((Node *) expression_planner(expr));
}

/*
 * Whether an expression of the load may look at the table, and so must find
 * each row there before the next one comes.  With header = map any column may
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

/* The writer that options ask for, or that serves best. */
static Writer *
open_writer(Load *load)
{
	const BulkOptions *options = load->options;
	bool		by_indexes = options->indexes == BULK_INDEXES_MERGE ||
		options->indexes == BULK_INDEXES_REBUILD;
	const char *refusal = NULL;

	if (load->attempts > 0 && load->result->not_direct != NULL)
		refusal = load->result->not_direct;
	else if (options->writer != BULK_WRITER_BUFFERED)
	{
		refusal = direct_refusal(load->target->rel, options);
		if (refusal == NULL && has_volatile_expression(load))
			refusal = "a volatile expression may look at it";
		if (refusal == NULL && load->source->rows != NULL &&
			query_is_volatile(load->source->rows))
			refusal = "a volatile function of the query may look at it";
		if (refusal == NULL && rejects_have_effects(load->rejects))
			refusal = "the reject table is not a plain one, whose triggers or rules may look at it";
	}
	if (options->writer == BULK_WRITER_AUTO && refusal == NULL)
		refusal = target_try_lock(load->target, options);
	if (options->writer != BULK_WRITER_BUFFERED && refusal == NULL)
	{
		refusal = direct_partition_refusal(load->target->rel, options);
		if (refusal != NULL)
			target_give_back(load->target);
	}
	load->result->not_direct = refusal;
	load->may_be_slow = options->writer == BULK_WRITER_AUTO && refusal != NULL &&
		load->attempts == 0 && options->log_verbosity != BULK_VERBOSITY_SILENT;

	if (options->writer == BULK_WRITER_BUFFERED ||
		(options->writer == BULK_WRITER_AUTO && refusal != NULL))
		return buffered_open(load->target, options, &load->guard, load->checks);
	if (refusal != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 by_indexes ?
				 errmsg("the indexes of \"%s\" cannot be %s", target_name(load->target),
						options->indexes == BULK_INDEXES_MERGE ? "merged" : "rebuilt") :
				 errmsg("writer \"direct\" cannot load into \"%s\"",
						target_name(load->target)),
				 errdetail("The reason is that %s.", refusal),
				 by_indexes ?
				 errhint("Leave option \"indexes\" to \"auto\".") :
				 errhint("Use writer \"buffered\", or leave the choice to \"auto\".")));
	if (!options->dry_run)
		target_cut_dead(load->target);
	return direct_open(load->target, options, &load->guard, load->checks);
}

/* What becomes of the indexes.  Those of partitions are planned when their first rows come. */
static void
plan_for_indexes(Load *load)
{
	Relation	rel = load->target->rel;

	if (rel->rd_rel->relkind == RELKIND_RELATION)
		load->result->tables =
			list_make1(plan_table(rel, load->options,
								  load->result->not_direct == NULL &&
								  load->options->writer != BULK_WRITER_BUFFERED));
}

char *
load_table_name(Oid relid)
{
	char	   *name = get_rel_name(relid);

	return name == NULL ? NULL :
		quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), name);
}

static void
open_query(Load *load)
{
	const BulkOptions *options = load->options;
	Target	   *target = load->target;
	QueryRows  *rows = query_open(options->query, RelationGetDescr(target->rel),
								  target->attnums, target->nfields);

	load->source = source_open_query(rows, options, load_chunk_size);
}

/* What the table and the source are from here on. */
static void
prepare_input(Load *load)
{
	const BulkOptions *options = load->options;
	Target	   *target = load->target;

	target_empty(target, options);
	if (options->query != NULL && load->attempts == 0)
		open_query(load);
	if (options->transform != NULL)
		target_set_arguments(target,
							 transform_arguments(transform_open(options->transform, target->rel)));
	load->source->client_marker = options->format == BULK_CSV &&
		options->missing == BULK_MISSING_ERROR && target->nfields > 1;
}

/* No row has been read. */
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
		.skip_left = load->options->skip,
		.limit_left = load->options->limit,
		.next = PG_UINT32_MAX
	};
}

static void
open_rejects(Load *load)
{
	load->rejects = rejects_open(load->options, load->target->rel,
								 load_table_name(load->relid),
								 load->result->load_id, load->paths);
}

/* What outlives the writing of rows, if that may be undone: the target and the reject stream. */
static void
load_open(Load *load)
{
	const BulkOptions *options = load->options;

	load->result->started = GetCurrentTimestamp();
	if (options->query == NULL)
		load->source = load->stored != NULL ?
			source_open_stored(load->stored, options, load_chunk_size) :
			source_open(load->paths, options, load_chunk_size);
	load->raw = load->stored != NULL ? raw_open_stored(load->stored) :
		raw_open(list_length(load->paths));
	load->target = target_open(load->relid, options);
	load->may_repeat = checks_may_repeat(load->target->rel, options);
	if (!options->dry_run && !load->may_repeat)
		prepare_input(load);
	reset_batch(load);
	load->callback.callback = batch_error_context;
	load->callback.arg = &load->batch;
	load->callback.previous = error_context_stack;
	error_context_stack = &load->callback;
	open_rejects(load);
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
		.batch = &load->batch
	};
	initStringInfo(&load->header.first);
	load->checks = checks_open(options, load->target->rel);
	checks_journal(load->checks)->reader = load->reader;

	load->writer = load->batch.writer = open_writer(load);
	load->result->writer = load->writer->routine->name;
	plan_for_indexes(load);
	check_columns(load);
	batch_open_where(&load->batch);
	checks_begin_rows(load->checks);
}

/* ANALYZE of the loaded table. */
static void
analyze_target(const Target *target)
{
	char	   *command;

	command = psprintf("ANALYZE %s", load_table_name(RelationGetRelid(target->rel)));
	CommandCounterIncrement();
	if (SPI_connect() != SPI_OK_CONNECT ||
		SPI_execute(command, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not analyze the target");
	SPI_finish();
}

/* What is checked when all rows are in; some may turn out bad. */
static void
check_rows(Load *load)
{
	CheckReport report = {
		.rejects = load->rejects,
		.raw = load->raw,
		.paths = load->source->paths,
		.telling = &load->batch.telling,
		.kept = load->kept
	};

	load->batch.rows_loaded -= checks_run(load->checks, &report);
	load->repeats = !load->options->dry_run && checks_must_repeat(load->checks);
	if (load->repeats && !load->may_repeat)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("rows of \"%s\" that turned out bad cannot be taken back",
						target_name(load->target)),
				 errdetail("While it was loaded it has got a foreign key that refers to it, or is logically decoded now."),
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

/* Where all rows are now. */
static void
take_tables(Load *load)
{
	LoadResult *result = load->result;

	if (result->tables != NIL)
	{
		((IndexTable *) linitial(result->tables))->rows = load->batch.rows_loaded;
		return;
	}
	result->tables = load->writer->tables;
	result->by_leaf = true;
	list_sort(result->tables, compare_tables);
}

/* An error of the index phase, with the line of the row that it is about. */
static void
raise_index_error(Load *load, ErrorData *error)
{
	BlamedRow	row;
	JournalPlace place;
	bool		found;

	/* nobody may look what has become of workers: they have gone after the error */
	HOLD_INTERRUPTS();
	found = blame_is_possible(error->sqlerrcode) && blame_get(&row) &&
		checks_find(load->checks, row.table, &row.tid, &place);
	RESUME_INTERRUPTS();
	if (found)
	{
		load->refused.file = list_nth(load->source->paths, place.file);
		load->refused.line = place.line;
		load->batch.telling = &load->refused;
	}
	/* an access method's own build does not say which row it has in hand */
	else if (error->hint == NULL && blame_is_possible(error->sqlerrcode))
		error->hint = pstrdup("Use writer \"buffered\" to be told the line of the row.");
	ThrowErrorData(error);
}

static void
make_index_entries(Load *load)
{
	LoadResult *result = load->result;
	MemoryContext context = CurrentMemoryContext;

	progress_phase(&load->progress, BULK_PHASE_INDEXES);
	blame_forget();
	/* an error is thrown once more with all its context, as only then its line can be looked up */
	error_context_stack = NULL;
	PG_TRY();
	{
		index_run(result->tables, load->options->workers, checks_conflicts(load->checks));
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		error_context_stack = &load->callback;
		raise_index_error(load, error);
	}
	PG_END_TRY();
	error_context_stack = &load->callback;
}

static void
load_end(Load *load)
{
	load->writer->routine->finish(load->writer);
	checks_end_rows(load->checks);
	take_tables(load);
	if (load->batch.rows_loaded > 0)
		make_index_entries(load);
	INSTR_TIME_SET_CURRENT(load->times.indexed);
	progress_phase(&load->progress, BULK_PHASE_CONSTRAINTS);
	check_rows(load);
	if (!load->options->dry_run && !load->repeats)
		give_back(load->checks, load->options->workers, load->result);
	load->writer->routine->close(load->writer);
	load->writer = load->batch.writer = NULL;
}

/* All that is done to the table. */
static void
load_rows(Load *load)
{
	load_begin(load);
	progress_phase(&load->progress, BULK_PHASE_READING);
	INSTR_TIME_SET_CURRENT(load->times.reading);
	if (load->stored != NULL)
		load_stored_rows(load);
	else
		load_files(load);
	INSTR_TIME_SET_CURRENT(load->times.ending);
	load_end(load);
}

/* In a subtransaction: the target, and what is done to it before the first row. */
static void
reopen_target(Load *load)
{
	target_reopen(load->target);
	error_context_stack = load->callback.previous;
	prepare_input(load);
	error_context_stack = &load->callback;
}

/* The same in the subtransaction of a dry run. */
static void
try_rows(void *arg)
{
	Load	   *load = arg;

	reopen_target(load);
	dry_run_sequences(load->target->rel);
	load_rows(load);
}

/* The relation is closed meanwhile, as its subtransaction's end would not close what others have open. */
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
 * The same as in the attempt before, whose rows are dead.  Which old rows those make go that are displaced
 * later only the buffered one can tell without storing them.
 */
static void
choose_writer_again(Load *load)
{
	const BulkOptions *options = load->options;
	bool		direct = load->result->not_direct == NULL &&
		options->writer != BULK_WRITER_BUFFERED;

	if (!direct || options->on_duplicate != BULK_ON_DUPLICATE_KEEP_NEW)
		return;
	load->result->not_direct = "functions have stored rows meanwhile that may refer to duplicates";
	if (options->writer == BULK_WRITER_DIRECT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("writer \"direct\" cannot take back rows of \"%s\"",
						target_name(load->target)),
				 errdetail("The reason is that %s.", load->result->not_direct),
				 errhint("Use writer \"buffered\", or leave the choice to \"auto\".")));
}

/* Everything as it was before the first attempt, but for the rows to pass over. */
static void
begin_again(Load *load)
{
	LoadResult *result = load->result;

	if (load->attempts++ == 0)
		load->bytes_read = source_bytes(load->source);
	if (load->attempts == ATTEMPTS_MOST)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("rows of \"%s\" turn out bad again and again",
						target_name(load->target)),
				 errdetail("The load was undone and done again without them %d times.",
						   ATTEMPTS_MOST - 1),
				 errhint("Functions or triggers of the table may make others bad each time; set \"on_error\" to \"stop\" to see the first.")));
	target_reopen(load->target);
	rejects_abandon(load->rejects);
	open_rejects(load);
	rejects_told(load->rejects);
	target_close(load->target);

	choose_writer_again(load);
	load->files_unlike = load->batches_alone = 0;
	load->patience = 1;
	result->tables = NIL;
	result->by_leaf = false;
	result->no_workers = NULL;
	reset_batch(load);
	bad_rows_sort(load->kept);
	load->batch.aside = load->kept;
	load->batch.aside_context = AllocSetContextCreate(CurrentMemoryContext,
													  "bulk_load row to pass over",
													  ALLOCSET_SMALL_SIZES);
	source_rewind(load->source, raw_copies(load->raw));
}

/*
 * Where rows that turn out bad cannot be deleted as if they had never been (checks_must_repeat), the load is undone and
 * done again without them.
 */
static void
load_in_attempts(Load *load)
{
	target_close(load->target);
	for (;;)
	{
		BadRows    *passed = load->kept;

		load->kept = load->batch.kept = bad_rows_open();
		rejects_hold(load->rejects);
		if (subtransaction_run(attempt, load))
			break;
		if (passed != NULL)
			bad_rows_close(passed);
		begin_again(load);
	}
	target_reopen(load->target);
	rejects_release(load->rejects);
}

static void
load_close(Load *load)
{
	LoadResult *result = load->result;
	Diagnosis	diagnosis = {.options = load->options, .target = load->target};
	RejectAdviser adviser = {.advise = diagnosis_advise, .arg = &diagnosis};

	raw_close(load->raw);
	result->bytes_read = load->attempts > 0 ? load->bytes_read : source_bytes(load->source);
	result->attempts = load->attempts + 1;
	result->rows_read = load->batch.rows_read;
	result->rows_loaded = load->batch.rows_loaded;
	result->rows_filtered = load->batch.rows_filtered;
	result->rows_rejected = rejects_total(load->rejects);
	result->rows_duplicate = rejects_count(load->rejects, REJECT_DUPLICATE);
	result->rows_replaced = rejects_count(load->rejects, REJECT_REPLACED);
	rejects_close(load->rejects, result->rows_read, &adviser);

	if (load->options->analyze && !load->options->dry_run)
	{
		progress_phase(&load->progress, BULK_PHASE_ANALYZING);
		analyze_target(load->target);
	}
	rejects_end(load->rejects);
	progress_end(&load->progress);
	error_context_stack = load->callback.previous;
	target_close(load->target);
	CommandCounterIncrement();
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
	load->patience = 1;
	load->relid = relid;
	load->paths = paths;
	load->stored = stored;
	load->options = options;
	load->result = result;
	load->file_context = AllocSetContextCreate(context, "bulk_load file",
											   ALLOCSET_DEFAULT_SIZES);
	memset(result, 0, sizeof(*result));
	result->load_id = options->dry_run ? -load_id : load_id;

	load->times.wal_before = pgWalUsage.wal_bytes;
	INSTR_TIME_SET_CURRENT(load->times.start);
	load_open(load);
	if (options->dry_run)
		load_dry(load);
	else if (load->may_repeat)
		load_in_attempts(load);
	else
		load_rows(load);
	load_close(load);
	INSTR_TIME_SET_CURRENT(load->times.done);
	result->finished = GetCurrentTimestamp();

	MemoryContextSwitchTo(caller);
	result->details = result_details(result, &load->times, paths, load->rejects);
	MemoryContextDelete(context);
}
