/*
 * check_scan.c
 *		Rows and fields, cases by hand; each is compared with the reference too.
 */
#include <check.h>
#include <string.h>
#include <sys/mman.h>

#include "scan/scan.h"
#include "scan_reference.h"

static const ScanDialect csv = {.format = SCAN_CSV, .delimiter = ',', .quote = '"', .escape = '"'};
static const ScanDialect csv_backslash = {.format = SCAN_CSV, .delimiter = ',', .quote = '"', .escape = '\\'};
static const ScanDialect text = {.format = SCAN_TEXT, .delimiter = ','};

static const Feed whole = {0, ROOMY, ROOMY, SCAN_EOL_UNKNOWN};

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

static Suite *
scan_suite(void)
{
	Suite	   *suite = suite_create("scan");
	TCase	   *cases = tcase_create("scan");

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
	suite_add_tcase(suite, cases);
	return suite;
}

int
main(void)
{
	return run_suite(scan_suite());
}
