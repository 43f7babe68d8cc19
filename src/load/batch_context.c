/*
 * batch_context.c
 *		The row that an error is about, for its CONTEXT; see batch.h.
 */
#include "postgres.h"

#include "format/encoding.h"
#include "load/batch.h"
#include "server/text_clip.h"

#define MAX_CONTEXT_TEXT 100	/* bytes of a value or line shown in CONTEXT */

/* A row's bytes, if they can be shown as text. */
static char *
row_text(Batch *batch, const char *raw, Size len)
{
	Encoding	encoding;

	if (!options_is_text(batch->options) || raw == NULL)
		return NULL;
	if (batch->conv != NULL)
		encoding = batch->conv->encoding;
	/* after the end of the files a row's place may be known, but not its bytes */
	else if (len > 0 && batch->options->encoding == GetDatabaseEncoding())
		encoding_open(&encoding, batch->options->encoding);
	else
		return NULL;
	if (encoding.transcode)
		return NULL;
	len = encoding_valid_prefix(&encoding, raw, Min(len, BATCH_SHOWN_BYTES));
	return text_clip(raw, len, MAX_CONTEXT_TEXT);
}

/* The load, and the file if it is not NULL; as COPY says it where that is the statement. */
static char *
load_context(const Batch *batch, const char *file)
{
	const char *name = target_name(batch->target);

	if (batch->options->by_copy)
		return psprintf("COPY %s", name);
	if (file == NULL)
		return psprintf("bulk_load of %s", name);
	return psprintf("bulk_load of %s, file \"%s\"", name, encoding_path_text(file));
}

/* The line of CONTEXT for a row as a whole; raw may be NULL. */
static char *
row_context(Batch *batch, const char *file, int64 line, const char *raw, Size len)
{
	char	   *load = load_context(batch, file);
	char	   *text = row_text(batch, raw, len);

	if (text != NULL)
		return psprintf("%s, line %lld: \"%s\"", load, (long long) line, text);
	return psprintf("%s, line %lld", load, (long long) line);
}

/* The row of the batch that is worked on, which may be behind its last. */
static uint32
current_row(const Batch *batch)
{
	/* the writer may be processing an earlier one */
	return batch->writer != NULL && batch->writer->current_row >= 0 ?
		batch->writer->current_row : batch->next;
}

/* ---- as the server's COPY tells it ---- */

/* Whether an error about characters can only come from reading the line. */
static bool
is_about_line(const Batch *batch)
{
	int			code = geterrcode();

	return batch->conv->input_column < 0 &&
		(code == ERRCODE_CHARACTER_NOT_IN_REPERTOIRE || code == ERRCODE_UNTRANSLATABLE_CHARACTER);
}

/* The line in the database encoding; NULL: COPY has not got so far when it raises the error. */
static char *
plain_text(Batch *batch, const ScanRow *row)
{
	Encoding   *encoding = &batch->conv->encoding;
	const char *line = batch->reader->data + row->start;
	Size		length = row->end - row->start;
	RowError	error;
	char	   *text;
	char	   *shown = NULL;

	if (row->fault != SCAN_FAULT_NONE && row->fault != SCAN_FAULT_UNTERMINATED_QUOTE)
		return NULL;
	if (!is_about_line(batch))
		length = encoding_valid_prefix(encoding, line, Min(length, BATCH_SHOWN_BYTES));
	else if (length > ENCODING_MAX_LENGTH ||
			 encoding_valid_prefix(encoding, line, length) < length)
		return NULL;
	if (!encoding->transcode)
		return text_clip(line, length, MAX_CONTEXT_TEXT);
	/* where there is no memory for it the error matters more */
	text = palloc_extended(length * MAX_CONVERSION_GROWTH + 1,
						   MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (text == NULL)
		return NULL;
	if (encoding_convert(encoding, line, length, text, &error) >= 0)
		shown = text_clip_string(text, MAX_CONTEXT_TEXT);
	pfree(text);
	return shown;
}

/* Lines that have been read, and not been looked at when the client gave up; COPY has done so. */
static int64
lines_ahead(const Batch *batch)
{
	const Window *window = &batch->reader->source->window;
	/* in others a character may have a backslash as its last byte */
	bool		escapes = batch->options->format == BULK_TEXT &&
		PG_VALID_BE_ENCODING(batch->options->encoding);
	char		line_end = batch->reader->eol == SCAN_EOL_CR ? '\r' : '\n';
	int64		lines = 0;

	if (batch->options->format == BULK_BINARY || geterrcode() != ERRCODE_QUERY_CANCELED)
		return 0;
	for (uint32 i = batch->reader->done; i < window->length; i++)
	{
		/* one that is escaped is within a line */
		if (escapes && window->data[i] == '\\')
			i++;
		else
			lines += window->data[i] == line_end;
	}
	return lines;
}

/* The line that is read next, unless the file is not open yet, or all of it is read. */
static void
plain_reading(const Batch *batch)
{
	const Reader *reader = batch->reader;
	bool		in_header = batch->options->format == BULK_BINARY &&
		reader->source->window.offset == 0 && reader->done == 0;
	int64		offset;
	int64		line;

	if (in_header || reader->result.status == SCAN_END ||
		(reader->result.status == SCAN_MARKER && batch->options->format != BULK_BINARY))
		return;
	reader_place(reader, &offset, &line);
	line += reader->result.status == SCAN_MARKER;
	line += lines_ahead(batch);
	errcontext("COPY %s, line %lld", target_name(batch->target), (long long) line);
}

static void
plain_value(const Batch *batch, int64 line)
{
	const Converter *conv = batch->conv;
	const char *column = conv->columns[conv->input_column].name;
	const char *name = target_name(batch->target);

	if (batch->options->format == BULK_BINARY)
		errcontext("COPY %s, line %lld, column %s", name, (long long) line, column);
	else if (conv->input_text == NULL)
		errcontext("COPY %s, line %lld, column %s: null input", name, (long long) line, column);
	else
		errcontext("COPY %s, line %lld, column %s: \"%s\"", name, (long long) line, column,
				   text_clip_string(conv->input_text, MAX_CONTEXT_TEXT));
}

/* As CopyFromErrorCallback of copyfrom.c (PostgreSQL 18): no text for rows of a batch. */
static void
plain_context(Batch *batch)
{
	const Reader *reader = batch->reader;
	const Writer *writer = batch->writer;
	const char *name = target_name(batch->target);
	uint32		index = current_row(batch);
	int64		line;
	char	   *text = NULL;

	if (batch->context_row != NULL)
	{
		/* COPY checks keys when all rows are in, and has forgotten the lines */
		if (geterrcode() != ERRCODE_FOREIGN_KEY_VIOLATION)
			errcontext("COPY %s, line %lld", name, (long long) batch->context_row->line);
		return;
	}
	if (writer != NULL && writer->find_place != NULL)
	{
		JournalPlace place;

		if (writer->find_place(writer->find_place_arg, NULL, &place))
			errcontext("COPY %s, line %lld", name, (long long) place.line);
		return;
	}
	if (reader == NULL || reader->source->path == NULL)
		return;
	if (index >= reader->result.nrows)
	{
		plain_reading(batch);
		return;
	}
	line = reader_line(reader, index);
	if (batch->conv != NULL && batch->conv->input_column >= 0)
	{
		plain_value(batch, line);
		return;
	}
	if (batch->conv != NULL && index == batch->next && batch->options->format != BULK_BINARY)
		text = plain_text(batch, &reader->rows[index]);
	if (text != NULL)
		errcontext("COPY %s, line %lld: \"%s\"", name, (long long) line, text);
	else
		errcontext("COPY %s, line %lld", name, (long long) line);
}

/* ---- as a load tells it ---- */

void
batch_error_context(void *arg)
{
	Batch	   *batch = arg;
	const Source *source = batch->reader ? batch->reader->source : NULL;
	const Converter *conv = batch->conv;
	uint32		index = current_row(batch);
	char	   *load;
	int64		line;

	if (batch->options->plain)
	{
		plain_context(batch);
		return;
	}
	if (batch->context_row != NULL)
	{
		errcontext("%s", row_context(batch, batch->context_row->file, batch->context_row->line,
									 batch->context_row->raw, batch->context_row->raw_len));
		return;
	}
	if (batch->writer != NULL && batch->writer->find_place != NULL)
	{
		JournalPlace place;

		if (batch->writer->find_place(batch->writer->find_place_arg, NULL, &place))
			errcontext("%s", row_context(batch, list_nth(source->paths, place.file), place.line,
										 NULL, 0));
		else
			errcontext("%s", load_context(batch, NULL));
		return;
	}
	load = load_context(batch, source == NULL ? NULL : source->path);
	if (source == NULL || source->path == NULL || index >= batch->reader->result.nrows)
	{
		errcontext("%s", load);
		return;
	}

	line = reader_line(batch->reader, index);
	if (conv != NULL && conv->input_column >= 0)
	{
		const char *column = conv->columns[conv->input_column].name;

		if (conv->input_text == NULL)
			errcontext("%s, line %lld, column %s: null input", load, (long long) line, column);
		else if (convert_asked_text(conv) == NULL)
			errcontext("%s, line %lld, column %s", load, (long long) line, column);
		else
			errcontext("%s, line %lld, column %s: \"%s\"", load, (long long) line, column,
					   text_clip_string(conv->input_text, MAX_CONTEXT_TEXT));
	}
	else
	{
		const ScanRow *row = &batch->reader->rows[index];
		bool		later = batch->reader->routine->show_row != NULL;

		errcontext("%s", row_context(batch, source->path, line,
									 later ? NULL : batch->reader->data + row->start,
									 row->end - row->start));
	}
}

bool
batch_shows_row(const Batch *batch, int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
		case ERRCODE_INTERNAL_ERROR:
			return false;
		default:
			return batch->reader->routine->show_row != NULL && batch->context_row == NULL &&
				batch->conv->input_column < 0 && current_row(batch) < batch->reader->result.nrows;
	}
}

/* A row of the batch as the format shows it; NULL where that fails. */
static const char *
try_to_show(const Batch *batch, const ScanRow *row, Size *length)
{
	MemoryContext context = CurrentMemoryContext;
	StringInfoData text;

	initStringInfo(&text);
	PG_TRY();
	{
		*length = batch->reader->routine->show_row(batch->target, batch->reader->data + row->start,
												   row->end - row->start, &text);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		return NULL;
	}
	PG_END_TRY();
	return text.data;
}

/* Puts the row's text behind its place in the error's CONTEXT. */
static void
add_text(Batch *batch, ErrorData *error, const char *file, int64 line, const char *text,
		 Size length)
{
	const char *plain = row_context(batch, file, line, NULL, 0);
	char	   *place = error->context != NULL ? strstr(error->context, plain) : NULL;
	const char *rest;

	if (place == NULL || text == NULL)
		return;
	rest = place + strlen(plain);
	if (*rest != '\n' && *rest != '\0')
		return;
	error->context = psprintf("%.*s%s%s", (int) (place - error->context), error->context,
							  row_context(batch, file, line, text, length), rest);
}

void
batch_show_row(Batch *batch, ErrorData *error)
{
	const Reader *reader = batch->reader;
	uint32		index = current_row(batch);
	Size		length = 0;
	const char *text = try_to_show(batch, &reader->rows[index], &length);

	add_text(batch, error, reader->source->path, reader_line(reader, index), text, length);
}

void
batch_show_stored_row(Batch *batch, ErrorData *error, Raw *raw)
{
	const Writer *writer = batch->writer;
	JournalPlace place;
	Size		length = 0;
	const char *text;

	if (writer->find_place == NULL || !writer->find_place(writer->find_place_arg, NULL, &place))
		return;
	text = raw_show(raw, &place, &length);
	add_text(batch, error, list_nth(batch->reader->source->paths, place.file), place.line, text,
			 length);
}
