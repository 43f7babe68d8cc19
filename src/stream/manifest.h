/*
 * manifest.h
 *		Manifests: files that list the files of a load, with what must be true of
 *		them.
 *
 * Either JSON, an array or an object with one at "files", whose elements are
 * paths, or objects with "path", "size", "rows" and "checksum"; or lines, each a
 * path, maybe behind a checksum as md5sum and sha256sum write it.  Paths that are
 * not absolute begin in the manifest's folder.
 */
#ifndef PGBULK_MANIFEST_H
#define PGBULK_MANIFEST_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "option/options.h"
#include "stream/stream.h"

/* What a manifest says of a file, which was true when it was read. */
typedef struct ListedFile
{
	char	   *path;
	int64		size;			/* -1: it does not say */
	int64		rows;			/* the same; not verified yet */
	char	   *checksum;		/* hexadecimal digits, lower case; NULL likewise */
	const char *manifest;		/* its path */
	FileStamp	stamp;			/* of the file when it was verified */
} ListedFile;

/*
 * The files that a manifest lists, as a List of ListedFile *: each has been
 * verified, but for its rows.  may_be_gone: a call that removes or moves them
 * may have ended when some were gone; of one that is missing a HINT says so.
 * Memory: the current context.
 *
 * Errors: 42501 without pg_read_server_files; 22P04 for what is no manifest, or
 * for a file that is not as it says; those of files.
 */
extern List *manifest_read(const char *path, bool may_be_gone);

/* Whether all rows of a file are read, so that their number can be what the manifest says. */
extern bool manifest_counts_rows(const BulkOptions *options);

/*
 * When all rows are in: raises an error where a file has changed since, or where
 * the manifest says for all of them how many rows they have, and rows is another
 * number; unless that is -1.
 */
extern void manifest_check(List *listed, int64 rows);

#endif							/* PGBULK_MANIFEST_H */
