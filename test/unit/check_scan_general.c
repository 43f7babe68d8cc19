/*
 * check_scan_general.c
 *		Delimiters of several bytes, comment lines, line ends of every kind.
 *
 * Without these options general.c must do as rows.c does: check_scan_random.c
 * and check_scan_border.c say so. Here are examples, and random files that
 * are written twice: plainly, and with what the options allow.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"
#include "scan_reference.h"

#define SEPARATED(f, s) {.format = f,.delimiter = s[0],.quote = '"',.escape = '"', \
	.general = true,.separator = s,.separator_length = sizeof(s) - 1}
#define COMMENTED(f, c) {.format = f,.delimiter = ',',.quote = '"',.escape = '"', \
	.general = true,.comment = c,.comment_length = sizeof(c) - 1}

static const ScanDialect bars = SEPARATED(SCAN_CSV, "||");
static const ScanDialect text_bars = SEPARATED(SCAN_TEXT, "||");
static const ScanDialect arrows = SEPARATED(SCAN_CSV, "<->");
static const ScanDialect hash = COMMENTED(SCAN_CSV, "#");
static const ScanDialect text_hash = COMMENTED(SCAN_TEXT, "#");
static const ScanDialect dashes = COMMENTED(SCAN_CSV, "--");
static const ScanDialect any = {
	.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '"',.general = true
};
static const ScanDialect text_any = {
	.format = SCAN_TEXT,.delimiter = ',',.general = true
};

static Found found;

/* "line:[field][field] line:..." with q, e, ! for quoted, escaped, faults. */
static void
describe(const char *data, char *said)
{
	for (size_t i = 0; i < found.nrows; i++)
	{
		const Row  *row = &found.rows[i];

		said += sprintf(said, "%s%zu%s:", i > 0 ? " " : "", row->line,
						row->fault != SCAN_FAULT_NONE ? "!" : "");
		for (size_t f = row->first_field; f < row->first_field + row->nfields; f++)
		{
			const Field *field = &found.fields[f];

			said += sprintf(said, "[%s%s%.*s]", field->quoted ? "q" : "",
							field->escaped ? "e" : "", (int) field->length,
							data + field->start);
		}
	}
	sprintf(said, "%s", found.status == SCAN_MARKER ? " marker" : "");
}

/* The same however the file comes in windows. */
static void
check_rows(const ScanDialect *d, ScanEol eol, const char *data,
		   const char *expected)
{
	size_t		len = strlen(data);
	char		said[2000] = "";

	for (size_t step = 0; step <= len; step++)
	{
		feed_scan(d, data, len, (Feed) {step, ROOMY, ROOMY, eol}, &found);
		describe(data, said);
		if (strcmp(said, expected) != 0)
			ck_abort_msg("step %zu of \"%s\": \"%s\", not \"%s\"", step, data,
						 said, expected);
	}
}

START_TEST(separators)
{
	const ScanEol eol = SCAN_EOL_UNKNOWN;

	check_rows(&bars, eol, "a||b\nc||d\n", "0:[a][b] 1:[c][d]");
	check_rows(&bars, eol, "a|b||c|\n", "0:[a|b][c|]");
	check_rows(&bars, eol, "a|||b||\n", "0:[a][|b][]");
	check_rows(&bars, eol, "||||", "0:[][][]");
	check_rows(&bars, eol, "a|", "0:[a|]");
	check_rows(&bars, eol, "\"a||b\"||\"c\"\"\"\r\nd\r\n", "0:[qa||b][qe\"c\"\"\"] 1:[d]");
	check_rows(&bars, eol, "\"a\n||\"||b\nc||d", "0:[qa\n||][b] 2:[c][d]");
	check_rows(&bars, eol, "a||b\nc\rd||e\n", "0:[a][b] 1!:[c\rd][e]");
	check_rows(&bars, eol, "a||\"b\n", "0!:[a][qe\"b\n]");
	check_rows(&text_bars, eol, "a\\||b||\\N\n", "0:[ea\\||b][e\\N]");
	check_rows(&text_bars, eol, "a\\\\||b\n\\.\nrest", "0:[ea\\\\][b] marker");
	check_rows(&text_bars, eol, "a||\\.\nb||c\n", "0!:[a][e\\.] 1:[b][c]");
	check_rows(&arrows, eol, "a<-><->b<-\n", "0:[a][][b<-]");
}
END_TEST

START_TEST(comments)
{
	const ScanEol eol = SCAN_EOL_UNKNOWN;

	check_rows(&hash, eol, "#one\na,b\n#\"two\nc,d\n#", "1:[a][b] 3:[c][d]");
	check_rows(&hash, eol, "a,#b\n #c,d\n", "0:[a][#b] 1:[ #c][d]");
	check_rows(&hash, eol, "\"a\n#b\"\n\"#c\"\n", "0:[qa\n#b] 2:[q#c]");
	check_rows(&hash, eol, "#only", "");
	check_rows(&hash, eol, "#only\r\n#these\r\n", "");
	check_rows(&hash, eol, "#a\r\nb\r\n", "1:[b]");
	check_rows(&hash, eol, "#a\rb\rc", "1:[b] 2:[c]");
	check_rows(&hash, eol, "a\n#b\rc\nd\n", "0:[a] 2:[d]");
	check_rows(&hash, eol, "a\r\n#b\nc\r\n", "0:[a] 2:[c]");
	check_rows(&hash, eol, "\n#\n\n", "0:[] 2:[]");
	check_rows(&dashes, eol, "--a\n-b\n-\n--", "1:[-b] 2:[-]");
	check_rows(&dashes, eol, "-", "0:[-]");
	check_rows(&text_hash, eol, "#\\\na\\\n#b,c\n\\#d\n#\\.\ne\n", "1:[ea\\\n#b][c] 3:[e\\#d] 5:[e]");
	check_rows(&text_hash, eol, "a\n#b\n\\.\n#c\n", "0:[a] marker");
}
END_TEST

START_TEST(line_ends)
{
	const ScanEol eol = SCAN_EOL_ANY;

	check_rows(&any, eol, "a\nb\r\nc\rd", "0:[a] 1:[b] 2:[c] 3:[d]");
	check_rows(&any, eol, "a\r\r\nb\n\rc\r", "0:[a] 1:[] 2:[b] 3:[] 4:[c]");
	check_rows(&any, eol, "\"a\r\nb\rc\nd\"\re", "0:[qa\r\nb\rc\nd] 4:[e]");
	check_rows(&any, eol, "a,\"b\rc,d\r", "0!:[a][qe\"b\rc,d\r]");
	check_rows(&text_any, eol, "a\\\rb\rc\\\r\nd\n", "0:[ea\\\rb] 2:[ec\\\r] 3:[d]");
	check_rows(&text_any, eol, "a\r\\.\rb\n", "0:[a] marker");
	check_rows(&text_any, eol, "a\n\\.\r\nb\n", "0:[a] marker");
	check_rows(&text_any, eol, "a\n\\.", "0:[a] 1!:[e\\.]");
}
END_TEST

START_TEST(line_counts)
{
	ck_assert_uint_eq(scan_count_lines(SCAN_EOL_NL, "\n\r\n\r", 4), 2);
	ck_assert_uint_eq(scan_count_lines(SCAN_EOL_CRNL, "\n\r\n\r", 4), 2);
	ck_assert_uint_eq(scan_count_lines(SCAN_EOL_CR, "\r\r\n\n", 4), 2);
	ck_assert_uint_eq(scan_count_lines(SCAN_EOL_ANY, "\n\r\n\r\r", 5), 4);
	ck_assert_uint_eq(scan_count_lines(SCAN_EOL_ANY, "", 0), 0);
}
END_TEST

static uint32_t
random_below(uint32_t limit)
{
	static uint64_t state = 20261111;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t) (state >> 33) % limit;
}

/*
 * A file of rows that are written twice: for `plain` and for `other`, with
 * comments and any line ends where that allows them.
 */
static void
make_twice(const ScanDialect *other, ScanEol eol, char *plain, char *written)
{
	static const char *const ends[] = {"\n", "\r\n", "\r"};
	const char *separator = other->separator ? other->separator : ",";

	for (uint32_t rows = random_below(30); rows > 0; rows--)
	{
		const char *end = eol == SCAN_EOL_ANY ? ends[random_below(3)] : "\n";

		if (other->comment != NULL && random_below(3) == 0)
			written += sprintf(written, "%s \" it's, %u\n", other->comment, rows);
		for (uint32_t fields = 1 + random_below(4); fields > 0; fields--)
		{
			bool		quote = random_below(3) == 0;
			char		field[40];
			int			n = 0;

			if (quote)
				field[n++] = '"';
			field[n++] = 'a';
			for (uint32_t i = random_below(8); i > 0; i--)
				field[n++] = quote ? "a#|-\n<,"[random_below(7)] : "b#-c"[random_below(4)];
			if (quote)
				field[n++] = '"';
			plain += sprintf(plain, "%.*s%s", n, field, fields > 1 ? "," : "\n");
			written += sprintf(written, "%.*s%s", n, field, fields > 1 ? separator : end);
		}
	}
	*plain = *written = '\0';
}

/* Texts of all fields, with their rows' line numbers where those must agree. */
static char *
texts(const char *data)
{
	char	   *all = malloc(strlen(data) * 2 + found.nrows * 20 + 1);
	char	   *to = all;

	*to = '\0';
	for (size_t i = 0; i < found.nrows; i++)
	{
		const Row  *row = &found.rows[i];

		to += sprintf(to, "\n%d%d%d", row->fault, row->multiline, row->lax);
		for (size_t f = row->first_field; f < row->first_field + row->nfields; f++)
			to += sprintf(to, "|%.*s", (int) found.fields[f].length,
						  data + found.fields[f].start);
	}
	return all;
}

static void
compare_twice(const ScanDialect *other, ScanEol eol)
{
	static const ScanDialect plain_dialect = {
		.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '"'
	};
	char	   *plain = malloc(20000);
	char	   *written = malloc(20000);

	for (int i = 0; i < 2000; i++)
	{
		char	   *expected;
		char	   *said;
		ScanBorder	border;
		size_t		length;

		make_twice(other, eol, plain, written);
		length = strlen(written);
		feed_scan(&plain_dialect, plain, strlen(plain),
				  (Feed) {0, ROOMY, ROOMY, SCAN_EOL_UNKNOWN}, &found);
		expected = texts(plain);
		feed_scan(other, written, length,
				  (Feed) {random_below(100), 1 + random_below(9), 1 + random_below(9), eol}, &found);
		said = texts(written);
		ck_assert_str_eq(said, expected);

		scan_border(other, eol == SCAN_EOL_ANY ? eol : SCAN_EOL_NL, written,
					(uint32_t) length, &border);
		ck_assert_uint_eq(border.rows, found.nrows -
						  (border.end < length && found.nrows > 0 &&
						   found.rows[found.nrows - 1].start >= border.end));
		if (border.end == length)
			ck_assert_uint_eq(border.lines, found.lines);
		free(said);
		free(expected);
	}
	free(plain);
	free(written);
}

START_TEST(written_twice)
{
	compare_twice(&bars, SCAN_EOL_UNKNOWN);
	compare_twice(&arrows, SCAN_EOL_UNKNOWN);
	compare_twice(&hash, SCAN_EOL_UNKNOWN);
	compare_twice(&dashes, SCAN_EOL_UNKNOWN);
	compare_twice(&any, SCAN_EOL_ANY);
}
END_TEST

/* After a broken quote rows parse again at the line after it. */
START_TEST(recovery)
{
	static const struct
	{
		const ScanDialect *dialect;
		ScanEol		eol;
		const char *data;
		uint32_t	resume;
	}			cases[] = {
		{&bars, SCAN_EOL_NL, "\"a||b\nc||d\ne||f\n", 6},
		{&bars, SCAN_EOL_NL, "\"a||b\nc|d\ne||\"f\"\n", 10},
		{&any, SCAN_EOL_ANY, "\"a,b\rc,d\re,f\r\n", 5},
		{&any, SCAN_EOL_ANY, "\"a,b\r\nc,d\r\n", 6},
		{&hash, SCAN_EOL_NL, "\"a,b\n#\"\nc,d\n", 8}
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		uint32_t	length = (uint32_t) strlen(cases[i].data);
		uint32_t	resume = 0;

		ck_assert_int_eq(scan_recover(cases[i].dialect, cases[i].eol,
									  cases[i].data, length, true, 0, length,
									  2, &resume), SCAN_RESUME);
		ck_assert_uint_eq(resume, cases[i].resume);
	}
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("scan_general");
	TCase	   *tests = tcase_create("scan_general");

	tcase_set_timeout(tests, 300);
	tcase_add_test(tests, separators);
	tcase_add_test(tests, comments);
	tcase_add_test(tests, line_ends);
	tcase_add_test(tests, line_counts);
	tcase_add_test(tests, written_twice);
	tcase_add_test(tests, recovery);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
