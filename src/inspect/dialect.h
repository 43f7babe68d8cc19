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

#include "inspect/sheet.h"

#define DIALECT_SEPARATOR 16

/* What is known beforehand; what is zero or NULL is not. */
typedef struct DialectHints
{
	bool		has_format;
	ScanFormat	format;
	const char *delimiter;
	char		quote;
	char		escape;
	const char *comment;
	bool		any_newline;
	bool		non_ascii;		/* delimiters beyond ASCII can be used */
} DialectHints;

typedef struct Dialect
{
	ScanDialect scan;			/* its strings are those below */
	char		separator[DIALECT_SEPARATOR + 1];	/* the delimiter, terminated */
	char		comment[16];
	bool		quotes;			/* scan.quote stands around values */
	bool		no_quote;		/* quotes are data: scan.quote is a byte that is not there */
	bool		no_delimiter;	/* commas are data: scan.delimiter is a byte that is not there */
	ScanEol		eol;			/* SCAN_EOL_ANY: mixed */
	uint32_t	columns;		/* fields that most rows have */
	uint32_t	merged;			/* lines that look like rows and are within quotes */
	double		score;
} Dialect;

/*
 * The dialect of a span that begins a file (without its byte order mark).  Price: some forty walks over
 * 256 kB of it, and four over all.
 */
extern void dialect_guess(const SheetSpan *span, const DialectHints *hints,
						  SheetSpace *space, Dialect *dialect);

#endif							/* PGBULK_DIALECT_H */
