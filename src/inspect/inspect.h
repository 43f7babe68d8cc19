/*
 * inspect.h
 *		bulk_inspect: what a file is like, and how to load it.
 */
#ifndef PGBULK_INSPECT_H
#define PGBULK_INSPECT_H

#include "postgres.h"

#include "format/encoding.h"
#include "inspect/column_types.h"
#include "inspect/dialect.h"
#include "inspect/sample.h"
#include "nodes/pg_list.h"
#include "option/options.h"
#include "utils/jsonb.h"

/* What was asked for, and what was found. */
typedef struct Inspection
{
	const char *path;			/* as given */
	const char *file;			/* the first that it means */
	const char *schema;			/* of bulk_load */
	char	   *table_schema;	/* NULL: the first of the search path */
	char	   *table;
	bool		taken;			/* there is something of that name already */
	Jsonb	   *given;			/* options of bulk_load; NULL: none */
	BulkOptions *options;		/* the same */
	bool		documents;		/* each line is one of JSON, in a column of its own */

	Sample	   *sample;
	Objects    *objects;		/* of JSON, if looked for; columns.objects: they are rows */
	char	   *misfit;			/* an option because of which they are not; NULL: none */
	Dialect		dialect;
	Columns		columns;
	Encoding   *encoding;		/* NULL: the server cannot convert the file's */
	List	   *names;			/* of the columns, char * */

	/* the report */
	const char *format;			/* csv, text, or what else the file is */
	bool		unreadable;		/* it has no rows: but for format and notes there is no report */
	const char *newline;		/* NULL: there is none */
	char	   *column_list;	/* JSON */
	char	   *load_options;	/* JSON */
	char	   *create_table;	/* NULL: no table can have them */
	char	   *bulk_load;		/* NULL: it cannot be loaded, or there is a relation of that name */
	char	   *create_and_load;	/* both, as one transaction; NULL: it cannot be loaded */
	List	   *notes;			/* of char * */
} Inspection;

/*
 * Looks at a file.  options are bulk_load's, taken as given where they say what
 * the file is like, and "table", the name of the table to be.  Memory: the
 * current context, about 8 MB.
 *
 * Errors: those of source_expand, sample_read and options_parse; 22023 for the
 * path "stdin", formats other than csv, text and json, and a table without a name.
 */
extern Inspection *inspect_file(const char *path, Jsonb *options,
								const char *schema);

/* Fills the report (report.c). */
extern void report_write(Inspection *inspection);

/* The same for a file that is no text, or no rows. */
extern void report_write_other(Inspection *inspection);

#endif							/* PGBULK_INSPECT_H */
