/*
 * quoting.c
 *		See quoting.h.
 *
 * A quote within a field opens a quoted part, as in COPY, and everything up to
 * the next quote is one field, line ends included.  Five rows joined in this
 * way may have as many fields as each of them: the result is loaded, and the
 * others are silently lost.  The lines give it away: each is a row by itself,
 * while the lines of a text with intended line ends are not.
 */
#include "inspect/quoting.h"

#include <string.h>

#include "inspect/value_shape.h"

/* Costs: rows silently lost, a bad row, a changed value. */
#define COST_MERGED 4.0
#define COST_SWALLOWED 2.0
#define COST_BROKEN 3.0
#define COST_LENGTH 2.0
#define COST_QUOTE 1.0

typedef struct Damage
{
	const Dialect *dialect;
	char		mark;
	double		cost;
	uint32_t	merged;
} Damage;

/* The fields of a line, by its delimiters alone; *first: the length of the first. */
static uint32_t
count_fields(const Dialect *dialect, const char *s, const char *end, size_t *first)
{
	size_t		length = strlen(dialect->separator);
	const char *from = s;
	uint32_t	n = 1;

	while ((s = memchr(s, dialect->separator[0], end - s)) != NULL)
		if ((size_t) (end - s) >= length && memcmp(s, dialect->separator, length) == 0)
		{
			if (n++ == 1)
				*first = s - from;
			s += length;
		}
		else
			s++;
	if (n == 1)
		*first = end - from;
	return n;
}

/*
 * The lines of a row that has several; *alike: each has as many fields as a row, and begins
 * with a number or the like if the row does.
 */
static uint32_t
count_lines(const Damage *damage, const char *s, const char *end, bool *alike)
{
	char		line_end = damage->dialect->eol == SCAN_EOL_CR ? '\r' : '\n';
	bool		typed = false;
	uint32_t	lines = 0;

	*alike = true;
	for (;;)
	{
		const char *next = memchr(s, line_end, end - s);
		const char *stop = next != NULL ? next : end;
		size_t		first;

		if (stop > s && stop[-1] == '\r')
			stop--;
		*alike &= count_fields(damage->dialect, s, stop, &first) == damage->dialect->columns;
		if (lines++ == 0)
			typed = shape_is_typed(s, first);
		else
			*alike &= !typed || shape_is_typed(s, first);
		if (next == NULL)
			return lines;
		s = next + 1;
	}
}

/* Whether a text looks quoted as a whole, or like a piece of what is. */
static bool
is_left_quoted(const char *s, size_t length, char mark)
{
	uint32_t	marks = 0;

	if (length == 0 || s[0] != mark)
		return false;
	for (size_t i = 0; i < length; i++)
		marks += s[i] == mark ? 1 : 0;
	return marks % 2 == 1 || s[length - 1] == mark;
}

static void
judge_field(Damage *damage, const char *data, const ScanField *field)
{
	const Dialect *dialect = damage->dialect;

	if (dialect->no_quote)
	{
		if (is_left_quoted(data + field->start, field->length, damage->mark))
			damage->cost += COST_QUOTE;
	}
	else if (field->quoted &&
			 sheet_quoting(&dialect->scan, data, field) == SHEET_STRAY)
		damage->cost += COST_QUOTE;
}

static bool
judge_row(void *arg, const char *data, const ScanRow *row,
		  const ScanField *fields)
{
	Damage	   *damage = arg;
	const Dialect *dialect = damage->dialect;

	if (sheet_is_blank(row, fields))
		return true;
	if (row->fault == SCAN_FAULT_UNTERMINATED_QUOTE)
	{
		damage->cost += COST_BROKEN;
		return true;
	}
	if (row->nfields != dialect->columns)
		damage->cost += COST_LENGTH;
	for (uint32_t i = 0; i < row->nfields; i++)
		judge_field(damage, data, &fields[i]);
	if (row->multiline && (row->lax || dialect->columns > 1))
	{
		bool		alike;
		uint32_t	lines = count_lines(damage, data + row->start, data + row->end, &alike);

		if (alike)
		{
			damage->merged += lines - 1;
			damage->cost += COST_MERGED * (lines - 1);
		}
		else if (row->lax)
			damage->cost += COST_SWALLOWED * (lines - 1);
	}
	return true;
}

double
quoting_cost(const SheetSpan *span, const Dialect *dialect, char mark,
			 SheetSpace *space, uint32_t *merged)
{
	Damage		damage = {.dialect = dialect, .mark = mark};
	ScanEol		eol = dialect->eol == SCAN_EOL_ANY ? SCAN_EOL_ANY : SCAN_EOL_UNKNOWN;

	sheet_walk_table(span, &dialect->scan, dialect->columns, &eol, space,
					 judge_row, &damage);
	*merged = damage.merged;
	return damage.cost;
}
