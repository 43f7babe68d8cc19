/*
 * values_help.h
 *		What the unit tests of the converters share.
 *
 * Each converter is wrapped to write its value as bytes (an "image"), so that
 * one function can run any of them in different surroundings and compare.
 */
#ifndef VALUES_HELP_H
#define VALUES_HELP_H

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan/values.h"

/* What the contract promises to be readable around a text. */
#define BEFORE 8
#define AFTER 16

static size_t before = BEFORE;	/* some functions want more */

/* -- texts in buffers of exactly the promised size ------------------------ */

typedef struct Padded
{
	char	   *block;
	const char *s;
	size_t		len;
} Padded;

static inline Padded
pad(const char *s, size_t len, char around)
{
	Padded		p;

	p.block = malloc(before + len + AFTER);
	memset(p.block, around, before + len + AFTER);
	memcpy(p.block + before, s, len);
	p.s = p.block + before;
	p.len = len;
	return p;
}

static const char surroundings[] = {'0', '7', '9', '.', '-', ':', ' ', 'e', 'a', 'Z', '\0', '\x7f', '\x80', '\xff'};

static inline uint64_t
next_random(void)
{
	static uint64_t x = UINT64_C(88172645463325252);

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* -- converting and comparing ---------------------------------------------- */

typedef ValueResult (*Converter) (const char *s, size_t len, uint8_t *image);

/*
 * Converts s[0 .. len) within each of the surroundings, which must make no
 * difference; image gets the value.
 */
static inline ValueResult
convert(Converter run, const char *s, size_t len, uint8_t *image)
{
	static uint8_t other[2048];
	ValueResult first = VALUE_ASK;

	for (size_t i = 0; i < sizeof(surroundings); i++)
	{
		Padded		p = pad(s, len, surroundings[i]);
		ValueResult result;

		memset(other, 0, sizeof(other));
		result = run(p.s, p.len, other);
		free(p.block);
		if (i == 0)
		{
			first = result;
			memcpy(image, other, sizeof(other));
			continue;
		}
		ck_assert_msg(result == first, "\"%.*s\" before \\x%02x: %d, not %d",
					  (int) len, s, (unsigned char) surroundings[i],
					  (int) result, (int) first);
		if (result == VALUE_OK)
			ck_assert_mem_eq(image, other, sizeof(other));
	}
	return first;
}

static uint8_t image[2048];

static inline void
expect(Converter run, const char *text, ValueResult result)
{
	ValueResult got = convert(run, text, strlen(text), image);

	ck_assert_msg(got == result, "\"%s\": %d, not %d", text, (int) got,
				  (int) result);
}

static inline void
expect_int(Converter run, const char *text, int64_t value)
{
	int64_t		got;

	expect(run, text, VALUE_OK);
	memcpy(&got, image, sizeof(got));
	ck_assert_msg(got == value, "\"%s\": %" PRId64 ", not %" PRId64, text,
				  got, value);
}

static inline void
expect_text(Converter run, const char *text, const char *value)
{
	expect(run, text, VALUE_OK);
	ck_assert_msg(strcmp((char *) image, value) == 0, "\"%s\": %s, not %s",
				  text, (char *) image, value);
}

static inline void
expect_all(Converter run, const char *const *texts, ValueResult result)
{
	for (; *texts; texts++)
		expect(run, *texts, result);
}

/* Runs the one suite of a program; its exit status. */
static inline int
run_suite(Suite *suite)
{
	SRunner    *runner = srunner_create(suite);
	int			failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif							/* VALUES_HELP_H */
