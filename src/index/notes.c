/*
 * notes.c
 *		See notes.h.
 */
#include "postgres.h"

#include "index/notes.h"
#include "miscadmin.h"
#include "server/compat.h"

typedef struct Note
{
	RowId		row;
	uint32		group;
} Note;

static void
write_note(void *arg, uint32 group, RowId row)
{
	Notes	   *notes = arg;
	Note		note;

	if (notes->file == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(notes->context);

		notes->file = BufFileCreateFileSet(notes->files, notes->name);
		MemoryContextSwitchTo(old);
	}
	memset(&note, 0, sizeof(note));
	note.row = row;
	note.group = group;
	compat_buffile_write(notes->file, &note, sizeof(note));
}

void
notes_begin(Notes *notes, FileSet *files, const char *name)
{
	notes->sink = (ConflictSink) {.note = write_note,.arg = notes};
	notes->files = files;
	strlcpy(notes->name, name, NOTES_NAME);
	notes->context = CurrentMemoryContext;
	notes->file = NULL;
}

bool
notes_end(Notes *notes)
{
	if (notes->file == NULL)
		return false;
	BufFileExportFileSet(notes->file);
	BufFileClose(notes->file);
	return true;
}

void
notes_read(FileSet *files, const char *name, uint32 before, const ConflictSink *sink)
{
	BufFile    *file = BufFileOpenFileSet(files, name, O_RDONLY, false);
	Note		note;

	while (compat_buffile_read_more(file, &note, sizeof(note)))
	{
		CHECK_FOR_INTERRUPTS();
		sink->note(sink->arg, before + note.group, note.row);
	}
	BufFileClose(file);
}
