/*
 * input.c
 *		See input.h.
 */
#include "postgres.h"

#include "load/detect.h"
#include "load/input.h"
#include "stream/manifest.h"
#include "stream/source.h"

static const char *found_path = NULL;
static const char *found_by = NULL;

void
input_set_found(const char *path, const char *pattern)
{
	found_path = path;
	found_by = pattern;
}

/* The path as given. */
static char *
pattern_of(char *path)
{
	return found_path != NULL && strcmp(path, found_path) == 0 ? pstrdup(found_by) : path;
}

BulkOptions *
input_expand(Oid relid, List *paths, bool patterns, BulkOptions *options, List **files)
{
	List	   *given = NIL;
	List	   *listed = NIL;
	ListCell   *lc;
	ListCell   *entry;

	*files = NIL;
	foreach(lc, paths)
	{
		char	   *path = lfirst(lc);

		if (options->manifest)
		{
			List	   *entries = manifest_read(path, false);

			listed = list_concat(listed, entries);
			foreach(entry, entries)
				*files = lappend(*files, ((ListedFile *) lfirst(entry))->path);
		}
		else if (patterns)
			*files = list_concat(*files, source_expand(path, true));
		else
			*files = lappend(*files, path);
		while (list_length(given) < list_length(*files))
			given = lappend(given, pattern_of(path));
	}
	options = detect_options(relid, *files, options);
	options->patterns = given;
	options->listed = listed;
	return options;
}
