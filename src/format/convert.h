/*
 * convert.h
 *		Fields of a row to the values of its columns.
 *
 * Common types have a fast converter (types.c) that gives exactly what the
 * type's input function would, or declines; then the input function decides.
 * Values live in a per-row arena and in the per-tuple memory context of the
 * executor state, until the next row.
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
 * force_not_null columns that are not loaded, and likewise for those of other options.
 */
extern Converter *convert_open(const BulkOptions *options, const Target *target,
							   Guard *guard, EState *estate);

/*
 * Says how many rows come next, at most: as many values are taken from
 * sequences at once.
 */
extern void convert_expect(Converter *conv, uint32 nrows);

/* A new window: finds out how far its first len bytes are valid text. */
extern void convert_window(Converter *conv, const char *data, uint32 len);

/*
 * A row's values and nulls (natts of each), defaults included.  data is the
 * window that row and fields point into.  False: err says why (see
 * row_error.h for err = NULL).
 */
extern bool convert_row(Converter *conv, const char *data, const ScanRow *row,
						const ScanField *fields, Datum *values, bool *nulls,
						RowError *err);

/* The same by option transform. */
extern bool convert_transformed_row(Converter *conv, const char *data,
									const ScanRow *row, const ScanField *fields,
									Datum *values, bool *nulls, RowError *err);

/*
 * The same by what makes values of the fields of a row that is sound: they are
 * given it with its own fields, as text that is valid, or is to be converted.
 */
extern bool convert_row_by(ConvertRow fields_to_values, Converter *conv,
						   const char *data, const ScanRow *row,
						   const ScanField *fields, Datum *values, bool *nulls,
						   RowError *err);

/* Which of these (or the format's own) is for a load. */
extern ConvertRow convert_row_function(const BulkOptions *options);

/* One field of a row to the value of its column, of any kind; false: err says why. */
extern bool convert_field(Converter *conv, int index, const char *data,
						  const ScanField *field, Datum *value, bool *isnull,
						  RowError *err);

/* Says what the scan has found wrong with a row; always false. */
extern bool convert_fault(const Converter *conv, const ScanRow *row,
						  RowError *err);

/* What the input function that has thrown was given, if it was text. */
extern const char *convert_asked_text(const Converter *conv);

/*
 * After an error caught in an input function under set_null: has that field
 * made NULL in the next convert_row of the same row.  False where the error
 * did not come from an input function.
 */
extern bool convert_null_asked(Converter *conv);

extern void convert_mark_nulled(Converter *conv, int index, const char *text);

/* Forgets about the row; the next one begins. */
extern void convert_next(Converter *conv);

/* A varlena value with room for len bytes of data, at *data. */
extern Datum convert_varlena(Converter *conv, const Column *column, Size len,
							 char **data);

/* A varlena with these bytes as its data. */
extern ValueResult convert_bytes(Converter *conv, const Column *column,
								 const char *s, uint32 len, Datum *out);

/* Sets column->convert and type_name where the type has a fast converter (types.c). */
extern void convert_choose(Converter *conv, Column *column);

/*
 * For rows that workers share: takes values of sequences for n rows, for all
 * columns that the file does not have, at once; what was left is given up.
 * Error: 55000 where others have used a sequence up since
 * convert_sequences_last.
 */
extern void convert_reserve(Converter *conv, int64 n);

/* Whether the sequences will do for n rows, and may be asked by a worker. */
extern bool convert_sequences_last(Converter *conv, int64 n);

/* Whether a column that the file does not have only takes values of a sequence. */
extern bool convert_takes_sequence(const Converter *conv, AttrNumber attnum);

/* Columns that the file does not have. */
extern void convert_defaults(Converter *conv, Datum *values, bool *nulls);

/* Columns [first, end) of the list, which a row does not have. */
extern bool convert_missing(Converter *conv, int first, int end, Datum *values,
							bool *nulls, RowError *err);

#endif							/* PGBULK_CONVERT_H */
