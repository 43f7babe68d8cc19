/*
 * dialect.h
 *		How a file is written, found by trying.  Pure C.
 *
 * Every delimiter and quote that is not out of the question is tried with the
 * scanner that will load the file.  The best is the one that makes a table:
 * rows of one length whose fields look like values.
 */
#ifndef PGBULK_DIALECT_H
#define PGBULK_DIALECT_H

#include "inspect/dialect_type.h"

/*
 * The dialect of a span that begins a file (without its byte order mark).
 * Price: some forty walks over 256 kB of it, and four over all.
 */
extern void dialect_guess(const SheetSpan *span, const DialectHints *hints,
						  SheetSpace *space, Dialect *dialect);

#endif							/* PGBULK_DIALECT_H */
