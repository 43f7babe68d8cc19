/*
 * sheet.c
 *		See sheet.h.
 */
#include "inspect/sheet.h"

/* The longest row that is not whole but not yet taken for a broken quote. */
#define LONG_ROW 65536

/*
 * How often the bytes of a span may be read again, as rows after a broken quote
 * are.  A span that needs more is not written in this dialect.
 */
#define MAX_REREADS 16

/* Rows that are scanned at once where a quote has just been broken: others may be, too. */
#define RECOVERY_ROWS 16

/* Where rows parse again behind a quote that is never closed; 0: nowhere. */
static uint32_t
recover(const SheetSpan *span, const ScanDialect *dialect, ScanEol eol,
		uint32_t from, uint32_t to, uint32_t nfields)
{
	uint32_t	resume;

	if (dialect->format != SCAN_CSV ||
		scan_recover(dialect, eol, span->data, span->length, span->to_end,
					 from, to, nfields, &resume) != SCAN_RESUME)
		return 0;
	return resume;
}

/* Whether a broken quote may have made a row of lines that are rows of their own. */
static bool
is_spoiled(const ScanRow *row, uint32_t nfields)
{
	return row->fault == SCAN_FAULT_UNTERMINATED_QUOTE ||
		(nfields > 0 && row->multiline && row->lax && row->nfields != nfields);
}

/*
 * Shows the rows that were scanned at a place of the span.  *resume: where the
 * next ones are to be looked for, if a quote is broken; else 0.
 */
static bool
show_rows(const SheetSpan *span, const ScanDialect *dialect, uint32_t nfields,
		  ScanEol eol, uint32_t at, const SheetSpace *space, uint32_t nrows,
		  SheetVisit visit, void *arg, uint32_t *resume)
{
	for (uint32_t i = 0; i < nrows; i++)
	{
		ScanRow		row = space->rows[i];

		if (is_spoiled(&row, nfields))
		{
			bool		unclosed = row.fault == SCAN_FAULT_UNTERMINATED_QUOTE;

			*resume = recover(span, dialect, eol, at + row.start,
							  unclosed ? span->length : at + row.end, nfields);
			if (*resume != 0)
			{
				row.fault = SCAN_FAULT_UNTERMINATED_QUOTE;
				row.next = *resume - at;
			}
		}
		if (!visit(arg, span->data + at, &row, space->fields + row.first_field))
		{
			*resume = at + row.next;
			return false;
		}
		if (*resume != 0)
			break;
	}
	return true;
}

uint32_t
sheet_walk_table(const SheetSpan *span, const ScanDialect *dialect,
				 uint32_t nfields, ScanEol *eol, SheetSpace *space,
				 SheetVisit visit, void *arg)
{
	uint32_t	at = 0;
	uint32_t	most = SHEET_ROWS;
	uint64_t	again = 0;		/* bytes read without result */

	for (;;)
	{
		ScanResult	result;
		uint32_t	resume = 0;
		uint32_t	seen;

		sheet_pause(space);
		scan_rows(dialect, eol, span->data + at, span->length - at, span->to_end,
				  space->rows, most, space->fields, SHEET_FIELDS, &result);
		if (!show_rows(span, dialect, nfields, *eol, at, space, result.nrows,
					   visit, arg, &resume))
			return resume;
		seen = result.status == SCAN_FULL ? at + result.consumed : span->length;
		at += result.consumed;
		if (resume == 0 && result.status == SCAN_MORE &&
			span->length - at > LONG_ROW)
			resume = recover(span, dialect, *eol, at, span->length, nfields);
		if (resume != 0)
		{
			at = resume;
			again += seen > at ? seen - at : 0;
			most = RECOVERY_ROWS;
			if (again > (uint64_t) span->length * MAX_REREADS)
				return at;
		}
		else if (result.status != SCAN_FULL || result.nrows == 0)
			return at;
		else if (most < SHEET_ROWS)
			most *= 4;
	}
}

uint32_t
sheet_walk(const SheetSpan *span, const ScanDialect *dialect, ScanEol *eol,
		   SheetSpace *space, SheetVisit visit, void *arg)
{
	return sheet_walk_table(span, dialect, 0, eol, space, visit, arg);
}

bool
sheet_is_blank(const ScanRow *row, const ScanField *fields)
{
	return row->nfields == 1 && fields[0].length == 0 && !fields[0].quoted;
}

const char *
sheet_value(const ScanDialect *dialect, const char *data,
			const ScanField *field, char *buffer, size_t *length)
{
	bool		high;

	*length = field->length;
	if (!field->escaped)
		return data + field->start;
	*length = dialect->format == SCAN_TEXT ?
		scan_unescape(data + field->start, field->length, buffer, &high) :
		scan_unquote(dialect, data + field->start, field->length, buffer);
	return buffer;
}

SheetQuoting
sheet_quoting(const ScanDialect *dialect, const char *data,
			  const ScanField *field)
{
	const char *s = data + field->start;
	const char *end = s + field->length;
	bool		padded = false;

	if (!field->quoted || dialect->format == SCAN_TEXT)
		return SHEET_PLAIN;
	if (!field->escaped)
		return SHEET_QUOTED;
	while (s < end && (*s == ' ' || *s == '\t'))
		s++, padded = true;
	while (s < end && (end[-1] == ' ' || end[-1] == '\t'))
		end--, padded = true;
	if (end - s < 2 || *s != dialect->quote || end[-1] != dialect->quote)
		return SHEET_STRAY;
	for (s++, end--; s < end; s++)
	{
		/* both kinds of escape take the next byte along */
		if (*s == dialect->escape && s + 1 < end &&
			(s[1] == dialect->quote || s[1] == dialect->escape))
			s++;
		else if (*s == dialect->quote)
			return SHEET_STRAY;
	}
	return padded ? SHEET_PADDED : SHEET_QUOTED;
}
