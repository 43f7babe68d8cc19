/*
 * check_values.c
 *		Unit tests of text to booleans, UUIDs, bits, bytes, dates and times.
 *
 * test/differential/values.py asks a server whether the values are right;
 * here are the limits of each form, what the bytes around a text must not
 * do, and comparisons with simple ways to the same end.
 */
#include "scan/values_int.h"
#include "values_help.h"

static ValueResult
run_bool(const char *s, size_t len, uint8_t *image)
{
	bool		v = false;
	ValueResult result = value_bool(s, len, &v);

	image[0] = v;
	return result;
}

/* By the inline function, where that takes it. */
static ValueResult
run_short_bool(const char *s, size_t len, uint8_t *image)
{
	bool		v = false;
	bool		taken = value_short_bool(s, len, &v);

	image[0] = v;
	return taken ? VALUE_OK : VALUE_ASK;
}

static ValueResult
run_money(const char *s, size_t len, uint8_t *image)
{
	int64_t		v = 0;
	ValueResult result = value_money(s, len, &v);

	memcpy(image, &v, sizeof(v));
	return result;
}

static ValueResult
run_date(const char *s, size_t len, uint8_t *image)
{
	int32_t		v = 0;
	ValueResult result = value_date(s, len, &v);
	int64_t		wide = v;

	memcpy(image, &wide, sizeof(wide));
	return result;
}

static ValueResult
run_time(const char *s, size_t len, uint8_t *image)
{
	int64_t		v = 0;
	ValueResult result = value_time(s, len, &v);

	memcpy(image, &v, sizeof(v));
	return result;
}

static ValueResult
run_timestamp(const char *s, size_t len, uint8_t *image)
{
	ValueTime	v;
	ValueResult result = value_timestamp(s, len, &v);

	if (result == VALUE_OK)
		sprintf((char *) image,
				"%d %" PRId64 " = %d-%d-%d %d:%d:%d.%d zone %d %d", v.days,
				v.usec, v.year, v.month, v.day, v.hour, v.minute, v.second,
				v.fraction, (int) v.zone, v.offset);
	return result;
}

static ValueResult
run_uuid(const char *s, size_t len, uint8_t *image)
{
	return value_uuid(s, len, image);
}

static ValueResult
run_bits(const char *s, size_t len, uint8_t *image)
{
	return value_bits(s, len, image);
}

static ValueResult
run_bytea(const char *s, size_t len, uint8_t *image)
{
	size_t		outlen = 0;

	return value_bytea_hex(s, len, image, &outlen);
}

/* -- bool, uuid, bits, bytea ------------------------------------------------ */

/* The number that would be misread and its pattern, as "00 for DD", or "none". */
static const char *
mismatch(const char *template, const char *text)
{
	static char said[100];
	ValueMismatch	found;

	if (!value_template_mismatch(template, text, &found))
		return "none";
	snprintf(said, sizeof(said), "%.*s for %s", (int) found.length,
			 found.number, found.pattern);
	return said;
}

START_TEST(template_mismatches)
{
	ck_assert_str_eq(mismatch("DD/MM/YYYY", "31/12/2024"), "none");
	ck_assert_str_eq(mismatch("DD/MM/YYYY", "1/2/2024"), "none");
	ck_assert_str_eq(mismatch("DD/MM/YYYY", "00/12/2024"), "00 for DD");
	ck_assert_str_eq(mismatch("DD/MM/YYYY", "1/0/2024"), "0 for MM");
	ck_assert_str_eq(mismatch("DD/MM/YYYY", "31/12/24"), "24 for YYYY");
	ck_assert_str_eq(mismatch("DD/MM/YY", "31/12/24"), "none");
	ck_assert_str_eq(mismatch("DD/MM/YY", "31/12/00"), "none");
	ck_assert_str_eq(mismatch("yyyy-mm-dd", "0000-00-00"), "0000 for YYYY");
	ck_assert_str_eq(mismatch("yyyy-mm-dd hh24:mi:ss", "2024-01-01 00:00:00"), "none");
	ck_assert_str_eq(mismatch("HH24:MI:SS.US DD.MM.YYYY", "00:00:00.0 01.00.2024"), "00 for MM");
	ck_assert_str_eq(mismatch("HH12:MI AM DD", "12:00 pm 00"), "00 for DD");
	ck_assert_str_eq(mismatch("HH12:MI A.M. DD", "12:00 p.m. 00"), "00 for DD");
	ck_assert_str_eq(mismatch("YYYYMMDD", "20240100"), "00 for DD");
	ck_assert_str_eq(mismatch("YYYYMMDD", "20240110"), "none");
	ck_assert_str_eq(mismatch("DDMMYY", "000124"), "00 for DD");
	ck_assert_str_eq(mismatch("Dy, DD Mon YYYY", "Sun, 00 Dec 2024"), "00 for DD");
	ck_assert_str_eq(mismatch("DD Month YYYY", "1 M\303\244rz 24"), "24 for YYYY");
	ck_assert_str_eq(mismatch("YYYY-MM-DD\"T\"HH24", "2024-01-00T10"), "00 for DD");
	ck_assert_str_eq(mismatch("\"a\\\"b\"DD", "a\"b00"), "00 for DD");
	ck_assert_str_eq(mismatch("DD  /MM", " 5  / 00"), "00 for MM");
	/* prefixes and endings */
	ck_assert_str_eq(mismatch("FMDD/FMMM/YYYY", "00/12/2024"), "00 for DD");
	ck_assert_str_eq(mismatch("FMDD/FMMM/FMYYYY", "31/12/24"), "24 for YYYY");
	ck_assert_str_eq(mismatch("FMDD/FMMM/YYYY", "1/2/2024"), "none");
	ck_assert_str_eq(mismatch("FXDD TMMonth YYYY", "01 May 0024"), "none");
	ck_assert_str_eq(mismatch("FXDD TMMonth YYYY", "01 May 024"), "024 for YYYY");
	ck_assert_str_eq(mismatch("DDth Mon YYYY", "3rd Dec 24"), "24 for YYYY");
	ck_assert_str_eq(mismatch("DDTH Mon YYYY", "31st Dec 2024"), "none");
	/* digits that are missing where nothing separates numbers */
	ck_assert_str_eq(mismatch("HH24MISS", "123000"), "none");
	ck_assert_str_eq(mismatch("HH24MISS", "12300"), "0 for SS");
	ck_assert_str_eq(mismatch("YYYYMMDD", "2024111"), "1 for DD");
	ck_assert_str_eq(mismatch("DDMMYY", "10124"), "4 for YY");
	ck_assert_str_eq(mismatch("HH24MISSMS", "1230005"), "none");
	ck_assert_str_eq(mismatch("HH24MI SS", "1230 5"), "none");
	/* signs */
	ck_assert_str_eq(mismatch("DD/MM/YYYY", "31/12/+24"), "+24 for YYYY");
	ck_assert_str_eq(mismatch("DD/MM/YYYY", "31/12/-24"), "-24 for YYYY");
	ck_assert_str_eq(mismatch("DD/MM/YYYY", "+0/12/2024"), "+0 for DD");
	ck_assert_str_eq(mismatch("DD/MM/YYYY", "+1/12/24"), "24 for YYYY");
	ck_assert_str_eq(mismatch("YYYY-MM-DD", "-0044-03-15"), "none");
	ck_assert_str_eq(mismatch("YYYYMMDD", "-0440315"), "-044 for YYYY");
	ck_assert_str_eq(mismatch("HH24MI", "12+3"), "+3 for MI");
	/* patterns that are no days, months and years */
	ck_assert_str_eq(mismatch("HH24:MI:SSTZH DD", "10:00:00+2 00"), "00 for DD");
	ck_assert_str_eq(mismatch("TZH:TZM DD", "-00:30 00"), "00 for DD");
	ck_assert_str_eq(mismatch("SSSS DD", "0 00"), "00 for DD");
	ck_assert_str_eq(mismatch("D DD", "0 00"), "00 for DD");
	ck_assert_str_eq(mismatch("IYYY-IW-ID", "24-05-1"), "24 for IYYY");
	ck_assert_str_eq(mismatch("IYYY-IW-ID", "2024-05-1"), "none");
	ck_assert_str_eq(mismatch("IYYYIDDD", "2024000"), "000 for IDDD");
	ck_assert_str_eq(mismatch("Q WW W CC YYYY", "1 05 1 21 24"), "24 for YYYY");
	ck_assert_str_eq(mismatch("DD RM YYYY", "1 xii 24"), "24 for YYYY");
	ck_assert_str_eq(mismatch("AD YYYY", "BC 24"), "24 for YYYY");
	ck_assert_str_eq(mismatch("B.C. YYYY", "a.d. 24"), "24 for YYYY");
	/* what is not known ends the search */
	ck_assert_str_eq(mismatch("TZ DD", "UTC 00"), "none");
	ck_assert_str_eq(mismatch("J DD", "1 00"), "none");
	ck_assert_str_eq(mismatch("Y,YYY DD", "2,024 00"), "none");
	ck_assert_str_eq(mismatch("DD", ""), "none");
	ck_assert_str_eq(mismatch("", "00"), "none");
	ck_assert_str_eq(mismatch("\"open", "open"), "none");
}
END_TEST

START_TEST(bools)
{
	static const char *const yes[] = {
		"t", "T", "tr", "tRu", "true", "y", "Ye", "yes", "on", "ON", "1",
		" true ", "\t1\n", NULL
	};
	static const char *const no[] = {
		"f", "F", "fa", "fals", "FALSE", "n", "N", "no", "of", "OFF", "0",
		" f", NULL
	};
	static const char *const syntax[] = {
		"", " ", "o", "O", "10", "truee", "t f", "yesno", "2", "-1", NULL
	};

	for (int i = 0; yes[i]; i++)
	{
		expect(run_bool, yes[i], VALUE_OK);
		ck_assert_int_eq(image[0], 1);
	}
	for (int i = 0; no[i]; i++)
	{
		expect(run_bool, no[i], VALUE_OK);
		ck_assert_int_eq(image[0], 0);
	}
	expect_all(run_bool, syntax, VALUE_BAD_SYNTAX);
	expect(run_bool, "t\xc2\xa0", VALUE_ASK);
	ck_assert_int_eq(convert(run_bool, "t\0", 2, image), VALUE_ASK);
}
END_TEST

START_TEST(short_bools)
{
	for (int c = 0; c < 256; c++)
	{
		char		text[2] = {(char) c, 't'};
		ValueResult result = c != 0 && strchr("tTyY1fFnN0", c) ? VALUE_OK : VALUE_ASK;

		ck_assert_int_eq(convert(run_short_bool, text, 1, image), result);
		if (result == VALUE_OK)
			ck_assert_int_eq(image[0], strchr("tTyY1", c) != NULL);
		ck_assert_int_eq(convert(run_short_bool, text, 2, image), VALUE_ASK);
	}
	expect(run_short_bool, "", VALUE_ASK);
}
END_TEST

START_TEST(amounts)
{
	static const char *const ask[] = {
		"", "-", "$", "-$", "$-1", "--1", "+1", "(1)", " 1", "1 ", "1-", "1.", ".5", "-.5", "1.234", "1.2.3", "1..2", ",1", "1,", "1,,2", "1,.5", "1.,5", "1.2,",
		"1.5,0", "1e5", "$$1", "1$", "1x", "x", "1234567890123456", "99999999999999999999", "\xc2\xa3""1", NULL
	};

	expect_int(run_money, "0", 0);
	expect_int(run_money, "-0", 0);
	expect_int(run_money, "7", 700);
	expect_int(run_money, "-7.5", -750);
	expect_int(run_money, "0.05", 5);
	expect_int(run_money, "-$1,234.56", -123456);
	expect_int(run_money, "$12,34,5", 1234500);
	expect_int(run_money, "999,999,999,999,999.99", INT64_C(99999999999999999));
	expect_int(run_money, "-999999999999999.99", -INT64_C(99999999999999999));
	expect_int(run_money, "000000000000001", 100);
	expect_all(run_money, ask, VALUE_ASK);
	ck_assert_int_eq(convert(run_money, "1\0", 2, image), VALUE_ASK);
}
END_TEST

/* a UUID, and what becomes of it where any byte is any other */
static void
expect_uuid(const char *text)
{
	static const uint8_t want[16] = {
		0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
		0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10
	};
	size_t		len = strlen(text);

	expect(run_uuid, text, VALUE_OK);
	ck_assert_mem_eq(image, want, 16);
	for (size_t at = 0; at < len; at++)
	{
		for (int c = 0; c < 256; c++)
		{
			char		changed[37];
			bool		hex = c != 0 && strchr("0123456789abcdefABCDEF", c);
			bool		known = hex || strchr("-{}", c) || c > 0x7f;
			bool		hyphen = text[at] == '-';

			memcpy(changed, text, len + 1);
			changed[at] = (char) c;
			ck_assert_int_eq(convert(run_uuid, changed, len, image),
							 (hyphen ? c == '-' : hex) ? VALUE_OK :
							 known ? VALUE_ASK : VALUE_BAD_SYNTAX);
		}
	}
}

START_TEST(uuids)
{
	expect_uuid("01234567-89aB-cdef-FEDC-ba9876543210");
	expect_uuid("0123456789aBcdefFEDCba9876543210");
	expect(run_uuid, "", VALUE_BAD_SYNTAX);
	expect(run_uuid, "null", VALUE_BAD_SYNTAX);
	expect(run_uuid, "{01234567-89ab-cdef-fedc-ba9876543210}", VALUE_ASK);
	expect(run_uuid, "01234567-89ab-cdeffedc-ba9876543210", VALUE_ASK);
}
END_TEST

START_TEST(bits_of_each_length)
{
	for (size_t len = 0; len < 100; len++)
	{
		char		text[100];
		uint8_t		want[16] = {0};

		for (size_t i = 0; i < len; i++)
		{
			bool		bit = next_random() % 2;

			text[i] = bit ? '1' : '0';
			want[i / 8] |= (uint8_t) (bit << (7 - i % 8));
		}
		ck_assert_int_eq(convert(run_bits, text, len, image), VALUE_OK);
		ck_assert_mem_eq(image, want, sizeof(want));
		if (len > 0)
		{
			text[next_random() % len] = "2/bBxX \x81"[next_random() % 8];
			ck_assert_int_eq(convert(run_bits, text, len, image), VALUE_ASK);
		}
	}
}
END_TEST

START_TEST(bytea_of_each_length)
{
	for (size_t n = 0; n < 50; n++)
	{
		char		text[128] = "\\x";
		uint8_t		want[64] = {0};
		uint8_t		got[64] = {0};
		size_t		outlen = 0;
		Padded		p;

		for (size_t i = 0; i < n; i++)
		{
			want[i] = (uint8_t) next_random();
			sprintf(text + 2 + 2 * i, i % 2 ? "%02x" : "%02X", want[i]);
		}
		p = pad(text, 2 + 2 * n, 'f');
		ck_assert_int_eq(value_bytea_hex(p.s, p.len, got, &outlen), VALUE_OK);
		ck_assert_uint_eq(outlen, n);
		ck_assert_mem_eq(got, want, sizeof(want));
		free(p.block);
		expect(run_bytea, text, VALUE_OK);
		if (n > 0)
		{
			text[2 + next_random() % (2 * n)] = "g/:@G` \x80"[next_random() % 8];
			ck_assert_int_eq(convert(run_bytea, text, 2 + 2 * n, image), VALUE_ASK);
		}
	}
	expect(run_bytea, "", VALUE_ASK);
	expect(run_bytea, "abc", VALUE_ASK);
	expect(run_bytea, "\\x1", VALUE_ASK);
	expect(run_bytea, "\\X12", VALUE_ASK);
}
END_TEST

/* -- dates and times -------------------------------------------------------- */

static void
expect_date(int year, int month, int day, ValueResult result, int32_t days)
{
	char		text[64];
	int32_t		got = days;
	ValueResult answer;

	sprintf(text, "%04d-%02d-%02d", year, month, day);
	answer = value_date(text, 10, &got);
	ck_assert_msg(answer == result && got == days, "%s: %d, %d", text,
				  (int) answer, got);
}

/* Where months begin and end, in every year. */
START_TEST(every_month)
{
	static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int32_t		days = -730119; /* 0001-01-01 */

	for (int year = 1; year <= 9999; year++)
	{
		bool		leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

		for (int month = 1; month <= 12; month++)
		{
			int			last = month_days[month - 1] + (leap && month == 2);

			expect_date(year, month, 0, VALUE_BAD_RANGE, 0);
			expect_date(year, month, 1, VALUE_OK, days);
			expect_date(year, month, last, VALUE_OK, days + last - 1);
			expect_date(year, month, last + 1, VALUE_BAD_RANGE, 0);
			days += last;
		}
	}
	for (int day = 1; day <= 31; day++)
		expect_date(2000, 1, day, VALUE_OK, day - 1);
	expect_int(run_date, "1970-01-01", -10957);
}
END_TEST

START_TEST(dates_refused)
{
	static const char *const ask[] = {
		"infinity", "2020-1-1", "20200101", "2020/01/01", "2020-01-01 ",
		" 2020-01-0", "12020-01-01", "2020-01-0x", "x020-01-01", "01-01-2020",
		"2020-01-01 BC", "\xb2\xb0\xb2\xb0-01-01", NULL
	};
	static const char *const range[] = {
		"2020-13-01", "2020-00-01", "2020-01-00", "2020-01-32", "2021-02-29",
		"1900-02-29", "0000-01-01", "2020-99-99", NULL
	};

	expect_all(run_date, ask, VALUE_ASK);
	expect_all(run_timestamp, range, VALUE_BAD_RANGE);
	expect_all(run_date, range, VALUE_BAD_RANGE);
	expect(run_date, "", VALUE_BAD_SYNTAX);
	expect(run_timestamp, "", VALUE_BAD_SYNTAX);
	expect(run_time, "", VALUE_BAD_SYNTAX);
}
END_TEST

START_TEST(timestamps)
{
	expect_text(run_timestamp, "2000-01-02",
				"1 0 = 2000-1-2 0:0:0.0 zone 0 0");
	expect_text(run_timestamp, "2000-01-02 03:04",
				"1 11040000000 = 2000-1-2 3:4:0.0 zone 0 0");
	expect_text(run_timestamp, "1999-12-31T23:59:59.999999",
				"-1 86399999999 = 1999-12-31 23:59:59.999999 zone 0 0");
	expect_text(run_timestamp, "2000-01-01 00:00:00.5",
				"0 500000 = 2000-1-1 0:0:0.500000 zone 0 0");
	expect_text(run_timestamp, "2000-01-01 00:00:00.000012Z",
				"0 12 = 2000-1-1 0:0:0.12 zone 2 0");
	expect_text(run_timestamp, "2000-01-01 00:00:01+02",
				"0 1000000 = 2000-1-1 0:0:1.0 zone 1 7200");
	expect_text(run_timestamp, "2000-01-01 00:00-0330",
				"0 0 = 2000-1-1 0:0:0.0 zone 1 -12600");
	expect_text(run_timestamp, "2000-01-01 00:00:00.1 +15:59:59",
				"0 100000 = 2000-1-1 0:0:0.100000 zone 1 57599");
	expect_text(run_timestamp, "2000-01-01 00:00:00-00",
				"0 0 = 2000-1-1 0:0:0.0 zone 1 0");
}
END_TEST

START_TEST(timestamps_refused)
{
	static const char *const ask[] = {
		"2000-01-01 ", "2000-01-01T", "2000-01-01 1", "2000-01-01 1:2",
		"2000-01-01 24:00:00", "2000-01-01 23:60", "2000-01-01 23:59:60",
		"2000-01-01 00:00:", "2000-01-01 00:00:0", "2000-01-01 00:00:00.",
		"2000-01-01 00:00:00.1234567", "2000-01-01 00:00:00.12345678",
		"2000-01-01 00:00:00.+02", "2000-01-01  00:00:00",
		"2000-01-01 00:00:00+", "2000-01-01 00:00:00+1",
		"2000-01-01 00:00:00+16", "2000-01-01 00:00:00+01:60",
		"2000-01-01 00:00:00+01:0", "2000-01-01 00:00:00+01:00:60",
		"2000-01-01 00:00:00 ", "2000-01-01 00:00:00  Z",
		"2000-01-01 00:00:00 UTC", "2000-01-01 00:00:00ZZ",
		"2000-01-01+02", "2000-01-01Z", "2000-01-01_00:00",
		"2020-13-01 24:00", "infinity", "now", "2000-01-01 00:00.5",
		"2000-01-01 00:00:00\xb2", NULL
	};

	expect_all(run_timestamp, ask, VALUE_ASK);
	expect(run_timestamp, "2020-02-30 10:00:00+02", VALUE_BAD_RANGE);
}
END_TEST

START_TEST(times)
{
	static const char *const ask[] = {
		"1:2", "24:00:00", "23:60:00", "23:59:60", "10:00:00Z", "10:00:00 ",
		"040506", "10:00:0", "10:00:", "10:00.5", "10:00:00.", "noon", "9",
		"10:00:00.1234567", "10 00 00", NULL
	};

	for (int second = 0; second < 86400; second += second % 3600 < 120 ? 1 : 7)
	{
		char		text[BEFORE + 32 + AFTER];
		int64_t		got = 0;
		int			usec = (int) (next_random() % 1000000);
		int			n = sprintf(text, "%02d:%02d:%02d.%06d", second / 3600,
								second / 60 % 60, second % 60, usec);

		ck_assert_int_eq(value_time(text, n, &got), VALUE_OK);
		ck_assert_int_eq(got, second * INT64_C(1000000) + usec);
	}
	expect_int(run_time, "00:00", 0);
	expect_int(run_time, "23:59:59.9", INT64_C(86399900000));
	expect_all(run_time, ask, VALUE_ASK);
}
END_TEST

/* -- UTF-8 ------------------------------------------------------------------ */

START_TEST(utf8_lengths)
{
	static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	static char text[4 * 5000];

	ck_assert_uint_eq(value_utf8_length("", 0), 0);
	for (int i = 0; i < 300; i++)
	{
		size_t		n = next_random() % (i % 10 ? 50 : 5000);
		size_t		kinds = 1 + next_random() % 4;
		size_t		len = 0;
		Padded		p;

		for (size_t c = 0; c < n; c++)
		{
			/* now and then only the longest, so that counters fill up */
			const char *ch = characters[i % 20 ? next_random() % kinds : 3];

			memcpy(text + len, ch, strlen(ch));
			len += strlen(ch);
		}
		p = pad(text, len, '\x80');
		ck_assert_uint_eq(value_utf8_length(p.s, p.len), n);
		free(p.block);
	}
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("values");
	TCase	   *tests = tcase_create("values");

	tcase_add_test(tests, bools);
	tcase_add_test(tests, short_bools);
	tcase_add_test(tests, amounts);
	tcase_add_test(tests, uuids);
	tcase_add_test(tests, bits_of_each_length);
	tcase_add_test(tests, bytea_of_each_length);
	tcase_add_test(tests, every_month);
	tcase_add_test(tests, dates_refused);
	tcase_add_test(tests, timestamps);
	tcase_add_test(tests, timestamps_refused);
	tcase_add_test(tests, times);
	tcase_add_test(tests, template_mismatches);
	tcase_add_test(tests, utf8_lengths);
	tcase_set_timeout(tests, 120);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
