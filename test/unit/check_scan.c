/*
 * check_scan.c
 *		Rows and fields: cases by hand, then random input against a scanner that
 *		goes byte by byte, in windows of every size and with every kernel.
 */
#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "scan/scan.h"

static const ScanDialect csv = {SCAN_CSV, ',', '"', '"'};
static const ScanDialect csv_backslash = {SCAN_CSV, ',', '"', '\\'};
static const ScanDialect text = {SCAN_TEXT, ',', 0, 0};

/* ck_assert for inner loops: says nothing, and so costs nothing, where all is well. */
#define REQUIRE(condition) \
	do { if (!(condition)) ck_abort_msg("%s", #condition); } while (0)

/* -- rows at places in the file, however they were found -- */

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

static void
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

#define ROOMY UINT32_MAX		/* as many as the input can have, and more */

typedef struct Feed
{
	size_t		step;			/* bytes read at a time; 0: all at once */
	uint32_t	max_rows;
	uint32_t	max_fields;
} Feed;

static const Feed whole = {0, ROOMY, ROOMY};

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

static void
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
	found->eol = SCAN_EOL_UNKNOWN;
	for (;;)
	{
		char	   *window = malloc(have + SCAN_PADDING);
		bool		at_eof = base + have == len;
		ScanResult	result;

		/* padding that would do harm if it were looked at */
		memcpy(window, data + base, have);
		for (size_t i = 0; i < SCAN_PADDING; i++)
			window[have + i] = "\n\".\\,\r"[i % 6];
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

static void
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


/* Scans a string at once, checked against the reference. */
static const Found *
scan_string(const ScanDialect *d, const char *data, size_t len)
{
	static Found expected;
	static Found found;

	ref_scan(d, data, len, &expected);
	feed_scan(d, data, len, whole, &found);
	assert_same(&expected, &found, data, len, whole);
	return &found;
}

#define SCAN(d, s) scan_string(&(d), s, sizeof(s) - 1)

static void
assert_field(const Found *found, const char *data, size_t row, size_t field,
			 const char *value, bool quoted, bool escaped)
{
	const Field *f;

	ck_assert_uint_lt(row, found->nrows);
	ck_assert_uint_lt(field, found->rows[row].nfields);
	f = &found->fields[found->rows[row].first_field + field];
	ck_assert_uint_eq(f->length, strlen(value));
	ck_assert(memcmp(data + f->start, value, f->length) == 0);
	ck_assert_int_eq(f->quoted, quoted);
	ck_assert_int_eq(f->escaped, escaped);
}

/* -- cases by hand -- */

START_TEST(test_empty_input)
{
	const Found *found = SCAN(csv, "");

	ck_assert_uint_eq(found->nrows, 0);
	ck_assert_int_eq(found->status, SCAN_END);
}
END_TEST

START_TEST(test_plain_rows)
{
	const char	data[] = "a,b,c\n1,,3\n\nlast,row";
	const Found *found = SCAN(csv, data);

	ck_assert_uint_eq(found->nrows, 4);
	ck_assert_int_eq(found->eol, SCAN_EOL_NL);
	assert_field(found, data, 0, 2, "c", false, false);
	assert_field(found, data, 1, 1, "", false, false);
	ck_assert_uint_eq(found->rows[2].nfields, 1);
	assert_field(found, data, 2, 0, "", false, false);
	assert_field(found, data, 3, 1, "row", false, false);
	ck_assert_uint_eq(found->rows[3].line, 3);

	/* a line end at the end of the file begins no row */
	ck_assert_uint_eq(SCAN(csv, "a\n")->nrows, 1);
}
END_TEST

START_TEST(test_quoted_fields)
{
	const char	data[] = "\"a,b\",\"c\"\"d\",\"\",x\"y,z\"w,\"two\nlines\"\nq,\"e\"\n";
	const Found *found = SCAN(csv, data);

	ck_assert_uint_eq(found->nrows, 2);
	ck_assert_uint_eq(found->rows[0].nfields, 5);
	assert_field(found, data, 0, 0, "a,b", true, false);
	assert_field(found, data, 0, 1, "\"c\"\"d\"", true, true);
	assert_field(found, data, 0, 2, "", true, false);
	assert_field(found, data, 0, 3, "x\"y,z\"w", true, true);
	assert_field(found, data, 0, 4, "two\nlines", true, false);
	ck_assert(found->rows[0].lax);
	ck_assert(found->rows[0].multiline);
	ck_assert(!found->rows[1].lax);
	ck_assert(!found->rows[1].multiline);
	ck_assert_uint_eq(found->rows[1].line, 2);
}
END_TEST

START_TEST(test_lax)
{
	ck_assert(!SCAN(csv, "\"a\"\"b\",\"\"\"\"\n")->rows[0].lax);
	ck_assert(SCAN(csv, "\"a\"b\n")->rows[0].lax);
	ck_assert(SCAN(csv, "a\"b\"\n")->rows[0].lax);
	ck_assert(SCAN(csv, "\"a\" \n")->rows[0].lax);
	ck_assert(SCAN(csv, " \"a\"\n")->rows[0].lax);
	ck_assert(!SCAN(csv, "\"a\"\r\n\"b\"\r\n")->rows[1].lax);
	ck_assert(!SCAN(csv, "\"a\"")->rows[0].lax);
	ck_assert(!SCAN(csv_backslash, "\"a\\\"b\"\n")->rows[0].lax);
	ck_assert(SCAN(csv_backslash, "\"a\"\"b\"\n")->rows[0].lax);
}
END_TEST

START_TEST(test_escape_character)
{
	const char	data[] = "\"a\\\",b\",\\\"c,d\",\"\\\\\",\"x\\y\"\n\\,\\\n";
	const Found *found = SCAN(csv_backslash, data);

	ck_assert_uint_eq(found->nrows, 2);
	ck_assert_uint_eq(found->rows[0].nfields, 4);
	assert_field(found, data, 0, 0, "\"a\\\",b\"", true, true);
	assert_field(found, data, 0, 1, "\\\"c,d\"", true, true);
	assert_field(found, data, 0, 2, "\"\\\\\"", true, true);

	/* outside quotes the escape is data */
	ck_assert_uint_eq(found->rows[1].nfields, 2);
	assert_field(found, data, 1, 0, "\\", false, false);
	assert_field(found, data, 1, 1, "\\", false, false);
}
END_TEST

START_TEST(test_line_ends)
{
	const Found *found;

	found = SCAN(csv, "a\r\nb,\"\r\n\"\r\n\r\nc");
	ck_assert_int_eq(found->eol, SCAN_EOL_CRNL);
	ck_assert_uint_eq(found->nrows, 4);
	ck_assert_uint_eq(found->rows[2].line, 3);
	ck_assert_uint_eq(found->rows[0].end, 1);
	ck_assert_uint_eq(found->rows[0].next, 3);

	found = SCAN(csv, "a\rb\r");
	ck_assert_int_eq(found->eol, SCAN_EOL_CR);
	ck_assert_uint_eq(found->nrows, 2);

	/* a lone CR at the end of a file is its kind */
	ck_assert_int_eq(SCAN(csv, "a\r")->eol, SCAN_EOL_CR);
	ck_assert_int_eq(SCAN(text, "a\r")->eol, SCAN_EOL_CR);
	ck_assert_int_eq(SCAN(csv, "a")->eol, SCAN_EOL_UNKNOWN);
}
END_TEST

START_TEST(test_foreign_line_ends)
{
	const Found *found;

	found = SCAN(csv, "a\nb\rc\nd\r\ne\n");
	ck_assert_uint_eq(found->nrows, 4);
	ck_assert_int_eq(found->rows[1].fault, SCAN_FAULT_CARRIAGE_RETURN);
	ck_assert_int_eq(found->rows[2].fault, SCAN_FAULT_CARRIAGE_RETURN);
	ck_assert_int_eq(found->rows[3].fault, SCAN_FAULT_NONE);

	found = SCAN(csv, "a\r\nb\nc\rd\r\ne\r");
	ck_assert_uint_eq(found->nrows, 4);
	ck_assert_int_eq(found->rows[1].fault, SCAN_FAULT_NEWLINE);
	ck_assert_int_eq(found->rows[2].fault, SCAN_FAULT_CARRIAGE_RETURN);
	ck_assert_uint_eq(found->rows[2].end, 8);
	ck_assert_int_eq(found->rows[3].fault, SCAN_FAULT_CARRIAGE_RETURN);

	found = SCAN(csv, "a\rb\r\nc\r");
	ck_assert_uint_eq(found->nrows, 4);
	ck_assert_int_eq(found->rows[1].fault, SCAN_FAULT_NONE);
	ck_assert_int_eq(found->rows[2].fault, SCAN_FAULT_NEWLINE);
	ck_assert_uint_eq(found->rows[2].start, found->rows[2].end);
}
END_TEST

/* A CR that ends a window says nothing until the next byte is there. */
START_TEST(test_carriage_at_window_end)
{
	static const ScanEol kinds[] = {SCAN_EOL_UNKNOWN, SCAN_EOL_CRNL};
	char		window[6 + SCAN_PADDING] = "ab,cd\r\n";
	ScanRow		rows[4];
	ScanField	fields[8];
	ScanResult	result;

	for (int i = 0; i < 2; i++)
	{
		ScanEol		eol = kinds[i];

		scan_rows(&csv, &eol, window, 6, false, rows, 4, fields, 8, &result);
		ck_assert_uint_eq(result.nrows, 0);
		ck_assert_uint_eq(result.consumed, 0);
		ck_assert_int_eq(result.status, SCAN_MORE);
		ck_assert_int_eq(eol, kinds[i]);
	}
}
END_TEST

START_TEST(test_unterminated)
{
	const Found *found = SCAN(csv, "a,b\nc,\"d\ne,f\n");

	ck_assert_uint_eq(found->nrows, 2);
	ck_assert_int_eq(found->rows[1].fault, SCAN_FAULT_UNTERMINATED_QUOTE);
	ck_assert_uint_eq(found->rows[1].next, 13);
	ck_assert(found->rows[1].multiline);
}
END_TEST

START_TEST(test_text_rows)
{
	const char	data[] = "a\\,b,c\\\nd,\\N\n\\\\,x\\\\\\,y\nlast\\";
	const Found *found = SCAN(text, data);

	ck_assert_uint_eq(found->nrows, 3);
	assert_field(found, data, 0, 0, "a\\,b", false, true);
	assert_field(found, data, 0, 1, "c\\\nd", false, true);
	assert_field(found, data, 0, 2, "\\N", false, true);
	ck_assert_uint_eq(found->rows[1].line, 2);
	assert_field(found, data, 1, 0, "\\\\", false, true);
	assert_field(found, data, 1, 1, "x\\\\\\,y", false, true);

	/* a backslash with nothing after it is dropped, as by COPY */
	assert_field(found, data, 2, 0, "last", false, true);
}
END_TEST

START_TEST(test_marker)
{
	const Found *found;

	found = SCAN(text, "a\n\\.\nb\n");
	ck_assert_int_eq(found->status, SCAN_MARKER);
	ck_assert_uint_eq(found->nrows, 1);
	ck_assert_uint_eq(found->consumed, 5);

	ck_assert_int_eq(SCAN(text, "a\r\n\\.\r\nb")->status, SCAN_MARKER);
	ck_assert_int_eq(SCAN(text, "a\r\\.\rb")->status, SCAN_MARKER);
	ck_assert_int_eq(SCAN(text, "\\.\n")->status, SCAN_MARKER);

	found = SCAN(text, "a\nb\\.\n\\.c\n,\\.\nd\\\\.\n\\\\.\n");
	ck_assert_uint_eq(found->nrows, 6);
	ck_assert_int_eq(found->rows[1].fault, SCAN_FAULT_MARKER_NOT_ALONE);
	ck_assert_int_eq(found->rows[2].fault, SCAN_FAULT_MARKER_NOT_ALONE);
	ck_assert_int_eq(found->rows[3].fault, SCAN_FAULT_MARKER_NOT_ALONE);
	ck_assert_int_eq(found->rows[4].fault, SCAN_FAULT_NONE);
	ck_assert_int_eq(found->rows[5].fault, SCAN_FAULT_NONE);

	found = SCAN(text, "a\n\\.\r\nb\n");
	ck_assert_int_eq(found->rows[1].fault, SCAN_FAULT_MARKER_NEWLINE);
	found = SCAN(text, "a\r\n\\.\nb\r\n");
	ck_assert_int_eq(found->rows[1].fault, SCAN_FAULT_MARKER_NEWLINE);
	found = SCAN(text, "a\r\\.\nb\r");
	ck_assert_int_eq(found->rows[1].fault, SCAN_FAULT_MARKER_NEWLINE);

	/* the end of the file is no line end */
	found = SCAN(text, "a\n\\.");
	ck_assert_int_eq(found->rows[1].fault, SCAN_FAULT_MARKER_NOT_ALONE);

	/* in csv it is data */
	found = SCAN(csv, "a\n\\.\nb\n");
	ck_assert_uint_eq(found->nrows, 3);
	ck_assert_int_eq(found->rows[1].fault, SCAN_FAULT_NONE);
}
END_TEST

START_TEST(test_full_arrays)
{
	char		window[12 + SCAN_PADDING] = "a,b\nc,d\ne,f\n";
	ScanEol		eol = SCAN_EOL_UNKNOWN;
	ScanRow		rows[2];
	ScanField	fields[5];
	ScanResult	result;

	scan_rows(&csv, &eol, window, 12, true, rows, 2, fields, 5, &result);
	ck_assert_int_eq(result.status, SCAN_FULL);
	ck_assert_uint_eq(result.nrows, 2);
	ck_assert_uint_eq(result.nfields, 4);
	ck_assert_uint_eq(result.consumed, 8);
	ck_assert_uint_eq(result.lines, 2);

	/* exactly enough is not full */
	scan_rows(&csv, &eol, window, 8, true, rows, 2, fields, 4, &result);
	ck_assert_int_eq(result.status, SCAN_END);

	scan_rows(&csv, &eol, window, 12, true, rows, 2, fields, 1, &result);
	ck_assert_int_eq(result.status, SCAN_FULL);
	ck_assert_uint_eq(result.nrows, 0);
	ck_assert_uint_eq(result.nfields, 0);
	ck_assert_uint_eq(result.consumed, 0);
}
END_TEST

/* A field of a gigabyte of zero bytes, which cost no memory to map. */
START_TEST(test_field_too_long)
{
	static const uint32_t lengths[] = {SCAN_MAX_FIELD - 1, SCAN_MAX_FIELD};

	for (int i = 0; i < 2; i++)
	{
		size_t		size = (size_t) lengths[i] + 8 + SCAN_PADDING;
		char	   *window = mmap(NULL, size, PROT_READ | PROT_WRITE,
								  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		ScanEol		eol = SCAN_EOL_UNKNOWN;
		ScanRow		rows[200];
		ScanField	fields[200];
		ScanResult	result;

		ck_assert(window != MAP_FAILED);
		memcpy(window, "a\nb,", 4);
		memcpy(window + 4 + lengths[i], ",c\n", 3);
		scan_rows(&csv, &eol, window, lengths[i] + 7, true, rows, 200,
				  fields, 200, &result);
		ck_assert_uint_eq(result.nrows, 2);
		ck_assert_uint_eq(rows[1].nfields, 3);
		ck_assert_int_eq(rows[1].fault, i == 0 ? SCAN_FAULT_NONE :
						 SCAN_FAULT_FIELD_TOO_LONG);
		ck_assert_uint_eq(fields[2].length, lengths[i]);
		ck_assert_uint_eq(fields[3].length, 1);
		munmap(window, size);
	}
}
END_TEST

/* -- text of fields -- */

static void
assert_unquoted(const ScanDialect *d, const char *src, const char *expected)
{
	size_t		len = strlen(src);
	char	   *in = malloc(len + 1);
	char	   *out = malloc(len + 1);

	memcpy(in, src, len);
	ck_assert_uint_eq(scan_unquote(d, in, len, out), strlen(expected));
	ck_assert(memcmp(out, expected, strlen(expected)) == 0);
	ck_assert_uint_eq(scan_unquote(d, in, len, in), strlen(expected));
	ck_assert(memcmp(in, expected, strlen(expected)) == 0);
	free(in);
	free(out);
}

START_TEST(test_unquote)
{
	assert_unquoted(&csv, "", "");
	assert_unquoted(&csv, "plain", "plain");
	assert_unquoted(&csv, "\"a\"\"b\"", "a\"b");
	assert_unquoted(&csv, "\"\"\"\"", "\"");
	assert_unquoted(&csv, "x\"y,z\"w", "xy,zw");
	assert_unquoted(&csv, "\"a\" \"b\"", "a b");
	assert_unquoted(&csv, "\"unterminated\"\"", "unterminated\"");
	assert_unquoted(&csv, "\"{\"\"key\"\": \"\"a longer value\"\", \"\"n\"\": 123456789}\"",
					"{\"key\": \"a longer value\", \"n\": 123456789}");
	assert_unquoted(&csv_backslash, "\"a\\\"b\\\\c\\d\"", "a\"b\\c\\d");
	assert_unquoted(&csv_backslash, "a\\b\"c\"", "a\\bc");
	assert_unquoted(&csv_backslash, "\"a\"\"b\"", "ab");
}
END_TEST

static void
assert_unescaped(const char *src, size_t len, const char *expected,
				 size_t expected_len, bool expected_high)
{
	char	   *in = malloc(len + 1);
	char	   *out = malloc(len + 1);
	bool		high = !expected_high;

	memcpy(in, src, len);
	ck_assert_uint_eq(scan_unescape(in, len, out, &high), expected_len);
	ck_assert(memcmp(out, expected, expected_len) == 0);
	ck_assert_int_eq(high, expected_high);
	high = !expected_high;
	ck_assert_uint_eq(scan_unescape(in, len, in, &high), expected_len);
	ck_assert(memcmp(in, expected, expected_len) == 0);
	ck_assert_int_eq(high, expected_high);
	free(in);
	free(out);
}

#define UNESCAPED(src, expected, high) \
	assert_unescaped(src, sizeof(src) - 1, expected, sizeof(expected) - 1, high)

START_TEST(test_unescape)
{
	UNESCAPED("", "", false);
	UNESCAPED("plain text without any", "plain text without any", false);
	UNESCAPED("\\b\\f\\n\\r\\t\\v", "\b\f\n\r\t\v", false);
	UNESCAPED("\\\\ \\q \\, \\\n", "\\ q , \n", false);
	UNESCAPED("\\101\\60\\7x\\1018", "A0\7xA8", false);
	UNESCAPED("\\x41\\x4g\\xg\\x", "A\4gxgx", false);
	UNESCAPED("\\x4142", "A42", false);
	UNESCAPED("\\377", "\377", true);
	UNESCAPED("\\777", "\377", true);
	UNESCAPED("\\400", "\0", true);
	UNESCAPED("\\0", "\0", true);
	UNESCAPED("\\xc3\\xa4", "\303\244", true);
	UNESCAPED("\303\244", "\303\244", false);
	UNESCAPED("end\\", "end", false);
	UNESCAPED("\\tlong enough for words\\tand once more\\tand again",
			  "\tlong enough for words\tand once more\tand again", false);
}
END_TEST

/* What COPY makes of a csv field, one byte after the other. */
static size_t
ref_unquote(const ScanDialect *d, const char *src, size_t len, char *dst)
{
	size_t		out = 0;
	bool		in_quote = false;

	for (size_t i = 0; i < len; i++)
	{
		if (!in_quote && src[i] == d->quote)
			in_quote = true;
		else if (in_quote && src[i] == d->escape && i + 1 < len &&
				 (src[i + 1] == d->escape || src[i + 1] == d->quote))
			dst[out++] = src[++i];
		else if (in_quote && src[i] == d->quote)
			in_quote = false;
		else
			dst[out++] = src[i];
	}
	return out;
}

START_TEST(test_unquote_random)
{
	const ScanDialect *dialects[] = {&csv, &csv_backslash};

	srand(5);
	for (int i = 0; i < 100000; i++)
	{
		const ScanDialect *d = dialects[i % 2];
		size_t		len = (size_t) rand() % 60;
		char	   *in = malloc(len + 1);
		char	   *out = malloc(len + 1);
		char	   *expected = malloc(len + 1);
		size_t		expected_len;

		for (size_t j = 0; j < len; j++)
			in[j] = rand() % 4 ? 'a' + rand() % 26 : "\"\\"[rand() % 2];
		expected_len = ref_unquote(d, in, len, expected);
		REQUIRE(scan_unquote(d, in, len, out) == expected_len);
		REQUIRE(memcmp(out, expected, expected_len) == 0);
		REQUIRE(scan_unquote(d, in, len, in) == expected_len);
		REQUIRE(memcmp(in, expected, expected_len) == 0);
		free(in);
		free(out);
		free(expected);
	}
}
END_TEST

START_TEST(test_is_ascii)
{
	char		s[200];

	memset(s, 'a', sizeof(s));
	for (size_t len = 0; len <= sizeof(s); len++)
	{
		ck_assert(scan_is_ascii(s, len));
		for (size_t i = 0; i < len; i++)
		{
			s[i] = (char) 0x80;
			ck_assert(!scan_is_ascii(s, len));
			s[i] = 'a';
		}
	}
}
END_TEST

/* Lengths as in GBK and GB18030: two bytes, or four if the second is a digit. */
static int
gb_mblen(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	return s[1] >= 0x30 && s[1] <= 0x39 ? 4 : 2;
}

static void
assert_shape(const char *s, const char *expected)
{
	size_t		len = strlen(s);
	char	   *window = malloc(len + SCAN_PADDING);
	char	   *shape = malloc(len + SCAN_PADDING);

	memset(window, 0, len + SCAN_PADDING);
	memcpy(window, s, len);
	scan_shape(window, (uint32_t) len, gb_mblen, shape);
	ck_assert(memcmp(shape, expected, len) == 0);
	free(window);
	free(shape);
}

START_TEST(test_shape)
{
	assert_shape("plain, plain, plain", "plain, plain, plain");
	assert_shape("a\x81\\,\x81|b", "a\x81\x80,\x81\x80" "b");
	assert_shape("\x81\x30\x81\x30,", "\x81\x80\x80\x80,");

	/* no character has a trailing byte below 0x30 */
	assert_shape("\x81,x", "\x81,x");
	assert_shape("\x81\x30\n,x", "\x81\x80\n,x");
	assert_shape("long enough for a word \x90|\x90\\ and another word of it \x90",
				 "long enough for a word \x90\x80\x90\x80 and another word of it \x90");
}
END_TEST

/* -- recovery -- */

typedef struct RecoverCase
{
	const char *data;
	ScanEol		eol;
	bool		at_eof;
	uint32_t	nfields;
	ScanRecovery recovery;
	uint32_t	resume;
} RecoverCase;

static const RecoverCase recover_cases[] = {
	/* the line after the broken one */
	{"a,\"b\nc,d\ne,f\n", SCAN_EOL_NL, true, 2, SCAN_RESUME, 5},
	{"a,\"b\nc,d\ne,f\n", SCAN_EOL_NL, true, 0, SCAN_RESUME, 5},
	/* a line with another number of fields is none */
	{"a,\"b\nc\nd,e,f\ng,h\n", SCAN_EOL_NL, true, 2, SCAN_RESUME, 13},
	{"a,\"b\n\nd,e\n", SCAN_EOL_NL, true, 0, SCAN_RESUME, 6},
	{"a,\"b\nc\n", SCAN_EOL_NL, true, 0, SCAN_RESUME, 5},
	/* quotes out of place */
	{"a,\"b\nc\"x,d\ne,\"f\"\"g\"\n", SCAN_EOL_NL, true, 2, SCAN_RESUME, 11},
	{"a,\"b\n\"c\"x,d\n\"e,\n\",f\n", SCAN_EOL_NL, true, 2, SCAN_RESUME, 12},
	/* nothing there */
	{"a,\"b\n", SCAN_EOL_NL, true, 2, SCAN_NO_RESUME, 0},
	{"a,\"b", SCAN_EOL_NL, true, 2, SCAN_NO_RESUME, 0},
	{"a,\"b\nc,\"d", SCAN_EOL_NL, true, 2, SCAN_NO_RESUME, 0},
	/* the last line needs no line end, but the end of the file */
	{"a,\"b\nc,d", SCAN_EOL_NL, true, 2, SCAN_RESUME, 5},
	{"a,\"b\nc,", SCAN_EOL_NL, true, 2, SCAN_RESUME, 5},
	{"a,\"b\nc,d", SCAN_EOL_NL, false, 2, SCAN_UNDECIDED, 0},
	{"a,\"b\nc,\"d", SCAN_EOL_NL, false, 2, SCAN_UNDECIDED, 0},
	{"a,\"b\nc,\"d\"", SCAN_EOL_NL, false, 2, SCAN_UNDECIDED, 0},
	{"a,\"b\nc,d\ne,f", SCAN_EOL_NL, false, 2, SCAN_RESUME, 5},
	{"a,\"b\nc,d,e", SCAN_EOL_NL, false, 2, SCAN_NO_RESUME, 0},
	/* line ends of the file's kind only */
	{"a,\"b\r\nc,d\ne,f\r\n", SCAN_EOL_CRNL, true, 2, SCAN_RESUME, 10},
	{"a,\"b\r\nc,d\r\n", SCAN_EOL_CRNL, true, 2, SCAN_RESUME, 6},
	{"a,\"b\r\nc,d\r", SCAN_EOL_CRNL, true, 2, SCAN_NO_RESUME, 0},
	{"a,\"b\r\nc,d\r", SCAN_EOL_CRNL, false, 2, SCAN_UNDECIDED, 0},
	{"a,\"b\nc,d\re,f\n", SCAN_EOL_NL, true, 2, SCAN_NO_RESUME, 0},
	{"a,\"b\rc,d\re,f\n", SCAN_EOL_CR, true, 2, SCAN_RESUME, 5},
	{"a,\"b\nc,d\re,f\r", SCAN_EOL_CR, true, 2, SCAN_RESUME, 9},
	{"a,\"b\nc,d\r", SCAN_EOL_UNKNOWN, true, 2, SCAN_RESUME, 5},
};

START_TEST(test_recover)
{
	const RecoverCase *c = &recover_cases[_i];
	uint32_t	length = (uint32_t) strlen(c->data);
	uint32_t	resume = 0;
	char	   *window = malloc(length + SCAN_PADDING);

	memset(window, '"', length + SCAN_PADDING);
	memcpy(window, c->data, length);
	ck_assert_int_eq(scan_recover(&csv, c->eol, window, length, c->at_eof, 0,
								  length, c->nfields, &resume),
					 c->recovery);
	ck_assert_uint_eq(resume, c->resume);
	free(window);
}
END_TEST

/* Only line starts inside the broken row count; the record may end after it. */
START_TEST(test_recover_bounds)
{
	const char	data[] = "a\nb,\"c\nd,\"e\nf,g\n\"\n" "pad for the scan";
	uint32_t	resume = 0;

	ck_assert_int_eq(scan_recover(&csv, SCAN_EOL_NL, data, 18, true, 2, 10, 2,
								  &resume), SCAN_RESUME);
	ck_assert_uint_eq(resume, 7);
	ck_assert_int_eq(scan_recover(&csv, SCAN_EOL_NL, data, 18, true, 2, 7, 2,
								  &resume), SCAN_NO_RESUME);
	ck_assert_int_eq(scan_recover(&csv_backslash, SCAN_EOL_NL,
								  "a,\"b\n\"c\\\"\",d\n", 14, true, 0, 14, 2,
								  &resume), SCAN_RESUME);
	ck_assert_uint_eq(resume, 5);
}
END_TEST

/* -- random input -- */

static uint32_t
random_below(uint32_t limit)
{
	static uint64_t state = 20260101;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t) (state >> 33) % limit;
}

/* Any of the bytes that matter, in any order. */
static size_t
make_nasty(char *data, size_t max)
{
	static const char alphabet[] = ",\"\\\n\r.ab";
	static const char quiet[] = "abcdefgh";
	size_t		len = random_below((uint32_t) max + 1);
	uint32_t	noise = 1 + random_below(100);

	for (size_t i = 0; i < len; i++)
		data[i] = random_below(100) < noise ? alphabet[random_below(8)] :
			quiet[random_below(8)];
	return len;
}

/* A tidy file with now and then a byte that does not belong. */
static size_t
make_tidy(char *data, size_t max)
{
	static const char *const eols[] = {"\n", "\r\n", "\r"};
	const char *eol = eols[random_below(3)];
	uint32_t	quotes = random_below(3) * 5;
	uint32_t	noise = random_below(3) * 2;
	uint32_t	longest = 1 + random_below(100);
	size_t		len = 0;
	size_t		limit = max / 2 + random_below((uint32_t) max / 2);

	while (len + longest + 8 < limit)
	{
		bool		quote = random_below(10) < quotes;

		if (quote)
			data[len++] = '"';
		for (uint32_t n = random_below(longest); n > 0; n--)
			data[len++] = random_below(1000) < noise ?
				",\"\\\n\r."[random_below(6)] : (char) ('a' + random_below(26));
		if (quote)
			data[len++] = '"';
		if (random_below(20) == 0)
		{
			data[len++] = '\\';
			data[len++] = "N.,\\\n"[random_below(noise == 0 ? 1 : 5)];
		}
		if (random_below(3) == 0)
		{
			memcpy(data + len, eol, strlen(eol));
			len += strlen(eol);
		}
		else
			data[len++] = ',';
	}
	return len;
}

/* How much of the work to do; the sanitizers make it slow. */
#if defined(__SANITIZE_ADDRESS__)
#define EFFORT(n) ((n) / 5)
#else
#define EFFORT(n) (n)
#endif

static void
compare_random(const ScanDialect *d, int count, size_t max,
			   size_t (*make) (char *, size_t))
{
	char	   *data = malloc(max + 16);
	Found	   *expected = malloc(sizeof(Found));
	Found	   *found = malloc(sizeof(Found));

	for (int i = 0; i < EFFORT(count); i++)
	{
		size_t		len = make(data, max);
		const ScanKernel *const *kernel = scan_kernels;

		ref_scan(d, data, len, expected);
		for (; *kernel != NULL; kernel++)
		{
			Feed		pieces = {1 + random_below((uint32_t) max), ROOMY, ROOMY};
			Feed		tiny = {0, 1 + random_below(90), 1 + random_below(150)};

			if (!(*kernel)->supported())
				continue;
			scan_kernel_set(*kernel);
			feed_scan(d, data, len, whole, found);
			assert_same(expected, found, data, len, whole);
			feed_scan(d, data, len, pieces, found);
			assert_same(expected, found, data, len, pieces);
			feed_scan(d, data, len, tiny, found);
			assert_same(expected, found, data, len, tiny);
		}
	}
	scan_kernel_set(NULL);
	free(data);
	free(expected);
	free(found);
}

static const ScanDialect random_dialects[] = {
	{SCAN_CSV, ',', '"', '"'},
	{SCAN_CSV, ',', '"', '\\'},
	{SCAN_TEXT, ',', 0, 0},
	{SCAN_CSV, ',', '"', ','},		/* odd, but COPY takes it */
	{SCAN_CSV, '\\', '"', '"'},
	{SCAN_CSV, ',', '\\', '\\'}
};
#define NDIALECTS (int) (sizeof(random_dialects) / sizeof(random_dialects[0]))

START_TEST(test_random_nasty)
{
	compare_random(&random_dialects[_i], 40000, 40, make_nasty);
	compare_random(&random_dialects[_i], 8000, 300, make_nasty);
}
END_TEST

START_TEST(test_random_tidy)
{
	compare_random(&random_dialects[_i], 4000, 1500, make_tidy);
	compare_random(&random_dialects[_i], 200, 12000, make_tidy);
}
END_TEST

/* The same input in windows of 1, 2, 3... bytes. */
START_TEST(test_window_sweep)
{
	char	   *data = malloc(700);
	Found	   *expected = malloc(sizeof(Found));
	Found	   *found = malloc(sizeof(Found));

	for (int round = 0; round < EFFORT(20); round++)
	{
		size_t		len = round % 2 ? make_tidy(data, 600) : make_nasty(data, 300);

		ref_scan(&random_dialects[_i], data, len, expected);
		for (size_t step = 1; step <= len + 1; step++)
		{
			Feed		feed = {step, ROOMY, ROOMY};

			feed_scan(&random_dialects[_i], data, len, feed, found);
			assert_same(expected, found, data, len, feed);
		}
	}
	free(data);
	free(expected);
	free(found);
}
END_TEST

/* -- kernels -- */

START_TEST(test_kernels)
{
	enum {NBLOCKS = 5};
	const ScanKernel *portable = NULL;
	char	   *data = malloc(NBLOCKS * 64);

	for (const ScanKernel *const *k = scan_kernels; *k != NULL; k++)
		portable = *k;
	ck_assert_str_eq(portable->name, "portable");
	REQUIRE(scan_kernel()->supported());

	for (int round = 0; round < 3000; round++)
	{
		const ScanDialect *d = &random_dialects[round % NDIALECTS];
		uint32_t	range = round % 2 ? 256 : 8;
		ScanMasks	expected[NBLOCKS];
		ScanMasks	found[NBLOCKS];

		for (int i = 0; i < NBLOCKS * 64; i++)
			data[i] = range == 256 ? (char) random_below(256) :
				",\"\\\n\r\x8d\x8a\xac"[random_below(8)];
		portable->classify(data, NBLOCKS, d, expected);
		for (int i = 0; i < NBLOCKS * 64; i++)
		{
			const ScanMasks *m = &expected[i / 64];
			uint64_t	bit = UINT64_C(1) << (i % 64);
			char		special = d->format == SCAN_CSV ? d->quote : '\\';
			bool		has_escape = d->format == SCAN_CSV && d->escape != d->quote;

			REQUIRE(((m->delimiter & bit) != 0) == (data[i] == d->delimiter));
			REQUIRE(((m->special & bit) != 0) == (data[i] == special));
			REQUIRE(((m->escape & bit) != 0) == (has_escape && data[i] == d->escape));
			REQUIRE(((m->newline & bit) != 0) == (data[i] == '\n'));
			REQUIRE(((m->carriage & bit) != 0) == (data[i] == '\r'));
		}
		for (const ScanKernel *const *k = scan_kernels; *k != NULL; k++)
		{
			if (!(*k)->supported())
				continue;
			memset(found, 0xff, sizeof(found));
			(*k)->classify(data, NBLOCKS, d, found);
			REQUIRE(memcmp(found, expected, sizeof(found)) == 0);
		}
	}
	free(data);
}
END_TEST

static Suite *
scan_suite(void)
{
	Suite	   *suite = suite_create("scan");
	TCase	   *cases = tcase_create("cases");
	TCase	   *random = tcase_create("random");

	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, test_empty_input);
	tcase_add_test(cases, test_plain_rows);
	tcase_add_test(cases, test_quoted_fields);
	tcase_add_test(cases, test_lax);
	tcase_add_test(cases, test_escape_character);
	tcase_add_test(cases, test_line_ends);
	tcase_add_test(cases, test_foreign_line_ends);
	tcase_add_test(cases, test_carriage_at_window_end);
	tcase_add_test(cases, test_unterminated);
	tcase_add_test(cases, test_text_rows);
	tcase_add_test(cases, test_marker);
	tcase_add_test(cases, test_full_arrays);
	tcase_add_test(cases, test_field_too_long);
	tcase_add_test(cases, test_unquote);
	tcase_add_test(cases, test_unescape);
	tcase_add_test(cases, test_is_ascii);
	tcase_add_test(cases, test_shape);
	tcase_add_loop_test(cases, test_recover, 0,
						sizeof(recover_cases) / sizeof(recover_cases[0]));
	tcase_add_test(cases, test_recover_bounds);
	suite_add_tcase(suite, cases);

	tcase_set_timeout(random, 600);
	tcase_add_test(random, test_kernels);
	tcase_add_test(random, test_unquote_random);
	tcase_add_loop_test(random, test_random_nasty, 0, NDIALECTS);
	tcase_add_loop_test(random, test_random_tidy, 0, NDIALECTS);
	tcase_add_loop_test(random, test_window_sweep, 0, NDIALECTS);
	suite_add_tcase(suite, random);
	return suite;
}

int
main(void)
{
	SRunner    *runner = srunner_create(scan_suite());
	int			failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
