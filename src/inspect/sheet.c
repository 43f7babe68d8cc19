/*
 * sheet.c
 *		See sheet.h.
 */
#include "inspect/sheet.h"

/* The longest row that is not whole but not yet taken for a broken quote. */
#define LONG_ROW 65536

/*
 * How often the bytes of a span may be read again, as rows do behind a broken
 * quote.  What needs more is not written so.
 */
#define AGAIN_MOST 16

/* Where rows parse again behind a quote that is never closed; 0: nowhere. */
static uint32_t
recover(const SheetSpan *span, const ScanDialect *dialect, ScanEol eol,
		uint32_t from)
{
	uint32_t	resume;

	if (dialect->format != SCAN_CSV ||
		scan_recover(dialect, eol, span->data, span->length, span->to_end,
					 from, span->length, 0, &resume) != SCAN_RESUME)
		return 0;
	return resume;
}

uint32_t
sheet_walk(const SheetSpan *span, const ScanDialect *dialect, ScanEol *eol,
		   SheetSpace *space, SheetVisit visit, void *arg)
{
	uint32_t	at = 0;
	uint64_t	again = 0;		/* bytes that were to be read again */

	for (;;)
	{
		const char *data = span->data + at;
		ScanResult	result;
		uint32_t	resume = 0;

		scan_rows(dialect, eol, data, span->length - at, span->to_end,
				  space->rows, SHEET_ROWS, space->fields, SHEET_FIELDS, &result);
		for (uint32_t i = 0; i < result.nrows; i++)
		{
			const ScanRow *row = &space->rows[i];

			if (!visit(arg, data, row, space->fields + row->first_field))
				return at + row->next;
			if (row->fault == SCAN_FAULT_UNTERMINATED_QUOTE)
				resume = recover(span, dialect, *eol, at + row->start);
		}
		at += result.consumed;
		if (resume == 0 && result.status == SCAN_MORE &&
			span->length - at > LONG_ROW)
			resume = recover(span, dialect, *eol, at);
		if (resume != 0)
		{
			at = resume;
			again += span->length - at;
			if (again > (uint64_t) span->length * AGAIN_MOST)
				return at;
		}
		else if (result.status != SCAN_FULL || result.nrows == 0)
			return at;
	}
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
