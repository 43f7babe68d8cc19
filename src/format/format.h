/*
 * format.h
 *		What a format is: a const struct of callbacks, one for each BulkFormat,
 *		and one for the rows of a query.
 *
 * Nothing outside this folder asks which format a load has: it calls the
 * routine, or asks one of its properties.  A callback that may be NULL says so.
 *
 * Reading: the reader (reader.h) has the window and the batch; the routine
 * says what stands before the first row, and where rows and their fields are,
 * as spans of the window.  Converting: the converter (converter.h) has the
 * columns; the routine makes the spans of one row values of its columns.
 * Callbacks are called once for a file, a batch or a row, and for single
 * fields only where these are not plain text.
 */
#ifndef PGBULK_FORMAT_H
#define PGBULK_FORMAT_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "option/options.h"
#include "row/row_error.h"
#include "scan/scan.h"
#include "table/target.h"

typedef struct Reader Reader;
typedef struct Converter Converter;
typedef struct Column Column;

/*
 * A row's values and nulls, defaults included; data is the window that row and
 * fields point into.  False: err says why (see row_error.h for err = NULL).
 */
typedef bool (*ConvertRow) (Converter *conv, const char *data,
							const ScanRow *row, const ScanField *fields,
							Datum *values, bool *nulls, RowError *err);

/* What a field with escapes is made a text by. */
typedef enum FormatEscapes
{
	FORMAT_QUOTES,				/* scan_unquote */
	FORMAT_BACKSLASHES,			/* scan_unescape; a blank behind one belongs to the value */
	FORMAT_OWN_ESCAPES			/* unescape */
} FormatEscapes;

typedef struct FormatRoutine
{
	/* ---- properties ---- */

	/* The encoding is one of the file: rows are searched by the shape of their bytes. */
	bool		by_shape;
	/* Files that begin alike are one row of chunks for workers. */
	bool		spans_files;
	/* What stands before the first row belongs to a file of rejects, too. */
	bool		keeps_header;
	/* Nothing may follow the end marker. */
	bool		marker_ends;
	/* psql ends what it sends with a marker that is no part of the format. */
	bool		client_marker;
	/* A row can be read without what stands before it in its file. */
	bool		rows_alone;
	/* Where fields stand depends on the encoding: rows are read as the file has them. */
	bool		by_place;
	/* Fields have names: a row may lack any of them, and is_missing says which. */
	bool		by_name;
	/*
	 * Fields are for receive functions: nothing to show, errors are thrown,
	 * text in them is in the client's encoding.
	 */
	bool		receives;
	FormatEscapes escapes;

	/* ---- reading ---- */

	/*
	 * What is known of a file's line ends before its first row; stored: it is
	 * a row of a reject table.  Whatever must be known of a file to read on
	 * in its middle goes from window to window, and to workers, as ScanEol.
	 */
	ScanEol		(*first_eol) (const BulkOptions *options, bool stored);

	/* The columns are known, and may be others than for the last file.  May be NULL. */
	void		(*begin_columns) (Reader *reader, const Target *target);

	/*
	 * The first window of a file is there (it may be filled further): how many
	 * bytes stand before the first row.  Error: 22P04 for another format.
	 */
	uint32		(*begin_file) (Reader *reader);

	/*
	 * Finds rows and their fields in bytes[0 .. length), the rest of the
	 * window or its shape: reader->rows, at most max_rows of them, ->fields,
	 * ->result, ->eol.
	 */
	void		(*find_rows) (Reader *reader, const char *bytes,
							  uint32 length, uint32 max_rows);

	/*
	 * Where a chunk for one process may end in the window, which begins with
	 * a row; how many rows and lines it has.  True: nothing follows in this
	 * file that workers can deal with.  NULL: there never are workers.
	 */
	bool		(*find_border) (const Reader *reader, ScanEol eol,
								ScanBorder *border);

	/*
	 * Where rows parse again in or behind a row of the batch that is damaged;
	 * as scan_recover.  NULL: there is no telling.
	 */
	ScanRecovery (*recover) (const Reader *reader, const char *bytes,
							 uint32 length, const ScanRow *row,
							 uint32 nfields, uint32 *resume);

	/* ---- values ---- */

	/* Sets a column's input function and converter. */
	void		(*open_column) (Converter *conv, Column *column);

	/* All columns and options are there: what else the format needs.  May be NULL. */
	void		(*open) (Converter *conv);

	/*
	 * A batch was read, or the same once more: what its rows need before they
	 * are converted, as to know how much of it is valid text.  May be NULL.
	 */
	void		(*begin_batch) (Converter *conv, Reader *reader);

	ConvertRow	convert_row;

	/* The same by option transform; NULL: it has none. */
	ConvertRow	convert_transformed_row;

	/*
	 * What is wrong with a row that has a fault of this format; NULL: it is
	 * none of its.  Changes *sqlstate where that is not 22P04.
	 */
	const char *(*describe_fault) (const ScanRow *row, int *sqlstate);

	/*
	 * FORMAT_OWN_ESCAPES: text of a field with escapes to `to`, which has room for *len and 32
	 * bytes; it may be s itself.  *high: escapes made bytes that must be
	 * checked.  False: err says why not.
	 */
	bool		(*unescape) (Converter *conv, const char *s, uint32 *len,
							 char *to, bool *high, RowError *err);

	/* Whether a row has no field for a column; NULL but for formats by name. */
	bool		(*is_missing) (const ScanField *field);

	/*
	 * Whether fields of the file, by number, are numbers and no texts, and
	 * their texts, good until the next call.  NULL: none is.
	 */
	bool		(*is_number) (const Converter *conv, uint32 index);
	const char *(*number_text) (Converter *conv, uint32 index, const char *s,
								uint32 *len);

	/*
	 * Says what is not valid in a row with SCAN_FAULT_ENCODING; always false.
	 * NULL: it finds none.
	 */
	bool		(*report_encoding) (Converter *conv, const char *data,
									const ScanRow *row, const ScanField *fields,
									RowError *err);

	/*
	 * Appends a row, of the batch or read again, as the line that it is shown
	 * as, with a line end.  Returns its length without that.  NULL: the row's
	 * bytes are what is shown.  Errors: those of output functions.
	 */
	Size		(*show_row) (const Target *target, const char *bytes,
							 Size length, StringInfo text);

	/*
	 * Whether the fast path (form.h) may form tuples from the fields; *shared
	 * is how many bytes at most several fields have in common.  NULL: it may not.
	 */
	bool		(*may_form) (const Converter *conv, Size *shared);
} FormatRoutine;

extern const FormatRoutine format_csv;
extern const FormatRoutine format_text;
extern const FormatRoutine format_binary;
extern const FormatRoutine format_fixed;
extern const FormatRoutine format_json;
extern const FormatRoutine format_values;

/* The routine of a load: its format's, or that of the rows of a query. */
extern const FormatRoutine *format_routine(const BulkOptions *options);

#endif							/* PGBULK_FORMAT_H */
