/*
 * format.h
 *		What a format is: a const struct of callbacks, one for each BulkFormat,
 *		and one for the rows of a query.
 *
 * Nothing outside this folder tests which format a load has: it calls the
 * routine, or tests one of its properties.  A callback may be NULL only where
 * its comment says what that means.
 *
 * Reading: the reader (reader.h) has the window and the batch; the routine
 * finds what precedes the first row, and where rows and their fields are, as
 * spans of the window.  Converting: the converter (converter.h) has the
 * columns; the routine converts the spans of one row to values of its columns.
 * Callbacks are called once for a file, a batch or a row, and for single fields
 * only where these are not plain text.
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

/* How a field with escapes becomes text. */
typedef enum FormatEscapes
{
	FORMAT_QUOTES,				/* scan_unquote */
	FORMAT_BACKSLASHES,			/* scan_unescape; a blank after a backslash belongs to the value */
	FORMAT_OWN_ESCAPES			/* unescape */
} FormatEscapes;

typedef struct FormatRoutine
{
	/* ---- properties ---- */

	/*
	 * The encoding is that of the whole file: rows are found by the shape of
	 * their bytes.
	 */
	bool		by_shape;
	/* For workers, files that begin alike are one sequence of chunks. */
	bool		spans_files;
	/* What precedes the first row is written to a file of rejects, too. */
	bool		keeps_header;
	/* Nothing may follow the end-of-data marker. */
	bool		marker_ends;
	/* psql ends what it sends with a marker that is not part of the format. */
	bool		client_marker;
	/* A row can be read without what precedes it in its file. */
	bool		rows_alone;
	/*
	 * Positions of fields depend on the encoding: stored rows are read in the
	 * file's encoding.
	 */
	bool		by_place;
	/* Fields have names: a row may lack any of them, and is_missing tells which. */
	bool		by_name;
	/*
	 * Fields are for receive functions: they cannot be shown, errors are
	 * thrown, text in them is in the client's encoding.
	 */
	bool		receives;
	FormatEscapes escapes;

	/* ---- reading ---- */

	/*
	 * What is known of a file's line ends before its first row; stored: it is a
	 * row of a reject table.  ScanEol is all that must be known of a file to
	 * read it from the middle: it is passed from window to window, and to
	 * workers.
	 */
	ScanEol		(*first_eol) (const BulkOptions *options, bool stored);

	/*
	 * The columns are known; they may differ from those of the last file.
	 * NULL: nothing to do.
	 */
	void		(*begin_columns) (Reader *reader, const Target *target);

	/*
	 * The first window of a file has been read (it may be filled further): how
	 * many bytes precede the first row.  Error: 22P04 for another format.
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
	 * file that workers can read.  NULL: there are never workers.
	 */
	bool		(*find_border) (const Reader *reader, ScanEol eol,
								ScanBorder *border);

	/*
	 * Where rows parse again, in or after a damaged row of the batch; as
	 * scan_recover.  NULL: that cannot be found.
	 */
	ScanRecovery (*recover) (const Reader *reader, const char *bytes,
							 uint32 length, const ScanRow *row,
							 uint32 nfields, uint32 *resume);

	/* ---- values ---- */

	/* Sets a column's input function and converter. */
	void		(*open_column) (Converter *conv, Column *column);

	/*
	 * All columns and options are known: prepares what else the format needs.
	 * NULL: nothing.
	 */
	void		(*open) (Converter *conv);

	/*
	 * A batch was read, or read again: prepares its rows for conversion, such
	 * as finding how much of it is valid text.  NULL: nothing to do.
	 */
	void		(*begin_batch) (Converter *conv, Reader *reader);

	ConvertRow	convert_row;

	/* The same with option transform; NULL: not supported. */
	ConvertRow	convert_transformed_row;

	/*
	 * The message for a row that has a fault of this format; returns NULL for
	 * other faults.  Changes *sqlstate where that is not 22P04.
	 */
	const char *(*describe_fault) (const ScanRow *row, int *sqlstate);

	/*
	 * FORMAT_OWN_ESCAPES: text of a field with escapes to `to`, which has space
	 * for *len + 32 bytes; it may be s itself.  *high: escapes made bytes that
	 * must be validated.  False: err says why not.
	 */
	bool		(*unescape) (Converter *conv, const char *s, uint32 *len,
							 char *to, bool *high, RowError *err);

	/* Whether a row has no field for a column; NULL unless fields have names. */
	bool		(*is_missing) (const ScanField *field);

	/*
	 * Whether field `index` of the file is a number, not text; and its text,
	 * valid until the next call.  NULL: all are text.
	 */
	bool		(*is_number) (const Converter *conv, uint32 index);
	const char *(*number_text) (Converter *conv, uint32 index, const char *s,
								uint32 *len);

	/*
	 * Reports what is invalid in a row with SCAN_FAULT_ENCODING; always false.
	 * NULL: the format never sets that fault.
	 */
	bool		(*report_encoding) (Converter *conv, const char *data,
									const ScanRow *row, const ScanField *fields,
									RowError *err);

	/*
	 * Appends a row, of the batch or read again, as the line that messages and
	 * rejects show, with a line end.  Returns its length without that.  NULL:
	 * the row's bytes are shown.  Errors: those of output functions.
	 */
	Size		(*show_row) (const Target *target, const char *bytes,
							 Size length, StringInfo text);

	/*
	 * Whether the fast path (form.h) may form tuples from the fields; *shared
	 * is how many bytes several fields may have in common.  NULL: it may not.
	 */
	bool		(*may_form) (const Converter *conv, Size *shared);
} FormatRoutine;

extern const FormatRoutine format_csv;
extern const FormatRoutine format_text;
extern const FormatRoutine format_binary;
extern const FormatRoutine format_fixed;
extern const FormatRoutine format_json;
extern const FormatRoutine format_values;

/* The routine of a load: that of its format, or of the rows of a query. */
extern const FormatRoutine *format_routine(const BulkOptions *options);

#endif							/* PGBULK_FORMAT_H */
