/*
 * check_json.c
 *		Unit tests of JSON text to nodes: by hand, and compared with a scanner
 *		that goes byte by byte, on documents that are made and spoiled at
 *		random.
 */
#include "json_made.h"
#include "json_reference.h"
#include "scan/scan.h"

static JsonNode nodes[JSON_MAX_NODES(MADE_MAX)];
static JsonNode expected[JSON_MAX_NODES(MADE_MAX)];

/* By every kernel, within each of the surroundings, which must make no difference. */
static uint32_t
scan(const char *s, size_t len)
{
	uint32_t	n = reference_json(s, (uint32_t) len, expected);

	for (const ScanKernel *const *kernel = scan_kernels; *kernel; kernel++)
	{
		static const char around[] = {'0', '"', '}', ']', ' ', 'e', '\\', '\0'};

		if (!(*kernel)->supported())
			continue;
		scan_kernel_set(*kernel);
		for (size_t i = 0; i < sizeof(around); i++)
		{
			Padded		p = pad(s, len, around[i]);
			JsonNode   *room = malloc(JSON_MAX_NODES(len) * sizeof(JsonNode));
			uint32_t	got = json_scan(p.s, (uint32_t) len, room);

			ck_assert_msg(got == n, "%s: \"%.*s\" before \\x%02x: %u nodes, not %u",
						  (*kernel)->name, (int) len, s, (unsigned char) around[i], got, n);
			ck_assert_msg(memcmp(room, expected, n * sizeof(JsonNode)) == 0,
						  "%s: nodes of \"%.*s\"", (*kernel)->name, (int) len, s);
			memcpy(nodes, room, n * sizeof(JsonNode));
			free(room);
			free(p.block);
		}
	}
	scan_kernel_set(NULL);
	return n;
}

static void
expect_nodes(const char *s, uint32_t n)
{
	ck_assert_msg(scan(s, strlen(s)) == n, "\"%s\": %u nodes", s, scan(s, strlen(s)));
}

START_TEST(kernels)
{
	for (const ScanKernel *const *kernel = scan_kernels; *kernel; kernel++)
	{
		char		bytes[256];
		ScanJsonMasks masks[4];

		if (!(*kernel)->supported())
			continue;
		for (int i = 0; i < 256; i++)
			bytes[i] = (char) i;
		(*kernel)->classify_json(bytes, 4, masks);
		for (int i = 0; i < 256; i++)
		{
			const ScanJsonMasks *m = &masks[i / 64];
			uint64_t	bit = UINT64_C(1) << i % 64;

			ck_assert_int_eq((m->quote & bit) != 0, i == '"');
			ck_assert_int_eq((m->backslash & bit) != 0, i == '\\');
			ck_assert_int_eq((m->punctuation & bit) != 0, i != 0 && strchr("{}[]:,", i) != NULL);
			ck_assert_int_eq((m->space & bit) != 0, i != 0 && strchr(" \t\n\r", i) != NULL);
			ck_assert_int_eq((m->control & bit) != 0, i < 0x20);
		}
	}
}
END_TEST

START_TEST(documents)
{
	expect_nodes("{\"a\": [1, \"x\"], \"b\": null}", 7);
	ck_assert_int_eq(nodes[0].kind, JSON_OBJECT);
	ck_assert_int_eq(nodes[0].count, 2);
	ck_assert_int_eq(nodes[0].next, 7);
	ck_assert_int_eq(nodes[0].length, 26);
	ck_assert_int_eq(nodes[1].kind, JSON_STRING);
	ck_assert_int_eq(nodes[1].start, 2);
	ck_assert_int_eq(nodes[1].length, 1);
	ck_assert_int_eq(nodes[2].kind, JSON_ARRAY);
	ck_assert_int_eq(nodes[2].count, 2);
	ck_assert_int_eq(nodes[2].next, 5);
	ck_assert_int_eq(nodes[2].start, 6);
	ck_assert_int_eq(nodes[2].length, 8);
	ck_assert_int_eq(nodes[3].kind, JSON_NUMBER);
	ck_assert_int_eq(nodes[6].kind, JSON_NULL);

	expect_nodes("1", 1);
	expect_nodes(" \t\r\n null \n", 1);
	expect_nodes("true", 1);
	expect_nodes("false", 1);
	expect_nodes("\"\"", 1);
	expect_nodes("{}", 1);
	expect_nodes("[]", 1);
	expect_nodes("[[],{},[[]]]", 5);
	expect_nodes("{\"\":{\"\":[]}}", 5);
	expect_nodes("{\"a\":1,\"a\":2}", 5);
	expect_nodes("[\"{}[]:,\", \"\\\"\", \"\\\\\"]", 4);
}
END_TEST

START_TEST(declined)
{
	static const char *const texts[] = {
		"", " ", "{", "}", "[", "]", "\"", "\"a", "\"\\", "\"\\\"", "\"\\u12", "\"\\u123", "[1", "[1,", "[1,]", "[,1]", "[1 2]",
		"{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "{1:2}", "{a:1}", "{\"a\":1 \"b\":2}", "{,}", "[1}", "{\"a\":1]", "1 2", "1,", "[]]", "[]{}",
		"nul", "nulll", "TRUE", "truefalse", "True", "tru e", "'a'", "\"a\"b", "1\"a\"", "\"a\"\"b\"", "[1]x", "\\", "\\\"a\"",
		"[[[", "[[[1", "{\"a\":[", "{\"a\":{\"b\":", "\"\\x\"", "\"\\u12g4\"", "\"\t\"", "\"\n\"", "\"a\x01\"", "\"\x7f", "\xef\xbb\xbf{}",
		"[\"a\":1]", "[:]", "{\"a\"::1}", "{\"a\",1}", "/* */ 1", "NaN", "Infinity", "-", "\v1", "\f1", NULL
	};

	for (const char *const *text = texts; *text; text++)
		expect_nodes(*text, 0);
	ck_assert_int_eq(scan("1\0", 2), 0);
	ck_assert_int_eq(scan("\"\0\"", 3), 0);
	ck_assert_int_eq(scan("\0", 1), 0);
}
END_TEST

START_TEST(numbers)
{
	static const char *const good[] = {
		"0", "-0", "1", "-1", "12345678", "123456789", "1234567890123456", "12345678901234567", "0.5", "-0.0", "1.50", "0.0000",
		"1e5", "1E5", "1e+5", "1e-5", "0e0", "-1.5e-10", "12345678.1234567", "123456789012345.6", "1.123456789012345", "1234567890123456789012.5", NULL
	};
	static const char *const bad[] = {
		"01", "-01", "00", "1.", ".5", "-.5", "-", "+1", "1e", "1e+", "1.e5", "1.5.5", "--1", "1-", "0x1", "1_000", "1a", "1e5.5", "0.",
		"123456789012345.", "1234567.", "12345678.", "012345678", "1.2345678.123", "1,2", NULL
	};

	for (const char *const *text = good; *text; text++)
	{
		expect_nodes(*text, 1);
		ck_assert_int_eq(nodes[0].kind, JSON_NUMBER);
	}
	for (const char *const *text = bad; *text; text++)
		expect_nodes(*text, 0);
}
END_TEST

START_TEST(depth)
{
	char		text[2 * JSON_MAX_DEPTH + 8];

	for (int depth = 1; depth < JSON_MAX_DEPTH + 3; depth++)
	{
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		ck_assert_int_eq(scan(text, 2 * depth), depth <= JSON_MAX_DEPTH ? depth : 0);
		/* there is space for nodes of unclosed containers, too */
		ck_assert_int_eq(scan(text, depth), 0);
	}
}
END_TEST

/* A document whose parts get to every position in a block. */
START_TEST(places)
{
	static const char text[] = "{\"k\\\\\": \"\\u00e9\\\"x\", \"long key\" : [ -1.5e3,true,false , null,\"\\\\\\\\\"], \"\": {}}";
	char		buffer[MADE_MAX];

	for (size_t before_it = 0; before_it < 200; before_it++)
	{
		memset(buffer, ' ', before_it);
		memcpy(buffer + before_it, text, strlen(text));
		ck_assert_int_eq(scan(buffer, before_it + strlen(text)), 12);
		memset(buffer, 'x', before_it + 1);
		buffer[0] = '[';
		buffer[1] = '"';
		memcpy(buffer + before_it + 3, "\",", 2);
		memset(buffer + 2, '\\', before_it + 1);
		(void) scan(buffer, before_it + 5);
	}
}
END_TEST

static void
expect_unescaped(const char *s, bool ascii, const char *text)
{
	size_t		len = strlen(s);
	char	   *from = malloc(len);
	char	   *to = malloc(len);
	size_t		n;

	memcpy(from, s, len);
	n = json_unescape(from, len, ascii, to);
	if (text == NULL)
		ck_assert_msg(n == JSON_NO_TEXT, "%s", s);
	else
	{
		ck_assert_int_eq(n, strlen(text));
		ck_assert_mem_eq(to, text, n);
	}
	free(from);
	free(to);
}

START_TEST(escapes)
{
	expect_unescaped("\\\"\\\\\\/\\b\\f\\n\\r\\t", false, "\"\\/\b\f\n\r\t");
	expect_unescaped("a\\nb", true, "a\nb");
	expect_unescaped("\\u0041\\u00e9\\u20AC\\u07ff\\u0800\\uffff", false,
					 "A\303\251\342\202\254\337\277\340\240\200\357\277\277");
	expect_unescaped("\\ud83d\\ude00x", false, "\360\237\230\200x");
	expect_unescaped("\\uDBFF\\uDFFF\\uD800\\uDC00", false, "\364\217\277\277\360\220\200\200");
	expect_unescaped("\303\251\\t", true, "\303\251\t");
	expect_unescaped("\\u007f", true, "\177");
	expect_unescaped("\\u0080", true, NULL);
	expect_unescaped("\\u0000", false, NULL);
	expect_unescaped("a\\ud83d", false, NULL);
	expect_unescaped("\\ud83dx", false, NULL);
	expect_unescaped("\\ud83d\\n", false, NULL);
	expect_unescaped("\\ud83d\\u0041", false, NULL);
	expect_unescaped("\\ud83d\\ud83d", false, NULL);
	expect_unescaped("\\ud83dxu1234", false, NULL);
	expect_unescaped("\\ude00", false, NULL);
	expect_unescaped("a\\p", false, NULL);
	expect_unescaped("\\ub \\n", false, NULL);
	expect_unescaped("\\u123", false, NULL);
	expect_unescaped("a\\", false, NULL);
}
END_TEST

/* ---- made at random ---- */

START_TEST(made_documents)
{
	int			found = 0;

	for (int i = 0; i < 30000; i++)
	{
		made_length = 0;
		put_value(0);
		if (i % 2)
			spoil();
		found += scan(made, made_length) > 0;
	}
	ck_assert_int_gt(found, 12000);
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("json");
	TCase	   *tests = tcase_create("json");

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, kernels);
	tcase_add_test(tests, documents);
	tcase_add_test(tests, declined);
	tcase_add_test(tests, numbers);
	tcase_add_test(tests, depth);
	tcase_add_test(tests, places);
	tcase_add_test(tests, escapes);
	tcase_add_test(tests, made_documents);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
