/*
 * raw.c
 *		See raw.h.
 */
#include "postgres.h"

#include "format/raw.h"
#include "server/held_interrupts.h"
#include "stream/file.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* Bytes read at a time: bad rows are often near one another. */
#define RAW_WINDOW (64 * 1024)

/* More of a row is not shown in a message. */
#define SHOWN_BYTES 400

typedef struct RawFile
{
	char	   *path;			/* NULL: not remembered */
	FileStamp	stamp;
	BufFile    *copy;
	bool		rereadable;		/* seekable: any byte of it can be read directly */
} RawFile;

struct Raw
{
	MemoryContext context;
	ResourceOwner owner;		/* owns the copies, also in a subtransaction */
	const BulkOptions *options;
	const Target *target;
	StoredRows *stored;			/* NULL: there are files */
	int			nfiles;
	RawFile    *files;
	int			current;		/* -1: none is open */
	Source	   *source;			/* has it open; NULL: it is a copy */
	char	   *data;			/* of a copy */
	Size		capacity;
	StringInfoData text;		/* the row as it is shown, if not its bytes */
};

Raw *
raw_open(int nfiles, const Target *target)
{
	Raw		   *raw = palloc0(sizeof(Raw));

	raw->context = CurrentMemoryContext;
	raw->owner = CurrentResourceOwner;
	raw->target = target;
	raw->nfiles = nfiles;
	raw->files = palloc0(sizeof(RawFile) * nfiles);
	raw->current = -1;
	initStringInfo(&raw->text);
	return raw;
}

Raw *
raw_open_stored(StoredRows *stored)
{
	Raw		   *raw = raw_open(0, NULL);

	raw->stored = stored;
	return raw;
}

void
raw_remember_file(Raw *raw, int number, const char *path, const FileStamp *stamp)
{
	raw->files[number].path = MemoryContextStrdup(raw->context, path);
	raw->files[number].stamp = *stamp;
	raw->files[number].rereadable = true;
}

void
raw_remember(Raw *raw, Source *source)
{
	RawFile    *file = &raw->files[source->current];
	MemoryContext old = MemoryContextSwitchTo(raw->context);

	raw_remember_file(raw, source->current, source->path, &source->stream->stamp);
	file->rereadable = source_can_seek(source);
	raw->options = source->options;
	if (source->stream->once)
	{
		ResourceOwner caller = CurrentResourceOwner;

		CurrentResourceOwner = raw->owner;
		file->copy = BufFileCreateTemp(false);
		CurrentResourceOwner = caller;
		source_copy(source, file->copy);
		file->rereadable = true;
	}
	MemoryContextSwitchTo(old);
}

/* Whether a file is the one that was remembered. */
static void
check_same(const RawFile *file, const Source *source)
{
	if (!file_is_same(&file->stamp, &source->stream->stamp))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("file \"%s\" changed while it was read", file->path),
				 errdetail("Rows of it that turned out bad had to be read again."),
				 errhint("Load the file again when nobody writes to it.")));
}

bool
raw_is_remembered(const Raw *raw, const Source *source)
{
	const RawFile *file = &raw->files[source->current];

	if (file->path == NULL)
		return false;
	if (file->copy == NULL)
		check_same(file, source);
	return true;
}

BufFile **
raw_copies(const Raw *raw)
{
	BufFile   **copies;

	/* stored rows are not in files: all of them can be read again */
	if (raw->nfiles == 0)
		return NULL;
	copies = palloc0(sizeof(BufFile *) * raw->nfiles);
	for (int i = 0; i < raw->nfiles; i++)
		copies[i] = raw->files[i].copy;
	return copies;
}

void
raw_rest(Raw *raw)
{
	if (raw->source != NULL)
		source_close(raw->source);
	raw->source = NULL;
	raw->current = -1;
}

void
raw_close(Raw *raw)
{
	raw_rest(raw);
	for (int i = 0; i < raw->nfiles; i++)
	{
		if (raw->files[i].copy != NULL)
			BufFileClose(raw->files[i].copy);
		raw->files[i].copy = NULL;
	}
}

static void
open_file(Raw *raw, int number)
{
	const RawFile *file = &raw->files[number];
	MemoryContext old = MemoryContextSwitchTo(raw->context);

	raw_rest(raw);
	if (file->copy == NULL)
	{
		raw->source = source_open(list_make1(file->path), raw->options, RAW_WINDOW);
		source_next(raw->source);
		check_same(file, raw->source);
		if (file->stamp.growing)
			file_set_end(raw->source->stream, file->stamp.size);
	}
	/* not before it is known to be the file that was loaded */
	raw->current = number;
	MemoryContextSwitchTo(old);
}

/* The bytes, from the file itself. */
static const char *
read_again(Raw *raw, int64 offset, Size length)
{
	Source	   *source = raw->source;
	Window	   *window = &source->window;

	if (source_can_seek(source) &&
		(offset < window->offset || offset >= window->offset + window->length))
		source_seek(source, offset, 1);
	else if (offset < window->offset)
	{
		/* rows are read in their order, but some are found later than others */
		open_file(raw, raw->current);
		source = raw->source;
		window = &source->window;
	}
	while (offset + (int64) length > window->offset + window->length)
	{
		int64		passed = Min(offset - window->offset, window->length);

		Assert(passed >= 0);
		if (window->at_eof)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("file \"%s\" changed while it was read", source->path)));
		window_fill(source, passed, 0);
	}
	return window->data + (offset - window->offset);
}

static const char *
read_copy(Raw *raw, int64 offset, Size length)
{
	BufFile    *copy = raw->files[raw->current].copy;

	if (length > raw->capacity)
	{
		if (raw->data != NULL)
			pfree(raw->data);
		raw->data = NULL;
		raw->capacity = 0;
		raw->data = MemoryContextAllocHuge(raw->context, length);
		raw->capacity = length;
	}
	if (BufFileSeek(copy, 0, offset, SEEK_SET) != 0 ||
		BufFileRead(copy, raw->data, length) != length)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
	return raw->data;
}

static const char *
read_bytes(Raw *raw, int file, int64 offset, Size length)
{
	if (raw->stored != NULL)
	{
		StoredRow	row;

		stored_rows_read(raw->stored, file, &row);
		Assert(offset >= row.offset && offset - row.offset + length <= row.length);
		return row.data + (offset - row.offset);
	}
	if (raw->files[file].path == NULL)
		return NULL;
	if (raw->current != file)
		open_file(raw, file);
	return raw->source != NULL ? read_again(raw, offset, length) :
		read_copy(raw, offset, length);
}

/* The format's routine, if its rows are not shown as their bytes, else NULL. */
static const FormatRoutine *
showing_routine(const Raw *raw)
{
	const FormatRoutine *routine = raw->options != NULL ? format_routine(raw->options) : NULL;

	return routine != NULL && routine->show_row != NULL ? routine : NULL;
}

const char *
raw_read(Raw *raw, const JournalPlace *place, Size *length, Size *full_length)
{
	const FormatRoutine *routine = showing_routine(raw);
	const char *bytes = read_bytes(raw, place->file, place->offset, place->length);

	*length = place->length - place->end_length;
	*full_length = place->length;
	if (bytes == NULL || routine == NULL)
		return bytes;
	resetStringInfo(&raw->text);
	*length = routine->show_row(raw->target, bytes, place->length, &raw->text);
	*full_length = raw->text.len;
	return raw->text.data;
}

const char *
raw_show(Raw *raw, const JournalPlace *place, Size *length)
{
	MemoryContext context = CurrentMemoryContext;
	HeldInterrupts held = held_interrupts();
	const char *volatile data = NULL;

	/* of some rows only the line is known */
	if (place->length == 0 || (raw->stored == NULL && !raw->files[place->file].rereadable))
		return NULL;
	PG_TRY();
	{
		Size		full_length;

		/* a row that is shown as its bytes need not be read to its end */
		*length = Min(place->length - place->end_length, SHOWN_BYTES);
		data = showing_routine(raw) != NULL ? raw_read(raw, place, length, &full_length) :
			read_bytes(raw, place->file, place->offset, *length);
	}
	PG_CATCH();
	{
		if (ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_OPERATOR_INTERVENTION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		held_interrupts_restore(held);
		/* whoever reads the file next opens it anew, and meets the error */
		raw_rest(raw);
	}
	PG_END_TRY();
	return data;
}
