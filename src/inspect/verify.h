/*
 * verify.h
 *		Verifies types with the server's input functions.
 */
#ifndef PGBULK_VERIFY_H
#define PGBULK_VERIFY_H

#include "postgres.h"

#include "format/encoding.h"
#include "inspect/column_types.h"

/*
 * Passes all values of the sample to the input functions of their columns'
 * types, as a load would.  A column whose type rejects a value gets the next
 * possible type, in the end text.  encoding: NULL if the server cannot convert
 * the file's.
 *
 * Runs in a subtransaction, as input functions of 15 can only throw, and each
 * column that is refused begins another one.  Errors not about a value
 * (cancellation, out of memory) are rethrown.  Price: a walk over the sample
 * for each type that columns lose, however many columns.
 */
extern void verify_types(Columns *columns, Encoding *encoding);

/*
 * The type of the dates or times that the caller's template reads: of the column's example, as
 * the server finds it; else timestamp.
 */
extern ShapeType verify_template(const char *template, Encoding *encoding,
								 const ColumnStats *stats);

/* Why bulk_load refuses options, a JSON text; NULL: it does not. */
extern char *verify_options(char *json);

/*
 * A text of the file in the database encoding; what cannot be converted is
 * '?'.  Memory: the current context.
 */
extern char *verify_text(Encoding *encoding, const char *s, size_t length);

#endif							/* PGBULK_VERIFY_H */
