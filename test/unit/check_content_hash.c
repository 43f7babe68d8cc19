/*
 * check_content_hash.c
 *		The hash of files: it never changes, and tells files apart.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "scan/content_hash.h"
#include "scan/scan.h"

#define COUNT(a) (int) (sizeof(a) / sizeof((a)[0]))
#define SIZE (3 * CONTENT_HASH_BLOCK + 77)

static unsigned char data[SIZE];

static void
fill(void)
{
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (unsigned char) ((uint32_t) i * 2654435761u >> 13);
}

static ContentKey
key_of(const void *bytes, size_t length)
{
	ContentHash hash;

	content_hash_begin(&hash);
	content_hash_add(&hash, bytes, length);
	return content_hash_key(&hash);
}

static int
same(ContentKey a, ContentKey b)
{
	return a.high == b.high && a.low == b.low;
}

/* What is in tables of users must be found again. */
static const struct
{
	size_t		length;
	ContentKey	key;
}			known[] = {
	{0, {UINT64_C(0x6ada524a05eb349f), UINT64_C(0xeb849c8f0bcbffe1)}},
	{1023, {UINT64_C(0x07189778a4fff631), UINT64_C(0xa0a2dd41b815ae04)}},
	{1024, {UINT64_C(0x793492d454d6e46a), UINT64_C(0xabce6cba8636ad11)}},
	{1025, {UINT64_C(0xa0520f46de60c439), UINT64_C(0x90ae307a5014bba2)}}
};

START_TEST(test_known)
{
	fill();
	for (const ScanKernel *const *kernel = scan_kernels; *kernel; kernel++)
	{
		ContentKey	key;

		if (!(*kernel)->supported())
			continue;
		scan_kernel_set(*kernel);
		key = key_of(data, known[_i].length);
		ck_assert_uint_eq(key.high, known[_i].key.high);
		ck_assert_uint_eq(key.low, known[_i].key.low);
		key = key_of("abc", 3);
		ck_assert_uint_eq(key.high, UINT64_C(0x481ba4b3f712a1e9));
		ck_assert_uint_eq(key.low, UINT64_C(0xe0f1d86d346a8e2b));
	}
	scan_kernel_set(NULL);
}
END_TEST

/* However the bytes come, and that of a part on the way is that of the part. */
START_TEST(test_pieces)
{
	srand(7);
	fill();
	for (int i = 0; i < 300; i++)
	{
		ContentHash hash;
		size_t		done = 0;

		content_hash_begin(&hash);
		while (done < SIZE)
		{
			size_t		n = (size_t) rand() % (i % 3 == 0 ? 9 : 1500);

			if (n > SIZE - done)
				n = SIZE - done;
			content_hash_add(&hash, data + done, n);
			done += n;
			if (i < 20)
				ck_assert(same(content_hash_key(&hash), key_of(data, done)));
		}
		ck_assert(same(content_hash_key(&hash), key_of(data, SIZE)));
	}
}
END_TEST

/* Every kernel has the same sums, also where they overflow. */
START_TEST(test_kernels)
{
	srand(11);
	for (int round = 0; round < 200; round++)
	{
		uint64_t	wanted[8];
		uint64_t	sums[8];
		const ScanKernel *const *kernel = scan_kernels;

		for (int i = 0; i < CONTENT_HASH_BLOCK; i++)
			data[i] = round % 2 == 0 ? 0xff - rand() % 2 : rand() % 256;
		while (kernel[1] != NULL)
			kernel++;
		(*kernel)->sum_block(data, wanted);
		for (kernel = scan_kernels; *kernel; kernel++)
			if ((*kernel)->supported())
			{
				(*kernel)->sum_block(data, sums);
				ck_assert_mem_eq(sums, wanted, sizeof(sums));
			}
	}
}
END_TEST

/* Pieces that overlap; what comes behind a gap does not count. */
START_TEST(test_follow)
{
	srand(13);
	fill();
	for (int i = 0; i < 300; i++)
	{
		ContentHash hash;
		size_t		known = 0;

		content_hash_begin(&hash);
		while (known < SIZE)
		{
			size_t		offset = (size_t) rand() % (known + 20);
			size_t		n = (size_t) rand() % 1500;

			if (offset > SIZE)
				offset = SIZE;
			if (n > SIZE - offset)
				n = SIZE - offset;
			content_hash_follow(&hash, offset, data + offset, n);
			if (offset <= known && offset + n > known)
				known = offset + n;
			ck_assert_uint_eq(hash.length, known);
		}
		ck_assert(same(content_hash_key(&hash), key_of(data, SIZE)));
	}
}
END_TEST

static int
compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(ContentKey));
}

/* No two of n keys are equal, nor is a half of them. */
static void
check_different(ContentKey *keys, int n)
{
	qsort(keys, n, sizeof(ContentKey), compare);
	for (int i = 1; i < n; i++)
		ck_assert(keys[i].high != keys[i - 1].high && keys[i].low != keys[i - 1].low);
}

/* Any one bit, of text and of zeroes; any two bits of a row of words. */
START_TEST(test_bits)
{
	static ContentKey keys[8 * SIZE + 64 * 64 + 1];
	int			n = 0;

	if (_i == 0)
		fill();
	else
		memset(data, 0, SIZE);
	keys[n++] = key_of(data, SIZE);
	for (int bit = 0; bit < 8 * SIZE; bit++)
	{
		data[bit / 8] ^= 1 << bit % 8;
		keys[n++] = key_of(data, SIZE);
		data[bit / 8] ^= 1 << bit % 8;
	}
	for (int first = 0; first < 64; first++)
		for (int second = 0; second < first; second++)
		{
			data[first] ^= 0x80;
			data[second + 64] ^= 1;
			keys[n++] = key_of(data, SIZE);
			data[first] ^= 0x80;
			data[second + 64] ^= 1;
		}
	check_different(keys, n);
}
END_TEST

/* Zeroes of any number; words, rows and blocks that have changed places. */
START_TEST(test_places)
{
	static ContentKey keys[4 * SIZE];
	static unsigned char moved[SIZE];
	int			n = 0;

	memset(data, 0, SIZE);
	for (int length = 0; length < SIZE; length++)
		keys[n++] = key_of(data, length);
	fill();
	for (int width = 4; width <= CONTENT_HASH_BLOCK; width *= 2)
		for (int at = 0; at + 2 * width <= SIZE; at += width)
		{
			memcpy(moved, data, SIZE);
			memcpy(moved + at, data + at + width, width);
			memcpy(moved + at + width, data + at, width);
			if (memcmp(moved, data, SIZE) != 0)
				keys[n++] = key_of(moved, SIZE);
		}
	check_different(keys, n);
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("content_hash");
	TCase	   *tcase = tcase_create("content_hash");
	SRunner    *runner;
	int			failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, test_known, 0, COUNT(known));
	tcase_add_test(tcase, test_pieces);
	tcase_add_test(tcase, test_kernels);
	tcase_add_test(tcase, test_follow);
	tcase_add_loop_test(tcase, test_bits, 0, 2);
	tcase_add_test(tcase, test_places);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
