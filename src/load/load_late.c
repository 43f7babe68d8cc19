/*
 * load_late.c
 *		Rows that are set aside after the writer has taken them, and errors about such rows.
 */
#include "postgres.h"

#include "access/xact.h"
#include "index/failed_row.h"
#include "load/load_parts.h"
#include "miscadmin.h"

/* Rows that counted as loaded are not.  Beside workers the batch is that of a chunk. */
static void
take_back(Load *load, int64 rows)
{
	if (IsInParallelMode())
		load->late.taken_back += rows;
	else
		load->batch.rows_loaded -= rows;
}

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

	if (raw != NULL)
		batch_show_raw(&load->batch, place->length, &reject);
	take_back(load, 1);
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
		take_back(load, 1);
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
		take_back(load, rows);
	rejects_count_duplicates(load->rejects, file, reason, rows);
}

static void
count_other(void *arg, int file, bool deleted, int64 rows)
{
	Load	   *load = arg;

	take_back(load, rows);
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

LateDuplicates
load_late(Load *load)
{
	return (LateDuplicates) {
		.unseen = unseen_duplicates,
		.reject = reject_duplicate,
		.reject_bad = reject_bad,
		.set_null = set_null,
		.room = room_for_rejects,
		.count = count_duplicates,
		.count_other = count_other,
		.arg = load
	};
}

/* ---- errors ---- */

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

void
load_by_place(void *arg, void (*work) (void *), void *work_arg)
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
