/*
 * batch.c
 *		See batch.h.
 *
 * Under on_error = stop a bad row raises its error where it is found.
 * Otherwise the functions that check rows fill batch->error, and errors raised
 * by user-defined functions are caught by the guard; both ways end in
 * reject_row.
 */
#include "postgres.h"

#include "format/encoding.h"
#include "format/extra.h"
#include "format/form.h"
#include "format/transform.h"
#include "load/batch.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"

/*
 * Minimum time between progress reports within a batch, and the maximum number
 * of rows between looks at the clock.
 */
#define REPORT_SECONDS 0.05
#define MAX_REPORT_INTERVAL 31

/* ---- preparation ---- */

void
batch_open_columns(Batch *batch)
{
	Writer	   *writer = batch->writer;

	if (batch->conv == NULL)
		batch->conv = convert_open(batch->options, batch->target, batch->guard,
								   writer->estate);
	reader_begin_columns(batch->reader, batch->target);
	writer->one_by_one = batch->conv->volatile_defaults || batch->where_volatile ||
		(batch->conv->transform != NULL &&
		 transform_is_volatile(batch->conv->transform));
	batch->may_filter = batch->where != NULL || batch->conv->transform != NULL;
	writer->former = NULL;
	if (writer->plain && !writer->one_by_one && batch->where == NULL)
		writer->former = form_open(batch->conv, writer->model, writer->constraints);
	writer->takes_fields = writer->routine->open_columns != NULL &&
		writer->routine->open_columns(writer, batch->conv);
}

void
batch_open_where(Batch *batch)
{
	List	   *where = batch->target->where;

	if (where == NIL)
		return;
	batch->where = ExecInitQual(where, NULL);
	batch->where_volatile = contain_volatile_functions((Node *) where);
}

bool
batch_gives(const Batch *batch, AttrNumber attnum)
{
	for (int i = 0; i < batch->target->nfields; i++)
		if (batch->target->attnums[i] == attnum)
			return true;
	return target_is_extra(batch->target, attnum);
}

/* ---- bad rows ---- */

/* Length of the row without a line end that an open quote has included. */
static Size
row_length(const char *data, const ScanRow *row)
{
	Size		len = row->end - row->start;
	const char *p = data + row->start;

	if (row->fault == SCAN_FAULT_UNTERMINATED_QUOTE)
	{
		if (len > 0 && p[len - 1] == '\n')
			len--;
		if (len > 0 && p[len - 1] == '\r')
			len--;
	}
	return len;
}

void
batch_show_raw(Batch *batch, Size length, Reject *reject)
{
	const FormatRoutine *routine = batch->reader->routine;

	if (routine->show_row == NULL)
		return;
	resetStringInfo(&batch->shown);
	reject->raw_len = routine->show_row(batch->target, reject->raw, length, &batch->shown);
	reject->raw = batch->shown.data;
	reject->raw_full_len = batch->shown.len;
}

/* Sends the bad row to the reject stream. */
static void
reject_row(Batch *batch)
{
	Reader	   *reader = batch->reader;
	const ScanRow *row = &reader->rows[batch->next];
	const RowError *error = &batch->error;
	Reject		reject = {
		.reason = error->reason,
		.sqlstate = error->sqlstate,
		.message = error->message,
		.column = error->column,
		.value = error->value,
		.file = reader->source->path,
		.file_number = reader->source->current,
		.line = reader_line(reader, batch->next),
		.offset = reader_offset(reader, batch->next),
		.raw = reader->data + row->start,
		.raw_len = row_length(reader->data, row),
		.raw_full_len = row->next - row->start,
	};

	/* exceeding a limit is not an error of the row */
	batch->guard->work = GUARD_NOT_ROW;
	batch_show_raw(batch, row->end - row->start, &reject);
	batch->sink->reject(batch->sink_arg, &reject);
	batch->guard->work = GUARD_OWN_CODE;
}

/*
 * A line end in a value whose type allows none indicates a broken quote, unless
 * rows have a single field, where anything may look like a row.
 */
static inline bool
is_swallowing(const Batch *batch)
{
	return batch->error.swallowed && batch->conv->ncolumns > 1;
}

/* Leaves out a row, bad or good, that is among those to skip at the start of the input. */
static void
pass_row(Batch *batch)
{
	batch->conv->skipped = false;
	batch->skip_left--;
	batch->next++;
}

/* Leaves this row and all that follow to the leader. */
static void
yield_row(Batch *batch)
{
	batch->yielded = true;
	convert_end_input(batch->conv);
	if (batch->counted)
		batch->rows_read--;
	batch->counted = false;
}

/* Whether a bad row ends the load although on_error is not stop. */
static bool
ends_load(const Batch *batch)
{
	return batch->error.reason == REJECT_ENCODING && !batch->conv->skipped &&
		batch->options->invalid_bytes == BULK_INVALID_ERROR;
}

/*
 * Handles a row found bad for the reason in batch->error.  If that is a broken
 * quote, there may be good rows among the lines it swallowed.
 */
static void
bad_row(Batch *batch)
{
	Reader	   *reader = batch->reader;
	const ScanRow *row = &reader->rows[batch->next];
	/* where one row ends and the next begins, another server has found out before */
	bool		spoiled = batch->options->relay == BULK_RELAY_OFF &&
		(row->fault == SCAN_FAULT_UNTERMINATED_QUOTE ||
		 (row->multiline && (row->lax || is_swallowing(batch))));

	if (batch->limited && (spoiled || ends_load(batch) ||
						   batch->options->on_error == BULK_ON_ERROR_STOP))
	{
		yield_row(batch);
		return;
	}
	if (ends_load(batch))
	{
		batch->guard->work = GUARD_NOT_ROW;
		ereport(ERROR,
				(errcode(batch->error.sqlstate),
				 errmsg_internal("%s", batch->error.message)));
	}
	if (spoiled && reader_recover(reader, batch->next,
								  batch->conv->nexpected) == READER_AGAIN)
		return;
	if (batch->conv->skipped)
	{
		pass_row(batch);
		return;
	}
	reject_row(batch);
	batch->next++;
	batch->counted = false;
}

/*
 * Whether an error may be due to parallel mode: raised by a function that
 * writes although it is marked parallel safe.  Many input functions raise
 * internal errors; hardly any write.
 */
static bool
may_be_of_parallel_mode(const Batch *batch, int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_INVALID_TRANSACTION_STATE:
			return true;
		case ERRCODE_INTERNAL_ERROR:
			return batch->conv->input_column < 0;
		default:
			return false;
	}
}

/* Handles an error that was caught by the guard. */
static void
caught_error(Batch *batch, ErrorData *edata)
{
	RowError   *error = &batch->error;
	Converter  *conv = batch->conv;
	const Column *column = conv->input_column >= 0 ? &conv->columns[conv->input_column] : NULL;

	if (batch->limited && may_be_of_parallel_mode(batch, edata->sqlerrcode))
	{
		yield_row(batch);
		return;
	}
	if (batch->options->on_error == BULK_ON_ERROR_SET_NULL &&
		convert_null_asked(conv))
	{
		/* the same row again, with NULL for the value */
		return;
	}

	memset(error, 0, sizeof(*error));
	error->column = edata->column_name;
	if (column != NULL)
	{
		error->column = column->name;
		error->value = convert_asked_text(conv);
		error->swallowed = convert_is_swallowed(column, conv->input_text);
		convert_end_input(conv);
	}
	error->reason = guard_reject_reason(edata->sqlerrcode);
	error->sqlstate = edata->sqlerrcode;
	error->message = edata->message;
	bad_row(batch);
}

/* ---- good rows ---- */

/* Whether options transform and where accept the row. */
static bool
passes_filter(Batch *batch)
{
	ExprContext *econtext = GetPerTupleExprContext(batch->writer->estate);
	bool		passes;

	if (batch->conv->suppressed || batch->where == NULL)
		return !batch->conv->suppressed;
	econtext->ecxt_scantuple = batch->writer->slot;
	guard_enter(batch->guard);
	passes = ExecQual(batch->where, econtext);
	guard_leave(batch->guard, batch->where_volatile);
	return passes;
}

/* Reports the values of a stored row that on_error = set_null made NULL. */
static void
report_nulled(Batch *batch)
{
	const Converter *conv = batch->conv;
	const Reader *reader = batch->reader;
	Reject		value = {
		.file = reader->source->path,
		.file_number = reader->source->current,
		.line = reader_line(reader, batch->next),
		.offset = reader_offset(reader, batch->next)
	};

	for (int i = 0; i < conv->ncolumns; i++)
	{
		if (!conv->nulled[i])
			continue;
		value.column = conv->columns[i].name;
		value.value = conv->nulled_text[i];
		batch->sink->nulled(batch->sink_arg, &value);
	}
}

/*
 * Counts n rows read, or, for limit_counts = loaded, n rows that passed all
 * checks before storage.
 */
static inline void
count_for_limit(Batch *batch, bool loaded, int64 n)
{
	if (batch->limit_left > 0 && batch->options->limit_loaded == loaded)
		batch->limit_left -= n;
}

int64
batch_rows_wanted(const Batch *batch)
{
	return batch->options->limit_loaded ? -1 : batch->limit_left;
}

bool
batch_finished(const Batch *batch)
{
	return batch->yielded || (batch->limit_left == 0 && !batch->counted);
}

/*
 * Skips one row.  Where it has several lines and is bad, these may be rows of their own, and they
 * are to be as many as they are for option limit: the next load goes on where that one has ended.
 */
static void
skip_row(Batch *batch)
{
	Converter  *conv = batch->conv;
	Reader	   *reader = batch->reader;
	const ScanRow *row = &reader->rows[batch->next];
	TupleTableSlot *slot = batch->writer->slot;

	if (row->fault == SCAN_FAULT_UNTERMINATED_QUOTE || (row->multiline && batch->err != NULL))
	{
		if (!conv->skipped)
			convert_next(conv);
		conv->skipped = true;
		ResetPerTupleExprContext(batch->writer->estate);
		ExecClearTuple(slot);
		if (!batch->convert_row(conv, reader->data, row, reader->fields, slot->tts_values,
								slot->tts_isnull, batch->err))
		{
			bad_row(batch);
			return;
		}
	}
	pass_row(batch);
}

/* ---- rows known to be bad ---- */

/* Reads the place of the next one; after the last, a place after all rows. */
static const JournalPlace *
find_known_bad(Batch *batch)
{
	MemoryContext old;

	if (batch->known_bad_found)
		return &batch->known_bad_next.place;
	MemoryContextReset(batch->known_bad_context);
	old = MemoryContextSwitchTo(batch->known_bad_context);
	if (!bad_rows_next(batch->known_bad, &batch->known_bad_next))
		batch->known_bad_next.place = (JournalPlace) {.file = INT_MAX};
	batch->known_bad_found = true;
	MemoryContextSwitchTo(old);
	return &batch->known_bad_next.place;
}

/* Raises the error for input that lacks a row known to be bad. */
static void
raise_changed(const Batch *batch)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("rows of \"%s\" are not those that were read before",
					encoding_path_text(batch->reader->source->path))));
}

void
batch_end_file(Batch *batch)
{
	if (batch->known_bad != NULL && !batch_finished(batch) &&
		find_known_bad(batch)->file <= batch->reader->source->current)
		raise_changed(batch);
}

/* How many of n rows, starting with the next, come before it. */
static int64
count_until_known_bad(Batch *batch, int64 n)
{
	const JournalPlace *place = find_known_bad(batch);
	int64		low = 0;

	if (place->file != batch->reader->source->current)
		return n;
	while (low < n)
	{
		int64		middle = (low + n) / 2;

		if (reader_offset(batch->reader, batch->next + middle) < place->offset)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* The error recorded for it in an earlier attempt. */
static RowError
known_bad_error(const Batch *batch)
{
	const BadRow *row = &batch->known_bad_next;

	return (RowError) {
		.reason = row->reason,
		.sqlstate = row->sqlstate,
		.message = row->message,
		.column = row->column,
		/* a duplicate's value is in the message */
		.value = row->reason == REJECT_DUPLICATE ? NULL : row->value
	};
}

/* Whether the current row is the next one. */
static bool
is_known_bad(Batch *batch)
{
	const JournalPlace *place = find_known_bad(batch);
	JournalPlace here = {
		.file = batch->reader->source->current,
		.offset = reader_offset(batch->reader, batch->next)
	};

	if (journal_is_before(&here, place))
		return false;
	if (here.file != place->file || here.offset != place->offset)
		raise_changed(batch);
	return true;
}

/*
 * Rejects it with the recorded error.  False: pass it to the writer, as before
 * a later row replaced it, it replaced others itself.
 */
static bool
reject_known_bad(Batch *batch)
{
	bool		displaced = batch->known_bad_next.reason == REJECT_DUPLICATE &&
		batch->options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW;

	bad_rows_put(batch->kept, &batch->known_bad_next);
	batch->known_bad_found = false;
	if (displaced)
	{
		batch->writer->clears = &batch->known_bad_next;
		batch->writer->duplicate = known_bad_error(batch);
		return false;
	}
	batch->error = known_bad_error(batch);
	reject_row(batch);
	count_for_limit(batch, true, 1);
	batch->next++;
	batch->counted = false;
	return true;
}

/* Takes one row from text to the writer. */
static void
take_row(Batch *batch)
{
	Reader	   *reader = batch->reader;
	Writer	   *writer = batch->writer;
	TupleTableSlot *slot = writer->slot;

	if (!batch->counted)
	{
		batch->rows_read++;
		count_for_limit(batch, false, 1);
		batch->counted = true;
		convert_next(batch->conv);
		writer->clears = NULL;
		if (unlikely(batch->known_bad != NULL) && is_known_bad(batch) && reject_known_bad(batch))
			return;
	}

	ResetPerTupleExprContext(writer->estate);
	ExecClearTuple(slot);
	if (!batch->convert_row(batch->conv, reader->data,
						   &reader->rows[batch->next], reader->fields,
						   slot->tts_values, slot->tts_isnull, batch->err) ||
		(batch->conv->extra != NULL && !batch->conv->suppressed &&
		 !extra_put(batch->conv, reader_line(reader, batch->next), slot->tts_values,
					slot->tts_isnull, batch->err)))
	{
		bad_row(batch);
		return;
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(batch->target->rel);

	if (batch->may_filter && !passes_filter(batch))
		batch->rows_filtered++;
	else
	{
		switch (writer->routine->put(writer, batch->next, batch->err))
		{
			case WRITER_TAKEN:
				batch->rows_loaded++;
				count_for_limit(batch, true, 1);
				if (unlikely(batch->conv->nnulled > 0))
					report_nulled(batch);
				break;
			case WRITER_FILTERED:
				batch->rows_filtered++;
				break;
			case WRITER_DELETED:
				batch->rows_deleted++;
				count_for_limit(batch, true, 1);
				break;
			case WRITER_DUPLICATE:
				batch->error = writer->duplicate;
				reject_row(batch);
				count_for_limit(batch, true, 1);
				break;
			case WRITER_LEFT:
				yield_row(batch);
				writer->current_row = -1;
				return;
			case WRITER_BAD:
				bad_row(batch);
				writer->current_row = -1;
				return;
		}
		writer->current_row = -1;
	}
	batch->next++;
	batch->counted = false;
}

/* The next n rows were read and taken. */
static void
count_taken(Batch *batch, int64 n)
{
	batch->rows_read += n;
	batch->rows_loaded += n;
	if (batch->limit_left > 0)
		batch->limit_left -= n;		/* both kinds of limit count them */
	batch->next += n;
}

/* An error has ended put_rows, of a writer that converts fields itself, at the current row. */
static void
leave_put_rows(Batch *batch)
{
	batch->in_put_rows = false;
	count_taken(batch, batch->writer->current_row - batch->next);
	batch->rows_read++;
	count_for_limit(batch, false, 1);
	batch->counted = true;
}

/* The fast path for runs of rows that only need to be stored; false if there are none. */
static bool
take_fast_path(Batch *batch)
{
	Reader	   *reader = batch->reader;
	Writer	   *writer = batch->writer;
	int64		n = reader->result.nrows - batch->next;

	if ((writer->former == NULL && !writer->takes_fields) || batch->counted)
		return false;
	if (batch->limit_left >= 0)
		n = Min(n, batch->limit_left);
	if (batch->known_bad != NULL)
		n = count_until_known_bad(batch, n);
	if (n == 0)
		return false;
	batch->in_put_rows = writer->takes_fields;
	n = writer->routine->put_rows(writer, reader->data, reader->rows,
								  reader->fields, batch->next, n);
	batch->in_put_rows = false;
	count_taken(batch, n);
	return n > 0;
}

/*
 * Reports progress within the batch: after each row if rows are slow, otherwise
 * less often to save clock calls.
 */
static void
report_working(Batch *batch)
{
	instr_time	now;

	if (batch->sink->working == NULL || batch->unreported++ < batch->report_interval)
		return;
	batch->unreported = 0;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, batch->reported);
	if (INSTR_TIME_GET_DOUBLE(now) < REPORT_SECONDS)
	{
		batch->report_interval = Min(2 * batch->report_interval + 1, MAX_REPORT_INTERVAL);
		return;
	}
	INSTR_TIME_SET_CURRENT(batch->reported);
	batch->report_interval = 0;
	batch->sink->working(batch->sink_arg);
}

/* Processes the rows of a batch until one raises an error. */
static void
run_rows(void *arg)
{
	Batch	   *batch = arg;

	while (batch->next < batch->reader->result.nrows && !batch_finished(batch))
	{
		CHECK_FOR_INTERRUPTS();
		if (unlikely(batch->skip_left > 0))
			skip_row(batch);
		else if (!take_fast_path(batch))
			take_row(batch);
		report_working(batch);
	}
}

void
batch_run(Batch *batch)
{
	Reader	   *reader = batch->reader;
	int64		wanted = batch_rows_wanted(batch);

	if (batch->conv->routine->begin_batch != NULL)
		batch->conv->routine->begin_batch(batch->conv, reader);
	if (batch->conv->extra != NULL && extra_begin_batch(batch->conv, reader, batch->load_id) &&
		batch->writer->former != NULL)
		form_set_extras(batch->writer->former);
	if (!batch->limited)
		convert_expect(batch->conv, wanted < 0 ? reader->result.nrows :
					   Min(reader->result.nrows, wanted));

	batch->next = 0;
	while (batch->next < reader->result.nrows && !batch_finished(batch))
	{
		ErrorData  *edata = guard_run(batch->guard, run_rows, batch);

		if (batch->in_put_rows)
			leave_put_rows(batch);
		batch->writer->current_row = -1;
		if (batch->guard->refused)
			yield_row(batch);
		else if (edata != NULL)
		{
			if (batch->sink->caught != NULL)
				batch->sink->caught(batch->sink_arg);
			caught_error(batch, edata);
		}
	}
	guard_close(batch->guard);
	batch->writer->routine->flush(batch->writer);
}
