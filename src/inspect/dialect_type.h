/*
 * dialect_type.h
 *		How a file is written, as data.  Pure C.
 */
#ifndef PGBULK_DIALECT_TYPE_H
#define PGBULK_DIALECT_TYPE_H

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

#endif							/* PGBULK_DIALECT_TYPE_H */
