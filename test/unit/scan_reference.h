/*
 * scan_reference.h
 *		A scanner that goes byte by byte as COPY does, and the means to compare
 *		scan_rows with it.
 */
#ifndef PGBULK_SCAN_REFERENCE_H
#define PGBULK_SCAN_REFERENCE_H

#include <check.h>

#include "scan/scan.h"

/* ck_assert for inner loops: says nothing, and so costs nothing, where all is well. */
#define REQUIRE(condition) \
	do { if (!(condition)) ck_abort_msg("%s", #condition); } while (0)

/* Rows at places in the file, however they were found. */
typedef struct Field
{
	size_t		start;
	size_t		length;
	bool		quoted;
	bool		escaped;
} Field;

typedef struct Row
{
	size_t		start;
	size_t		end;
	size_t		next;
	size_t		line;
	size_t		first_field;
	size_t		nfields;
	int			fault;
	bool		multiline;
	bool		lax;
} Row;

#define MAX_ROWS 13000
#define MAX_FIELDS 13000

typedef struct Found
{
	size_t		nrows;
	size_t		nfields;
	size_t		consumed;
	size_t		lines;
	ScanStatus	status;
	ScanEol		eol;
	Row			rows[MAX_ROWS];
	Field		fields[MAX_FIELDS];
} Found;

/* How a caller of scan_rows fills its window and how much space it provides. */
#define ROOMY UINT32_MAX		/* as many as the input can have, and more */

typedef struct Feed
{
	size_t		step;			/* bytes read at a time; 0: all at once */
	uint32_t	max_rows;
	uint32_t	max_fields;
	ScanEol		eol;			/* to begin with */
} Feed;

/* A whole file, by the reference. */
extern void ref_scan(const ScanDialect *d, const char *data, size_t len,
					 Found *found);

/* A whole file, by scan_rows, from windows that are refilled. */
extern void feed_scan(const ScanDialect *d, const char *data, size_t len,
					  Feed feed, Found *found);

/* Fails, and shows both, where they differ. */
extern void assert_same(const Found *expected, const Found *found,
						const char *data, size_t len, Feed feed);

/* Runs a suite of one or more cases; the value for main to return. */
extern int	run_suite(Suite *suite);

#endif							/* PGBULK_SCAN_REFERENCE_H */
