/*
 * load.c
 *		One load from start to end.
 *
 *		options -> target -> reader -> convert -> write -> result
 *
 * Rows come in batches (reader.h).  Each row of a batch is converted,
 * filtered and given to the writer; before the next batch the writer
 * flushes, so that whatever points into the window is done with.
 *
 * Under on_error = stop a bad row raises its error where it is found.  Else
 * the functions that judge rows fill load->error, and what others' code
 * throws is caught by the guard; both ways end in reject_row.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/instrument.h"
#include "executor/spi.h"
#include "input/reader.h"
#include "load.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "progress.h"
#include "result.h"
#include "row/convert.h"
#include "row/guard.h"
#include "target.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "write/writer.h"

#define MAX_CONTEXT_TEXT 100	/* bytes of a value or line shown in CONTEXT */

int			load_chunk_size = 1024 * 1024;

typedef bool (*ConvertRow) (Converter *conv, const char *data,
							const ScanRow *row, const ScanField *fields,
							Datum *values, bool *nulls, RowError *err);

typedef struct Load
{
	/* for the whole load */
	const BulkOptions *options;
	LoadResult *result;
	Target	   *target;
	Source	   *source;
	Reader	   *reader;
	RejectStream *rejects;
	Writer	   *writer;
	Guard		guard;
	Progress	progress;
	ExprState  *where;
	bool		where_volatile;
	ConvertRow	convert_row;
	int64		skip_left;
	int64		limit_left;		/* -1: no limit */
	StringInfoData first_header;	/* of the first file, with header = map */
	ErrorContextCallback callback;

	/* for one file */
	MemoryContext file_context;
	Converter  *conv;

	/* for one batch */
	uint32		next;			/* row to deal with next */

	/* for one row */
	bool		counted;		/* in rows_read; it may come again */
	RowError	error;
	RowError   *err;			/* &error, or NULL to have errors raised */
} Load;

/* ---- where in the file an error was ---- */

/* At most MAX_CONTEXT_TEXT bytes of text, for a message. */
static char *
clip(const char *text, Size len)
{
	StringInfoData buf;
	int			shown = pg_mbcliplen(text, Min(len, 2 * MAX_CONTEXT_TEXT),
									 MAX_CONTEXT_TEXT);

	initStringInfo(&buf);
	appendBinaryStringInfo(&buf, text, shown);
	if (shown < len)
		appendStringInfoString(&buf, "...");
	return buf.data;
}

/* The row's bytes, if they can be shown as text. */
static char *
row_text(Load *load, const ScanRow *row)
{
	const char *raw = load->reader->data + row->start;
	Size		len = Min(row->end - row->start, 4 * MAX_CONTEXT_TEXT);

	if (load->reader->binary || load->conv == NULL ||
		load->conv->encoding.transcode)
		return NULL;
	len = encoding_valid_prefix(&load->conv->encoding, raw, len);
	return clip(raw, len);
}

static void
error_callback(void *arg)
{
	Load	   *load = arg;
	const char *name = target_name(load->target);
	const Converter *conv = load->conv;
	uint32		index = load->next;
	const char *path;
	int64		line;

	/* what the writer does with an earlier row of the batch */
	if (load->writer != NULL && load->writer->current_row >= 0)
		index = load->writer->current_row;

	if (load->source->path == NULL)
	{
		errcontext("bulk_load of %s", name);
		return;
	}
	path = encoding_path_text(load->source->path);
	if (index >= load->reader->result.nrows)
	{
		errcontext("bulk_load of %s, file \"%s\"", name, path);
		return;
	}

	line = reader_line(load->reader, index);
	if (conv != NULL && conv->asking >= 0)
	{
		const char *column = conv->columns[conv->asking].name;

		if (conv->asking_text == NULL)
			errcontext("bulk_load of %s, file \"%s\", line %lld, column %s: null input",
					   name, path, (long long) line, column);
		else if (convert_asked_text(conv) == NULL)
			errcontext("bulk_load of %s, file \"%s\", line %lld, column %s",
					   name, path, (long long) line, column);
		else
			errcontext("bulk_load of %s, file \"%s\", line %lld, column %s: \"%s\"",
					   name, path, (long long) line, column,
					   clip(conv->asking_text, strlen(conv->asking_text)));
	}
	else
	{
		char	   *text = row_text(load, &load->reader->rows[index]);

		if (text != NULL)
			errcontext("bulk_load of %s, file \"%s\", line %lld: \"%s\"",
					   name, path, (long long) line, text);
		else
			errcontext("bulk_load of %s, file \"%s\", line %lld",
					   name, path, (long long) line);
	}
}

/* ---- bad rows ---- */

/* Bytes of the row without a line end that a broken quote has swallowed. */
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

/* Gives the bad row to the reject stream. */
static void
reject_row(Load *load)
{
	Reader	   *reader = load->reader;
	const ScanRow *row = &reader->rows[load->next];
	const RowError *error = &load->error;
	Reject		reject = {
		.reason = error->reason,
		.sqlstate = error->sqlstate,
		.message = error->message,
		.column = error->column,
		.value = error->value,
		.file = load->source->path,
		.line = reader_line(reader, load->next),
		.offset = reader_offset(reader, load->next),
		.raw = reader->data + row->start,
		.raw_len = row_length(reader->data, row),
		.raw_full_len = row->next - row->start,
	};

	/* too many bad rows are no bad row */
	load->guard.work = GUARD_OWN_WORK;
	rejects_add(load->rejects, &reject);
	load->guard.work = GUARD_EXPRESSION;
}

/*
 * A value with a line end that its type cannot have tells of a broken quote;
 * but where rows have one field only, anything may look like a row.
 */
static inline bool
is_swallowing(const Load *load)
{
	return load->error.swallowed && load->conv->ncolumns > 1;
}

/*
 * The row was found bad and load->error says why.  If quotes have spoiled it
 * there may be good rows among what it swallowed.
 */
static void
bad_row(Load *load)
{
	Reader	   *reader = load->reader;
	const ScanRow *row = &reader->rows[load->next];

	if (row->fault == SCAN_FAULT_UNTERMINATED_QUOTE ||
		(row->multiline && (row->lax || is_swallowing(load))))
	{
		if (reader_recover(reader, load->next,
						   load->conv->ncolumns) == READER_AGAIN)
			return;
	}
	reject_row(load);
	load->next++;
	load->counted = false;
}

/* An error was thrown under the guard. */
static void
caught_error(Load *load, ErrorData *edata)
{
	RowError   *error = &load->error;
	Converter  *conv = load->conv;
	const Column *column = conv->asking >= 0 ? &conv->columns[conv->asking] : NULL;

	if (load->options->on_error == BULK_ON_ERROR_SET_NULL &&
		convert_null_asked(conv))
	{
		/* the same row again, with a NULL there */
		return;
	}

	memset(error, 0, sizeof(*error));
	error->column = edata->column_name;
	if (column != NULL)
	{
		error->column = column->name;
		error->value = convert_asked_text(conv);
		error->swallowed = convert_is_swallowed(column, conv->asking_text);
		convert_end_asking(conv);
	}
	if (edata->sqlerrcode == ERRCODE_CHARACTER_NOT_IN_REPERTOIRE ||
		edata->sqlerrcode == ERRCODE_UNTRANSLATABLE_CHARACTER)
		error->reason = REJECT_ENCODING;
	else if (ERRCODE_TO_CATEGORY(edata->sqlerrcode) == ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION)
		error->reason = REJECT_CONSTRAINT;
	else
		error->reason = REJECT_VALUE;
	error->sqlstate = edata->sqlerrcode;
	error->message = edata->message;
	bad_row(load);
}

/* ---- good rows ---- */

/* Whether the row passes option where. */
static bool
passes_where(Load *load)
{
	ExprContext *econtext = GetPerTupleExprContext(load->writer->estate);
	bool		passes;

	econtext->ecxt_scantuple = load->writer->slot;
	guard_open(&load->guard);
	passes = ExecQual(load->where, econtext);
	if (load->where_volatile)
		guard_close(&load->guard);
	return passes;
}

/* The values that set_null has made NULL, of a row that got in. */
static void
report_nulled(Load *load)
{
	Converter  *conv = load->conv;

	for (int i = 0; i < conv->ncolumns; i++)
		if (conv->nulled[i])
			rejects_set_null(load->rejects, conv->columns[i].name,
							 conv->nulled_text[i], load->source->path,
							 reader_line(load->reader, load->next));
}

/* Option limit is reached, and no row is waiting to come again. */
static inline bool
is_finished(const Load *load)
{
	return load->limit_left == 0 && !load->counted;
}

/*
 * Passes over rows at the start; true if the row is one of them.  One that a
 * quote has made swallow the rest of the file must not take that along.
 */
static bool
skip_row(Load *load)
{
	const ScanRow *row = &load->reader->rows[load->next];

	if (load->skip_left == 0)
		return false;
	if (row->fault == SCAN_FAULT_UNTERMINATED_QUOTE)
	{
		if (load->err == NULL)
			convert_fault(load->conv, row, NULL);
		if (reader_recover(load->reader, load->next,
						   load->conv->ncolumns) == READER_AGAIN)
			return true;
	}
	load->skip_left--;
	load->next++;
	return true;
}

/* One row, from text to the writer. */
static void
load_row(Load *load)
{
	Reader	   *reader = load->reader;
	Writer	   *writer = load->writer;
	TupleTableSlot *slot = writer->slot;
	LoadResult *result = load->result;

	if (!load->counted)
	{
		if (unlikely(skip_row(load)))
			return;
		result->rows_read++;
		if (load->limit_left > 0)
			load->limit_left--;
		load->counted = true;
		convert_next(load->conv);
	}

	ResetPerTupleExprContext(writer->estate);
	ExecClearTuple(slot);
	if (!load->convert_row(load->conv, reader->data,
						   &reader->rows[load->next], reader->fields,
						   slot->tts_values, slot->tts_isnull, load->err))
	{
		bad_row(load);
		return;
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(load->target->rel);

	if (load->where != NULL && !passes_where(load))
		result->rows_filtered++;
	else
	{
		switch (writer->routine->put(writer, load->next, load->err))
		{
			case WRITER_TAKEN:
				result->rows_loaded++;
				if (unlikely(load->conv->nnulled > 0))
					report_nulled(load);
				break;
			case WRITER_FILTERED:
				result->rows_filtered++;
				break;
			case WRITER_BAD:
				bad_row(load);
				writer->current_row = -1;
				return;
		}
		writer->current_row = -1;
	}
	load->next++;
	load->counted = false;
}

/* Several rows that need no more than to be stored; false: there is none. */
static bool
take_short_road(Load *load)
{
	Reader	   *reader = load->reader;
	Writer	   *writer = load->writer;
	int64		n = reader->result.nrows - load->next;

	if (writer->former == NULL || load->counted || load->skip_left > 0)
		return false;
	if (load->limit_left >= 0)
		n = Min(n, load->limit_left);
	n = writer->routine->put_rows(writer, reader->data, reader->rows,
								  reader->fields, load->next, n);
	load->result->rows_read += n;
	load->result->rows_loaded += n;
	if (load->limit_left > 0)
		load->limit_left -= n;
	load->next += n;
	return n > 0;
}

/* The rows of a batch, until one throws. */
static void
load_rows(void *arg)
{
	Load	   *load = arg;

	while (load->next < load->reader->result.nrows && !is_finished(load))
	{
		CHECK_FOR_INTERRUPTS();
		if (!take_short_road(load))
			load_row(load);
	}
}

static void
show_progress(Load *load)
{
	progress_update(&load->progress, load->source->bytes_done,
					load->result->rows_loaded, load->result->rows_filtered,
					rejects_total(load->rejects));
}

static void
load_batch(Load *load)
{
	Reader	   *reader = load->reader;

	if (!reader->binary)
		convert_window(load->conv, reader->data, reader->result.consumed);

	load->next = 0;
	while (load->next < reader->result.nrows && !is_finished(load))
	{
		ErrorData  *edata = guard_run(&load->guard, load_rows, load);

		load->writer->current_row = -1;
		if (edata != NULL)
		{
			/* the end of a subtransaction hides it */
			show_progress(load);
			caught_error(load, edata);
		}
	}
	guard_close(&load->guard);
	load->writer->routine->flush(load->writer);
	rejects_flush(load->rejects);
	show_progress(load);
	load->next = PG_UINT32_MAX;
}

/* ---- header ---- */

/* The field's text as a name, or NULL for a null marker. */
static char *
header_name(Load *load, const ScanField *field)
{
	uint32		len;
	const char *text;

	if (convert_is_null(load->conv, load->reader->data, field))
		return NULL;
	text = convert_field_text(load->conv, load->reader->data, field, &len, NULL);
	return pnstrdup(text, len);
}

/* header = match: the names are those of the columns, in order. */
static void
match_header(Load *load, const ScanRow *row)
{
	Converter  *conv = load->conv;
	int			nfields = row ? row->nfields : 1;

	if (nfields != conv->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("wrong number of fields in header line: got %d, expected %d",
						nfields, conv->ncolumns)));

	for (int i = 0; i < nfields; i++)
	{
		const char *expected = conv->columns[i].name;
		char	   *name;

		if (expected == NULL)
			continue;
		name = row ? header_name(load, &load->reader->fields[row->first_field + i]) : NULL;
		if (name == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("column name mismatch in header line field %d: got null value, expected \"%s\"",
							i + 1, expected)));
		if (strcmp(name, expected) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("column name mismatch in header line field %d: got \"%s\", expected \"%s\"",
							i + 1, name, expected),
					 errhint("To find columns by their names in any order, set option \"header\" to \"map\".")));
	}
}

/* header = map: the names say what the fields are. */
static void
map_header(Load *load, const ScanRow *row)
{
	List	   *names = NIL;

	if (row == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("file \"%s\" has no header line", load->source->path)));

	for (int i = 0; i < row->nfields; i++)
	{
		char	   *name = header_name(load, &load->reader->fields[row->first_field + i]);

		if (name == NULL && !load->options->ignore_extra)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("header line field %d has no name", i + 1),
					 errhint("To pass over such columns, set option \"extra_columns\" to \"ignore\".")));
		if (name != NULL &&
			target_find_column(load->target, name) == InvalidAttrNumber)
		{
			if (!load->options->ignore_extra)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_COLUMN),
						 errmsg("column \"%s\" of the header line does not exist in relation \"%s\"",
								name, target_name(load->target)),
						 errhint("To pass over such columns, set option \"extra_columns\" to \"ignore\".")));
			name = NULL;
		}
		names = lappend(names, name);
	}
	target_set_columns(load->target, names);
}

/* A header line is no row, but it must be readable all the same. */
static void
check_header_row(Load *load, const ScanRow *row)
{
	Converter  *conv = load->conv;
	const char *data = load->reader->data;

	convert_window(conv, data, load->reader->result.consumed);
	if (row->fault != SCAN_FAULT_NONE)
		convert_fault(conv, row, NULL);
	if (conv->encoding.transcode)
	{
		ScanField	line = {.start = row->start, .length = row->end - row->start};
		uint32		len;

		(void) convert_field_text(conv, data, &line, &len, NULL);
	}
	if (row->end > conv->valid)
		encoding_report(&conv->encoding, data + conv->valid,
						row->end - conv->valid, NULL);
}

/*
 * The reject file begins as the input files do.  With header = map it can
 * hold the rows of several files only where their columns are the same.
 */
static void
keep_header(Load *load, const char *raw, Size len)
{
	StringInfo	first = &load->first_header;

	rejects_header(load->rejects, raw, len);
	if (load->options->header != BULK_HEADER_MAP ||
		load->options->reject_file == NULL)
		return;
	if (load->source->current == 0)
		appendBinaryStringInfo(first, raw, len);
	else if (len != first->len || memcmp(raw, first->data, len) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"reject_file\" cannot take rows of files with different header lines"),
				 errhint("Load the files one by one, or use option \"reject_table\".")));
}

static void
read_header(Load *load)
{
	const BulkOptions *options = load->options;
	Reader	   *reader = load->reader;
	int			lines = options->header == BULK_HEADER_SKIP ?
		options->header_lines : 1;
	StringInfoData raw;

	initStringInfo(&raw);
	for (int i = 0; i < lines; i++)
	{
		const ScanRow *row = NULL;

		if (reader_rows(reader, 1, false))
		{
			row = &reader->rows[0];
			load->next = 0;
			check_header_row(load, row);
			appendBinaryStringInfo(&raw, reader->data + row->start,
								   row->next - row->start);
		}
		if (options->header == BULK_HEADER_MATCH)
			match_header(load, row);
		else if (options->header == BULK_HEADER_MAP)
			map_header(load, row);
		load->next = PG_UINT32_MAX;
	}
	keep_header(load, raw.data, raw.len);
}

/* ---- files ---- */

static void
open_converter(Load *load)
{
	load->conv = convert_open(load->options, load->target, &load->guard,
							  load->writer->estate);
	load->writer->one_by_one = load->conv->volatile_defaults ||
		load->where_volatile;
	load->writer->former = NULL;
	if (load->writer->plain && !load->writer->one_by_one && load->where == NULL)
		load->writer->former = form_open(load->conv, load->writer->model);
}

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

static void
load_one_file(Load *load)
{
	MemoryContext context = MemoryContextSwitchTo(load->file_context);

	open_converter(load);
	if (load->reader->binary)
		rejects_header(load->rejects, load->source->window.data,
					   load->reader->done);
	if (load->options->header != BULK_HEADER_SKIP ||
		load->options->header_lines > 0)
		read_header(load);
	if (load->options->header == BULK_HEADER_MAP)
		open_converter(load);

	while (!is_finished(load) &&
		   reader_rows(load->reader, load->reader->max_rows, load->guard.enabled))
		load_batch(load);

	check_trailing(load);
	load->conv = NULL;
	MemoryContextSwitchTo(context);
	MemoryContextReset(load->file_context);
}

static void
load_files(Load *load)
{
	while (!is_finished(load) && reader_next_file(load->reader))
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

/* The writer that options ask for. */
static Writer *
open_writer(Load *load)
{
	const BulkOptions *options = load->options;
	const char *refusal;

	if (options->writer != BULK_WRITER_DIRECT)
		return buffered_open(load->target, options, &load->guard);

	refusal = direct_refusal(load->target->rel, options);
	if (refusal != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("writer \"direct\" cannot load into \"%s\"",
						target_name(load->target)),
				 errdetail("The reason is that %s.", refusal),
				 errhint("Use writer \"buffered\", or leave the choice to \"auto\".")));
	return direct_open(load->target, options, &load->guard);
}

static void
load_begin(Load *load, Oid relid, List *paths)
{
	const BulkOptions *options = load->options;

	load->result->started = GetCurrentTimestamp();
	load->source = source_open(paths, load_chunk_size);
	load->target = target_open(relid, options);

	load->callback.callback = error_callback;
	load->callback.arg = load;
	load->callback.previous = error_context_stack;
	error_context_stack = &load->callback;

	load->rejects = rejects_open(options, load->target->rel,
								 target_name(load->target),
								 load->result->load_id, paths);
	progress_begin(&load->progress, relid, load->source->bytes_total, false);

	if (rejects_accepting(load->rejects))
		guard_enable(&load->guard);
	load->err = load->guard.enabled ? &load->error : NULL;
	load->reader = reader_open(load->source, options);
	load->convert_row = options->format == BULK_BINARY ?
		convert_binary_row : convert_row;
	load->skip_left = options->skip;
	load->limit_left = options->limit;
	load->next = PG_UINT32_MAX;
	initStringInfo(&load->first_header);

	load->writer = open_writer(load);
	load->result->writer = load->writer->routine->name;
	check_columns(load);
	if (load->target->where != NIL)
	{
		load->where = ExecInitQual(load->target->where, NULL);
		load->where_volatile =
			contain_volatile_functions((Node *) load->target->where);
	}
}

/* ANALYZE of the loaded table. */
static void
analyze_target(const Target *target)
{
	char	   *command;

	command = psprintf("ANALYZE %s",
					   quote_qualified_identifier(get_namespace_name(RelationGetNamespace(target->rel)),
												  target_name(target)));
	CommandCounterIncrement();
	if (SPI_connect() != SPI_OK_CONNECT ||
		SPI_execute(command, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not analyze the target");
	SPI_finish();
}

static void
load_end(Load *load)
{
	LoadResult *result = load->result;

	progress_phase(&load->progress, BULK_PHASE_CONSTRAINTS);
	load->writer->routine->close(load->writer);
	load->writer = NULL;
	result->bytes_read = load->source->bytes_done;
	result->rows_rejected = rejects_total(load->rejects);
	rejects_close(load->rejects, result->rows_read);

	if (load->options->analyze)
	{
		progress_phase(&load->progress, BULK_PHASE_ANALYZING);
		analyze_target(load->target);
	}
	progress_end(&load->progress);
	error_context_stack = load->callback.previous;
	target_close(load->target);
	CommandCounterIncrement();
}

void
load_run(Oid relid, List *paths, const BulkOptions *options, int64 load_id,
		 LoadResult *result)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context;
	LoadTimes	times = {0};
	Load	   *load;

	context = AllocSetContextCreate(caller, "bulk_load", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	load = palloc0(sizeof(Load));
	load->options = options;
	load->result = result;
	load->file_context = AllocSetContextCreate(context, "bulk_load file",
											   ALLOCSET_DEFAULT_SIZES);
	memset(result, 0, sizeof(*result));
	result->load_id = load_id;

	times.wal_before = pgWalUsage.wal_bytes;
	INSTR_TIME_SET_CURRENT(times.start);
	load_begin(load, relid, paths);
	progress_phase(&load->progress, BULK_PHASE_READING);
	INSTR_TIME_SET_CURRENT(times.reading);
	load_files(load);
	INSTR_TIME_SET_CURRENT(times.ending);
	load_end(load);
	INSTR_TIME_SET_CURRENT(times.done);
	result->finished = GetCurrentTimestamp();

	MemoryContextSwitchTo(caller);
	result->details = result_details(result, &times, paths, load->rejects);
	MemoryContextDelete(context);
}
