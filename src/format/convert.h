/*
 * convert.h
 *		The fields of a row to values of its columns.
 *
 * Common types have a fast converter (types.c) that gives exactly what the
 * type's input function would, or declines; then the input function decides.
 * Values are allocated in a per-row arena and in the per-tuple memory context
 * of the executor state, and are valid until the next row.
 *
 * Rules of NULL, DEFAULT and quoting are NextCopyFrom's (copyfromparse.c).
 */
#ifndef PGBULK_CONVERT_H
#define PGBULK_CONVERT_H

#include "postgres.h"

#include "format/converter.h"

/*
 * Prepares for a file's columns (target->attnums).  Memory: the current
 * context.  Errors: 42883 for an encoding without conversion; 0A000 for a
 * type without the needed input function; 42703 as COPY for force_null and
 * force_not_null columns that are not loaded, and likewise for columns that
 * other options name.
 */
extern Converter *convert_open(const BulkOptions *options, Target *target, Guard *guard,
							   EState *estate);

/*
 * At most nrows rows follow: values are taken from sequences for so many at
 * once.
 */
extern void convert_expect(Converter *conv, uint32 nrows);

/* A new window: finds how far its first len bytes are valid text. */
extern void convert_window(Converter *conv, const char *data, uint32 len);

/*
 * A row's values and nulls (natts of each), defaults included.  data is the
 * window that row and fields point into.  False: err says why (see
 * row_error.h for err = NULL).
 */
extern bool convert_row(Converter *conv, const char *data, const ScanRow *row,
						const ScanField *fields, Datum *values, bool *nulls,
						RowError *err);

/* The same with option transform. */
extern bool convert_transformed_row(Converter *conv, const char *data,
									const ScanRow *row, const ScanField *fields,
									Datum *values, bool *nulls, RowError *err);

/*
 * The same with another function for the fields of a well-formed row: it is
 * called with the row and its own fields, as text that is valid, or is to be
 * converted.
 */
extern bool convert_row_by(ConvertRow fields_to_values, Converter *conv,
						   const char *data, const ScanRow *row,
						   const ScanField *fields, Datum *values, bool *nulls,
						   RowError *err);

/* Which of these (or the format's own) a load uses. */
extern ConvertRow convert_row_function(const BulkOptions *options);

/* One field of a row, of any kind, to the value of its column; false: err says why. */
extern bool convert_field(Converter *conv, int index, const char *data,
						  const ScanField *field, Datum *value, bool *isnull,
						  RowError *err);

/*
 * A text, in the database encoding, to the value of a column by its input
 * function, of which it may be an extra one; false: err says why.
 */
extern bool convert_text(Converter *conv, int index, char *text, Datum *value, RowError *err);

/* Reports the fault that the scan has found in a row; always false. */
extern bool convert_fault(const Converter *conv, const ScanRow *row,
						  RowError *err);

/* The argument of the input function that has thrown, if it was text. */
extern const char *convert_asked_text(const Converter *conv);

/*
 * With set_null, after an error in an input function was caught: the next
 * convert_row of the same row makes that field NULL.  False where the error did
 * not come from an input function.
 */
extern bool convert_null_asked(Converter *conv);

extern void convert_mark_nulled(Converter *conv, int index, const char *text);

/* Frees the values of the row; the next one begins. */
extern void convert_next(Converter *conv);

/* The values that on_error = set_null has made NULL are somebody else's to report. */
extern void convert_forget_nulled(Converter *conv);

/* A varlena value with space for len bytes of data, at *data. */
extern Datum convert_varlena(Converter *conv, const Column *column, Size len,
							 char **data);

/* A varlena with these bytes as its data. */
extern ValueResult convert_bytes(Converter *conv, const Column *column,
								 const char *s, uint32 len, Datum *out);

/* The characters of a text in the database encoding. */
extern Size convert_count_characters(const char *s, uint32 len);

/* Sets column->convert and type_name where the type has a fast converter (types.c). */
extern void convert_choose(Converter *conv, Column *column);

/*
 * For parallel workers: takes values of sequences for n rows, for all columns
 * that the file does not have, at once; values left over from before are lost.
 * Error: 55000 where other sessions have exhausted a sequence since
 * convert_sequences_last.
 */
extern void convert_reserve(Converter *conv, int64 n);

/* Whether the sequences have values for n rows, and a worker may take them. */
extern bool convert_sequences_last(Converter *conv, int64 n);

/* Whether a column that the file does not have only takes values of a sequence. */
extern bool convert_takes_sequence(const Converter *conv, AttrNumber attnum);

/* Columns that the file does not have. */
extern void convert_defaults(Converter *conv, Datum *values, bool *nulls);

/* Columns [first, end) of the list, which a row does not have. */
extern bool convert_missing(Converter *conv, int first, int end, Datum *values,
							bool *nulls, RowError *err);

#endif							/* PGBULK_CONVERT_H */
