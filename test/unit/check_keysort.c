/*
 * check_keysort.c
 *		keysort.h against qsort and memcmp: order, stability, ties.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "index/keysort.h"
#include "scan_reference.h"

#define MAX_ITEMS 20000
#define MAX_LENGTH 40
#define STRING_ROOM (sizeof(SortString) + MAX_LENGTH + 8)

static SortItem items[MAX_ITEMS];
static SortItem spare[MAX_ITEMS];
static SortItem expected[MAX_ITEMS];
static _Alignas(8) char strings[MAX_ITEMS][STRING_ROOM];
static size_t tied;

static uint64_t
random_bits(void)
{
	static uint64_t state = 20261121;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static const size_t sizes[] = {0, 1, 2, 12, 13, 100, 511, 512, 5000, MAX_ITEMS};
#define NSIZES (int) (sizeof(sizes) / sizeof(sizes[0]))

/* Keys of every width, and few distinct ones. */
static const uint64_t masks[] = {0, 1, 0xff, 0xff00ff, 0xffffffff, ~UINT64_C(0),
	UINT64_C(0xff00000000000000), UINT64_C(0x8000000000000001)};
#define NMASKS (int) (sizeof(masks) / sizeof(masks[0]))

static int
compare_numbers(const void *a, const void *b)
{
	const SortItem *x = a;
	const SortItem *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

START_TEST(test_integers)
{
	size_t		n = sizes[_i / NMASKS];

	for (size_t i = 0; i < n; i++)
	{
		items[i].key = random_bits() & masks[_i % NMASKS];
		items[i].value = i;
	}
	memcpy(expected, items, sizeof(items));
	qsort(expected, n, sizeof(SortItem), compare_numbers);
	keysort_integers(items, spare, n, NULL);
	ck_assert_mem_eq(items, expected, n * sizeof(SortItem));
	/* again, sorted already, and in reverse */
	keysort_integers(items, spare, n, NULL);
	ck_assert_mem_eq(items, expected, n * sizeof(SortItem));
	for (size_t i = 0; i < n; i++)
		items[i] = expected[n - 1 - i];
	keysort_integers(items, spare, n, NULL);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(items[i].key, expected[i].key);
}
END_TEST

static int
compare_strings(const void *a, const void *b)
{
	const SortString *x = keysort_string(a);
	const SortString *y = keysort_string(b);
	uint32_t	shorter = x->length < y->length ? x->length : y->length;
	int			order = memcmp(x->bytes, y->bytes, shorter);

	if (order != 0)
		return order;
	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void
count_tie(SortItem *some, size_t n, void *arg)
{
	ck_assert_uint_gt(n, 1);
	ck_assert_ptr_eq(arg, &tied);
	for (size_t i = 1; i < n; i++)
	{
		const SortString *x = keysort_string(&some[i - 1]);
		const SortString *y = keysort_string(&some[i]);

		ck_assert_uint_eq(x->length, y->length);
		ck_assert_mem_eq(x->bytes, y->bytes, x->length);
		ck_assert_uint_lt(x->number, y->number);
	}
	tied += n - 1;
}

/* A string of few kinds of bytes, zero among them, often with a common beginning. */
static void
make_string(SortString *string, size_t number, int kind)
{
	uint32_t	common = kind % 3 * 11;
	int			bytes = kind % 2 == 0 ? 2 : 256;

	string->number = number;
	string->length = random_bits() % (MAX_LENGTH + 1);
	if (random_bits() % 4 == 0)
		string->length = 8 * (string->length / 8);
	for (uint32_t i = 0; i < string->length; i++)
		string->bytes[i] = i < common ? 'x' : random_bits() % bytes;
}

START_TEST(test_strings)
{
	size_t		n = sizes[_i / 6];
	size_t		ties = 0;
	SortHelp	help = {.tie = count_tie,.arg = &tied};

	for (size_t i = 0; i < n; i++)
	{
		make_string((SortString *) strings[i], i, _i % 6);
		items[i].value = (uintptr_t) strings[i];
	}
	memcpy(expected, items, sizeof(items));
	qsort(expected, n, sizeof(SortItem), compare_strings);
	tied = 0;
	keysort_strings(items, spare, n, 0, &help);
	for (size_t i = 0; i < n; i++)
	{
		ck_assert_uint_eq(items[i].value, expected[i].value);
		if (i > 0)
		{
			const SortString *x = keysort_string(&items[i - 1]);
			const SortString *y = keysort_string(&items[i]);

			ties += x->length == y->length && memcmp(x->bytes, y->bytes, x->length) == 0;
		}
	}
	ck_assert_uint_eq(tied, ties);
}
END_TEST

static int	polls;

static void
count_poll(void)
{
	polls++;
}

START_TEST(test_poll)
{
	polls = 0;
	for (size_t i = 0; i < MAX_ITEMS; i++)
		items[i].key = random_bits();
	keysort_integers(items, spare, MAX_ITEMS, count_poll);
	ck_assert_int_eq(polls, 8);
}
END_TEST

static Suite *
keysort_suite(void)
{
	Suite	   *suite = suite_create("keysort");
	TCase	   *cases = tcase_create("keysort");

	tcase_set_timeout(cases, 600);
	tcase_add_loop_test(cases, test_integers, 0, NSIZES * NMASKS);
	tcase_add_loop_test(cases, test_strings, 0, NSIZES * 6);
	tcase_add_test(cases, test_poll);
	suite_add_tcase(suite, cases);
	return suite;
}

int
main(void)
{
	return run_suite(keysort_suite());
}
