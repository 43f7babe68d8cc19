/*
 * reader.c
 *		Windows to batches of rows; see reader.h.
 */
#include "postgres.h"

#include "format/reader.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * The most rows of a batch, and the initial number of fields; fewer for a small
 * window.
 */
#define MAX_ROWS (64 * 1024)
#define MIN_ROWS 64
#define FEW_BYTES (64 * 1024)
#define FIELDS_PER_ROW 4
#define RECOVERY_ROWS 32		/* in the first batch after a broken quote */

/*
 * At least as many as a window has of usual length.  Where there are few bytes,
 * memory for rows as short as they may be would cost more than the load.
 */
static uint32
rows_at_a_time(const Source *source)
{
	int64		bytes = source->window.capacity;

	if (source->bytes_total > 0)
		bytes = Min(bytes, source->bytes_total);
	return Min(Max(bytes / (bytes < FEW_BYTES ? 16 : 4), MIN_ROWS), MAX_ROWS);
}

Reader *
reader_open(Source *source, const BulkOptions *options)
{
	Reader	   *reader = palloc0(sizeof(Reader));

	reader->source = source;
	reader->context = CurrentMemoryContext;
	reader->options = options;
	reader->routine = format_routine(options);
	reader->dialect = options_dialect(options);
	if (reader->routine->by_shape)
	{
		Encoding	encoding;

		encoding_open(&encoding, options->encoding);
		reader->shape_mblen = encoding.shape_mblen;
	}

	reader->max_rows = reader->batch_rows = rows_at_a_time(source);
	reader->rows = palloc(sizeof(ScanRow) * reader->max_rows);
	reader->max_fields = FIELDS_PER_ROW * reader->max_rows;
	reader->fields = palloc(sizeof(ScanField) * reader->max_fields);
	return reader;
}

/* Moves the window past the batches that have been read. */
static void
advance(Reader *reader)
{
	uint32		consumed = reader->done;
	uint32		lines = reader->done_lines;

	/* errors of reading tell the place */
	reader->done = reader->done_lines = 0;
	window_fill(reader->source, consumed, lines);
}

bool
reader_next_file(Reader *reader)
{
	reader->eol = reader->routine->first_eol(reader->options, reader->source->bare);
	reader->ended = false;
	reader->trailing = 0;
	memset(&reader->result, 0, sizeof(reader->result));
	reader->result.status = SCAN_FULL;
	reader->done = reader->done_lines = 0;

	if (!source_next(reader->source))
		return false;
	window_fill(reader->source, 0, 0);
	reader->done = reader->routine->begin_file(reader);
	return true;
}

void
reader_begin_columns(Reader *reader, const Target *target)
{
	if (reader->routine->begin_columns != NULL)
		reader->routine->begin_columns(reader, target);
}

void
reader_take_chunk(Reader *reader, ScanEol eol)
{
	reader->chunked = true;
	reader->eol = eol;
	reader->ended = false;
	reader->done = reader->done_lines = 0;
	memset(&reader->result, 0, sizeof(reader->result));
	reader->result.status = SCAN_FULL;
}

void
reader_place(const Reader *reader, int64 *offset, int64 *line)
{
	const Window *window = &reader->source->window;

	*offset = window->offset + reader->done;
	*line = window->line + reader->done_lines;
	if (reader->result.status == SCAN_MARKER)
	{
		/* it is alone on the last line */
		*offset = reader->result.nrows == 0 ? reader->offset :
			reader->offset + reader->rows[reader->result.nrows - 1].next;
		*line -= 1;
	}
}

void
reader_seek(Reader *reader, int64 offset, int64 line)
{
	source_seek(reader->source, offset, line);
	reader->chunked = false;
	reader->done = reader->done_lines = 0;
	memset(&reader->result, 0, sizeof(reader->result));
	reader->result.status = SCAN_MORE;
}

/* What is scanned: the window's bytes, or their shape. */
static const char *
scan_input(Reader *reader)
{
	const Window *window = &reader->source->window;
	uint32		length = window->length - reader->done;
	Size		needed = (Size) length + SCAN_PADDING;

	if (reader->shape_mblen == NULL)
		return window->data + reader->done;

	if (needed > reader->shape_size)
	{
		if (reader->shape != NULL)
			pfree(reader->shape);
		reader->shape_size = (Size) window->capacity + SCAN_PADDING;
		reader->shape = MemoryContextAllocHuge(reader->context,
											   reader->shape_size);
		memset(reader->shape, 0, reader->shape_size);
	}
	scan_shape(window->data + reader->done, length, reader->shape_mblen,
			   reader->shape);
	return reader->shape;
}

static void
scan(Reader *reader, uint32 max_rows)
{
	const Window *window = &reader->source->window;
	uint32		length = window->length - reader->done;

	max_rows = Min(max_rows, reader->batch_rows);
	reader->data = window->data + reader->done;
	reader->offset = window->offset + reader->done;
	reader->line = window->line + reader->done_lines;
	reader->routine->find_rows(reader, scan_input(reader), length, max_rows);
	reader->done += reader->result.consumed;
	reader->done_lines += reader->result.lines;
}

bool
reader_begins_with(Reader *reader, uint32 begin, ScanEol eol)
{
	reader->eol = reader->routine->first_eol(reader->options, false);
	reader->done = begin;
	reader->done_lines = 0;
	scan(reader, 1);
	return reader->eol == eol;
}

/* A row has more fields than the array holds. */
static void
grow_fields(Reader *reader)
{
	Size		size;

	reader->max_fields *= 2;
	size = sizeof(ScanField) * (Size) reader->max_fields;
	pfree(reader->fields);
	reader->fields = MemoryContextAllocHuge(reader->context, size);
}

/* Line ends of the file's kind in [from, to) of the batch's bytes. */
static uint32
count_lines(const Reader *reader, uint32 from, uint32 to)
{
	return scan_count_lines(reader->eol, reader->data + from, to - from);
}

/*
 * The unfinished row that fills the largest window, as a damaged row of all its
 * whole lines.
 */
static void
break_off(Reader *reader)
{
	const Window *window = &reader->source->window;
	ScanRow    *row = &reader->rows[0];
	char		eol = reader->eol == SCAN_EOL_CR ? '\r' : '\n';
	char		other = reader->eol == SCAN_EOL_ANY ? '\r' : eol;
	uint32		end = window->length;

	/* the last byte may be half of a line end */
	while (end > 0 && ((window->data[end - 1] != eol && window->data[end - 1] != other) ||
					   (end == window->length && other != eol)))
		end--;
	if (end == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("line is longer than 2 GB")));

	memset(row, 0, sizeof(*row));
	row->end = row->next = end;
	row->fault = SCAN_FAULT_UNTERMINATED_QUOTE;
	row->multiline = row->lax = true;
	reader->data = window->data;
	reader->offset = window->offset;
	reader->line = window->line;
	reader->result.nrows = 1;
	reader->result.consumed = end;
	reader->result.status = SCAN_FULL;
	reader->done = end;
	reader->done_lines = count_lines(reader, 0, end);
}

bool
reader_rows(Reader *reader, uint32 max_rows, bool forgiving)
{
	const Window *window = &reader->source->window;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();

		switch (reader->result.status)
		{
			case SCAN_END:
				return false;
			case SCAN_MARKER:
				reader->ended = true;
				if (!reader->chunked)
					reader->trailing = source_rest(reader->source,
												   window->offset + reader->done);
				return false;
			case SCAN_FULL:
				break;
			case SCAN_MORE:
				if (reader->chunked)
					return false;
				if (forgiving && reader->done == 0 && reader->routine->recover != NULL &&
					window->length >= SCAN_MAX_WINDOW)
				{
					break_off(reader);
					return true;
				}
				advance(reader);
				break;
		}

		scan(reader, max_rows);
		reader->batch_rows = Min(reader->batch_rows * 4, reader->max_rows);
		if (reader->result.nrows > 0)
			return true;
		if (reader->result.status == SCAN_FULL)
			grow_fields(reader);
	}
}

/*
 * The batch ends with row number index, which now ends at an offset, or before
 * it; so do the bytes and lines that it has consumed.
 */
static void
end_batch(Reader *reader, uint32 index, uint32 end, bool with)
{
	const Window *window = &reader->source->window;
	ScanRow    *row = &reader->rows[index];

	reader->done = reader->data + end - window->data;
	reader->done_lines = reader->line - window->line + row->line +
		count_lines(reader, row->start, end);
	reader->result.nrows = index + (with ? 1 : 0);
	reader->result.status = with ? SCAN_FULL : SCAN_MORE;
	if (!with)
		return;
	row->next = row->end = end;
	while (row->end > row->start &&
		   (reader->data[row->end - 1] == '\n' ||
			reader->data[row->end - 1] == '\r'))
		row->end--;

	/* where one quote is misplaced others are: do not scan far for nothing */
	reader->batch_rows = RECOVERY_ROWS;
}

/* What a row that is to be cut was to the options. */
static int
joined_kind(const ScanRow *row, int nfields)
{
	/* with the same quote it is never read */
	if (row->fault == SCAN_FAULT_UNTERMINATED_QUOTE)
		return 0;
	if (nfields == 0 || row->nfields == (uint32) nfields)
		return READER_JOINED_FULL;
	return row->nfields < (uint32) nfields ? READER_JOINED_SHORT : READER_JOINED_LONG;
}

ReaderRecovery
reader_recover(Reader *reader, uint32 index, int nfields)
{
	const Window *window = &reader->source->window;
	const ScanRow *row = &reader->rows[index];
	uint32		length = window->data + window->length - reader->data;
	const char *bytes = reader->shape_mblen ? reader->shape : reader->data;
	uint32		resume = 0;

	if (reader->routine->recover == NULL)
		return READER_NOTHING;
	switch (reader->routine->recover(reader, bytes, length, row, nfields, &resume))
	{
		case SCAN_NO_RESUME:
			break;
		case SCAN_UNDECIDED:
			/* the largest window cannot be filled further */
			if (row->start == 0 && window->length >= SCAN_MAX_WINDOW)
				break;
			end_batch(reader, index, row->start, false);
			return READER_AGAIN;
		case SCAN_RESUME:
			if (reader->eol == SCAN_EOL_UNKNOWN &&
				reader->data[resume - 1] == '\r')
				reader->eol = SCAN_EOL_CR;
			reader->joined |= joined_kind(row, nfields);
			end_batch(reader, index, resume, true);
			return READER_RECOVERED;
	}
	return READER_NOTHING;
}

bool
reader_cut(Reader *reader)
{
	const ScanRow *row = &reader->rows[0];
	bool		cr = reader->eol == SCAN_EOL_CR || reader->eol == SCAN_EOL_ANY ||
		reader->eol == SCAN_EOL_UNKNOWN;

	for (uint32 at = row->start; at < row->end; at++)
	{
		char		c = reader->data[at];
		char		next = at + 1 < row->end ? reader->data[at + 1] : '\0';

		if (reader->eol == SCAN_EOL_CR ? c == '\r' : c == '\n' || (cr && c == '\r' && next != '\n'))
		{
			end_batch(reader, 0, at + 1, true);
			return true;
		}
	}
	return false;
}

int64
reader_line(const Reader *reader, uint32 index)
{
	const ScanRow *row = &reader->rows[index];
	int64		line = reader->line + row->line;

	/* COPY tells the line in which it ends */
	if (reader->source->options->plain && reader->source->options->format == BULK_CSV &&
		(row->multiline || row->fault != SCAN_FAULT_NONE))
		line += count_lines(reader, row->start, row->end);
	return line;
}

int64
reader_offset(const Reader *reader, uint32 index)
{
	return reader->offset + reader->rows[index].start;
}
