/*
 * verify.h
 *		The server's last word on types.
 */
#ifndef PGBULK_VERIFY_H
#define PGBULK_VERIFY_H

#include "postgres.h"

#include "format/encoding.h"
#include "inspect/columns.h"

/*
 * Has the input function of each column's type read all values of the sample,
 * as a load would.  A column whose type refuses one gets the next type that
 * looked possible, text in the end.  encoding: NULL where the server cannot
 * convert the file's.
 *
 * It runs in a subtransaction, as input functions of 15 can only throw.  Errors
 * that are not about a value (a cancel, no memory) are thrown on.
 */
extern void verify_types(Columns *columns, Encoding *encoding);

/*
 * A text of the file in the database encoding; what cannot be converted is
 * '?'.  Memory: the current context.
 */
extern char *verify_text(Encoding *encoding, const char *s, size_t length);

#endif							/* PGBULK_VERIFY_H */
