/*
 * conflict_file.c
 *		See conflict_file.h.
 */
#include "postgres.h"

#include "index/conflict_file.h"
#include "miscadmin.h"
#include "server/compat.h"

typedef struct ConflictItem
{
	RowId		row;
	uint32		group;
} ConflictItem;

static void
write_item(void *arg, uint32 group, RowId row)
{
	ConflictFile *conflicts = arg;
	ConflictItem item;

	if (conflicts->file == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(conflicts->context);

		conflicts->file = BufFileCreateFileSet(conflicts->files, conflicts->name);
		MemoryContextSwitchTo(old);
	}
	memset(&item, 0, sizeof(item));
	item.row = row;
	item.group = group;
	compat_buffile_write(conflicts->file, &item, sizeof(item));
}

void
conflict_file_begin(ConflictFile *conflicts, FileSet *files, const char *name)
{
	conflicts->sink = (ConflictSink) {.add = write_item,.arg = conflicts};
	conflicts->files = files;
	strlcpy(conflicts->name, name, CONFLICT_FILE_NAME);
	conflicts->context = CurrentMemoryContext;
	conflicts->file = NULL;
}

bool
conflict_file_end(ConflictFile *conflicts)
{
	if (conflicts->file == NULL)
		return false;
	BufFileExportFileSet(conflicts->file);
	BufFileClose(conflicts->file);
	return true;
}

void
conflict_file_read(FileSet *files, const char *name, uint32 before, const ConflictSink *sink)
{
	BufFile    *file = BufFileOpenFileSet(files, name, O_RDONLY, false);
	ConflictItem item;

	while (compat_buffile_read_more(file, &item, sizeof(item)))
	{
		CHECK_FOR_INTERRUPTS();
		sink->add(sink->arg, before + item.group, item.row);
	}
	BufFileClose(file);
}
