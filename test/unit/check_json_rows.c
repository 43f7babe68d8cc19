/*
 * check_json_rows.c
 *		Unit tests of rows of JSON: by hand, in windows of any size and in chunks, and
 *		line by line compared with a scanner of documents that goes byte by
 *		byte.
 */
#include "json_made.h"
#include "json_reference.h"
#include "scan/json_rows.h"

#define MAX_FOUND 4096
#define MAX_KEYS 8

/* Where values of rows begin: they are small. */
#define VALUE_DEPTH 6

typedef struct Found
{
	size_t		start;
	size_t		end;
	size_t		next;
	size_t		line;
	int			fault;
	uint32_t	nfields;
	ScanField	fields[MAX_KEYS + 1];
} Found;

static Found rows[MAX_FOUND];
static Found others[MAX_FOUND];
static size_t nrows;
static size_t nothers;

static ScanJsonKey keys[MAX_KEYS];
static uint32_t slots[64];
static ScanJson json = {.keys = keys, .slots = slots};

/* Set: windows are shapes of bytes in which a character may contain ASCII. */
static int	(*shape_mblen) (const unsigned char *);

/* Names with a '!' want their strings as JSON. */
static void
set_keys(const char *const *names)
{
	json = (ScanJson) {.keys = keys, .slots = slots};
	for (; *names; names++)
		keys[json.nkeys++] = (ScanJsonKey) {
			.name = **names == '!' ? *names + 1 : *names,
			.length = (uint32_t) strlen(*names) - (**names == '!'),
			.whole = **names == '!'
		};
	json.nslots = scan_json_nslots(json.nkeys);
	ck_assert_uint_le(json.nslots, 64);
	scan_json_index(&json);
}

#define KEYS(...) set_keys((const char *const[]) {__VA_ARGS__, NULL})

/* A window in a block of its own, so that no byte beyond its padding is read. */
static char *
make_window(const char *s, size_t len)
{
	char	   *window = malloc(len + SCAN_PADDING);

	memcpy(window, s, len);
	memset(window + len, '}', SCAN_PADDING);
	return window;
}

/* The shape of such a block; the block itself where there is no need for one. */
static char *
make_shape(char *bytes, size_t len)
{
	char	   *shape = shape_mblen != NULL ? make_window(bytes, len) : bytes;

	if (shape_mblen != NULL)
		scan_shape(bytes, (uint32_t) len, shape_mblen, shape);
	return shape;
}

/* Reads s[0 .. len) as a file from that row on, in windows of about that size. */
static ScanEol
read_rows(const char *s, size_t len, ScanEol eol, size_t size, size_t most, Found *to, size_t *n)
{
	size_t		at = 0;
	size_t		line = 0;
	size_t		grown = size;
	ScanRow		found[64];
	ScanField	fields[512];
	ScanResult	result;

	*n = 0;
	do
	{
		size_t		length = len - at < grown ? len - at : grown;
		char	   *bytes = make_window(s + at, length);
		char	   *window = make_shape(bytes, length);

		scan_json_rows(&json, &eol, window, bytes, (uint32_t) length, at + length == len,
					   found, (uint32_t) most, fields, 512, &result);
		ck_assert_uint_le(result.consumed, length);
		ck_assert_uint_eq(result.lines, scan_count_lines(SCAN_EOL_NL, window, result.consumed));
		for (uint32_t i = 0; i < result.nrows; i++)
		{
			const ScanRow *row = &found[i];
			Found	   *f = &to[(*n)++];

			ck_assert_uint_lt(*n, MAX_FOUND);
			*f = (Found) {
				.start = at + row->start, .end = at + row->end, .next = at + row->next,
				.line = line + row->line, .fault = row->fault, .nfields = row->nfields
			};
			ck_assert_uint_le(row->start, row->end);
			ck_assert_uint_le(row->end, row->next);
			ck_assert_uint_le(row->next, result.consumed);
			ck_assert_uint_eq(row->line, scan_count_lines(SCAN_EOL_NL, window, row->start));
			for (uint32_t k = 0; k < row->nfields; k++)
			{
				f->fields[k] = fields[row->first_field + k];
				ck_assert_uint_le(f->fields[k].start + f->fields[k].length, row->end);
				ck_assert_uint_ge(f->fields[k].start, row->start);
				f->fields[k].start += at;
			}
		}
		if (window != bytes)
			free(window);
		free(bytes);
		grown = result.status == SCAN_MORE && result.consumed == 0 ? grown + size : size;
		at += result.consumed;
		line += result.lines;
	} while (result.status != SCAN_END);
	ck_assert_uint_eq(at, len);
	return eol;
}

static void
expect_same(const char *s, size_t len, const char *what)
{
	ck_assert_msg(nrows == nothers && memcmp(rows, others, nrows * sizeof(Found)) == 0,
				  "%s: other rows in \"%.*s\"", what, (int) len, s);
}

/* Cuts the file as workers do; what they leave is read by one. */
static void
read_chunks(const char *s, size_t len, ScanEol eol, size_t size)
{
	size_t		at = 0;
	size_t		grown = size;

	/* the first bytes are not left to them */
	if (eol == SCAN_EOL_JSON_ARRAY)
		at = (size_t) ((const char *) memchr(s, '[', len) - s) + 1;
	nothers = 0;
	while (at < len)
	{
		size_t		length = len - at < grown ? len - at : grown;
		bool		at_eof = at + length == len;
		char	   *window = make_window(s + at, length);
		ScanBorder	border;
		bool		more = scan_json_border(eol, window, (uint32_t) length, at_eof, &border);
		size_t		expected = 0;

		while (expected < nrows && !(rows[expected].start >= at))
			expected++;
		if (!more)
			ck_assert_int_eq(eol, SCAN_EOL_JSON_ARRAY);
		for (uint32_t i = 0; i < border.rows; i++)
		{
			ck_assert_uint_lt(expected + i, nrows);
			ck_assert_uint_le(rows[expected + i].end, at + border.end);
		}
		if (border.end > 0 && expected + border.rows < nrows)
			ck_assert_uint_ge(rows[expected + border.rows].start, at + border.end);
		ck_assert_uint_eq(border.lines, scan_count_lines(SCAN_EOL_NL, window, border.end));
		grown = border.end == 0 ? grown + size : size;
		at += border.end;
		free(window);
		if (!more || (at_eof && border.end == 0))
			break;
	}
}

/* By every kernel, in windows of several sizes; the layout of the rows. */
static ScanEol
scan_from(const char *s, size_t len, ScanEol given)
{
	static const size_t sizes[] = {1 << 20, 1, 7, 64, 65, 100};
	ScanEol		eol = read_rows(s, len, given, 1 << 20, 64, rows, &nrows);
	bool		array = nrows > 0 || len > 0 ? strspn(s, " \t\r\n") < len && s[strspn(s, " \t\r\n")] == '[' : false;

	for (const ScanKernel *const *kernel = scan_kernels; *kernel; kernel++)
	{
		if (!(*kernel)->supported())
			continue;
		scan_kernel_set(*kernel);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		{
			memset(others, 0, nrows * sizeof(Found));
			ck_assert_int_eq(read_rows(s, len, given, sizes[i], i % 3 + 1, others, &nothers), eol);
			expect_same(s, len, (*kernel)->name);
		}
	}
	scan_kernel_set(NULL);
	if (given == SCAN_EOL_UNKNOWN)
		for (size_t i = 1; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			read_chunks(s, len, array ? SCAN_EOL_JSON_ARRAY : eol, sizes[i]);
	return eol;
}

static ScanEol
scan(const char *s)
{
	return scan_from(s, strlen(s), SCAN_EOL_UNKNOWN);
}

/* "line:value|value ..."; N for null, - for a missing key, + and the first extra one, ! for faults and the text. */
static void
expect_from(const char *s, ScanEol given, const char *expected)
{
	char		said[2 * MADE_MAX];
	char	   *p = said;

	scan_from(s, strlen(s), given);
	*p = '\0';
	for (size_t i = 0; i < nrows; i++)
	{
		const Found *row = &rows[i];

		p += sprintf(p, "%s%zu:", i > 0 ? " " : "", row->line);
		if (row->fault != SCAN_FAULT_NONE && row->nfields == 0)
			p += sprintf(p, "!%d[%.*s]", row->fault - SCAN_FAULT_JSON, (int) (row->end - row->start), s + row->start);
		else if (row->fault != SCAN_FAULT_NONE)
			p += sprintf(p, "!%d", row->fault - SCAN_FAULT_JSON);
		for (uint32_t k = 0; k < row->nfields && row->fault == SCAN_FAULT_NONE; k++)
		{
			const ScanField *field = &row->fields[k];
			const char *text = s + field->start;

			p += sprintf(p, "%s", k > 0 ? "|" : "");
			if (k == json.nkeys)
				p += sprintf(p, "%s%.*s", field->quoted ? "+" : "*", (int) field->length, text);
			else if (SCAN_JSON_IS_MISSING(field))
				p += sprintf(p, "-");
			else if (field->length == 0 && !field->quoted)
				p += sprintf(p, "N");
			else
				p += sprintf(p, field->quoted ? "'%.*s'%s" : "%.*s%s", (int) field->length, text, field->escaped ? "e" : "");
		}
	}
	ck_assert_msg(strcmp(said, expected) == 0, "%s\ngives    %s\nnot      %s", s, said, expected);
}

static void
expect_rows(const char *s, const char *expected)
{
	expect_from(s, SCAN_EOL_UNKNOWN, expected);
}

START_TEST(values)
{
	KEYS("a", "b");
	expect_rows("{\"a\":1,\"b\":\"x\"}\n{\"b\": true, \"a\": null}", "0:1|'x' 1:N|true");
	expect_rows("{\"a\":-1.50e3,\"b\":[1, {\"b\":2}] }\r\n", "0:-1.50e3|[1, {\"b\":2}]");
	expect_rows("{\"a\":\"\",\"b\":{}}", "0:''|{}");
	expect_rows("{\"a\":\"q\\\"\\u00e9\",\"b\":\"{}[],:\"}", "0:'q\\\"\\u00e9'e|'{}[],:'");
	expect_rows("{\"\\u0061\":1,\"b\":2}", "0:1|2");
	KEYS("!a", "b");
	expect_rows("{\"a\":\"x\\n\",\"b\":\"x\\n\"}", "0:'\"x\\n\"'|'x\\n'e");
	expect_rows("{\"a\":null,\"b\":1}\n{\"a\":[],\"b\":1}", "0:N|1 1:[]|1");
}
END_TEST

START_TEST(key_sets)
{
	KEYS("a", "b");
	expect_rows("{\"a\":1}\n{}\n{\"b\":2}", "0:1|-|* 1:-|-|* 2:-|2|*");
	expect_rows("{\"a\":1,\"b\":2,\"c\":3,\"d\":4}", "0:1|2|+c");
	expect_rows("{\"c\":3,\"a\":1}", "0:1|-|+c");
	expect_rows("{\"a\":1,\"a\":2,\"b\":3,\"a\":null}", "0:N|3");
	json.ignore_extra = true;
	expect_rows("{\"a\":1,\"b\":2,\"c\":3}\n{\"c\":3}\n{}", "0:1|2 1:!3 2:-|-|*");
	json.missing_is_null = true;
	expect_rows("{\"a\":1}\n{}\n{\"c\":[]}", "0:1|N 1:N|N 2:!3");
	json.ignore_extra = false;
	expect_rows("{\"b\":1,\"c\":1}\n{\"b\":1}", "0:N|1|+c 1:N|1");
}
END_TEST

START_TEST(letters)
{
	KEYS("name", "b");
	expect_rows("{\"NAME\":1,\"B\":2}", "0:1|2");
	expect_rows("{\"Name\":1,\"name\":2,\"b\":3}", "0:2|3|+Name");
	expect_rows("{\"name\":2,\"Name\":1,\"b\":3}", "0:2|3|+Name");
	expect_rows("{\"Name\":1,\"Name\":2,\"b\":3}", "0:2|3");
	expect_rows("{\"Name\":1,\"NAME\":2,\"b\":3}", "0:-|3|+NAME");
	expect_rows("{\"Name\":1,\"NAME\":2,\"name\":4,\"b\":3}", "0:4|3|+NAME");
	expect_rows("{\"Name\":1,\"NAME\":2,\"nAME\":5,\"b\":3}", "0:-|3|+NAME");
	KEYS("a", "A", "longer name of a column", "b");
	expect_rows("{\"A\":1,\"a\":2,\"LONGER name of a column\":3,\"b\":4}", "0:2|1|3|4");
	KEYS("aB", "AB");
	expect_rows("{\"ab\":1}", "0:-|-|+ab");
	expect_rows("{\"AB\":1,\"aB\":2,\"\\u0061B\":3}", "0:3|1");
}
END_TEST

/* Bytes from 0x80 on begin a character of two. */
static int
two_mblen(const unsigned char *s)
{
	return *s >= 0x80 ? 2 : 1;
}

/* As if the database had 0xff before such a character. */
static size_t
two_text(const void *arg, const char *s, uint32_t length, bool escaped, char *to)
{
	char		text[2 * SCAN_JSON_MAX_KEY];
	char		shape[SCAN_JSON_MAX_KEY + SCAN_PADDING];
	size_t		n = 0;

	ck_assert_ptr_eq(arg, two_text);
	ck_assert_uint_le(length, SCAN_JSON_MAX_KEY);
	memset(shape, 0, sizeof(shape));
	scan_shape(s, length, two_mblen, shape);
	for (uint32_t i = 0; i < length; i++)
	{
		if ((unsigned char) s[i] >= 0x80 && s[i] == shape[i])
			text[n++] = '\xff';
		text[n++] = s[i];
	}
	n = escaped ? json_unescape(text, n, false, to) : n;
	if (!escaped && n <= SCAN_JSON_MAX_NAME)
		memcpy(to, text, n);
	return n;
}

START_TEST(shapes)
{
	shape_mblen = two_mblen;
	KEYS("\xe1" "A", "b");
	expect_rows("{\"\xe1" "A\":1,\"b\":2}\n{\"b\":3,\"\xe1" "A\":4}", "0:1|2 1:4|3");
	expect_rows("{\"\xe1" "B\":1,\"b\":2}\n{\"\xe1" "A\":3,\"b\":4}", "0:-|2|+\xe1" "B 1:3|4");
	expect_rows("{\"b\":\"\xe1\\\",\"\xe1\\\":1}", "0:-|'\xe1\\'|+\xe1\\");
	KEYS("\xff\xe1" "A", "\xff\xe1" "B", "\xff\xe1\\x");
	json.key_text = two_text;
	json.key_text_arg = two_text;
	json.ignore_extra = true;
	expect_rows("{\"\xe1" "A\":1,\"\xe1\\X\":3}\n{\"\xe1" "A\":4,\"\xe1" "B\":5,\"\xe1" "C\":6}", "0:1|-|3|* 1:4|5|-|*");
	expect_rows("{\"\xe1" "B\":1,\"\xe1" "B\\u0000\":2,\"\\u0041\":3,\"\xe1" "C\":4}", "0:-|1|-|*");
	KEYS("a\xff\xe1" "A", "b");
	json.key_text = two_text;
	json.key_text_arg = two_text;
	expect_rows("{\"\\u0061\xe1" "A\":1,\"b\":2}\n{\"A\xe1" "A\":3,\"\\u0061\xe1" "A\":4,\"A\xe1" "B\":6,\"B\":5}", "0:1|2 1:4|5|+A\xe1" "A");
	shape_mblen = NULL;
}
END_TEST

START_TEST(lines)
{
	KEYS("a");
	ck_assert_int_eq(scan(""), SCAN_EOL_NL);
	ck_assert_uint_eq(nrows, 0);
	ck_assert_int_eq(scan(" \n\r\n \t"), SCAN_EOL_NL);
	ck_assert_uint_eq(nrows, 0);
	expect_rows("\n\n {\"a\":1} \r\n \n{\"a\":2}\n\n", "2:1 4:2");
	expect_rows("{\"a\":1\n{\"a\":2}\n", "0:!0[{\"a\":1] 1:2");
	expect_rows("{\"a\":\"x\n{\"a\":2}\n{\"a\":\"y\"}", "0:!0[{\"a\":\"x] 1:2 2:'y'");
	expect_rows("{\"a\":1}\n{\"a\":\"x\\\n{\"a\":2}", "0:1 1:!0[{\"a\":\"x\\] 2:2");
	expect_rows("{\"a\":1}{\"a\":2}\n{\"a\":3}", "0:!0[{\"a\":1}{\"a\":2}] 1:3");
	expect_rows("{\"a\":1},\n{\"a\":3}", "0:!0[{\"a\":1},] 1:3");
	expect_rows("12\n\"x\"\n{\"a\":tru}\n{\"a\":01}\n[{\"a\":3}]\n}\n{\"a\":1}", "0:!1[12] 1:!1[\"x\"] 2:!0[{\"a\":tru}] 3:!0[{\"a\":01}] 4:!1[[{\"a\":3}]] 5:!0[}] 6:1");
	expect_rows("{\"a\":1}\n{\"a\":", "0:1 1:!0[{\"a\":]");
	expect_rows("{\"a\":1}\n{\"a\":[1,}]}\n{\"b\":{\"a\" 1}}\n{\"a\":\t\"\t\"}", "0:1 1:!0[{\"a\":[1,}]}] 2:!0[{\"b\":{\"a\" 1}}] 3:!0[{\"a\":\t\"\t\"}]");
	expect_rows("{\"a\":\"\\x\"}\n{\"a\":\"\\u12\"}\n{\"a\":\"\\ud800\"}", "0:!0[{\"a\":\"\\x\"}] 1:!0[{\"a\":\"\\u12\"}] 2:'\\ud800'e");
}
END_TEST

START_TEST(arrays)
{
	KEYS("a");
	ck_assert_int_eq(scan("[]"), SCAN_EOL_JSON_END);
	ck_assert_uint_eq(nrows, 0);
	expect_rows("[{\"a\":1},{\"a\":2}]", "0:1 0:2");
	expect_rows(" \n[\n  {\n    \"a\": 1\n  },\n  {\n    \"a\": [\n{}]\n  }\n]\n", "2:1 5:[\n{}]");
	expect_rows("[{\"a\":1}\n,{\"a\":2}\n , {\"a\":3} ] \n", "0:1 1:2 2:3");
	expect_rows("[12,{\"a\":2},\"x,y\", [{\"a\":3}] ,,{\"a\":4}]", "0:!1[12] 0:2 0:!1[\"x,y\"] 0:!1[[{\"a\":3}]] 0:!0[] 0:4");
	expect_rows("[{\"a\":1 2},{\"a\":\"x\\\"}\"},{\"a\":}]", "0:!0[{\"a\":1 2}] 0:'x\\\"}'e 0:!0[{\"a\":}]");
	expect_rows("[{\"a\":1}}, {\"a\":2}]", "0:1 0:!0[}] 0:2");
	expect_rows("[{\"a\":1}", "0:1 0:!5[]");
	expect_rows("[{\"a\":1},\n", "0:1 1:!5[]");
	expect_rows("[", "0:!5[]");
	expect_rows("[{\"a\":1},{\"a\":2", "0:1 0:!0[{\"a\":2] 0:!5[]");
	expect_rows("[{\"a\":1}]\n{\"a\":2}\n[]\n", "0:1 1:!4[{\"a\":2}] 2:!4[[]]");
	expect_rows("[{\"a\":1},{\"a\":\"x},\n{\"a\":2},\n{\"a\":3}]", "0:1 0:!0[{\"a\":\"x},\n{\"a\":2},\n{\"a\":3}]] 2:!5[]");
}
END_TEST

START_TEST(series)
{
	KEYS("a");
	ck_assert_int_eq(scan("{\n\"a\":1\n}"), SCAN_EOL_JSON_SERIES);
	expect_rows("{\n\"a\":1\n}\n{\"a\":2} {\"a\":3}{\"a\":4}", "0:1 3:2 3:3 3:4");
	expect_rows("{\n\"a\":1\n}\n,{\"a\":2}\nx {\"a\":3}\n{\"a\":", "0:1 3:!0[,] 3:2 4:!0[x] 4:3 5:!0[{\"a\":]");
}
END_TEST

START_TEST(whole)
{
	KEYS("a");
	expect_from("{\"a\":1}", SCAN_EOL_JSON_WHOLE, "0:1");
	expect_from(" {\n \"a\":\n1 }\n", SCAN_EOL_JSON_WHOLE, "0:1");
	expect_from("{\"a\":1}\n{\"a\":2}", SCAN_EOL_JSON_WHOLE, "0:!0[{\"a\":1}\n{\"a\":2}]");
	expect_from("12 ", SCAN_EOL_JSON_WHOLE, "0:!1[12]");
	expect_from("", SCAN_EOL_JSON_WHOLE, "0:!0[]");
	expect_from(" \n", SCAN_EOL_JSON_WHOLE, "0:!0[]");
}
END_TEST

START_TEST(depth)
{
	static char text[2 * SCAN_JSON_MAX_DEPTH + 100];

	KEYS("a");
	for (int depth = SCAN_JSON_MAX_DEPTH - 1; depth < SCAN_JSON_MAX_DEPTH + 2; depth++)
	{
		char	   *p = text + sprintf(text, "{\"a\":");

		memset(p, '[', depth);
		memset(p + depth, ']', depth);
		strcpy(p + 2 * depth, "}\n{\"a\":1}");
		read_rows(text, strlen(text), SCAN_EOL_UNKNOWN, 1 << 20, 64, rows, &nrows);
		ck_assert_uint_eq(nrows, 2);
		ck_assert_int_eq(rows[0].fault, depth > SCAN_JSON_MAX_DEPTH ? SCAN_FAULT_JSON_DEPTH : SCAN_FAULT_NONE);
		ck_assert_int_eq(rows[1].fault, SCAN_FAULT_NONE);
	}
}
END_TEST

static int	polls;

static void
count_poll(void)
{
	polls++;
}

/* The row at `from` is damaged; parsing resumes where the text is `to`, or nowhere. */
static void
expect_recovery(const char *s, ScanEol eol, const char *from, const char *to)
{
	size_t		len = strlen(s);
	char	   *window = make_window(s, len);
	uint32_t	start = (uint32_t) (strstr(s, from) - s);
	uint32_t	resume = 0;
	ScanRecovery recovery = scan_json_recover(eol, window, (uint32_t) len, true, start, (uint32_t) len, count_poll, &resume);

	ck_assert_msg((recovery == SCAN_RESUME) == (to != NULL), "recovery of %s", s);
	if (to != NULL)
		ck_assert_msg(strncmp(s + resume, to, strlen(to)) == 0, "%s resumes at %s", s, s + resume);
	free(window);
}

START_TEST(recovery)
{
	expect_recovery("[{\"a\":\"x},\n{\"a\":2},\n{\"a\":3}]", SCAN_EOL_JSON_ARRAY, "{\"a\":\"x", "{\"a\":2}");
	expect_recovery("[\n {\"a\":\"x},\n {\"a\":2}\n]", SCAN_EOL_JSON_ARRAY, "{\"a\":\"x", "{\"a\":2}");
	expect_recovery("[\n  {\n    \"a\":\"x,\n    \"b\": [\n    {\"a\":5}]\n  },\n  {\n    \"a\":2\n  }]", SCAN_EOL_JSON_ARRAY, "{\n    \"a\":\"x", "{\n    \"a\":2");
	expect_recovery("[{\n  \"a\":\"x\n}, {\n  \"a\":2\n}, {\n  \"a\":3\n}]", SCAN_EOL_JSON_ARRAY, "{\n  \"a\":\"x", NULL);
	expect_recovery("[{\n}, {\n  \"a\":\"x\n}, {\n  \"a\":2\n}]", SCAN_EOL_JSON_ARRAY, "{\n  \"a\":\"x", "{\n  \"a\":2");
	expect_recovery("{\n\"a\":\"x\n}\n{\n\"a\":2\n}", SCAN_EOL_JSON_SERIES, "{", "{\n\"a\":2");
	expect_recovery("{\"a\":\"x\n{\"a\":2}", SCAN_EOL_NL, "{", NULL);
}
END_TEST

/* Each line is looked at once, and each object in its column tried: the test's time is limited. */
START_TEST(recovery_of_many)
{
	const size_t nlines = 3000000;
	static char text[3 * 3000000 + 100];
	char	   *p = text + sprintf(text, "[{\"a\":[1,,");

	for (size_t i = 0; i < nlines; i++)
		p += sprintf(p, "\n2,");
	strcpy(p, "\n{\"a\":}]\n{1,");
	polls = 0;
	expect_recovery(text, SCAN_EOL_JSON_ARRAY, "{", NULL);
	ck_assert_int_eq(polls, 2);
	strcpy(p, "\n{\"a\":}]\n {\"a\":2},{\"a\":3}");
	expect_recovery(text, SCAN_EOL_JSON_ARRAY, "{", "{\"a\":2}");
}
END_TEST

/* ---- made at random ---- */

static void
put_object(const char *space)
{
	static const char *const names[] = {"a", "b", "other", "A", "B", "longer name"};
	uint32_t	n = below(5);

	put("{");
	for (uint32_t i = 0; i < n; i++)
	{
		put(i > 0 ? "," : "");
		put(space);
		put("\"");
		put(PICK(names));
		put("\":");
		put_value(VALUE_DEPTH);
	}
	put(n > 0 ? space : "");
	put("}");
}

/* Each line is a row where, and only where, it is an object. */
static void
compare_lines(void)
{
	static JsonNode nodes[JSON_MAX_NODES(MADE_MAX)];
	size_t		row = 0;

	for (size_t at = 0; at < made_length;)
	{
		const char *line = made + at;
		const char *next = memchr(line, '\n', made_length - at);
		size_t		length = next != NULL ? (size_t) (next - line) : made_length - at;
		char	   *text = make_window(line, length);
		uint32_t	n;

		at += length + 1;
		if (strspn(text, " \t\r") >= length)
		{
			free(text);
			continue;
		}
		n = reference_json(text, (uint32_t) length, nodes);
		ck_assert_uint_lt(row, nrows);
		ck_assert_msg((rows[row].fault == SCAN_FAULT_NONE || rows[row].fault == SCAN_FAULT_JSON_NO_KEY) == (n > 0 && nodes[0].kind == JSON_OBJECT),
					  "line %zu of \"%.*s\"", rows[row].line, (int) made_length, made);
		row++;
		free(text);
	}
	ck_assert_uint_eq(row, nrows);
}

START_TEST(made_lines)
{
	KEYS("a", "!b", "longer name");
	made_in_a_line = true;
	for (int i = 0; i < 600 * 2; i++)
	{
		made_length = 0;
		json.ignore_extra = below(2);
		json.missing_is_null = below(2);
		for (uint32_t n = below(12); n > 0; n--)
		{
			put_object("");
			put(below(10) == 0 ? " \r\n\n" : "\n");
		}
		if (i % 2)
			spoil();
		if (scan_from(made, made_length, SCAN_EOL_UNKNOWN) == SCAN_EOL_NL)
			compare_lines();
	}
}
END_TEST

START_TEST(made_arrays)
{
	KEYS("a", "!b", "longer name");
	for (int i = 0; i < 600 * 2; i++)
	{
		bool		series = below(3) == 0;
		uint32_t	n = 1 + below(8);

		made_length = 0;
		made_in_a_line = below(2);
		put(series ? "" : "[ ");
		for (uint32_t k = 0; k < n; k++)
		{
			put(k > 0 && !series ? ", " : "");
			put_object(below(2) ? "" : "\n  ");
			put(below(4) == 0 ? "\n" : "");
		}
		put(series ? "" : "]");
		if (i % 2)
			spoil();
		scan_from(made, made_length, SCAN_EOL_UNKNOWN);
		if (i % 2 == 0 && !series)
			ck_assert_uint_eq(nrows, n);
	}
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("json_rows");
	TCase	   *tests = tcase_create("json_rows");

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, values);
	tcase_add_test(tests, key_sets);
	tcase_add_test(tests, letters);
	tcase_add_test(tests, shapes);
	tcase_add_test(tests, lines);
	tcase_add_test(tests, arrays);
	tcase_add_test(tests, series);
	tcase_add_test(tests, whole);
	tcase_add_test(tests, depth);
	tcase_add_test(tests, recovery);
	tcase_add_test(tests, recovery_of_many);
	tcase_add_test(tests, made_lines);
	tcase_add_test(tests, made_arrays);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
