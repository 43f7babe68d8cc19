/*
 * fixed.h
 *		Fields of fixed length: binary numbers to values, and the encoding of texts.
 *
 * The scanner has trimmed texts and made NULLs empty spans (scan.h), so texts go
 * the way of all others; a number is made the value of its column at once where
 * both are numbers, else by its text.
 */
#ifndef PGBULK_FORMAT_FIXED_H
#define PGBULK_FORMAT_FIXED_H

#include "postgres.h"

#include "format/converter.h"

/*
 * Prepares the columns of a converter that has been opened up to that.  Errors:
 * 22023 where there are not as many fields as columns.
 */
extern void fixed_open(Converter *conv);

/* Marks the rows that have a text which is not valid (SCAN_FAULT_ENCODING). */
extern void fixed_check_rows(Converter *conv, const char *data, ScanRow *rows,
							 uint32 nrows, const ScanField *fields);

/* Says what is not valid in such a row; always false. */
extern bool fixed_report(Converter *conv, const char *data, const ScanRow *row,
						 const ScanField *fields, RowError *err);

/* Whether field number index of the file is no text. */
static inline bool
fixed_is_binary(const Converter *conv, int index)
{
	return conv->numbers != NULL && conv->numbers[index].type != BULK_FIELD_TEXT;
}

/* The text of a number; good until the next call. */
extern const char *fixed_text(Converter *conv, const BulkField *field,
							  const char *s, uint32 *len);

#endif							/* PGBULK_FORMAT_FIXED_H */
