/*
 * extra.h
 *		Columns that option extra fills with what is known of a file.
 *
 * All but the number of the line are the same for a whole file: they are
 * converted once for it, when its first batch comes.
 */
#ifndef PGBULK_EXTRA_H
#define PGBULK_EXTRA_H

#include "postgres.h"

#include "format/convert.h"
#include "format/reader.h"
#include "option/extra_options.h"
#include "scan/content_hash.h"

struct ExtraColumns
{
	MemoryContext context;		/* of the values */
	const Source *source;		/* these two: which file they are of; */
	int			file;			/* -1: of none yet */
	int64		line;			/* of the batch's first byte */
	Datum	   *values;			/* in the order of the option */
};

/* Prepares for target->extras, behind the columns of the file.  Error: as convert_open. */
extern void extra_open(Converter *conv);

/*
 * A batch was read.  True: it is of another file than the last one, so that
 * values have changed.  Errors: those of extra_check.
 */
extern bool extra_begin_batch(Converter *conv, const Reader *reader, int64 load_id);

/*
 * The columns of a row of the batch, which is in that line.  False: err says
 * what is wrong with the number.
 */
extern bool extra_put(Converter *conv, int64 line, Datum *values, bool *nulls, RowError *err);

/* Whether an extra column of that number holds the line, which differs from row to row. */
extern bool extra_is_line(const Converter *conv, int number);

/*
 * A hash of the parts of a path that are values of columns ($1, $name), by which files with the
 * same bytes are the same rows, or others.  pattern: that has led to the path, or NULL.  False:
 * there are none.
 */
extern bool extra_path_key(const BulkOptions *options, const char *path, const char *pattern,
						   ContentKey *key);

/*
 * Before anything is loaded: converts the values of all files.  Errors: 22023
 * where a path does not say what is asked of it, 22021 where that is no valid
 * text; those of input functions.
 */
extern void extra_check(const BulkOptions *options, const Target *target, const Source *source,
						int64 load_id);

#endif							/* PGBULK_EXTRA_H */
