/*
 * check_scan_fields.c
 *		The text of fields, and recovery after broken quoting.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"
#include "scan_reference.h"

static const ScanDialect csv = {.format = SCAN_CSV, .delimiter = ',', .quote = '"', .escape = '"'};
static const ScanDialect csv_backslash = {.format = SCAN_CSV, .delimiter = ',', .quote = '"', .escape = '\\'};

/* -- text of fields -- */

static void
assert_unquoted(const ScanDialect *d, const char *src, const char *expected)
{
	size_t		len = strlen(src);
	char	   *in = malloc(len + SCAN_OVERCOPY);
	char	   *out = malloc(len + SCAN_OVERCOPY);

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
	char	   *in = malloc(len + SCAN_OVERCOPY);
	char	   *out = malloc(len + SCAN_OVERCOPY);
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
		char	   *in = malloc(len + SCAN_OVERCOPY);
		char	   *out = malloc(len + SCAN_OVERCOPY);
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

/* Within one buffer the text is made otherwise than from one to another. */
START_TEST(test_unescape_random)
{
	const char	letters[] = "\\\\nrtbfvx01789aAq \303\n";

	srand(6);
	for (int i = 0; i < 100000; i++)
	{
		size_t		len = (size_t) rand() % 60;
		char	   *in = malloc(len + SCAN_OVERCOPY);
		char	   *out = malloc(len + SCAN_OVERCOPY);
		bool		high = rand() % 2;
		bool		high_within = !high;
		size_t		result;

		for (size_t j = 0; j < len; j++)
			in[j] = rand() % 5 ? 'a' + rand() % 26 : letters[(size_t) rand() % (sizeof(letters) - 1)];
		result = scan_unescape(in, len, out, &high);
		REQUIRE(scan_unescape(in, len, in, &high_within) == result);
		REQUIRE(memcmp(in, out, result) == 0);
		REQUIRE(high == high_within);
		free(in);
		free(out);
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

	ck_assert_int_eq(scan_character("x\\", 2, gb_mblen), 1);
	ck_assert_int_eq(scan_character("\x81\\\\", 3, gb_mblen), 2);
	ck_assert_int_eq(scan_character("\x81\\\\", 1, gb_mblen), 1);
	ck_assert_int_eq(scan_character("\x81\"", 2, gb_mblen), 1);
	ck_assert_int_eq(scan_character("\x81\x30\x81\n", 4, gb_mblen), 3);
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

static Suite *
scan_fields_suite(void)
{
	Suite	   *suite = suite_create("scan_fields");
	TCase	   *cases = tcase_create("scan_fields");

	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, test_unquote);
	tcase_add_test(cases, test_unescape);
	tcase_add_test(cases, test_is_ascii);
	tcase_add_test(cases, test_shape);
	tcase_add_loop_test(cases, test_recover, 0,
						sizeof(recover_cases) / sizeof(recover_cases[0]));
	tcase_add_test(cases, test_recover_bounds);
	tcase_add_test(cases, test_unquote_random);
	tcase_add_test(cases, test_unescape_random);
	suite_add_tcase(suite, cases);
	return suite;
}

int
main(void)
{
	return run_suite(scan_fields_suite());
}
