/*
 * check_scan_border.c
 *		Where scan_border cuts a window: against scan_rows, against the reference
 *		and against its own answer for the rest of the window.  And where
 *		scan_binary_border does: against scan_binary.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "effort.h"
#include "scan/scan.h"
#include "scan_reference.h"

#define MAX_LENGTH 12000

static const ScanDialect dialects[] = {
	{.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '"'},
	{.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '\\'},
	{.format = SCAN_CSV,.delimiter = ';',.quote = '\'',.escape = '"'},
	{.format = SCAN_TEXT,.delimiter = ',',.quote = 0,.escape = 0},
	{.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = ','},
	{.format = SCAN_CSV,.delimiter = '\\',.quote = '"',.escape = '"'},
	{.format = SCAN_CSV,.delimiter = ',',.quote = '\\',.escape = '\\'},
	/* the same by general.c */
	{.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '"',.general = true},
	{.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '\\',.general = true},
	{.format = SCAN_TEXT,.delimiter = ',',.general = true},
	{.format = SCAN_CSV,.delimiter = '\\',.quote = '"',.escape = '"',.general = true},
	{.format = SCAN_CSV,.delimiter = ',',.quote = '\\',.escape = '\\',.general = true}
};
#define NDIALECTS (int) (sizeof(dialects) / sizeof(dialects[0]))

static const ScanEol eols[] = {SCAN_EOL_NL, SCAN_EOL_CR, SCAN_EOL_CRNL};
#define NEOLS (int) (sizeof(eols) / sizeof(eols[0]))

static uint32_t
random_below(uint32_t limit)
{
	static uint64_t state = 20260303;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t) (state >> 33) % limit;
}

static const char *
eol_text(ScanEol eol)
{
	return eol == SCAN_EOL_NL ? "\n" : eol == SCAN_EOL_CR ? "\r" : "\r\n";
}

/*
 * Fields of letters, at times in quotes, with line ends of the kind; one of
 * a hundred, or a few, or most of all bytes are some that matter.  Begins
 * with a line end, which says to the reference what kind it is.
 */
static uint32_t
make_window(char *data, uint32_t max, ScanEol eol)
{
	const uint32_t noise = (const uint32_t[]) {0, 1, 5, 60}[random_below(4)];
	const uint32_t rare = 2 + random_below(random_below(2) ? 8 : 400);
	const char *end = eol_text(eol);
	uint32_t	limit = random_below(max - 2);
	uint32_t	len = strlen(end);

	memcpy(data, end, len);
	while (len < limit)
	{
		if (random_below(100) < noise)
			data[len++] = ",\"\\\n\r.'\0"[random_below(8)];
		else if (random_below(rare) == 0)
		{
			memcpy(data + len, end, strlen(end));
			len += strlen(end);
		}
		else
			data[len++] = ",;\"\"'abc"[random_below(8)];
	}
	return len;
}

/* The same by scan_rows: an end-of-copy marker is a row, and ends nothing. */
static void
border_by_rows(const ScanDialect *d, ScanEol eol, const char *data,
			   uint32_t length, ScanBorder *border)
{
	static ScanRow rows[MAX_LENGTH + 64];
	static ScanField fields[MAX_LENGTH + 128];
	ScanResult	result;

	memset(border, 0, sizeof(*border));
	do
	{
		ScanEol		found = eol;

		scan_rows(d, &found, data + border->end, length - border->end, false,
				  rows, MAX_LENGTH + 64, fields, MAX_LENGTH + 128, &result);
		REQUIRE(found == eol);
		REQUIRE(result.status == SCAN_MORE || result.status == SCAN_MARKER);
		border->end += result.consumed;
		border->lines += result.lines;
		border->rows += result.nrows + (result.status == SCAN_MARKER);
	} while (result.status == SCAN_MARKER);
}

/*
 * The same by the reference; false where it stops at a marker, or takes the
 * first line end and what follows it for one of another kind.
 */
static bool
border_by_reference(const ScanDialect *d, ScanEol kind, const char *data,
					uint32_t length, ScanBorder *border)
{
	static Found found;
	char		eol = kind == SCAN_EOL_CR ? '\r' : '\n';

	ref_scan(d, data, length, &found);
	if (found.status == SCAN_MARKER || found.eol != kind)
		return false;
	memset(border, 0, sizeof(*border));
	for (size_t i = 0; i < found.nrows; i++)
	{
		const Row  *row = &found.rows[i];

		/* the last row may lack its line end */
		if (row->next == row->end)
			continue;
		border->end = row->next;
		border->rows++;
	}
	for (uint32_t i = 0; i < border->end; i++)
		border->lines += data[i] == eol;
	return true;
}

static bool
same(const ScanBorder *a, const ScanBorder *b)
{
	return a->end == b->end && a->rows == b->rows && a->lines == b->lines;
}

static void
compare(const ScanDialect *d, ScanEol eol, const char *data, uint32_t length)
{
	ScanBorder	by_rows;
	ScanBorder	by_reference;
	bool		has_reference = border_by_reference(d, eol, data, length, &by_reference);

	border_by_rows(d, eol, data, length, &by_rows);
	for (const ScanKernel *const *kernel = scan_kernels; *kernel != NULL; kernel++)
	{
		ScanBorder	found;

		if (!(*kernel)->supported())
			continue;
		scan_kernel_set(*kernel);
		memset(&found, 0xff, sizeof(found));
		scan_border(d, eol, data, length, &found);
		REQUIRE(same(&found, &by_rows));
		REQUIRE(!has_reference || same(&found, &by_reference));

		/* what remains has no border, and what was cut ends with one */
		scan_border(d, eol, data + found.end, length - found.end, &by_reference);
		REQUIRE(by_reference.end == 0 && by_reference.rows == 0);
		scan_border(d, eol, data, found.end, &by_reference);
		REQUIRE(same(&found, &by_reference));
		has_reference = false;
	}
	scan_kernel_set(NULL);
}

START_TEST(test_random)
{
	const ScanDialect *d = &dialects[_i / NEOLS];
	ScanEol		eol = eols[_i % NEOLS];
	char	   *data = malloc(MAX_LENGTH + SCAN_PADDING);

	for (int i = 0; i < effort(12000); i++)
		compare(d, eol, data, make_window(data, 300, eol));
	for (int i = 0; i < effort(500); i++)
		compare(d, eol, data, make_window(data, MAX_LENGTH, eol));
	free(data);
}
END_TEST

/* Every length of a window, as far as its end goes. */
START_TEST(test_lengths)
{
	const ScanDialect *d = &dialects[_i / NEOLS];
	ScanEol		eol = eols[_i % NEOLS];
	char	   *data = malloc(MAX_LENGTH + SCAN_PADDING);

	for (int i = 0; i < effort(30); i++)
	{
		uint32_t	most = make_window(data, 400, eol);

		for (uint32_t length = 1 + (eol == SCAN_EOL_CRNL); length <= most; length++)
			compare(d, eol, data, length);
	}
	free(data);
}
END_TEST

static void
assert_border(const ScanDialect *d, ScanEol eol, const char *data,
			  uint32_t end, uint32_t rows, uint32_t lines)
{
	char		window[256 + SCAN_PADDING] = {0};
	ScanBorder	border;

	strcpy(window, data);
	scan_border(d, eol, window, strlen(data), &border);
	ck_assert_uint_eq(border.end, end);
	ck_assert_uint_eq(border.rows, rows);
	ck_assert_uint_eq(border.lines, lines);
}

START_TEST(test_by_hand)
{
	const ScanDialect *csv = &dialects[0];
	const ScanDialect *text = &dialects[3];

	assert_border(csv, SCAN_EOL_NL, "", 0, 0, 0);
	assert_border(csv, SCAN_EOL_NL, "a,b", 0, 0, 0);
	assert_border(csv, SCAN_EOL_NL, "a\nb", 2, 1, 1);
	assert_border(csv, SCAN_EOL_NL, "a\nb\n", 4, 2, 2);
	assert_border(csv, SCAN_EOL_NL, "\"a\nb\"\nc", 6, 1, 2);
	assert_border(csv, SCAN_EOL_NL, "a\n\"b\nc\n", 2, 1, 1);
	assert_border(csv, SCAN_EOL_NL, "a\rb\n", 4, 1, 1);
	assert_border(csv, SCAN_EOL_CR, "a\rb\nc", 4, 2, 1);
	assert_border(csv, SCAN_EOL_CRNL, "a\r\nb\r", 3, 1, 1);
	assert_border(csv, SCAN_EOL_CRNL, "a\nb\r\n", 5, 2, 2);
	assert_border(text, SCAN_EOL_NL, "a\\\nb\nc", 5, 1, 2);
	assert_border(text, SCAN_EOL_NL, "a\\\\\nb", 4, 1, 1);
	assert_border(text, SCAN_EOL_NL, "a\n\\.\nb\nc", 7, 3, 3);
	assert_border(text, SCAN_EOL_CRNL, "a\\\r\nb", 4, 1, 1);
}
END_TEST

/* Rows of the binary format, some of which are none. */
static uint32_t
make_binary(char *data, uint32_t max)
{
	const uint32_t broken = (const uint32_t[]) {1000000, 200, 10}[random_below(3)];
	uint32_t	len = 0;

	while (len + 64 < max)
	{
		uint32_t	count = random_below(broken) == 0 ? 65530 + random_below(6) : random_below(5);

		data[len++] = count >> 8;
		data[len++] = count;
		for (uint32_t i = 0; i < count && i < 5; i++)
		{
			uint32_t	size = random_below(8);
			uint32_t	said = size == 0 ? UINT32_MAX :
				random_below(broken) == 0 ? random_below(UINT32_MAX) : size - 1;

			for (int shift = 24; shift >= 0; shift -= 8)
				data[len++] = said >> shift;
			for (uint32_t n = 1; n < size; n++)
				data[len++] = random_below(256);
		}
	}
	return len;
}

START_TEST(test_binary)
{
	enum
	{
		MAX = 3000
	};
	char	   *data = malloc(MAX);
	ScanRow    *rows = malloc(MAX * sizeof(ScanRow));
	ScanField  *fields = malloc(70000 * sizeof(ScanField));

	for (int i = 0; i < effort(100000); i++)
	{
		uint32_t	length = make_binary(data, 64 + random_below(MAX - 64));
		ScanBorder	border;
		ScanResult	result;
		bool		more;

		length -= random_below(length + 1) / (1 + random_below(length + 1));
		more = scan_binary_border(data, length, &border);
		scan_binary(data, length, false, rows, MAX, fields, 70000, &result);

		/* a row that cannot be read comes with its fault, an end marker is consumed */
		if (!more && result.status == SCAN_END)
			result.nrows--;
		if (!more && result.status == SCAN_MARKER)
			result.consumed -= 2;
		REQUIRE(more == (result.status == SCAN_MORE));
		REQUIRE(border.rows == result.nrows && border.lines == result.nrows);
		REQUIRE(border.end == (result.nrows > 0 ? rows[result.nrows - 1].next : 0));
		REQUIRE(result.status == SCAN_END || border.end == result.consumed);
	}
	free(data);
	free(rows);
	free(fields);
}
END_TEST

static Suite *
scan_border_suite(void)
{
	Suite	   *suite = suite_create("scan_border");
	TCase	   *cases = tcase_create("scan_border");

	tcase_set_timeout(cases, 600);
	tcase_add_test(cases, test_by_hand);
	tcase_add_loop_test(cases, test_random, 0, NDIALECTS * NEOLS);
	tcase_add_test(cases, test_binary);
	tcase_add_loop_test(cases, test_lengths, 0, NDIALECTS * NEOLS);
	suite_add_tcase(suite, cases);
	return suite;
}

int
main(void)
{
	return run_suite(scan_border_suite());
}
