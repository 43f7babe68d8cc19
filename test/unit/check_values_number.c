/*
 * check_values_number.c
 *		Unit tests of text to integers, floats and numeric.
 *
 * test/differential/values.py asks a server whether the values are right;
 * here stand the borders of each form, what the bytes around a text must not
 * do, and comparisons with simple ways to the same end.
 */
#include "effort.h"
#include "values_help.h"
#include "scan/values_int.h"

static ValueResult
run_int2(const char *s, size_t len, uint8_t *image)
{
	int16_t		v = 0;
	ValueResult result = value_int2(s, len, &v);
	int64_t		wide = v;

	memcpy(image, &wide, sizeof(wide));
	return result;
}

static ValueResult
run_int4(const char *s, size_t len, uint8_t *image)
{
	int32_t		v = 0;
	ValueResult result = value_int4(s, len, &v);
	int64_t		wide = v;

	memcpy(image, &wide, sizeof(wide));
	return result;
}

static ValueResult
run_int8(const char *s, size_t len, uint8_t *image)
{
	int64_t		v = 0;
	ValueResult result = value_int8(s, len, &v);

	memcpy(image, &v, sizeof(v));
	return result;
}

static ValueResult
run_digits(const char *s, size_t len, uint8_t *image)
{
	int64_t		v = 0;
	bool		taken = value_digits(s, len, &v);
	int64_t		portable = 0;

	ck_assert_msg(value_digits_portable(s, len, &portable) == taken &&
				  (!taken || portable == v),
				  "\"%.*s\": one kind of CPU says otherwise", (int) len, s);
	memcpy(image, &v, sizeof(v));
	return taken ? VALUE_OK : VALUE_ASK;
}

static ValueResult
run_short_int(const char *s, size_t len, uint8_t *image)
{
	int64_t		v = 0;
	bool		taken = value_short_int(s, len, &v);

	memcpy(image, &v, sizeof(v));
	return taken ? VALUE_OK : VALUE_ASK;
}

static ValueResult
run_oid(const char *s, size_t len, uint8_t *image)
{
	uint32_t	v = 0;
	ValueResult result = value_oid(s, len, &v);
	int64_t		wide = v;

	memcpy(image, &wide, sizeof(wide));
	return result;
}

static ValueResult
run_float4(const char *s, size_t len, uint8_t *image)
{
	float		v = 0;
	ValueResult result = value_float4(s, len, &v);

	memcpy(image, &v, sizeof(v));
	return result;
}

static ValueResult
run_float8(const char *s, size_t len, uint8_t *image)
{
	double		v = 0;
	ValueResult result = value_float8(s, len, &v);

	memcpy(image, &v, sizeof(v));
	return result;
}

static ValueResult
run_numeric(const char *s, size_t len, uint8_t *image)
{
	ValueNumeric v = {0};
	ValueResult result = value_numeric(s, len, &v);

	/* as text, so that places after ndigits do not matter */
	if (result == VALUE_OK)
	{
		char	   *p = (char *) image;

		p += sprintf(p, "%s%d/%d/%d:", v.negative ? "-" : "+", v.weight,
					 v.dscale, v.int_digits);
		for (int i = 0; i < v.ndigits; i++)
			p += sprintf(p, " %d", v.digits[i]);
	}
	return result;
}

/* -- integers -------------------------------------------------------------- */

START_TEST(integers_at_their_limits)
{
	expect_int(run_int2, "32767", 32767);
	expect_int(run_int2, "-32768", -32768);
	expect(run_int2, "32768", VALUE_BAD_RANGE);
	expect(run_int2, "-32769", VALUE_BAD_RANGE);
	expect(run_int2, "4294967296", VALUE_BAD_RANGE);
	expect_int(run_int4, "2147483647", INT32_MAX);
	expect_int(run_int4, "-2147483648", INT32_MIN);
	expect(run_int4, "2147483648", VALUE_BAD_RANGE);
	expect(run_int4, "-2147483649", VALUE_BAD_RANGE);
	expect(run_int4, "18446744073709551617", VALUE_BAD_RANGE);
	expect_int(run_int8, "9223372036854775807", INT64_MAX);
	expect_int(run_int8, "-9223372036854775808", INT64_MIN);
	expect(run_int8, "9223372036854775808", VALUE_BAD_RANGE);
	expect(run_int8, "-9223372036854775809", VALUE_BAD_RANGE);
	expect(run_int8, "18446744073709551616", VALUE_BAD_RANGE);
	expect(run_int8, "99999999999999999999999999", VALUE_BAD_RANGE);
	expect_int(run_oid, "0", 0);
	expect_int(run_oid, "4294967295", UINT32_MAX);
	expect(run_oid, "4294967296", VALUE_BAD_RANGE);
}
END_TEST

START_TEST(integers_as_written)
{
	expect_int(run_int4, "-0", 0);
	expect_int(run_int4, "+7", 7);
	expect_int(run_int4, " \t\n\v\f\r42 ", 42);
	expect_int(run_int4, "0000000000000000000000000000012", 12);
	expect_int(run_int4, "-000000000000000000000000002147483648", INT32_MIN);
	expect_int(run_int2, "000000000000007", 7);
	expect_int(run_int8, "00000000009223372036854775807", INT64_MAX);
	expect(run_int4, " 99999999999 ", VALUE_BAD_RANGE);
}
END_TEST

START_TEST(integers_of_each_length)
{
	for (int digits = 1; digits <= 18; digits++)
	{
		for (int i = 0; i < 200; i++)
		{
			char		text[32];
			int64_t		value = 0;

			for (int d = 0; d < digits; d++)
			{
				text[d] = (char) ('0' + next_random() % 10);
				value = value * 10 + (text[d] - '0');
			}
			text[digits] = '\0';
			expect_int(run_int8, text, value);
			/* a stranger at any place is seen */
			text[next_random() % digits] = "/:;x\x01\x7f"[next_random() % 6];
			ck_assert_int_ne(convert(run_int8, text, digits, image), VALUE_OK);
		}
	}
	for (int value = INT16_MIN; value <= INT16_MAX; value++)
	{
		char		text[16];
		int16_t		got = 0;
		Padded		p = pad(text, sprintf(text, "%d", value), '5');

		ck_assert_int_eq(value_int2(p.s, p.len, &got), VALUE_OK);
		ck_assert_int_eq(got, value);
		free(p.block);
	}
}
END_TEST

START_TEST(integers_refused)
{
	static const char *const syntax[] = {
		"", " ", "-", "+", "- 1", "--1", "abc", "N/A", "1.5", "1 2", "12a",
		"1e3", "00x1", "1,000", "$5", "12 _", "\x01", NULL
	};
	static const char *const ask[] = {
		"0x1F", "0o17", "0b1", "-0X1", "1_000", "_1", "1_", "\xc2\xa0" "1",
		"1\xc2\xa0", "1 \xc2\xa0", "99999999999999999999x", NULL
	};

	expect_all(run_int2, syntax, VALUE_BAD_SYNTAX);
	expect_all(run_int4, syntax, VALUE_BAD_SYNTAX);
	expect_all(run_int8, syntax, VALUE_BAD_SYNTAX);
	expect_all(run_int2, ask, VALUE_ASK);
	expect_all(run_int4, ask, VALUE_ASK);
	expect_all(run_int8, ask, VALUE_ASK);
	/* 15 finds the overflow, 18 the junk */
	expect(run_int4, "2147483649x", VALUE_ASK);
	/* a server would see only what stands before a zero byte */
	ck_assert_int_eq(convert(run_int4, "12\0", 3, image), VALUE_ASK);
	ck_assert_int_eq(convert(run_int4, "\0" "12", 3, image), VALUE_ASK);
}
END_TEST

START_TEST(short_integers)
{
	static const char *const refused[] = {
		"", "-", "--1", "+1", "1-", " 1", "1 ", "1.0", "12345678901234567",
		"-12345678901234567", "1_000", "x", NULL
	};
	char		text[32];

	before = 16;
	expect_all(run_short_int, refused, VALUE_ASK);
	for (int n = 1; n <= 16; n++)
		for (int round = 0; round < effort(500); round++)
		{
			int			at = (int) (next_random() % n);
			char		kept;

			text[0] = '-';
			for (int i = 1; i <= n; i++)
				text[i] = "0123456789000999"[next_random() % 16];
			text[n + 1] = '\0';
			expect_int(run_digits, text + 1, strtoll(text + 1, NULL, 10));
			expect_int(run_short_int, text + 1, strtoll(text + 1, NULL, 10));
			expect_int(run_short_int, text, strtoll(text, NULL, 10));

			/* any byte that is no digit, anywhere */
			kept = (char) (next_random() % 255 + 1);
			if (kept >= '0' && kept <= '9')
				continue;
			text[at + 1] = kept;
			expect(run_digits, text + 1, VALUE_ASK);
			if (kept != '-' || at > 0)
				expect(run_short_int, text + 1, VALUE_ASK);
		}
}
END_TEST

START_TEST(oids_of_strtoul)
{
	expect(run_oid, "", VALUE_BAD_SYNTAX);
	expect(run_oid, "pg_class", VALUE_BAD_SYNTAX);
	/* wraps; octal from 16 on */
	expect(run_oid, "-1", VALUE_ASK);
	expect(run_oid, "010", VALUE_ASK);
	expect(run_oid, "08", VALUE_ASK);
}
END_TEST

/* -- floats ---------------------------------------------------------------- */

static void
expect_strtod(const char *text)
{
	double		want = strtod(text, NULL);
	double		got;

	expect(run_float8, text, VALUE_OK);
	memcpy(&got, image, sizeof(got));
	ck_assert_msg(memcmp(&got, &want, sizeof(got)) == 0, "%s: %a, not %a",
				  text, got, want);
}

static void
expect_strtof(const char *text)
{
	float		want = strtof(text, NULL);
	float		got;

	expect(run_float4, text, VALUE_OK);
	memcpy(&got, image, sizeof(got));
	ck_assert_msg(memcmp(&got, &want, sizeof(got)) == 0, "%s: %a, not %a",
				  text, (double) got, (double) want);
}

START_TEST(floats_by_hand)
{
	static const char *const texts[] = {
		"0", "-0", "-0.0", "+0", "0e-30", "-0e300", "5.", ".5", "-.5", "1e0",
		"1E+5", "1.5e-5", " 2.5 ", "12345678", "123456789", "1234567.8",
		"1234567890123456", "12345678901234567", "1234567890123456789",
		"9007199254740992", "9007199254740993", "9007199254740993.5",
		"9007199254740995", "16777216", "16777217", "16777217.5", "16777219",
		"9007199254740991.999", "16777215.9", "0.1", "0.3", "3.14159265358979312", "1e19", "9999999999999999999e19",
		"1e-19", "0.0000000000000000001",
		"00000000000000000000000000.5", "1.000000059604644775", NULL
	};

	for (int i = 0; texts[i]; i++)
	{
		expect_strtod(texts[i]);
		expect_strtof(texts[i]);
	}
	expect_strtod("1e22");
	expect_strtod("1234567e-22");
}
END_TEST

/* As many digits as there may be: what rounding drops can look like a half. */
START_TEST(floats_of_19_digits)
{
	for (int i = 0; i < effort(60000); i++)
	{
		char		text[BEFORE + 32 + AFTER];
		uint64_t	mantissa = next_random() % UINT64_C(10000000000000000000);
		int			n = sprintf(text, "%" PRIu64 "e%d", mantissa,
								(int) (next_random() % 39) - 19);
		double		wide = 0;
		float		narrow = 0;

		ck_assert_int_eq(value_float8(text, n, &wide), VALUE_OK);
		ck_assert_msg(wide == strtod(text, NULL), "%s", text);
		ck_assert_int_eq(value_float4(text, n, &narrow), VALUE_OK);
		ck_assert_msg(narrow == strtof(text, NULL), "%s", text);
	}
}
END_TEST

/* Random digits with a point anywhere, and numbers halfway between floats. */
START_TEST(floats_as_strtod)
{
	for (int i = 0; i < effort(2500); i++)
	{
		char		text[64];
		int			digits = 1 + (int) (next_random() % 19);
		int			point = (int) (next_random() % 20);
		char	   *p = text;

		for (int d = 0; d < digits; d++)
		{
			if (d == point)
				*p++ = '.';
			*p++ = (char) ('0' + next_random() % 10);
		}
		*p = '\0';
		expect_strtod(text);
		expect_strtof(text);
	}
	for (int i = 0; i < effort(2500); i++)
	{
		char		text[64];
		uint64_t	odd = ((next_random() >> 11) | UINT64_C(1) << 53) | 1;

		/* 54 bits and a factor of ten that takes no bit away from them */
		sprintf(text, "%" PRIu64 "%s", odd, i % 2 ? "" : "e1");
		expect_strtod(text);
		sprintf(text, "%" PRIu64 ".%de%d", odd >> 28 | 1 << 25,
				(int) (next_random() % 2), (int) (next_random() % 12));
		expect_strtof(text);
		sprintf(text, "%.25g", (double) (odd >> 30) / 1024);
		if (strlen(text) < 19)
			expect_strtof(text);
	}
}
END_TEST

START_TEST(floats_refused)
{
	static const char *const syntax[] = {
		"", " ", "-", "abc", "1.2.3", "1,5", "12x", "$1", "1 2", "e5", "--1",
		"12.5 EUR", NULL
	};
	static const char *const ask[] = {
		"NaN", "-nan", "Infinity", "-inf", "0x1p3", ".", "-.", "1e", "1e+",
		"1e23", "1e400", "1e-400", "1_0", "12345678901234567890", "1e30x", "1e5 x",
		"4e38", "1e99999999999", "1\xc2\xa0", NULL
	};

	expect_all(run_float4, syntax, VALUE_BAD_SYNTAX);
	expect_all(run_float8, syntax, VALUE_BAD_SYNTAX);
	expect_all(run_float4, ask, VALUE_ASK);
	expect_all(run_float8, ask, VALUE_ASK);
	/* out of a float4's range before the junk is seen */
	expect(run_float4, "99999999999999999999999999999999999999999x", VALUE_ASK);
}
END_TEST

/* -- numeric --------------------------------------------------------------- */

START_TEST(numerics_by_hand)
{
	/* sign, weight / dscale / digits before the point : digits */
	expect_text(run_numeric, "0", "+0/0/0:");
	expect_text(run_numeric, "-0.00", "+0/2/0:");
	expect_text(run_numeric, "0e5", "+0/0/0:");
	expect_text(run_numeric, "0e-5", "+0/5/0:");
	expect_text(run_numeric, "1", "+0/0/1: 1");
	expect_text(run_numeric, "12.34", "+0/2/2: 12 3400");
	expect_text(run_numeric, "-1999.99", "-0/2/4: 1999 9900");
	expect_text(run_numeric, "123456", "+1/0/6: 12 3456");
	expect_text(run_numeric, "10000", "+1/0/5: 1");
	expect_text(run_numeric, "100000000", "+2/0/9: 1");
	expect_text(run_numeric, "10000.0001", "+1/4/5: 1 0 1");
	expect_text(run_numeric, "0.5", "+-1/1/0: 5000");
	expect_text(run_numeric, ".5", "+-1/1/0: 5000");
	expect_text(run_numeric, "5.", "+0/0/1: 5");
	expect_text(run_numeric, "0.0001", "+-1/4/0: 1");
	expect_text(run_numeric, "0.00001", "+-2/5/0: 1000");
	expect_text(run_numeric, "-0.00000000012", "--3/11/0: 120");
	expect_text(run_numeric, "1.5e3", "+0/0/4: 1500");
	expect_text(run_numeric, "1.50e1", "+0/1/2: 15");
	expect_text(run_numeric, "1e20", "+5/0/21: 1");
	expect_text(run_numeric, "12e-7", "+-2/7/0: 120");
	expect_text(run_numeric, " +1.50 ", "+0/2/1: 1 5000");
	expect_text(run_numeric, "00000000000000000012.50", "+0/2/2: 12 5000");
	expect_text(run_numeric, "1234567890123456", "+3/0/16: 1234 5678 9012 3456");
	expect_text(run_numeric, "1234567890123456.5",
				"+3/1/16: 1234 5678 9012 3456 5000");
	expect_text(run_numeric, ".123456789012345",
				"+-1/15/0: 1234 5678 9012 3450");
}
END_TEST

/* The base-10000 digit that stands for 10000^power. */
static int
numeric_group(const ValueNumeric *v, int power)
{
	int			i = v->weight - power;

	return i >= 0 && i < v->ndigits ? v->digits[i] : 0;
}

/* Whether our answer, written out again, is the text it was made of. */
static void
check_numeric_text(const char *text)
{
	ValueNumeric v;
	Padded		p = pad(text, strlen(text), '3');
	char		back[1024];
	char	   *b = back;
	int			first = 0;

	ck_assert_msg(value_numeric(p.s, p.len, &v) == VALUE_OK, "%s", text);
	free(p.block);
	if (v.negative)
		*b++ = '-';
	first = v.weight > 0 ? v.weight : 0;
	for (int power = first; power >= 0; power--)
		b += sprintf(b, power == first ? "%d" : "%04d", numeric_group(&v, power));
	ck_assert_int_eq(v.int_digits, back[v.negative] == '0' ? 0 :
					 (int) (b - back) - v.negative);
	if (v.dscale > 0)
	{
		char	   *stop = b + 1 + v.dscale;

		*b++ = '.';
		for (int power = -1; b < stop; power--)
			b += sprintf(b, "%04d", numeric_group(&v, power));
		b = stop;
	}
	*b = '\0';
	ck_assert_str_eq(back, text);
}

START_TEST(numerics_there_and_back)
{
	for (int i = 0; i < effort(30000); i++)
	{
		char		text[512];
		char	   *p = text;
		int			most = i % 10 ? 12 : 110;
		int			whole = 1 + (int) (next_random() % most);
		int			fraction = (int) (next_random() % most);
		bool		nonzero = false;

		*p++ = '-';
		for (int d = 0; d < whole; d++)
		{
			*p = (char) ('0' + next_random() % 10);
			if (d == 0 && *p == '0')
				whole = 1;		/* no leading zeros: they would not come back */
			nonzero |= *p++ != '0';
		}
		if (fraction > 0)
			*p++ = '.';
		for (int d = 0; d < fraction; d++)
		{
			*p = next_random() % 3 ? '0' : (char) ('0' + next_random() % 10);
			nonzero |= *p++ != '0';
		}
		*p = '\0';
		check_numeric_text(nonzero ? text : text + 1);
	}
}
END_TEST

START_TEST(numerics_refused)
{
	static const char *const syntax[] = {
		"", " ", "-", "abc", "1.2.3", "1,5", "12x", "$1", "1 2", "e5", NULL
	};
	static const char *const ask[] = {
		"NaN", "Infinity", "-inf", ".", "1e", "1e+", "0x1F", "0b1", "0o7",
		"1_000", "1.5_1", "1e1_0", "1e1001", "1e99999999999", "1\xc2\xa0",
		NULL
	};
	char		text[300];

	expect_all(run_numeric, syntax, VALUE_BAD_SYNTAX);
	expect_all(run_numeric, ask, VALUE_ASK);
	for (int digits = 240; digits < 300; digits++)
	{
		ValueResult result;

		memset(text, '9', sizeof(text));
		result = convert(run_numeric, text, digits, image);
		ck_assert_int_eq(result, digits <= VALUE_NUMERIC_DIGITS * 4 - 3 ?
						 VALUE_OK : VALUE_ASK);
	}
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("values_number");
	TCase	   *tests = tcase_create("values_number");

	tcase_add_test(tests, integers_at_their_limits);
	tcase_add_test(tests, integers_as_written);
	tcase_add_test(tests, integers_of_each_length);
	tcase_add_test(tests, integers_refused);
	tcase_add_test(tests, short_integers);
	tcase_add_test(tests, oids_of_strtoul);
	tcase_add_test(tests, floats_by_hand);
	tcase_add_test(tests, floats_as_strtod);
	tcase_add_test(tests, floats_of_19_digits);
	tcase_add_test(tests, floats_refused);
	tcase_add_test(tests, numerics_by_hand);
	tcase_add_test(tests, numerics_there_and_back);
	tcase_add_test(tests, numerics_refused);
	tcase_set_timeout(tests, 120);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
