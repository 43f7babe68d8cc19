/*
 * check_row_ends.c
 *		Where the last complete row of a growing file ends.
 */
#include <check.h>
#include <string.h>

#include "scan/row_ends.h"

#define COUNT(a) (int) (sizeof(a) / sizeof((a)[0]))

static const struct
{
	char		quote;
	char		escape;
	const char *bytes;
	int			end;
	int			end_lines;
}			files[] = {
	{'"', '"', "", 0, 0},
	{'"', '"', "1,a", 0, 0},
	{'"', '"', "1,a\n", 4, 1},
	{'"', '"', "1,a\n2,b", 4, 1},
	{'"', '"', "1,a\r\n2,b\r", 5, 1},
	{'"', '"', "1,\"a\nb\n", 0, 0},
	{'"', '"', "1,\"a\nb\"\n2", 8, 2},
	{'"', '"', "1,\"a\"\"\nb\"\n2", 10, 2},
	{'"', '"', "1,\"a\"\"\n", 0, 0},
	{'"', '\\', "1,\"a\\\"\n\"\n", 9, 2},
	{'"', '\\', "1,\"a\\\\\"\n2,\"", 8, 1},
	{'"', '\\', "1,a\\\n2,b\n", 9, 2},
	{'"', '\\', "1,\"a\\\n", 0, 0},
	{'\'', '\'', "1,\"a\n", 5, 1},
	{0, '\\', "1\ta\\\nb\n", 7, 2},
	{0, '\\', "1\ta\\\n", 0, 0},
	{0, '\\', "1\ta\\\\\n", 6, 1},
	{0, '\\', "1\t\"\n2\\", 4, 1}
};

/* All at once, or in two pieces, wherever they are cut. */
START_TEST(test_ends)
{
	const char *bytes = files[_i].bytes;
	size_t		length = strlen(bytes);

	for (size_t cut = 0; cut <= length; cut++)
	{
		RowEnds		ends = {.quote = files[_i].quote,.escape = files[_i].escape};

		row_ends_add(&ends, bytes, cut);
		row_ends_add(&ends, bytes + cut, length - cut);
		ck_assert_int_eq(ends.end, files[_i].end);
		ck_assert_int_eq(ends.end_lines, files[_i].end_lines);
		ck_assert_int_eq(ends.bytes, length);
	}
}
END_TEST

/* The first row end behind so many bytes, or so many rows, is the last that counts. */
START_TEST(test_stop)
{
	const char *bytes = files[_i].bytes;
	size_t		length = strlen(bytes);

	for (size_t stop = 1; stop <= length + 1; stop++)
	{
		RowEnds		by_bytes = {.quote = files[_i].quote,.escape = files[_i].escape,.stop_bytes = stop};
		RowEnds		by_rows = {.quote = files[_i].quote,.escape = files[_i].escape,.stop_rows = stop};
		int64_t		last = 0;
		int64_t		wanted_bytes = 0;
		int64_t		wanted_rows = 0;
		int64_t		rows = 0;

		/* each prefix says where its last row ends */
		for (size_t n = 1; n <= length; n++)
		{
			RowEnds		ends = {.quote = files[_i].quote,.escape = files[_i].escape};

			row_ends_add(&ends, bytes, n);
			if (ends.end == last)
				continue;
			if (wanted_bytes < (int64_t) stop)
				wanted_bytes = ends.end;
			if (rows < (int64_t) stop)
				wanted_rows = ends.end;
			last = ends.end;
			rows++;
			ck_assert_int_eq(ends.end_rows, rows);
		}
		row_ends_add(&by_bytes, bytes, length);
		row_ends_add(&by_rows, bytes, length);
		ck_assert_int_eq(by_bytes.end, wanted_bytes);
		ck_assert_int_eq(by_bytes.stopped, wanted_bytes >= (int64_t) stop);
		ck_assert_int_eq(by_rows.end, wanted_rows);
		ck_assert_int_eq(by_rows.stopped, rows >= (int64_t) stop);
	}
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("row_ends");
	TCase	   *tcase = tcase_create("row_ends");
	SRunner    *runner;
	int			failed;

	tcase_add_loop_test(tcase, test_ends, 0, COUNT(files));
	tcase_add_loop_test(tcase, test_stop, 0, COUNT(files));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
