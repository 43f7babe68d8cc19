/*
 * row_buffer.c
 *		See row_buffer.h.
 *
 * A row is a number, twice the lines from the row before to it, plus one where it has
 * line ends itself, whose number follows.  Exact places have four more: the bytes
 * between the rows, those of the row and of its line end, and those of its data.
 * Numbers are those of varbyte.h.
 */
#include "postgres.h"

#include "cluster/row_buffer.h"
#include "server/compat.h"

RowBuffer *
row_buffer_create(MemoryContext context, Size bytes)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	RowBuffer  *buffer = palloc0(sizeof(RowBuffer));

	initStringInfo(&buffer->data);
	enlargeStringInfo(&buffer->data, bytes - 1);
	initStringInfo(&buffer->places);
	MemoryContextSwitchTo(old);
	return buffer;
}

void
row_buffer_trim(RowBuffer *buffer)
{
	StringInfo	data = &buffer->data;

	if (data->len >= data->maxlen / 2)
		return;
	data->maxlen = data->len + 1;
	data->data = repalloc(data->data, data->maxlen);
}

Size
row_buffer_memory(const RowBuffer *buffer)
{
	return sizeof(RowBuffer) + buffer->data.maxlen + buffer->places.maxlen;
}

void
row_buffer_free_data(RowBuffer *buffer)
{
	pfree(buffer->data.data);
	buffer->data.data = NULL;
}

void
row_buffer_free(RowBuffer *buffer)
{
	if (buffer->data.data != NULL)
		row_buffer_free_data(buffer);
	pfree(buffer->places.data);
	pfree(buffer);
}

static void
append_number(StringInfo to, uint64 number)
{
	enlargeStringInfo(to, VARBYTE_MAX_LENGTH);
	to->len = varbyte_put((uint8 *) to->data + to->len, number) - (uint8 *) to->data;
}

static uint64
take_number(RowPlaces *places)
{
	uint64		number;

	places->next = varbyte_take(places->next, &number);
	return number;
}

void
row_buffer_note(RowBuffer *buffer, const JournalPlace *place, int64 inner_lines)
{
	StringInfo	to = &buffer->places;

	if (buffer->nrows++ == 0)
		buffer->file = place->file;
	Assert(buffer->file == place->file);
	append_number(to, (uint64) (place->line - buffer->line) << 1 | (inner_lines > 0));
	if (inner_lines > 0)
		append_number(to, inner_lines);
	buffer->line = place->line;
	if (buffer->exact)
	{
		append_number(to, place->offset - buffer->end);
		append_number(to, place->length);
		append_number(to, place->end_length);
		append_number(to, buffer->data.len - buffer->data_end);
		buffer->end = place->offset + place->length;
	}
	buffer->data_end = buffer->data.len;
}

void
row_buffer_cut(RowBuffer *buffer)
{
	buffer->data.len = buffer->data_end;
	buffer->data.data[buffer->data.len] = '\0';
}

void
row_buffer_reset(RowBuffer *buffer)
{
	resetStringInfo(&buffer->data);
	resetStringInfo(&buffer->places);
	buffer->nrows = 0;
	buffer->line = buffer->end = buffer->data_end = 0;
}

/* ---- rows of other processes ---- */

/* The header of a copy has the lengths; the pointers in it mean nothing. */
Size
row_buffer_copy_size(const RowBuffer *buffer)
{
	return MAXALIGN(sizeof(RowBuffer)) + MAXALIGN(buffer->data_end + buffer->places.len);
}

void
row_buffer_copy(RowBuffer *buffer, char *to)
{
	row_buffer_cut(buffer);
	memcpy(to, buffer, sizeof(RowBuffer));
	to += MAXALIGN(sizeof(RowBuffer));
	memcpy(to, buffer->data.data, buffer->data.len);
	memcpy(to + buffer->data.len, buffer->places.data, buffer->places.len);
}

void
row_buffer_show(RowBuffer *rows, char *copy)
{
	memcpy(rows, copy, sizeof(RowBuffer));
	rows->data.data = copy + MAXALIGN(sizeof(RowBuffer));
	rows->places.data = rows->data.data + rows->data.len;
}

/* The place of its first row is relative to none; here it is to the last one's. */
void
row_buffer_append(RowBuffer *buffer, const RowBuffer *rows)
{
	StringInfo	to = &buffer->places;
	const uint8 *from = (const uint8 *) rows->places.data;
	const uint8 *end = from + rows->places.len;
	uint64		line;
	uint64		number;

	row_buffer_cut(buffer);
	if (buffer->nrows == 0)
		buffer->file = rows->file;
	Assert(buffer->file == rows->file && buffer->exact == rows->exact);
	from = varbyte_take(from, &line);
	append_number(to, line - ((uint64) buffer->line << 1));
	if (line & 1)
	{
		from = varbyte_take(from, &number);
		append_number(to, number);
	}
	if (buffer->exact)
	{
		from = varbyte_take(from, &number);
		append_number(to, number - buffer->end);
	}
	appendBinaryStringInfo(to, (const char *) from, end - from);
	appendBinaryStringInfo(&buffer->data, rows->data.data, rows->data.len);
	buffer->nrows += rows->nrows;
	buffer->line = rows->line;
	buffer->end = rows->end;
	buffer->data_end = buffer->data.len;
}

/* ---- files ---- */

static void
write_string(const StringInfo string, BufFile *file)
{
	if (string->data != NULL)
		compat_buffile_write(file, string->data, string->len);
}

static void
read_string(StringInfo string, BufFile *file)
{
	int			length = string->len;

	if (string->data == NULL)
		return;
	initStringInfo(string);
	enlargeStringInfo(string, length);
	compat_buffile_read(file, string->data, length);
	string->len = length;
}

void
row_buffer_write(RowBuffer *buffer, BufFile *file)
{
	compat_buffile_write(file, buffer, sizeof(RowBuffer));
	write_string(&buffer->data, file);
	write_string(&buffer->places, file);
	row_buffer_free(buffer);
}

RowBuffer *
row_buffer_read(MemoryContext context, BufFile *file)
{
	RowBuffer	header;
	RowBuffer  *buffer;
	MemoryContext old;

	if (!compat_buffile_read_more(file, &header, sizeof(header)))
		return NULL;
	old = MemoryContextSwitchTo(context);
	buffer = palloc(sizeof(RowBuffer));
	*buffer = header;
	read_string(&buffer->data, file);
	read_string(&buffer->places, file);
	MemoryContextSwitchTo(old);
	return buffer;
}

void
row_buffer_rewind(BufFile *file)
{
	if (BufFileSeek(file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind temporary file: %m")));
}

/* ---- places ---- */

void
row_places_begin(RowPlaces *places, const RowBuffer *buffer)
{
	places->buffer = buffer;
	places->next = (const uint8 *) buffer->places.data;
	places->left = buffer->nrows;
	places->place = (JournalPlace) {.file = buffer->file};
}

bool
row_places_next(RowPlaces *places)
{
	JournalPlace *place = &places->place;
	uint64		number;

	if (places->left == 0)
		return false;
	places->left--;
	number = take_number(places);
	place->line += number >> 1;
	places->last_line += 1 + ((number & 1) ? take_number(places) : 0);
	if (!places->buffer->exact)
		return true;
	place->offset += place->length + take_number(places);
	place->length = take_number(places);
	place->end_length = take_number(places);
	places->offset = places->end;
	places->end += take_number(places);
	return true;
}
