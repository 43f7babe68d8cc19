/*
 * scan_reference.c
 *		Rows and fields byte by byte, by the state machine of COPY, with none of
 *		the code under test.
 */
#include "scan_reference.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the reference: one byte after the other, as COPY goes -- */

static size_t
count_in(const char *data, size_t len, char c)
{
	size_t		count = 0;

	for (size_t i = 0; i < len; i++)
		count += data[i] == c;
	return count;
}

static void
ref_fault(Row *row, ScanFault fault)
{
	if (row->fault == SCAN_FAULT_NONE)
		row->fault = fault;
}

/* What COPY says to \. whose period is before i; NONE: end of data, *next set. */
static ScanFault
ref_marker(const char *data, size_t len, size_t i, ScanEol *eol, bool alone,
		   size_t *next)
{
	int			c;

	if (*eol == SCAN_EOL_CRNL)
	{
		c = i < len ? data[i] : 0;
		i++;
		if (c == '\n')
			return SCAN_FAULT_MARKER_NEWLINE;
		if (c != '\r')
			return SCAN_FAULT_MARKER_NOT_ALONE;
	}
	c = i < len ? data[i] : 0;
	i++;
	if (c != '\r' && c != '\n')
		return SCAN_FAULT_MARKER_NOT_ALONE;
	if ((*eol == SCAN_EOL_NL && c != '\n') ||
		(*eol == SCAN_EOL_CRNL && c != '\n') ||
		(*eol == SCAN_EOL_CR && c != '\r'))
		return SCAN_FAULT_MARKER_NEWLINE;
	if (!alone)
		return SCAN_FAULT_MARKER_NOT_ALONE;

	/* COPY takes one byte here; the scanner says which kind it was */
	if (*eol == SCAN_EOL_UNKNOWN)
	{
		*eol = c == '\n' ? SCAN_EOL_NL : SCAN_EOL_CR;
		if (c == '\r' && i < len && data[i] == '\n')
		{
			*eol = SCAN_EOL_CRNL;
			i++;
		}
	}
	*next = i;
	return SCAN_FAULT_NONE;
}

/* Finds the end of the row that begins at row->start; true: it is the marker. */
static bool
ref_line(const ScanDialect *d, const char *data, size_t len, ScanEol *eol,
		 Row *row)
{
	bool		is_csv = d->format == SCAN_CSV;
	bool		in_quote = false;
	bool		last_was_esc = false;
	size_t		i = row->start;

	for (;;)
	{
		char		c;

		if (i == len)
		{
			if (in_quote)
				ref_fault(row, SCAN_FAULT_UNTERMINATED_QUOTE);
			row->end = row->next = len;
			return false;
		}
		c = data[i];
		if (is_csv)
		{
			if (d->escape != d->quote && in_quote && c == d->escape)
				last_was_esc = !last_was_esc;
			if (c == d->quote && !last_was_esc)
				in_quote = !in_quote;
			if (d->escape == d->quote || c != d->escape)
				last_was_esc = false;
			if (in_quote && (c == '\n' || c == '\r'))
				row->multiline = true;
		}
		if (c == '\r' && !in_quote)
		{
			if (*eol == SCAN_EOL_NL)
				ref_fault(row, SCAN_FAULT_CARRIAGE_RETURN);
			else if (*eol == SCAN_EOL_CR)
				break;
			else if (i + 1 < len && data[i + 1] == '\n')
			{
				*eol = SCAN_EOL_CRNL;
				row->end = i;
				row->next = i + 2;
				return false;
			}
			else if (*eol == SCAN_EOL_CRNL)
				ref_fault(row, SCAN_FAULT_CARRIAGE_RETURN);
			else
			{
				*eol = SCAN_EOL_CR;
				break;
			}
		}
		else if (c == '\n' && !in_quote)
		{
			if (*eol == SCAN_EOL_CR || *eol == SCAN_EOL_CRNL)
				ref_fault(row, SCAN_FAULT_NEWLINE);
			else
				*eol = SCAN_EOL_NL;
			break;
		}
		else if (c == '\\' && !is_csv && i + 1 < len)
		{
			if (data[i + 1] == '.' && row->fault == SCAN_FAULT_NONE)
			{
				row->fault = ref_marker(data, len, i + 2, eol,
										i == row->start, &row->next);
				if (row->fault == SCAN_FAULT_NONE)
					return true;
			}
			i++;
		}
		i++;
	}
	row->end = i;
	row->next = i + 1;
	return false;
}

static void
ref_text_fields(const ScanDialect *d, const char *data, Row *row, Found *found)
{
	size_t		i = row->start;

	for (;;)
	{
		Field	   *field = &found->fields[found->nfields++];
		bool		delimited = false;

		*field = (Field) {.start = i};
		while (i < row->end)
		{
			if (data[i] == d->delimiter)
			{
				delimited = true;
				break;
			}
			if (data[i] == '\\')
			{
				field->escaped = true;
				if (i + 1 == row->end)
					break;
				i++;
			}
			i++;
		}
		field->length = i - field->start;
		row->nfields++;
		if (!delimited)
			return;
		i++;
	}
}

static void
ref_csv_fields(const ScanDialect *d, const char *data, Row *row, Found *found)
{
	size_t		i = row->start;

	for (;;)
	{
		Field	   *field = &found->fields[found->nfields++];
		size_t		special = 0;
		bool		in_quote = false;
		bool		delimited = false;
		bool		just_closed = false;

		*field = (Field) {.start = i};
		for (; i < row->end; i++)
		{
			char		c = data[i];

			if (!in_quote && c == d->delimiter)
			{
				delimited = true;
				break;
			}
			if (c == d->quote || c == d->escape)
				special++;
			if (!in_quote)
			{
				if (c == d->quote)
				{
					field->quoted = true;
					in_quote = true;
					if (i > field->start)
						row->lax = true;
				}
				else if (just_closed)
					row->lax = true;
				just_closed = false;
			}
			else if (c == d->escape && i + 1 < row->end &&
					 (data[i + 1] == d->escape || data[i + 1] == d->quote))
			{
				i++;
				special++;
			}
			else if (c == d->quote)
			{
				in_quote = false;
				just_closed = true;
			}
		}
		field->length = i - field->start;
		if (field->quoted)
		{
			if (special == 2 && !in_quote && field->length >= 2 &&
				data[field->start] == d->quote && data[i - 1] == d->quote)
			{
				field->start++;
				field->length -= 2;
			}
			else
				field->escaped = true;
		}
		row->nfields++;
		if (!delimited)
			return;
		i++;
	}
}

void
ref_scan(const ScanDialect *d, const char *data, size_t len, Found *found)
{
	size_t		at = 0;

	found->nrows = found->nfields = 0;
	found->eol = SCAN_EOL_UNKNOWN;
	found->status = SCAN_END;
	while (at < len && found->status == SCAN_END)
	{
		Row		   *row = &found->rows[found->nrows];

		*row = (Row) {.start = at, .first_field = found->nfields};
		if (ref_line(d, data, len, &found->eol, row))
			found->status = SCAN_MARKER;
		else
		{
			if (d->format == SCAN_CSV)
				ref_csv_fields(d, data, row, found);
			else
				ref_text_fields(d, data, row, found);
			found->nrows++;
		}
		at = row->next;
	}
	for (size_t i = 0; i < found->nrows; i++)
		found->rows[i].line = count_in(data, found->rows[i].start,
									   found->eol == SCAN_EOL_CR ? '\r' : '\n');
	found->consumed = at;
	found->lines = count_in(data, at, found->eol == SCAN_EOL_CR ? '\r' : '\n');
}

/* -- a caller of scan_rows that refills its window -- */

/* Adds the rows of one call, which looked at the window at offset base. */
static void
take_rows(Found *found, size_t base, const ScanRow *rows,
		  const ScanField *fields, const ScanResult *result)
{
	for (uint32_t i = 0; i < result->nrows; i++)
	{
		const ScanRow *row = &rows[i];

		REQUIRE(found->nrows < MAX_ROWS);
		REQUIRE(found->nfields + result->nfields <= MAX_FIELDS);
		found->rows[found->nrows++] = (Row) {
			.start = base + row->start, .end = base + row->end,
			.next = base + row->next, .line = found->lines + row->line,
			.first_field = found->nfields + row->first_field,
			.nfields = row->nfields, .fault = row->fault,
			.multiline = row->multiline, .lax = row->lax
		};
	}
	for (uint32_t i = 0; i < result->nfields; i++)
		found->fields[found->nfields++] = (Field) {
			.start = base + fields[i].start, .length = fields[i].length,
			.quoted = fields[i].quoted, .escaped = fields[i].escaped
		};
	found->lines += result->lines;
	found->consumed = base + result->consumed;
	found->status = result->status;
}

void
feed_scan(const ScanDialect *d, const char *data, size_t len, Feed feed,
		  Found *found)
{
	size_t		base = 0;
	size_t		have = feed.step == 0 || feed.step > len ? len : feed.step;
	ScanRow    *rows;
	ScanField  *fields;

	if (feed.max_rows == ROOMY)
		feed.max_rows = (uint32_t) len + 100;
	if (feed.max_fields == ROOMY)
		feed.max_fields = (uint32_t) len + 100;
	rows = malloc(feed.max_rows * sizeof(ScanRow));
	fields = malloc(feed.max_fields * sizeof(ScanField));

	found->nrows = found->nfields = found->consumed = found->lines = 0;
	found->eol = feed.eol;
	for (;;)
	{
		char	   *window = malloc(have + SCAN_PADDING);
		bool		at_eof = base + have == len;
		ScanResult	result;

		/* padding that would do harm if it were looked at */
		memcpy(window, data + base, have);
		for (size_t i = 0; i < SCAN_PADDING; i++)
			window[have + i] = "\n\".\\,\r"[(i + have) % 6];
		scan_rows(d, &found->eol, window, (uint32_t) have, at_eof, rows,
				  feed.max_rows, fields, feed.max_fields, &result);
		free(window);

		REQUIRE(result.nrows <= feed.max_rows);
		REQUIRE(result.nfields <= feed.max_fields);
		REQUIRE(result.consumed <= have);
		take_rows(found, base, rows, fields, &result);
		base += result.consumed;
		have -= result.consumed;
		if (result.status == SCAN_FULL)
		{
			if (result.nrows == 0)
			{
				feed.max_fields *= 2;
				fields = realloc(fields, feed.max_fields * sizeof(ScanField));
			}
			continue;
		}
		if (result.status != SCAN_MORE)
			break;
		REQUIRE(!at_eof);
		have += feed.step;
		if (base + have > len)
			have = len - base;
	}
	if (found->status == SCAN_END)
		REQUIRE(found->consumed == len);
	free(rows);
	free(fields);
}

/* -- comparing -- */

static void
print_found(const char *title, const Found *found)
{
	fprintf(stderr, "%s: status %d, eol %d, consumed %zu, lines %zu\n", title,
			found->status, found->eol, found->consumed, found->lines);
	for (size_t i = 0; i < found->nrows; i++)
	{
		const Row  *row = &found->rows[i];

		fprintf(stderr, "  row %zu-%zu-%zu line %zu fault %d%s%s:", row->start,
				row->end, row->next, row->line, row->fault,
				row->multiline ? " multiline" : "", row->lax ? " lax" : "");
		for (size_t f = 0; f < row->nfields; f++)
		{
			const Field *field = &found->fields[row->first_field + f];

			fprintf(stderr, " [%zu+%zu%s%s]", field->start, field->length,
					field->quoted ? " q" : "", field->escaped ? " e" : "");
		}
		fprintf(stderr, "\n");
	}
}

static bool
same_row(const Found *a, const Found *b, size_t i)
{
	const Row  *x = &a->rows[i];
	const Row  *y = &b->rows[i];

	if (x->start != y->start || x->end != y->end || x->next != y->next ||
		x->line != y->line || x->fault != y->fault ||
		x->nfields != y->nfields || x->first_field != y->first_field ||
		x->multiline != y->multiline)
		return false;

	/* a CR out of place makes no statement about the fields around it */
	if (x->fault == SCAN_FAULT_CARRIAGE_RETURN)
		return true;
	if (x->lax != y->lax)
		return false;
	for (size_t f = x->first_field; f < x->first_field + x->nfields; f++)
		if (a->fields[f].start != b->fields[f].start ||
			a->fields[f].length != b->fields[f].length ||
			a->fields[f].quoted != b->fields[f].quoted ||
			a->fields[f].escaped != b->fields[f].escaped)
			return false;
	return true;
}

void
assert_same(const Found *expected, const Found *found, const char *data,
			size_t len, Feed feed)
{
	bool		same = expected->nrows == found->nrows &&
		expected->status == found->status &&
		expected->consumed == found->consumed &&
		expected->lines == found->lines && expected->eol == found->eol;

	for (size_t i = 0; same && i < expected->nrows; i++)
		same = same_row(expected, found, i);
	if (same)
		return;
	fprintf(stderr, "kernel %s, step %zu, max_rows %u, max_fields %u, input: ",
			scan_kernel()->name, feed.step, feed.max_rows, feed.max_fields);
	for (size_t i = 0; i < len; i++)
		fprintf(stderr, isprint((unsigned char) data[i]) && data[i] != '\\' &&
				data[i] != '"' ? "%c" : "\\%03o", (unsigned char) data[i]);
	fprintf(stderr, "\n");
	print_found("expected", expected);
	print_found("found", found);
	ck_abort_msg("scan_rows differs from the reference");
}

int
run_suite(Suite *suite)
{
	SRunner    *runner = srunner_create(suite);
	int			failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
