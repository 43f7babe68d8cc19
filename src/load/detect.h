/*
 * detect.h
 *		Detects options delimiter and header set to auto, before the load
 *		begins.
 *
 * The delimiter is the one that bulk_inspect would report, if rows then have as
 * many fields as there are columns.  The first line is a header if its fields
 * are column names, or if they are words and at least two of them are above
 * numbers or dates.  An ambiguous first line is an error: no row is taken for a
 * header, nor a header for a row, by guessing.
 *
 * Price: up to 3 MB of each file are read twice, and 64 rows converted.
 */
#ifndef PGBULK_DETECT_H
#define PGBULK_DETECT_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "option/options.h"

/*
 * Returns options with the detected values in place of auto (and in field
 * `detected`), or the same options if none is auto.  Every file must be like
 * the first one that has rows.  Allocates in the current context, about 8 MB.
 *
 * Errors: 22023 for input that can be read only once, for ambiguous files, and
 * for files that differ; those of sample_read.
 */
extern BulkOptions *detect_options(Oid relid, List *paths, BulkOptions *options);

#endif							/* PGBULK_DETECT_H */
