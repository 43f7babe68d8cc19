/*
 * load_files.c
 *		Reads the rows of a load: file after file, batch after batch, with or
 *		without workers.
 */
#include "postgres.h"

#include "access/xact.h"
#include "load/load_parts.h"
#include "load/share.h"
#include "load/slower.h"
#include "miscadmin.h"
#include "server/workers.h"
#include "stream/content.h"
#include "utils/memutils.h"

/* Number of chunks after which starting workers has paid off. */
#define ENOUGH_CHUNKS 64

/*
 * Number of files unlike their predecessors after which files are no longer
 * expected to be alike.
 */
#define MAX_UNLIKE 3

/*
 * If the remaining size is unknown: batches until workers are considered again,
 * and the maximum.
 */
#define BATCHES_TO_WAIT 4
#define UNKNOWN_BYTES (INT64CONST(1) << 46)

/* Seconds between estimates of the later phases. */
#define LOOK_AHEAD_SECONDS 0.3

/* Batches whose duration is not representative. */
#define BATCHES_TO_WARM 2

/* For a row that workers form and this process keeps for a while: measured with three columns. */
#define TAKE_OVER_SECONDS 2.5e-7

/* ---- progress ---- */

/* Offset after the last row that the batch has processed. */
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

/*
 * File bytes of the rows processed: bytes read, minus the rest of the window.
 * For compressed files the rest is scaled by the compression ratio so far.
 */
static int64
bytes_taken(const Load *load)
{
	const Window *window = &load->source->window;
	int64		read = source_bytes(load->source);
	double		ahead = window->offset + window->length - end_of_rows(load);

	if (!source_can_seek(load->source) && window->offset + window->length > read)
		ahead *= (double) read / (window->offset + window->length);
	return read - (int64) ahead;
}

/* The fraction of all rows that has been read, by bytes or by option limit. */
static double
part_read(const Load *load, int64 bytes, int64 rows)
{
	int64		limit = load->options->limit;
	double		part = ESTIMATE_UNKNOWN;

	if (load->progress.bytes_total > 0)
		part = (double) bytes / load->progress.bytes_total;
	if (limit > 0)
		part = Max(part, (double) rows / limit);
	return part;
}

/*
 * From time to time, estimates the later phases, assuming that all rows are
 * like those so far.
 */
static void
look_ahead(Load *load, double part, int64 loaded)
{
	instr_time	now;
	double		rows = part > 0 ? loaded / Min(part, 1) : loaded;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, load->looked_ahead);
	if (INSTR_TIME_GET_DOUBLE(now) < LOOK_AHEAD_SECONDS)
		return;
	INSTR_TIME_SET_CURRENT(load->looked_ahead);
	load->progress.later = load_later_seconds(load, rows);
}

static void
show_rows(Load *load, int64 bytes, int64 loaded, int64 filtered)
{
	int64		rejected = rejects_total(load->rejects);
	double		part;

	bytes = Max(bytes - source_passed(load->source), load->progress.bytes);
	filtered += load->late.filtered;
	part = part_read(load, bytes, loaded + filtered + rejected);
	look_ahead(load, part, loaded);
	progress_update(&load->progress, part, bytes, loaded, filtered, rejected);
}

static void
show_progress(void *arg)
{
	Load	   *load = arg;

	show_rows(load, bytes_taken(load), load->batch.rows_loaded, load->batch.rows_filtered);
}

/* ---- what becomes of bad rows ---- */

static void
reject_row(void *arg, const Reject *reject)
{
	Load	   *load = arg;

	rejects_add(load->rejects, reject);
}

static void
reject_value(void *arg, const Reject *value)
{
	Load	   *load = arg;

	rejects_set_null(load->rejects, value);
}

const BatchSink load_sink = {
	.reject = reject_row,
	.nulled = reject_value,
	.caught = show_progress,
	.working = show_progress
};

static void
count_rows(Load *load, int64 nrows)
{
	if (load->writer->routine->count != NULL)
		load->writer->routine->count(load->writer, nrows);
}

/* ---- bad rows ---- */

/*
 * When a load ends before its file, bytes read ahead do not count, as they
 * depend on the window.
 */
static void
unread(Load *load, int64 offset)
{
	if (source_can_seek(load->source))
		source_seek(load->source, offset, load->source->window.line);
}

/*
 * Adds a HINT to an error that ends the load, naming options by which the row
 * can be read.
 */
static void
run_batch(Load *load)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	PG_TRY();
	{
		batch_run(&load->batch);
	}
	PG_CATCH();
	{
		bool		has_hint = !load->options->plain && stop_hint_is_for(geterrcode());
		bool		shows_row = !load->options->plain &&
			batch_shows_row(&load->batch, geterrcode());
		ErrorData  *error;

		if (!has_hint && !shows_row)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		error = CopyErrorData();
		FlushErrorState();
		if (shows_row)
			batch_show_row(&load->batch, error);
		load->diagnosis.rows_loaded = load->batch.rows_loaded;
		if (has_hint)
			stop_hint_add(&load->stop, &load->diagnosis, &load->batch, error);
		ReThrowError(error);
	}
	PG_END_TRY();
}

/* Adds rows to those of the open file, for the history. */
static void
count_of_file(Load *load, int64 read, int64 filtered, int64 deleted)
{
	FileCounts *counts;

	if (load->counts == NULL)
		return;
	counts = &load->counts[load->source->current];
	counts->read += read;
	counts->filtered += filtered;
	counts->deleted += deleted;
}

static void
load_batch(Load *load)
{
	const Batch *batch = &load->batch;
	int64		read = batch->rows_read;
	int64		filtered = batch->rows_filtered;
	int64		deleted = batch->rows_deleted;

	run_batch(load);
	count_of_file(load, batch->rows_read - read, batch->rows_filtered - filtered,
				  batch->rows_deleted - deleted);
	/*
	 * keep rows once for a row that may end the load: it may be alone in its batch,
	 * if workers had the others
	 */
	if (!load->options->plain && (load->batch.err != NULL || load->diagnosis.batches == 0))
		diagnosis_keep(&load->diagnosis, load->reader,
					   Min(load->batch.next, load->reader->result.nrows));
	if (batch_finished(&load->batch))
		unread(load, end_of_rows(load));
	count_rows(load, load->batch.rows_loaded);
	rejects_flush(load->rejects);
	show_progress(load);
	load->batch.next = PG_UINT32_MAX;
}

/* Whether the file has another part behind the current one. */
static bool
has_next_part(const Load *load)
{
	const Source *source = load->source;
	FileStamp	stamp;

	return load->options->once == BULK_ONCE_PART && content_stamp(source->path, &stamp) &&
		stamp.size > source->ranges[source->current].end;
}

/* What is behind the end-of-data marker is no row to COPY, and would be to the next part. */
static void
refuse_part(const Load *load)
{
	if (load->reader->trailing <= 0 && !has_next_part(load))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("file \"%s\" cannot be loaded in parts",
					encoding_path_text(load->source->path)),
			 errdetail("It has an end-of-copy marker before its end, behind which nothing is loaded."),
			 errhint("Remove the marker, or what is behind it.")));
}

/* Reports that data after the end-of-data marker was not read. */
static void
check_trailing(Load *load)
{
	Reader	   *reader = load->reader;

	if (reader->ended && load->source->ranges != NULL)
		refuse_part(load);
	if (!reader->ended || reader->trailing <= 0)
		return;
	if (reader->routine->marker_ends)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 load->options->plain ? errmsg("received copy data after EOF marker") :
				 errmsg("received data after the end marker")));
	/* reported by the first attempt */
	if (load->attempts > 0 || load->options->plain)
		return;
	load->result->bytes_unread += reader->trailing;
	ereport(NOTICE,
			(errmsg_plural("file \"%s\" has %lld byte after its end-of-copy marker, which was not read",
						   "file \"%s\" has %lld bytes after its end-of-copy marker, which were not read",
						   (unsigned long) reader->trailing,
						   encoding_path_text(load->source->path), (long long) reader->trailing)));
}

/* ---- with workers ---- */

static void
show_shared_progress(void *arg, int64 bytes, int64 loaded, int64 filtered)
{
	Load	   *load = arg;

	count_rows(load, load->rows_alone.loaded + loaded);
	show_rows(load, bytes, load->rows_alone.loaded + loaded,
			  load->rows_alone.filtered + filtered);
}

/* Whether rows may have to be shown after all have been read. */
static bool
may_want_raw(const Load *load)
{
	const BulkOptions *options = load->options;

	return (options->reject_table != NULL || options->reject_file != NULL) &&
		(load->target->on_nodes || checks_expected(load->checks, load->target->rel));
}

/* Called when workers have loaded from a file that the leader has not opened. */
static void
begin_shared_file(void *arg, int number, const FileStamp *files)
{
	Load	   *load = arg;

	raw_remember_file(load->raw, number,
					  list_nth(load->source->paths, number), &files[number]);
}

/* Starts timing a batch, until pace_note. */
static void
pace_begin(Load *load)
{
	INSTR_TIME_SET_CURRENT(load->pace.since);
	load->pace.storing = load->writer->storing;
}

/* Ends timing a batch.  The first ones, which find caches cold, do not count. */
static void
pace_note(Load *load)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, load->pace.since);
	if (load->pace.batches++ == BATCHES_TO_WARM)
		load->pace.bytes = load->pace.seconds = 0;
	load->pace.bytes += load->reader->result.consumed;
	load->pace.seconds += INSTR_TIME_GET_DOUBLE(now) - (load->writer->storing - load->pace.storing);
}

/*
 * Seconds that this process takes for what workers can do with this many bytes.  Where workers end
 * and start again, as the writer wants to be alone, it is until then, less what it costs to take
 * the rows over, which then are copied twice.
 */
static double
seconds_for_workers(const Load *load, double bytes)
{
	Writer	   *writer = load->writer;
	const ScanResult *last = &load->reader->result;
	double		row = (double) last->consumed / Max(last->nrows, 1);
	double		rows = writer->routine->rows_until_alone == NULL ? 0 :
		writer->routine->rows_until_alone(writer);
	double		pace = load->pace.seconds / Max(load->pace.bytes, 1);

	if (rows == 0)
		return pace * bytes;
	return (pace * row - TAKE_OVER_SECONDS) * Min(rows, bytes / Max(row, 1));
}

/* Whether that is longer than workers take to start, and this process is what others wait for. */
static bool
workers_would_pay(const Load *load, int64 bytes)
{
	const Writer *writer = load->writer;

	return load->options->workers >= 0 ||
		(load->pace.batches > BATCHES_TO_WARM &&
		 (writer->routine->others_keep_up == NULL || writer->routine->others_keep_up(writer)) &&
		 workers_pay(seconds_for_workers(load, bytes)));
}

/* Bytes from an offset on that workers could load without interruption. */
static int64
bytes_left(const Load *load, int64 offset)
{
	const Source *source = load->source;
	int64		left = source_left(source, offset);

	return source_can_seek(source) && load->reader->routine->spans_files &&
		load->files_unlike < MAX_UNLIKE ?
		left + source_following(source) : left;
}

/* Of the bytes left, those of rows within option limit. */
static int64
wanted_bytes(const Load *load, int64 left)
{
	const ScanResult *last = &load->reader->result;
	int64		row = last->consumed / Max(last->nrows, 1) + 1;
	int64		limit = load->batch.limit_left;

	return limit < 0 || limit > left / row ? left : limit * row;
}

/* Whether the current file alone is worth starting workers. */
static bool
is_worth_workers(const Load *load)
{
	int64		left = source_left(load->source, load->source->window.offset);

	return share_workers(&load->batch, wanted_bytes(load, left), source_chunk_size) > 0;
}

/* share_lead; an error about a row that is being stored shows it, as one without workers does. */
static ShareResult
lead(Load *load, const ShareLeader *leader, int workers)
{
	MemoryContext context = CurrentMemoryContext;
	ShareResult result;

	PG_TRY();
	{
		result = share_lead(leader, workers);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		if (load->writer->find_place == NULL)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		/* workers may have ended with errors, which are not this one */
		HOLD_INTERRUPTS();
		batch_show_stored_row(&load->batch, error, load->raw);
		RESUME_INTERRUPTS();
		ReThrowError(error);
	}
	PG_END_TRY();
	return result;
}

/* Why workers may not help any more, though they could until now. */
static RefusalReason
late_refusal(const Load *load)
{
	Writer	   *writer = load->batch.writer;
	RefusalReason refusal;

	if (load->batch.options->on_duplicate == BULK_ON_DUPLICATE_ERROR)
		return REFUSAL_NONE;
	refusal = writer->routine->share_refusal(writer);
	/* a partition that they cannot serve is left to this process */
	return refusal == REFUSAL_ROW_TRIGGERS ? refusal : REFUSAL_NONE;
}

/*
 * Loads with workers from here on, if that pays.  If they soon return because
 * of a row they cannot process, the leader continues alone for a while, twice
 * as long each time.  Workers get one try with each file that is worth it by
 * itself, whatever happened before.
 */
static void
load_in_parallel(Load *load)
{
	ShareLeader leader = {
		.batch = &load->batch,
		.source = load->source,
		.header = load->header.raw.data,
		.header_length = load->header.raw.len,
		.first_line = load->first_line,
		.span = load->header.raw.len < source_chunk_size && load->source->ranges == NULL,
		.rejects = load->rejects,
		.counts = load->counts,
		.journal = checks_journal(load->checks),
		.keys = checks_key_pass(load->checks),
		.chunk_size = source_chunk_size,
		.show = show_shared_progress,
		.began = begin_shared_file,
		.arg = load
	};
	int64		offset;
	int64		line;
	int64		left;
	int64		wanted;
	int			workers;
	RefusalReason refusal;
	ShareResult result;

	if (load->alone || load->batch.known_bad != NULL || batch_finished(&load->batch) ||
		load->batch.skip_left > 0 ||
		load->reader->eol == SCAN_EOL_UNKNOWN || load->batches_alone-- > 0 ||
		IsSubxactTopXidLogPending())
		return;
	reader_place(load->reader, &offset, &line);
	left = bytes_left(load, offset);
	wanted = wanted_bytes(load, left);
	workers = share_workers(&load->batch, wanted, source_chunk_size);
	if (workers == 0)
	{
		/* if the remaining size is unknown, it may be larger than estimated */
		load->alone = source_can_seek(load->source);
		load->batches_alone = BATCHES_TO_WAIT;
		return;
	}
	if (!workers_would_pay(load, wanted))
		return;
	refusal = load->may_share ? late_refusal(load) :
		share_refusal(&load->batch, load->rejects,
					  source_can_seek(load->source) ? left : UNKNOWN_BYTES);
	load->result->no_workers = REFUSAL(refusal);
	load->may_share = refusal == REFUSAL_NONE;
	load->alone = !load->may_share;
	if (load->alone)
		return;

	load->rows_alone.loaded = load->batch.rows_loaded;
	load->rows_alone.filtered = load->batch.rows_filtered;
	/* a row that comes again is counted then */
	if (load->batch.counted)
		count_of_file(load, -1, 0, 0);
	result = lead(load, &leader, workers);
	load->batch.rows_loaded -= load->late.taken_back;
	load->late.taken_back = 0;
	count_rows(load, load->batch.rows_loaded);
	show_progress(load);
	load->result->workers = Max(load->result->workers, result.workers);
	load->files_unlike += result.declined;
	if (result.chunks >= ENOUGH_CHUNKS)
		load->next_batches_alone = 1;
	load->batches_alone = load->next_batches_alone;
	load->next_batches_alone = Min(load->next_batches_alone * 2, INT_MAX / 2);
	if (result.workers == 0)
	{
		load->alone = true;
		load->result->no_workers = REFUSAL(result.refusal);
	}
}

/* Called after the first rows, from which the total is estimated. */
static void
notice_if_slow(Load *load)
{
	const ScanResult *first = &load->reader->result;
	double		bytes = load->source->bytes_total;
	double		rows = bytes / Max(first->consumed, 1) * first->nrows;

	if (!load->may_be_slow)
		return;
	load->may_be_slow = false;
	if (load->options->limit >= 0)
		rows = Min(rows, load->options->limit);
	slower_notice(load->target, &load->result->not_direct, rows, bytes);
}

/* The same for the first file that has rows. */
static void
notice_if_header(Load *load)
{
	bool		first = load->batch.rows_read == 0 && load->options->skip == 0;

	if (first && load->attempts == 0 && !load->source->bare &&
		load->options->header == BULK_HEADER_SKIP && load->options->header_lines == 0)
		header_notice_undeclared(&load->header);
}

/*
 * Remembers the open file, which may have to be read again; always, where that
 * costs nothing.
 */
static void
remember_file(Load *load)
{
	if ((source_can_seek(load->source) || may_want_raw(load) || load->may_repeat) &&
		!raw_is_remembered(load->raw, load->source))
		raw_remember(load->raw, load->source);
}

/* Its first line end says how all of its lines end, and not the first one of a part. */
static void
find_line_end(Reader *reader)
{
	(void) reader_rows(reader, 1, true);
	/* what a marker there has ended is not the part */
	reader->ended = false;
	reader->trailing = 0;
}

/* Where only a part of the file is wanted, goes on there, behind the header. */
static void
begin_range(Load *load)
{
	const Source *source = load->source;
	const SourceRange *range;
	int64		offset;
	int64		line;

	if (source->ranges == NULL)
		return;
	range = &source->ranges[source->current];
	Assert(source_can_seek(source));
	/* a part may have ended within lines that are all part of the header */
	reader_place(load->reader, &offset, &line);
	if (range->begin <= offset)
		return;
	if (load->reader->eol == SCAN_EOL_UNKNOWN)
		find_line_end(load->reader);
	reader_seek(load->reader, range->begin, range->begin_line);
}

static void
load_one_file(Load *load)
{
	MemoryContext context = MemoryContextSwitchTo(load->file_context);

	remember_file(load);
	initStringInfo(&load->header.raw);
	batch_open_columns(&load->batch);
	if (load->reader->routine->keeps_header)
		rejects_header(load->rejects, load->source->window.data,
					   load->reader->done);
	if (load->options->header != BULK_HEADER_SKIP ||
		load->options->header_lines > 0)
		header_read(&load->header);
	if (load->options->header == BULK_HEADER_MAP)
	{
		load->batch.conv = NULL;
		batch_open_columns(&load->batch);
	}
	begin_range(load);
	load->first_line = 1 + scan_count_lines(load->reader->eol, load->header.raw.data,
											load->header.raw.len);

	load->alone = load->may_share = false;
	if (is_worth_workers(load))
		load->batches_alone = 0;
	pace_begin(load);
	while (!batch_finished(&load->batch) &&
		   reader_rows(load->reader, load->reader->max_rows, load->guard.enabled))
	{
		notice_if_slow(load);
		notice_if_header(load);
		load_batch(load);
		pace_note(load);
		load_in_parallel(load);
		pace_begin(load);
	}

	check_trailing(load);
	batch_end_file(&load->batch);
	if (load->reader->ended)
		unread(load, load->source->window.offset + load->reader->done);
	load->batch.conv = NULL;
	MemoryContextSwitchTo(context);
	MemoryContextReset(load->file_context);
}

StaticAssertDecl(REJECT_NREASONS <= STORED_REASONS, "stored rows can be left for each reason");

/* Counts rows that stay in the reject table untried: they were read and are bad. */
static void
count_left(Load *load)
{
	for (int reason = 0; reason < REJECT_NREASONS; reason++)
	{
		int64		left = stored_rows_left(load->stored, reason);

		load->batch.rows_read += left;
		rejects_count_left(load->rejects, reason, left);
	}
}

/*
 * Loads stored rows.  To the source each is a file, but there are too many to
 * prepare for each anew.
 */
void
load_stored_rows(Load *load)
{
	MemoryContext context = MemoryContextSwitchTo(load->file_context);

	count_left(load);
	batch_open_columns(&load->batch);
	while (!batch_finished(&load->batch) && reader_next_file(load->reader))
	{
		bool		is_row = false;

		while (reader_rows(load->reader, load->reader->max_rows, load->guard.enabled))
		{
			is_row = true;
			load_batch(load);
		}
		/* with these options it is a comment, or nothing: yet it was a row of the input */
		if (!is_row)
		{
			load->batch.rows_read++;
			load->batch.rows_filtered++;
		}
		check_trailing(load);
		batch_end_file(&load->batch);
	}
	load->batch.conv = NULL;
	MemoryContextSwitchTo(context);
	MemoryContextReset(load->file_context);
	source_close(load->source);
}

void
load_files(Load *load)
{
	while (!batch_finished(&load->batch) && reader_next_file(load->reader))
		load_one_file(load);
	source_close(load->source);
}
