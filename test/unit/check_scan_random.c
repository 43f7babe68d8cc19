/*
 * check_scan_random.c
 *		Random input against the reference, with every kernel, in windows of
 *		every size and with little space; kernels against the portable one.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "effort.h"
#include "scan/scan.h"
#include "scan_reference.h"

static const Feed whole = {0, ROOMY, ROOMY, SCAN_EOL_UNKNOWN};

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

static void
compare_random(const ScanDialect *d, int count, size_t max,
			   size_t (*make) (char *, size_t))
{
	char	   *data = malloc(max + 16);
	Found	   *expected = malloc(sizeof(Found));
	Found	   *found = malloc(sizeof(Found));

	for (int i = 0; i < effort(count); i++)
	{
		size_t		len = make(data, max);
		const ScanKernel *const *kernel = scan_kernels;

		ref_scan(d, data, len, expected);
		for (; *kernel != NULL; kernel++)
		{
			Feed		pieces = {1 + random_below((uint32_t) max), ROOMY, ROOMY, SCAN_EOL_UNKNOWN};
			Feed		tiny = {0, 1 + random_below(90), 1 + random_below(150), SCAN_EOL_UNKNOWN};

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
	{.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '"'},
	{.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '\\'},
	{.format = SCAN_TEXT,.delimiter = ',',.quote = 0,.escape = 0},
	{.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = ','},		/* odd, but COPY takes it */
	{.format = SCAN_CSV,.delimiter = '\\',.quote = '"',.escape = '"'},
	{.format = SCAN_CSV,.delimiter = ',',.quote = '\\',.escape = '\\'},
	/* the same by general.c */
	{.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '"',.general = true},
	{.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '\\',.general = true},
	{.format = SCAN_TEXT,.delimiter = ',',.general = true},
	{.format = SCAN_CSV,.delimiter = '\\',.quote = '"',.escape = '"',.general = true},
	{.format = SCAN_CSV,.delimiter = ',',.quote = '\\',.escape = '\\',.general = true}
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

	for (int round = 0; round < effort(20); round++)
	{
		size_t		len = round % 2 ? make_tidy(data, 600) : make_nasty(data, 300);

		ref_scan(&random_dialects[_i], data, len, expected);
		for (size_t step = 1; step <= len + 1; step++)
		{
			Feed		feed = {step, ROOMY, ROOMY, SCAN_EOL_UNKNOWN};

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
scan_random_suite(void)
{
	Suite	   *suite = suite_create("scan_random");
	TCase	   *cases = tcase_create("scan_random");

	tcase_set_timeout(cases, 600);
	tcase_add_test(cases, test_kernels);
	tcase_add_loop_test(cases, test_random_nasty, 0, NDIALECTS);
	tcase_add_loop_test(cases, test_random_tidy, 0, NDIALECTS);
	tcase_add_loop_test(cases, test_window_sweep, 0, NDIALECTS);
	suite_add_tcase(suite, cases);
	return suite;
}

int
main(void)
{
	return run_suite(scan_random_suite());
}
