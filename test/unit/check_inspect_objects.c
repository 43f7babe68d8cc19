/*
 * check_inspect_objects.c
 *		objects.h and object_columns.h on texts whose verdict is known.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/column_types.h"
#include "inspect/object_columns.h"

static SheetSpace space;
static Objects objects;

/* A copy with padding that must be readable after it. */
static SheetSpan
make_span(const char *text, bool to_end)
{
	uint32_t	length = (uint32_t) strlen(text);
	char	   *data = calloc(1, length + SCAN_PADDING);

	memcpy(data, text, length);
	return (SheetSpan) {.data = data, .length = length, .to_end = to_end, .begins = true};
}

#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

/* ---- whether a file is made of objects, and their keys ---- */

static const struct
{
	const char *text;
	bool		detected;
	const char *keys;			/* with a blank after each */
	ScanEol		eol;
	bool		cut;			/* the span does not go to the end of the file */
}			files[] = {
	{"{\"a\": 1}\n{\"b\": {\"c\": 2}, \"a\": \"}\\\"{\"}\n", true, "a b ", SCAN_EOL_NL, false},
	{"[{\"b\":[{\"x\":1}],\"a\":1},\n{\"c\":\"]\"}]", true, "b a c ", SCAN_EOL_JSON_END, false},
	{"{\n\"a\": 1}\n{\"b\": 2}", true, "a b ", SCAN_EOL_JSON_SERIES, false},
	{"[{\"a\": 1},\n {\"b\"", true, "a ", SCAN_EOL_JSON_ARRAY, true},
	{"[{\"a\": 1},\n {\"b\"", true, "a ", SCAN_EOL_JSON_END, false},
	{"{\"\\u0061\": 1, \"a\": 2, \"\\u00e9\": 3}", true, "a \xc3\xa9 ", SCAN_EOL_NL, false},
	{"{\"a\": 1, \"\": 2, \"\\u0000\": 3}", true, "a ", SCAN_EOL_NL, false},
	{"{}\n{}", false, "", SCAN_EOL_NL, false},
	{"[]", false, "", SCAN_EOL_JSON_END, false},
	{"", false, "", SCAN_EOL_NL, false},
	{"{\"a\": ", false, "", SCAN_EOL_UNKNOWN, true},
	{"[1, 2, {\"a\": 3}]", false, "a ", SCAN_EOL_JSON_END, false},
	{"{\"a\": 1}\nx\n{\"a\": 2}\n", false, "a ", SCAN_EOL_NL, false},
	{"{1,2}\n{3,4}\n", false, "", SCAN_EOL_NL, false},
	{"a,b\n{\"a\": 1},x\n", false, "", SCAN_EOL_NL, false},
	{"[id],[name]\n1,x\n", false, "", SCAN_EOL_JSON_END, false},
};

START_TEST(test_detect)
{
	SheetSpan	span = make_span(files[_i].text, !files[_i].cut);
	char		keys[100] = "";

	objects_begin(&objects, &space, false);
	ck_assert_int_eq(objects_detect(&objects, &span), files[_i].detected);
	for (uint32_t i = 0; i < objects.scan.nkeys; i++)
		strcat(strncat(keys, objects.keys[i].name, objects.keys[i].length), " ");
	ck_assert_str_eq(keys, files[_i].keys);
	ck_assert_int_eq(objects.eol, files[_i].eol);
	free((char *) span.data);
}
END_TEST

START_TEST(test_keys)
{
	SheetSpan	span = make_span("{\"a\":1,\"A\":2,\"b\":3,\"a\":4}\r\n{\"b\":1}\r\n", true);

	objects_begin(&objects, &space, false);
	ck_assert(objects_detect(&objects, &span));
	ck_assert_int_eq(objects.newline, SCAN_EOL_CRNL);
	ck_assert_uint_eq(objects.repeating, 1);
	ck_assert_uint_eq(objects.fewest, 1);
	ck_assert_uint_eq(objects.alike[1], 1);
	ck_assert(!objects.unnamed);
	objects_drop_key(&objects, 1);
	ck_assert(objects.unnamed);
	ck_assert_str_eq(objects.unnamed_key, "A");
	ck_assert_uint_eq(objects.scan.nkeys, 2);
	ck_assert_uint_eq(objects.keys[1].name[0], 'b');
	ck_assert_uint_eq(objects.alike[0], objects.alike[1]);
	free((char *) span.data);
}
END_TEST

/* Names can be as long as an identifier, and there can be as many as a table has columns. */
START_TEST(test_limits)
{
	char	   *text = malloc(COLUMNS_MAX * 80);

	for (int more = 0; more < 2; more++)
	{
		SheetSpan	span;
		char	   *to = text + sprintf(text, "{\"%064d\":0", 0);

		for (int i = 0; i < COLUMNS_MAX + more; i++)
			to += sprintf(to, ",\"%063d\":1", i);
		strcpy(to, "}");
		span = make_span(text, true);
		objects_begin(&objects, &space, false);
		ck_assert_int_eq(objects_detect(&objects, &span), more == 0);
		ck_assert_uint_eq(objects.scan.nkeys, COLUMNS_MAX);
		ck_assert_int_eq(objects.too_many, more);
		ck_assert(objects.unnamed);
		free((char *) span.data);
	}
	free(text);
}
END_TEST

/* ---- pieces ---- */

static const struct
{
	const char *file;
	const char *piece;
	const char *rest;			/* of it; NULL: no object was found */
}			pieces[] = {
	{"{\"a\":1}\n{\"a\":2}\n", "\":1}]}\n{\"a\":3}\n", "{\"a\":3}\n"},
	{"{\"a\":1}\n{\"a\":2}\n", "{\"a\":3}", NULL},
	{"[{\"a\":[{\"x\":1}],\"b\":1},", "{\"x\":1}],\"b\":1},{\"a\":[{\"x\":2}],\"b\":2},", "{\"a\":[{\"x\":2}],\"b\":2},"},
	{"[{\"a\":[{\"x\":1}],\"b\":1},", "1}, {\"x\":\"}\"}, {\"x\":1}],\"b\":1}", NULL},
	{"[{\"a\":\"x\",\"b\":1},", "{[\",\"b\":1},{\"a\":\"{\",\"b\":1}]", "{\"a\":\"{\",\"b\":1}]"},
	{"[{\"a\":\"x\",\"b\":1},", "\\\"{\",\"b\":1},{\"a\":\"{\",\"b\":1}]", "{\"a\":\"{\",\"b\":1}]"},
	{"{\n \"a\": 1}\n", "\"a\": 1}\n{\n \"a\": {\"a\": 1}}\n{\n", "{\n \"a\": {\"a\": 1}}\n{\n"},
};

START_TEST(test_align)
{
	SheetSpan	file = make_span(pieces[_i].file, false);
	SheetSpan	piece = make_span(pieces[_i].piece, false);
	char	   *data = (char *) piece.data;
	bool		found;

	piece.begins = false;
	objects_begin(&objects, &space, false);
	ck_assert(objects_detect(&objects, &file));
	found = objects_align(&objects, &piece);
	ck_assert_int_eq(found, pieces[_i].rest != NULL);
	if (found)
		ck_assert_str_eq(piece.data, pieces[_i].rest);
	free((char *) file.data);
	free(data);
}
END_TEST

START_TEST(test_align_file)
{
	SheetSpan	span = make_span("\xef\xbb\xbf[{\"a\":1}]", true);
	char	   *data = (char *) span.data;

	ck_assert(objects_align(&objects, &span));
	ck_assert_str_eq(span.data, "[{\"a\":1}]");
	ck_assert_uint_eq(span.length, 9);
	free(data);
}
END_TEST

/* ---- columns ---- */

static const struct
{
	const char *text;
	const char *types;			/* with a blank after each */
	int			rows;
	int			faulty;
}			tables[] = {
	{"{\"a\":1,\"b\":2.5,\"c\":1e5,\"d\":true,\"e\":3000000000,\"f\":null}",
	"integer numeric double precision boolean bigint text ", 1, 0},
	{"{\"a\":\"1\",\"b\":\"true\",\"c\":\"2024-01-01\",\"d\":\"[1]\",\"e\":[1],\"f\":{}}",
	"text text date text jsonb jsonb ", 1, 0},
	{"{\"a\":1}\n{\"a\":\"2\"}", "integer ", 2, 0},
	{"{\"a\":1}\n{\"a\":\"x\"}", "text ", 2, 0},
	{"{\"a\":1}\n{\"a\":\"\"}", "text ", 2, 0},
	{"{\"a\":1}\n{\"a\":\" 2\"}", "text ", 2, 0},
	{"{\"a\":1}\n{\"a\":{}}", "jsonb ", 2, 0},
	{"{\"a\":1}\n{\"a\":true}", "text ", 2, 0},
	{"{\"a\":1.5}\n{\"a\":\"NaN\"}", "numeric ", 2, 0},
	{"{\"a\":\"10:\\u0033\\u0030\"}\n{}\n{\"a\":null}", "time ", 3, 0},
	{"{\"a\":\"x\",\"a\":1}", "integer ", 1, 0},
	{"{\"a\":1}\n{\"a\":\"\\ud83d\"}\n{\"a\":\"\\u0000\"}", "integer ", 1, 2},
	{"{\"a\":1}\n{\"a\":2\n{\"a\":\"x\"}", "text ", 2, 1},
	{"[{\"a\":1,\"b\":\"x},\n{\"a\":2,\"b\":3}]", "integer integer ", 1, 1},
};

static bool
count_row(void *arg, const char *data, const ScanRow *row, const ScanField *fields)
{
	Columns    *columns = arg;

	(void) row;
	for (uint32_t i = 0; i < columns->count; i++)
	{
		size_t		length;
		const char *s = columns->routine->text(columns, i, data, &fields[i], &length);

		if (s != NULL && columns->columns[i].type == SHAPE_JSONB)
			ck_assert(strchr("{[\"0123456789", *s) != NULL);
	}
	columns->header++;
	return true;
}

START_TEST(test_columns)
{
	static ColumnStats stats[COLUMNS_MAX];
	static char buffer[1000];
	SheetSpan	span = make_span(tables[_i].text, true);
	Columns		columns = {.spans = &span, .nspans = 1, .objects = &objects,
		.space = &space, .buffer = buffer, .columns = stats};
	char		types[200] = "";

	objects_begin(&objects, &space, false);
	objects_detect(&objects, &span);
	object_columns_find(&columns);
	columns_decide(&columns);
	for (uint32_t i = 0; i < columns.count; i++)
		strcat(strcat(types, shape_type_names[stats[i].type]), " ");
	ck_assert_str_eq(types, tables[_i].types);
	ck_assert_uint_eq(columns.rows, tables[_i].rows);
	ck_assert_uint_eq(columns.faulty, tables[_i].faulty);

	columns.routine->walk(&columns, count_row, &columns);
	ck_assert_int_eq(columns.header, tables[_i].rows);
	free((char *) span.data);
}
END_TEST

/* Escapes that an encoding other than UTF-8 may not have are no reason to call a row bad. */
START_TEST(test_ascii)
{
	static ColumnStats stats[COLUMNS_MAX];
	static char buffer[1000];
	SheetSpan	span = make_span("{\"a\":\"\\u00e9\",\"b\":\"\\u0041\",\"\\u00e9\":1}", true);
	Columns		columns = {.spans = &span, .nspans = 1, .objects = &objects,
		.space = &space, .buffer = buffer, .columns = stats};

	objects_begin(&objects, &space, true);
	ck_assert(objects_detect(&objects, &span));
	ck_assert_uint_eq(objects.scan.nkeys, 2);
	ck_assert(objects.unnamed);
	objects.scan.ignore_extra = true;
	object_columns_find(&columns);
	columns_decide(&columns);
	ck_assert_uint_eq(columns.rows, 1);
	ck_assert_int_eq(strncmp(stats[0].example, "\\u00e9", stats[0].example_length), 0);
	ck_assert_int_eq(strncmp(stats[1].example, "A", stats[1].example_length), 0);
	free((char *) span.data);
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("inspect_objects");
	TCase	   *tcase = tcase_create("inspect_objects");
	SRunner    *runner;
	int			failed;

	tcase_add_loop_test(tcase, test_detect, 0, COUNT(files));
	tcase_add_test(tcase, test_keys);
	tcase_add_test(tcase, test_limits);
	tcase_add_loop_test(tcase, test_align, 0, COUNT(pieces));
	tcase_add_test(tcase, test_align_file);
	tcase_add_loop_test(tcase, test_columns, 0, COUNT(tables));
	tcase_add_test(tcase, test_ascii);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
