/*
 * check_pglz.c
 *		Unit tests of the compression of wide values.
 *
 * That the result is the server's, byte for byte, test/t/compression.pl asks a
 * server; here it is read back by the rules of the format, and no byte beyond
 * source or result is touched.
 */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "effort.h"
#include "write/pglz.h"

#define LONGEST 100000

static PglzHistory history;

static uint32_t
next_random(void)
{
	static uint64_t x = UINT64_C(88172645463325252);

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t) (x >> 16);
}

/* Decompresses a result; returns its length. */
static int32_t
read_back(const uint8_t *s, int32_t size, char *to)
{
	const uint8_t *end = s + size;
	int32_t		n = 0;

	while (s < end)
	{
		unsigned	control = *s++;

		for (int bit = 0; bit < 8 && s < end; bit++, control >>= 1)
		{
			int32_t		length;
			int32_t		offset;

			if (!(control & 1))
			{
				to[n++] = (char) *s++;
				continue;
			}
			ck_assert(end - s >= 2);
			length = (s[0] & 0x0f) + 3;
			offset = (s[0] & 0xf0) << 4 | s[1];
			s += 2;
			if (length == 18)
			{
				ck_assert(s < end);
				length += *s++;
			}
			ck_assert(offset > 0 && offset <= n);
			for (; length > 0; length--, n++)
				to[n] = to[n - offset];
		}
	}
	return n;
}

/* Compresses a text in memory of its exact size, and compares what is read back. */
static int32_t
compact(const char *text, int32_t length)
{
	char	   *source = malloc(length + 1);
	char	   *tight = source + 1; /* not aligned, and ends with its block */
	char	   *result = malloc(PGLZ_BOUND(length));
	char	   *back = malloc(length + 300);
	int32_t		size;

	memcpy(tight, text, length);
	size = pglz_compact(&history, tight, length, result);
	if (size >= 0)
	{
		ck_assert_int_le(size, length * 3 / 4);
		ck_assert_int_eq(read_back((uint8_t *) result, size, back), length);
		ck_assert_mem_eq(back, text, length);
	}
	free(source);
	free(result);
	free(back);
	return size;
}

static char text[LONGEST];

/* Text of which now and then a piece comes again; kinds differ in how. */
static void
make_text(int32_t length, uint32_t letters, uint32_t repeats, uint32_t longest)
{
	for (int32_t i = 0; i < length;)
	{
		if (i > 0 && next_random() % 100 < repeats)
		{
			int32_t		back = 1 + (int32_t) (next_random() % (i < 6000 ? i : 6000));

			for (uint32_t n = next_random() % longest; n > 0 && i < length; n--, i++)
				text[i] = text[i - back];
		}
		else
			text[i++] = (char) (next_random() % letters);
	}
}

START_TEST(there_and_back)
{
	static const uint32_t letters[] = {1, 2, 20, 256};
	static const uint32_t repeats[] = {0, 5, 50};
	static const uint32_t longest[] = {5, 30, 600};

	for (int round = 0; round < effort(400); round++)
		for (int kind = 0; kind < 36; kind++)
		{
			int32_t		length = (int32_t) (next_random() % (round % 20 == 0 ? LONGEST : 3000));

			make_text(length, letters[kind % 4], repeats[kind / 4 % 3], longest[kind / 12]);
			compact(text, length);
		}
}
END_TEST

START_TEST(results_by_hand)
{
	memset(text, 'a', sizeof(text));
	ck_assert_int_eq(compact(text, 31), -1);

	/* one letter, and a match of 31 from there on */
	ck_assert_int_eq(compact(text, 32), 5);

	/* control bytes for 8 items, of 273 bytes each at most, the first a letter */
	ck_assert_int_eq(compact(text, 1 + 273), 5);
	ck_assert_int_eq(compact(text, 1 + 273 * 7), 1 + 1 + 7 * 3);
	ck_assert_int_eq(compact(text, 1 + 273 * 8), 1 + 1 + 7 * 3 + 1 + 3);

	/* a match of 2 is too short: the rest is literal */
	ck_assert_int_eq(compact(text, 1 + 273 + 2), 1 + 1 + 3 + 2);
}
END_TEST

/* A result must save a quarter, and begin to save within a kilobyte. */
START_TEST(texts_that_do_not_pay)
{
	for (int i = 0; i < 40000; i++)
		text[i] = (char) next_random();
	ck_assert_int_eq(compact(text, 10000), -1);

	/* noise, then what compresses well */
	memset(text + 2000, 'a', 30000);
	ck_assert_int_eq(compact(text, 32000), -1);
	memset(text + 500, 'a', 31500);
	ck_assert_int_gt(compact(text, 32000), 500);

	/* what is too far back is no match: pieces of noise, again after 4 kB */
	for (int i = 0; i < 20000; i++)
		text[i] = i < 4100 ? (char) next_random() : text[i - 4100];
	text[0] = text[1] = text[2] = text[3] = 'a';
	ck_assert_int_eq(compact(text, 20000), -1);
	for (int i = 0; i < 20000; i++)
		text[i] = i < 900 ? (char) next_random() : text[i - 900];
	ck_assert_int_gt(compact(text, 20000), 0);
}
END_TEST

/* What one value leaves in the history must not be seen by the next. */
START_TEST(values_apart)
{
	char		first[3000];
	int32_t		size;

	make_text(3000, 20, 20, 30);
	memcpy(first, text, 3000);
	memset(&history, 0, sizeof(history));
	size = compact(first, 3000);
	for (int round = 0; round < 50; round++)
	{
		make_text(2500, 20, 20, 30);
		compact(text, 2500);
		ck_assert_int_eq(compact(first, 3000), size);
	}

	/* positions come to their end */
	history.base = UINT32_MAX - 1000;
	ck_assert_int_eq(compact(first, 3000), size);
	ck_assert_int_eq(compact(first, 3000), size);
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("pglz");
	TCase	   *tests = tcase_create("pglz");
	SRunner    *runner = srunner_create(suite);
	int			failed;

	tcase_add_test(tests, there_and_back);
	tcase_add_test(tests, results_by_hand);
	tcase_add_test(tests, texts_that_do_not_pay);
	tcase_add_test(tests, values_apart);
	tcase_set_timeout(tests, 120);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
