/*
 * stored.c
 *		See stored.h.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/buffile.h"
#include "stream/stored.h"
#include "utils/memutils.h"

/* A row in the temporary file; its bytes follow. */
typedef struct Record
{
	int			file;			/* index in files */
	uint32		length;
	int64		line;
	int64		offset;
} Record;

struct StoredRows
{
	Stream		stream;			/* of the row that was opened last */
	MemoryContext context;
	BufFile    *file;			/* all records; NULL: none yet */
	int64		end;			/* of the file */
	int64		bytes;
	int64		nleft[STORED_REASONS];
	List	   *files;			/* of char * */
	int			nrows;
	int			max_places;
	int64	   *places;			/* of each row's record */
	char	   *data;			/* of the row that was read last */
	Size		capacity;		/* of data */
	/* the stream */
	const char *next;
	Size		left;
};

StoredRows *
stored_rows_create(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "bulk_load stored rows",
												  ALLOCSET_DEFAULT_SIZES);
	StoredRows *rows = MemoryContextAllocZero(context, sizeof(StoredRows));

	rows->context = context;
	return rows;
}

void
stored_rows_close(StoredRows *rows)
{
	if (rows->file != NULL)
		BufFileClose(rows->file);
	MemoryContextDelete(rows->context);
}

/* The index of a path in the list, where it is added unless it is the last. */
static int
file_number(StoredRows *rows, const char *path)
{
	if (rows->files == NIL || strcmp(llast(rows->files), path) != 0)
		rows->files = lappend(rows->files, pstrdup(path));
	return list_length(rows->files) - 1;
}

void
stored_rows_add(StoredRows *rows, const StoredRow *row)
{
	MemoryContext caller = MemoryContextSwitchTo(rows->context);
	Record		record = {
		.file = file_number(rows, row->path),
		.length = row->length,
		.line = row->line,
		.offset = row->offset
	};

	if (rows->file == NULL)
		rows->file = BufFileCreateTemp(false);
	if (rows->nrows == rows->max_places)
	{
		if (rows->max_places > PG_INT32_MAX / 2)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many rows")));
		rows->max_places = Max(1024, rows->max_places * 2);
		rows->places = rows->places == NULL ?
			palloc(sizeof(int64) * rows->max_places) :
			repalloc_huge(rows->places, sizeof(int64) * rows->max_places);
	}
	rows->places[rows->nrows++] = rows->end;
	BufFileWrite(rows->file, &record, sizeof(record));
	BufFileWrite(rows->file, unconstify(char *, row->data), row->length);
	rows->end += sizeof(record) + row->length;
	rows->bytes += row->length;
	MemoryContextSwitchTo(caller);
}

void
stored_rows_leave(StoredRows *rows, int reason)
{
	rows->nleft[reason]++;
}

int64
stored_rows_left(const StoredRows *rows, int reason)
{
	return rows->nleft[reason];
}

int64
stored_rows_bytes(const StoredRows *rows)
{
	return rows->bytes;
}

List *
stored_rows_files(const StoredRows *rows)
{
	return rows->files;
}

static void
read_exactly(StoredRows *rows, void *to, Size size)
{
	if (BufFileRead(rows->file, to, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
}

static void
read_record(StoredRows *rows, int number, Record *record)
{
	if (BufFileSeek(rows->file, 0, rows->places[number], SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file: %m")));
	read_exactly(rows, record, sizeof(Record));
}

List *
stored_rows_paths(StoredRows *rows)
{
	List	   *paths = NIL;

	for (int i = 0; i < rows->nrows; i++)
	{
		Record		record;

		CHECK_FOR_INTERRUPTS();
		read_record(rows, i, &record);
		paths = lappend(paths, list_nth(rows->files, record.file));
	}
	return paths;
}

/* Reads a row; false: it is empty, and has got a line end, without which it would be none. */
static bool
read_data(StoredRows *rows, int number, StoredRow *row)
{
	Record		record;

	read_record(rows, number, &record);
	if (rows->data == NULL || record.length > rows->capacity)
	{
		if (rows->data != NULL)
			pfree(rows->data);
		rows->data = NULL;
		rows->capacity = Max(record.length, 8192);
		rows->data = MemoryContextAllocHuge(rows->context, rows->capacity);
	}
	read_exactly(rows, rows->data, record.length);

	row->path = list_nth(rows->files, record.file);
	row->line = record.line;
	row->offset = record.offset;
	row->data = record.length > 0 ? rows->data : "\n";
	row->length = Max(record.length, 1);
	return record.length > 0;
}

void
stored_rows_read(StoredRows *rows, int number, StoredRow *row)
{
	read_data(rows, number, row);
}

static Size
read_row(Stream *stream, char *to, Size size)
{
	StoredRows *rows = (StoredRows *) stream;

	size = Min(size, rows->left);
	memcpy(to, rows->next, size);
	rows->next += size;
	rows->left -= size;
	return size;
}

static int64
left_of_row(const Stream *stream)
{
	return ((const StoredRows *) stream)->left;
}

static const StreamRoutine row_routine = {
	.read = read_row,
	.left = left_of_row
};

Stream *
stored_rows_open(void *arg, int number)
{
	StoredRows *rows = arg;
	StoredRow	row;
	bool		has_data = read_data(rows, number, &row);

	stream_init(&rows->stream, &row_routine, NULL);
	rows->stream.first_offset = row.offset;
	rows->stream.first_line = row.line;
	rows->next = row.data;
	rows->left = row.length;
	/* a line end that was added is not one of the input's bytes */
	if (!has_data)
		rows->stream.bytes_read = -1;
	return &rows->stream;
}
