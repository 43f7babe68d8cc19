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

int
main(void)
{
	Suite	   *suite = suite_create("row_ends");
	TCase	   *tcase = tcase_create("row_ends");
	SRunner    *runner;
	int			failed;

	tcase_add_loop_test(tcase, test_ends, 0, COUNT(files));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
