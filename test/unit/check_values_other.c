/*
 * check_values_other.c
 *		Unit tests of the converters for intervals, addresses and coordinates.
 */
#include "values_help.h"

/* ---- intervals ---- */

static ValueResult
run_interval(const char *s, size_t len, uint8_t *out)
{
	ValueInterval v = {0};
	ValueResult result = value_interval(s, len, &v);

	if (result == VALUE_OK)
		sprintf((char *) out, "%d %d %" PRId64, v.months, v.days, v.usec);
	return result;
}

START_TEST(intervals)
{
	static const char *const ask[] = {
		"", " ", "1", "-", "1 ", "1 day ", " 1 day", "1 day  2 hours", "1  day", "1 s", "1 dayss", "1 fortnight", "1 Day",
		"1 day 2 days", "1 hour 02:03", "1 sec 2 mins 00:00", "02:03 1 day", "1 day ago", "1.5 days", "P1D", "@ 1 day",
		"-1 day 2 hours", "-1 year 00:00", "1:2", "1:02:3", "01:60", "01:02:60", "01:02:03.", "01:02:03.1234567", "01:02.5",
		"0123456789 days", "999999999 years", "999999999 weeks",
		"306783379 weeks -10 days", "-306783379 weeks +10 days", "400000000 weeks -900000000 days", "+-1 day", "1 day\t2 hours", "infinity", NULL
	};

	expect_text(run_interval, "1 day", "0 1 0");
	expect_text(run_interval, "1 year 2 mons -3 days +04:05:06.789", "14 -3 14706789000");
	expect_text(run_interval, "-1 years -2 mons +3 days -00:00:00.000001", "-14 3 -1");
	expect_text(run_interval, "-1 days", "0 -1 0");
	expect_text(run_interval, "-00:00:01", "0 0 -1000000");
	expect_text(run_interval, "100000:00", "0 0 360000000000000");
	expect_text(run_interval, "999999999:59:59.999999", "0 0 3599999999999999999");
	expect_text(run_interval, "2 hours 1 min 3 seconds 1 week", "0 7 7263000000");
	expect_text(run_interval, "306783378 weeks 1 day", "0 2147483647 0");
	expect_text(run_interval, "-306783378 weeks -2 days", "0 -2147483648 0");
	expect_text(run_interval, "1 month 1 minute 1 second", "1 0 61000000");
	expect_all(run_interval, ask, VALUE_ASK);
}
END_TEST

/* ---- addresses ---- */

/* inet; and whether it is a value of cidr */
static ValueResult
run_inet(const char *s, size_t len, uint8_t *out)
{
	ValueInet	v = {0};
	ValueResult result = value_inet(s, len, &v);
	char	   *p = (char *) out;

	if (result != VALUE_OK)
		return result;
	for (int i = 0; i < (v.is_ipv6 ? 16 : 4); i++)
		p += sprintf(p, "%02x", v.address[i]);
	sprintf(p, "/%d %s", v.bits, value_is_network(&v) ? "network" : "host");
	return result;
}

START_TEST(addresses)
{
	static const char *const ask[] = {
		"", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.04", "1.2.3.4/", "1.2.3.4/33", "1.2.3.4/08", "1.2.3.4 ", "1.2.3.4/8x",
		":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:", ":1:2:3:4:5:6:7", "1::2::3", "12345::", "::g",
		"::1.2.3.4", "::/129", "::/", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "fe80::1%eth0", NULL
	};

	expect_text(run_inet, "0.0.0.0", "00000000/32 network");
	expect_text(run_inet, "10.1.2.255/8", "0a0102ff/8 host");
	expect_text(run_inet, "10.128.0.0/9", "0a800000/9 network");
	expect_text(run_inet, "10.128.0.0/0", "0a800000/0 host");
	expect_text(run_inet, "0.0.0.0/0", "00000000/0 network");
	expect_text(run_inet, "::", "00000000000000000000000000000000/128 network");
	expect_text(run_inet, "::1/0", "00000000000000000000000000000001/0 host");
	expect_text(run_inet, "2001:DB8::/32", "20010db8000000000000000000000000/32 network");
	expect_text(run_inet, "1:2:3:4:5:6:7::", "00010002000300040005000600070000/128 network");
	expect_text(run_inet, "fe80::a:b", "fe8000000000000000000000000a000b/128 network");
	expect_text(run_inet, "1:2:3:4:5:6:7:ffff", "0001000200030004000500060007ffff/128 network");
	expect_all(run_inet, ask, VALUE_ASK);
}
END_TEST

static ValueResult
run_macaddr(const char *s, size_t len, uint8_t *out)
{
	return value_macaddr(s, len, 6, out);
}

START_TEST(hardware_addresses)
{
	static const uint8_t want[6] = {0x08, 0x00, 0x2b, 0xAf, 0xff, 0x03};
	static const char *const ask[] = {
		"", "08:00:2b:af:ff:0", "08:00:2b:af:ff:0g", "08:00:2b-af:ff:03", "08-00:2b:af:ff:03", "08002b:afff03", "0800.2baf.ff03",
		"08:00:2b:af:ff:03:", "08.00.2b.af.ff.03", "08 00 2b af ff 03", NULL
	};

	expect(run_macaddr, "08:00:2b:Af:fF:03", VALUE_OK);
	ck_assert_mem_eq(image, want, 6);
	expect(run_macaddr, "08-00-2B-AF-FF-03", VALUE_OK);
	ck_assert_mem_eq(image, want, 6);
	expect_all(run_macaddr, ask, VALUE_ASK);
}
END_TEST

/* ---- coordinates ---- */

static ValueResult
run_box(const char *s, size_t len, uint8_t *out)
{
	double		v[4] = {0};
	ValueResult result = value_coordinates(s, len, "(#,#),(#,#)", v);

	if (result == VALUE_OK)
		sprintf((char *) out, "%g %g %g %g", v[0], v[1], v[2], v[3]);
	return result;
}

START_TEST(coordinates)
{
	static const char *const ask[] = {
		"", "(", "(1,2)", "(1,2),(3,4", "(1,2),(3,4)x", "(1,2), (3,4)", "((1,2),(3,4))", "1,2,3,4", "(1,),(3,4)", "(1,2,3),(4,5)",
		"(a,2),(3,4)", "(1e999,2),(3,4)", NULL
	};

	expect_text(run_box, "(1,2.5),(-3e2,0)", "1 2.5 -300 0");
	expect_all(run_box, ask, VALUE_ASK);
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("values_other");
	TCase	   *tests = tcase_create("values_other");

	tcase_add_test(tests, intervals);
	tcase_add_test(tests, addresses);
	tcase_add_test(tests, hardware_addresses);
	tcase_add_test(tests, coordinates);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
