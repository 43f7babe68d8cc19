/*
 * check_magic.c
 *		What files are that are no text, and that no text is taken for one of them.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan/magic.h"

#define BYTES(s) s, sizeof(s) - 1
#define COUNT(a) (int) (sizeof(a) / sizeof((a)[0]))

static const struct
{
	const char *bytes;
	size_t		length;
	const char *name;			/* NULL: nothing known */
}			files[] = {
	{BYTES("PK\3\4\24\0\0\0\10\0abcdefghijklmnop\7\0\0\0one.csv"), "zip"},
	{BYTES("\x28\xb5\x2f\xfd\4"), "zstd"},
	{BYTES("\xfd" "7zXZ\0\0"), "xz"},
	{BYTES("BZh91AY&SY\3\4"), "bzip2"},
	{BYTES("BZh91AY&SY,x\n"), NULL},
	{BYTES("PAR1\25\4\25"), "parquet"},
	{BYTES("PAR1,x\n1,2\n"), NULL},
	{BYTES("PAR1"), NULL},
	{BYTES("ORC\10\1"), "orc"},
	{BYTES("ORC,HOBBIT\n"), NULL},
	{BYTES("SQLite format 3\0\20"), "sqlite"},
	{BYTES("SQLite format 3\n"), NULL},
	{BYTES("PGDMP\1\16\0"), "pg_dump"},
	{BYTES("PGDMP,1\n"), NULL},
	{BYTES("PGCOPY\n\377\r\n\0\0\0"), "pgcopy"},
	{BYTES("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\1"), "pdf"},
	{BYTES("%PDF-1.7,x\n"), NULL},
	{BYTES("\x89PNG\r\n\x1a\n"), "png"},
	{BYTES("Obj\1\4"), "avro"},
	{BYTES("Obj,1\n"), NULL},
	{BYTES("7z\xbc\xaf\x27\x1c\0"), "7z"},
	{BYTES("7z,x\n"), NULL},
	{BYTES("id,name\n1,x\n"), NULL},
	{BYTES("\xef\xbb\xbfid\n"), NULL},
	{BYTES("\xff\xfei\0d\0"), NULL},
	{BYTES(""), NULL}
};

START_TEST(test_magic)
{
	const ScanMagic *magic = scan_magic(files[_i].bytes, files[_i].length);

	if (files[_i].name == NULL)
		ck_assert_msg(magic == NULL, "%d: %s", _i, magic ? magic->name : "");
	else
		ck_assert_msg(magic != NULL && strcmp(magic->name, files[_i].name) == 0, "%d: %s instead of %s", _i,
					  magic ? magic->name : "nothing", files[_i].name);
}
END_TEST

/* What is further in a file: tar's magic, the names of an archive's files. */
START_TEST(test_inside)
{
	char		data[600] = {0};
	const ScanMagic *magic;

	memcpy(data + 257, "ustar", 5);
	magic = scan_magic(data, sizeof(data));
	ck_assert(magic != NULL && strcmp(magic->name, "tar") == 0);
	ck_assert(scan_magic(data, 261) == NULL);
	memset(data, 'x', sizeof(data));
	memcpy(data + 257, "ustar", 5);
	ck_assert(scan_magic(data, sizeof(data)) == NULL);

	memset(data, 0, sizeof(data));
	memcpy(data, "PK\3\4", 4);
	memcpy(data + 30, "[Content_Types].xml", 19);
	ck_assert_str_eq(scan_magic(data, sizeof(data))->name, "xlsx");
	memcpy(data + 400, "word/document.xml", 17);
	ck_assert_str_eq(scan_magic(data, sizeof(data))->name, "zip");
	memcpy(data + 30, "mimetypeapplication/vnd.oasis.opendocument.spreadsheet", 54);
	ck_assert_str_eq(scan_magic(data, sizeof(data))->name, "ods");
	ck_assert_str_eq(scan_magic(data, 60)->name, "zip");
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("magic");
	TCase	   *tcase = tcase_create("magic");
	SRunner    *runner;
	int			failed;

	tcase_add_loop_test(tcase, test_magic, 0, COUNT(files));
	tcase_add_test(tcase, test_inside);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
