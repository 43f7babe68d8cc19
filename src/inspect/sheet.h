/*
 * sheet.h
 *		Rows and fields of a sample, by a dialect.  Pure C.
 *
 * A sample is a few spans of a file: its beginning and, where it can be read
 * anywhere, pieces further in that begin with a row.
 */
#ifndef PGBULK_SHEET_H
#define PGBULK_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/scan.h"

/* Followed by SCAN_PADDING readable bytes. */
typedef struct SheetSpan
{
	const char *data;
	uint32_t	length;
	bool		to_end;			/* the file has no byte after it */
	bool		begins;			/* nor one before it */
} SheetSpan;

/* As many columns as a table may have. */
#define COLUMNS_MAX 1600

/* Work space; a row of more than SHEET_FIELDS fields ends a walk. */
#define SHEET_ROWS 1024
#define SHEET_FIELDS 65536

typedef struct SheetSpace
{
	void		(*pause) (void);	/* called before rows are scanned; may not return; or NULL */
	ScanRow		rows[SHEET_ROWS];
	ScanField	fields[SHEET_FIELDS];
} SheetSpace;

static inline void
sheet_pause(const SheetSpace *space)
{
	if (space->pause != NULL)
		space->pause();
}

/* False: no more rows are wanted. */
typedef bool (*SheetVisit) (void *arg, const char *data, const ScanRow *row,
							const ScanField *fields);

/*
 * Shows the rows of a span to visit, up to the last that is whole, or until
 * quotes have been broken too often.  eol as in scan_rows.  Returns how far it
 * came.  Price: a multiple of the span's length at most, whatever is in it.
 */
extern uint32_t sheet_walk(const SheetSpan *span, const ScanDialect *dialect,
						   ScanEol *eol, SheetSpace *space, SheetVisit visit,
						   void *arg);

/*
 * The same for rows that are to have nfields fields: what a broken quote has made
 * of several lines is shown as a row with an unterminated quote, and the walk
 * goes on where a load would.
 */
extern uint32_t sheet_walk_table(const SheetSpan *span,
								 const ScanDialect *dialect, uint32_t nfields,
								 ScanEol *eol, SheetSpace *space,
								 SheetVisit visit, void *arg);

/* Whether a row is an empty line. */
extern bool sheet_is_blank(const ScanRow *row, const ScanField *fields);

/*
 * The value of a field: in the span itself or copied to buffer, which must have
 * space for the field and SCAN_OVERCOPY bytes more.
 */
extern const char *sheet_value(const ScanDialect *dialect, const char *data,
							   const ScanField *field, char *buffer,
							   size_t *length);

/* How a field is quoted. */
typedef enum SheetQuoting
{
	SHEET_PLAIN,				/* not at all */
	SHEET_QUOTED,				/* as a whole */
	SHEET_PADDED,				/* as a whole, with blanks around */
	SHEET_STRAY					/* quotes stand within it */
} SheetQuoting;

extern SheetQuoting sheet_quoting(const ScanDialect *dialect, const char *data,
								  const ScanField *field);

#endif							/* PGBULK_SHEET_H */
