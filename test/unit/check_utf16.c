/*
 * check_utf16.c
 *		UTF-16 to UTF-8: every character, in pieces of every size, and what is
 *		not valid.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"
#include "scan_reference.h"

/* Converts in pieces of so many bytes, with limited space. */
static size_t
convert(const char *s, size_t len, bool big, size_t piece, size_t room, char *to)
{
	char		in[64];
	size_t		have = 0;
	size_t		given = 0;
	size_t		done = 0;

	for (;;)
	{
		size_t		used = 0;
		size_t		n;
		size_t		more = len - given < piece ? len - given : piece;
		char		out[64];

		if (have + more > sizeof(in))
			more = sizeof(in) - have;
		memcpy(in + have, s + given, more);
		have += more;
		given += more;
		n = scan_utf16((unsigned char *) in, have, big, given == len, out, room, &used);
		REQUIRE(n <= room && used <= have);
		memcpy(to + done, out, n);
		done += n;
		memmove(in, in + used, have - used);
		have -= used;
		if (given == len && have == 0)
			return done;
		REQUIRE(used > 0 || more > 0);
	}
}

static void
check_text(const char *s, size_t len, bool big, const char *expected,
		   size_t expected_len)
{
	for (size_t piece = 1; piece <= len + 1; piece++)
		for (size_t room = 4; room < 12; room++)
		{
			char		to[200];
			size_t		n = convert(s, len, big, piece, room, to);

			ck_assert_uint_eq(n, expected_len);
			ck_assert_mem_eq(to, expected, n);
		}
}

#define CHECK(s, big, expected) check_text(s, sizeof(s) - 1, big, expected, sizeof(expected) - 1)

START_TEST(examples)
{
	CHECK("a\0,\0\n\0", false, "a,\n");
	CHECK("\0a\0,\0\n", true, "a,\n");
	CHECK("\xe9\0\xac\x20\x3d\xd8\x00\xde" "b\0", false, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" "b");
	CHECK("\0\xe9\x20\xac\xd8\x3d\xde\x00\0b", true, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" "b");
	CHECK("\0\0", false, "\0");
}
END_TEST

/* Bytes that no valid UTF-8 has, and all else stays. */
START_TEST(not_valid)
{
	CHECK("\x3d\xd8" "a\0", false, "\xed\xa0\xbd" "a");
	CHECK("\x00\xde" "a\0", false, "\xed\xb8\x80" "a");
	CHECK("\x3d\xd8\x3d\xd8\x00\xde", false, "\xed\xa0\xbd\xf0\x9f\x98\x80");
	CHECK("a\0\x3d\xd8", false, "a\xed\xa0\xbd");
	CHECK("a\0b", false, "a\xff");
	CHECK("\0a\xd8", true, "a\xff");
	CHECK("\x3d\xd8\x00", false, "\xed\xa0\xbd\xff");
}
END_TEST

START_TEST(every_character)
{
	for (uint32_t c = 0; c < 0x110000; c++)
	{
		unsigned char s[4];
		char		to[8];
		char		again[8];
		size_t		len = 2;
		size_t		n;
		size_t		used;
		uint32_t	back;
		unsigned char *u = (unsigned char *) to;

		if (c >= 0xd800 && c < 0xe000)
			continue;
		if (c < 0x10000)
		{
			s[0] = (unsigned char) (c >> 8);
			s[1] = (unsigned char) c;
		}
		else
		{
			uint32_t	high = 0xd800 + ((c - 0x10000) >> 10);
			uint32_t	low = 0xdc00 + ((c - 0x10000) & 0x3ff);

			s[0] = (unsigned char) (high >> 8);
			s[1] = (unsigned char) high;
			s[2] = (unsigned char) (low >> 8);
			s[3] = (unsigned char) low;
			len = 4;
		}
		n = scan_utf16(s, len, true, false, to, sizeof(to), &used);
		REQUIRE(used == len);
		back = n == 1 ? u[0] : n == 2 ? (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu) :
			n == 3 ? (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu) :
			(u[0] & 0x07u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu);
		REQUIRE(back == c);
		REQUIRE(n == (c < 0x80 ? 1u : c < 0x800 ? 2u : c < 0x10000 ? 3u : 4u));
		for (size_t i = 0; i < len; i += 2)
		{
			unsigned char first = s[i];

			s[i] = s[i + 1];
			s[i + 1] = first;
		}
		REQUIRE(scan_utf16(s, len, false, false, again, sizeof(again), &used) == n);
		REQUIRE(memcmp(to, again, n) == 0);
	}
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("utf16");
	TCase	   *tests = tcase_create("utf16");

	tcase_add_test(tests, examples);
	tcase_add_test(tests, not_valid);
	tcase_add_test(tests, every_character);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
