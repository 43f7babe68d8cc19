/*
 * detect.h
 *		Options delimiter and header set to auto: found in the files, before the load begins.
 *
 * The delimiter is the one that bulk_inspect would name, if rows then have as many fields as there are columns.  The first line
 * is a header if its fields are the names of columns; or if they are words, of which at least two stand where the rows behind it have numbers or dates.
 * What may be either is an error: no row is taken for a header, nor a header for a row, on a guess.
 *
 * Price: up to 3 MB of each file are read once more, and 64 rows converted.
 */
#ifndef PGBULK_DETECT_H
#define PGBULK_DETECT_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "option/options.h"

/*
 * The options with what was found in the place of auto (and in their field `detected`); the same ones where none is auto.  Every file must
 * be like the first one that has rows.  Memory: the current context, about 8 MB.
 *
 * Errors: 22023 for what can be read only once, for what cannot be told, and for files that differ; those of sample_read.
 */
extern BulkOptions *detect_options(Oid relid, List *paths, BulkOptions *options);

#endif							/* PGBULK_DETECT_H */
