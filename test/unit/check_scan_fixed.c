/*
 * check_scan_fixed.c
 *		Fields by their places, in lines and in records.
 *
 * Where lines end the scanner of csv must agree, for bytes that mean nothing to
 * it; what becomes of fields is shown by examples.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "effort.h"
#include "scan/scan.h"
#include "scan_reference.h"

#define MAX_LENGTH 12000

static Found found;
static Found expected;

static uint32_t
random_below(uint32_t limit)
{
	static uint64_t state = 20261121;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t) (state >> 33) % limit;
}

/* ---- examples ---- */

/* "line:[field][field] line:..."; N for NULL, ! for faults; bytes of zero as 0. */
static void
describe(const char *data, char *said)
{
	*said = '\0';
	for (size_t i = 0; i < found.nrows; i++)
	{
		const Row  *row = &found.rows[i];

		said += sprintf(said, "%s%zu%s:", i > 0 ? " " : "", row->line,
						row->fault != SCAN_FAULT_NONE ? "!" : "");
		for (size_t f = row->first_field; f < row->first_field + row->nfields; f++)
		{
			const Field *field = &found.fields[f];

			REQUIRE(field->length == 0 || !field->quoted);
			REQUIRE(!field->escaped);
			REQUIRE(field->start >= row->start && field->start + field->length <= row->end);
			if (field->length == 0)
				said += sprintf(said, "%s", field->quoted ? "[]" : "N");
			else
			{
				*said++ = '[';
				for (size_t k = 0; k < field->length; k++)
					*said++ = data[field->start + k] != 0 ? data[field->start + k] : '0';
				*said++ = ']';
			}
		}
	}
	*said = '\0';
}

/* The same however the file comes in windows. */
static void
check_bytes(const ScanFixed *fixed, const char *comment, ScanEol eol,
			const char *data, size_t len, const char *expects)
{
	ScanDialect dialect = {
		.format = SCAN_FIXED,.fixed = fixed,.comment = comment,
		.comment_length = comment ? (uint32_t) strlen(comment) : 0
	};
	char		said[2000];

	for (size_t step = 0; step <= len; step++)
		for (uint32_t room = 1; room < 4; room++)
		{
			feed_scan(&dialect, data, len, (Feed) {step, room, room, eol}, &found);
			describe(data, said);
			if (strcmp(said, expects) != 0)
				ck_abort_msg("step %zu, room %u, of \"%s\": \"%s\", not \"%s\"",
							 step, room, data, said, expects);
		}
}

#define CHECK_LINES(fixed, data, expects) \
	check_bytes(fixed, NULL, SCAN_EOL_UNKNOWN, data, strlen(data), expects)
#define CHECK_RECORDS(fixed, data, expects) \
	check_bytes(fixed, NULL, SCAN_EOL_NL, data, sizeof(data) - 1, expects)

#define TEXT(n, t, e) .length = n,.trim = t,.empty_is_null = e
#define FIELD(s, n) {.start = s, TEXT(n, SCAN_TRIM_PADDING, true)}

static const ScanFixedField two[] = {FIELD(0, 3), FIELD(4, 2)};

START_TEST(lines)
{
	const ScanFixed fixed = {.line_length = 6,.nfields = 2,.fields = two};
	const ScanFixed cut = {.line_length = 6,.nfields = 2,.fields = two,.cut = true,.ignore_extra = true};

	CHECK_LINES(&fixed, "abcxde\n", "0:[abc][de]");
	CHECK_LINES(&fixed, "abcxde", "0:[abc][de]");
	CHECK_LINES(&fixed, "", "");
	CHECK_LINES(&fixed, "a\" xd,\r\na\\.xde\r\n", "0:[a\"][d,] 1:[a\\.][de]");
	CHECK_LINES(&fixed, "abcxde\rABCXDE\r", "0:[abc][de] 1:[ABC][DE]");
	CHECK_LINES(&fixed, "abcxd\nabc\nab\n\n", "0:[abc] 1:[abc] 2: 3:");
	CHECK_LINES(&fixed, "abcxdefg\nabcxdef", "0:[abc][de][fg] 1:[abc][de][f]");
	CHECK_LINES(&fixed, "abcxde\nabc\rde\nabcxde\r\n", "0:[abc][de] 1!:[abc][de] 2!:[abc][de][\r]");
	CHECK_LINES(&fixed, "abcxde\r\nABCXDE\nabcxde\r\n", "0:[abc][de] 1!:[ABC][DE] 2:[abc][de]");
	CHECK_LINES(&cut, "abcxdef\nabcxd\nabcx\nab\n\n", "0:[abc][de] 1:[abc][d] 2:[abc] 3:[ab] 4:");
	check_bytes(&fixed, NULL, SCAN_EOL_ANY, "abcxde\r\nABCXDE\nabcxde\r\r", 23,
				"0:[abc][de] 1:[ABC][DE] 2:[abc][de] 3:");
}
END_TEST

START_TEST(comments)
{
	const ScanFixed fixed = {.line_length = 6,.nfields = 2,.fields = two};
	const char *data = "--\nabcxde\n--cxde\n-bcxde\n--";

	check_bytes(&fixed, "--", SCAN_EOL_UNKNOWN, data, strlen(data),
				"1:[abc][de] 3:[-bc][de]");
	check_bytes(&fixed, "--", SCAN_EOL_UNKNOWN, "-", 1, "0:");
	check_bytes(&fixed, "--", SCAN_EOL_UNKNOWN, "--\r\n--\r\nabcxde", 14, "2:[abc][de]");
}
END_TEST

START_TEST(records)
{
	const ScanFixed fixed = {.record_length = 6,.nfields = 2,.fields = two};

	CHECK_RECORDS(&fixed, "abcxdeABCXDE", "0:[abc][de] 1:[ABC][DE]");
	CHECK_RECORDS(&fixed, "a\r\n\n\n\nab\0\0\0\0", "0:[a\r\n][\n\n] 1:[ab]N");
	CHECK_RECORDS(&fixed, "abcxdeA", "0:[abc][de] 1!:");
	CHECK_RECORDS(&fixed, "abcxdeABCXD", "0:[abc][de] 1!:");
	CHECK_RECORDS(&fixed, "A", "0!:");
	CHECK_RECORDS(&fixed, "", "");
}
END_TEST

START_TEST(texts)
{
	static const ScanText marks[] = {{"--", 2}, {"    ", 4}};
	static const ScanFixedField fields[] = {
		FIELD(0, 4),
		{TEXT(4, SCAN_TRIM_PADDING, false)},
		{TEXT(4, SCAN_TRIM_NOTHING, true)},
		{TEXT(4, SCAN_TRIM_BLANKS, true)},
		{TEXT(4, SCAN_TRIM_SPACES, true)},
		{TEXT(4, SCAN_TRIM_PADDING, true),.nnulls = 2,.nulls = marks},
		{.length = 4,.binary = true,.nnulls = 1,.nulls = marks + 1}
	};
	const ScanFixed fixed = {.record_length = 4,.nfields = 7,.fields = fields};

	CHECK_RECORDS(&fixed, "abcd", "0:[abcd][abcd][abcd][abcd][abcd][abcd][abcd]");
	CHECK_RECORDS(&fixed, " a  ", "0:[ a][ a][ a  ][a][a][ a][ a  ]");
	CHECK_RECORDS(&fixed, "\ta \t", "0:[\ta \t][\ta \t][\ta \t][a][\ta \t][\ta \t][\ta \t]");
	CHECK_RECORDS(&fixed, "    ", "0:N[][    ]NNNN");
	CHECK_RECORDS(&fixed, "a \0\0", "0:[a][a][a ][a][a][a][a 00]");
	CHECK_RECORDS(&fixed, "\0\0\0\0", "0:NNNNNN[0000]");
	CHECK_RECORDS(&fixed, "a\0b\0", "0:[a0b][a0b][a0b][a0b][a0b][a0b][a0b0]");
	CHECK_RECORDS(&fixed, "--  ", "0:[--][--][--  ][--][--]N[--  ]");
	CHECK_RECORDS(&fixed, " \0\0\0", "0:N[][ ]NNN[ 000]");
}
END_TEST

/* Padding of every length, and all that a word of eight bytes can end in. */
START_TEST(padding)
{
	for (uint32_t length = 1; length < 40; length++)
		for (uint32_t kept = 0; kept <= length; kept++)
		{
			ScanFixedField field = FIELD(0, length);
			ScanFixed	fixed = {.record_length = length,.nfields = 1,.fields = &field};
			ScanDialect dialect = {.format = SCAN_FIXED,.fixed = &fixed};
			char		data[40];

			memset(data, ' ', sizeof(data));
			if (kept > 0)
				data[kept - 1] = '!';
			feed_scan(&dialect, data, length, (Feed) {0, ROOMY, ROOMY, SCAN_EOL_NL}, &found);
			ck_assert_uint_eq(found.nrows, 1);
			ck_assert_uint_eq(found.fields[0].length, kept);
			field.trim = SCAN_TRIM_SPACES;
			feed_scan(&dialect, data, length, (Feed) {0, ROOMY, ROOMY, SCAN_EOL_NL}, &found);
			ck_assert_uint_eq(found.fields[0].length, kept > 0);
			ck_assert_uint_eq(found.fields[0].start, kept > 0 ? kept - 1 : 0);
		}
}
END_TEST

/* ---- where lines end ---- */

static uint32_t
make_file(char *data, uint32_t max)
{
	const uint32_t rare = 1 + random_below(random_below(2) ? 10 : 300);
	const uint32_t kind = random_below(4);
	uint32_t	limit = random_below(max - 2);
	uint32_t	len = 0;

	while (len < limit)
	{
		if (random_below(rare) > 0)
			data[len++] = "ab, \\.\0"[random_below(7)];
		else if (kind == 3 || random_below(60) == 0)
			data[len++] = "\r\n"[random_below(2)];
		else
		{
			if (kind > 0)
				data[len++] = '\r';
			if (kind < 2)
				data[len++] = '\n';
		}
	}
	return len;
}

/* Rows of csv and of lines of fields, whose windows are other ones. */
static void
compare_lines(const char *data, uint32_t len, ScanEol eol)
{
	static const ScanFixedField field = FIELD(0, 1);
	static const ScanFixed fixed = {.line_length = 1,.nfields = 1,.fields = &field};
	const ScanDialect lines = {.format = SCAN_FIXED,.fixed = &fixed};
	const ScanDialect csv = {
		.format = SCAN_CSV,.delimiter = '\1',.quote = '\2',.escape = '\2',
		.general = eol == SCAN_EOL_ANY
	};

	feed_scan(&csv, data, len, (Feed) {0, ROOMY, ROOMY, eol}, &expected);
	feed_scan(&lines, data, len,
			  (Feed) {random_below(2) ? 0 : 1 + random_below(300), 1 + random_below(50), 1 + random_below(90), eol},
			  &found);
	REQUIRE(found.nrows == expected.nrows && found.lines == expected.lines);
	REQUIRE(found.eol == expected.eol && found.status == SCAN_END);
	for (size_t i = 0; i < found.nrows; i++)
	{
		const Row  *row = &found.rows[i];
		const Row  *other = &expected.rows[i];

		REQUIRE(row->start == other->start && row->end == other->end &&
				row->next == other->next && row->line == other->line &&
				row->fault == other->fault);
	}
	if (eol != SCAN_EOL_UNKNOWN || found.eol != SCAN_EOL_UNKNOWN)
	{
		ScanBorder	border;
		ScanBorder	other;

		scan_border(&lines, found.eol, data, len, &border);
		scan_border(&csv, found.eol, data, len, &other);
		REQUIRE(border.end == other.end && border.rows == other.rows &&
				border.lines == other.lines);
	}
}

START_TEST(line_ends)
{
	char	   *data = calloc(1, MAX_LENGTH + SCAN_PADDING);

	for (const ScanKernel *const *kernel = scan_kernels; *kernel != NULL; kernel++)
	{
		if (!(*kernel)->supported())
			continue;
		scan_kernel_set(*kernel);
		for (int i = 0; i < effort(20000); i++)
			compare_lines(data, make_file(data, 300), i % 2 ? SCAN_EOL_ANY : SCAN_EOL_UNKNOWN);
		for (int i = 0; i < effort(300); i++)
			compare_lines(data, make_file(data, MAX_LENGTH), i % 2 ? SCAN_EOL_ANY : SCAN_EOL_UNKNOWN);
	}
	scan_kernel_set(NULL);
	free(data);
}
END_TEST

START_TEST(record_borders)
{
	const ScanFixed fixed = {.record_length = 6,.nfields = 2,.fields = two};
	const ScanDialect dialect = {.format = SCAN_FIXED,.fixed = &fixed};
	char		data[100] = {0};

	for (uint32_t length = 0; length < 30; length++)
	{
		ScanBorder	border;

		scan_border(&dialect, SCAN_EOL_NL, data, length, &border);
		ck_assert_uint_eq(border.end, length / 6 * 6);
		ck_assert_uint_eq(border.rows, length / 6);
		ck_assert_uint_eq(border.lines, length / 6);
	}
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("scan_fixed");
	TCase	   *tests = tcase_create("scan_fixed");

	tcase_set_timeout(tests, 300);
	tcase_add_test(tests, lines);
	tcase_add_test(tests, comments);
	tcase_add_test(tests, records);
	tcase_add_test(tests, texts);
	tcase_add_test(tests, padding);
	tcase_add_test(tests, line_ends);
	tcase_add_test(tests, record_borders);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
